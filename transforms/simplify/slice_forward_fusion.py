"""
A slice of a slice is one slice.

    %a = ge.slice %x, [2], [9], [0] : tensor<16x8xf32> -> tensor<7x8xf32>
    %b = ge.slice %a, [1, 4], [4, 8], [0, 1] : tensor<7x8xf32> -> tensor<3x4xf32>
        ->   %b = ge.slice %x, [3, 4], [6, 8], [0, 1]

On different axes always; on one axis where the dim is known, or both take every element from a place counted from the
front. Needs constant bounds. Leaves no such pair; prune drops the inner slice.
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from ...dialects.ge.dims import Dim
from ...dialects.ge.shapes import slice_range
from ...dialects.ge.slicing import SliceOp
from ..base import GePass
from ..opset import opset_of
from ..report import count
from ..rewriting import functions, walk_outside
from ..shape.analysis import Dims
from ..shape.views import END, put, vector

Bounds = tuple[int, int, int]
"""Start, end, step."""


class SliceForwardFusion(GePass):
    name = "slice-forward-fusion"
    ge_name = "SliceForwardFusionPass"
    level = 1
    summary = "Makes one slice of several in a row"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        steps = opset_of(op) >= 10
        for function in functions(op):
            dims = Dims(function)
            for inner in walk_outside(function, SliceOp):
                if isinstance(before := inner.data.owner, SliceOp):
                    _fuse(inner, before, dims, steps)


def _fuse(op: SliceOp, before: SliceOp, dims: Dims, steps: bool) -> None:
    inner, outer = bounds_of(before, dims), bounds_of(op, dims)
    if inner is None or outer is None:
        return
    sizes = dims(before.data).dims
    both = dict(inner)
    for axis, bounds in outer.items():
        joined = _joined(inner[axis], bounds, sizes[axis]) if axis in inner else bounds
        if joined is None:
            return
        both[axis] = joined
    if not steps and any(step != 1 for _, _, step in both.values()):
        return
    made = slice_of(before, both, op)
    put(dims, op, made, made[-1].results[0])
    count("slices fused")


def bounds_of(op: SliceOp, dims: Dims) -> dict[int, Bounds] | None:
    """Start, end and step by axis where all are constants."""
    starts, ends = dims(op.starts).numbers, dims(op.ends).numbers
    rank = dims(op.data).rank
    if starts is None or ends is None:
        return None
    axes = list(range(len(starts))) if op.axes is None else dims(op.axes).numbers
    steps = [1] * len(starts) if op.steps is None else dims(op.steps).numbers
    if axes is None or steps is None:
        return None
    return {a % rank: (s, e, t) for a, s, e, t in zip(axes, starts, ends, steps, strict=True)}


def slice_of(op: SliceOp, bounds: dict[int, Bounds], like: Operation) -> list[Operation]:
    """A slice of what `op` cuts, with the constants that it needs and the type of `like`."""
    axes = sorted(bounds)
    starts, ends, steps = ([bounds[a][k] for a in axes] for k in range(3))
    operands = [vector(starts, like), vector(ends, like), vector(axes, like)]
    if any(s != 1 for s in steps):
        operands.append(vector(steps, like))
    made = SliceOp(op.data, *(c.output for c in operands), result_types=[like.results[0].type])
    return [*operands, made]


def _joined(inner: Bounds, outer: Bounds, size: Dim) -> Bounds | None:
    if isinstance(size, int):
        first = slice_range(size, *inner)
        taken = first[_python(slice_range(len(first), *outer))]
        if not taken:
            return 0, 0, 1
        if taken.stop < 0:
            return taken.start, -END, taken.step
        return taken.start, taken.stop, taken.step
    (a, b, s), (c, d, t) = inner, outer
    if s != 1 or t != 1 or min(a, b, c, d) < 0:
        return None
    return a + c, min(b, a + d, END), 1


def _python(taken: range) -> slice:
    """The slice that takes these indices of a Python sequence; a stop before the first element has no number there."""
    return slice(taken.start, None if taken.stop < 0 else taken.stop, taken.step)
