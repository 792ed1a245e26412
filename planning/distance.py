"""
Stack distances between two groups: how much of a tensor the cache has lost when the next group wants it.

    group h, tiles:   | 0 | 1 | 2 |         t[x] lies in tile kh of h and in tile kg of g
    group g, tiles:   |  0  |  1  |         distance = t + tiles of h after kh + all between + tiles of g before kg

Within one tile of each the distance is the same for all of t: a tensor is cut into stretches, and each misses or hits.
"""

from functools import cache
from itertools import pairwise

from .footprint import Footprint, Item

# Stretches of a tensor at which distances are taken; exact up to this many tiles.
POSITIONS = 64


@cache
def _positions(tiles_before: int, tiles_after: int) -> tuple[tuple[int, int, float], ...]:
    """(tile before, tile after, share) of stretches of a tensor that lie in one tile of each."""
    if max(tiles_before, tiles_after) > POSITIONS:
        middles = [(n + 0.5) / POSITIONS for n in range(POSITIONS)]
        return tuple((int(x * tiles_before), int(x * tiles_after), 1 / POSITIONS) for x in middles)

    cuts = sorted({k / tiles_before for k in range(tiles_before)} | {k / tiles_after for k in range(tiles_after)} | {1})
    stretches = [((a + b) / 2, b - a) for a, b in pairwise(cuts)]
    return tuple((int(x * tiles_before), int(x * tiles_after), share) for x, share in stretches)


def missing_share(
    h: Footprint, t: int, g: Footprint, wanted: int, between: dict[int, int], fixed: int, limit: float
) -> float:
    """The share of positions x of t for which the bytes touched between h's last and g's first touch exceed `limit`."""
    mine = h.items[t]
    after = mine.last
    goal = g.items.get(wanted)
    until = goal.first if goal is not None else 0
    last_h = h.tiles - 1

    # Bytes touched by h in tiles after x's (streams), in x's own tile after t, and whole items; the same before g's t.
    stream_h = tail_h = whole_h = whole_tail_h = 0.0
    stream_g = head_g = whole_g = whole_head_g = 0.0
    shared: list[tuple[Item, Item]] = []
    for u, item in h.items.items():
        if u in between or u == t:
            continue
        other = g.items.get(u)
        if other is not None:
            shared.append((item, other))
        elif item.batched:
            stream_h += item.bytes
            tail_h += item.bytes if item.last > after else 0
        else:
            whole_h += item.bytes
            whole_tail_h += item.bytes if item.last > after else 0
    for u, item in g.items.items():
        if u in between or u in h.items or u in (t, wanted):
            continue
        if item.batched:
            stream_g += item.bytes
            head_g += item.bytes if item.first < until else 0
        else:
            whole_g += item.bytes
            whole_head_g += item.bytes if item.first < until else 0

    own = mine.bytes + fixed
    most = own + stream_h + whole_h + stream_g + whole_g + sum(max(a.bytes, b.bytes) for a, b in shared)
    if most <= limit:
        return 0.0
    if own > limit:
        return 1.0

    if not mine.batched:
        stretches: tuple[tuple[int, int, float], ...] = ((last_h, 0, 1.0),)
    elif goal is not None and not goal.batched:
        stretches = tuple((kh, 0, share) for kh, _, share in _positions(h.tiles, h.tiles))
    else:
        stretches = _positions(h.tiles, g.tiles)

    missed = 0.0
    for kh, kg, share in stretches:
        rest, done = (last_h - kh) / h.tiles, kg / g.tiles
        distance = own + stream_h * rest + tail_h / h.tiles + stream_g * done + head_g / g.tiles
        distance += whole_h if kh < last_h else whole_tail_h
        distance += whole_g if kg > 0 else whole_head_g
        for a, b in shared:
            if distance > limit:
                break
            distance += _union(a, b, after, until, rest, done, h.tiles, g.tiles)
        if distance > limit:
            missed += share
    return missed


def _union(a: Item, b: Item, after: int, until: int, rest: float, done: float, th: int, tg: int) -> float:
    """Bytes of one tensor that h touches after position x (item a) or g before it (item b)."""
    if a.batched:
        suffix = rest + (1 / th if a.last > after else 0)
        prefix = done + (1 / tg if b.first < until else 0)
        return a.bytes * min(1.0, suffix + prefix)
    touched = rest > 0 or a.last > after or done > 0 or b.first < until
    return max(a.bytes, b.bytes) if touched else 0
