"""
Number problems, cut out of the compiler: integers in, integers out; nothing here knows the IR.

    arena.py     lifetimes -> offsets in one arena         check.py   its slow referee       explain.py  its peak
"""

from .arena import Buffer, DoesNotFit, Sharing, align_up, arena_size, lower_bound, plan_offsets, reuse_ratio
from .check import Violation, find_violation
from .explain import Peak, explain_peak

__all__ = [
    "Buffer",
    "DoesNotFit",
    "Peak",
    "Sharing",
    "Violation",
    "align_up",
    "arena_size",
    "explain_peak",
    "find_violation",
    "lower_bound",
    "plan_offsets",
    "reuse_ratio",
]
