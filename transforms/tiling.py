"""What rows of an op's results need of its operands: asked of the op, and of a fusion's body."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation, SSAValue

from ..dialects.ge.bodies import FusionOp, yielded
from ..dialects.ge.constants import ConstantOp
from ..dialects.ge.interfaces import Box, Tiles, whole


def rows_needed(op: Operation, begin: int, rows: int) -> list[Box] | None:
    """
    The boxes of the operands (in `op.operands` order) for rows [begin, begin + rows) of all results; None where the op
    cannot be cut so.
    """
    boxes = [((begin, rows), *whole(r)[1:]) for r in op.results]
    if isinstance(op, FusionOp):
        wanted = boxes_in_body(op, boxes)
        return None if wanted is None else [wanted.get(a, whole(a)) for a in op.body.block.args]
    if not isinstance(op, Tiles) or len(op.results) != 1:
        return None
    loops = op.loops()
    return op.operand_tiles(boxes[0]) if loops and loops[0] == "parallel" else None


def boxes_in_body(fusion: FusionOp, boxes: Sequence[Box]) -> dict[SSAValue, Box] | None:
    """
    The box of each value in a fusion's body for boxes of its results, from the results backwards; None where an op
    cannot be cut so, or two readers of a value want different boxes of it.
    """
    wanted: dict[SSAValue, Box] = {}

    def ask(value: SSAValue, box: Box) -> bool:
        return isinstance(value.owner, ConstantOp) or wanted.setdefault(value, box) == box

    if not all(ask(v, b) for v, b in zip(yielded(fusion.body), boxes, strict=True)):
        return None
    for op in reversed(list(fusion.body.block.ops)[:-1]):
        if isinstance(op, ConstantOp):
            continue
        box = wanted.get(op.results[0])
        if box is None or len(op.results) != 1 or box[1:] != whole(op.results[0])[1:] or not box:
            return None
        needed = rows_needed(op, *box[0])
        if needed is None or not all(ask(v, b) for v, b in zip(op.operands, needed, strict=True)):
            return None
    return wanted
