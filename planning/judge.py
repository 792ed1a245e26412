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
from typing import Literal, NamedTuple

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
    cost          about 0.25 us a page touched
    """
    capacity = cache_bytes // page
    if capacity < 1:
        raise ValueError(f"a cache of {cache_bytes} bytes holds no page of {page}")

    base, width = _number_pages(sizes, page)
    present: OrderedDict[int, None] = OrderedDict()
    touch = present.move_to_end
    dirty = [0] * len(width)  # bytes
    allocate = kind == "write-allocate"
    counted: list[Replayed] = []

    for part in parts:
        read = written = 0
        for buffer, offset, length, write, last in part:
            if length <= 0:
                continue
            end = offset + length
            if offset < 0 or end > sizes[buffer]:
                raise ValueError(f"bytes [{offset}, {end}) leave buffer {buffer} of {sizes[buffer]} bytes")
            first_page = base[buffer] + offset // page
            stop_page = base[buffer] + (end - 1) // page + 1
            # The two pages at the ends may be covered in part.
            part_first = first_page if offset % page else -1
            part_last = stop_page - 1 if end % page and end != sizes[buffer] else -1
            first_bytes = min(length, page - offset % page)
            last_bytes = length if stop_page - first_page == 1 else end % page

            for p in range(first_page, stop_page):
                if p in present:
                    touch(p)
                else:
                    if not write or allocate:
                        read += width[p]
                    present[p] = None
                    if len(present) > capacity:
                        victim, _ = present.popitem(last=False)
                        if dirty[victim]:
                            written += dirty[victim]
                            dirty[victim] = 0
                if write:
                    if p == part_first:
                        dirty[p] = min(width[p], dirty[p] + first_bytes)
                    elif p == part_last:
                        dirty[p] = min(width[p], dirty[p] + last_bytes)
                    else:
                        dirty[p] = width[p]
            if last and kind == "hints":
                # A page is dead once its end is: slices come in order.
                dead = stop_page if part_last < 0 else stop_page - 1
                dirty[first_page:dead] = [0] * max(0, dead - first_page)
        counted.append(Replayed(read, written))

    owed = sum(dirty[p] for b in outputs for p in range(base[b], base[b + 1]))
    counted[-1] = Replayed(counted[-1].read, counted[-1].written + owed)
    return counted


def _number_pages(sizes: Sequence[int], page: int) -> tuple[list[int], list[int]]:
    """The first page of each buffer (and one past the last), and how many bytes of each page belong to its buffer."""
    base = [0]
    width: list[int] = []
    for size in sizes:
        whole, rest = divmod(size, page)
        width += [page] * whole + ([rest] if rest else [])
        base.append(len(width))
    return base, width
