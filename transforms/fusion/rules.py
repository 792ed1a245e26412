"""
Rules: which chains of ops become a fusion, and under which condition.

    convolution   Conv, ConvTranspose, ... + activation                             Conv, Relu            -> "ConvRelu"
    dense         MatMul or Gemm + addition of a bias + activation, two at least    MatMul, Add, Gelu -> "MatMulAddGelu"

Rules from files (rules_file.py) are the same `Rule`s.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from xdsl.dialects.builtin import ArrayAttr, FloatAttr, IntegerAttr, StringAttr, TensorType
from xdsl.ir import Attribute, Operation, SSAValue

from ...dialects.ge.activation import ClipOp
from ...dialects.ge.arithmetic import AddOp
from ...dialects.ge.contraction import GemmOp, MatMulOp
from ...dialects.ge.core import GeOp
from ...dialects.ge.interfaces import Contraction, Elementwise, View
from ...dialects.ge.types import element_of, is_element, is_float, shape_of
from ...dialects.ge.window import Windowed
from .condition import Condition, Missing, Value
from .fusion import is_constant
from .matcher import Chain, Step
from .names import type_of


@dataclass(frozen=True)
class Rule:
    """
    name       for remarks
    chains     what it matches; of several, one is tried everywhere before the next
    label      the fusion's; None makes it of the ops' types
    condition  None: always
    """

    name: str
    chains: tuple[Chain, ...]
    label: str | None = None
    condition: Condition | None = None

    def label_of(self, ops: Sequence[Operation]) -> str:
        return self.label or "".join(type_of(op).rpartition("::")[2] for op in ops)


@dataclass(frozen=True)
class Facts:
    """What a condition may ask of a match, whose ops are in order; raises `Missing` for what is not there."""

    ops: Sequence[Operation]

    def __call__(self, name: str) -> Value:
        match name:
            case "input_dtype":
                return self._input_dtype()
            case "output_dtype":
                return _dtype(self.ops[-1].results[0])
            case "input_shape":
                return self._input_shape()
            case "weights_shape":
                return self._weights_shape()
            case "batch":
                shape = self._input_shape()
                if not shape or shape[0] is None:
                    raise Missing(name)
                return shape[0]
            case _:
                return self._attribute(*name.rsplit(".", 1))

    def _outer(self) -> list[SSAValue]:
        """Values that come from outside, in the order in which they are read."""
        made = set(self.ops)
        return list(dict.fromkeys(v for op in self.ops for v in op.operands if v.owner not in made))

    def _input_dtype(self) -> str:
        outer = self._outer()
        for value in outer:
            element = _element(value)
            if element is not None and is_float(element):
                return _dtype(value)
        if not outer:
            raise Missing("input_dtype")
        return _dtype(outer[0])

    def _input_shape(self) -> tuple[int | None, ...]:
        for value in self._outer():
            if not is_constant(value):
                return _shape(value, "input_shape")
        raise Missing("input_shape")

    def _weights_shape(self) -> tuple[int | None, ...]:
        for value in self.ops[0].operands:
            if is_constant(value):
                return _shape(value, "weights_shape")
        raise Missing("weights_shape")

    def _attribute(self, kind: str, name: str) -> Value:
        op = next(op for op in self.ops if type_of(op) == kind)
        value: Any = None
        if isinstance(op, GeOp):
            value = getattr(op, name) if name in op.decls else None
        elif isinstance(attrs := op.properties.get("attrs"), Attribute):
            value = _plain(cast(Any, attrs).data.get(name))
        if isinstance(value, Attribute):
            value = element_of(value).dtype.name if is_element(value) else None
        if value is None:
            raise Missing(f"{kind}.{name}")
        return value


def _plain(attr: Attribute | None) -> Value | None:
    """The value of a number, a text or a list of an opaque op; None for anything else."""
    match attr:
        case IntegerAttr():
            return cast("IntegerAttr[Any]", attr).value.data
        case FloatAttr():
            return cast("FloatAttr[Any]", attr).value.data
        case StringAttr():
            return attr.data
        case ArrayAttr():
            return tuple(_plain(one) for one in attr.data)
        case _:
            return None


def _element(value: SSAValue) -> Attribute | None:
    return cast("TensorType[Attribute]", value.type).element_type if isinstance(value.type, TensorType) else None


def _dtype(value: SSAValue) -> str:
    element = _element(value)
    if element is None or not is_element(element):
        raise Missing("an element type")
    dtype = element_of(element).dtype.name
    return "string" if dtype == "object" else dtype


def _shape(value: SSAValue, name: str) -> tuple[int | None, ...]:
    if _element(value) is None:
        raise Missing(name)
    return tuple(d if d >= 0 else None for d in shape_of(value.type))


# ------------------------------------------------------------------ ours


def is_convolution(op: Operation) -> bool:
    return isinstance(op, Windowed) and isinstance(op, Contraction)


def is_product(op: Operation) -> bool:
    return isinstance(op, MatMulOp | GemmOp)


def adds_bias(op: Operation) -> bool:
    """Whether a constant with elements along the last axis alone is added."""
    return isinstance(op, AddOp) and any(is_constant(v) and _is_vector(v) for v in op.operands)


def _is_vector(value: SSAValue) -> bool:
    shape = shape_of(value.type)
    return bool(shape) and all(d == 1 for d in shape[:-1])


def is_activation(op: Operation) -> bool:
    """
    Whether an op computes each element from the one of its first operand, in the same element type, and from nothing
    else: elementwise functions of one operand, and Clip with constant bounds.
    """
    if not isinstance(op, Elementwise) or isinstance(op, View):
        return False
    assert isinstance(op, Operation)
    if len(op.operands) != 1 and not isinstance(op, ClipOp):
        return False
    first, *bounds = op.operands
    return _element(first) == _element(op.results[0]) and all(map(is_constant, bounds))


_CONVOLUTION = Step("a convolution", is_convolution)
_PRODUCT = Step("MatMul or Gemm", is_product)
_BIAS = Step("the addition of a bias", adds_bias)
_ACTIVATION = Step("an activation", is_activation)

BUILT_IN = (
    Rule("convolution and activation", ((_CONVOLUTION, _ACTIVATION),)),
    Rule("product, bias and activation", ((_PRODUCT, _BIAS, _ACTIVATION), (_PRODUCT, _ACTIVATION), (_PRODUCT, _BIAS))),
)
