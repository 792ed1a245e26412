"""
What is multiplied and added to the channels of a convolution or product is in its weights.

    %a = ge.conv %x, %w
    %b = ge.mul %a, %s        // an element a channel
    %c = ge.add %b, %t                                 ->       %c = ge.conv %x, %w * %s, %t

Also a division, a subtraction and a negation, and also after ConvTranspose, Gemm, MatMul (which takes no addition) and
BatchNormalization. Arithmetic is regrouped: results differ by rounding. Needs weights that are constants and that
nobody else reads the product. Leaves no such pair.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from ...dialects.ge.arithmetic import AddOp, DivOp, MulOp, SubOp
from ...dialects.ge.data import Array
from ...dialects.ge.math import NegOp
from ...dialects.ge.names import OUTPUTS
from ..base import GePass
from ..operands import split_constant
from ..report import count, missed
from ..rewriting import Rule, apply_rules
from .linear import linear_of, per_channel, rescaled

ONE, NOTHING = np.ones(1), np.zeros(1)


def into_weights(op: Any) -> Operation | None:
    value, constant, place = (op.x, None, 1) if isinstance(op, NegOp) else split_constant(op) or (None, None, 1)
    linear = linear_of(value.owner) if value is not None else None
    if linear is None or value is None or value.type != op.results[0].type:
        return None
    if not value.has_one_use():
        return missed(op, "not folded into the weights: something else reads the product")
    if constant is None:
        tail = -ONE, NOTHING
    else:
        array = per_channel(constant, linear)
        if array is None:
            return None
        tail = _tail(op, array, place)
    if tail is None or (tail[1].any() and not linear.adds):
        return None
    new = rescaled(linear, *tail, replaced=op)
    if new is None:
        return missed(op, "not folded into the weights: one would leave the range of its type")
    if OUTPUTS in op.attributes:
        new.attributes[OUTPUTS] = op.attributes[OUTPUTS]
    new.results[0]._type = op.results[0].type  # pyright: ignore[reportPrivateUsage]
    count("ops folded into weights")
    return new


def _tail(op: Operation, array: Array, place: int) -> tuple[Array, Array] | None:
    """What the op does to a channel: the factor, and what is added."""
    last = place == 1
    match op:
        case MulOp():
            return array, NOTHING
        case DivOp():
            return (1 / array, NOTHING) if last and array.all() else None
        case AddOp():
            return ONE, array
        case _:
            return (ONE, -array) if last else (-ONE, array)


TAILS: tuple[type[Operation], ...] = (MulOp, DivOp, AddOp, SubOp, NegOp)
RULES: dict[type[Operation], Sequence[Rule]] = dict.fromkeys(TAILS, (into_weights,))


class ConvScaleFusion(GePass):
    name = "conv-scale-fusion"
    ge_name = "ConvScaleFusionPass"
    aliases = ("AABiasaddConvFusion",)
    level = 1
    summary = "Folds what is multiplied and added to channels into the weights of the op before it"
    regroups = True

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        apply_rules(op, RULES)
