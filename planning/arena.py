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
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Literal

from .packing import GE_ALIGNMENT, GE_ALLOCATORS, pack, pack_in_order

Sharing = Literal["lifetime", "size", "none"]
Algorithm = Literal["greedy", "search", "ge-binary-block", "ge-max-block"]
Packer = Callable[[Sequence[int]], list[int]]
"""From some of the buffers to offsets, 0 for the others."""

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


@dataclass(frozen=True)
class ArenaPlan:
    """
    offsets   bytes, a buffer, in the order given
    size      bytes of the arena
    bound     bytes that no arena can be smaller than, whatever the options
    """

    offsets: list[int]
    size: int
    bound: int

    @property
    def proved(self) -> bool:
        """Whether no arena can be smaller."""
        return self.size == self.bound


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
    _check(alignment, max_reuse_ratio)
    sizes = [align_up(buffer.size, alignment) for buffer in buffers]
    offsets = _limited(buffers, sizes, sharing, max_reuse_ratio)

    if capacity is not None:
        for buffer, offset in zip(buffers, offsets, strict=True):
            if offset + buffer.size > capacity:
                raise DoesNotFit(buffer, offset + buffer.size, capacity)
    return offsets


def plan_arena(
    buffers: Sequence[Buffer],
    *,
    alignment: int = DEFAULT_ALIGNMENT,
    sharing: Sharing = "lifetime",
    max_reuse_ratio: float = 1.0,
    algorithm: Algorithm = "search",
    seconds: float = 1.0,
) -> ArenaPlan:
    """
    Place buffers in one arena, as `plan_offsets` does, as small as can be found, and say how small it could be.

    algorithm   greedy: the best of a dozen orders; search: and then an exact search for at most `seconds`; ge-..: as GE
                does it, in blocks of 512 bytes or a multiple of `alignment` if that is more
    raises      ValueError on an option out of range
    cost        O(n log n + pairs alive together), n = len(buffers), and the search's seconds
    """
    _check(alignment, max_reuse_ratio)
    block = align_up(GE_ALIGNMENT, alignment) if algorithm in GE_ALLOCATORS else alignment
    sizes = [align_up(buffer.size, block) for buffer in buffers]
    until = monotonic() + seconds
    proved = taken = 0

    def pack_members(members: Sequence[int]) -> list[int]:
        nonlocal proved, taken
        lives = [(buffers[i].begin, buffers[i].end) for i in members]
        wanted = [sizes[i] for i in members]
        if algorithm in GE_ALLOCATORS:
            placed, taken = GE_ALLOCATORS[algorithm](lives, wanted)  # whole blocks, whoever is in the last
        else:
            packing = pack(lives, wanted, seconds=max(0, until - monotonic()) if algorithm == "search" else 0)
            placed = packing.offsets
            if len(members) == count:
                proved = packing.bound
        offsets = [0] * len(buffers)
        for i, offset in zip(members, placed, strict=True):
            offsets[i] = offset
        return offsets

    count = sum(size > 0 for size in sizes)
    offsets = _limited(buffers, sizes, sharing, max_reuse_ratio, pack_members)
    bound = max(lower_bound(buffers, alignment), proved)
    return ArenaPlan(offsets, max(taken, arena_size(buffers, offsets, alignment)), bound)


def _check(alignment: int, max_reuse_ratio: float) -> None:
    if alignment < 1:
        raise ValueError(f"alignment must be at least 1, got {alignment}")
    if not 0 <= max_reuse_ratio <= 1:
        raise ValueError(f"max_reuse_ratio must be in 0..1, got {max_reuse_ratio}")


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


def _limited(
    buffers: Sequence[Buffer], sizes: list[int], sharing: Sharing, ratio: float, pack: Packer | None = None
) -> list[int]:
    """Offsets by `pack`, greedy where None, of which no larger a share than `ratio` is reused."""

    def greedy(members: Sequence[int]) -> list[int]:
        order = sorted(members, key=lambda i: (-sizes[i], buffers[i].begin - buffers[i].end, buffers[i].begin))
        return pack_in_order(lives, sizes, order)

    lives = [(buffer.begin, buffer.end) for buffer in buffers]
    pack = pack or greedy
    offsets = _place(sizes, range(len(buffers)), sharing, pack)
    if _reuse(sizes, offsets) <= ratio:
        return offsets

    # Whoever lives longest shares least: with addresses of its own it costs the arena least.
    order = sorted(range(len(buffers)), key=lambda i: (buffers[i].begin - buffers[i].end, -sizes[i], i))

    def with_private(count: int, pack: Packer) -> list[int]:
        offsets = _place(sizes, sorted(order[count:]), sharing, pack)
        top = max((offsets[i] + sizes[i] for i in order[count:]), default=0)
        for i in order[:count]:
            offsets[i] = top
            top += sizes[i]
        return offsets

    count = bisect_left(range(len(order)), True, key=lambda n: _reuse(sizes, with_private(n, greedy)) <= ratio)
    if pack is not greedy:
        offsets = with_private(count, pack)
        if _reuse(sizes, offsets) <= ratio:
            return offsets
    return with_private(count, greedy)


def _place(sizes: list[int], members: Sequence[int], sharing: Sharing, pack: Packer) -> list[int]:
    """Offsets of the members; 0 for the others."""
    members = [i for i in members if sizes[i]]
    if sharing == "lifetime":
        return pack(members)

    offsets = [0] * len(sizes)
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
        placed = pack(region)
        for i in region:
            offsets[i] = base + placed[i]
        base = max(offsets[i] + sizes[i] for i in region)
    return offsets
