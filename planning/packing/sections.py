"""
A packing problem boiled down: what lives together, where in time, in the largest unit that divides all sizes.

    [0, 4) 64 B    ████           sections: steps 1 and 2 hold all that lives at 0 .. 3, the others add nothing
    [1, 2) 32 B     █             first = 0, 0, 1; last = 1, 0, 1; unit 32 B: sizes 2, 1, 1
    [2, 3) 32 B      █            total = 3, 3

A section is a largest set of buffers that are alive together (a maximal clique of their interval graph), in order of
time. Two buffers live together if and only if their sections overlap.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from math import gcd
from operator import add

Life = tuple[int, int]
"""The steps [begin, end)."""


@dataclass(frozen=True)
class Sections:
    """
    size           of each buffer, in units of `unit` bytes; > 0
    first, last    its sections, both included
    count          of sections
    """

    unit: int
    lives: Sequence[Life]
    size: Sequence[int]
    first: Sequence[int]
    last: Sequence[int]
    count: int

    @cached_property
    def total(self) -> list[int]:
        """Units alive in each section."""
        change = [0] * (self.count + 1)
        for first, last, size in zip(self.first, self.last, self.size, strict=True):
            change[first] += size
            change[last + 1] -= size
        return list(accumulate(change))[:-1]

    @cached_property
    def across(self) -> list[int]:
        """How many buffers live in a section and in the next."""
        change = [0] * (self.count + 1)
        for first, last in zip(self.first, self.last, strict=True):
            change[first] += 1
            change[last] -= 1
        return list(accumulate(change))[:-1]

    @property
    def bound(self) -> int:
        """Units that no packing can be smaller than: the most alive at one time."""
        return max(self.total, default=0)

    @property
    def pairs(self) -> int:
        """How many pairs of buffers live together."""
        begun = Counter(self.first)
        carried = [0, *self.across]
        return sum(k * carried[s] + k * (k - 1) // 2 for s, k in begun.items())

    def end(self, offsets: Sequence[int]) -> int:
        """Where the highest buffer ends, in units as the offsets are."""
        return max(map(add, offsets, self.size), default=0)

    @cached_property
    def members(self) -> list[list[int]]:
        """The buffers of each section. O(sections that they span)."""
        members: list[list[int]] = [[] for _ in range(self.count)]
        for b, (first, last) in enumerate(zip(self.first, self.last, strict=True)):
            for s in range(first, last + 1):
                members[s].append(b)
        return members

    @cached_property
    def near(self) -> list[list[int]]:
        """For each buffer those that live together with it. O(pairs)."""
        near: list[list[int]] = [[] for _ in self.size]
        seen: set[int] = set()
        for s, members in enumerate(self.members):
            new = [b for b in members if self.first[b] == s]
            seen = {b for b in seen if self.last[b] >= s}
            for b in new:
                near[b].extend(seen)
                for c in seen:
                    near[c].append(b)
                seen.add(b)
        return near

    def components(self) -> list[list[int]]:
        """Sets of buffers between steps at which nothing is alive, in order of time."""
        across, found = self.across, [0] * self.count
        parts = 0
        for s in range(self.count):
            found[s] = parts
            parts += across[s] == 0
        components: list[list[int]] = [[] for _ in range(parts)]
        for b, first in enumerate(self.first):
            components[found[first]].append(b)
        return components


def sections_of(lives: Sequence[Life], sizes: Sequence[int]) -> Sections:
    """
    lives, sizes   of buffers; sizes > 0, in bytes
    cost           O(n log n)
    """
    begins = {begin for begin, _ in lives}
    ends = {end for _, end in lives}
    starts: list[int] = []  # of sections: the last begin before an end
    newest: int | None = None
    for step in sorted(begins | ends):
        if step in ends and newest is not None:
            starts.append(newest)
            newest = None
        if step in begins:
            newest = step

    unit = gcd(*sizes) or 1
    return Sections(
        unit,
        lives,
        [size // unit for size in sizes],
        [bisect_left(starts, begin) for begin, _ in lives],
        [bisect_left(starts, end) - 1 for _, end in lives],
        len(starts),
    )
