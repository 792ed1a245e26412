"""
L2 groups at random, whether they pay or not: so that what tiles compute can be held against the whole.

    AnyGroups(seed=7, ways=("rows", "lines")).apply(context, module)

Groups are formed and put on the function as l2-fusion forms those that it finds; nobody searches, nobody judges.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Literal, TypeAlias

from xdsl.dialects.func import FuncOp

from ...planning import Group, Plan
from ...planning.rows import stride
from ...planning.runs import Run, Way
from ...targets import Target
from .forming import Formed
from .judged import Judged, judged
from .kept import judged_in_blocks
from .l2_fusion import L2Fusion
from .tune import Task

Cut: TypeAlias = Literal["samples", "rows", "lines"]

CUTS: tuple[Cut, ...] = ("samples", "rows", "lines")

TILES = (2, 2, 3, 3, 4, 5, 6, 9, 12, 16)
"""Of a group, about: halves, of which both meet a border, and few rows at a time, of which windows overlap all. More of
them say nothing new, and each takes its time."""

ANY_SIZE = 0.25
"""The share of tiles whose rows are not as many as make one tile what the next is."""


@dataclass
class _AnyPlan:
    """
    ends   chance of a run to end after an op
    """

    random: Random
    cuts: Sequence[Cut]
    ends: float

    def plan(self, task: Task, search: Callable[[], Plan]) -> list[Group]:
        del search
        plan: list[Group] = []
        k = 0
        while k < len(task.piece.ops):
            run = Run(task.piece, k)
            group = task.singles[k]
            while run.end < len(task.piece.ops) and run.grow():
                found = self._group(run) if run.end - k > 1 else None
                group = found or group
                if self.random.random() < self.ends:
                    break
            plan.append(group)
            k = group.end
        return plan

    def _group(self, run: Run) -> Group | None:
        fitting = [(way, cut) for way in run.ways for cut in self.cuts if way.of_samples == (cut == "samples")]
        fitting = [(way, cut) for way, cut in fitting if run.slices(way) > 1]
        if not fitting:
            return None
        way, cut = self.random.choice(fitting)
        group = run.group(way, self._slices(run, way))
        return group._replace(lines=cut == "lines")

    def _slices(self, run: Run, way: Way) -> int:
        """Of a tile."""
        count = run.slices(way)
        taken = -(-count // self.random.choice(TILES))
        if way.of_samples or self.random.random() < ANY_SIZE:
            return taken
        step = stride(run.piece, run.begin, run.end)
        return max(step, taken - taken % step) if 0 < step < count else taken

    def begin(self, functions: int) -> None:
        pass

    def end(self) -> None:
        pass


@dataclass(frozen=True)
class AnyGroups(L2Fusion):
    """
    cuts   which kinds of tiles: whole samples; rows (of each sample, if there are several), with what overlaps
           computed again; rows, with what overlaps kept
    ends   chance of a group to end after an op: about 1 / ends ops are in one
    """

    seed: int = 0
    cuts: tuple[Cut, ...] = CUTS
    ends: float = 0.2

    def _planner(self) -> _AnyPlan:
        return _AnyPlan(Random(self.seed), self.cuts, self.ends)

    def _keep_judged(
        self, function: FuncOp, formed: Sequence[Formed], without: Judged, machine: Target
    ) -> tuple[list[Formed], Judged]:
        return list(formed), judged_in_blocks(function, partial(judged, machine=machine, page=self.page))
