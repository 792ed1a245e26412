"""
The ops of every fusion in its place: the inverse of op-fusion and of l2-fusion.

    %0 = ge.fusion "ConvRelu" (%a = %x, %c = %w) {          %0 = ge.conv %x, %w
        %1 = ge.conv %a, %c                           ->    %1 = ge.relu %0
        ge.yield ...

Needs nothing. Leaves no fusion. Constants that were copied into bodies are one again.
"""

from __future__ import annotations

from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation
from xdsl.rewriter import Rewriter
from xdsl.traits import ConstantLike

from ...dialects.ge.bodies import FusionOp
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
    constants: dict[Any, Operation] = {}
    op, copies = block.first_op, set[Operation]()
    while op is not None:
        after = op.next_op
        if isinstance(op, FusionOp):
            ops = inline(op)
            copies.update(one for one in ops if one.has_trait(ConstantLike))
            after = ops[0] if ops else after
            count("fusions inlined")
        elif op.has_trait(ConstantLike):
            first = constants.setdefault(_key(op), op)
            if first is not op and op in copies:
                Rewriter.replace_op(op, [], first.results)
        else:
            for region in op.regions:
                for inner in region.blocks:
                    _inline_in(inner)
        op = after


def _key(constant: Operation) -> tuple[Any, ...]:
    """What two copies of a constant have in common, names included."""
    attributes = (constant.properties, constant.attributes)
    return (constant.name, tuple(r.type for r in constant.results), *(frozenset(a.items()) for a in attributes))
