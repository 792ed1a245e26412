"""
A group's footprint: all that the traffic model asks of a group and that does not depend on what ran before it.

Where two tiles fit the cache every further touch of the same bytes hits: weights are resident (read once), scratch
stays. Where they do not, two tiles are walked through an LRU of byte ranges, and the second stands for all that
follow: weights may be streamed (read for every tile), intermediates may spill.
"""

from dataclasses import dataclass
from typing import NamedTuple

from .dead import Range, common_bytes, without
from .extents import Extents
from .inside import Inside, inside, only_copied
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
    items                what is in memory, by storage (inner tensors are one item, SCRATCH); bytes: of all of them
    reads                tensors from outside the group; writes: tensors that outlive it; dying: last touched here
    scratch              bytes of the inner tensors of one tile, as the arena planner packs them
    working_set          bytes of one tile: whole tensors, slices and scratch; what is copied there counts once
    extra_read/written   bytes beyond the first touch of each item, all tiles
    spilled              written tensor -> share of it that the cache lost and had back
    intermediate_bytes   read by ops of the group of what ops of the group wrote; hit_share: of these, from L2
    l2_read, l2_written  bytes between the cores and L2
    scratch_key          the scratch among the items
    place                where in the arena it lies; nowhere: in a buffer that all groups share
    """

    group: Group
    tiles: int
    halo: bool
    items: dict[int, Item]
    bytes: int
    reads: tuple[int, ...]
    writes: tuple[int, ...]
    dying: tuple[int, ...]
    scratch: int
    working_set: int
    extra_read: float
    extra_written: float
    spilled: dict[int, float]
    intermediate_bytes: int
    hit_share: float
    l2_read: float
    l2_written: float
    flops: float
    scratch_key: int = SCRATCH
    place: tuple[Range, ...] = ()


class _Touch(NamedTuple):
    tensor: int
    op: int
    place: int  # among the op's reads
    write: bool
    inner: bool
    whole: bool  # for every tile, of all outer samples
    held: bool  # for every tile of its outer sample
    last: bool  # nobody will need it: in the tile for a slice, ever for a whole tensor


@dataclass(frozen=True, slots=True)
class Body:
    """
    What the tiles of a run of ops touch, whatever the samples a tile; sums in bytes of all samples.

    group   of which it was made; piece, begin, end: the same run as `inside` gives it
    equal   every tile touches the same share of every tensor
    """

    group: Group
    piece: Piece
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

    def is_of(self, group: Group) -> bool:
        """Whether it is this group's body too, whose tiles may be of another size."""
        same = (self.group.begin, self.group.end) == (group.begin, group.end)
        return same and (self.group.lines == group.lines or not isinstance(self.piece, Inside))


def body_of(whole_piece: Piece, group: Group) -> Body:
    """The part of a footprint that all tile sizes share. Cost: linear in the touches."""
    piece, own = inside(whole_piece, group)
    begin, end = own.begin, own.end
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
        group=group,
        piece=piece,
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
    outer, inner = piece.tensors[t].outer, piece.stays_inside(t, begin, end)
    return _Touch(t, op, place, write, inner, t in whole and not outer, t in whole and outer, last)


@dataclass(slots=True)
class _Sizes:
    """
    One full tile of a body at so many samples.

    touches        bytes of each touch
    in_pages       the same, with the rest of the page in which each run of them ends
    inner          slices of each inner tensor that its buffer holds, of each outer sample in it
    kept           tensors of which lines are kept -> their bytes
    work           arithmetic of all tiles
    """

    touches: list[int]
    in_pages: list[int]
    inner: list[int]
    kept: dict[int, int]
    work: float


def _sizes(piece: Piece, body: Body, group: Group, page: int) -> _Sizes:
    flops = sum(op.flops for op in piece.ops[body.begin : body.end])
    if piece.is_of_samples(group):
        rows = [piece.rows(t) for t in body.inner.tensors]
        sizes = [_bytes_of_all(piece, x, group) for x in body.touches]
        return _Sizes(sizes, sizes, rows, {}, flops)
    if body.equal:
        extent = piece.extent(body.end - 1)
        sizes = [_bytes_of_all(piece, x, group) for x in body.touches]
        for k, x in enumerate(body.touches):
            if not x.whole and not x.held:
                sizes[k] = sizes[k] * group.samples // extent
        return _Sizes(sizes, sizes, [group.samples] * len(body.inner.tensors), {}, flops)

    spans = spans_of(piece, group, piece.steps(group) // 2)
    sizes: list[int] = []
    in_pages: list[int] = []
    for x in body.touches:
        size = counted = _bytes_of_all(piece, x, group)
        if not x.whole and not x.held:
            begin, end = spans.computed[x.tensor] if x.write else spans.read.get((x.op, x.place), (0, 0))
            size = counted = piece.slice_bytes(x.tensor) * (end - begin) * group.outer
            strips = piece.tensors[x.tensor].strips
            if not x.inner and strips > 1:
                all_ = piece.part_bytes(x.tensor) * group.outer
                counted = min(all_, size + strips * page * group.outer)  # each strip ends inside of a page
        sizes.append(size)
        in_pages.append(counted)
    row = {t: piece.slice_bytes(t) * group.outer for t in spans.needed}
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
    return _Sizes(sizes, in_pages, inner, kept, work)


def _bytes_of_all(piece: Piece, touch: _Touch, group: Group) -> int:
    """Bytes of a tensor that are of the outer samples of a tile."""
    return piece.part_bytes(touch.tensor) * (group.outer if piece.tensors[touch.tensor].outer else 1)


def footprint(body: Body, whole_group: Group, capacity: int, kind: CacheKind, page: int) -> Footprint:
    """
    The footprint of a group, a run of ops at so many samples a tile, on a cache of `capacity` bytes.

    page   bytes in which the cache counts
    cost   packing the scratch buffer; where two tiles exceed the cache, linear in the touches beside
    """
    piece, group = body.piece, whole_group._replace(begin=body.begin, end=body.end)
    tiles = piece.tiles(group)
    sizes = _sizes(piece, body, group, page)
    slices = [count * group.outer for count in sizes.inner]
    offsets, scratch = pack_inner(body.inner, slices, sizes.kept, (group.begin, group.end))
    items = body.items
    if scratch:
        items = {**items, SCRATCH: items[SCRATCH]._replace(bytes=scratch)}

    largest: dict[int, int] = {}
    for touch, size in zip(body.touches, sizes.in_pages, strict=True):
        if not touch.whole and not touch.inner:
            largest[touch.tensor] = max(size, largest.get(touch.tensor, 0))
    streams = sum(largest.values())
    twice = only_copied(piece, largest)  # in the scratch, too
    whole = sum(item.bytes for item in items.values() if not item.batched)
    fill = piece.extent(group.end - 1) / group.samples * piece.outer / group.outer / tiles
    walk = _Walk(body, sizes.in_pages, (tiles, piece.steps(group)), fill, capacity, kind)
    if whole + 2 * streams > capacity:
        walk.run(offsets, {t for t in body.writes if piece.tensors[t].output})

    moved = [0.0, 0.0]
    for touch, size in zip(body.touches, sizes.touches, strict=True):
        moved[touch.write] += size * tiles * (1 if touch.whole else fill)
    copied = sum(sizes.kept.values()) * tiles * fill
    shown = body.intermediate_bytes
    return Footprint(
        group=whole_group,
        tiles=tiles,
        halo=any(
            count * piece.extent(group.end - 1) > group.samples * piece.rows(t)
            for t, count in zip(body.inner.tensors, sizes.inner, strict=True)
        ),
        items=items,
        bytes=sum(item.bytes for item in items.values()),
        reads=body.reads,
        writes=body.writes,
        dying=body.dying,
        scratch=scratch,
        working_set=whole + sum(size for t, size in largest.items() if t not in twice),
        extra_read=walk.read,
        extra_written=walk.written,
        spilled={t: lost / piece.tensors[t].bytes for t, lost in walk.spilled.items()},
        intermediate_bytes=shown,
        hit_share=max(0.0, 1 - walk.missed_intermediates / shown) if shown else 1.0,
        l2_read=moved[False] + copied,
        l2_written=moved[True] + copied,
        flops=sizes.work,
    )


class _Walk:
    """
    Two tiles, range by range, through an LRU cache that is empty at first; the second stands for all others.

    read, written          bytes beyond the first touch of each range, all tiles
    missed_intermediates   of `read`, what the group's ops wrote
    spilled                tensor -> bytes of it that were written here, left the cache and were read again
    """

    def __init__(
        self, body: Body, sizes: list[int], tiles: tuple[int, int], fill: float, capacity: int, kind: CacheKind
    ):
        """tiles: all of them, and those of a round."""
        self.touches = list(zip(body.touches, sizes, strict=True))
        self.tiles, self.steps = tiles
        self.times = (1.0, (self.tiles - 1) * fill)  # a tile, in the bytes of a full one
        self.kind = kind

        self.read = 0.0
        self.written = 0.0
        self.missed_intermediates = 0.0
        self.spilled: dict[int, float] = {}

        self._cache = Extents(capacity)
        self._known: dict[int, tuple[Range, ...]] = {}  # buffer -> what was touched before
        self._lost: dict[int, int] = {}  # buffer -> bytes that left dirty, of what outlives the group

    def run(self, offsets: dict[int, int], outputs: set[int]) -> None:
        """
        offsets   of the inner tensors in the scratch buffer
        outputs   tensors that are written once in any case
        """
        for tile, times in enumerate(self.times):
            made: set[int] = set()
            for touch, size in self.touches:
                buffer, low = (SCRATCH, offsets[touch.tensor]) if touch.inner else (2 * touch.tensor, 0)
                held = touch.held and self.steps > 1
                if tile and not touch.inner and not touch.whole and not held:
                    buffer += 1
                scale = times
                if tile and (touch.whole or held):
                    # In the first tile of each round, what is held is new.
                    scale = self.tiles - 1 if touch.whole else self.tiles * (1 - 1 / self.steps)
                again = self._touch(buffer, low, low + size, write=touch.write)
                if again and not touch.write:
                    self._miss(buffer, touch, again, scale, made, outputs)
                elif again and self.kind == "write-allocate":
                    self.read += again * scale
                if touch.write:
                    made.add(touch.tensor)
                if touch.last and self.kind == "hints":
                    self._cache.clean(buffer, low, low + size)
                self._settle(times)

    def _touch(self, buffer: int, low: int, high: int, *, write: bool) -> int:
        """How many of these bytes were touched before and are not in the cache."""
        missing = list(self._cache.touch(buffer, low, high, write=write))
        known = self._known.get(buffer, ())
        again = 0
        if known and missing:
            again = sum(common_bytes(known, begin, end) for begin, end in missing)
        if missing and again < sum(end - begin for begin, end in missing):
            self._known[buffer] = (*without(known, low, high), (low, high))
        return again

    def _miss(self, buffer: int, touch: _Touch, again: int, scale: float, made: set[int], outputs: set[int]) -> None:
        self.read += again * scale
        if touch.tensor in made:
            self.missed_intermediates += again * scale
        lost = min(again, self._lost.get(buffer, 0))
        if lost and touch.tensor not in outputs:
            self._lost[buffer] -= lost
            self.written += lost * scale
            self.spilled[touch.tensor] = self.spilled.get(touch.tensor, 0.0) + lost * scale

    def _settle(self, times: float) -> None:
        for buffer, count in self._cache.evicted:
            if buffer == SCRATCH:
                self.written += count * times
            else:
                self._lost[buffer] = self._lost.get(buffer, 0) + count
        self._cache.evicted.clear()
