"""
Launches run in an order that keeps fewer bytes alive at a time.

    ge.launch ins(%x) outs(%a)              ge.launch ins(%x) outs(%a)
    ge.launch ins(%x) outs(%b)       ->     ge.launch ins(%a) outs(%c)      // %a is dead before %b is made
    ge.launch ins(%a) outs(%c)              ge.launch ins(%x) outs(%b)
    ge.launch ins(%b) outs(%d)              ge.launch ins(%b) outs(%d)

Needs a bufferized function. Leaves one whose order is as good or better; where it changed, with a greedy plan.
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from ...dialects.ge.memory import arena_alignment
from ..base import GePass
from ..report import missed
from ..rewriting import functions
from .arena import Layout, arena_of, lay_out, share_arena
from .order import reorder


class MemoryOrder(GePass):
    name = "memory-order"
    ge_name = "MemoryOrderPass"
    level = None
    summary = "Runs launches in an order that keeps fewer bytes alive at a time"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        sizes: dict[FuncOp, int] = {}
        for function in functions(op):
            arena = arena_of(function)
            if arena is None:
                missed(function, "has no arena: ge-bufferize must run first")
                continue
            alignment = arena_alignment(arena)
            if reorder(function, alignment):
                sizes[function] = lay_out(function, Layout(alignment))
        share_arena(op, sizes)
