"""
Our own meanings of ops that move elements.

The onnx package's evaluator walks indices in Python, and is wrong or refuses here (onnx 1.23), against the operators'
text: Expand of strings (it multiplies by ones), GatherElements with a negative axis or indices that cover the data in
part, OneHot of strings or with a depth in a vector (and it computes on - off + off for on), Pad with negative pads,
Resize with negative axes and where rounding moves a place off an element, Slice that walks backwards from before the
first element.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
import numpy.typing as npt
from xdsl.ir import Block

from ..dialects.ge.core import GeOp
from ..dialects.ge.gather import GatherElementsOp, GatherNDOp, OneHotOp, ScatterElementsOp, ScatterNDOp
from ..dialects.ge.info import Info
from ..dialects.ge.padding import PadOp
from ..dialects.ge.resampling import TAPS, Grid
from ..dialects.ge.resize import ResizeOp
from ..dialects.ge.shapes import slice_range
from ..dialects.ge.slicing import ExpandOp, SliceOp
from ..dialects.ge.types import element_of, tensor_type

Array = npt.NDArray[Any]
COMBINE: dict[str, Any] = {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}


def _by_slot(op: GeOp, operands: Sequence[Any]) -> list[Any]:
    """Operands in their slots, None for an absent one."""
    given = iter(operands)
    return [None if v is None else next(given) for v in op.by_slot()]


def expand(op: ExpandOp, operands: Sequence[Any]) -> list[Any]:
    x, shape = operands
    return [np.array(np.broadcast_to(x, np.broadcast_shapes(x.shape, tuple(shape))))]


def slice_(op: SliceOp, operands: Sequence[Any]) -> list[Any]:
    x, starts, ends, axes, steps = _by_slot(op, operands)
    axes = range(len(starts)) if axes is None else axes
    steps = [1] * len(starts) if steps is None else steps
    for axis, start, end, step in zip(axes, starts, ends, steps, strict=True):
        taken = slice_range(x.shape[axis], int(start), int(end), int(step))
        stop = taken.stop if taken.stop >= 0 else None
        index: list[Any] = [slice(None)] * x.ndim
        index[axis] = slice(taken.start, stop, taken.step) if len(taken) else slice(0, 0)
        x = x[tuple(index)]
    return [np.ascontiguousarray(x).reshape(x.shape)]


def pad(op: PadOp, operands: Sequence[Any]) -> list[Any] | None:
    x, pads, fill, axes = _by_slot(op, operands)
    if not (pads < 0).any():
        return None
    axes = range(x.ndim) if axes is None else axes
    around = [(0, 0)] * x.ndim
    for k, axis in enumerate(axes):
        before, after = int(pads[k]), int(pads[len(axes) + k])
        kept = range(x.shape[axis])[max(-before, 0) : x.shape[axis] - max(-after, 0)]
        x = np.take(x, kept, axis)
        around[axis] = (max(before, 0), max(after, 0))
    more = {"constant_values": x.dtype.type(0) if fill is None else fill.reshape(())} if op.mode == "constant" else {}
    return [np.pad(x, around, cast(Any, op.mode), **more)]


# ------------------------------------------------------------------ indices


def _places(indices: Array, axis: int) -> tuple[Array, ...]:
    """For each element of `indices` its place in data, along `axis` the index itself."""
    places = list(np.ogrid[tuple(slice(d) for d in indices.shape)])
    places[axis] = indices
    return tuple(places)


def gather_elements(op: GatherElementsOp, operands: Sequence[Any]) -> list[Any]:
    x, indices = operands
    return [x[_places(indices, op.axis)]]


def gather_nd(op: GatherNDOp, operands: Sequence[Any]) -> list[Any]:
    x, indices = operands
    rows = indices.ndim - 1
    batch = np.ogrid[tuple(slice(d) for d in indices.shape[:rows])][: op.batch_dims]
    return [x[(*batch, *np.moveaxis(indices, -1, 0))]]


def _scattered(x: Array, places: tuple[Array, ...], updates: Array, reduction: str) -> list[Any]:
    y = np.array(x)
    if reduction == "none":
        y[places] = updates
    else:
        COMBINE[reduction].at(y, places, updates)
    return [y]


def scatter_elements(op: ScatterElementsOp, operands: Sequence[Any]) -> list[Any]:
    x, indices, updates = operands
    return _scattered(x, _places(indices, op.axis), updates, op.reduction)


def scatter_nd(op: ScatterNDOp, operands: Sequence[Any]) -> list[Any]:
    x, indices, updates = operands
    return _scattered(x, tuple(np.moveaxis(indices, -1, 0)), updates, op.reduction)


def one_hot(op: OneHotOp, operands: Sequence[Any]) -> list[Any]:
    indices, depth, values = operands
    count = int(np.asarray(depth).reshape(()))
    at = np.expand_dims(np.where(indices < 0, indices + count, indices), op.axis)
    along = np.arange(count).reshape([-1 if k == op.axis % at.ndim else 1 for k in range(at.ndim)])
    return [np.where(at == along, values[1], values[0])]


# ------------------------------------------------------------------ resizing


def resize(op: ResizeOp, operands: Sequence[Any]) -> list[Any] | None:
    """Axis by axis, by the elements and weights that the places of `op.grids` say; the rest is onnx's."""
    given = _by_slot(op, operands)
    x, scales, sizes = given[0], *(None if a is None else _known(a, a) for a in given[2:])
    grids = op.grids_for(_known(x), scales, sizes)
    if grids is None:
        return _resized_by_onnx(op, given)
    y = x if op.mode == "nearest" else x.astype(np.float64)
    for axis, grid in grids.items():
        extent, along = op.to_logical(x.shape)[axis], op.to_logical(range(x.ndim))[axis]
        if not grid.keeps(extent):
            y = _along(op, y, along, extent, grid)
    if y.dtype != x.dtype and x.dtype.kind in "iu":
        limits = np.iinfo(x.dtype)
        y = np.clip(np.rint(y), limits.min, limits.max)
    return [np.ascontiguousarray(y.astype(x.dtype))]


def _known(array: Array, data: Array | None = None) -> Info:
    return Info(element_of(array.dtype).type, array.shape, data)


def _along(op: ResizeOp, x: Array, axis: int, extent: int, grid: Grid) -> Array:
    """Resized along one axis of `extent` elements; in doubles but for the nearest element."""
    if op.mode == "nearest":
        return np.take(x, [min(max(grid.nearest(k, op.nearest_mode), 0), extent - 1) for k in range(grid.size)], axis)
    places = [grid.place(k) for k in range(grid.size)]
    floors, rests = np.array([f for f, _ in places]), np.array([rest / grid.per for _, rest in places])
    taps = np.arange(*TAPS[op.mode])
    weights = _linear(rests) if op.mode == "linear" else _cubic(rests, op.cubic_coeff_a)
    indices = [floors + tap for tap in taps]
    if op.exclude_outside:
        weights = [np.where((k < 0) | (k >= extent), 0, w) for k, w in zip(indices, weights, strict=True)]
        total = sum(weights)
        weights = [w / np.where(total == 0, 1, total) for w in weights]
    shape = [-1 if k == axis else 1 for k in range(x.ndim)]
    # One after the other: the order of a sum must not depend on how many elements a tile has.
    return sum(
        np.take(x, np.clip(k, 0, extent - 1), axis) * w.reshape(shape) for k, w in zip(indices, weights, strict=True)
    )


def _linear(r: Array) -> list[Array]:
    return [1 - r, r]


def _cubic(r: Array, a: float) -> list[Array]:
    """Weights of the four elements around a place that lies r behind the second."""

    def near(t: Array) -> Array:
        return ((a + 2) * t - (a + 3)) * t * t + 1

    def far(t: Array) -> Array:
        return ((a * t - 5 * a) * t + 8 * a) * t - 4 * a

    return [far(r + 1), near(r), near(1 - r), far(2 - r)]


def _resized_by_onnx(op: ResizeOp, given: list[Any]) -> list[Any] | None:
    """As the same op on channels-first data, with axes counted from the front and no roi of no elements."""
    axes = op.axes or ()
    # "It only takes effect when coordinate_transformation_mode is tf_crop_and_resize", yet onnx 1.18 reads it.
    if given[1] is not None and np.size(given[1]) == 0:
        given[1] = None
    elif op.format() == "NCHW" and all(a >= 0 for a in axes):
        return None
    from .evaluator import evaluate

    rank = given[0].ndim
    given[0] = np.moveaxis(given[0], -1, 1) if op.format() == "NHWC" else given[0]
    there = [x for x in given if x is not None]
    values = iter(Block(arg_types=[tensor_type(element_of(x.dtype).type, x.shape) for x in there]).args)
    attrs = op.attrs() | {"data_format": "NCHW", "axes": None if op.axes is None else [a % rank for a in axes]}
    (y,) = evaluate(ResizeOp(*(None if x is None else next(values) for x in given), **attrs), there)
    return [np.ascontiguousarray(np.moveaxis(y, 1, -1)) if op.format() == "NHWC" else y]


MOVEMENT: dict[type, Callable[[Any, Sequence[Any]], list[Any] | None]] = {
    ExpandOp: expand,
    GatherElementsOp: gather_elements,
    GatherNDOp: gather_nd,
    OneHotOp: one_hot,
    PadOp: pad,
    ResizeOp: resize,
    ScatterElementsOp: scatter_elements,
    ScatterNDOp: scatter_nd,
    SliceOp: slice_,
}
