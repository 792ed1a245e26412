"""
The judge: replays what a schedule really touches through a cache, page by page, and counts bytes to and from memory.

It knows no model, no plan and no IR. Its input is a stream of `Access`es in the order in which they happen:

    Access(buffer=0, offset=0, bytes=8192, write=False, last=False)

- Every weight, input, intermediate and output is a buffer. Buffers are page-aligned and disjoint. Whoever shares
  addresses (an arena, a tile's scratch memory) is one buffer, and the offset is the address in it.
- `last` says: nobody will need these bytes. Only the hints variant listens.
- Pages of `outputs` that are dirty at the end are written to memory; other dirty pages left in the cache are dropped.

The cache: LRU over pages, write-back. A page stands for many lines of a real cache: a write fetches nothing, and of a
page that leaves, the bytes that were written go to memory.

    hints            bytes marked `last` are clean from then on: they age like others but are never written back
    plain            `last` is ignored: dead dirty pages are written back when they are evicted
    write-allocate   plain, and every write that misses fetches the page first
"""

from collections import OrderedDict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Literal, NamedTuple

from .collector import no_collector

CacheKind = Literal["hints", "plain", "write-allocate"]


class Access(NamedTuple):
    """Bytes [offset, offset + bytes) of a buffer are read or written."""

    buffer: int
    offset: int
    bytes: int
    write: bool
    last: bool = False


@dataclass(frozen=True)
class Replayed:
    """Bytes that came from memory and bytes that went to it."""

    read: int
    written: int

    @property
    def total(self) -> int:
        return self.read + self.written


def judge(
    trace: Iterable[Access],
    sizes: Sequence[int],
    outputs: Collection[int],
    cache_bytes: int,
    kind: CacheKind,
    page: int = 4096,
) -> Replayed:
    """Replay a trace: as `judge_parts` of one part."""
    return judge_parts([trace], sizes, outputs, cache_bytes, kind, page)[0]


def judge_parts(
    parts: Iterable[Iterable[Access]],
    sizes: Sequence[int],
    outputs: Collection[int],
    cache_bytes: int,
    kind: CacheKind,
    page: int = 4096,
) -> list[Replayed]:
    """
    Replay a trace that is cut into parts: the bytes while each part runs, and with the last what outputs still owe.

    parts         see above; offsets and bytes within the buffer; at least one
    sizes         bytes of each buffer, by its number
    outputs       numbers of the buffers that must be in memory at the end
    cache_bytes   capacity; a part of a page is no use
    raises        ValueError where the cache holds no page or an access leaves its buffer
    cost          about 2 us an access: pages that are always touched together are one step
    """
    capacity = cache_bytes // page
    if capacity < 1:
        raise ValueError(f"a cache of {cache_bytes} bytes holds no page of {page}")

    with no_collector():
        kept = [part if isinstance(part, list) else list(part) for part in parts]
    base, marks = _marked(kept, sizes, page)
    begin, count, width = _stretches(marks, base, sizes, page)
    present: OrderedDict[int, None] = OrderedDict()  # stretches, the oldest first
    resident = [0] * len(count)  # pages of each, its last ones: the first leave first
    dirty = [0] * len(count)  # bytes of these, of the last ones
    used = 0
    allocate, hints = kind == "write-allocate", kind == "hints"
    counted: list[Replayed] = []

    for part in kept:
        read = written = 0
        for buffer, offset, length, write, last in part:
            if length <= 0:
                continue
            end = offset + length
            first, stop = begin[base[buffer] + offset // page], begin[base[buffer] + (end - 1) // page + 1]
            # Bytes in pages at the ends that are covered in part.
            head = min(length, page - offset % page) if offset % page else 0
            tail = min(length, end % page) if end % page and end != sizes[buffer] else 0
            for s in range(first, stop):
                n, r = count[s], resident[s]
                if r == n:
                    present.move_to_end(s)
                else:
                    over = used + n - r - capacity
                    while over > 0 and present:
                        old = next(iter(present))
                        there = resident[old]
                        if old == s:  # each of its pages is pushed out by those before it
                            r = 0
                        elif there > over:  # its oldest pages
                            gone = max(0, dirty[old] - (there - over) * width[old])
                            written += gone
                            dirty[old] -= gone
                            resident[old] = there - over
                            used -= over
                            break
                        else:
                            over -= there
                        written += dirty[old]
                        dirty[old] = resident[old] = 0
                        used -= there
                        del present[old]
                    if not write or allocate:
                        read += (n - r) * width[s]
                    if r:
                        present.move_to_end(s)
                    else:
                        present[s] = None
                    resident[s] = min(n, capacity)
                    used += resident[s] - r
                    if write and n > capacity:
                        written += (n - capacity) * width[s]
                if write:
                    if s == first and head:
                        dirty[s] = min(width[s], dirty[s] + head)
                    elif s == stop - 1 and tail:
                        dirty[s] = min(width[s], dirty[s] + tail)
                    else:
                        dirty[s] = resident[s] * width[s]
            if last and hints:
                # A page is dead once its end is: slices come in order.
                for s in range(first, stop - 1 if tail else stop):
                    dirty[s] = 0
        counted.append(Replayed(read, written))

    owed = sum(dirty[s] for b in outputs for s in range(begin[base[b]], begin[base[b + 1]]))
    counted[-1] = Replayed(counted[-1].read, counted[-1].written + owed)
    return counted


def _marked(parts: Iterable[Iterable[Access]], sizes: Sequence[int], page: int) -> tuple[list[int], bytearray]:
    """
    The first page of each buffer, and one past the last; of each page (and one past the last) whether an access begins
    there or ended before. A page that an access covers in part, or that is shorter than others, is one by itself.
    """
    base = list(accumulate((-(-size // page) for size in sizes), initial=0))
    marks = bytearray(base[-1] + 1)
    for first, size in zip(base, sizes, strict=False):
        marks[first] = marks[first + size // page] = 1
    marks[-1] = 1
    for part in parts:
        for buffer, offset, length, _, _ in part:
            if length <= 0:
                continue
            end = offset + length
            if offset < 0 or end > sizes[buffer]:
                raise ValueError(f"bytes [{offset}, {end}) leave buffer {buffer} of {sizes[buffer]} bytes")
            first, stop = base[buffer] + offset // page, base[buffer] + (end - 1) // page + 1
            marks[first] = marks[stop] = 1
            if offset % page:
                marks[first + 1] = 1
            if end % page:
                marks[stop - 1] = 1
    return base, marks


def _stretches(
    marks: bytearray, base: Sequence[int], sizes: Sequence[int], page: int
) -> tuple[list[int], list[int], list[int]]:
    """
    Pages that no access parts, as one step of the cache each: the number of the stretch that begins at a page (and the
    count of all, behind the last page; any number where none begins), the pages of each, and the bytes of one of its
    pages.
    """
    begin = [0] * len(marks)
    count: list[int] = []
    at = 0
    while (after := marks.find(1, at + 1)) > 0:
        begin[at] = len(count)
        count.append(after - at)
        at = after
    begin[at] = len(count)
    width = [page] * len(count)
    for stop, size in zip(base[1:], sizes, strict=True):
        if size % page:
            width[begin[stop - 1]] = size % page
    return begin, count, width
