"""
The smallest packing: greedy first, then an exact search for packings below smaller and smaller capacities.

    bound                                          greedy
      |-------------------|----------|-------|-------|         half of the work: is there a packing as small as the
      again and again     4th        3rd     2nd     1st       bound? the other half: one that is a fourth nearer to it?

A capacity that is packed becomes the best; one that cannot be, proved, lifts the bound. How hard a capacity is says
little of how near the bound it is, so work is not kept for the bound alone: what it does not find there would be lost.

Searching below one capacity is a portfolio: rules and orders take turns, each with little work, then noisy orders with
more. Work is counted in the kernel's elementary steps, so that what is found depends on no clock while time suffices.
The kernel runs as plain Python first: real models need no more. What is left is compiled where llvmlite is installed.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle
from time import monotonic

from . import kernel, native
from .greedy import best_of_orders, orders
from .sections import Life, Sections, sections_of
from .state import MEMO, Ints, Search, new_search, reset

Kernel = Callable[[Search], int]
Try = tuple[int, Sequence[int], int]
"""A rule, an order of the buffers, and for how many steps."""

PYTHON_WORK = 2_000_000
"""Steps before compiling pays: a quarter of a second in Python, as long as compiling takes."""

FIRST_DIVES = 8
"""How deep a portfolio's first tries are: steps as a share of buffers x (buffers + sections), which a dive may take."""

GROWTH = 2
"""Of the work of a try, from one round of the portfolio to the next."""

NOISE = 0.03
"""Standard deviation of a place in a noisy order, as a share of the number of buffers; up to five times that."""

STEP = 4
"""Of what is left above the bound, the share that a step down is to gain."""

MOST_BUFFERS, MOST_PAIRS = 3_000, 1_000_000
"""More buffers than greedy has not packed well enough, or pairs of them alive together, are left as they are: a node of
the search looks at all of them, and to set it up would take seconds."""

LARGEST = 1 << 58
"""Units of a packing that the search improves: offsets, and sums of two of them, are numbers of 64 bits."""


@dataclass(frozen=True)
class Packing:
    """
    offsets    bytes, a buffer, in the order given
    size       bytes of the arena
    bound      bytes that no arena can be smaller than: the most alive at one time, or more where a search proves it
    searched   steps of the exact search, 0 where greedy sufficed
    """

    offsets: list[int]
    size: int
    bound: int
    searched: int = 0

    @property
    def proved(self) -> bool:
        return self.size == self.bound


def pack(
    lives: Sequence[Life],
    sizes: Sequence[int],
    *,
    goal: int = 0,
    seconds: float = 1.0,
    work: int | None = None,
    compiled: bool | None = None,
) -> Packing:
    """
    Pack buffers into one arena, as small as can be found.

    lives, sizes   steps [begin, end), and bytes > 0; every offset found is a sum of sizes
    goal           bytes: a packing of at most so many is good enough
    seconds        for the search, after which the best so far is returned; greedy takes what it takes
    work           steps of the search, likewise; None: as many as the time allows
    compiled       the kernel: True compiled, False plain Python, None: compiled when plain Python has not sufficed and
                   llvmlite is there
    raises         ImportError where `compiled` and llvmlite is not installed
    cost           O(n log n + pairs alive together) without the search
    """
    until = monotonic() + seconds
    whole = sections_of(lives, sizes)
    enough = max(whole.bound, goal // whole.unit)
    offsets = best_of_orders(whole, enough)

    # What greedy packs well enough between two steps at which nothing is alive needs no search.
    hard: list[int] = []
    for part in whole.components():
        if max(offsets[b] + whole.size[b] for b in part) > enough:
            hard.extend(part)
    too_many = len(hard) > MOST_BUFFERS or whole.pairs > MOST_PAIRS
    if not hard or seconds <= 0 or too_many or whole.end(offsets) > LARGEST:
        return _packing(whole, offsets, whole.bound)

    found = _Minimum(
        sections_of([lives[b] for b in hard], [whole.size[b] for b in hard]),
        [offsets[b] for b in hard],
        enough,
        _Clock(until, work, compiled),
    )
    found.search()
    for b, offset in zip(hard, found.offsets, strict=True):
        offsets[b] = offset
    return _packing(whole, offsets, max(whole.bound, found.bound), found.clock.work)


def _packing(sections: Sections, offsets: list[int], bound: int, work: int = 0) -> Packing:
    unit = sections.unit
    return Packing([unit * o for o in offsets], unit * sections.end(offsets), unit * bound, work)


class _Clock:
    """How much work may still be done, and by which kernel."""

    def __init__(self, until: float, limit: int | None, compiled: bool | None):
        self.until = until
        self.limit = 1 << 62 if limit is None else limit
        self.work = 0
        self.compiles = compiled is not False
        self.kernel: Kernel = kernel.run
        self.steps_a_second = 4e6  # until measured
        if compiled:
            self._compile()

    @property
    def is_up(self) -> bool:
        return monotonic() >= self.until or self.work >= self.limit

    def run(self, x: Search, limit: int) -> int:
        """The outcome of at most so many steps, and of not more than the time allows."""
        if self.compiles and self.kernel is kernel.run and (native.has_compiled() or self.work >= PYTHON_WORK):
            self.compiles = native.is_available()
            if self.compiles:
                self._compile()

        start = monotonic()
        x.limit = max(1, min(limit, self.limit - self.work, int((self.until - start) * self.steps_a_second)))
        outcome = self.kernel(x)
        self.work += x.work
        if x.work > 20_000:
            self.steps_a_second = x.work / max(1e-6, monotonic() - start)
        return outcome

    def _compile(self) -> None:
        self.kernel = native.compiled(kernel.run, Search)
        self.steps_a_second = 1e8


@dataclass(slots=True)
class _Strand:
    """
    Tries of one kind, and what they learned.

    divisor   how far below the best packing to look: what is left above the least, divided; 0: at the least itself
    tries     what comes next
    weight    conflict weights of the sections, kept from one capacity to the next
    memo      failed states, of `capacity`
    spent     steps of work
    """

    divisor: int
    tries: Iterator[Try]
    weight: Ints
    memo: Ints
    capacity: int = -1
    spent: int = 0


class _Minimum:
    """
    A problem of which greedy found a packing, `offsets` of `size`, and a search; `x` is what the kernel works on.
    """

    def __init__(self, sections: Sections, offsets: list[int], enough: int, clock: _Clock):
        self.sections, self.offsets, self.enough, self.clock = sections, offsets, enough, clock
        self.size = sections.end(offsets)
        self.bound = sections.bound
        self.x = new_search(sections)
        self.orders = list(orders(sections))

    def search(self) -> None:
        """Until the packing is good enough, or time or work are up."""
        at_the_bound, above = (kernel.LEVEL, kernel.SECTION), (kernel.LEVEL,)
        strands = [
            _Strand(divisor, self._tries(rules), [1] * self.x.m, [])
            for divisor, rules in ((0, at_the_bound), (STEP, above))
        ]
        # Who names a goal wants that; packings between it and the greedy one are for when it is not met.
        steps_cost = 4 if self.enough > self.bound else 1
        while self.size > (least := max(self.bound, self.enough)) and not self.clock.is_up:
            strand = min(strands, key=lambda strand: strand.spent * (steps_cost if strand.divisor else 1))
            capacity = self.size - max(1, (self.size - least) // strand.divisor) if strand.divisor else least
            outcome = self._below(capacity, strand)
            if outcome == kernel.FOUND:
                self.offsets = list(self.x.state[: len(self.offsets)])
                self.size = self.sections.end(self.offsets)
            elif outcome == kernel.FAILED:
                self.bound = capacity + 1

    def _below(self, capacity: int, strand: _Strand) -> int:
        """The outcome of a strand's next try."""
        x = self.x
        if capacity != strand.capacity:
            strand.memo, strand.capacity = [0] * MEMO, capacity
        x.weight, x.memo = strand.weight, strand.memo
        x.rule, order, limit = next(strand.tries)
        reset(x, self.sections, capacity, order)
        outcome = self.clock.run(x, limit)
        strand.weight, strand.memo = x.weight, x.memo
        strand.spent += x.work
        return outcome

    def _tries(self, rules: Sequence[int]) -> Iterator[Try]:
        """For ever: each rule with each order; noisy orders and more work from the second round on."""
        chance = random.Random(max(self.bound, self.enough))
        limit = FIRST_DIVES * self.x.n * (self.x.n + self.x.m)
        deviation = 0.0
        for spread in cycle((1, 5, 2)):
            for rule in rules:
                for order in self.orders:
                    yield rule, _shuffled(order, deviation, chance) if deviation else order, limit
            limit *= GROWTH
            self.x.weight = [1 + weight // 2 for weight in self.x.weight]  # old failures fade
            deviation = NOISE * len(self.offsets) * spread


def _shuffled(order: Sequence[int], deviation: float, chance: random.Random) -> list[int]:
    """An order near `order`: each place is moved by normal noise."""
    places = [place + chance.gauss(0, deviation) for place in range(len(order))]
    return [order[place] for place in sorted(range(len(order)), key=places.__getitem__)]
