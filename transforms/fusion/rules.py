"""
What a rule is: which ops become a fusion, under which condition, with what around them; and what a condition may ask.

Rules are written in Python (catalogue/) or read from files (rules_file.py, ge_rules.py).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

from xdsl.dialects.builtin import ArrayAttr, FloatAttr, IntegerAttr, StringAttr, TensorType
from xdsl.ir import Attribute, Operation, SSAValue

from ...dialects.ge.core import GeOp
from ...dialects.ge.types import element_of, is_element, is_float, shape_of
from .closed import Admits
from .condition import Condition, Missing, Value
from .fusion import is_constant
from .matcher import Chain
from .names import type_of
from .pattern import Pattern

Form: TypeAlias = "Chain | Pattern"
Label: TypeAlias = "str | Callable[[Sequence[Operation]], str] | None"


@dataclass(frozen=True)
class Rule:
    """
    name       for remarks, and for switches that turn rules off
    forms      chains and graphs that it matches; of several, one is tried everywhere before the next
    label      the fusion's, or what makes it of the ops; None: of their types
    condition  None: always
    after      what may join after what matched, as long as one value is read outside
    before     what may join before it, where nothing else reads it
    again      what, read by others too, is made again for it: cheaper than what it saves to read
    least      ops that it takes, with what joined them; constants and views aside where any may join
    plain      whether it takes whatever other rules have left: what they nearly found is still worth a remark
    """

    name: str
    forms: tuple[Form, ...]
    label: Label = None
    condition: Condition | None = None
    after: Admits | None = None
    before: Admits | None = None
    again: Admits | None = None
    least: int = 2
    plain: bool = False

    def label_of(self, ops: Sequence[Operation]) -> str:
        if callable(self.label):
            return self.label(ops)
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
