"""Tuning of L2 groups: better plans by trial, kept in a journal that workers share."""

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import optuna
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend
from optuna.trial import FrozenTrial, TrialState

from gecc.planning import (
    JudgedScorer,
    Model,
    Piece,
    Plan,
    Score,
    SearchOptions,
    TuningSpace,
    groups_of,
    search,
    single_plan,
)
from gecc.transforms.l2.study import Budget, Study

from ..planning.pieces import MIB, Machine, bottleneck, chain, pieces

MACHINE = Machine(4 * MIB)


def long_chain() -> Piece:
    """Ten ops, for which the search does not find the best plan."""
    return chain(32, 10, MIB // 8, weight=MIB // 8)


def space_of(piece: Piece, machine: Machine = MACHINE) -> TuningSpace:
    start = search(piece, machine)
    return TuningSpace(Model(piece, machine), SearchOptions(), start, single_plan(piece, machine))


def nothing(share: float, text: str) -> None: ...


def trials_of(path: Path) -> list[FrozenTrial]:
    storage = JournalStorage(JournalFileBackend(str(path)))
    return optuna.load_study(study_name="chain", storage=storage).get_trials()


def test_finds_a_better_plan():
    found = Study(space_of(long_chain()), "chain", None, seed=0).run(
        JudgedScorer(long_chain(), MACHINE), Budget(None, 60), nothing
    )
    assert found.trials == 60
    score, plan = found.better[0]
    assert score.seconds < found.untuned.seconds
    assert all(score.bytes <= found.untuned.bytes for score, _ in found.better)
    assert score == JudgedScorer(long_chain(), MACHINE)(plan)


def test_trial_0_is_the_plan_without_tuning():
    piece = long_chain()
    tried: list[Plan] = []

    def scorer(plan: Plan) -> Score:
        tried.append(plan)
        return Score(1.0, 1)

    found = Study(space_of(piece), "chain", None, seed=0).run(scorer, Budget(None, 3), nothing)
    assert tried[0] == search(piece, MACHINE)
    assert found.better == []  # ties go to it


def test_fewer_seconds_for_more_bytes_is_no_better_plan():
    start = search(long_chain(), MACHINE)

    def scorer(plan: Plan) -> Score:
        return Score(2.0, 100) if plan == start else Score(1.0, 101)

    assert Study(space_of(long_chain()), "chain", None, seed=0).run(scorer, Budget(None, 5), nothing).better == []


@settings(max_examples=15)
@given(pieces(longest=6), st.sampled_from([1, 2]), st.integers(0, 3))
def test_is_never_worse_than_without_tuning(piece: Piece, mib: int, seed: int):
    machine = Machine(mib * MIB)
    judged = JudgedScorer(piece, machine)
    found = Study(space_of(piece, machine), "any", None, seed).run(judged, Budget(None, 8), nothing)
    assert found.untuned == judged(search(piece, machine))
    for score, plan in found.better:
        assert score == judged(plan) < found.untuned
        assert score.bytes <= found.untuned.bytes


def test_a_seed_and_a_budget_of_trials_say_the_result():
    def tried(seed: int) -> list[Plan]:
        plans: list[Plan] = []
        judged = JudgedScorer(long_chain(), MACHINE)

        def scorer(plan: Plan) -> Score:
            plans.append(plan)
            return judged(plan)

        Study(space_of(long_chain()), "chain", None, seed).run(scorer, Budget(None, 40), nothing)
        return plans

    assert tried(1) == tried(1)
    assert tried(1) != tried(2)


def test_no_plan_is_tried_twice_and_a_small_space_ends():
    tried: list[Plan] = []
    judged = JudgedScorer(bottleneck(8), Machine(8 * MIB))

    def scorer(plan: Plan) -> Score:
        tried.append(plan)
        return judged(plan)

    space = space_of(bottleneck(8), Machine(8 * MIB))
    found = Study(space, "small", None, seed=0).run(scorer, Budget(None, 10_000), nothing)
    assert found.trials == len(tried) < 100
    assert max(Counter(tuple(groups_of(plan)) for plan in tried).values()) == 1


def test_what_has_no_promise_is_not_judged():
    space = space_of(long_chain())
    tried: list[Plan] = []
    judged = JudgedScorer(long_chain(), MACHINE)

    def scorer(plan: Plan) -> Score:
        tried.append(plan)
        return judged(plan)

    Study(space, "chain", None, seed=0).run(scorer, Budget(None, 60), nothing)
    assert len(tried) == 60
    assert all(space.has_promise(plan) for plan in tried)


def test_where_nothing_has_promise_the_rest_is_tried(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(TuningSpace, "has_promise", lambda self, plan: False)  # pyright: ignore
    found = Study(space_of(long_chain()), "chain", None, seed=0).run(
        JudgedScorer(long_chain(), MACHINE), Budget(None, 5), nothing
    )
    assert found.trials == 5


def test_a_budget_of_seconds_ends_a_run():
    start = time.monotonic()
    shares: list[float] = []

    def scorer(plan: Plan) -> Score:
        time.sleep(0.02)
        return Score(1.0, 1)

    Study(space_of(long_chain()), "chain", None, seed=0).run(
        scorer, Budget(0.3, None), lambda share, text: shares.append(share)
    )
    assert 0.3 <= time.monotonic() - start < 5
    assert shares == sorted(shares)
    assert shares[-1] == 1


def test_a_second_run_goes_on_from_the_first(tmp_path: Path):
    journal = tmp_path / "m.journal"
    tried: list[Plan] = []

    def scorer(plan: Plan) -> Score:
        tried.append(plan)
        return Score(1.0, 1)

    for budget in (10, 25):
        Study(space_of(long_chain()), "chain", journal, seed=0).run(scorer, Budget(None, budget), nothing)
    assert len(tried) == 25
    assert max(Counter(tuple(groups_of(plan)) for plan in tried).values()) == 1
    Study(space_of(long_chain()), "chain", journal, seed=0).run(scorer, Budget(None, 25), nothing)
    assert len(tried) == 25  # the budget is used up


def test_a_record_that_was_cut_short_is_dropped(tmp_path: Path):
    journal = tmp_path / "m.journal"
    run: Callable[[int], int] = lambda n: (  # noqa: E731
        Study(space_of(long_chain()), "chain", journal, seed=0)
        .run(lambda plan: Score(1.0, 1), Budget(None, n), nothing)
        .trials
    )
    assert run(5) == 5
    with journal.open("a") as file:
        file.write('{"op_code":4,"worker_id":"x","stu')
    assert run(8) == 8


WORKER = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from tests.unit.transforms.test_tuning import *

judged = JudgedScorer(long_chain(), MACHINE)

def slowly(plan):
    time.sleep(0.03)
    return judged(plan)

Study(space_of(long_chain()), "chain", Path(sys.argv[2]), seed=int(sys.argv[3])).run(
    slowly, Budget(None, int(sys.argv[4])), nothing
)
"""


def worker(journal: Path, seed: int, trials: int) -> subprocess.Popen[bytes]:
    top = str(Path(__file__).parents[3])
    return subprocess.Popen([sys.executable, "-c", WORKER, top, journal, str(seed), str(trials)])


def test_workers_share_a_study_and_repeat_no_plan(tmp_path: Path):
    journal = tmp_path / "m.journal"
    workers = [worker(journal, 0, 60), worker(journal, 0, 60)]
    assert [w.wait(120) for w in workers] == [0, 0]
    trials = trials_of(journal)
    assert all(trial.state is TrialState.COMPLETE for trial in trials)
    assert 60 <= len(trials) <= 61
    assert max(Counter(trial.user_attrs["plan"] for trial in trials).values()) == 1


def test_tuning_goes_on_after_a_kill(tmp_path: Path):
    journal = tmp_path / "m.journal"
    killed = worker(journal, 0, 1000)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and not (journal.exists() and journal.read_text().count("\n") > 30):
        time.sleep(0.05)
    os.kill(killed.pid, signal.SIGKILL)
    killed.wait()
    before = [trial for trial in trials_of(journal) if trial.state is TrialState.COMPLETE]
    assert len(before) > 5
    after = Study(space_of(long_chain()), "chain", journal, seed=0).run(
        JudgedScorer(long_chain(), MACHINE), Budget(None, len(before) + 10), nothing
    )
    assert after.trials >= len(before) + 9  # the plan that was being tried counts as taken
    assert [t.params for t in trials_of(journal)][: len(before)] == [t.params for t in before]
