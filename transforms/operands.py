"""What rewrites ask of operands: the numbers of constants, which shapes broadcast, what can be written."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Operation, SSAValue

from ..dialects.ge.attributes import SplatAttr
from ..dialects.ge.constants import ConstantOp
from ..dialects.ge.core import GeOp
from ..dialects.ge.data import Array, find_module
from ..dialects.ge.types import is_element, is_float, is_integer, shape_of
from .base import NAMES
from .opset import has_op

FEW = 1 << 16
"""Elements up to which a constant is looked at as a whole."""


def array_in(value: SSAValue | None) -> Array | None:
    """The data of a constant, of any size."""
    owner = value.owner if value is not None else None
    return owner.array() if isinstance(owner, ConstantOp) else None


def element_type(value: SSAValue) -> Attribute:
    return cast("TensorType[Attribute]", value.type).element_type


def has_floats(value: SSAValue) -> bool:
    return isinstance(value.type, TensorType) and is_element(element_type(value)) and is_float(element_type(value))


def has_integers(value: SSAValue) -> bool:
    return isinstance(value.type, TensorType) and is_element(element_type(value)) and is_integer(element_type(value))


def uniform(value: SSAValue | None) -> Any:
    """The element of a constant whose elements are all one number, bit for bit, as a numpy scalar; else None."""
    owner = value.owner if value is not None else None
    if not isinstance(owner, ConstantOp):
        return None
    count = int(np.prod(shape_of(owner.output.type)))
    if not count or (count > FEW and not isinstance(owner.value, SplatAttr)):
        return None
    array = owner.array()
    if array.dtype == object:
        return None
    first = array.flat[0]
    if count == 1 or isinstance(owner.value, SplatAttr):
        return first
    rows = np.ascontiguousarray(array).view(np.uint8).reshape(count, -1)
    return first if (rows == rows[0]).all() else None


def number(value: SSAValue | None) -> float | None:
    """`uniform` as a Python float."""
    found = uniform(value)
    return None if found is None else float(found)


def split_constant(op: Operation) -> tuple[SSAValue, SSAValue, int] | None:
    """Of an op of two operands of which one is a constant: the other, the constant, the constant's place."""
    a, b = op.operands
    if isinstance(b.owner, ConstantOp) != isinstance(a.owner, ConstantOp):
        return (a, b, 1) if isinstance(b.owner, ConstantOp) else (b, a, 0)
    return None


def adds_no_axis(constant: SSAValue, x: SSAValue) -> bool:
    """Whether `x`, broadcast with `constant`, has x's own shape."""
    given, shape = shape_of(constant.type), shape_of(x.type)
    if len(given) > len(shape):
        return False
    return all(g in (1, d) for g, d in zip(reversed(given), reversed(shape), strict=False))


def can_write(op: Operation, *kinds: type[GeOp]) -> bool:
    """Whether the model that `op` is in can be written in its own opset with ops of these kinds in it."""
    module = find_module(op)
    return module is not None and all(has_op(module, kind) for kind in kinds)


def take_names(new: Operation, old: Operation) -> None:
    """Lets a constant that stands for another one that nothing else reads have its names."""
    if old.results[0].has_one_use():
        new.attributes.update({name: old.attributes[name] for name in NAMES if name in old.attributes})
