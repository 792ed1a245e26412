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
    items                what is in memory (inner tensors are one item, SCRATCH)
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
    write: bool
    bytes: int  # of one sample; of a whole tensor, all
    inner: bool
    whole: bool
    last: bool  # nobody will need it: in the tile for a slice, ever for a whole tensor


@dataclass(frozen=True, slots=True)
class Body:
    """What the tiles of a run of ops touch, whatever the samples a tile; sums in bytes of all samples."""

    begin: int
    end: int
    touches: list[_Touch]
    inner: InnerBuffers
    items: dict[int, Item]
    reads: tuple[int, ...]
    writes: tuple[int, ...]
    dying: tuple[int, ...]
    intermediate_bytes: int
    stream_read: int
    stream_written: int
    whole_read: int
    whole_written: int
    flops: float


def body_of(piece: Piece, begin: int, end: int) -> Body:
    """The part of a footprint that all tile sizes share. Cost: linear in the touches."""
    touches: list[_Touch] = []
    for k in range(begin, end):
        op = piece.ops[k]
        for t in dict.fromkeys(op.reads):
            touches.append(_touch(piece, begin, end, k, t, write=False))
        for t in op.writes:
            touches.append(_touch(piece, begin, end, k, t, write=True))

    items: dict[int, Item] = {}
    made: set[int] = set()
    sums = {(write, whole): 0 for write in (False, True) for whole in (False, True)}
    intermediate = 0
    for when, touch in enumerate(touches):
        size = piece.tensors[touch.tensor].bytes
        sums[touch.write, touch.whole] += size
        if touch.write:
            made.add(touch.tensor)
        elif touch.tensor in made:
            intermediate += size
        key = SCRATCH if touch.inner else touch.tensor
        first = items[key].first if key in items else when
        items[key] = Item(0 if touch.inner else size, not touch.whole and not touch.inner, first, when)

    dead = (t for t in items if t != SCRATCH and piece.last_touch[t] < end and not piece.tensors[t].output)
    return Body(
        begin=begin,
        end=end,
        touches=touches,
        inner=inner_buffers(piece, begin, end),
        items=items,
        reads=tuple(t for t in items if t != SCRATCH and t not in made),
        writes=tuple(t for t in items if t in made),
        dying=tuple(dead),
        intermediate_bytes=intermediate,
        stream_read=sums[False, False],
        stream_written=sums[True, False],
        whole_read=sums[False, True],
        whole_written=sums[True, True],
        flops=sum(op.flops for op in piece.ops[begin:end]),
    )


def _touch(piece: Piece, begin: int, end: int, op: int, t: int, *, write: bool) -> _Touch:
    tensor = piece.tensors[t]
    size = tensor.bytes // piece.batch if tensor.batched else tensor.bytes
    last = piece.last_touch[t] == op and not tensor.output
    return _Touch(t, write, size, piece.stays_inside(t, begin, end), not tensor.batched, last)


def footprint(piece: Piece, body: Body, samples: int, capacity: int, kind: CacheKind) -> Footprint:
    """
    The footprint of a run of ops at so many samples a tile, on a cache of `capacity` bytes.

    cost   packing the scratch buffer; where two tiles exceed the cache, linear in the touches beside
    """
    group = Group(body.begin, body.end, samples)
    tiles = group.tiles(piece.batch)
    offsets, scratch = pack_inner(body.inner, samples)
    items = body.items
    if scratch:
        items = {**items, SCRATCH: items[SCRATCH]._replace(bytes=scratch)}

    whole = sum(item.bytes for item in items.values() if not item.batched)
    streams = sum(item.bytes for item in items.values() if item.batched) // piece.batch * samples
    walk = _Walk(body, samples, piece.batch, capacity, kind)
    if whole + 2 * streams > capacity:
        walk.run(offsets, {t for t in body.writes if piece.tensors[t].output})

    shown = body.intermediate_bytes
    return Footprint(
        group=group,
        tiles=tiles,
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
        hit_share=1 - walk.missed_intermediates / shown if shown else 1.0,
        l2_read=body.stream_read + body.whole_read * tiles,
        l2_written=body.stream_written + body.whole_written * tiles,
        flops=body.flops,
    )


_Slice = tuple[int, int]  # tensor, and the tile for slices that differ from tile to tile


class _Walk:
    """An LRU of whole slices, two tiles long; a slice hits if it and all touched since its last touch fit."""

    def __init__(self, body: Body, samples: int, batch: int, capacity: int, kind: CacheKind):
        self.touches = body.touches
        self.samples = samples
        self.tiles = -(-batch // samples)
        self.fill = batch / samples / self.tiles  # average bytes of a tile over those of a full one
        self.capacity = capacity
        self.kind = kind

        self.read = 0.0
        self.written = 0.0
        self.missed_intermediates = 0.0
        self.spilled: set[int] = set()

        self._present: OrderedDict[_Slice, _Touch] = OrderedDict()
        self._used = 0
        self._known: set[_Slice] = set()
        self._dirty: set[_Slice] = set()
        self._lost: set[_Slice] = set()  # evicted dirty, of what outlives the group

    def run(self, offsets: dict[int, int], outputs: set[int]) -> None:
        neighbours = self._neighbours(offsets)
        for tile, times in ((0, 1), (1, self.tiles - 1)):
            made: set[int] = set()
            for touch in self.touches:
                key = (touch.tensor, 0 if touch.inner or touch.whole else tile)
                scale = times * (1 if touch.whole else self.fill)
                if touch.write and touch.inner:
                    self._overwrite(key, touch, neighbours[touch.tensor], scale)
                elif not touch.write and key in self._known and key not in self._present:
                    self._miss(key, touch, scale, made, outputs)
                if touch.write:
                    made.add(touch.tensor)
                self._place(key, touch)
                self._evict(scale)

    def _size(self, touch: _Touch) -> int:
        return touch.bytes if touch.whole else touch.bytes * self.samples

    def _overwrite(self, key: _Slice, touch: _Touch, neighbours: list[tuple[int, int]], scale: float) -> None:
        """Whoever had these addresses is dead: overwritten in the cache, if still there."""
        missing = self._size(touch)
        for other, common in neighbours:
            old = self._present.pop((other, 0), None)
            if old is not None:
                self._used -= self._size(old)
                self._dirty.discard((other, 0))
                missing -= common
        if self.kind == "write-allocate" and key in self._known:
            self.read += max(0, missing) * scale

    def _miss(self, key: _Slice, touch: _Touch, scale: float, made: set[int], outputs: set[int]) -> None:
        size = self._size(touch) * scale
        self.read += size
        if touch.tensor in made:
            self.missed_intermediates += size
        if key in self._lost:
            self._lost.discard(key)
            if touch.tensor not in outputs:  # an output is written once in any case
                self.written += size
                self.spilled.add(touch.tensor)

    def _place(self, key: _Slice, touch: _Touch) -> None:
        self._known.add(key)
        if key in self._present:
            self._present.move_to_end(key)
        else:
            self._present[key] = touch
            self._used += self._size(touch)
        if touch.write:
            self._dirty.add(key)
        if touch.last and self.kind == "hints":
            self._dirty.discard(key)

    def _evict(self, scale: float) -> None:
        while self._used > self.capacity:
            key, touch = self._present.popitem(last=False)
            self._used -= self._size(touch)
            if key not in self._dirty:
                continue
            self._dirty.discard(key)
            if touch.inner:
                self.written += self._size(touch) * scale
            else:
                self._lost.add(key)

    def _neighbours(self, offsets: dict[int, int]) -> dict[int, list[tuple[int, int]]]:
        """Inner tensor -> the inner tensors (itself too) at some of its addresses, and how many bytes."""
        ends = {x.tensor: offsets[x.tensor] + self._size(x) for x in self.touches if x.inner}
        found: dict[int, list[tuple[int, int]]] = {}
        for t, low in offsets.items():
            common = ((u, min(ends[t], ends[u]) - max(low, start)) for u, start in offsets.items())
            found[t] = [(u, count) for u, count in common if count > 0]
        return found
