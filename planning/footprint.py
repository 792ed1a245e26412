"""
A group's footprint: all that the traffic model asks of a group and that does not depend on what ran before it.

Where two tiles fit the cache every further touch of the same bytes hits: weights are resident (read once), scratch
stays. Where they do not, two tiles are walked through an LRU of whole slices, and the second stands for all that follow:
weights may be streamed (read for every tile), intermediates may spill.
"""

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from .judge import CacheKind
from .piece import Group, Piece
from .trace import scratch_offsets

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
    bytes: int  # in one tile
    inner: bool
    whole: bool
    last: bool  # nobody will need it: in the tile for a slice, ever for a whole tensor


def footprint(piece: Piece, group: Group, capacity: int, kind: CacheKind) -> Footprint:
    """
    A group's footprint on a cache of `capacity` bytes. Cost: linear in the group's touches, plus packing its scratch.
    """
    tiles = group.tiles(piece.batch)
    touches = _touches(piece, group)
    offsets, scratch = scratch_offsets(piece, group)

    items: dict[int, Item] = {}
    written: set[int] = set()
    intermediate = 0
    for when, touch in enumerate(touches):
        t = touch.tensor
        if touch.write:
            written.add(t)
        elif t in written:
            intermediate += piece.tensors[t].bytes
        key = SCRATCH if touch.inner else t
        size = scratch if touch.inner else piece.tensors[t].bytes
        first = items[key].first if key in items else when
        items[key] = Item(size, not touch.whole and not touch.inner, first, when)

    whole = sum(item.bytes for item in items.values() if not item.batched)
    streams = sum(item.bytes // piece.batch * group.samples for item in items.values() if item.batched)
    walk = _Walk(tiles, piece.batch / group.samples / tiles, capacity, kind)
    if whole + 2 * streams > capacity:
        outputs = {t for t in written if piece.tensors[t].output}
        walk.run(touches, _neighbours(touches, offsets), outputs)

    return Footprint(
        group=group,
        tiles=tiles,
        items=items,
        reads=tuple(t for t in items if t != SCRATCH and t not in written),
        writes=tuple(t for t in items if t in written),
        dying=tuple(t for t in items if t != SCRATCH and _dies(piece, t, group)),
        scratch=scratch,
        working_set=whole + streams,
        extra_read=walk.read,
        extra_written=walk.written,
        spilled=frozenset(walk.spilled),
        intermediate_bytes=intermediate,
        hit_share=1 - walk.missed_intermediates / intermediate if intermediate else 1.0,
        l2_read=sum(_l2_bytes(piece, x, tiles) for x in touches if not x.write),
        l2_written=sum(_l2_bytes(piece, x, tiles) for x in touches if x.write),
        flops=sum(op.flops for op in piece.ops[group.begin : group.end]),
    )


def _touches(piece: Piece, group: Group) -> list[_Touch]:
    """What one tile touches, in order: each op its operands, then its results."""
    touches: list[_Touch] = []
    for k in range(group.begin, group.end):
        op = piece.ops[k]
        for t, write in (*((t, False) for t in dict.fromkeys(op.reads)), *((t, True) for t in op.writes)):
            tensor = piece.tensors[t]
            size = tensor.bytes // piece.batch * group.samples if tensor.batched else tensor.bytes
            last = piece.last_touch[t] == k and not tensor.output
            touches.append(_Touch(t, write, size, piece.stays_inside(t, group), not tensor.batched, last))
    return touches


def _dies(piece: Piece, t: int, group: Group) -> bool:
    return piece.last_touch[t] < group.end and not piece.tensors[t].output


def _l2_bytes(piece: Piece, touch: _Touch, tiles: int) -> int:
    return touch.bytes * tiles if touch.whole else piece.tensors[touch.tensor].bytes


def _neighbours(touches: Iterable[_Touch], offsets: dict[int, int]) -> dict[int, list[tuple[int, int]]]:
    """Inner tensor -> the inner tensors (itself too) at some of its addresses, and how many bytes."""
    size = {touch.tensor: touch.bytes for touch in touches if touch.inner}
    found: dict[int, list[tuple[int, int]]] = {}
    for t, low in offsets.items():
        common = ((u, min(low + size[t], start + size[u]) - max(low, start)) for u, start in offsets.items())
        found[t] = [(u, count) for u, count in common if count > 0]
    return found


@dataclass
class _Walk:
    """
    An LRU of whole slices, two tiles long; a slice is there if it and all touched since its last touch fit.

    fill   average bytes of a tile over those of a full one
    """

    tiles: int
    fill: float
    capacity: int
    kind: CacheKind
    read: float = 0
    written: float = 0
    missed_intermediates: float = 0
    spilled: set[int] = field(default_factory=set[int])

    def run(self, touches: list[_Touch], neighbours: dict[int, list[tuple[int, int]]], outputs: set[int]) -> None:
        present: OrderedDict[tuple[int, int], _Touch] = OrderedDict()
        dirty: set[tuple[int, int]] = set()
        left_dirty: set[tuple[int, int]] = set()  # slices of what outlives the group: the cache lost them unread
        known: set[tuple[int, int]] = set()
        used = 0
        for tile, times in ((0, 1), (1, self.tiles - 1)):
            made: set[int] = set()
            for touch in touches:
                key = (touch.tensor, 0 if touch.inner or touch.whole else tile)
                scale = times * (1 if touch.whole else self.fill)
                if touch.write:
                    made.add(touch.tensor)

                if touch.write and touch.inner:
                    # Whoever had these addresses is dead: overwritten in the cache, if it is still there.
                    fetched = touch.bytes
                    for other, common in neighbours[touch.tensor]:
                        if (other, 0) in present:
                            used -= present.pop((other, 0)).bytes
                            dirty.discard((other, 0))
                            fetched -= common
                    if self.kind == "write-allocate" and key in known:
                        self.read += max(0, fetched) * scale
                elif key not in present and key in known and not touch.write:
                    self.read += touch.bytes * scale
                    if touch.tensor in made:
                        self.missed_intermediates += touch.bytes * scale
                    if key in left_dirty and touch.tensor not in outputs:
                        left_dirty.discard(key)
                        self.written += touch.bytes * scale
                        self.spilled.add(touch.tensor)

                if key in present:
                    present.move_to_end(key)
                else:
                    present[key] = touch
                    used += touch.bytes
                known.add(key)
                if touch.write:
                    dirty.add(key)
                if touch.last and self.kind == "hints":
                    dirty.discard(key)

                while used > self.capacity:
                    old, slice_ = present.popitem(last=False)
                    used -= slice_.bytes
                    if old in dirty:
                        dirty.discard(old)
                        if slice_.inner:
                            self.written += slice_.bytes * scale
                        else:
                            left_dirty.add(old)
