"""
Ops that follow each other run tile by tile, so that what one gives the next is still in the L2 cache.

    %1 = ge.conv %0, %w1                     %3 = ge.fusion "L2" (%a = %0, ...) -> (...)
    %2 = ge.relu %1             ->             tiling #ge.l2_tiling<axes = [0], tile = [6], tiles = 6, ...> {
    %3 = ge.conv %2, %w2                       ge.conv ...; ge.relu ...; ge.conv ...; ge.yield }

Graphs are cut along the batch, and where one sample exceeds the cache along rows of each. Whether a group pays
is modelled (planning/traffic.py), searched (planning/tiles.py) and judged: the function is lowered to loops over
buffers, and every access of these goes through a cache of the target's size (judged.py, replayed.py, planning/judge.py,
which share nothing with the model). Groups stay only if the judge too counts fewer bytes from and to memory, and no
more time. "No group" always competes, and wins a tie. All figures are modelled; none was measured on an accelerator.

Needs a function on tensors whose inputs are static. Leaves the meaning as it was: a group's body is the ops themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Literal, NamedTuple

from xdsl.context import Context
from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr, ModuleOp, StringAttr, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from ...dialects.ge.bodies import FusionOp, yielded
from ...dialects.ge.core import GeOp
from ...dialects.ge.errors import InputError, UsageError, text_of
from ...dialects.ge.kernel_tile import kernel_tile_of
from ...planning import (
    Group,
    Model,
    Piece,
    Plan,
    SearchOptions,
    replay,
    search,
    single_plan,
    walks_in,
    with_groups,
    with_walks,
)
from ...targets import MIB, Target
from ...targets import get as get_target
from ..base import GePass
from ..fusion.names import resolve
from ..memory.arena import is_on_buffers
from ..memory.free_dims import refuse_free_dims
from ..report import Report, changed, collecting, figure, missed
from ..rewriting import functions
from .forming import Formed, form_all
from .judged import Judged, is_group, judged
from .kept import kept_groups
from .piece import Described, describe
from .tune import NOTHING_TO_GAIN, Applied, Lowered, Planner, Task, Tuner, Untuned
from .walking import forget_walks, say_walks

_FIGURES = {
    "judge_before": "bytes from and to memory without groups, modelled",
    "judge_after": "bytes with groups, modelled",
    "bound": "bytes of every input, weight and result once",
    "model_before": "bytes without groups, as planned",
    "model_after": "bytes with groups, as planned",
    "search_before": "bytes without groups, by the search's formulas",
    "search_after": "bytes with groups, by the search's formulas",
}
"""
What stands on the function as `ge.l2_traffic`, in the words of the statistics: what the judge counts of the loops, what
the planner makes of the plan access by access, and the formulas by which it was searched.
"""

MOST_BYTES = 1 << 50
"""Of a cache: more than any machine's memory."""

LEAST_PAGE = 64
"""Bytes of a line of a cache: finer is no cache's, and takes the judge as much longer."""


class _Planned(NamedTuple):
    """Bytes from and to memory of a plan: of its trace, and by the formulas of the search."""

    model: int
    search: int


class Settled(NamedTuple):
    """What is left of a plan: groups, ops that say how they walk, and what is moved with them."""

    kept: list[Formed]
    walks: dict[Operation, Group]
    after: Judged


@dataclass(frozen=True)
class L2Fusion(GePass):
    """
    l2_size           MiB; by default the target's
    target            chip, as `gecc.targets` names it
    cache             what becomes of dead data: "hints", "plain", "write-allocate"; by default the target's
    fusion_threshold  smallest modelled share of a group's intermediate bytes that must be served from L2, 0 .. 1
    l2_occupancy      largest working set of a tile, as a share of L2, 0 .. 1
    blacklist         operators, by ONNX's or GE's name, that are in no group; several with commas
    page              bytes of a line of the judge's cache
    tune              "GA": looks for a better plan by trial (tune.py)
    tune_seconds      budget of this run; 60 where neither is given
    tune_trials       budget of all runs on one journal; with it alone the result follows from tune_seed
    tuning            file that tuning writes, and its journal beside it; without `tune` the file is applied
    """

    name = "l2-fusion"
    ge_name = "L2FusionPass"
    level = None
    summary = "Groups ops that meet in the L2 cache and cuts them into tiles"

    l2_size: float | None = None
    target: str = "brief-910b"
    cache: str | None = None
    fusion_threshold: float = 0.8
    l2_occupancy: float = 0.8
    blacklist: str = ""
    page: int = 4096
    tune: Literal["GA"] | None = None
    tune_seconds: float | None = None
    tune_trials: int | None = None
    tune_seed: int | None = None
    tuning: str | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        machine = self.machine()
        for name, share in (("fusion-threshold", self.fusion_threshold), ("l2-occupancy", self.l2_occupancy)):
            if not 0 <= share <= 1:
                raise UsageError(f"l2-fusion: {name} must be in 0..1, got {share}")
        options = SearchOptions(occupancy=self.l2_occupancy, fusion_threshold=self.fusion_threshold)
        try:
            barred = {resolve(name.strip()) for name in self.blacklist.split(",") if name.strip()}
        except ValueError as err:
            raise UsageError(f"l2-fusion: blacklist: {err}") from None
        planner = self._planner()
        wanting = [function for function in functions(op) if _wants_groups(function)]
        planner.begin(len(wanting))
        for function in wanting:
            refuse_free_dims(function, "tiles are planned")
            self._function(function, machine, options, barred, planner)
        planner.end()

    def judged_alone(self, module: ModuleOp) -> int:
        """Bytes from and to memory of a module as it stands, by the judge. Raises UsageError, InputError."""
        machine = self.machine()
        return sum(judged(function, machine, self.page).bytes for function in functions(module) if function.body.blocks)

    def _planner(self) -> Planner:
        if self.tune_seconds is not None and self.tune_seconds <= 0:
            raise UsageError(f"l2-fusion: tune-seconds must be greater than 0, got {self.tune_seconds}")
        if self.tune_trials is not None and self.tune_trials < 1:
            raise UsageError(f"l2-fusion: tune-trials must be at least 1, got {self.tune_trials}")
        if self.tune is not None:
            path = None if self.tuning is None else Path(self.tuning)
            return Tuner(self.tune_seconds, self.tune_trials, self.tune_seed or 0, path)
        for name, value in (
            ("tune-seconds", self.tune_seconds),
            ("tune-trials", self.tune_trials),
            ("tune-seed", self.tune_seed),
        ):
            if value is not None:
                raise UsageError(f"l2-fusion: {name} is about tuning: add tune=GA")
        return Untuned() if self.tuning is None else Applied(Path(self.tuning))

    def machine(self) -> Target:
        """The chip that is planned for, with what the options say of it; raises UsageError."""
        try:
            machine = get_target(self.target)
        except ValueError as err:
            raise UsageError(f"l2-fusion: {err}") from None
        if self.cache is not None:
            if self.cache not in ("hints", "plain", "write-allocate"):
                raise UsageError(f"l2-fusion: cache must be hints, plain or write-allocate, got '{self.cache}'")
            machine = replace(machine, cache=self.cache)
        if self.page < LEAST_PAGE:
            raise UsageError(f"l2-fusion: page must be at least {LEAST_PAGE} bytes, got {self.page}")
        size = machine.l2_bytes if self.l2_size is None else self.l2_size * MIB
        if not self.page <= size <= MOST_BYTES:
            most = f"at most {MOST_BYTES // MIB} MiB"
            got = f"{size / MIB:g} MiB"
            raise UsageError(f"l2-fusion: l2-size must hold a page of {self.page} bytes and be {most}, got {got}")
        return replace(machine, l2_bytes=int(size))

    def _function(
        self, function: FuncOp, machine: Target, options: SearchOptions, barred: set[str], planner: Planner
    ) -> None:
        try:
            before = judged(function, machine, self.page)
        except InputError as err:
            missed(function, f"has no groups: {err}")
            return
        described = describe(function, before.lying)
        if described is None:
            missed(function, "has no groups: it has no batch and no rows to cut")
            return
        task = self._task(function, described, before, machine, options, barred)
        plan = planner.plan(task, partial(self._searched, task, before.bytes))
        kept, walks, after = self._settled(function, described, plan, task.singles, before, machine)
        figure("groups", len(kept))
        if walks:
            figure("kernel tiles", len(walks))
        alone = self._planned(task.piece, task.singles, machine)
        grouped = alone
        if kept or walks:
            piece = _lying_as(described, kept, after)
            singles = with_walks(list(walks.values()), task.singles)
            grouped = self._planned(piece, with_groups(sorted(each.group for each in kept), singles), machine)
        numbers = {
            "bound": described.piece.compulsory_bytes(),
            "search_before": alone.search,
            "search_after": grouped.search,
            "model_before": alone.model,
            "model_after": grouped.model,
            "judge_before": before.bytes,
            "judge_after": after.bytes,
        }
        said = {name: IntegerAttr(n, i64) for name, n in numbers.items()}
        size = IntegerAttr(machine.l2_bytes, i64)
        function.attributes["ge.l2_traffic"] = DictionaryAttr(
            {"target": StringAttr(machine.name), "cache": StringAttr(machine.cache), "l2_bytes": size, **said}
        )
        changed()  # by what the function says now
        for name, text in _FIGURES.items():
            figure(text, numbers[name])

    def _task(
        self,
        function: FuncOp,
        described: Described,
        before: Judged,
        machine: Target,
        options: SearchOptions,
        barred: set[str],
    ) -> Task:
        out = frozenset(k for k, op in enumerate(described.ops) if is_group(op) or types_of(op) & barred)
        singles = single_plan(described.piece, machine, self.page)
        rules = tuple(sorted(barred))
        lowered = partial(self._lowered, function, before, machine, singles)
        name = function.sym_name.data
        return Task(name, described.piece, machine, self.page, options, out, rules, singles, lowered)

    def _lowered(self, function: FuncOp, before: Judged, machine: Target, singles: Plan, plan: Plan) -> Lowered:
        """What is left of a plan as the loops that it becomes; of a copy."""
        copy = function.clone()
        described = describe(copy, before.lying.of(function, copy))
        assert described is not None
        with collecting(Report()):
            kept, _, after = self._settled(copy, described, plan, singles, before, machine)
        return Lowered(after, _lying_as(described, kept, after) if kept else described.piece)

    def _settled(
        self, function: FuncOp, described: Described, plan: Plan, singles: Plan, before: Judged, machine: Target
    ) -> Settled:
        """Puts a plan on a function, as far as the judge finds it better than what was `before`."""
        formed = form_all(described, plan, singles, Model(described.piece, machine, self.page), machine)
        walks = say_walks(described, walks_in(plan, singles))
        kept, after = self._keep_judged(function, formed, before, machine)
        if not formed:
            missed(function, "has no groups: none is modelled to pay")
        if walks and not kept:
            after = self._keep_walks(function, walks, before, machine)
        return Settled(kept, walks, after)

    def _searched(self, task: Task, judged_before: int) -> list[Group]:
        """The plan that the model finds; none where there is nothing to gain."""
        if judged_before <= NOTHING_TO_GAIN * task.piece.compulsory_bytes():
            return list(task.singles)
        return search(task.piece, task.machine, task.options, task.barred, self.page)

    def _keep_judged(
        self, function: FuncOp, formed: Sequence[Formed], without: Judged, machine: Target
    ) -> tuple[list[Formed], Judged]:
        return kept_groups(function, formed, without, partial(judged, machine=machine, page=self.page))

    def _keep_walks(self, function: FuncOp, walks: dict[Operation, Group], without: Judged, machine: Target) -> Judged:
        """The judge's word on kernel tiles alone; where it finds them no better, they are taken back."""
        found = judged(function, machine, self.page)
        if found.is_better_than(without):
            return found
        forget_walks(walks)
        return without

    def _planned(self, piece: Piece, plan: Plan, machine: Target) -> _Planned:
        model = replay(piece, plan, machine.l2_bytes, machine.cache, self.page).total
        return _Planned(model, int(Model(piece, machine, self.page).evaluate(plan).total))


def _lying_as(described: Described, kept: Sequence[Formed], after: Judged) -> Piece:
    """The piece with its values where they lie with these groups."""
    inner = {v: r for each in kept for v, r in zip(yielded(each.fusion.body), each.fusion.outs, strict=True)}
    addresses = {v: at for v in described.values if (at := after.lying.addresses.get(inner.get(v, v))) is not None}
    scratch = {(each.group.begin, each.group.end): after.scratch[each.fusion] for each in kept}
    return replace(described.lying_at(addresses), scratch=scratch)


def _wants_groups(function: FuncOp) -> bool:
    if not function.body.blocks:
        return False  # it is elsewhere
    if len(function.body.blocks) > 1:
        missed(function, "has no groups: it has several blocks")
        return False
    if is_on_buffers(function):
        missed(function, "has no groups: it is on buffers; l2-fusion runs before ge-bufferize")
        return False
    return not any(is_group(op) or kernel_tile_of(op) for op in function.body.block.ops)  # else it has its groups


def types_of(op: Operation) -> set[str]:
    """The ONNX operators that an op is made of."""
    if isinstance(op, FusionOp):
        return set[str]().union(*(types_of(inner) for inner in op.body.block.ops))
    if isinstance(op, GeOp):
        return {op.onnx.type}
    kind = text_of(op.properties.get("op_type"))
    return {kind} if kind else set()
