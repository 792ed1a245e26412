"""
Tensors that are not alive together share memory: offsets in one arena, as small as can be found.

    %a = ge.slot %arena[0] life [0, 2) ..              %a = ge.slot %arena[0] life [0, 2) ..
    %b = ge.slot %arena[4096] life [1, 3) ..     ->    %b = ge.slot %arena[4096] life [1, 3) ..
    %c = ge.slot %arena[8192] life [2, 4) ..           %c = ge.slot %arena[0] life [2, 4) ..     // where %a was

Needs a bufferized function; plans it anew from who uses what, whatever its slots say. Leaves the smallest arena that
any plan can have as the function's `ge.arena_bound`; a remark says by how much the arena is larger. Gears of
one model have one arena, the largest's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from ...dialects.ge.errors import UsageError
from ...dialects.ge.gears import gears
from ...planning import Algorithm
from ..base import GePass
from ..report import missed
from ..rewriting import functions
from .arena import Layout, arena_of, lay_out, share_arena
from .order import reorder
from .separate import separate

LEAST_ALIGNMENT = 8
"""Bytes: what the widest element needs."""

SEARCH, LONG_SEARCH = 1.0, 10.0
"""Seconds that the search may take, of a function or of all gears of a model together."""


@dataclass(frozen=True)
class MemoryReuse(GePass):
    """
    alignment         bytes, a power of two; of offsets and of the arena's size
    reuse_policy      lifetime: whoever does not live together may share; size: only within one size class
    max_reuse_ratio   largest share of the planned bytes at addresses that another tensor uses too, 0 to 1
    strategy          conservative: no result lies over an operand (GE_MEMORY_STRATEGY has ge-bufferize make no views
                      either), greedy; balanced: as ge-bufferize left it, greedy and up to a second of search;
                      aggressive: launches run in another order where that makes the least possible arena smaller, and
                      up to ten seconds of search
    algorithm         instead of the strategy's: greedy, search, or, to compare with, what GE does
    """

    name = "memory-reuse"
    ge_name = "MemoryReusePass"
    level = 1
    summary = "Lets tensors that are not alive together share memory in one arena"

    alignment: int = 64
    reuse_policy: Literal["lifetime", "size"] = "lifetime"
    max_reuse_ratio: float = 1.0
    strategy: Literal["conservative", "balanced", "aggressive"] = "balanced"
    algorithm: Algorithm | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.alignment < LEAST_ALIGNMENT or self.alignment & (self.alignment - 1):
            raise UsageError(
                f"{self.name}: alignment must be a power of two of at least {LEAST_ALIGNMENT}, got {self.alignment}"
            )
        if not 0 <= self.max_reuse_ratio <= 1:
            raise UsageError(f"{self.name}: max-reuse-ratio must be in 0..1, got {self.max_reuse_ratio}")
        layout = self._layout(max(len(gears(op)), 1))
        sizes: dict[FuncOp, int] = {}
        for function in functions(op):
            if arena_of(function) is None:
                missed(function, "has no arena: ge-bufferize must run first")
                continue
            if self.strategy == "conservative":
                separate(function)
            if self.strategy == "aggressive":
                reorder(function, self.alignment)
            sizes[function] = lay_out(function, layout)
        share_arena(op, sizes)

    def _layout(self, functions: int) -> Layout:
        algorithm = self.algorithm or ("greedy" if self.strategy == "conservative" else "search")
        seconds = LONG_SEARCH if self.strategy == "aggressive" else SEARCH
        return Layout(self.alignment, self.reuse_policy, self.max_reuse_ratio, algorithm, seconds / functions)
