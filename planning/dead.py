"""
Dead data that the cache still holds dirty: it costs a write-back when it leaves the cache, unless it is overwritten.

    a [0, 96) dies, b is written to [32, 64)        left of a: [0, 32) and [64, 96)
"""

from collections.abc import Iterable
from typing import NamedTuple, TypeAlias

Range: TypeAlias = "tuple[int, int]"


class Dead(NamedTuple):
    """
    What is left at its addresses of a tensor that nobody needs any more.

    depth    of the group that touched it last
    stored   share of it that memory already has
    ranges   bytes [low, high) of the arena that nobody has overwritten
    apart    these are no addresses of the arena, but of a buffer of its own
    """

    depth: int
    stored: float
    ranges: tuple[Range, ...]
    apart: bool = False


def without(ranges: Iterable[Range], low: int, high: int) -> tuple[Range, ...]:
    """What of the ranges is not in [low, high)."""
    left: list[Range] = []
    for begin, end in ranges:
        if begin < low:
            left.append((begin, min(end, low)))
        if end > high:
            left.append((max(begin, high), end))
    return tuple(left)


def common_bytes(ranges: Iterable[Range], low: int, high: int) -> int:
    """Bytes of the ranges that are in [low, high)."""
    return sum(max(0, min(end, high) - max(begin, low)) for begin, end in ranges)


def first_bytes(ranges: Iterable[Range], count: int) -> tuple[Range, ...]:
    """The first so many bytes of the ranges; nothing where they are fewer."""
    found: list[Range] = []
    for low, high in ranges:
        taken = min(count, high - low)
        found.append((low, low + taken))
        count -= taken
        if count == 0:
            return tuple(found)
    return ()


def merged(ranges: Iterable[Range]) -> tuple[Range, ...]:
    """The bytes that are in any of the ranges, as ranges that do not touch each other."""
    found: list[Range] = []
    for low, high in sorted(ranges):
        if found and low <= found[-1][1]:
            found[-1] = found[-1][0], max(found[-1][1], high)
        else:
            found.append((low, high))
    return tuple(found)
