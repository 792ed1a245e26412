"""
Ops that follow each other run tile by tile, so that what one gives the next is still in the L2 cache.

    %1 = ge.conv %0, %w1                     %3 = ge.fusion "L2" (%a = %0, ...) -> (...)
    %2 = ge.relu %1             ->             tiling #ge.l2_tiling<axes = [0], tile = [6], tiles = 6, ...> {
    %3 = ge.conv %2, %w2                       ge.conv ...; ge.relu ...; ge.conv ...; ge.yield }

Batch tiles of static graphs. Whether a group pays is modelled (planning/traffic.py), searched (planning/tiles.py) and
judged by replaying every access through a cache of the target's size (planning/judge.py, which shares nothing with
the model): a group stays only if the judge too counts fewer bytes from and to memory. "No group" always competes, and
wins a tie. All figures are modelled; none was measured on an accelerator.

Needs a static function on tensors. Leaves the meaning as it was: a group's body is the ops themselves.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from xdsl.context import Context
from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr, ModuleOp, StringAttr, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from ...dialects.ge.attributes import L2TilingAttr
from ...dialects.ge.bodies import FusionOp
from ...dialects.ge.core import GeOp
from ...dialects.ge.errors import UsageError, text_of
from ...dialects.ge.types import shape_of
from ...planning import (
    Group,
    GroupTraffic,
    Model,
    Plan,
    SearchOptions,
    groups_of,
    keep_judged,
    replay,
    search,
    single_plan,
)
from ...targets import MIB, Target
from ...targets import get as get_target
from ..base import GePass
from ..fusion.fusion import CannotFuse, fuse
from ..fusion.names import resolve
from ..report import count, missed
from ..rewriting import functions
from .piece import Described, describe
from .tune import Applied, Planner, Task, Tuner, Untuned

_FIGURES = {
    "model_before": "bytes from and to memory without groups, by the model",
    "model_after": "bytes with groups, by the model",
    "judge_before": "bytes without groups, by the judge",
    "judge_after": "bytes with groups, by the judge",
    "bound": "bytes that no plan goes below, modelled",
}
"""What stands on the function as `ge.l2_traffic`, in the words of the statistics."""


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
    summary = "Groups ops that meet in the L2 cache and cuts them into batch tiles"

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
    tune_seed: int = 0
    tuning: str | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        machine = self._machine()
        try:
            options = SearchOptions(occupancy=self.l2_occupancy, fusion_threshold=self.fusion_threshold)
        except ValueError as err:
            raise UsageError(f"l2-fusion: {err}") from None
        try:
            barred = {resolve(name.strip()) for name in self.blacklist.split(",") if name.strip()}
        except ValueError as err:
            raise UsageError(f"l2-fusion: blacklist: {err}") from None
        planner = self._planner()
        for function in functions(op):
            if any(isinstance(o, FusionOp) and o.tiling is not None for o in function.body.block.ops):
                continue  # it has its groups
            described = describe(function, machine.alignment)
            if described is None:
                missed(function, "has no groups: it is not static, or has no batch to cut")
                continue
            self._function(function, described, machine, options, barred, planner)
        planner.end()

    def _planner(self) -> Planner:
        if self.tune_seconds is not None and self.tune_seconds <= 0:
            raise UsageError(f"l2-fusion: tune-seconds must be greater than 0, got {self.tune_seconds}")
        if self.tune_trials is not None and self.tune_trials < 1:
            raise UsageError(f"l2-fusion: tune-trials must be at least 1, got {self.tune_trials}")
        if self.tune is not None:
            path = None if self.tuning is None else Path(self.tuning)
            return Tuner(self.tune_seconds, self.tune_trials, self.tune_seed, path)
        if self.tune_seconds is not None or self.tune_trials is not None:
            raise UsageError("l2-fusion: a budget for tuning, but no tune=GA")
        return Untuned() if self.tuning is None else Applied(Path(self.tuning))

    def _machine(self) -> Target:
        try:
            machine = get_target(self.target)
        except ValueError as err:
            raise UsageError(f"l2-fusion: {err}") from None
        if self.cache is not None:
            if self.cache not in ("hints", "plain", "write-allocate"):
                raise UsageError(f"l2-fusion: cache must be hints, plain or write-allocate, got '{self.cache}'")
            machine = replace(machine, cache=self.cache)
        if self.l2_size is not None:
            if not self.l2_size * MIB >= self.page:
                raise UsageError(f"l2-fusion: l2-size must hold a page of {self.page} bytes, got {self.l2_size} MiB")
            machine = replace(machine, l2_bytes=int(self.l2_size * MIB))
        return machine

    def _function(
        self,
        function: FuncOp,
        described: Described,
        machine: Target,
        options: SearchOptions,
        barred: set[str],
        planner: Planner,
    ) -> None:
        piece = described.piece
        out = [k for k, op in enumerate(described.ops) if _types(op) & barred]
        singles = single_plan(piece, machine)

        def judged(plan: Plan) -> int:
            return replay(piece, plan, machine.l2_bytes, machine.cache, self.page).total

        def searched() -> list[Group]:
            plan = search(piece, machine, options, out)
            return keep_judged(plan, singles, judged) if groups_of(plan) else plan

        name = function.sym_name.data
        task = Task(name, piece, machine, self.page, options, frozenset(out), tuple(sorted(barred)), singles)
        plan = planner.plan(task, searched)
        before = judged(singles)
        after = judged(plan) if groups_of(plan) else before
        model = Model(piece, machine)
        modelled, baseline = model.evaluate(plan), model.evaluate(singles)
        for k in reversed(range(len(plan))):
            group, traffic = plan[k], modelled.groups[k]
            if group.end - group.begin > 1:
                # What the group saves shows in the whole: it also leaves the cache to what runs after it.
                without = [*plan[:k], *singles[group.begin : group.end], *plan[k + 1 :]]
                saved = model.evaluate(without).total - modelled.total
                self._form(described, group, _tiling(described, group, traffic, saved, machine))
        numbers = {
            "bound": piece.compulsory_bytes(),
            "model_before": int(baseline.total),
            "model_after": int(modelled.total),
            "judge_before": before,
            "judge_after": after,
        }
        said = {name: IntegerAttr(n, i64) for name, n in numbers.items()}
        size = IntegerAttr(machine.l2_bytes, i64)
        function.attributes["ge.l2_traffic"] = DictionaryAttr(
            {"target": StringAttr(machine.name), "cache": StringAttr(machine.cache), "l2_bytes": size, **said}
        )
        for name, text in _FIGURES.items():
            count(text, numbers[name])

    def _form(self, described: Described, group: Group, tiling: L2TilingAttr) -> None:
        ops = list(_members(described, group))
        try:
            fusion = fuse(ops, "L2")
        except CannotFuse as err:
            missed(ops[-1], f"no group: {err}")
            return
        fusion.properties["tiling"] = tiling
        count("groups")


def _members(described: Described, group: Group) -> Iterator[Operation]:
    """The ops of a group in order, and the views between them of what they make."""
    views: dict[int, list[Operation]] = {}
    for at, view in described.views:
        views.setdefault(at, []).append(view)
    made: set[Any] = set()
    for k in range(group.begin, group.end):
        # A view of the last op's result stays outside: nobody in the group reads it.
        for view in views.get(k, ()) if k > group.begin else ():
            if any(v in made for v in view.operands):
                made.update(view.results)
                yield view
        made.update(described.ops[k].results)
        yield described.ops[k]


def _tiling(described: Described, group: Group, traffic: GroupTraffic, saved: float, machine: Target) -> L2TilingAttr:
    last = described.ops[group.end - 1]
    rows = shape_of(last.results[0].type)[0] // described.piece.batch
    return L2TilingAttr.of(
        [0],
        [rows * group.samples],
        traffic.tiles,
        weights="resident" if traffic.working_set <= machine.l2_bytes else "streamed",
        working_set=traffic.working_set,
        bytes_before=int(traffic.read + traffic.written + saved),
        bytes_after=int(traffic.read + traffic.written),
        hit_share=traffic.hit_share,
    )


def _types(op: Operation) -> set[str]:
    """The ONNX operators that an op is made of."""
    if isinstance(op, FusionOp):
        return set[str]().union(*(_types(inner) for inner in op.body.block.ops))
    if isinstance(op, GeOp):
        return {op.onnx.type}
    kind = text_of(op.properties.get("op_type"))
    return {kind} if kind else set()
