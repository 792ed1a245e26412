"""
Ops that rules name become one `ge.fusion`, with the ops themselves as its body.

    %0 = ge.conv %x, %w, %b                 %0 = ge.fusion "ConvRelu" (%a = %x, %c = %w, %d = %b) {
    %1 = ge.relu %0               ->            %1 = ge.conv %a, %c, %d
                                                %2 = ge.relu %1
                                                ge.yield %2
                                            }

Rules from a file come first, in the file's order, then ours (rules.py). Where a rule matches in several ways it takes
the most ops. An op is in one fusion at most; what is in a body already is left alone.

    conservative    a value in the middle is read by nothing else and is no result of the function
    aggressive      it may be: it becomes one more result of the fusion

Needs nothing. Leaves no match of a rule that holds outside of fusions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation

from ..base import GePass
from ..report import count, missed
from ..rewriting import functions, is_isolated
from .condition import Missing
from .fusion import CannotFuse, fuse
from .matcher import Matcher, Near
from .rules import BUILT_IN, Facts, Rule
from .rules_file import read_rules


@dataclass(frozen=True)
class OpFusion(GePass):
    """
    rules_file   JSON (rules_file.py)
    mode         what may be fused; see above
    """

    name = "op-fusion"
    ge_name = "OpFusionPass"
    level = 2
    summary = "Makes ops that rules name one: convolution + activation, MatMul + bias + activation, and rules of yours"

    rules_file: str | None = None
    mode: Literal["conservative", "aggressive"] = "conservative"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rules = [*(read_rules(self.rules_file) if self.rules_file is not None else ()), *BUILT_IN]
        for function in functions(op):
            for block in _open_blocks(function):
                fuse_in(block, rules, share=self.mode == "aggressive")


def _open_blocks(op: Operation) -> Iterator[Block]:
    """The blocks in `op` that are no body of a fusion or the like, inner ones first."""
    for region in op.regions:
        for block in region.blocks:
            for inner in block.ops:
                if inner.regions and not is_isolated(inner):
                    yield from _open_blocks(inner)
            yield block


def fuse_in(block: Block, rules: Sequence[Rule], share: bool = False) -> None:
    """
    Fuses what `rules` match among the ops of a block, the first rule first; see the module's docstring.

    share      whether a value in the middle may have other readers
    cost       O(ops x steps of rules)
    """
    order = {op: k for k, op in enumerate(block.ops)}
    for rule in rules:
        for chain in rule.chains:
            matcher = Matcher(chain, block, share)
            for root in matcher.roots():
                if root.parent is block:
                    _fuse_at(root, rule, matcher, order)


def _fuse_at(root: Operation, rule: Rule, matcher: Matcher, order: dict[Operation, int]) -> None:
    try:
        ops = sorted(matcher.match(root), key=order.__getitem__)
        if rule.condition is not None and not rule.condition.holds(Facts(ops)):
            raise Near(f"the condition {rule.condition.text} does not hold")
        fuse(ops, rule.label_of(ops))
    except Missing as what:
        missed(root, f'not fused by "{rule.name}": its condition asks for {what}, which is not there')
    except (Near, CannotFuse) as why:
        missed(root, f'not fused by "{rule.name}": {why}')
    else:
        count("fusions")
        count("ops fused", len(ops))
