"""
The genetic search for a better plan: NSGA-II, from optuna, on modelled seconds and bytes.

    trial 0             the plan without tuning
    trial 1             the same, with the largest kernel tiles, where there is a choice
    generation 0        these, and plans that differ from them in a few places
    generation n + 1    stretches of two good parents, a gene changed here and there

All workers share one study: a journal file that outlives a kill. A trial is written to it twice, when a worker claims
its plan and when it has a score, each time as one record under the file's lock, so that no two work on one plan. What
optuna samples from is a copy in memory: a trial whose genes were written one by one would cost more than its score.

Imported only where something is tuned: optuna is in the extra `tune`. Locks as POSIX has them.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from heapq import nsmallest
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple

import optuna
from optuna.distributions import BaseDistribution, IntDistribution
from optuna.samplers import NSGAIISampler, RandomSampler
from optuna.samplers.nsgaii import BaseCrossover
from optuna.storages import BaseStorage, InMemoryStorage, JournalStorage
from optuna.storages.journal import JournalFileBackend, JournalFileSymlinkLock
from optuna.trial import TrialState, create_trial

from ...dialects.ge.errors import UsageError
from ...planning import Group, Score, Scorer, TuningSpace

if TYPE_CHECKING:
    import numpy as np

POPULATION = 24
MOST_REPEATS = 60
"""Proposals in a row that were tried before, or have no promise: if all were, nothing new is near: the search ends."""

FAR = 20
"""After so many of them proposals are made by chance, ever further from the best plan."""

ABANDONED = timedelta(minutes=10)
"""A trial that runs for longer belongs to a worker that is gone."""

BETTER = 5
"""Plans that a study hands on."""

PLAN = "plan"


@dataclass(frozen=True)
class Budget:
    """When to stop: so many seconds into this run, or at so many trials of all runs, if that is sooner; more than 0."""

    seconds: float | None
    trials: int | None

    def share(self, seconds: float, trials: int) -> float:
        """How much of it is used, 0 .. 1 and more."""
        by_time = 0.0 if self.seconds is None else seconds / self.seconds
        return max(by_time, 0.0 if self.trials is None else trials / self.trials)


@dataclass(frozen=True)
class Tuned:
    """
    What a study has found.

    better    plans that are better than without tuning, with their scores, the best first; at most BETTER of them
    untuned   the score of the plan without tuning
    trials    of all runs, that have a score
    """

    better: list[tuple[Score, list[Group]]]
    untuned: Score
    trials: int

    @property
    def best(self) -> Score:
        return self.better[0][0] if self.better else self.untuned


class _Proposal(NamedTuple):
    genes: dict[str, int]
    plan: list[Group]
    key: str
    system: dict[str, Any]  # what the sampler notes of its generation


class _FileLock(JournalFileSymlinkLock):
    """A lock on the journal itself, which ends with its process; who holds it may take it again."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self._path = path
        self._file: int | None = None
        self._depth = 0

    def acquire(self) -> bool:
        if self._depth == 0:
            self._file = os.open(self._path, os.O_RDWR)
            fcntl.flock(self._file, fcntl.LOCK_EX)
        self._depth += 1
        return True

    def release(self) -> None:
        self._depth -= 1
        if self._depth == 0 and self._file is not None:
            os.close(self._file)


class _Stretch(BaseCrossover):
    """A stretch of neighbouring genes comes from the second parent: what was good together stays together."""

    @property
    def n_parents(self) -> int:
        return 2

    def crossover(
        self,
        parents_params: np.ndarray,
        rng: np.random.RandomState,
        study: optuna.Study,
        search_space_bounds: np.ndarray,
    ) -> np.ndarray:
        begin, end = sorted(rng.randint(0, len(search_space_bounds) + 1, size=2))
        child = parents_params[0].copy()
        child[begin:end] = parents_params[1][begin:end]
        return child


class Study:
    """
    One piece's trials.

    path     the journal; None: in memory, for this run alone
    name     of the study in it: the same only for the same piece and the same rules
    seed     with a budget of trials and one worker the result follows from it
    raises   UsageError where the file is no journal; OSError
    """

    def __init__(self, space: TuningSpace, name: str, path: Path | None, seed: int) -> None:
        self._space = space
        self._seed = seed
        self._distributions: dict[str, BaseDistribution] = {
            gene: IntDistribution(0, values - 1) for gene, values in space.genes.items()
        }
        self._lock = None if path is None else _FileLock(str(path))
        try:
            with _quiet():
                if path is not None:
                    _mend(path)
                self._open(name, path)
                with self._locked():
                    trials = len(self._shared.get_trials(deepcopy=False))
                sampler = NSGAIISampler(population_size=POPULATION, crossover=_Stretch(), seed=(seed + trials) % 2**32)
                self._local = optuna.create_study(sampler=sampler, directions=["minimize", "minimize"])
        except (ValueError, LookupError, TypeError, AttributeError, AssertionError) as error:
            # Whatever stands in the file, optuna takes for records of its own.
            raise UsageError(f"{path}: is no journal of tuning ({error}); remove it to begin again") from None
        self._scores: dict[int, Score] = {}  # by the trial's number
        self._keys: set[str] = set()
        self._count = 0

    def _open(self, name: str, path: Path | None) -> None:
        backend: BaseStorage = InMemoryStorage()
        if path is not None:
            assert self._lock is not None
            backend = JournalStorage(JournalFileBackend(str(path), lock_obj=self._lock))
        with self._locked():
            self._shared = optuna.create_study(
                storage=backend,
                study_name=name,
                sampler=RandomSampler(),
                directions=["minimize", "minimize"],
                load_if_exists=True,
            )

    def run(self, scorer: Scorer, budget: Budget, tell: Callable[[float, str], None]) -> Tuned:
        """
        Tries plans until the budget is used up, or nothing new is found.

        tell      hears after each trial what share of the budget is used, and what came of it
        returns   the best of all trials, also of earlier runs and other workers: no more bytes than without tuning, and
                  of these the least seconds
        """
        start = time.monotonic()
        untuned: Score | None = None
        with _quiet():
            while True:
                with self._locked():
                    self._sync()
                    share = budget.share(time.monotonic() - start, self._count)
                    proposal = self._propose() if share < 1 else None
                    if proposal is None:
                        break
                    number = self._claim(proposal)
                score = scorer(proposal.plan)
                with self._locked():
                    self._shared.tell(number, [score.seconds, score.bytes])
                    self._sync()
                untuned = untuned or self._untuned(scorer)
                share = budget.share(time.monotonic() - start, self._count)
                tell(min(1.0, share), f"{len(self._scores)} plans, {_gain(untuned, self._found(untuned, 1).best)}")
            return self._found(untuned or self._untuned(scorer), BETTER)

    def _sync(self) -> None:
        """Takes over what was scored since, and which plans are taken."""
        self._keys.clear()
        self._count = 0
        for trial in self._shared.get_trials(deepcopy=False):
            done = trial.state is TrialState.COMPLETE
            if not done and (trial.datetime_start is None or datetime.now() - trial.datetime_start > ABANDONED):
                continue
            self._count += 1
            self._keys.add(trial.user_attrs[PLAN])
            if done and trial.number not in self._scores:
                seconds, bytes_ = trial.values
                self._scores[trial.number] = Score(seconds, int(bytes_))
                self._local.add_trial(trial)

    def _propose(self) -> _Proposal | None:
        """
        A plan that nobody has tried or is trying, one that has promise if there is one near; None where none is found.
        """
        spare: _Proposal | None = None
        for attempt in range(MOST_REPEATS):
            proposal = self._proposal(attempt)
            if proposal.key in self._keys:
                continue
            if self._space.has_promise(proposal.plan):
                return proposal
            spare = spare or proposal
        return spare

    def _proposal(self, attempt: int) -> _Proposal:
        space = self._space
        given = self._begin_with(attempt)
        if given is not None:
            self._local.enqueue_trial(given)
        trial = self._local.ask(self._distributions)
        system = self._local.get_trials(deepcopy=False)[trial.number].system_attrs
        self._local.tell(trial, state=TrialState.FAIL)  # the shared study's trials alone are parents
        plan = space.decode(trial.params)
        # The genes of the plan that it became: what they say elsewhere would only drift.
        noted = {key: value for key, value in system.items() if key.startswith(NSGAIISampler.__name__)}
        return _Proposal(space.encode(plan), plan, space.key(plan), noted)

    def _begin_with(self, attempt: int) -> dict[str, int] | None:
        """Genes for the first generation, and where the sampler only repeats what was tried."""
        if self._count == 0 and attempt == 0:
            return self._space.encode(self._space.start)
        if self._count == 1 and attempt == 0 and self._space.walks:
            return self._space.encode(self._space.widest)
        random = Random(f"{self._seed} {self._count} {attempt}")
        if self._count < POPULATION:
            base = self._space.widest if self._space.walks and random.random() < 0.5 else self._space.start
            return self._space.near(base, 1 + random.randrange(4) + attempt // 4, random)
        if attempt >= FAR:
            best = min(self._scores, key=lambda number: self._scores[number])
            return self._space.near(self._plan_of(best), 1 + attempt // 8, random)
        return None

    def _claim(self, proposal: _Proposal) -> int:
        trial = create_trial(
            state=TrialState.RUNNING,
            params=proposal.genes,
            distributions=self._distributions,
            user_attrs={PLAN: proposal.key},
            system_attrs=proposal.system,
        )
        self._shared.add_trial(trial)
        return len(self._shared.get_trials(deepcopy=False)) - 1

    def _found(self, untuned: Score, most: int) -> Tuned:
        good = ((score, number) for number, score in self._scores.items() if score.bytes <= untuned.bytes)
        better = nsmallest(most, (pair for pair in good if pair[0] < untuned))
        return Tuned([(score, self._plan_of(number)) for score, number in better], untuned, len(self._scores))

    def _untuned(self, scorer: Scorer) -> Score:
        """As the study has it; where nobody has scored that plan yet, as it is."""
        key = self._space.key(self._space.start)
        trials = self._shared.get_trials(deepcopy=False)
        known = (self._scores[t.number] for t in trials if t.number in self._scores and t.user_attrs[PLAN] == key)
        return next(known, None) or scorer(self._space.start)

    def _plan_of(self, number: int) -> list[Group]:
        genes: Mapping[str, int] = self._shared.get_trials(deepcopy=False)[number].params
        return self._space.decode(genes)

    @contextlib.contextmanager
    def _locked(self) -> Generator[None]:
        if self._lock is None:
            yield
            return
        self._lock.acquire()
        try:
            yield
        finally:
            self._lock.release()


def _gain(before: Score, after: Score) -> str:
    if before.seconds:
        return f"{1 - after.seconds / before.seconds:.2%} less time, modelled"
    return f"{1 - after.bytes / max(1, before.bytes):.2%} fewer bytes, modelled"


def _mend(path: Path) -> None:
    """Makes the file, or cuts off a record that a killed worker has left half-written."""
    file = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        with open(file, "r+b", closefd=False) as journal:
            content = journal.read()
            if content.startswith(b'{"op_code"') and not content.endswith(b"\n"):
                journal.truncate(content.rfind(b"\n") + 1)
    finally:
        os.close(file)


@contextlib.contextmanager
def _quiet() -> Generator[None]:
    """optuna logs each trial to stderr; who tunes by hand in the same process may want that, but not of ours."""
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        yield
    finally:
        optuna.logging.set_verbosity(before)
