"""
A number that a product is multiplied by is in the weights behind it.

    %q = ge.transpose (ge.reshape (ge.add (ge.matmul %x, %w), %b))
    %a = ge.mul (ge.matmul %q, %k), 0.125              ->       the same with %w * 0.125 and %b * 0.125

Through movement and matrix products, which are linear, up to weights that are constants: what scales attention's
scores. Arithmetic is regrouped; by a power of two it is exact. Needs nobody else to read what is on the way. Leaves no
such number.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from ...dialects.ge.arithmetic import DivOp, MulOp
from ...dialects.ge.contraction import MatMulOp
from ...dialects.ge.core import GeOp
from ...dialects.ge.data import Array
from ...dialects.ge.interfaces import View
from ...dialects.ge.movement import TransposeOp
from ...dialects.ge.names import OUTPUTS
from ..base import GePass
from ..operands import adds_no_axis, has_floats, number, split_constant
from ..report import count
from ..rewriting import Rule, apply_rules
from .linear import Linear, linear_of, rescaled

DEEPEST = 8
"""Ops between the number and the weights."""

MODERATE = (2.0**-12, 2.0**12)
"""Factors within these bounds move no value near the ends of a type's range that was not near already."""


def into_weights(op: MulOp | DivOp) -> SSAValue | None:
    split = split_constant(op)
    if split is None or split[0].type != op.y.type or not adds_no_axis(split[1], split[0]) or not has_floats(split[0]):
        return None
    factor = number(split[1])
    if factor is None or not MODERATE[0] <= abs(factor) <= MODERATE[1] or (isinstance(op, DivOp) and split[2] == 0):
        return None
    way = _way(split[0], DEEPEST)
    if way is None:
        return None
    *between, last = way
    linear = linear_of(last[0])
    assert linear is not None
    value = _scaled(linear, np.array([1 / factor if isinstance(op, DivOp) else factor]), between, op)
    if value is not None:
        count("factors folded into weights")
    return value


def _way(value: SSAValue, steps: int) -> list[tuple[GeOp, int]] | None:
    """The ops from the one that gives `value` up to one with weights, each with the operand that leads on."""
    op = value.owner
    if not isinstance(op, GeOp) or not value.has_one_use() or len(op.results) != 1 or not steps:
        return None
    if linear_of(op) is not None:
        return [(op, 0)]
    if isinstance(op, MatMulOp):
        leads: tuple[int, ...] = (0, 1)
    elif isinstance(op, TransposeOp | View):
        leads = (0,)
    else:
        return None
    for k in leads:
        rest = _way(op.operands[k], steps - 1)
        if rest is not None:
            return [(op, k), *rest]
    return None


def _scaled(linear: Linear, factor: Array, between: Sequence[tuple[GeOp, int]], op: Operation) -> SSAValue | None:
    """What `op` gives, computed again from new weights on; put before `op`."""
    new = rescaled(linear, factor, np.zeros(1), replaced=op)
    if new is None:
        return None
    value = _put(new, linear.op, op)
    for old, k in reversed(between):
        operands = old.by_slot()
        operands[k] = value
        value = _put(old.rebuilt(operands), old, op)
    if OUTPUTS in op.attributes and isinstance(value.owner, Operation):
        value.owner.attributes[OUTPUTS] = op.attributes[OUTPUTS]
    return value


def _put(new: GeOp, old: GeOp, before: Operation) -> SSAValue:
    """Puts `new`, which is to stand for `old`, before an op."""
    new.results[0]._type = old.results[0].type  # pyright: ignore[reportPrivateUsage]
    block = before.parent_block()
    assert block is not None
    block.insert_op_before(new, before)
    return new.results[0]


KINDS: tuple[type[Operation], ...] = (MulOp, DivOp)


class MatMulScaleFusion(GePass):
    name = "matmul-scale-fusion"
    ge_name = "MatMulScaleFusionPass"
    level = 2
    summary = "Folds the number that a matrix product is multiplied by into the weights behind it"
    regroups = True

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rules: dict[type[Operation], Sequence[Rule]] = dict.fromkeys(KINDS, (into_weights,))
        apply_rules(op, rules)
