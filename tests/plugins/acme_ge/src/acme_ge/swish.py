"""
An activation that was spelled out is one op.

    %s = ge.sigmoid %x
    %y = ge.mul %x, %s        ->        %y = acme.swish %x

Needs nothing. Leaves no product of a value and its own sigmoid.
"""

from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, PatternRewriteWalker, RewritePattern, op_type_rewrite_pattern

from gecc.dialects.ge.arithmetic import MulOp
from gecc.dialects.ge.smooth import SigmoidOp

from .dialect import SwishOp


class ProductWithOwnSigmoid(RewritePattern):
    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: MulOp, rewriter: PatternRewriter, /) -> None:
        for x, gate in ((op.a, op.b), (op.b, op.a)):
            if isinstance(gate.owner, SigmoidOp) and gate.owner.x is x:
                sigmoid = gate.owner
                rewriter.replace(op, SwishOp(x))
                if not sigmoid.y.uses:
                    rewriter.erase(sigmoid)
                return


@dataclass(frozen=True)
class SwishPass(ModulePass):
    name = "acme-swish"
    summary: ClassVar[str] = "makes x * sigmoid(x) one op"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        PatternRewriteWalker(ProductWithOwnSigmoid()).rewrite_module(op)
