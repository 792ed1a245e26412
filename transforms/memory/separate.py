"""
Takes in place back: a result that lies over an operand gets a slot of its own.

    ge.launch ins(%a) outs(%a) {relu}           %b = ge.slot ..
    ge.launch ins(%a) outs(%y) {matmul}    ->   ge.launch ins(%a) outs(%b) {relu}
                                                ge.launch ins(%b) outs(%y) {matmul}

Who reads the result afterwards reads the new slot. Where the memory is seen through another value as well, in another
iteration, or by the caller, the result is copied back to where it was wanted.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from xdsl.dialects.builtin import MemRefType, NoneAttr
from xdsl.dialects.func import FuncOp
from xdsl.dialects.memref import CopyOp
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ...dialects.ge.memory import LaunchOp, RetypedOp, SlotOp
from ...dialects.ge.types import nbytes
from ..report import count
from .arena import CONTROL, VIEWS, Roots, arena_of, new_slot, touched


def separate(function: FuncOp) -> None:
    """cost   linear in ops"""
    _Separator(function).block(function.body.block)


class _Separator:
    def __init__(self, function: FuncOp) -> None:
        arena = arena_of(function)
        assert arena is not None
        self.arena, self.top = arena, function.body.block
        self.roots = Roots(self.top)
        self.at: dict[Operation, int] = {}
        self.last: dict[SSAValue, int] = {}  # the op that touches it last
        self.home: dict[SSAValue, tuple[Block, ...]] = {}  # root -> the blocks, outermost first, that all of it is in
        self.bytes: dict[SSAValue, SSAValue] = {}  # a value under another type -> the one with the same indices
        self.seen: dict[SSAValue, list[SSAValue]] = {}  # root -> values that it is seen through, so far
        self.now: dict[SSAValue, SSAValue] = {}  # a value -> what its later readers are to read
        self.look(self.top, ())

    def look(self, block: Block, around: tuple[Block, ...]) -> None:
        here = (*around, block)
        for op in block.ops:
            at = self.at[op] = len(self.at)
            if isinstance(op, RetypedOp):
                self.bytes[op.result] = self.bytes.get(op.source, op.source)
            for value in op.operands if isinstance(op, CONTROL) else touched(op):
                self.last[value] = at
                root = self.roots.of(value)
                known = self.home.get(root, here)
                self.home[root] = tuple(a for a, b in zip(known, here, strict=False) if a is b)
            for inner in _bodies(op):
                self.look(inner, here)

    def block(self, block: Block) -> None:
        for op in list(block.ops):
            apart = [(k, op.operands[k]) for k in self.in_place(op)]
            for inner in op.walk() if op.regions and not isinstance(op, (*CONTROL, LaunchOp)) else (op,):
                if any(v in self.now for v in inner.operands):
                    inner.operands = [self.now.get(v, v) for v in inner.operands]
            if isinstance(op, SlotOp) or op.name in VIEWS:
                self.seen.setdefault(self.roots.of(op.results[0]), []).append(op.results[0])
            for inner in _bodies(op):
                self.block(inner)
            for place, value in apart:
                slot = self.take_apart(op, place)
                if self.is_seen_here_alone(value, op):
                    self.now[value] = slot
                else:
                    block.insert_op_after(CopyOp(slot, self.now.get(value, value)), op)

    def in_place(self, op: Operation) -> list[int]:
        """Places, among the operands, of results that lie over an operand."""
        if not isinstance(op, LaunchOp):
            return []
        read = {self.bytes.get(v, v) for v in op.ins}
        return [len(op.ins) + k for k, v in enumerate(op.outs) if self.bytes.get(v, v) in read]

    def is_seen_here_alone(self, out: SSAValue, op: Operation) -> bool:
        """Whether what lies in the memory of `out` after a launch is only seen through it, and in this block."""
        root = self.roots.of(out)
        if not isinstance(root.owner, SlotOp) or not _is_whole(out, root):
            return False
        self.seen[root] = [v for v in self.seen[root] if self.last.get(v, -1) > self.at[op]]
        return self.home[root][-1] is op.parent_block() and all(v is out for v in self.seen[root])

    def take_apart(self, op: Operation, place: int) -> SSAValue:
        """Gives a result a slot of its own, which it returns."""
        old = op.operands[place]
        type_ = cast("MemRefType[Attribute]", old.type)
        slot = new_slot(self.arena, MemRefType(type_.element_type, type_.get_shape()), old.name_hint)
        self.top.insert_op_before(slot, self.step_of(op))
        op.operands[place] = slot.buffer
        count("taken apart")
        return slot.buffer

    def step_of(self, op: Operation) -> Operation:
        """The op of the function's own block that `op` stands in."""
        while op.parent_block() is not self.top:
            op = cast(Operation, op.parent_op())
        return op


def _bodies(op: Operation) -> Iterator[Block]:
    """Blocks that are steps of the function like those around them."""
    return (block for region in op.regions for block in region.blocks) if isinstance(op, CONTROL) else iter(())


def _is_whole(out: SSAValue, root: SSAValue) -> bool:
    type_ = cast("MemRefType[Attribute]", out.type)
    return isinstance(type_.layout, NoneAttr) and nbytes(type_) == nbytes(root.type)
