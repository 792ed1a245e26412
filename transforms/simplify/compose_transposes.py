"""
Two transposes in a row are one, or none.

    %a = ge.transpose %x perm [0, 2, 1]
    %b = ge.transpose %a perm [0, 2, 1]        ->        %x

Needs nothing. Leaves no transpose whose operand is a transpose, and none that leaves the axes as they are.
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from ...dialects.ge.movement import TransposeOp
from ..base import GePass
from ..report import count
from ..rewriting import apply_rules


def composed(op: TransposeOp) -> Operation | None:
    inner = op.input.owner
    if not isinstance(inner, TransposeOp):
        return None

    count("transposes composed")
    perm = tuple(inner.order[k] for k in op.order)
    return TransposeOp(inner.input, perm=perm, result_types=[op.output.type])


def unchanged(op: TransposeOp) -> SSAValue | None:
    if list(op.order) != sorted(op.order):
        return None
    # A more precise type of the operand is no harm; a less precise one would lose what is known.
    if op.input.type != op.output.type:
        return None

    count("transposes dropped")
    return op.input


class ComposeTransposes(GePass):
    name = "compose-transposes"
    ge_name = "ComposeTransposesPass"
    aliases = ("TransOpSymmetryEliminationPass", "UnchangedTransposeRemovePass")
    level = 1
    summary = "Makes one transpose, or none, of several in a row"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        apply_rules(op, {TransposeOp: (composed, unchanged)}, in_fusions=True)
