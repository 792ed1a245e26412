"""
Stack distances between two groups: how much of a tensor the cache has lost when the next group wants it.

    group h, tiles:   | 0 | 1 | 2 |         t[x] lies in tile kh of h and in tile kg of g
    group g, tiles:   |  0  |  1  |         distance = t + tiles of h after kh + all between + tiles of g before kg

Within one tile of each the distance is the same for all of t: a tensor is cut into stretches, and each misses or hits.
"""

from collections.abc import Mapping
from functools import cache
from itertools import pairwise
from typing import NamedTuple

from .dead import Range, common_bytes, merged
from .footprint import Footprint, Item

# Stretches of a tensor at which distances are taken; exact up to this many tiles.
POSITIONS = 64


class Between:
    """
    Distinct bytes of groups that ran one after the other.

    places        where in the arena items lie: several may lie over each other
    arena_bytes   its size: together they never touch more bytes than that
    """

    def __init__(self, places: Mapping[int, tuple[Range, ...]], arena_bytes: int):
        self.items: dict[int, int] = {}
        self.places = places
        self.arena_bytes = arena_bytes
        self.in_arena = self.elsewhere = 0
        self._covered: tuple[Range, ...] = ()

    def add(self, shape: Footprint) -> None:
        fresh: list[Range] = []
        for t, item in shape.items.items():
            more = item.bytes - self.items.get(t, 0)
            if more <= 0:
                continue
            self.items[t] = item.bytes
            place = self.places.get(t)
            if place is None:
                self.elsewhere += more
            else:
                fresh += place
        if fresh:
            self._covered = merged((*self._covered, *fresh))
            self.in_arena = sum(high - low for low, high in self._covered)

    def fresh(self, t: int, item: Item) -> Item:
        """An item with those of its bytes alone that are not among these."""
        place = self.places.get(t)
        if place is None or not self._covered:
            return item
        known = sum(common_bytes(self._covered, low, high) for low, high in place)
        return item._replace(bytes=max(0, item.bytes - known)) if known else item

    @property
    def bytes(self) -> int:
        return self.elsewhere + min(self.in_arena, self.arena_bytes)


def missing_share(h: Footprint, t: int, between: Between, limit: float, g: Footprint | None, wanted: int) -> float:
    """
    The share of t that misses: positions for which more than `limit` bytes are touched from h's last touch of it to
    g's first of `wanted` (t itself, or the tensor that overwrites it).

    g      the next group; None: the end, nothing more is touched
    cost   the items of both groups, and then up to the tiles of both
    """
    if between.bytes + h.bytes + (g.bytes if g is not None else 0) <= limit:
        return 0.0
    mine = h.items[t]
    next_items = g.items if g is not None else {}
    goal = next_items.get(wanted)
    frame = _Frame(h.tiles, mine.last, g.tiles if g is not None else 1, goal.first if goal is not None else 0)

    elsewhere, arena = _Touched(between.elsewhere), _Touched(between.in_arena)
    for u, item in h.items.items():
        side = arena if u in between.places else elsewhere
        if u == t and (g is not None or not item.batched):
            side.fixed += item.bytes  # what h touches of t after x, and g before it, is all of t
        elif u not in between.items:
            side.add_h(between.fresh(u, item), next_items.get(u), frame)
    for u, item in next_items.items():
        if u not in between.items and u not in h.items and u != wanted:
            (arena if u in between.places else elsewhere).add_g(between.fresh(u, item), frame)

    if elsewhere.most() + min(arena.most(), between.arena_bytes) <= limit:
        return 0.0
    if elsewhere.fixed + min(arena.fixed, between.arena_bytes) > limit:
        return 1.0

    missed = 0.0
    for kh, kg, share in _stretches(frame, mine, goal):
        distance = elsewhere.at(kh, kg, frame)
        if arena.fixed:
            distance += min(arena.at(kh, kg, frame), between.arena_bytes)
        if distance > limit:
            missed += share
    return missed


class _Frame(NamedTuple):
    """Tiles of both groups, and when in a tile h touches the tensor last and g touches it first."""

    tiles_h: int
    last: int
    tiles_g: int
    first: int


class _Touched:
    """Bytes that h touches after a position, and g before it: what is fixed, and sums of what moves with it."""

    __slots__ = ("fixed", "head_g", "shared", "stream_g", "stream_h", "tail_h", "whole_g", "whole_h", "whole_head_g",
                 "whole_tail_h")  # fmt: skip

    def __init__(self, fixed: float):
        self.fixed = fixed
        # Streams and whole items of h; of these, what h touches in a tile after the tensor.
        self.stream_h = self.tail_h = self.whole_h = self.whole_tail_h = 0.0
        # Streams and whole items of g; of these, what g touches in a tile before the tensor.
        self.stream_g = self.head_g = self.whole_g = self.whole_head_g = 0.0
        self.shared: list[tuple[Item, Item]] = []

    def add_h(self, item: Item, other: Item | None, frame: _Frame) -> None:
        if other is not None:
            self.shared.append((item, other))
        elif item.batched:
            self.stream_h += item.bytes
            self.tail_h += item.bytes if item.last > frame.last else 0
        else:
            self.whole_h += item.bytes
            self.whole_tail_h += item.bytes if item.last > frame.last else 0

    def add_g(self, item: Item, frame: _Frame) -> None:
        if item.batched:
            self.stream_g += item.bytes
            self.head_g += item.bytes if item.first < frame.first else 0
        else:
            self.whole_g += item.bytes
            self.whole_head_g += item.bytes if item.first < frame.first else 0

    def most(self) -> float:
        both = sum(max(a.bytes, b.bytes) for a, b in self.shared)
        return self.fixed + self.stream_h + self.whole_h + self.stream_g + self.whole_g + both

    def at(self, kh: int, kg: int, frame: _Frame) -> float:
        """Bytes for a position in tile kh of h and tile kg of g."""
        rest, done = (frame.tiles_h - 1 - kh) / frame.tiles_h, kg / frame.tiles_g
        moving = self.stream_h * rest + self.tail_h / frame.tiles_h + self.stream_g * done + self.head_g / frame.tiles_g
        moving += self.whole_h if rest else self.whole_tail_h
        moving += self.whole_g if kg else self.whole_head_g
        return self.fixed + moving + sum(_union(a, b, rest, done, frame) for a, b in self.shared)


def _union(a: Item, b: Item, rest: float, done: float, frame: _Frame) -> float:
    """Bytes of one tensor that h touches after the position (item a) or g before it (item b)."""
    tail, head = a.last > frame.last, b.first < frame.first
    if a.batched:
        suffix = rest + (1 / frame.tiles_h if tail else 0)
        prefix = done + (1 / frame.tiles_g if head else 0)
        return a.bytes * min(1.0, suffix + prefix)
    later = a.bytes if rest or tail else 0
    earlier = b.bytes if done or head else 0
    return max(later, earlier)  # the scratch buffer of one group may be larger than that of the other


def _stretches(frame: _Frame, mine: Item, goal: Item | None) -> tuple[tuple[int, int, float], ...]:
    if not mine.batched:
        return ((frame.tiles_h - 1, 0, 1.0),)
    if goal is not None and not goal.batched:
        return tuple((kh, 0, share) for kh, _, share in _positions(frame.tiles_h, frame.tiles_h))
    return _positions(frame.tiles_h, frame.tiles_g)


@cache
def _positions(tiles_before: int, tiles_after: int) -> tuple[tuple[int, int, float], ...]:
    """(tile before, tile after, share) of stretches of a tensor that lie in one tile of each."""
    if max(tiles_before, tiles_after) > POSITIONS:
        middles = [(n + 0.5) / POSITIONS for n in range(POSITIONS)]
        return tuple((int(x * tiles_before), int(x * tiles_after), 1 / POSITIONS) for x in middles)

    cuts = sorted({k / tiles_before for k in range(tiles_before)} | {k / tiles_after for k in range(tiles_after)} | {1})
    stretches = [((a + b) / 2, b - a) for a, b in pairwise(cuts)]
    return tuple((int(x * tiles_before), int(x * tiles_after), share) for x, share in stretches)
