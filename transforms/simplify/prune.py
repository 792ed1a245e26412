"""
What nothing needs is dropped: pure ops whose results nobody reads, and results of fusions and their operands.

    %a = ge.exp %x : ...            // nobody reads %a
    %b = ge.relu %x : ...      ->      %b = ge.relu %x : ...

Needs nothing. Leaves no pure op without a reader. An op that is not known to be pure stays.
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Region, SSAValue
from xdsl.rewriter import Rewriter
from xdsl.traits import IsTerminator

from ...dialects.ge.bodies import FusionOp, YieldOp
from ...dialects.ge.interfaces import is_pure
from ..base import GePass
from ..report import count
from ..rewriting import functions


class Prune(GePass):
    name = "prune"
    ge_name = "PrunePass"
    aliases = ("DeadCodeEliminationPass", "UnusedConstPass", "UnusedArgsCleanPass")
    level = 1
    summary = "Drops what no output of the graph depends on"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in functions(op):
            for block in function.body.blocks:
                _prune(block)


def _prune(block: Block) -> None:
    """Backwards, so that what only a dropped op reads is seen after it."""
    op = block.last_op
    while op is not None:
        before = op.prev_op
        if all(r.first_use is None for r in op.results) and not op.has_trait(IsTerminator) and is_pure(op):
            Rewriter.erase_op(op)
            count("ops dropped")
        else:
            if isinstance(op, FusionOp):
                op = _narrowed(op)
            for region in op.regions:
                for inner in region.blocks:
                    _prune(inner)
            if isinstance(op, FusionOp):
                _drop_operands(op)
        op = before


def _narrowed(fusion: FusionOp) -> FusionOp:
    """The fusion without the results that nobody reads."""
    kept = [k for k, r in enumerate(fusion.outs) if r.first_use is not None]
    if len(kept) == len(fusion.outs):
        return fusion
    last = fusion.body.block.last_op
    assert last is not None
    values = [last.operands[k] for k in kept]
    Rewriter.replace_op(last, YieldOp(*values), [])
    new = _rebuilt(fusion, list(fusion.ins), [fusion.outs[k] for k in kept])
    for k, result in zip(kept, new.outs, strict=True):
        fusion.outs[k].replace_all_uses_with(result)
    Rewriter.erase_op(fusion)
    count("results of fusions dropped", len(fusion.outs) - len(kept))
    return new


def _drop_operands(fusion: FusionOp) -> None:
    """Operands that the body does not read go, with their arguments."""
    block = fusion.body.block
    unread = [k for k, a in enumerate(block.args) if a.first_use is None]
    if not unread:
        return
    for k in reversed(unread):
        block.erase_arg(block.args[k])
    kept = [v for k, v in enumerate(fusion.ins) if k not in unread]
    new = _rebuilt(fusion, kept, list(fusion.outs))
    for old, result in zip(fusion.outs, new.outs, strict=True):
        old.replace_all_uses_with(result)
    Rewriter.erase_op(fusion)
    count("operands of fusions dropped", len(unread))


def _rebuilt(fusion: FusionOp, ins: list[SSAValue], outs: list[SSAValue]) -> FusionOp:
    """The fusion's body in a new op in its place, with other operands or results; the old one keeps an empty body."""
    body = Region()
    fusion.body.move_blocks(body)
    new = FusionOp(fusion.label.data, ins, [v.type for v in outs], body, fusion.tiling)
    new.attributes.update(fusion.attributes)
    block = fusion.parent_block()
    assert block is not None
    block.insert_op_before(new, fusion)
    return new
