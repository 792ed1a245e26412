"""
Joins of one thing, joins of joins, parts of joins, and joins of parts that are the whole.

    concat(%x)                                          ->   %x
    concat(concat(%a, %b), %c), one axis                ->   concat(%a, %b, %c)
    concat(..., no elements, ...)                       ->   concat(..., ...)
    concat(all results of split(%x), in order)          ->   %x
    concat(%x[0:2], %x[2:5])                            ->   %x[0:5]
    slice(concat(%a, %b)), all from %b                  ->   slice(%b)
    split(concat(%a, %b)) where the cuts are the seams  ->   %a, %b
    split into one                                      ->   %x

Needs nothing. Leaves none of these.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import Rewriter

from ...dialects.ge.core import GeOp
from ...dialects.ge.shapes import slice_range
from ...dialects.ge.slicing import ConcatOp, SliceOp, SplitOp
from ..base import GePass
from ..report import count
from ..rewriting import functions, replace_uses, sync_type, walk_outside
from ..shape.analysis import Dims
from ..shape.views import END, put, same_dims, vector
from .slice_forward_fusion import Bounds, bounds_of, slice_of


class ConcatSliceSimplification(GePass):
    name = "concat-slice-simplification"
    ge_name = "ConcatSliceSimplificationPass"
    aliases = ("FlattenConcatPass", "FlattenSplitPass")
    level = 1
    summary = "Simplifies joins of joins and of parts, and parts of joins"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in functions(op):
            dims = Dims(function)
            for inner in walk_outside(function, ConcatOp, SliceOp, SplitOp):
                match inner:
                    case ConcatOp():
                        _concat(inner, dims)
                    case SliceOp():
                        _slice(inner, dims)
                    case SplitOp():
                        _split(inner, dims)
            sync_type(function)


def _axis(op: ConcatOp | SplitOp, dims: Dims) -> int:
    return op.axis % dims(op.operands[0]).rank


# ------------------------------------------------------------------ joins


def _concat(op: ConcatOp, dims: Dims) -> None:
    axis = _axis(op, dims)
    parts = _flat(op, axis, dims)
    whole = _whole(parts, axis, dims)
    if whole is not None and same_dims(dims, whole, op.concat_result):
        put(dims, op, [], whole)
        count("joins dropped")
        return
    made: list[Operation] = []
    joined = _adjacent(parts, axis, op, dims, made)
    if len(joined) == 1 and joined[0].type == op.concat_result.type:
        put(dims, op, made, joined[0])
        count("joins dropped")
    elif joined != list(op.inputs):
        new = ConcatOp(*joined, axis=axis, result_types=[op.concat_result.type])
        put(dims, op, [*made, new], new.concat_result)
        count("joins simplified")


def _flat(op: ConcatOp, axis: int, dims: Dims) -> list[SSAValue]:
    """What is joined, joins that nothing else reads taken apart, without what has no elements."""
    parts: list[SSAValue] = []
    for value in op.inputs:
        inner = value.owner
        if isinstance(inner, ConcatOp) and value.has_one_use() and _axis(inner, dims) == axis:
            parts.extend(inner.inputs)
        else:
            parts.append(value)
    return [v for v in parts if dims(v).dims[axis] != 0] or parts[:1]


def _whole(parts: Sequence[SSAValue], axis: int, dims: Dims) -> SSAValue | None:
    """The one thing that `parts` are, in order."""
    if len(parts) == 1:
        return parts[0]
    split = parts[0].owner
    if isinstance(split, SplitOp) and _axis(split, dims) == axis and list(split.results) == list(parts):
        return split.input
    return None


def _adjacent(parts: Sequence[SSAValue], axis: int, op: ConcatOp, dims: Dims, made: list[Operation]) -> list[SSAValue]:
    """`parts` with neighbours that are slices next to each other as one slice; what that takes is added to `made`."""
    out: list[SSAValue] = []
    before: tuple[SliceOp, Bounds] | None = None
    for value in parts:
        now = _piece(value, axis, dims)
        if before is not None and now is not None and _follows(before, now, axis, dims):
            source = before[0]
            bounds = (before[1][0], now[1][1], 1)
            if bounds == (0, END, 1) or bounds == (0, dims(source.data).dims[axis], 1):
                out[-1] = source.data
                before = None
                continue
            merged = _slice_on(source, axis, bounds, op, dims)
            made.extend(merged)
            cut = merged[-1]
            assert isinstance(cut, SliceOp)
            out[-1], before = cut.output, (cut, bounds)
        else:
            out.append(value)
            before = now
    return out


def _piece(value: SSAValue, axis: int, dims: Dims) -> tuple[SliceOp, Bounds] | None:
    """A slice along `axis` alone in steps of 1 from a place counted from the front."""
    op = value.owner
    if not isinstance(op, SliceOp) or not value.has_one_use():
        return None
    bounds = bounds_of(op, dims)
    if bounds is None or set(bounds) != {axis}:
        return None
    start, end, step = bounds[axis]
    return (op, bounds[axis]) if step == 1 and start >= 0 and end >= start else None


def _follows(a: tuple[SliceOp, Bounds], b: tuple[SliceOp, Bounds], axis: int, dims: Dims) -> bool:
    # Where the axis ends before the seam, both are empty from there on: still the same.
    return a[0].data is b[0].data and a[1][1] == b[1][0]


def _slice_on(op: SliceOp, axis: int, bounds: Bounds, like: Operation, dims: Dims) -> list[Operation]:
    start, end, _ = bounds
    operands = [vector([start], like), vector([end], like), vector([axis], like)]
    made = SliceOp(op.data, *(c.output for c in operands))
    for each in (*operands, made):
        dims.note(each)
    return [*operands, made]


# ------------------------------------------------------------------ parts of joins


def _slice(op: SliceOp, dims: Dims) -> None:
    join = op.data.owner
    if not isinstance(join, ConcatOp):
        return
    axis = _axis(join, dims)
    bounds = bounds_of(op, dims)
    if bounds is None or axis not in bounds:
        return
    sizes = [dims(v).dims[axis] for v in join.inputs]
    known = [s for s in sizes if isinstance(s, int)]
    if len(known) < len(sizes):
        return
    taken = slice_range(sum(known), *bounds[axis])
    at = 0
    for value, size in zip(join.inputs, known, strict=True):
        if taken and min(taken) >= at and max(taken) < at + size:
            start, stop = taken.start - at, taken.stop - at
            bounds[axis] = (start, stop if stop >= 0 else -END, taken.step)
            made = slice_of(op, bounds, op)
            made[-1].operands[0] = value
            put(dims, op, made, made[-1].results[0])
            count("parts taken from one operand of a join")
            return
        at += size


def _split(op: SplitOp, dims: Dims) -> None:
    parts: Sequence[SSAValue] = ()
    if len(op.results) == 1:
        parts = [op.input]
    elif isinstance(join := op.input.owner, ConcatOp) and _axis(join, dims) == _axis(op, dims):
        parts = join.inputs
    axis = _axis(op, dims)
    # Apart from the axis, what is joined has the same dims whether or not that is known of each.
    alike = [
        p.type == r.type and dims(p).dims[axis] == dims(r).dims[axis] for p, r in zip(parts, op.results, strict=False)
    ]
    if len(parts) != len(op.results) or not all(alike):
        return
    for part, result in zip(parts, op.results, strict=True):
        replace_uses(result, part)
    assert isinstance(op, GeOp)
    Rewriter.erase_op(op)
    count("cuts along seams dropped")
