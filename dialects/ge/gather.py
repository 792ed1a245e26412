"""Ops that move elements by index: gathers read at indices, scatters write there, one-hot sets one of several."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import i64
from xdsl.ir import Operation

from .core import PureOp, ge_op
from .declare import Older, OnnxName, integer, operand, result, text
from .dims import is_size, unknown_size
from .errors import fail
from .info import Info, axis_of, either, same_dim, same_element
from .interfaces import Box, Movement, Overwrites, Tiles, whole
from .shapes import check_index, check_single, moved, rank_unknown
from .types import shape_of


class Indexed(PureOp, Tiles):
    """Shared by ops with indices; negative ones count from the end."""


@ge_op
class GatherOp(Indexed, Movement):
    """
    y[i.., j.., k..] = data[i.., indices[j..], k..]: the axis `axis` of the data is replaced by those of the indices.

    C1  indices are of i32 or i64
    C2  axis is in [-rank, rank)

        %y = ge.gather %table, %ids : tensor<1000x64xf32>, tensor<?x8xi64> -> tensor<?x8x64xf32>

    Source: ONNX Gather-13.
    """

    name = "ge.gather"
    onnx = OnnxName("Gather", since=1)
    data = operand()
    indices = operand()
    axis = integer(0)
    output = result()

    def infer(self, *operands: Any) -> Info:
        x, indices = operands
        check_index(self, "indices", indices, "C1")
        axis = axis_of(self, self.axis, x.rank, "C2")
        dims = (*x.dims[:axis], *indices.dims, *x.dims[axis + 1 :])
        size, at = x.dims[axis], indices.numbers
        # An index out of range is an error of the run, if it comes to it.
        if at is None or not isinstance(size, int) or not all(-size <= k < size for k in at):
            return x.like(dims)
        return moved(x, dims, lambda data: np.take(data, indices.data.astype(np.int64) % max(size, 1), axis))

    def loops(self) -> tuple[str, ...]:
        return ("parallel",) * len(shape_of(self.output.type))

    def operand_tiles(self, tile: Box) -> list[Box]:
        axis = self.axis % len(shape_of(self.data.type))
        after = axis + len(shape_of(self.indices.type))
        return [(*tile[:axis], whole(self.data)[axis], *tile[after:]), tile[axis:after]]


@ge_op
class GatherElementsOp(Indexed, Movement):
    """
    y[i, j, k] = data[indices[i, j, k], j, k] for axis 0, and so for the other axes.

    C1  indices are of i32 or i64
    C2  data and indices have one rank
    C3  axis is in [-rank, rank)
    C4  apart from `axis`, no dim of the indices is greater than the data's

        %y = ge.gather_elements %x, %i axis 1 : tensor<?x8xf32>, tensor<?x3xi64> -> tensor<?x3xf32>

    Source: ONNX GatherElements-13.
    """

    name = "ge.gather_elements"
    onnx = OnnxName("GatherElements", since=11)
    data = operand()
    indices = operand()
    axis = integer(0)
    output = result()

    def infer(self, *operands: Any) -> Info:
        x, indices = operands
        check_elements(self, x, indices, self.axis)
        return x.like(indices.dims)

    def loops(self) -> tuple[str, ...]:
        return ("parallel",) * len(shape_of(self.output.type))

    def operand_tiles(self, tile: Box) -> list[Box]:
        axis = self.axis % len(tile)
        return [(*tile[:axis], whole(self.data)[axis], *tile[axis + 1 :]), tile]


def check_elements(op: Operation, x: Info, indices: Info, axis: int) -> int:
    """C1 to C4 of indices that lie over the data; the axis, counted from the front."""
    check_index(op, "indices", indices, "C1")
    if x.rank != indices.rank:
        fail(op, f"data and indices must have one rank, got {x.type} and {indices.type} (C2)")
    axis = axis_of(op, axis, x.rank, "C3")
    for k, (d, n) in enumerate(zip(x.dims, indices.dims, strict=True)):
        if k != axis and isinstance(d, int) and isinstance(n, int) and n > d:
            fail(op, f"dim {k} of the indices must be at most {d}, got {n} (C4)")
    return axis


@ge_op
class GatherNDOp(Indexed, Movement):
    """
    y[b.., i.., k..] = data[b.., indices[b.., i.., :], k..]: the last axis of the indices holds an index into the data
    after its first batch_dims axes b.

    C1  indices are of i64 and have an axis
    C2  batch_dims is not negative and less than both ranks
    C3  the last dim n of the indices is known, and batch_dims + n at most the data's rank
    C4  the batch dims of both are equal

        %y = ge.gather_nd %x, %i : tensor<4x8x16xf32>, tensor<?x2xi64> -> tensor<?x16xf32>

    Source: ONNX GatherND-13.
    """

    name = "ge.gather_nd"
    onnx = OnnxName("GatherND", since=11)
    data = operand()
    indices = operand()
    batch_dims = integer(0)
    output = result()

    def infer(self, *operands: Any) -> Info:
        x, indices = operands
        n = index_length(self, x, indices)
        b = self.batch_dims
        if not 0 <= b < min(x.rank, indices.rank):
            fail(self, f"batch_dims must be in [0, {min(x.rank, indices.rank)}), got {b} (C2)")
        if b + n > x.rank:
            fail(self, f"the data must have {b + n} axes, got {x.type} (C3)")
        batch = [either(p, q) for p, q in zip(x.dims[:b], indices.dims[:b], strict=True)]
        if not all(map(same_dim, x.dims[:b], indices.dims[:b])):
            fail(self, f"the first {b} dims must be equal, got {x.type} and {indices.type} (C4)")
        return x.like([*batch, *indices.dims[b:-1], *x.dims[b + n :]])

    def loops(self) -> tuple[str, ...]:
        return ("parallel",) * len(shape_of(self.output.type))

    def operand_tiles(self, tile: Box) -> list[Box]:
        index = shape_of(self.indices.type)
        b, n, rows = self.batch_dims, index[-1], len(index) - 1
        data = (*tile[:b], *whole(self.data)[b : b + n], *tile[rows:])
        return [data, (*tile[:rows], (0, n))]


def index_length(op: Operation, x: Info, indices: Info) -> int:
    """The last dim of indices that each are several numbers (C1 and the first half of C3)."""
    if indices.element != i64 or indices.rank < 1 or x.rank < 1:
        fail(op, f"indices must be of i64, and they and the data have an axis, got {x.type} and {indices.type} (C1)")
    n = indices.dims[-1]
    if not isinstance(n, int):
        rank_unknown(op, f"the last dim of the indices must be known, got {indices.type} (C3)")
    return n


REDUCTIONS = ("none", "add", "mul", "max", "min")


class Scatter(Indexed, Overwrites):
    """Shared by scatters: the result is the data with some elements replaced, or combined with updates."""

    data = operand()
    indices = operand()
    updates = operand()
    output = result()

    def check_updates(self, x: Info, updates: Info, reduction: str, code: str) -> None:
        if reduction not in REDUCTIONS:
            fail(self, f"reduction must be none, add, mul, max or min, got {reduction} ({code})")
        same_element(self, code, x, updates)

    def overwrites(self) -> tuple[int, ...]:
        # Not where an index or an update would be read after it was written over.
        return (0,) if self.data.type == self.output.type and self.data not in (self.indices, self.updates) else ()


@ge_op
class ScatterElementsOp(Scatter):
    """
    The data with y[indices[i, j, k], j, k] = updates[i, j, k] for axis 0, and so for the other axes; with `reduction`
    the old element combined with the update.

    C1  indices are of i32 or i64
    C2  data and indices have one rank
    C3  axis is in [-rank, rank)
    C4  apart from `axis`, no dim of the indices is greater than the data's
    C5  reduction is none, add, mul, max or min; updates have the data's element type and the indices' shape

        %y = ge.scatter_elements %x, %i, %u axis 1
               : tensor<?x8xf32>, tensor<?x3xi64>, tensor<?x3xf32> -> tensor<?x8xf32>

    Source: ONNX ScatterElements-18; Scatter-9.
    """

    name = "ge.scatter_elements"
    onnx = OnnxName("ScatterElements", since=11, older={9: Older("Scatter", ("data", "indices", "updates"))})
    axis = integer(0)
    reduction = text("none")

    @classmethod
    def from_older(cls, version: int, attrs: dict[str, Any], operands: Sequence[Info | None]) -> dict[str, Any] | None:
        return attrs

    def to_older(self, version: int) -> dict[str, Any] | None:
        return {"axis": self.axis} if self.reduction == "none" else None

    def infer(self, *operands: Any) -> Info:
        x, indices, updates = operands
        check_elements(self, x, indices, self.axis)
        self.check_updates(x, updates, self.reduction, "C5")
        if updates.rank != indices.rank or not all(map(same_dim, updates.dims, indices.dims)):
            fail(self, f"updates must have the shape of the indices, {indices.type}, got {updates.type} (C5)")
        return x.like(x.dims)

    def loops(self) -> tuple[str, ...]:
        # An axis that the indices do not cover has tiles without any update.
        data, index = shape_of(self.data.type), shape_of(self.indices.type)
        axis = self.axis % len(data)
        return tuple("parallel" if k != axis and d == index[k] else "whole" for k, d in enumerate(data))

    def operand_tiles(self, tile: Box) -> list[Box]:
        index = whole(self.indices)
        cut = tuple(t if loop == "parallel" else i for t, i, loop in zip(tile, index, self.loops(), strict=True))
        return [tile, cut, cut]


@ge_op
class ScatterNDOp(Scatter):
    """
    The data with y[indices[i.., :], k..] = updates[i.., k..]; with `reduction` the old element combined with the
    update.

    C1  indices are of i64 and have an axis
    C2  reduction is none, add, mul, max or min; updates have the data's element type
    C3  the last dim n of the indices is known, and at most the data's rank
    C4  updates have the shape of the indices without its last dim, then of the data without its first n

        %y = ge.scatter_nd %x, %i, %u : tensor<8x16xf32>, tensor<?x1xi64>, tensor<?x16xf32> -> tensor<8x16xf32>

    Source: ONNX ScatterND-18.
    """

    name = "ge.scatter_nd"
    onnx = OnnxName("ScatterND", since=11)
    reduction = text("none")

    def infer(self, *operands: Any) -> Info:
        x, indices, updates = operands
        n = index_length(self, x, indices)
        self.check_updates(x, updates, self.reduction, "C2")
        if n > x.rank:
            fail(self, f"the data must have {n} axes, got {x.type} (C3)")
        wanted = x.like([*indices.dims[:-1], *x.dims[n:]])
        if updates.rank != wanted.rank or not all(map(same_dim, updates.dims, wanted.dims)):
            fail(self, f"updates must be {wanted.type}, got {updates.type} (C4)")
        return x.like(x.dims)

    def loops(self) -> tuple[str, ...]:
        n, rank = shape_of(self.indices.type)[-1], len(shape_of(self.data.type))
        return ("whole",) * n + ("parallel",) * (rank - n)

    def operand_tiles(self, tile: Box) -> list[Box]:
        index = whole(self.indices)
        return [tile, index, (*index[:-1], *tile[index[-1][1] :])]


@ge_op
class OneHotOp(Indexed, Movement):
    """
    A new axis of `depth` elements at `axis`: values[1] at the index, values[0] elsewhere; an index outside of
    [-depth, depth) sets nothing.

    C1  depth is one element
    C2  values is a vector of 2
    C3  axis is in [-rank - 1, rank]

        %y = ge.one_hot %i, %depth, %values : tensor<?xi64>, tensor<i64>, tensor<2xf32> -> tensor<?x10xf32>

    Source: ONNX OneHot-28.
    """

    name = "ge.one_hot"
    onnx = OnnxName("OneHot", since=11)
    indices = operand()
    depth = operand()
    values = operand()
    axis = integer(-1)
    output = result()

    def infer(self, *operands: Any) -> Info:
        indices, depth, values = operands
        check_single(self, "depth", depth, "C1")
        if values.rank != 1 or not same_dim(values.dims[0], 2):
            fail(self, f"values must be a vector of 2, got {values.type} (C2)")
        axis = axis_of(self, self.axis, indices.rank + 1, "C3")
        size = depth.elements[0] if depth.elements else unknown_size()
        dims = [*indices.dims[:axis], size if is_size(size) else unknown_size(), *indices.dims[axis:]]
        return Info(values.element, tuple(dims))

    def loops(self) -> tuple[str, ...]:
        rank = len(shape_of(self.output.type))
        return tuple("whole" if k == self.axis % rank else "parallel" for k in range(rank))

    def operand_tiles(self, tile: Box) -> list[Box]:
        axis = self.axis % len(tile)
        return [(*tile[:axis], *tile[axis + 1 :]), whole(self.depth), whole(self.values)]
