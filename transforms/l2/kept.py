"""
Which of a plan's groups stay: asked of the judge, who sees the loops that they become.

    g1 g2 g3 g4 together      slower, or more bytes, than no group
       of these g3            costs more than its ops by themselves: it goes if the rest is better without it
    g1 g2 g4 together         still no better than no group: half of them go, those that save least by the model
    g1 g2                     better: they stay

A group that others gain from, by what it leaves in the cache, may cost more than its ops: so each step is judged as a
whole. At most a few judgements, however many groups.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects.func import FuncOp

from ...dialects.ge.bodies import FusionOp
from ..fusion.fusion import inline
from ..report import missed
from .forming import Formed
from .judged import Judged, is_group

MOST_ROUNDS = 3
"""In which those who lose are looked for: whoever is left may lose without the others."""

LITTLE = 0.01
"""Times that differ by this share are as good as the same."""


def kept_groups(
    function: FuncOp, formed: Sequence[Formed], without: Judged, judge: Callable[[FuncOp], Judged]
) -> tuple[list[Formed], Judged]:
    """Takes apart the groups that do not pay; returns those that are left, and what is moved then."""
    left = sorted(formed, key=lambda each: -each.saved)
    while left:
        found = judged_in_blocks(function, judge, without if len(left) < len(formed) else None)
        left, found = _without_losers(function, left, found, without, judge)
        if found.is_better_than(without):
            return left, found
        _take_apart(left[len(left) // 2 :])
        left = left[: len(left) // 2]
    return [], without


def judged_in_blocks(function: FuncOp, judge: Callable[[FuncOp], Judged], goal: Judged | None = None) -> Judged:
    """
    The judge's word on the groups with their inner values apart or at one place, whichever is better; at one place
    only if apart they are better than `goal`.
    """
    groups = [op for op in function.body.block.ops if isinstance(op, FusionOp) and is_group(op)]
    _put_in_block(groups, 0)
    best = judge(function)
    if len(groups) < 2 or (goal is not None and not best.is_better_than(goal)):
        return best
    _put_in_block(groups, 1)
    found = judge(function)
    if found.is_better_than(best):
        return found
    _put_in_block(groups, 0)
    return best


def _without_losers(
    function: FuncOp, left: list[Formed], found: Judged, without: Judged, judge: Callable[[FuncOp], Judged]
) -> tuple[list[Formed], Judged]:
    """Takes apart groups that cost more than their ops did, as long as it is better without them."""
    for _ in range(MOST_ROUNDS):
        gone = [each for each in left if found.cost_of([each.fusion]) > without.cost_of(each.fusion.body.block.ops)]
        if not gone or len(gone) == len(left):
            break
        trial = function.clone()
        others = dict(zip(function.body.block.ops, trial.body.block.ops, strict=True))
        for each in gone:
            other = others[each.fusion]
            assert isinstance(other, FusionOp)
            inline(other)
        again = judge(trial)
        if not _is_worth_more(again, found, without):
            break
        _take_apart(gone)
        left = [each for each in left if each not in gone]
        found = again.of(trial, function)
    return left, found


def _is_worth_more(one: Judged, other: Judged, without: Judged) -> bool:
    """
    Least time is best, fewest bytes where times are as good as the same; what is no better than no group is worth less.
    """
    if one.is_better_than(without) != other.is_better_than(without):
        return one.is_better_than(without)
    mine, theirs = one.seconds or 0.0, other.seconds or 0.0
    if abs(mine - theirs) > LITTLE * theirs:
        return mine < theirs
    return one.bytes < other.bytes


def _take_apart(groups: Sequence[Formed]) -> None:
    for each in groups:
        missed(each.fusion, "no group: the judge finds no fewer bytes, or more time")
        inline(each.fusion)


def _put_in_block(groups: Sequence[FusionOp], block: int) -> None:
    for group in groups:
        assert group.tiling is not None
        group.properties["tiling"] = group.tiling.in_block(block)
