"""
Gathers whose indices are known: of gathers, of joins, and of all there is.

    gather(gather(%x, [4, 7, 9]), [2, 0])              ->   gather(%x, [9, 4])
    gather(concat(%a, %b), 5), %a of 3                 ->   gather(%b, 2)
    gather(%x, [[0, 1], [2, 3]]), an axis of 4         ->   reshape(%x)
    gather(%x : 1x8, 0), gather_nd of all in order     ->   reshape(%x)

Needs constant indices. Leaves none of these.
"""

from __future__ import annotations

from typing import cast

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from ...dialects.ge.constants import ConstantOp, constant
from ...dialects.ge.gather import GatherNDOp, GatherOp
from ...dialects.ge.movement import ReshapeOp
from ...dialects.ge.slicing import ConcatOp
from ..base import GePass
from ..opset import has_op
from ..report import count
from ..rewriting import functions, sync_type, walk_outside
from ..shape.analysis import Dims
from ..shape.views import put, reshape_spec, same_dims, vector

MANY = 1 << 20
"""Indices up to which they are looked at."""


class GatherForwardFusion(GePass):
    name = "gather-forward-fusion"
    ge_name = "GatherForwardFusionPass"
    level = 1
    summary = "Joins gathers with gathers and joins, and makes those of all there is views"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        reshapes = has_op(op, ReshapeOp)
        for function in functions(op):
            dims = Dims(function)
            for inner in walk_outside(function, GatherOp, GatherNDOp):
                current: GatherOp | GatherNDOp | None = inner
                while current is not None and (at := _indices(current.indices)) is not None:
                    if reshapes and _takes_all(current, at, dims):
                        _view(current, dims)
                        break
                    current = _through(current, at, dims, op) if isinstance(current, GatherOp) else None
            sync_type(function)


def _indices(value: SSAValue) -> np.ndarray | None:
    op = value.owner
    if not isinstance(op, ConstantOp):
        return None
    at = op.array()
    return at.astype(np.int64) if 0 < at.size <= MANY else None


def _takes_all(op: GatherOp | GatherNDOp, at: np.ndarray, dims: Dims) -> bool:
    """Whether every element is taken once, in order."""
    sizes = dims(op.data).dims
    if isinstance(op, GatherOp):
        size = sizes[op.axis % len(sizes)]
        if not isinstance(size, int):
            return False
        return at.size == size and bool((np.where(at < 0, at + size, at).ravel() == np.arange(size)).all())
    taken = sizes[: at.shape[-1]]
    if op.batch_dims or not all(isinstance(d, int) for d in taken):
        return False
    shape = cast("tuple[int, ...]", taken)
    rows = at.reshape(-1, at.shape[-1])
    rows = np.where(rows < 0, rows + np.array(shape), rows)
    if len(rows) != np.prod(shape) or (rows < 0).any() or (rows >= np.array(shape)).any():
        return False
    return bool((np.ravel_multi_index(tuple(rows.T), shape) == np.arange(len(rows))).all())


def _view(op: GatherOp | GatherNDOp, dims: Dims) -> None:
    if same_dims(dims, op.data, op.output):
        put(dims, op, [], op.data)
        count("gathers of all dropped")
        return
    spec = reshape_spec(dims(op.data).dims, dims(op.output).dims)
    if spec is None:
        return
    shape = vector(spec, op)
    view = ReshapeOp(op.data, shape.output, result_types=[op.output.type])
    put(dims, op, [shape, view], view.reshaped)
    count("gathers made views")


def _through(op: GatherOp, at: np.ndarray, dims: Dims, module: ModuleOp) -> GatherOp | None:
    """Puts in the place of a gather one on what its data is gathered or joined from."""
    inner = op.data.owner
    axis = op.axis % dims(op.data).rank
    found: tuple[SSAValue, np.ndarray, int] | None = None
    match inner:
        case GatherOp():
            found = _of_gather(inner, at, axis, dims)
        case ConcatOp():
            found = _of_join(inner, at, axis, dims)
        case _:
            return None
    if found is None:
        return None
    source, indices, axis = found
    there = constant(np.asarray(indices, np.int64), module)
    new = GatherOp(source, there.output, axis=axis, result_types=[op.output.type])
    made: list[Operation] = [there, new]
    put(dims, op, made, new.output)
    count("gathers joined")
    return new


def _of_gather(inner: GatherOp, at: np.ndarray, axis: int, dims: Dims) -> tuple[SSAValue, np.ndarray, int] | None:
    first = _indices(inner.indices)
    start = inner.axis % dims(inner.data).rank
    if first is None or not start <= axis < start + first.ndim:
        return None
    size = first.shape[axis - start]
    if (at < -size).any() or (at >= size).any():
        return None  # an error of the run, if it comes to it
    return inner.data, np.take(first, at % size, axis - start), start


def _of_join(inner: ConcatOp, at: np.ndarray, axis: int, dims: Dims) -> tuple[SSAValue, np.ndarray, int] | None:
    if inner.axis % dims(inner.concat_result).rank != axis:
        return None
    sizes = [dims(v).dims[axis] for v in inner.inputs]
    known = [s for s in sizes if isinstance(s, int)]
    if len(known) < len(sizes) or (at < -sum(known)).any() or (at >= sum(known)).any():
        return None
    places = np.where(at < 0, at + sum(known), at)
    begin = 0
    for value, size in zip(inner.inputs, known, strict=True):
        if (places >= begin).all() and (places < begin + size).all():
            return value, places - begin, axis
        begin += size
    return None
