"""
Sets of ops that can run as one: nothing outside reads what is in the middle; and how such a set grows.

A set with one value that is read outside is closed. It never reads what depends on its own result: that would have to
pass through this value, back into an op before it.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection, Mapping
from typing import TypeAlias

from xdsl.dialects.func import ReturnOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import ConstantLike

from ...dialects.ge.errors import node_name
from ...dialects.ge.interfaces import is_pure
from ...dialects.ge.quantization import DequantizeLinearOp
from ...dialects.ge.types import is_tensor
from .fusion import is_constant

Admits: TypeAlias = Callable[[Operation, Operation], bool]
"""Whether an op may join those that a rule has found, the last of which is the second one."""

MOST = 96
"""Ops of a set that still grows, and ops that are looked at for it."""
MANY = 64
"""Readers of a value that are looked at."""


class Near(Exception):
    """Ops are there as a rule wants them, but cannot run as one; the text says why."""


def why_open(op: Operation, inside: Collection[Operation], block: Block) -> str:
    """Who else reads what `op` gives, in words; "" where nobody does."""
    for value in op.results:
        for use in value.uses:
            if block.find_ancestor_op_in_block(use.operation) not in inside:
                who = "the graph" if isinstance(use.operation, ReturnOp) else "something else"
                return f"{who} reads the result of {shown(op)} too"
    return ""


def shown(op: Operation) -> str:
    name = node_name(op)
    return f'"{name}"' if name else f"'{op.name}'"


class Grower:
    """
    Lets sets of ops of one block grow.

    order      the ops' places in the block
    cost       of one set: `MOST` ops, their operands and readers
    """

    def __init__(self, block: Block, order: Mapping[Operation, int]) -> None:
        self.block, self.order = block, order

    def after(self, ops: Collection[Operation], root: Operation, admits: Admits, share: bool = False) -> set[Operation]:
        """
        `ops`, of which `root` is the last, with what comes after them, as far as the set is closed again.

        Ops that read the set join in order, up to the first that may not: what it reads stays open. Of the sets on the
        way the last closed one is it; with `share`, all that may join, whatever is read outside.
        """
        inside, closed = set(ops), set(ops)
        open_ = {value for value in root.results if value.first_use is not None}
        todo: list[tuple[int, Operation]] = []
        seen: set[Operation] = set()
        self._push(todo, seen, root)
        while todo and len(inside) < MOST:
            _, op = heapq.heappop(todo)
            joins = self._joins(op) and len(op.results) == 1 and admits(op, root)
            if not joins or (share and not self._is_there(op, inside, root)):
                if share:
                    continue
                break
            inside.add(op)
            self._push(todo, seen, op)
            open_.update(op.results)
            open_ = {value for value in open_ if not self._read_inside(value, inside)}
            if isinstance(op, DequantizeLinearOp):
                continue  # a set ends in integers, not in the floats that somebody else makes of them
            if share or (len(open_) == 1 and next(iter(open_)) in op.results):
                closed = set(inside)
        return closed

    def before(self, ops: Collection[Operation], root: Operation, admits: Admits) -> set[Operation]:
        """`ops`, of which `root` is the last, with what comes before them and is read by them alone."""
        inside = set(ops)
        todo = [v.owner for op in sorted(inside, key=self._place, reverse=True) for v in op.operands]
        looked = 0
        while todo and len(inside) < MOST and looked < MOST * 4:
            op, looked = todo.pop(0), looked + 1
            if not isinstance(op, Operation) or op in inside or not self._joins(op):
                continue
            if admits(op, root) and all(self._read_inside(value, inside) for value in op.results):
                inside.add(op)
                todo.extend(v.owner for v in op.operands)
        return inside

    def _place(self, op: Operation | Block) -> int:
        return self.order.get(op, -1) if isinstance(op, Operation) else -1

    def _push(self, todo: list[tuple[int, Operation]], seen: set[Operation], op: Operation) -> None:
        for value in op.results:
            for k, use in enumerate(value.uses):
                reader = use.operation
                if k < MANY and reader not in seen and reader in self.order:
                    seen.add(reader)
                    heapq.heappush(todo, (self.order[reader], reader))

    def _is_there(self, op: Operation, inside: set[Operation], root: Operation) -> bool:
        """Whether all that `op` reads is in the set, constant, or stands before its root: no way back into the set."""
        return all(v.owner in inside or is_constant(v) or self._place(v.owner) < self._place(root) for v in op.operands)

    def _joins(self, op: Operation) -> bool:
        """Whether an op is in the block, pure, simple, no constant, and gives tensors whose rank is known."""
        if op.parent is not self.block or op.regions or op.has_trait(ConstantLike) or not has_ranks(op):
            return False
        return is_pure(op)

    def _read_inside(self, value: SSAValue, inside: set[Operation]) -> bool:
        """Whether nothing outside reads a value, and something inside does."""
        found = False
        for k, use in enumerate(value.uses):
            found = True
            if k >= MANY or use.operation not in inside:
                return False
        return found


def has_ranks(op: Operation) -> bool:
    """Whether all that an op reads and gives are tensors of known rank: rules ask for shapes."""
    return all(is_tensor(value.type) for value in (*op.operands, *op.results))
