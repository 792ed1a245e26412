"""
Operands that say a shape or bounds are constants wherever one constant is right for every size.

    %s = ge.shape %x : tensor<?x?x768xf32> -> tensor<3xi64>
    ... gathers, a concat: [batch, seq, 12, 64]
    %y = ge.reshape %x, %c : ... -> tensor<?x?x12x64xf32>       ->       %y = ge.reshape %x, dense<[0, 0, 12, 64]>

For Reshape a 0 copies a dim, a -1 is what is left; it is used only where it is right for sizes of 0 too. For Expand a 1
stands for the operand's own dim. For Slice a bound that is the axis's own size is "to the end", one that is a little
less counts from the end. Needs nothing. Leaves shape arithmetic that nothing reads (prune drops it).
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, i64
from xdsl.ir import Operation

from ...dialects.ge.constants import ConstantOp
from ...dialects.ge.dims import Dim, is_size
from ...dialects.ge.movement import ReshapeOp
from ...dialects.ge.slicing import ExpandOp, SliceOp
from ..base import GePass
from ..report import changed, count
from ..rewriting import functions, walk_outside
from .analysis import Dims
from .views import END, reshape_spec, vector


class DimensionAdjust(GePass):
    name = "dimension-adjust"
    ge_name = "DimensionAdjustPass"
    level = 1
    summary = "Makes shapes and bounds constants where one constant is right for every size"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in functions(op):
            dims = Dims(function)
            for inner in walk_outside(function, ReshapeOp, ExpandOp, SliceOp):
                match inner:
                    case ReshapeOp():
                        _reshape(inner, dims)
                    case ExpandOp():
                        _expand(inner, dims)
                    case SliceOp():
                        _slice(inner, dims)


def _set(op: Operation, place: int, numbers: Sequence[int], dims: Dims) -> None:
    """`numbers` as the operand at `place`."""
    new = vector(numbers, op)
    block = op.parent_block()
    assert block is not None
    block.insert_op_before(new, op)
    op.operands[place] = new.output
    dims.note(op)
    count("operands made constant")


def _reshape(op: ReshapeOp, dims: Dims) -> None:
    if isinstance(op.shape.owner, ConstantOp):
        numbers = dims(op.shape).numbers
        if op.allowzero and numbers is not None and 0 not in numbers:
            del op.properties["allowzero"]  # it says nothing
            changed()
        return
    spec = reshape_spec(dims(op.data).dims, dims(op.reshaped).dims, dims(op.shape).elements)
    if spec is None:
        return
    op.properties.pop("allowzero", None)
    _set(op, 1, spec, dims)


def _expand(op: ExpandOp, dims: Dims) -> None:
    if isinstance(op.shape.owner, ConstantOp) or (wanted := dims(op.shape).elements) is None:
        return
    own = dims(op.input).dims
    given: list[Dim] = [1] * max(0, len(wanted) - len(own)) + list(own[max(0, len(own) - len(wanted)) :])
    numbers = [1 if w == g else w for w, g in zip(wanted, given, strict=True)]
    if all(isinstance(n, int) for n in numbers):
        _set(op, 1, [n for n in numbers if isinstance(n, int)], dims)


def _slice(op: SliceOp, dims: Dims) -> None:
    axes = list(range(dims(op.data).rank)) if op.axes is None else dims(op.axes).numbers
    steps = None if op.steps is None else dims(op.steps).numbers
    if axes is None or (op.steps is not None and (steps is None or any(s < 0 for s in steps))):
        return
    sizes = dims(op.data).dims
    for place, bounds, is_end in ((1, op.starts, False), (2, op.ends, True)):
        elements = dims(bounds).elements
        if elements is None or isinstance(bounds.owner, ConstantOp) or dims(bounds).element != i64:
            continue
        numbers = [_bound(e, sizes[a], is_end) for e, a in zip(elements, axes, strict=False)]
        if all(n is not None for n in numbers):
            _set(op, place, [n for n in numbers if n is not None], dims)


def _bound(bound: Dim, size: Dim, is_end: bool) -> int | None:
    """The number that means the same as `bound` on an axis of `size`."""
    if isinstance(bound, int):
        return bound
    if is_end and is_size(bound - size):
        return END
    less = size - bound
    # A bound of size - k is below zero where the size is less than k, and then counts from the end itself: from there
    # it may come to lie inside the axis again if k is 3 or more.
    if isinstance(less, int) and less > 0 and (less <= 2 or is_size(bound)):
        return -less
    return None
