"""The greedy order: it holds what must come before what, and never beats the best of all orders."""

from collections.abc import Iterator, Sequence
from itertools import permutations

from hypothesis import given
from hypothesis import strategies as st

from gecc.planning.order import order_greedily


def peak(order: Sequence[int], touches: Sequence[Sequence[int]], sizes: Sequence[int]) -> int:
    """Bytes alive at the worst step, by looking at each."""
    steps = [touches[task] for task in order]
    alive = []
    for at in range(len(steps)):
        before = {b for touched in steps[: at + 1] for b in touched}
        after = {b for touched in steps[at:] for b in touched}
        alive.append(sum(sizes[b] for b in before & after))
    return max(alive, default=0)


def holds(order: Sequence[int], before: Sequence[Sequence[int]]) -> bool:
    at = {task: k for k, task in enumerate(order)}
    return all(at[earlier] < at[task] for task, needs in enumerate(before) for earlier in needs)


def test_one_large_buffer_at_a_time():
    # a: A   b: B   c: A -> C   d: B -> D   with A = B = 8, C = D = 1
    touches, before, sizes = [[0], [1], [0, 2], [1, 3]], [[], [], [0], [1]], [8, 8, 1, 1]
    order = order_greedily(touches, before, sizes)
    assert order == [0, 2, 1, 3]
    assert (peak(range(4), touches, sizes), peak(order, touches, sizes)) == (17, 9)


def test_ties_keep_the_order_given():
    assert order_greedily([[], [], []], [[], [], []], []) == [0, 1, 2]


@st.composite
def problems(draw: st.DrawFn) -> tuple[list[list[int]], list[list[int]], list[int]]:
    """Task k writes buffer k and reads some earlier ones."""
    count = draw(st.integers(1, 6))
    before = [sorted(draw(st.sets(st.integers(0, k - 1), max_size=3))) if k else [] for k in range(count)]
    sizes = draw(st.lists(st.integers(0, 9), min_size=count, max_size=count))
    return [[*needs, k] for k, needs in enumerate(before)], before, sizes


def all_orders(before: Sequence[Sequence[int]]) -> Iterator[tuple[int, ...]]:
    return (order for order in permutations(range(len(before))) if holds(order, before))


@given(problems())
def test_against_all_orders(problem: tuple[list[list[int]], list[list[int]], list[int]]):
    touches, before, sizes = problem
    order = order_greedily(touches, before, sizes)
    assert sorted(order) == list(range(len(touches)))
    assert holds(order, before)
    assert peak(order, touches, sizes) >= min(peak(other, touches, sizes) for other in all_orders(before))
