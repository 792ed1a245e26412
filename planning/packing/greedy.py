"""
Greedy packing: one buffer after the other, each in the smallest gap that holds it, else above all that live with it.

What matters is the order. By size, longest first among equals, is best most often; in time, from both ends, is for long
chains; a dozen other orders are tried after these while the bound is not reached.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator, Sequence
from heapq import heappop, heappush
from itertools import islice

from .sections import Life, Sections

ORDERS = ("ZWB", "WAT", "TAW", "TWA", "SZT", "TZW", "uZA", "AWT", "ZAT", "UZA", "TSZ", "DZT", "lZA")
"""
Keys of an order, each descending: Z size, W length of life, A their product, T most alive at a time of its life, S
sections, D how many live with it, l begin, U end; B begin and u end, ascending. The first is Pisarchyk and Lee's
(arXiv:2001.03288).
"""

ORDERS_WORK = 500_000
"""Pairs alive together that all orders may look at: less than a second. The first order is always tried."""

MOST_PAIRS = 5_000_000
"""Pairs alive together that one order looks at, a few seconds; more are placed without a look at pairs."""


def orders(sections: Sections) -> Iterator[list[int]]:
    """The buffers in each of the orders. O(n log n) each; D needs all pairs."""
    columns: dict[str, Sequence[int]] = {}
    for name in ORDERS:
        for letter in name:
            if letter not in columns:
                columns[letter] = _column(sections, letter)
        keys = list(zip(*(columns[letter] for letter in name), strict=True))
        yield sorted(range(len(keys)), key=keys.__getitem__)


def _column(sections: Sections, letter: str) -> Sequence[int]:
    """A key for each buffer, to sort upwards by."""
    lives = sections.lives
    match letter:
        case "Z":
            return [-size for size in sections.size]
        case "W":
            return [begin - end for begin, end in lives]
        case "A":
            return [(begin - end) * size for (begin, end), size in zip(lives, sections.size, strict=True)]
        case "T":
            return [-most for most in _most_alive(sections)]
        case "S":
            return [first - last for first, last in zip(sections.first, sections.last, strict=True)]
        case "D":
            return [-len(near) for near in sections.near]
        case "B":
            return [begin for begin, _ in lives]
        case "l":
            return [-begin for begin, _ in lives]
        case "U":
            return [-end for _, end in lives]
        case _:
            assert letter == "u"
            return [end for _, end in lives]


def _most_alive(sections: Sections) -> list[int]:
    """For each buffer, the units alive at the fullest time of its life. O(n log sections)."""
    table = [sections.total]
    width = 1
    while 2 * width <= sections.count:
        row = table[-1]
        table.append([max(row[s], row[s + width]) for s in range(len(row) - width)])
        width *= 2
    most: list[int] = []
    for first, last in zip(sections.first, sections.last, strict=True):
        level = (last - first + 1).bit_length() - 1
        most.append(max(table[level][first], table[level][last + 1 - (1 << level)]))
    return most


def pack_in_order(lives: Sequence[Life], sizes: Sequence[int], order: Sequence[int]) -> list[int]:
    """
    Offsets of the buffers in `order`; 0 for the others. Of more than MOST_PAIRS pairs alive together the order is not
    kept: `pack_in_time` places them.

    cost   O(pairs alive together, n log n)
    """
    if _pairs([lives[b] for b in order]) > MOST_PAIRS:
        return pack_in_time(lives, sizes, order)
    offsets = [0] * len(sizes)
    before = _placed_before(lives, order)
    for b in order:
        offsets[b] = _best_gap(sorted((offsets[c], offsets[c] + sizes[c]) for c in before[b]), sizes[b])
    return offsets


def pack_in_time(lives: Sequence[Life], sizes: Sequence[int], members: Sequence[int], capacity: int = 0) -> list[int]:
    """
    Offsets of the members, in order of their beginning, each in the smallest hole that holds it; 0 for the others.

    With a capacity from both its ends, and above it what finds no hole:

          ▓▓▓▓    ▓▓▓▓      A chain, each alive with the next: one at the bottom, the next at the top, in no more
        ▒▒▒▒  ▒▒▒▒          bytes than the largest two neighbours have together.

    cost   O(n log n), and a move of memory in lists of holes
    """
    offsets = [0] * len(sizes)
    top = capacity
    starts: list[int] = []  # of holes below the top, with their ends, in order of address
    ends: list[int] = []
    by_size: list[tuple[int, int]] = []  # (size, start) of the same
    alive: list[tuple[int, int]] = []  # (end of life, buffer)
    if capacity:
        starts.append(0)
        ends.append(capacity)
        by_size.append((capacity, 0))

    def drop(k: int) -> tuple[int, int]:
        start, end = starts.pop(k), ends.pop(k)
        by_size.pop(bisect_left(by_size, (end - start, start)))
        return start, end

    def add(start: int, end: int) -> None:
        k = bisect_left(starts, start)
        if k < len(starts) and starts[k] == end:
            _, end = drop(k)
        if k and ends[k - 1] == start:
            start, _ = drop(k - 1)
            k -= 1
        starts.insert(k, start)
        ends.insert(k, end)
        insort(by_size, (end - start, start))

    for b in sorted(members, key=lambda b: (lives[b][0], -sizes[b])):
        begin, end = lives[b]
        while alive and alive[0][0] <= begin:
            _, dead = heappop(alive)
            if sizes[dead]:
                add(offsets[dead], offsets[dead] + sizes[dead])
        heappush(alive, (end, b))
        fits = bisect_left(by_size, (sizes[b], -1))
        if fits < len(by_size):
            low, stop = drop(bisect_left(starts, by_size[fits][1]))
            start = stop - sizes[b] if capacity and low and stop == top else low
            if start > low:
                add(low, start)
            if stop > start + sizes[b]:
                add(start + sizes[b], stop)
        else:
            start, _ = drop(len(starts) - 1) if ends and ends[-1] == top else (top, top)
            top = start + sizes[b]
        offsets[b] = start
    return offsets


def _pairs(lives: Sequence[Life]) -> int:
    """How many pairs live together. O(n log n)."""
    ends = sorted(end for _, end in lives)
    return sum(k - bisect_right(ends, begin) for k, begin in enumerate(sorted(begin for begin, _ in lives)))


def best_of_orders(sections: Sections, enough: int) -> list[int]:
    """Offsets, in units, of the best order; no further ones once a packing ends at `enough` or below."""
    best: list[int] = []
    best_end: int | None = None
    for offsets in _packings(sections):
        end = sections.end(offsets)
        if best_end is None or end < best_end:
            best, best_end = offsets, end
        if best_end <= enough:
            break
    return best


def _packings(sections: Sections) -> Iterator[list[int]]:
    """By the first order, from both ends, and by as many other orders as there is time for."""
    tries = max(1, ORDERS_WORK // max(1, sections.pairs))
    for at, order in enumerate(islice(orders(sections), tries)):
        yield pack_in_order(sections.lives, sections.size, order)
        if at == 0:
            yield pack_in_time(sections.lives, sections.size, range(len(sections.size)), sections.bound)


def _placed_before(lives: Sequence[Life], order: Sequence[int]) -> dict[int, list[int]]:
    """For each buffer, those earlier in `order` that live together with it. A sweep: looks at such pairs alone."""
    rank = {b: k for k, b in enumerate(order)}
    before: dict[int, list[int]] = {b: [] for b in order}
    alive: set[int] = set()
    ends: list[tuple[int, int]] = []
    for b in sorted(order, key=lambda b: lives[b][0]):
        begin, end = lives[b]
        while ends and ends[0][0] <= begin:
            alive.remove(heappop(ends)[1])
        for c in alive:
            if rank[c] < rank[b]:
                before[b].append(c)
            else:
                before[c].append(b)
        alive.add(b)
        heappush(ends, (end, b))
    return before


def _best_gap(taken: list[tuple[int, int]], size: int) -> int:
    best = top = 0
    best_room: int | None = None
    for start, end in taken:
        room = start - top
        if room >= size and (best_room is None or room < best_room):
            best, best_room = top, room
        top = max(top, end)
    return best if best_room is not None else top
