"""
What the options `tune` and `tuning` ask of l2-fusion: a better plan by trial, and a plan that was found before.

    tune=GA                    search, from the plan that l2-fusion would take
    tune=GA tuning=m.json      the same; m.json gets the result, m.journal the trials: the same line goes on from there,
                               and others may run it at the same time
    tuning=m.json              the plan in m.json; a file for another model, chip or rules is an error
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

from ...dialects.ge.errors import UsageError
from ...planning import (
    Group,
    JudgedScorer,
    Model,
    Piece,
    Plan,
    Score,
    SearchOptions,
    TuningSpace,
    can_walk,
    groups_of,
    is_tiling,
    structure_key,
    walks_in,
    with_groups,
    with_walks,
)
from ...targets import Target
from ..report import count, figure, progress
from .judged import Judged
from .tuning_file import Found, is_tuning, read_tuning, write_tuning

if TYPE_CHECKING:
    from .study import Tuned

SECONDS = 60.0
"""The budget where none is given."""

MOST_LOWERED = 500
"""Ops of a function whose plans are scored as the loops that they become; of more ops, by their trace: a tenth of the
time, and some per cent off, as values lie elsewhere with each plan."""

JOURNAL = ".journal"
"""What the file of the trials ends in, which lies beside the result."""

NOTHING_TO_GAIN = 1.001
"""A plan without groups that moves so little more than every input, weight and output once is left as it is."""


class Lowered(NamedTuple):
    """A plan as loops: what it moves, by the judge, and the piece with its tensors where they lie then."""

    judged: Judged
    piece: Piece

    @property
    def score(self) -> Score:
        return Score(self.judged.seconds or 0.0, self.judged.bytes)


@dataclass(frozen=True)
class Task:
    """
    One function to plan.

    name        in the file: the function's
    blacklist   as the options say it, for the file; `barred` follows from it
    lowered     what becomes of the function with a plan
    """

    name: str
    piece: Piece
    machine: Target
    page: int
    options: SearchOptions
    barred: Collection[int]
    blacklist: tuple[str, ...]
    singles: Plan
    lowered: Callable[[Plan], Lowered]

    @property
    def by_loops(self) -> bool:
        """Whether plans are scored as loops."""
        return len(self.piece.ops) <= MOST_LOWERED

    def scored(self, plan: Plan) -> Score:
        return self.lowered(plan).score

    def found(self, plan: Plan, trials: int, before: Score, after: Score) -> Found:
        return Found(
            structure_key(self.piece),
            self._machine(),
            self._rules(),
            tuple(groups_of(plan)),
            trials,
            {"seconds": (before.seconds, after.seconds), "bytes": (before.bytes, after.bytes)},
            tuple(walks_in(plan, self.singles)),
        )

    def refuse_another(self, found: Found, path: Path) -> None:
        """Raises UsageError where the plan was found for something else."""
        if found.structure != structure_key(self.piece):
            raise UsageError(
                f"{path}: was tuned for another model: '{self.name}' is of other ops or sizes; tune it again"
            )
        for given, ours in ((found.machine, self._machine()), (found.rules, self._rules())):
            for key, value in ours.items():
                if given[key] != value:
                    raise UsageError(f"{path}: was tuned for {key} {given[key]}, not {value}; tune it again")

    def study_name(self, space: TuningSpace) -> str:
        """The same for those whose trials are comparable."""
        lying = self.by_loops, [t.address for t in space.piece.tensors], dict(space.piece.scratch)
        rules = self._machine(), self._rules(), space.genes, space.walks, space.start
        said = repr((structure_key(self.piece), lying, *rules))
        return hashlib.sha256(said.encode()).hexdigest()[:32]

    def _machine(self) -> Mapping[str, str | int]:
        machine = self.machine
        return {
            "target": machine.name,
            "l2_bytes": machine.l2_bytes,
            "cache": machine.cache,
            "page": self.page,
        }

    def _rules(self) -> Mapping[str, float | list[str]]:
        options = self.options
        return {
            "fusion_threshold": options.fusion_threshold,
            "l2_occupancy": options.occupancy,
            "blacklist": sorted(self.blacklist),
        }


class Planner(Protocol):
    """Who has the last word on plans."""

    def begin(self, functions: int) -> None:
        """So many are to be planned."""
        ...

    def plan(self, task: Task, search: Callable[[], Plan]) -> list[Group]:
        """search gives the plan without tuning; raises UsageError, OSError."""
        ...

    def end(self) -> None:
        """All functions are planned; raises OSError."""
        ...


class Untuned:
    """Nothing is tuned."""

    def begin(self, functions: int) -> None:
        pass

    def plan(self, task: Task, search: Callable[[], Plan]) -> list[Group]:
        return list(search())

    def end(self) -> None:
        pass


@dataclass
class Tuner:
    """
    Looks for better plans.

    seconds, trials   budget of a run, which functions share, and of all runs, for each; both None: 60 seconds
    path              of the result; None: it is kept nowhere

    raises   UsageError, before anything is tried, where the result cannot be written to `path`, or should not be
    """

    seconds: float | None
    trials: int | None
    seed: int
    path: Path | None
    _found: dict[str, Found] = field(default_factory=dict[str, Found], init=False)
    _end: float = field(default=0.0, init=False)
    _left: int = field(default=1, init=False)

    def __post_init__(self) -> None:
        if self.path is not None:
            _refuse_place(self.path)
        if self.seconds is None and self.trials is None:
            self.seconds = SECONDS
        if self.seconds is not None:
            self._end = time.monotonic() + self.seconds

    def begin(self, functions: int) -> None:
        self._left = functions

    def plan(self, task: Task, search: Callable[[], Plan]) -> list[Group]:
        """
        The best plan found, never one of more time or bytes than without tuning.

        raises   UsageError where optuna is not there or the journal is none; OSError; KeyboardInterrupt, which says
                 where the trials are kept
        """
        left, self._left = max(1, self._left), self._left - 1
        untuned = search()
        start = task.lowered(untuned)
        # Values are supposed to lie where they do with the start's groups: most do with those of a plan near it.
        model = Model(start.piece, task.machine, task.page)
        space = TuningSpace(model, task.options, untuned, task.singles, task.barred)
        if not space.genes or self._has_nothing_to_gain(task, start, untuned):
            self._found[task.name] = task.found(untuned, 0, start.score, start.score)
            return list(untuned)
        try:
            from .study import Budget, Study
        except ImportError as error:
            raise UsageError(f"tuning needs the package {error.name}: pip install 'gecc[tune]'") from None
        journal = None if self.path is None else self.path.with_suffix(JOURNAL)
        seconds = None if self.seconds is None else max(1e-3, (self._end - time.monotonic()) / left)
        study = Study(space, task.study_name(space), journal, self.seed)
        try:
            scorer = task.scored if task.by_loops else JudgedScorer(start.piece, task.machine, task.page)
            tuned = study.run(scorer, Budget(seconds, self.trials), progress)
        except KeyboardInterrupt:
            kept = "nothing is kept" if journal is None else f"the same line goes on from the trials in {journal}"
            raise KeyboardInterrupt(f"tuning was stopped; {kept}") from None
        count("plans tried", tuned.trials)
        plan, best = self._best(task, tuned, untuned, start)
        figure("bytes less by tuning, modelled", start.score.bytes - best.score.bytes)
        figure("nanoseconds less by tuning, modelled", round((start.score.seconds - best.score.seconds) * 1e9))
        self._found[task.name] = task.found(plan, tuned.trials, start.score, best.score)
        return plan

    def end(self) -> None:
        if self.path is not None:
            write_tuning(self.path, self._found)

    @staticmethod
    def _best(task: Task, tuned: Tuned, untuned: Plan, start: Lowered) -> tuple[list[Group], Lowered]:
        """The best that also as loops moves no more bytes than the plan without tuning, in no more time."""
        for _, plan in tuned.better:
            found = task.lowered(plan)
            if found.judged.is_as_good_as(start.judged):
                return plan, found
        return list(untuned), start

    @staticmethod
    def _has_nothing_to_gain(task: Task, start: Lowered, plan: Plan) -> bool:
        return not groups_of(plan) and start.judged.bytes <= NOTHING_TO_GAIN * task.piece.compulsory_bytes()


def _refuse_place(path: Path) -> None:
    """Raises UsageError where the result of tuning cannot be written, or something else would be written over."""
    if path.is_dir():
        raise UsageError(f"{path}: is a folder: name the file that tuning is to write")
    if path.suffix == JOURNAL:
        raise UsageError(
            f"{path}: the trials are kept under this name; name the result {path.with_suffix('.json')}, say"
        )
    if not path.parent.is_dir():
        raise UsageError(f"{path}: there is no folder {path.parent}")
    if path.exists() and not is_tuning(path):
        raise UsageError(f"{path}: is there, and no file of tuning: remove it, or name another")


class Applied:
    """Plans out of a file. Raises UsageError where it is none."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._found = read_tuning(path)

    def begin(self, functions: int) -> None:
        pass

    def plan(self, task: Task, search: Callable[[], Plan]) -> list[Group]:
        """Raises UsageError where the file's plan is for something else, or is no plan of it."""
        found = self._found.get(task.name)
        if found is None:
            raise UsageError(f"{self._path}: was tuned for another model: it has no '{task.name}'")
        task.refuse_another(found, self._path)
        ops = task.piece.ops
        grouped = {k for group in found.groups for k in range(group.begin, group.end)}
        for walk in found.kernels:
            alone = walk.begin < len(ops) and walk.end == walk.begin + 1 and walk.begin not in grouped
            if not alone or not can_walk(task.piece, walk):
                raise UsageError(f"{self._path}: {task.name}: {walk._asdict()} is not how an op by itself can walk")
        try:
            plan = with_groups(found.groups, with_walks(found.kernels, task.singles))
        except ValueError as error:
            raise UsageError(f"{self._path}: {task.name}: {error}") from None
        for group in found.groups:
            members = range(group.begin, group.end)
            if len(members) < 2 or any(k in task.barred or not (ops[k].tileable or ops[k].outer) for k in members):
                raise UsageError(f"{self._path}: {task.name}: {group._asdict()} has one op, or one that is in no group")
            if not is_tiling(task.piece, group):
                raise UsageError(f"{self._path}: {task.name}: {group._asdict()} is not several whole tiles")
        return plan

    def end(self) -> None:
        pass
