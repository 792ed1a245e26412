"""
The referee of a placement: slow, plain, and sharing no code with the planner.

It looks at every pair and asks nothing of how the offsets were found, so it also judges other people's placements.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np


class Placed(Protocol):
    """What the referee reads of a buffer: steps half-open, size in bytes."""

    @property
    def begin(self) -> int: ...
    @property
    def end(self) -> int: ...
    @property
    def size(self) -> int: ...


@dataclass(frozen=True)
class Violation:
    """What is wrong with a placement. `first`, `second`: indices; `second` is None where one buffer is at fault."""

    what: str
    first: int
    second: int | None = None


def find_violation(
    buffers: Sequence[Placed], offsets: Sequence[int], capacity: int | None = None, alignment: int = 1
) -> Violation | None:
    """
    The first thing wrong with a placement, or None.

    Every offset is a multiple of `alignment` and at least 0; every buffer ends within `capacity`; every two buffers
    that are alive at the same step have no byte in common. A buffer of no bytes is nowhere.

    raises   ValueError where the numbers of buffers and offsets differ
    cost     O(n^2), a vector operation a buffer
    """
    if len(buffers) != len(offsets):
        raise ValueError(f"one offset a buffer, got {len(buffers)} buffers and {len(offsets)} offsets")

    for i, (buffer, offset) in enumerate(zip(buffers, offsets, strict=True)):
        if buffer.size == 0:
            continue
        if offset < 0 or offset % alignment != 0:
            return Violation(f"offset {offset} is no multiple of {alignment}", i)
        if capacity is not None and offset + buffer.size > capacity:
            return Violation(f"bytes [{offset}, {offset + buffer.size}) end past the capacity of {capacity}", i)

    begin = np.array([b.begin for b in buffers], dtype=np.int64)
    end = np.array([b.end for b in buffers], dtype=np.int64)
    low = np.array(offsets, dtype=np.int64)
    high = low + np.array([b.size for b in buffers], dtype=np.int64)
    for i in range(len(buffers)):
        later = slice(i + 1, None)
        together = (begin[later] < end[i]) & (begin[i] < end[later])
        common = np.minimum(high[later], high[i]) > np.maximum(low[later], low[i])
        clash = np.flatnonzero(together & common)
        if clash.size:
            j = i + 1 + int(clash[0])
            what = f"bytes [{low[i]}, {high[i]}) and [{low[j]}, {high[j]}) overlap while both are alive"
            return Violation(what, i, j)
    return None
