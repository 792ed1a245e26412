"""
A Sum of two is an Add, of one nothing.

    %y = ge.sum %a, %b       ->       %y = ge.add %a, %b
    %z = ge.sum %a           ->       %a

Also a Mean of one, and a Sum whose first operand is a Sum that nobody else reads: it adds from the left. Needs nothing.
Leaves no Sum of fewer than three.
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from ...dialects.ge.arithmetic import AddOp, MeanOp, SumOp
from ..base import GePass
from ..operands import can_write
from ..report import count
from ..rewriting import apply_rules


def one_or_two(op: SumOp | MeanOp) -> SSAValue | Operation | None:
    values = list(op.data_0)
    if len(values) == 1 and values[0].type == op.y.type:
        count("sums of one dropped")
        return values[0]
    if len(values) == 2 and isinstance(op, SumOp) and can_write(op, AddOp):
        count("sums of two made plain")
        return AddOp(*values, result_types=[op.y.type])
    return None


def from_the_left(op: SumOp) -> Operation | None:
    first, *rest = op.data_0
    inner = first.owner
    if not isinstance(inner, SumOp) or not first.has_one_use():
        return None
    count("sums joined")
    return SumOp(*inner.data_0, *rest, result_types=[op.y.type])


class AddN(GePass):
    name = "add-n"
    ge_name = "AddNPass"
    level = 1
    summary = "Makes plain additions of sums of one or two"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        apply_rules(op, {SumOp: (from_the_left, one_or_two), MeanOp: (one_or_two,)})
