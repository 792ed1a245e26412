"""
Number problems, cut out of the compiler: integers in, integers out; nothing here knows the IR.

    memory   arena.py     lifetimes -> offsets in one arena        check.py   its slow referee     explain.py   its peak
             packing/     greedy, exact search, GE's allocators    order.py, beam.py   the order of tasks
    L2       piece.py     tensors, ops, groups of ops            rows.py    which rows a tile touches
             traffic.py   the traffic model (on footprint.py, one group, and distance.py, between groups)
             tiles.py     the search for groups
             judge.py     an LRU cache that replays accesses       trace.py   a plan's accesses
             machine.py   a chip's figures, and seconds            extents.py, dead.py   ranges in a cache
             score.py     what a plan costs, by the judge          tuning.py  plans as genes
             kernels.py   how an op by itself may walk

`check` and `judge` are referees: they share no code with what they judge.
"""

from .arena import (
    Algorithm,
    ArenaPlan,
    Buffer,
    DoesNotFit,
    Sharing,
    align_up,
    arena_size,
    lower_bound,
    plan_arena,
    plan_offsets,
    reuse_ratio,
)
from .beam import Order, best_order
from .check import Violation, find_violation
from .dead import Range, merged
from .explain import Peak, explain_peak
from .judge import Access, CacheKind, Replayed, judge, judge_parts
from .kernels import can_walk, walks_in, walks_of, with_walks
from .machine import Machine, knows_time, starts, terms
from .piece import Beside, Group, Op, Part, Piece, Plan, Tensor, Window, balanced
from .score import JudgedScorer, Score, Scorer
from .tiles import SearchOptions, kernel_steps, search, single, single_plan
from .trace import Memory, memory_of, replay, trace_of
from .traffic import GroupTraffic, Model, Traffic
from .tuning import TuningSpace, groups_of, is_tiling, structure_key, with_groups

__all__ = [
    "Access",
    "Algorithm",
    "ArenaPlan",
    "Beside",
    "Buffer",
    "CacheKind",
    "DoesNotFit",
    "Group",
    "GroupTraffic",
    "JudgedScorer",
    "Machine",
    "Memory",
    "Model",
    "Op",
    "Order",
    "Part",
    "Peak",
    "Piece",
    "Plan",
    "Range",
    "Replayed",
    "Score",
    "Scorer",
    "SearchOptions",
    "Sharing",
    "Tensor",
    "Traffic",
    "TuningSpace",
    "Violation",
    "Window",
    "align_up",
    "arena_size",
    "balanced",
    "best_order",
    "can_walk",
    "explain_peak",
    "find_violation",
    "groups_of",
    "is_tiling",
    "judge",
    "judge_parts",
    "kernel_steps",
    "knows_time",
    "lower_bound",
    "memory_of",
    "merged",
    "plan_arena",
    "plan_offsets",
    "replay",
    "reuse_ratio",
    "search",
    "single",
    "single_plan",
    "starts",
    "structure_key",
    "terms",
    "trace_of",
    "walks_in",
    "walks_of",
    "with_groups",
    "with_walks",
]
