"""The beam over orders of tasks: as good as all orders where it says so, and never worse than the order given."""

import random
import time
from itertools import permutations

from hypothesis import given
from hypothesis import strategies as st

from gecc.planning.beam import best_order

Problem = tuple[list[list[int]], list[list[int]], list[int]]


def peak(order: list[int], touches: list[list[int]], sizes: list[int]) -> int:
    """Bytes alive at the worst step, by looking at each."""
    steps = [touches[task] for task in order]
    alive = [
        sum(sizes[b] for b in set().union(*steps[: at + 1]) & set().union(*steps[at:])) for at in range(len(steps))
    ]
    return max(alive, default=0)


def holds(order: list[int], before: list[list[int]]) -> bool:
    at = {task: k for k, task in enumerate(order)}
    return all(at[earlier] < at[task] for task, needs in enumerate(before) for earlier in needs)


def wired(count: int, seed: int, window: int = 24) -> Problem:
    """Task k writes buffer k and reads one or two of the last `window`."""
    chance = random.Random(seed)
    before = [
        sorted(chance.sample(range(max(0, k - window), k), min(k, chance.choice([1, 1, 2])))) for k in range(count)
    ]
    sizes = [chance.randint(1, 64) for _ in before]
    return [[*needs, k] for k, needs in enumerate(before)], before, sizes


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    """Task k writes buffer k and reads some earlier ones; some tasks also write a buffer that all share."""
    count = draw(st.integers(1, 7))
    before = [sorted(draw(st.sets(st.integers(0, k - 1), max_size=3))) if k else [] for k in range(count)]
    touches = [[*needs, k, *([count] if draw(st.booleans()) else [])] for k, needs in enumerate(before)]
    return touches, before, draw(st.lists(st.integers(0, 9), min_size=count + 1, max_size=count + 1))


def test_one_large_buffer_at_a_time():
    # a: A   b: B   c: A -> C   d: B -> D   with A = B = 8, C = D = 1: 8 + 1 + 8 in the order given
    found = best_order([[0], [1], [0, 2], [1, 3]], [[], [], [0], [1]], [8, 8, 1, 1])
    assert (found.peak, found.proved) == (9, True)
    assert found.tasks == [0, 2, 1, 3]


def test_the_best_first_step_may_cost_most():
    # b adds 4 and c 3; but b alone makes way for d, which frees all: greedy takes c first.
    touches, before = [[0], [0, 1], [0, 2], [1, 3], [2, 3]], [[], [0], [0], [1], [2, 3]]
    found = best_order(touches, before, [1, 4, 3, 1])
    orders = (order for order in permutations(range(5)) if holds(list(order), before))
    assert found.proved
    assert found.peak == min(peak(list(order), touches, [1, 4, 3, 1]) for order in orders)


def test_nothing_to_order():
    assert best_order([], [], []).tasks == []
    assert best_order([[]], [[]], []).peak == 0


@given(problems())
def test_against_all_orders(problem: Problem):
    touches, before, sizes = problem
    found = best_order(touches, before, sizes)
    assert sorted(found.tasks) == list(range(len(touches)))
    assert holds(found.tasks, before)
    assert found.peak == peak(found.tasks, touches, sizes)
    orders = (list(order) for order in permutations(range(len(touches))) if holds(list(order), before))
    assert found.proved
    assert found.peak == min(peak(order, touches, sizes) for order in orders)


@given(problems())
def test_a_narrow_beam_is_never_worse_than_the_order_given(problem: Problem):
    touches, before, sizes = problem
    found = best_order(touches, before, sizes, widths=(1,))
    assert holds(found.tasks, before)
    given_peak = peak(list(range(len(touches))), touches, sizes)
    assert found.peak == peak(found.tasks, touches, sizes) <= given_peak
    if found.proved:
        assert found.peak == best_order(touches, before, sizes).peak


def test_a_chain_of_blocks_is_cut_and_proved_at_once():
    # 2,000 residual blocks: x -> a -> b, then x + b.
    touches, before = [[0]], [[]]
    for k in range(2000):
        x = 3 * k
        touches += [[x, x + 1], [x + 1, x + 2], [x, x + 2, x + 3]]
        before += [[x], [x + 1], [x, x + 2]]
    start = time.process_time()
    found = best_order(touches, before, [4] * len(touches))
    assert time.process_time() - start < 2
    assert (found.peak, found.proved) == (12, True)


def test_random_wiring_gains():
    touches, before, sizes = wired(200, 1)
    found = best_order(touches, before, sizes)
    assert found.peak < 0.9 * peak(list(range(len(touches))), touches, sizes)


def test_the_time_is_kept():
    touches, before, sizes = wired(3000, 2)
    start = time.monotonic()
    found = best_order(touches, before, sizes, seconds=1)
    assert time.monotonic() - start < 10
    assert holds(found.tasks, before)
