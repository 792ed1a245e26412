"""Ops that cut tensors, join them, and repeat elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import i32, i64
from xdsl.ir import Operation, SSAValue

from .core import PureOp, ge_op
from .data import Array
from .declare import OnnxName, integer, operand, opt_operand, result, var_operands, var_results
from .dims import Dim, unknown_size
from .errors import fail
from .info import Info, axes_of, axis_of, broadcast, either, same_dim, same_element
from .interfaces import Box, Joins, Movement, Parts, Tiles, box_shape, broadcast_box, on_operands, whole
from .shapes import (
    FAR,
    check_vector,
    chunks,
    first_cut,
    moved,
    numbers_in,
    rank_unknown,
    slice_dim,
    slice_range,
    vector,
)
from .types import shape_of


class Cut(PureOp, Movement, Tiles):
    """Shared by movements along some axes: a tile covers those, and is the input's along the others."""

    def moved_axes(self) -> Sequence[int] | None:
        """Axes (counted from the front) along which elements move; None where that is not known."""
        raise NotImplementedError

    def loops(self) -> tuple[str, ...]:
        rank = len(shape_of(self.results[0].type))
        axes = self.moved_axes()
        return tuple("whole" if axes is None or k in axes else "parallel" for k in range(rank))

    def operand_tiles(self, tile: Box) -> list[Box]:
        axes = self.moved_axes()
        box = whole(self.operands[0])
        return first_cut(self, tuple(b if axes is None or k in axes else tile[k] for k, b in enumerate(box)))


@ge_op
class ConcatOp(PureOp, Movement, Tiles, Joins):
    """
    The inputs one after the other along `axis`.

    C1  there is an input, and all have one element type
    C2  ranks are equal, and so are dims apart from those of `axis`
    C3  axis is in [-rank, rank)

        %y = ge.concat %a, %b axis 1 : tensor<?x4xf32>, tensor<?x8xf32> -> tensor<?x12xf32>

    Source: ONNX Concat-13.
    """

    name = "ge.concat"
    onnx = OnnxName("Concat", since=4)
    inputs = var_operands()
    axis = integer()
    concat_result = result()

    def infer(self, *operands: Any) -> Info:
        if not operands:
            fail(self, "there must be an input, got none (C1)")
        element = same_element(self, "C1", *operands)
        first: Info = operands[0]
        axis = axis_of(self, self.axis, first.rank, "C3")
        dims = list(first.dims)
        for x in operands[1:]:
            if x.rank != first.rank:
                fail(self, f"inputs must have one rank, got {first.type} and {x.type} (C2)")
            for k, d in enumerate(x.dims):
                if k != axis and not same_dim(dims[k], d):
                    fail(self, f"dim {k} of all inputs must be {dims[k]}, got {x.type} (C2)")
                dims[k] = either(dims[k], d) if k != axis else dims[k] + d
        joined = Info(element, tuple(dims))
        arrays = [x.data for x in operands]
        if any(a is None for a in arrays):
            return joined
        # Where one has expressions, numpy makes all of them objects.
        return moved(joined.like(dims, np.concatenate(arrays, axis)), dims)

    def loops(self) -> tuple[str, ...]:
        rank = len(shape_of(self.concat_result.type))
        return tuple("whole" if k == self.axis % rank else "parallel" for k in range(rank))

    def operand_tiles(self, tile: Box) -> list[Box]:
        axis = self.axis % len(tile)
        return [(*tile[:axis], (0, shape_of(v.type)[axis]), *tile[axis + 1 :]) for v in self.operands]

    def joins(self) -> list[Box]:
        return _along(self.axis, whole(self.concat_result), self.operands)


@ge_op
class SplitOp(Cut, Parts):
    """
    Cuts along `axis` into the lengths that `split` lists; without it, into parts of equal length, of which the last
    may be shorter.

    C1  axis is in [-rank, rank)
    C2  split is a vector of i64 with a length for each result, none negative
    C3  the lengths are the whole axis

        %a, %b = ge.split %x axis 1 : tensor<?x8xf32> -> tensor<?x4xf32>, tensor<?x4xf32>

    ONNX's num_outputs is the number of results.
    Source: ONNX Split-18.
    """

    name = "ge.split"
    onnx = OnnxName("Split", since=2, attributes_before={13: {"split": "split"}}, implied=("num_outputs",))
    input = operand()
    split = opt_operand()
    axis = integer(0)
    outputs = var_results()

    def implied(self) -> dict[str, Any]:
        return {"num_outputs": len(self.results)} if self.split is None else {}

    def infer(self, *operands: Any) -> list[Info]:
        x, split = operands
        axis = axis_of(self, self.axis, x.rank, "C1")
        lengths = self._lengths(x.dims[axis], split)
        known = all(isinstance(n, int) for n in lengths)
        found: list[Info] = []
        at: Dim = 0
        for n in lengths:
            dims = (*x.dims[:axis], n, *x.dims[axis + 1 :])
            part = x.like(dims)
            if known and isinstance(at, int) and isinstance(n, int):
                taken = range(at, at + n)
                part = moved(x, dims, lambda data, taken=taken: np.take(data, taken, axis))
            found.append(part)
            at = at + n
        return found

    def _lengths(self, size: Dim, split: Info | None) -> list[Dim]:
        count = len(self.results)
        if split is None:
            lengths = chunks(size, count)
        else:
            check_vector(self, "split", split, "C2")
            if not same_dim(split.dims[0], count):
                fail(self, f"split must have {count} lengths, got {split.type} (C2)")
            lengths = split.elements or [unknown_size() for _ in range(count)]
        if any(isinstance(n, int) and n < 0 for n in lengths):
            fail(self, f"no length can be negative, got {lengths} (C2)")
        total = sum(lengths)
        if not same_dim(total, size):
            fail(self, f"lengths {lengths} must be {size} in all (C3)")
        return lengths

    def moved_axes(self) -> Sequence[int] | None:
        # A tile is one box for all results, so they must be of one shape.
        alike = all(r.type == self.results[0].type for r in self.results)
        return (self.axis % len(shape_of(self.input.type)),) if alike else None

    def parts(self) -> list[Box]:
        return _along(self.axis, whole(self.input), self.results)


def _along(axis: int, box: Box, values: Sequence[SSAValue]) -> list[Box]:
    """Boxes of static values that stand one after the other along an axis of a box."""
    axis %= len(box)
    found: list[Box] = []
    at = 0
    for value in values:
        size = shape_of(value.type)[axis]
        found.append((*box[:axis], (at, size), *box[axis + 1 :]))
        at += size
    return found


@ge_op
class SliceOp(Cut, Parts):
    """
    Takes the indices starts[k], starts[k] + steps[k], ... before ends[k] along axis axes[k]; negative bounds count
    from the end, bounds out of range are clamped, a negative step walks backwards. Without axes: the first ones;
    without steps: 1.

    C1  starts, ends, axes and steps are vectors of i32 or i64 of one length
    C2  axes differ and are axes of the data
    C3  no step is 0

        %y = ge.slice %x, %starts, %ends, %axes
               : tensor<?x8xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64> -> tensor<?x4xf32>

    Source: ONNX Slice-13.
    """

    name = "ge.slice"
    onnx = OnnxName("Slice", since=1, attributes_before={10: {"starts": "starts", "ends": "ends", "axes": "axes"}})
    data = operand()
    starts = operand()
    ends = operand()
    axes = opt_operand()
    steps = opt_operand()
    output = result()

    def infer(self, *operands: Any) -> Info:
        x, starts, ends, axes, steps = operands
        for what, info in (("starts", starts), ("ends", ends), ("axes", axes), ("steps", steps)):
            if info is None:
                continue
            check_vector(self, what, info, "C1", (i32, i64))
            if not same_dim(info.dims[0], starts.dims[0]):
                fail(self, f"{what} must have {starts.dims[0]} elements, got {info.type} (C1)")
        count = next((i.dims[0] for i in (starts, ends, axes, steps) if i is not None and i.static), None)
        on = given_axes(self, x.rank, axes, count, "C2")
        if on is None:
            return x.like([unknown_size() for _ in x.dims])
        walk: list[int] | None = [1] * len(on) if steps is None else steps.numbers
        if walk is not None and 0 in walk:
            fail(self, f"no step can be 0, got {walk} (C3)")
        first, last = starts.elements, ends.elements
        if first is None or last is None or walk is None:
            return x.like([unknown_size() if k in on else d for k, d in enumerate(x.dims)])
        dims = list(x.dims)
        bounds: list[tuple[int, Dim, Dim, int]] = list(zip(on, first, last, walk, strict=True))
        for axis, start, end, step in bounds:
            dims[axis] = slice_dim(dims[axis], start, end, step)

        def take(data: Array) -> Array:
            for axis, start, end, step in bounds:
                if isinstance(start, int) and isinstance(end, int):
                    data = np.take(data, slice_range(data.shape[axis], start, end, step), axis)
            return data

        # Elements move where every bound is a number.
        plain = starts.numbers is not None and ends.numbers is not None
        return moved(x, dims, take) if plain else x.like(dims)

    def _bounds(self) -> dict[int, tuple[int, int, int]] | None:
        """(start, end, step) along each axis that is named; None where something is not known."""
        starts, ends = numbers_in(self.starts), numbers_in(self.ends)
        if starts is None or ends is None:
            return None
        axes = range(len(starts)) if self.axes is None else numbers_in(self.axes)
        steps = [1] * len(starts) if self.steps is None else numbers_in(self.steps)
        if axes is None or steps is None:
            return None
        rank = len(shape_of(self.data.type))
        return {a % rank: (s, e, t) for a, s, e, t in zip(axes, starts, ends, steps, strict=True)}

    def moved_axes(self) -> Sequence[int] | None:
        if self._bounds() is not None:
            return ()
        rank, count = len(shape_of(self.data.type)), shape_of(self.starts.type)[0]
        axes = list(range(count)) if self.axes is None else numbers_in(self.axes)
        return None if axes is None or count < 0 else [a % rank for a in axes]

    def operand_tiles(self, tile: Box) -> list[Box]:
        bounds = self._bounds()
        if bounds is None:
            return super().operand_tiles(tile)
        shape, out = shape_of(self.data.type), shape_of(self.output.type)
        box = list(tile)
        for axis, (start, end, step) in bounds.items():
            begin, count = tile[axis]
            box[axis] = (0, shape[axis])
            if count != out[axis]:
                taken = slice_range(shape[axis], start, end, step)[begin : begin + count]
                low = min(taken[0], taken[-1])
                box[axis] = (low, max(taken[0], taken[-1]) + 1 - low)
        return first_cut(self, tuple(box))

    def on_tile(self, tile: Box, operands: Sequence[SSAValue]) -> Operation:
        bounds, out = self._bounds(), shape_of(self.output.type)
        if bounds is None or all(tile[axis][1] == out[axis] for axis in bounds):
            return on_operands(self, operands)
        for axis, (_, _, step) in bounds.items():
            if tile[axis][1] != out[axis]:
                bounds[axis] = (0, FAR, step) if step > 0 else (-1, -FAR, step)
        starts, ends, steps = zip(*bounds.values(), strict=True)
        return SliceOp(operands[0], vector(*starts), vector(*ends), vector(*bounds), vector(*steps))

    def parts(self) -> list[Box] | None:
        shape, box = shape_of(self.data.type), list(whole(self.data))
        bounds = self._bounds()
        if bounds is None or any(step != 1 for *_, step in bounds.values()):
            return None
        for axis, (start, end, _) in bounds.items():
            taken = slice_range(shape[axis], start, end, 1)
            box[axis] = (taken.start, len(taken))
        return [tuple(box)]


def given_axes(op: Operation, rank: int, axes: Info | None, count: Any, code: str) -> Sequence[int] | None:
    """Axes that an optional operand lists; without it, the first `count`. None where they are not known."""
    if axes is not None:
        return None if axes.numbers is None else axes_of(op, axes.numbers, rank, code)
    return axes_of(op, range(count), rank, code) if isinstance(count, int) else None


@ge_op
class ExpandOp(PureOp, Movement, Tiles):
    """
    The input repeated along axes of dim 1 until it broadcasts with `shape`.

    C1  shape is a vector of i64 of known length, none negative
    C2  the input's shape and `shape` broadcast

        %y = ge.expand %x, %s : tensor<?x1xf32>, tensor<3xi64> -> tensor<2x?x4xf32>

    Source: ONNX Expand-13.
    """

    name = "ge.expand"
    onnx = OnnxName("Expand", since=8)
    input = operand()
    shape = operand()
    output = result()

    def infer(self, *operands: Any) -> Info:
        x, shape = operands
        check_vector(self, "shape", shape, "C1")
        rank = shape.dims[0]
        if not isinstance(rank, int):
            rank_unknown(self, "the length of shape must be known (C1)")
        wanted: list[Dim] = shape.elements if shape.elements is not None else [unknown_size() for _ in range(rank)]
        if any(isinstance(d, int) and d < 0 for d in wanted):
            fail(self, f"no dim can be negative, got {wanted} (C1)")
        dims = broadcast(self, "C2", x.dims, wanted)
        return moved(x, dims, lambda data: np.broadcast_to(data, cast("tuple[int, ...]", dims)))

    def loops(self) -> tuple[str, ...]:
        return ("parallel",) * len(shape_of(self.output.type))

    def operand_tiles(self, tile: Box) -> list[Box]:
        return first_cut(self, broadcast_box(tile, shape_of(self.input.type)))

    def on_tile(self, tile: Box, operands: Sequence[SSAValue]) -> Operation:
        wanted, dims = numbers_in(self.shape), box_shape(tile)
        # Where `shape` says 1, or nothing, the result has the input's dim, a tile's too.
        if wanted is not None and all(n in (1, d) for n, d in zip(wanted[::-1], dims[::-1], strict=False)):
            return on_operands(self, operands)
        return ExpandOp(operands[0], vector(*dims))


@ge_op
class TileOp(Cut):
    """
    The input repeats[k] times along each axis k.

    C1  repeats is a vector of i64 with a number an axis, none negative

        %y = ge.tile %x, %repeats : tensor<?x4xf32>, tensor<2xi64> -> tensor<?x12xf32>

    Source: ONNX Tile-13.
    """

    name = "ge.tile"
    onnx = OnnxName("Tile", since=6)
    input = operand()
    repeats = operand()
    output = result()

    def infer(self, *operands: Any) -> Info:
        x, repeats = operands
        check_vector(self, "repeats", repeats, "C1")
        times = repeats.elements
        if not same_dim(repeats.dims[0], x.rank) or any(isinstance(n, int) and n < 0 for n in times or ()):
            fail(self, f"repeats must be {x.rank} numbers, none negative, got {times or repeats.type} (C1)")
        if times is None:
            return x.like([unknown_size() for _ in x.dims])
        dims = [d * n for d, n in zip(x.dims, times, strict=True)]
        return moved(x, dims, lambda data: np.tile(data, times))

    def moved_axes(self) -> Sequence[int] | None:
        times = numbers_in(self.repeats)
        return None if times is None else [k for k, n in enumerate(times) if n != 1]
