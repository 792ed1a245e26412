"""
The best order of tasks that a beam over sets of finished tasks finds; often proved to be the best there is.

    finished {}, then {a}, {b}, then {a, b}, {a, c}, ..     what is alive depends on the set alone: of two orders to the
                                                            same set, the one with the lower peak is kept

- A task that raises neither the peak nor the bytes alive is taken at once: whatever comes later, taking it now costs
  nothing. So a search through sets that never had to drop one says that its order is optimal.
- A set whose peak is that of the best order known is dropped: it proves nothing better.
- Where all tasks are either before or after one of them, the order is cut: both sides are problems of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from heapq import nsmallest
from itertools import accumulate
from time import monotonic

from .order import order_greedily

WIDTHS = (64, 512)
"""Sets kept a step: a first beam, and another where that was not proved and time is left."""

SETS = 40_000
"""That a beam looks at in a piece, or one a task: a long piece has a narrower one. About a second."""


@dataclass(frozen=True)
class Order:
    """
    tasks    in order
    peak     bytes alive at the worst one
    proved   whether no order has a lower peak
    """

    tasks: list[int]
    peak: int
    proved: bool


def best_order(
    touches: Sequence[Sequence[int]],
    before: Sequence[Sequence[int]],
    sizes: Sequence[int],
    *,
    widths: Sequence[int] = WIDTHS,
    seconds: float = 2.0,
) -> Order:
    """
    The order of least peak that is found; never a worse one than the order given.

    touches   the buffers that each task reads or writes, each once; a buffer is alive from its first task to its last
    before    the tasks that must run before each task, all earlier in the order given
    sizes     bytes a buffer
    seconds   after which what is not improved stays as it is; where they suffice the result depends on no clock
    cost      O(width x tasks x tasks ready at a time), in operations on as many bits as a piece has tasks
    """
    until = monotonic() + seconds
    count = len(touches)
    known = list(range(count))
    greedy = order_greedily(touches, before, sizes)
    users = _users(touches)
    if peak_of(greedy, touches, users, sizes) < peak_of(known, touches, users, sizes):
        known = greedy

    pieces = _pieces(known, before)
    shared = _shared(pieces, users, sizes)
    found = [_Piece(p, touches, before, sizes, s) for p, s in zip(pieces, shared, strict=True)]
    # The piece with the highest peak decides; no piece need be better than another one can be.
    needed = max((piece.least for piece in found), default=0)
    for piece in sorted(found, key=lambda piece: -piece.peak):
        for width in widths:
            if piece.peak > needed and monotonic() < until and piece.improve(width, until):
                needed = max(needed, piece.peak)

    tasks = [task for piece in found for task in piece.tasks]
    peak = peak_of(tasks, touches, users, sizes)
    return Order(tasks, peak, peak <= needed)


def peak_of(
    order: Sequence[int], touches: Sequence[Sequence[int]], users: Sequence[Sequence[int]], sizes: Sequence[int]
) -> int:
    """Bytes alive at the worst task. O(touches)."""
    left = [len(tasks) for tasks in users]
    alive = peak = 0
    for task in order:
        alive += sum(sizes[b] for b in touches[task] if left[b] == len(users[b]))
        peak = max(peak, alive)
        for b in touches[task]:
            left[b] -= 1
            if left[b] == 0:
                alive -= sizes[b]
    return peak


def _users(touches: Sequence[Sequence[int]]) -> list[list[int]]:
    users: list[list[int]] = [[] for _ in range(1 + max((b for t in touches for b in t), default=-1))]
    for task, buffers in enumerate(touches):
        for b in buffers:
            users[b].append(task)
    return users


def _pieces(order: Sequence[int], before: Sequence[Sequence[int]]) -> list[list[int]]:
    """
    The order, cut behind each task that all earlier ones come before and all later ones behind.

    Behind place t it is cut unless an earlier task is followed by none up to t, or a later one follows none from t on.
    """
    place = {task: k for k, task in enumerate(order)}
    count = len(order)
    next_place = [count] * count
    uncut = [0] * (count + 1)

    def bar(begin: int, end: int) -> None:
        if begin < end:
            uncut[begin] += 1
            uncut[end] -= 1

    for k, task in enumerate(order):
        previous = max((place[earlier] for earlier in before[task]), default=-1)
        bar(previous + 1, k)
        for earlier in before[task]:
            next_place[place[earlier]] = min(next_place[place[earlier]], k)
    for k, following in enumerate(next_place):
        bar(k + 1, following)

    pieces: list[list[int]] = [[]]
    barred = 0
    for k, task in enumerate(order):
        barred += uncut[k]
        pieces[-1].append(task)
        if barred == 0 and k + 1 < count:
            pieces.append([])
    return pieces if order else []


@dataclass(frozen=True, slots=True, eq=False)
class _State:
    """A set of finished tasks, as bits; what may run next; the last task and the state before it."""

    peak: int
    alive: int
    done: int
    ready: frozenset[int]
    task: int
    previous: _State | None


class _Piece:
    """
    Tasks that in any order run after and before the same others; inside, a task is its place in the order given.

    tasks   in the best order known
    peak    its peak
    least   what no order's peak is below
    """

    def __init__(
        self,
        tasks: list[int],
        touches: Sequence[Sequence[int]],
        before: Sequence[Sequence[int]],
        sizes: Sequence[int],
        shared: _Shared,
    ):
        bit = {task: k for k, task in enumerate(tasks)}
        self.given = self.tasks = tasks
        self.sizes, self.shared = sizes, shared
        self.touches = [touches[task] for task in tasks]
        self.users: dict[int, int] = {}
        for k, buffers in enumerate(self.touches):
            for b in buffers:
                self.users[b] = self.users.get(b, 0) | 1 << k
        self.needs = [sum(1 << bit[t] for t in set(before[task]) if t in bit) for task in tasks]
        self.followers: list[list[int]] = [[] for _ in tasks]
        for k, task in enumerate(tasks):
            for t in set(before[task]):
                if t in bit:
                    self.followers[bit[t]].append(k)

        throughout = {b for b in self.users if b in shared.earlier and b in shared.later}
        through = shared.alive_before - sum(sizes[b] for b in self.users if b in shared.earlier and b not in throughout)
        touched = (sum(sizes[b] for b in buffers if b not in throughout) for buffers in self.touches)
        self.least = through + max(touched)

        state = self._first()
        for k in range(len(tasks)):
            state = self._step(state, k, *self._after(state, k))
        self.peak = state.peak

    def improve(self, width: int, until: float) -> bool:
        """Takes the best order that a beam finds, if it is better; whether none can be better still."""
        exact = True
        width = max(1, min(width, SETS // len(self.given)))
        states = [self._first()]
        for _ in self.touches:
            following: dict[int, _State] = {}
            for state in states:
                for task, peak, alive in self._moves(state):
                    known = following.get(state.done | 1 << task)
                    if known is None or peak < known.peak:
                        following[state.done | 1 << task] = self._step(state, task, peak, alive)
            states = list(following.values())
            if len(states) > width:
                exact = False
                states = nsmallest(width, states, key=lambda state: (state.peak, state.alive))
            if not states or monotonic() > until:
                return exact and not states

        best = min(states, key=lambda state: state.peak)
        self.peak = best.peak
        order: list[int] = []
        state = best
        while state.previous is not None:
            order.append(self.given[state.task])
            state = state.previous
        self.tasks = order[::-1]
        return exact

    def _first(self) -> _State:
        ready = frozenset(k for k, needs in enumerate(self.needs) if not needs)
        return _State(self.shared.alive_before, self.shared.alive_before, 0, ready, -1, None)

    def _moves(self, state: _State) -> list[tuple[int, int, int]]:
        """(task, peak, bytes alive after it), for what may run next and stays below the best; of free ones, one."""
        moves: list[tuple[int, int, int]] = []
        for task in sorted(state.ready):
            peak, alive = self._after(state, task)
            if peak <= state.peak and alive <= state.alive:
                return [(task, peak, alive)] if peak < self.peak else []
            if peak < self.peak:
                moves.append((task, peak, alive))
        return moves

    def _after(self, state: _State, task: int) -> tuple[int, int]:
        """Peak, and bytes alive, when a task has run too."""
        done = state.done | 1 << task
        new = dead = 0
        for b in self.touches[task]:
            if not self.users[b] & state.done and b not in self.shared.earlier:
                new += self.sizes[b]
            if not self.users[b] & ~done and b not in self.shared.later:
                dead += self.sizes[b]
        return max(state.peak, state.alive + new), state.alive + new - dead

    def _step(self, state: _State, task: int, peak: int, alive: int) -> _State:
        done = state.done | 1 << task
        freed = [k for k in self.followers[task] if not self.needs[k] & ~done]
        return _State(peak, alive, done, state.ready.difference((task,)).union(freed), task, state)


@dataclass(frozen=True)
class _Shared:
    """What a piece shares with others: bytes alive before it, the buffers that earlier, and later, ones touch."""

    alive_before: int
    earlier: AbstractSet[int]
    later: AbstractSet[int]


def _shared(pieces: Sequence[Sequence[int]], users: Sequence[Sequence[int]], sizes: Sequence[int]) -> list[_Shared]:
    """For each piece. O(touches)."""
    piece_of = {task: k for k, piece in enumerate(pieces) for task in piece}
    earlier: list[set[int]] = [set() for _ in pieces]
    later: list[set[int]] = [set() for _ in pieces]
    change = [0] * (len(pieces) + 1)
    for b, tasks in enumerate(users):
        seen_in = {piece_of[task] for task in tasks}
        if len(seen_in) < 2:
            continue
        first, last = min(seen_in), max(seen_in)
        change[first + 1] += sizes[b]
        change[last + 1] -= sizes[b]
        for k in seen_in:
            if k > first:
                earlier[k].add(b)
            if k < last:
                later[k].add(b)
    alive = accumulate(change)
    return [_Shared(*of_piece) for of_piece in zip(alive, earlier, later, strict=False)]
