"""
Runs launches in another order where fewer bytes are then alive at a time.

What reads a buffer stays after what wrote it, what writes it after what read it; what has effects keeps its order.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue

from ...dialects.ge.interfaces import is_pure
from ...dialects.ge.memory import LaunchOp, SlotOp
from ...dialects.ge.types import nbytes
from ...planning import Buffer, align_up, best_order, lower_bound
from ..report import count, missed
from .arena import Roots, is_step, lives, steps_in, touched


def reorder(function: FuncOp, alignment: int) -> bool:
    """
    Takes the best order found where the lower bound of its arena is smaller than that of the order that stands there;
    whether it did. Lifetimes and offsets of the slots are then to be planned anew.

    cost   planning.best_order
    """
    block = function.body.block
    roots, steps = Roots(block), list(steps_in(block))
    slots: dict[SSAValue, int] = {}
    for op in block.ops:
        if isinstance(op, SlotOp):
            slots[op.buffer] = len(slots)
    touches = [list(dict.fromkeys(slots[r] for v in touched(op) if (r := roots.of(v)) in slots)) for op in steps]
    found = best_order(touches, _before(steps, roots), [align_up(nbytes(v.type), alignment) for v in slots])
    new = [steps[k] for k in found.tasks]

    def bound(ops: Sequence[Operation]) -> int:
        alive = lives(ops, roots)
        return lower_bound([Buffer(*alive[v], nbytes(v.type)) for v in slots if v in alive], alignment)

    gained = bound(steps) - bound(new)
    if gained <= 0:
        known = "no order needs" if found.proved else "none was found that needs"
        missed(function, f"keeps its order: {known} a smaller arena")
        return False
    _arrange(block, new)
    count("reordered", sum(op is not old for op, old in zip(new, steps, strict=True)))
    count("bytes saved by order", gained)
    return True


def _before(steps: Sequence[Operation], roots: Roots) -> list[list[int]]:
    """For each step the earlier ones that it must follow."""
    writer: dict[SSAValue, int] = {}
    readers: dict[SSAValue, list[int]] = {}
    effect = -1
    before: list[list[int]] = []
    for at, op in enumerate(steps):
        written = {roots.of(v) for v in op.outs} if isinstance(op, LaunchOp) else _written(op, roots)
        needs: list[int] = []
        for root in dict.fromkeys(roots.of(v) for v in touched(op)):
            needs.extend([writer[root]] if root in writer else [])
            if root in written:
                needs.extend(readers.pop(root, ()))
                writer[root] = at
            else:
                readers.setdefault(root, []).append(at)
        writer.update((r, at) for r in op.results)
        if not _is_free(op):
            needs.extend([effect] if effect >= 0 else [])
            effect = at
        before.append(needs)
    return before


def _written(op: Operation, roots: Roots) -> set[SSAValue]:
    """What a step that is no launch may write: a copy's second operand; of an op that we do not know, all it sees."""
    match op.name:
        case "memref.copy":
            return {roots.of(op.operands[1])}
        case "ge.host":
            return set()
        case _:
            return {roots.of(v) for v in touched(op)}


def _is_free(op: Operation) -> bool:
    """Whether nothing but its buffers ties a step to others: no effects, no random numbers, no state."""
    if isinstance(op, LaunchOp):
        return all(map(is_pure, op.body.block.ops))
    return op.name == "memref.copy"


def _arrange(block: Block, steps: Sequence[Operation]) -> None:
    """Puts the steps in this order, each right behind what defines its operands; the terminator stays last."""
    others = [op for op in block.ops if not is_step(op)]
    for op in list(block.ops):
        op.detach()
    placed: set[Operation] = set()

    def place(op: Operation) -> None:
        if op in placed:
            return
        placed.add(op)
        for value in touched(op):
            if isinstance(value.owner, Operation) and value.owner.parent_block() is None:
                place(value.owner)
        block.add_op(op)

    for op in (*steps, *others):
        place(op)
