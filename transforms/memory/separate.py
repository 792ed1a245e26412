"""
Takes in place back: a result that lies over an operand gets a slot of its own.

    ge.launch ins(%a) outs(%a) {relu}           %b = ge.slot ..
    ge.launch ins(%a) outs(%y) {matmul}    ->   ge.launch ins(%a) outs(%b) {relu}
                                                ge.launch ins(%b) outs(%y) {matmul}
"""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import MemRefType, NoneAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, SSAValue

from ...dialects.ge.memory import LaunchOp, SlotOp
from ...dialects.ge.types import nbytes
from ..report import count, missed
from .arena import VIEWS, Roots, new_slot, touched


def separate(function: FuncOp) -> None:
    """
    Where the old contents' memory is seen through another value after the launch, it stays as it is.

    cost   linear in ops
    """
    block = function.body.block
    apart = _separable(block)
    now: dict[SSAValue, SSAValue] = {}  # a value -> what its later readers are to read
    for op in list(block.ops):
        for inner in op.walk() if op.regions and not isinstance(op, LaunchOp) else (op,):
            if any(v in now for v in inner.operands):
                inner.operands = [now.get(v, v) for v in inner.operands]
        if not isinstance(op, LaunchOp):
            continue
        first = len(op.ins)
        for k, out in apart.get(op, ()):
            old = op.operands[first + k]
            slot = new_slot(_slot_of(old).arena, old.type, old.name_hint)
            block.insert_op_before(slot, op)
            op.operands[first + k] = slot.buffer
            now[out] = slot.buffer
            count("taken apart")


def _separable(block: Block) -> dict[LaunchOp, list[tuple[int, SSAValue]]]:
    """Launches with the places, and values, of results that lie over an operand and can be taken apart."""
    roots = Roots(block)
    last: dict[SSAValue, int] = {}
    for at, op in enumerate(block.ops):
        last.update((v, at) for v in touched(op))

    found: dict[LaunchOp, list[tuple[int, SSAValue]]] = {}
    seen_through: dict[SSAValue, list[SSAValue]] = {}  # root -> the values that it is seen through, up to here
    for at, op in enumerate(block.ops):
        if isinstance(op, SlotOp) or op.name in VIEWS:
            seen_through.setdefault(roots.of(op.results[0]), []).append(op.results[0])
        if not isinstance(op, LaunchOp):
            continue
        read = {roots.of(v) for v in op.ins}
        for k, out in enumerate(op.outs):
            root = roots.of(out)
            if root not in read or not isinstance(root.owner, SlotOp):
                continue
            seen_through[root] = [v for v in seen_through[root] if last.get(v, -1) > at]
            if not _is_whole(out, root) or any(v is not out for v in seen_through[root]):
                missed(op, "not taken apart: its result is a part of a buffer, or seen through another value")
            else:
                found.setdefault(op, []).append((k, out))
    return found


def _is_whole(out: SSAValue, root: SSAValue) -> bool:
    type_ = cast("MemRefType[Attribute]", out.type)
    return isinstance(type_.layout, NoneAttr) and nbytes(type_) == nbytes(root.type)


def _slot_of(value: SSAValue) -> SlotOp:
    owner = value.owner
    while not isinstance(owner, SlotOp):
        assert not isinstance(owner, Block)
        owner = owner.operands[0].owner
    return owner
