"""
A group's footprint: all that the traffic model asks of a group and that does not depend on what ran before it.

Where two tiles fit the cache every further touch of the same bytes hits: weights are resident (read once), scratch
stays. Where they do not, two tiles are walked through an LRU of whole slices, and the second stands for all that
follow: weights may be streamed (read for every tile), intermediates may spill.
"""

from collections import OrderedDict
from dataclasses import dataclass
from typing import NamedTuple

from .judge import CacheKind
from .piece import Group, Piece
from .rows import has_equal_slices, spans_of
from .trace import InnerBuffers, inner_buffers, pack_inner

SCRATCH = -1
"""The scratch buffer of a group's tiles, as one more item beside the tensors."""


class Item(NamedTuple):
    """Bytes in memory that a group touches: all tiles' bytes, and when in a tile it is touched first and last."""

    bytes: int
    batched: bool
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Footprint:
    """
    halo                 inner tensors of a tile overlap those of the next
    items                what is in memory, by storage (inner tensors are one item, SCRATCH)
    reads                tensors from outside the group; writes: tensors that outlive it; dying: last touched here
    scratch              bytes of the inner tensors of one tile, as the arena planner packs them
    working_set          bytes of one tile: whole tensors, slices and scratch
    extra_read/written   bytes beyond the first touch of each item, all tiles
    spilled              written tensors that the cache has lost by the end of their tile
    intermediate_bytes   read by ops of the group of what ops of the group wrote; hit_share: of these, from L2
    l2_read, l2_written  bytes between the cores and L2
    """

    group: Group
    tiles: int
    halo: bool
    items: dict[int, Item]
    reads: tuple[int, ...]
    writes: tuple[int, ...]
    dying: tuple[int, ...]
    scratch: int
    working_set: int
    extra_read: float
    extra_written: float
    spilled: frozenset[int]
    intermediate_bytes: int
    hit_share: float
    l2_read: float
    l2_written: float
    flops: float


class _Touch(NamedTuple):
    tensor: int
    op: int
    place: int  # among the op's reads
    write: bool
    inner: bool
    whole: bool
    last: bool  # nobody will need it: in the tile for a slice, ever for a whole tensor


@dataclass(frozen=True, slots=True)
class Body:
    """
    What the tiles of a run of ops touch, whatever the samples a tile; sums in bytes of all samples.

    equal   every tile touches the same share of every tensor
    """

    begin: int
    end: int
    touches: list[_Touch]
    equal: bool
    inner: InnerBuffers
    items: dict[int, Item]
    reads: tuple[int, ...]
    writes: tuple[int, ...]
    dying: tuple[int, ...]
    intermediate_bytes: int


def body_of(piece: Piece, begin: int, end: int) -> Body:
    """The part of a footprint that all tile sizes share. Cost: linear in the touches."""
    whole = {t for k in range(begin, end) for t in piece.ops[k].reads if piece.reads_whole(k, t)}
    touches: list[_Touch] = []
    for k in range(begin, end):
        op = piece.ops[k]
        for place, t in enumerate(op.reads):
            if t not in op.reads[:place]:
                touches.append(_touch(piece, begin, end, k, t, place, whole, write=False))
        for t in op.writes:
            touches.append(_touch(piece, begin, end, k, t, 0, whole, write=True))

    items: dict[int, Item] = {}
    made: set[int] = set()
    intermediate = 0
    for when, touch in enumerate(touches):
        size = piece.tensors[touch.tensor].bytes
        if touch.write:
            made.add(touch.tensor)
        elif touch.tensor in made:
            intermediate += size
        key = SCRATCH if touch.inner else piece.storage[touch.tensor]
        first = items[key].first if key in items else when
        items[key] = Item(0 if touch.inner else size, not touch.whole and not touch.inner, first, when)

    outer = dict.fromkeys(touch.tensor for touch in touches if not touch.inner)
    dead = (t for t in outer if piece.last_touch[t] < end and not piece.tensors[t].output)
    return Body(
        begin=begin,
        end=end,
        touches=touches,
        equal=has_equal_slices(piece, Group(begin, end, 1)),
        inner=inner_buffers(piece, begin, end),
        items=items,
        reads=tuple(t for t in outer if t not in made),
        writes=tuple(t for t in outer if t in made),
        dying=tuple(dead),
        intermediate_bytes=intermediate,
    )


def _touch(piece: Piece, begin: int, end: int, op: int, t: int, place: int, whole: set[int], *, write: bool) -> _Touch:
    last = piece.last_touch[t] == op and not piece.tensors[t].output
    return _Touch(t, op, place, write, piece.stays_inside(t, begin, end), t in whole, last)


@dataclass(slots=True)
class _Sizes:
    """
    One full tile of a body at so many samples.

    touches        bytes of each touch
    inner          slices of each inner tensor that its buffer holds
    kept           tensors of which lines are kept -> their bytes
    work           arithmetic of all tiles
    """

    touches: list[int]
    inner: list[int]
    kept: dict[int, int]
    work: float


def _sizes(piece: Piece, body: Body, group: Group, page: int) -> _Sizes:
    flops = sum(op.flops for op in piece.ops[body.begin : body.end])
    if body.equal:
        share = group.samples, piece.extent(body.end - 1)
        sizes = [
            piece.tensors[x.tensor].bytes if x.whole else piece.tensors[x.tensor].bytes * share[0] // share[1]
            for x in body.touches
        ]
        return _Sizes(sizes, [group.samples] * len(body.inner.tensors), {}, flops)

    spans = spans_of(piece, group, piece.tiles(group) // 2)
    sizes: list[int] = []
    for x in body.touches:
        tensor = piece.tensors[x.tensor]
        if x.whole:
            sizes.append(tensor.bytes)
            continue
        begin, end = spans.computed[x.tensor] if x.write else spans.read.get((x.op, x.place), (0, 0))
        size = tensor.bytes // piece.rows(x.tensor) * (end - begin)
        if not x.inner and tensor.strips > 1:
            size = min(tensor.bytes, size + tensor.strips * page)  # each strip ends inside of a page
        sizes.append(size)
    row = {t: piece.tensors[t].bytes // piece.rows(t) for t in spans.needed}
    kept = {
        t: (spans.computed[t][0] - begin) * row[t]
        for t, (begin, _) in spans.needed.items()
        if group.lines and begin < spans.computed[t][0] and piece.stays_inside(t, body.begin, body.end)
    }
    inner = [spans.needed[t][1] - spans.needed[t][0] for t in body.inner.tensors]
    work = 0.0
    extent = piece.extent(body.end - 1)
    for op in piece.ops[body.begin : body.end]:
        begin, end = spans.computed[op.writes[0]]
        work += op.flops * (end - begin) / piece.rows(op.writes[0]) * extent / group.samples
    return _Sizes(sizes, inner, kept, work)


def footprint(piece: Piece, body: Body, group: Group, capacity: int, kind: CacheKind, page: int) -> Footprint:
    """
    The footprint of a group, a run of ops at so many samples a tile, on a cache of `capacity` bytes.

    page   bytes in which the cache counts
    cost   packing the scratch buffer; where two tiles exceed the cache, linear in the touches beside
    """
    tiles = piece.tiles(group)
    sizes = _sizes(piece, body, group, page)
    offsets, scratch = pack_inner(body.inner, sizes.inner, sizes.kept, (group.begin, group.end))
    items = body.items
    if scratch:
        items = {**items, SCRATCH: items[SCRATCH]._replace(bytes=scratch)}

    largest: dict[int, int] = {}
    for touch, size in zip(body.touches, sizes.touches, strict=True):
        if not touch.whole and not touch.inner:
            largest[touch.tensor] = max(size, largest.get(touch.tensor, 0))
    streams = sum(largest.values())
    whole = sum(item.bytes for item in items.values() if not item.batched)
    fill = piece.extent(group.end - 1) / group.samples / tiles
    held = dict(zip(body.inner.tensors, _bytes_held(body, sizes), strict=True))
    walk = _Walk(body, sizes.touches, tiles, fill, capacity, kind)
    if whole + 2 * streams > capacity:
        walk.run(offsets, held, {t for t in body.writes if piece.tensors[t].output})

    moved = [0.0, 0.0]
    for touch, size in zip(body.touches, sizes.touches, strict=True):
        moved[touch.write] += size * tiles * (1 if touch.whole else fill)
    copied = sum(sizes.kept.values()) * tiles * fill
    shown = body.intermediate_bytes
    return Footprint(
        group=group,
        tiles=tiles,
        halo=any(
            count * piece.extent(group.end - 1) > group.samples * piece.rows(t)
            for t, count in zip(body.inner.tensors, sizes.inner, strict=True)
        ),
        items=items,
        reads=body.reads,
        writes=body.writes,
        dying=body.dying,
        scratch=scratch,
        working_set=whole + streams,
        extra_read=walk.read,
        extra_written=walk.written,
        spilled=frozenset(walk.spilled),
        intermediate_bytes=shown,
        hit_share=max(0.0, 1 - walk.missed_intermediates / shown) if shown else 1.0,
        l2_read=moved[False] + copied,
        l2_written=moved[True] + copied,
        flops=sizes.work,
    )


def _bytes_held(body: Body, sizes: _Sizes) -> list[int]:
    return [size * rows for size, rows in zip(body.inner.slice_bytes, sizes.inner, strict=True)]


_Slice = tuple[int, int]  # tensor, and the tile for slices that differ from tile to tile


class _Walk:
    """An LRU of whole slices, two tiles long; a slice hits if it and all touched since its last touch fit."""

    def __init__(self, body: Body, sizes: list[int], tiles: int, fill: float, capacity: int, kind: CacheKind):
        self.touches = list(zip(body.touches, sizes, strict=True))
        self.tiles = tiles
        self.fill = fill  # average bytes of a tile over those of a full one
        self.capacity = capacity
        self.kind = kind

        self.read = 0.0
        self.written = 0.0
        self.missed_intermediates = 0.0
        self.spilled: set[int] = set()

        self._present: OrderedDict[_Slice, tuple[_Touch, int]] = OrderedDict()
        self._used = 0
        self._known: set[_Slice] = set()
        self._dirty: set[_Slice] = set()
        self._lost: set[_Slice] = set()  # evicted dirty, of what outlives the group

    def run(self, offsets: dict[int, int], held: dict[int, int], outputs: set[int]) -> None:
        neighbours = _neighbours(offsets, held)
        for tile, times in ((0, 1), (1, self.tiles - 1)):
            made: set[int] = set()
            for touch, size in self.touches:
                key = (touch.tensor, 0 if touch.inner or touch.whole else tile)
                scale = times * (1 if touch.whole else self.fill)
                if touch.write and touch.inner:
                    self._overwrite(key, size, neighbours[touch.tensor], scale)
                elif not touch.write and key in self._known and key not in self._present:
                    self._miss(key, touch, size * scale, made, outputs)
                if touch.write:
                    made.add(touch.tensor)
                self._place(key, touch, size)
                self._evict(scale)

    def _overwrite(self, key: _Slice, size: int, neighbours: list[tuple[int, int]], scale: float) -> None:
        """Whoever had these addresses is dead: overwritten in the cache, if still there."""
        missing = size
        for other, common in neighbours:
            old = self._present.pop((other, 0), None)
            if old is not None:
                self._used -= old[1]
                self._dirty.discard((other, 0))
                missing -= common
        if self.kind == "write-allocate" and key in self._known:
            self.read += max(0, missing) * scale

    def _miss(self, key: _Slice, touch: _Touch, size: float, made: set[int], outputs: set[int]) -> None:
        self.read += size
        if touch.tensor in made:
            self.missed_intermediates += size
        if key in self._lost:
            self._lost.discard(key)
            if touch.tensor not in outputs:  # an output is written once in any case
                self.written += size
                self.spilled.add(touch.tensor)

    def _place(self, key: _Slice, touch: _Touch, size: int) -> None:
        self._known.add(key)
        if key in self._present:
            self._present.move_to_end(key)
        else:
            self._present[key] = touch, size
            self._used += size
        if touch.write:
            self._dirty.add(key)
        if touch.last and self.kind == "hints":
            self._dirty.discard(key)

    def _evict(self, scale: float) -> None:
        while self._used > self.capacity:
            key, (touch, size) = self._present.popitem(last=False)
            self._used -= size
            if key not in self._dirty:
                continue
            self._dirty.discard(key)
            if touch.inner:
                self.written += size * scale
            else:
                self._lost.add(key)


def _neighbours(offsets: dict[int, int], held: dict[int, int]) -> dict[int, list[tuple[int, int]]]:
    """Inner tensor -> the inner tensors (itself too) at some of its addresses, and how many bytes."""
    ends = {t: low + held[t] for t, low in offsets.items()}
    found: dict[int, list[tuple[int, int]]] = {}
    for t, low in offsets.items():
        common = ((u, min(ends[t], ends[u]) - max(low, start)) for u, start in offsets.items())
        found[t] = [(u, count) for u, count in common if count > 0]
    return found
