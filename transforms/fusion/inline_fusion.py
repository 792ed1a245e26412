"""
The ops of every fusion in its place: the inverse of op-fusion and of l2-fusion.

    %0 = ge.fusion "ConvRelu" (%a = %x, %c = %w) {          %0 = ge.conv %x, %w
        %1 = ge.conv %a, %c                           ->    %1 = ge.relu %0
        ge.yield ...

Needs nothing. Leaves no fusion. What was copied into bodies, constants and floats of integers, is one again: a copy has
the ONNX names, the operands and the attributes of what it was copied from.
"""

from __future__ import annotations

from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation
from xdsl.rewriter import Rewriter
from xdsl.traits import ConstantLike

from ...dialects.ge.bodies import FusionOp
from ...dialects.ge.interfaces import is_pure
from ...dialects.ge.names import OUTPUTS
from ..base import GePass
from ..report import count
from .fusion import inline


class InlineFusion(GePass):
    name = "inline-fusion"
    ge_name = "InlineFusionPass"
    level = None
    summary = "Puts the ops of every fusion in its place"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for region in op.regions:
            for block in region.blocks:
                _inline_in(block)


def _inline_in(block: Block) -> None:
    known: dict[Any, Operation] = {}
    op, copies = block.first_op, set[Operation]()
    while op is not None:
        after = op.next_op
        if isinstance(op, FusionOp):
            ops = inline(op)
            copies.update(one for one in ops if not one.regions)
            after = ops[0] if ops else after
            count("fusions inlined")
        elif op.has_trait(ConstantLike) or (OUTPUTS in op.attributes and is_pure(op)):
            first = known.setdefault(_key(op), op)
            if first is not op and op in copies:
                Rewriter.replace_op(op, [], first.results)
        else:
            for region in op.regions:
                for inner in region.blocks:
                    _inline_in(inner)
        op = after


def _key(op: Operation) -> tuple[Any, ...]:
    """What two copies of an op have in common, names included."""
    given = (op.name, *op.operands), tuple(r.type for r in op.results)
    return (*given, *(frozenset(a.items()) for a in (op.properties, op.attributes)))
