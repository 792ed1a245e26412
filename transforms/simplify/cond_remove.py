"""
Control flow whose outcome is known is run now.

    %y = ge.if %true -> (..) { A; ge.yield %a } else { B; ge.yield %b }     ->     A, and every reader of %y reads %a

Also a loop that never runs (its values are what they start as) and one that runs exactly once. Needs nothing. Leaves no
If on a constant, and no Loop of at most one trip that stacks nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType, UnrankedTensorType
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from ...dialects.ge.bodies import yielded
from ...dialects.ge.constants import ConstantOp, constant
from ...dialects.ge.control import IfOp, LoopOp
from ...dialects.ge.types import is_tensor
from ..base import GePass
from ..report import count
from ..rewriting import functions, sync_type, walk_outside


class CondRemove(GePass):
    name = "cond-remove"
    ge_name = "CondRemovePass"
    aliases = ("SwitchDeadBranchElimination",)
    level = 1
    summary = "Runs branches and loops whose outcome is known"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in functions(op):
            for inner in list(walk_outside(function, IfOp, LoopOp)):
                if inner.parent is None:
                    continue  # in a branch that went
                if isinstance(inner, IfOp):
                    _branch(inner)
                else:
                    _loop(inner, op)
            sync_type(function)


def _branch(op: IfOp) -> None:
    taken = _number(op.cond)
    if taken is None:
        return
    block = (op.then_branch if taken else op.else_branch).block
    if _inline(op, block, [], yielded(op.then_branch if taken else op.else_branch)):
        count("branches taken")


def _loop(op: LoopOp, module: ModuleOp) -> None:
    if len(op.outputs) != len(op.initial):
        return  # it stacks rows
    trips = None if op.trip_count is None else _number(op.trip_count)
    goes = True if op.cond is None else _number(op.cond)
    if (trips is not None and trips <= 0) or (goes is not None and not goes):
        if all(_fits(v, r) for v, r in zip(op.initial, op.results, strict=True)):
            for value, result in zip(op.initial, op.results, strict=True):
                result.replace_all_uses_with(value)
            Rewriter.erase_op(op)
            count("loops that never run dropped")
        return
    if trips != 1 or not goes:
        return
    first = constant(np.array(0, np.int64), module)
    start = constant(np.array(True), module)
    block = op.body.block
    last = block.last_op
    assert last is not None
    outer = op.parent_block()
    assert outer is not None
    outer.insert_ops_before([first, start], op)
    if _inline(op, block, [first.output, start.output, *op.initial], list(last.operands)[1:]):
        count("loops of one trip run")
    else:
        Rewriter.erase_op(first)
        Rewriter.erase_op(start)


def _inline(op: Operation, block: Block, arguments: Sequence[SSAValue], values: Sequence[SSAValue]) -> bool:
    """Puts a body in the place of its op, if its values have types that readers can take."""
    if not all(_fits(v, r) for v, r in zip(values, op.results, strict=True)):
        return False
    if not all(_fits(v, a) for v, a in zip(arguments, block.args, strict=True)):
        return False
    last = block.last_op
    assert last is not None
    Rewriter.inline_block(block, InsertPoint.before(op), list(arguments))
    ends = list(last.operands)[len(last.operands) - len(values) :]
    Rewriter.erase_op(last)
    for value, result in zip(ends, op.results, strict=True):
        result.replace_all_uses_with(value)
    Rewriter.erase_op(op)
    return True


def _fits(value: SSAValue, place: SSAValue) -> bool:
    """Whether a value says at least as much of itself as the one whose readers it gets."""
    a, b = value.type, place.type
    if isinstance(b, UnrankedTensorType):
        return isinstance(a, TensorType | UnrankedTensorType) and cast(Any, a).element_type == cast(Any, b).element_type
    if a == b or not is_tensor(b) or not is_tensor(a):
        return a == b
    if a.element_type != b.element_type or a.get_num_dims() != b.get_num_dims():
        return False
    return all(x == y or y < 0 for x, y in zip(a.get_shape(), b.get_shape(), strict=True))


def _number(value: SSAValue) -> int | None:
    """The one element of a constant."""
    owner = value.owner
    if not isinstance(owner, ConstantOp):
        return None
    array = owner.array()
    return int(array.reshape(())) if array.size == 1 else None
