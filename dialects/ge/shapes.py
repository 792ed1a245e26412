"""
What the ops that move elements share: operands that say a shape or axes, slices of dims, elements that move along.

Where an operand that decides the *rank* of a result is not known, there is no type to give: `RankUnknown`. The
importer keeps such a node opaque.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np
from xdsl.dialects.builtin import i32, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from .constants import ConstantOp
from .core import info_of
from .data import INLINE, Array, value_of
from .dims import Dim, Expr, ceildiv, choose, exact_quotient, is_size, unknown_size
from .errors import fail
from .info import Info
from .interfaces import Box, whole
from .types import tensor_type

FAR = 2**31 - 1
"""Bounds of slices from here on (and below its negative) mean "to the end": no dim is that large."""


class RankUnknown(VerifyException):
    """The number of dims of a result depends on data that only a run gives."""


def rank_unknown(op: Operation, what: str) -> NoReturn:
    """Refuses `op` because the rank of its result is not known; `what` ends in the constraint, like `fail`'s."""
    try:
        fail(op, what)
    except VerifyException as err:
        raise RankUnknown(str(err)) from None


# ------------------------------------------------------------------ operands that say a shape


def check_vector(op: Operation, what: str, info: Info, code: str, allowed: Sequence[Attribute] = (i64,)) -> None:
    if info.rank != 1 or info.element not in allowed:
        fail(op, f"{what} must be a vector of {' or '.join(map(str, allowed))}, got {info.type} ({code})")


def check_index(op: Operation, what: str, info: Info, code: str) -> None:
    if info.element not in (i32, i64):
        fail(op, f"{what} must be of i32 or i64, got {info.type} ({code})")


def check_single(op: Operation, what: str, info: Info | None, code: str) -> None:
    """One element, as a scalar or a vector."""
    if info is not None and (info.rank > 1 or not all(isinstance(d, Expr) or d == 1 for d in info.dims)):
        fail(op, f"{what} must be one element, got {info.type} ({code})")


def numbers_in(value: SSAValue | None) -> list[int] | None:
    """The elements of an integer operand that is a small constant."""
    return None if value is None else info_of(value).numbers


def constant_of(array: Array) -> SSAValue:
    """A small constant of i64, in no block yet."""
    return ConstantOp(value_of(array), tensor_type(i64, array.shape)).output


def vector(*values: int) -> SSAValue:
    """`constant_of` numbers."""
    return constant_of(np.array(values, np.int64))


def first_cut(op: Operation, box: Box) -> list[Box]:
    """The first operand cut to `box`, all others whole."""
    return [box, *(whole(v) for v in op.operands[1:])]


def moved(x: Info, dims: Sequence[Dim], move: Callable[[Array], Any] | None = None) -> Info:
    """
    `x` under other dims. Its elements come along where they are known and few: as `move` puts them, or in their order.
    """
    shape = [d for d in dims if isinstance(d, int)]
    if x.data is None or len(shape) < len(dims) or math.prod(shape) > INLINE:
        return x.like(dims)
    data = x.data if move is None else np.asarray(move(x.data), dtype=x.data.dtype)
    return x.like(dims, data.reshape(shape))


# ------------------------------------------------------------------ slices


def slice_range(size: int, start: int, end: int, step: int) -> range:
    """
    The indices that ONNX's Slice takes from an axis of `size`: negative bounds count from the end, bounds out of range
    are clamped (a start never falls off the end that the slice walks towards, as numpy's may).
    """
    start, end = (start + size if start < 0 else start), (end + size if end < 0 else end)
    if step > 0:
        return range(min(max(start, 0), size), min(max(end, 0), size), step)
    return range(min(max(start, 0), size - 1), min(max(end, -1), size - 1), step)


def slice_dim(size: Dim, start: Dim, end: Dim, step: int) -> Dim:
    """How many indices `slice_range` gives, also for dims that are expressions; unknown where a sign is."""
    if isinstance(size, int) and isinstance(start, int) and isinstance(end, int):
        return len(slice_range(size, start, end, step))
    if step < 0:
        backwards = isinstance(start, int) and isinstance(end, int) and (start == -1 or start >= FAR) and end <= -FAR
        return ceildiv(size, -step) if backwards else unknown_size()
    first, last = _from_front(size, start), _from_front(size, end)
    if first is None or last is None:
        return unknown_size()
    # A start past the end gives a negative length, which counts as 0; so it need not be clamped itself.
    last = size if last == size or (isinstance(end, int) and end >= FAR) else _bounded("min", last, size)
    if last == size and isinstance(start, int) and start < 0:
        return ceildiv(choose("min", -start, size), step)
    length = last - (choose("max", first, 0) if isinstance(start, int) and start < 0 else first)
    return ceildiv(_bounded("max", length, 0), step)


def _bounded(name: str, a: Dim, b: Dim) -> Dim:
    """`choose`, which knows the sign of no difference but a number, of dims that are sizes."""
    if is_size(a - b):
        return a if name == "max" else b
    return (b if name == "max" else a) if is_size(b - a) else choose(name, a, b)


def _from_front(size: Dim, bound: Dim) -> Dim | None:
    if isinstance(bound, int):
        return size + bound if bound < 0 else bound
    return bound if is_size(bound) else None


def chunks(size: Dim, count: int) -> list[Dim]:
    """`size` in `count` parts of equal length, the last one shorter where it does not divide."""
    part = exact_quotient(size, count)
    if part is None:
        part = ceildiv(size, count)
    return [part] * (count - 1) + [size - part * (count - 1)]
