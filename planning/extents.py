"""
An LRU cache of byte ranges: what the judge does page by page, for whole ranges at a time.

    capacity 128: touch a [0, 96), touch b [0, 64)        a [0, 32) leaves: the oldest bytes, in their order
    touch a [0, 96)                                       a [0, 32) misses and pushes out a [32, 64), which misses ...

A range is touched from its first byte to its last, so what is read again after a part of it has left may miss all
of it, as in a cache of small lines.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from operator import attrgetter

_low = attrgetter("low")


class Extent:
    """Bytes [low, high) of a buffer in the cache, all of the same age."""

    __slots__ = ("buffer", "dirty", "high", "low", "newer", "older")

    def __init__(self, buffer: int, low: int, high: int, dirty: bool):
        self.buffer, self.low, self.high, self.dirty = buffer, low, high, dirty
        self.newer = self.older = self

    def goes_behind(self, other: Extent) -> None:
        """Makes it the next newer of `other`."""
        self.older, self.newer = other, other.newer
        other.newer.older = self
        other.newer = self

    def leaves(self) -> None:
        self.older.newer, self.newer.older = self.newer, self.older


class Extents:
    """
    capacity   bytes
    cost       of a touch: the ranges that it meets or pushes out, and a search among those of its buffer
    """

    def __init__(self, capacity: int):
        self._capacity = capacity
        self._used = 0
        self._ends = Extent(-1, 0, 0, False)  # newer: the oldest; older: the newest
        self._buffers: dict[int, list[Extent]] = {}
        self.evicted: list[tuple[int, int]] = []
        """(buffer, bytes) that left dirty since the caller last cleared this."""

    def touch(self, buffer: int, low: int, high: int, *, write: bool) -> Iterator[tuple[int, int]]:
        """Touches bytes [low, high); gives the ranges that were not there. To be read to its end."""
        here = self._buffers.setdefault(buffer, [])
        at = low
        while at < high:
            k = bisect_right(here, at, key=_low) - 1
            if k >= 0 and at < here[k].high:
                found = self._part(here, k, at, high)
                found.dirty |= write
                found.leaves()
                at = found.high
            else:
                end = min(high, here[k + 1].low) if k + 1 < len(here) else high
                yield at, end
                found = Extent(buffer, at, end, write)
                here.insert(k + 1, found)
                self._used += end - at
                at = end
            newest = self._ends.older
            if newest.buffer == buffer and newest.high == found.low and newest.dirty == found.dirty:
                newest.high = found.high
                here.remove(found)
            else:
                found.goes_behind(newest)
            if self._used > self._capacity:
                self._shrink()

    def clean(self, buffer: int, low: int, high: int) -> None:
        """Bytes [low, high) need not be written back."""
        here = self._buffers.get(buffer, [])
        k = bisect_right(here, low, key=_low) - 1
        if k < 0 or here[k].high <= low:
            k += 1
        while k < len(here) and here[k].low < high:
            self._part(here, k, max(low, here[k].low), high).dirty = False
            k = bisect_right(here, low, key=_low) if here[k].low < low else k + 1

    @staticmethod
    def _part(here: list[Extent], k: int, low: int, high: int) -> Extent:
        """The part [low, high) of a range as a range of its own, of the same age."""
        found = here[k]
        if found.low < low:
            rest = Extent(found.buffer, low, found.high, found.dirty)
            found.high = low
            rest.goes_behind(found)
            k += 1
            here.insert(k, rest)
            found = rest
        if found.high > high:
            rest = Extent(found.buffer, high, found.high, found.dirty)
            found.high = high
            rest.goes_behind(found)
            here.insert(k + 1, rest)
        return found

    def _shrink(self) -> None:
        while self._used > self._capacity:
            oldest = self._ends.newer
            gone = min(oldest.high - oldest.low, self._used - self._capacity)
            here = self._buffers[oldest.buffer]
            if gone == oldest.high - oldest.low:
                oldest.leaves()
                del here[bisect_right(here, oldest.low, key=_low) - 1]
            else:
                oldest.low += gone
            self._used -= gone
            if oldest.dirty:
                self.evicted.append((oldest.buffer, gone))
