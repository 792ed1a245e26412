"""
What a Gemm can do itself is not done before it.

    %t = ge.transpose %a perm [1, 0]
    %y = ge.gemm %t, %b, %c beta 2.0       ->       %y = ge.gemm %a, %b, (2 * %c) transA 1

Transposes of its factors, and factors of constants, which are then 1. Arithmetic is regrouped. Needs nobody else to
read the transposed. Leaves no Gemm on a transpose that it alone reads.
"""

from __future__ import annotations

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from ...dialects.ge.contraction import GemmOp
from ...dialects.ge.movement import TransposeOp
from ..base import GePass
from ..report import count, missed
from ..rewriting import apply_rules
from .linear import linear_of, rescaled


def transposed(op: GemmOp) -> Operation | None:
    a, b = _before(op.a), _before(op.b)
    if a is op.a and b is op.b:
        return None
    count("transposes taken over")
    turns = {"transA": op.transA ^ int(a is not op.a), "transB": op.transB ^ int(b is not op.b)}
    new = op.rebuilt([a, b, op.c], **turns)
    new.results[0]._type = op.results[0].type  # pyright: ignore[reportPrivateUsage]
    return new


def _before(value: SSAValue) -> SSAValue:
    """What is transposed to give `value`, where nobody else reads it."""
    turn = value.owner
    if isinstance(turn, TransposeOp) and tuple(turn.order) == (1, 0) and value.has_one_use():
        return turn.input
    return value


def plain(op: GemmOp) -> Operation | None:
    """Factors of constants go into them."""
    linear = linear_of(op)
    if linear is None or not op.alpha or (op.alpha == 1 and (op.beta == 1 or op.c is None)):
        return None
    # alpha a b + beta c = alpha (a b + (beta / alpha) c), and what multiplies all goes into both.
    linear.op = divided = op.rebuilt([op.a, op.b, op.c], alpha=1.0, beta=op.beta / op.alpha)
    new = rescaled(linear, np.array([op.alpha]), np.zeros(1), replaced=op)
    divided.drop_all_references()  # it stands nowhere: its operands have no reader in it
    if new is None:
        return missed(op, "its factors stay: a weight would leave the range of its type")
    new.results[0]._type = op.results[0].type  # pyright: ignore[reportPrivateUsage]
    count("factors folded into constants")
    return new


class GemmFusion(GePass):
    name = "gemm-fusion"
    ge_name = "GemmFusionPass"
    level = 2
    summary = "Lets Gemm transpose and scale by itself, or its constants"
    regroups = True

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        apply_rules(op, {GemmOp: (transposed, plain)})
