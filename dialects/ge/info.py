"""
What is known of a value before it is computed: element type, dims as expressions, and for the small integers of shape
arithmetic the elements themselves.

Every op's `infer` maps the infos of its operands to those of its results. One function so serves the verifier (from
the types alone), the importer (which builds types) and the analysis that carries symbols through a whole function.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import MemRefType, TensorType, i32, i64
from xdsl.ir import Attribute, Operation

from .data import Array
from .dims import Dim, Expr, product, unknown_size
from .errors import fail
from .types import element_of, shape_of, tensor_type


@dataclass(frozen=True, eq=False)
class Info:
    """
    element    element type
    dims       an int or an expression a dim
    data       the elements where they are known: an array of the dims' shape, whose elements are numbers or (in an
               object array of an integer type) expressions
    """

    element: Attribute
    dims: tuple[Dim, ...]
    data: Array | None = None

    @property
    def rank(self) -> int:
        return len(self.dims)

    @property
    def static(self) -> bool:
        return all(isinstance(d, int) for d in self.dims)

    @property
    def type(self) -> TensorType[Attribute]:
        """The tensor type; a dim that is no number is free."""
        return tensor_type(self.element, tuple(d if isinstance(d, int) else -1 for d in self.dims))

    @property
    def count(self) -> Dim:
        """Number of elements."""
        return product(self.dims)

    @property
    def numbers(self) -> list[int] | None:
        """The elements as a flat list of ints where all are known numbers."""
        if self.data is None or any(isinstance(x, Expr) for x in self.data.flat):
            return None
        return [int(x) for x in self.data.flat]

    @property
    def elements(self) -> list[Dim] | None:
        """The elements of an integer tensor as a flat list of dims where they are known."""
        return None if self.data is None else [x if isinstance(x, Expr) else int(x) for x in self.data.flat]

    def admits(self, type_: Attribute) -> bool:
        """Whether a value of this info can have that type: equal element and rank, and no two numbers that differ."""
        if not isinstance(type_, TensorType) or len(shape := shape_of(cast(Attribute, type_))) != self.rank:
            return False
        if cast("TensorType[Attribute]", type_).element_type != self.element:
            return False
        return all(s < 0 or not isinstance(d, int) or s == d for s, d in zip(shape, self.dims, strict=True))

    def like(self, dims: Sequence[Dim], data: Array | None = None) -> Info:
        return Info(self.element, tuple(dims), data)


def info_of_type(type_: Attribute) -> Info:
    """What a ranked tensor or memref type says: each free dim is one of which nothing is known."""
    assert isinstance(type_, TensorType | MemRefType)
    shape = cast("TensorType[Attribute]", type_).get_shape()
    return Info(cast(Any, type_).element_type, tuple(d if d >= 0 else unknown_size() for d in shape))


def axis_of(op: Operation, axis: int, rank: int, code: str) -> int:
    """`axis` counted from the front; refuses one outside [-rank, rank)."""
    if not -rank <= axis < rank:
        fail(op, f"axis must be in [{-rank}, {rank - 1}], got {axis} ({code})")
    return axis % rank if rank else 0


def axes_of(op: Operation, axes: Sequence[int], rank: int, code: str) -> tuple[int, ...]:
    """Axes counted from the front, in order; refuses one that is out of range or stands twice."""
    found = [axis_of(op, a, rank, code) for a in axes]
    if len(set(found)) != len(found):
        fail(op, f"axes must differ, got {list(axes)} ({code})")
    return tuple(found)


def same_element(op: Operation, code: str, *infos: Info | None) -> Attribute:
    """The one element type of all operands that are there."""
    there = [i.element for i in infos if i is not None]
    for element in there[1:]:
        if element != there[0]:
            got = " and ".join(dict.fromkeys(map(str, there)))
            fail(op, f"operands must have one element type, got {got} ({code})")
    return there[0]


def broadcast_dim(op: Operation, a: Dim, b: Dim, code: str) -> Dim:
    """The dim of two that meet under ONNX's (numpy's) broadcasting."""
    if a == b or b == 1:
        return a
    if a == 1:
        return b
    if isinstance(a, int) and isinstance(b, int):
        fail(op, f"dims must be equal or 1 to broadcast, got {a} and {b} ({code})")
    # A free dim that meets a number other than 1 is that number or 1: the result has the number.
    if isinstance(a, int):
        return a
    if isinstance(b, int):
        return b
    if _bounds(a, b):
        return b
    return a if _bounds(b, a) else unknown_size()


def _bounds(a: Dim, b: Dim) -> bool:
    """Whether `a` is min(b, c) for a number c > 1: only where they are equal do the two broadcast, and then to b."""
    if not isinstance(a, Expr) or len(a.terms) != 1 or a.terms[0][1] != 1 or len(a.terms[0][0]) != 1:
        return False
    atom = a.terms[0][0][0]
    return atom.name == "min" and b in atom.args and all(x == b or (isinstance(x, int) and x > 1) for x in atom.args)


def broadcast(op: Operation, code: str, *shapes: Sequence[Dim]) -> tuple[Dim, ...]:
    """The shape that all of `shapes` broadcast to; refuses those that do not."""
    rank = max((len(s) for s in shapes), default=0)
    out: list[Dim] = [1] * rank
    for shape in shapes:
        for k, d in enumerate(shape, rank - len(shape)):
            out[k] = broadcast_dim(op, out[k], d, code)
    return tuple(out)


def same_dim(a: Dim, b: Dim) -> bool:
    """Whether two dims can be equal: no two numbers that differ."""
    return not (isinstance(a, int) and isinstance(b, int)) or a == b


def either(a: Dim, b: Dim) -> Dim:
    """The one that says more of two dims that are known to be equal."""
    return b if isinstance(b, int) else a


def window_count(size: Dim, kernel: int, stride: int, dilation: int, pad: int, ceil: bool = False) -> Dim:
    """
    How many positions a window has along an axis: floor or ceil of (size + pad - extent) / stride, plus one.

    size    of the axis; pad is the sum of both sides
    """
    span = size + pad - ((kernel - 1) * dilation + 1)
    if isinstance(span, int):
        return (math.ceil(span / stride) if ceil else span // stride) + 1
    return (-(-span // stride) if ceil else span // stride) + 1


def shape_arithmetic(a: Info, b: Info, combine: Callable[[Any, Any], Any]) -> Array | None:
    """
    Elements of an integer result where those of both operands are known; None where they are not, or are too many to
    be shape arithmetic, or leave the range of i64 (fixed-width integers wrap, dims do not).
    """
    if a.data is None or b.data is None or a.element not in (i32, i64):
        return None
    if max(a.data.size, b.data.size) > 64:
        return None
    out = np.asarray(combine(a.data.astype(object), b.data.astype(object)), dtype=object)
    bits = element_of(a.element).bits - 1
    return out if all(isinstance(x, Expr) or -(1 << bits) <= x < (1 << bits) for x in out.flat) else None
