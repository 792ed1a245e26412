"""
Pads of nothing, pads of pads, and slices that take away what a pad has added.

    pad(%x, 0...)                    ->   %x
    pad(pad(%x, p), q), one fill     ->   pad(%x, p + q)
    slice(pad(%x, p)), within p      ->   pad(%x, what is left of p), or %x

Constant pads that are not negative, bounds counted from the front or the end. Needs nothing. Leaves none of these.
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from ...dialects.ge.constants import ConstantOp
from ...dialects.ge.padding import PadOp
from ...dialects.ge.shapes import FAR
from ...dialects.ge.slicing import SliceOp
from ..base import GePass
from ..report import count
from ..rewriting import functions, sync_type, walk_outside
from ..shape.analysis import Dims
from ..shape.views import put, vector
from .slice_forward_fusion import Bounds, bounds_of

Pads = list[tuple[int, int]]
"""What is added before and after, an axis each."""


class PadSliceOptimize(GePass):
    name = "pad-slice-optimize"
    ge_name = "PadSliceOptimizePass"
    level = 1
    summary = "Drops pads of nothing and joins pads with pads and slices"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in functions(op):
            dims = Dims(function)
            for inner in walk_outside(function, PadOp, SliceOp):
                match inner:
                    case PadOp():
                        _pad(inner, dims)
                    case SliceOp():
                        _slice(inner, dims)
            sync_type(function)


def pads_of(op: PadOp, dims: Dims) -> Pads | None:
    """By axis, where they are constants and none is negative."""
    rank = dims(op.data).rank
    numbers = dims(op.pads).numbers
    axes = list(range(rank)) if op.axes is None else dims(op.axes).numbers
    if numbers is None or axes is None or min(numbers, default=0) < 0:
        return None
    pads = [(0, 0)] * rank
    for k, axis in enumerate(axes):
        pads[axis % rank] = (numbers[k], numbers[len(axes) + k])
    return pads


def _pad(op: PadOp, dims: Dims) -> None:
    pads = pads_of(op, dims)
    if pads is None:
        return
    before = op.data.owner
    if not any(a or b for a, b in pads):
        if op.data.type == op.output.type:
            put(dims, op, [], op.data)
            count("pads of nothing dropped")
    elif isinstance(before, PadOp) and before.mode == op.mode == "constant" and op.data.has_one_use():
        inner = pads_of(before, dims)
        if inner is not None and _same_fill(before.constant_value, op.constant_value):
            _replace(op, before, [(a + c, b + d) for (a, b), (c, d) in zip(inner, pads, strict=True)], dims)


def _slice(op: SliceOp, dims: Dims) -> None:
    pad = op.data.owner
    if not isinstance(pad, PadOp) or pad.mode != "constant":
        return
    pads, bounds = pads_of(pad, dims), bounds_of(op, dims)
    if pads is None or bounds is None:
        return
    left = list(pads)
    for axis, cut in bounds.items():
        size = dims(pad.output).dims[axis]
        taken = _taken(cut, size if isinstance(size, int) else None)
        if taken is None:
            return
        left[axis] = (pads[axis][0] - taken[0], pads[axis][1] - taken[1])
    if min(min(a, b) for a, b in left) < 0:
        return
    if any(a or b for a, b in left):
        if op.data.has_one_use():
            _replace(op, pad, left, dims)
    elif pad.data.type == op.output.type:
        put(dims, op, [], pad.data)
        count("pads and slices that cancel dropped")


def _taken(bounds: Bounds, size: int | None) -> tuple[int, int] | None:
    """How much a slice in steps of 1 takes away before and after."""
    start, end, step = bounds
    if size is not None:
        start, end = (b + size if b < 0 else b for b in (start, end))
    if step != 1 or start < 0:
        return None
    if size is not None:
        return start, max(size - end, 0)
    # Without the size, an end says what goes only where it counts from the end itself.
    return (start, 0) if end >= FAR else (start, -end) if end < 0 else None


def _replace(op: Operation, pad: PadOp, pads: Pads, dims: Dims) -> None:
    shape = vector([a for a, _ in pads] + [b for _, b in pads], op)
    new = PadOp(pad.data, shape.output, pad.constant_value, mode=pad.mode, result_types=[op.results[0].type])
    put(dims, op, [shape, new], new.output)
    count("pads joined")


def _same_fill(a: SSAValue | None, b: SSAValue | None) -> bool:
    if a is b:
        return True
    fills = [None if v is None else v.owner for v in (a, b)]
    if not all(f is None or isinstance(f, ConstantOp) for f in fills):
        return False
    bits = [f.array().tobytes() if isinstance(f, ConstantOp) else None for f in fills]
    zero = next((bytes(len(each)) for each in bits if each is not None), b"")
    return (bits[0] or zero) == (bits[1] or zero)


__all__ = ["PadSliceOptimize", "pads_of"]
