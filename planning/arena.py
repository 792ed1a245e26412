"""
One arena for many buffers: offsets such that no two that are alive together overlap.

    life [0, 2) 100 B -> 0      (128 with alignment 64)
    life [1, 3) 200 B -> 128    (alive together with the first at step 1)
    life [2, 4)  60 B -> 0      (the first is dead)

Sizes are rounded up to the alignment first; then every offset found is a multiple of it. A buffer of no bytes gets
offset 0 and takes no room. `check.py` judges a placement without this file, `explain.py` says what a peak is made of.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Literal

Sharing = Literal["lifetime", "size", "none"]

DEFAULT_ALIGNMENT = 64


@dataclass(frozen=True, slots=True)
class Buffer:
    """Bytes that are needed in steps `begin` <= s < `end`; `name` is for messages."""

    begin: int
    end: int
    size: int
    name: str = ""

    def __post_init__(self) -> None:
        if self.begin >= self.end:
            raise ValueError(f"buffer '{self.name}' must live at least one step, got [{self.begin}, {self.end})")
        if self.size < 0:
            raise ValueError(f"buffer '{self.name}' must have a size, got {self.size} bytes")


class DoesNotFit(ValueError):
    """A buffer would end past the arena's capacity."""

    def __init__(self, buffer: Buffer, end: int, capacity: int):
        super().__init__(
            f"buffer '{buffer.name}' of {buffer.size} bytes, life [{buffer.begin}, {buffer.end}), "
            f"would end at {end}, past the arena's {capacity} bytes"
        )
        self.buffer = buffer


def align_up(size: int, alignment: int) -> int:
    """The least multiple of `alignment` that is at least `size`."""
    return -(-size // alignment) * alignment


def plan_offsets(
    buffers: Sequence[Buffer],
    capacity: int | None = None,
    *,
    alignment: int = DEFAULT_ALIGNMENT,
    sharing: Sharing = "lifetime",
    max_reuse_ratio: float = 1.0,
) -> list[int]:
    """
    Place buffers in one arena so that no two that are alive together overlap.

    buffers           lifetimes in op indices, half-open; sizes in bytes
    capacity          arena size, bytes; None: as large as it gets
    sharing           lifetime: whoever does not live together may share addresses; size: only within one size class
                      (powers of two, after rounding); none: nobody, in the order given
    max_reuse_ratio   largest share of the planned bytes at addresses that another buffer uses too (`reuse_ratio`);
                      the longest-lived are moved to addresses of their own until it holds
    returns           one offset per buffer, bytes, in the order given
    raises            DoesNotFit, naming the first buffer in the order given that would end past `capacity`;
                      ValueError on an option out of range
    cost              O(n log n + pairs alive together), n = len(buffers); times log n where the ratio binds
    source            greedy by size, best gap: Pisarchyk and Lee 2020, arXiv:2001.03288
    """
    if alignment < 1:
        raise ValueError(f"alignment must be at least 1, got {alignment}")
    if not 0 <= max_reuse_ratio <= 1:
        raise ValueError(f"max_reuse_ratio must be in 0..1, got {max_reuse_ratio}")

    sizes = [align_up(buffer.size, alignment) for buffer in buffers]
    offsets = _limited(buffers, sizes, sharing, max_reuse_ratio)

    if capacity is not None:
        for buffer, offset in zip(buffers, offsets, strict=True):
            if offset + buffer.size > capacity:
                raise DoesNotFit(buffer, offset + buffer.size, capacity)
    return offsets


def arena_size(buffers: Sequence[Buffer], offsets: Sequence[int], alignment: int = DEFAULT_ALIGNMENT) -> int:
    """Bytes up to the end of the highest buffer, rounded up to the alignment."""
    ends = (offset + buffer.size for buffer, offset in zip(buffers, offsets, strict=True) if buffer.size)
    return align_up(max(ends, default=0), alignment)


def lower_bound(buffers: Sequence[Buffer], alignment: int = DEFAULT_ALIGNMENT) -> int:
    """The largest sum of rounded sizes alive at one step: no arena can be smaller. O(n log n)."""
    change: defaultdict[int, int] = defaultdict(int)
    for buffer in buffers:
        size = align_up(buffer.size, alignment)
        change[buffer.begin] += size
        change[buffer.end] -= size

    alive = most = 0
    for step in sorted(change):
        alive += change[step]
        most = max(most, alive)
    return most


def reuse_ratio(buffers: Sequence[Buffer], offsets: Sequence[int], alignment: int = DEFAULT_ALIGNMENT) -> float:
    """The share of all buffers' (rounded) bytes at addresses that at least one other buffer uses too. O(n log n)."""
    return _reuse([align_up(buffer.size, alignment) for buffer in buffers], offsets)


def _reuse(sizes: Sequence[int], offsets: Sequence[int]) -> float:
    change: defaultdict[int, int] = defaultdict(int)
    for size, offset in zip(sizes, offsets, strict=True):
        change[offset] += 1
        change[offset + size] -= 1

    users = shared = here = 0
    for address in sorted(change):
        if users > 1:
            shared += users * (address - here)
        users += change[address]
        here = address
    return shared / max(1, sum(sizes))


def _limited(buffers: Sequence[Buffer], sizes: list[int], sharing: Sharing, ratio: float) -> list[int]:
    offsets = _place(buffers, sizes, range(len(buffers)), sharing)
    if _reuse(sizes, offsets) <= ratio:
        return offsets

    # Whoever lives longest shares least: with addresses of its own it costs the arena least.
    order = sorted(range(len(buffers)), key=lambda i: (buffers[i].begin - buffers[i].end, -sizes[i], i))

    def with_private(count: int) -> list[int]:
        offsets = _place(buffers, sizes, sorted(order[count:]), sharing)
        top = max((offsets[i] + sizes[i] for i in order[count:]), default=0)
        for i in order[:count]:
            offsets[i] = top
            top += sizes[i]
        return offsets

    count = bisect_left(range(len(order)), True, key=lambda n: _reuse(sizes, with_private(n)) <= ratio)
    return with_private(count)


def _place(buffers: Sequence[Buffer], sizes: list[int], members: Sequence[int], sharing: Sharing) -> list[int]:
    """Offsets of the members; 0 for the others."""
    if sharing == "lifetime":
        return _greedy(buffers, sizes, members)

    offsets = [0] * len(buffers)
    if sharing == "none":
        top = 0
        for i in members:
            offsets[i] = top
            top += sizes[i]
        return offsets

    # One region a size class, one after the other: nobody meets another class's addresses.
    classes: defaultdict[int, list[int]] = defaultdict(list)
    for i in members:
        classes[(sizes[i] - 1).bit_length()].append(i)
    base = 0
    for size_class in sorted(classes, reverse=True):
        region = classes[size_class]
        placed = _greedy(buffers, sizes, region)
        for i in region:
            offsets[i] = base + placed[i]
        base = max(offsets[i] + sizes[i] for i in region)
    return offsets


def _greedy(buffers: Sequence[Buffer], sizes: list[int], members: Sequence[int]) -> list[int]:
    """Largest first; each in the smallest gap that holds it, else above all that live with it."""
    offsets = [0] * len(buffers)
    order = sorted(
        (i for i in members if sizes[i]), key=lambda i: (-sizes[i], buffers[i].begin - buffers[i].end, buffers[i].begin)
    )
    before = _placed_before(buffers, order)
    for i in order:
        offsets[i] = _best_gap(sorted((offsets[j], offsets[j] + sizes[j]) for j in before[i]), sizes[i])
    return offsets


def _placed_before(buffers: Sequence[Buffer], order: Sequence[int]) -> dict[int, list[int]]:
    """For each buffer, those earlier in `order` that live together with it. A sweep: looks at such pairs alone."""
    rank = {i: k for k, i in enumerate(order)}
    before: dict[int, list[int]] = {i: [] for i in order}
    alive: set[int] = set()
    ends: list[tuple[int, int]] = []
    for i in sorted(order, key=lambda i: buffers[i].begin):
        while ends and ends[0][0] <= buffers[i].begin:
            alive.remove(heappop(ends)[1])
        for j in alive:
            if rank[j] < rank[i]:
                before[i].append(j)
            else:
                before[j].append(i)
        alive.add(i)
        heappush(ends, (buffers[i].end, i))
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
