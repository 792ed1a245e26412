"""
Emits what a plan touches, in order, for the judge: buffer i is tensor i, then the arena, then the tiles' scratch.

    Group(0, 2, samples=2) of a batch of 4:   tile 0: conv1 reads x[0:2], w1; writes scratch; conv2 reads scratch ...
                                              tile 1: conv1 reads x[2:4], w1; ...

Uses none of the model's formulas but which rows a tile touches (rows.py). All groups share one scratch buffer, as
they share one arena when they run; it lies where its inner tensors have addresses, if they have.
"""

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass

from .arena import Buffer, arena_size, plan_offsets
from .dead import Range
from .inside import Inside, inside
from .judge import Access, CacheKind, Replayed, judge
from .piece import Group, Piece, Plan
from .rows import Spans, spans_of


@dataclass(frozen=True)
class Memory:
    """Buffers of a trace: their sizes, and the two that several tensors share."""

    sizes: tuple[int, ...]
    arena: int
    scratch: int


@dataclass(frozen=True, slots=True)
class InnerBuffers:
    """Tensors that never leave a group's tile: bytes of one slice, and the ops between which they live."""

    tensors: tuple[int, ...]
    slice_bytes: tuple[int, ...]
    lives: tuple[tuple[int, int], ...]


def inner_buffers(piece: Piece, begin: int, end: int) -> InnerBuffers:
    """The inner tensors of a group of ops [begin, end), in the order in which they are written."""
    inner = [t for op in piece.ops[begin:end] for t in op.writes if piece.stays_inside(t, begin, end)]
    lives = {t: (piece.producer[t], piece.last_touch[t] + 1) for t in inner}
    for parts in piece.together if isinstance(piece, Inside) else ():
        life = min(lives[t][0] for t in parts), max(lives[t][1] for t in parts)
        lives.update(dict.fromkeys(parts, life))
    return InnerBuffers(tuple(inner), tuple(map(piece.slice_bytes, inner)), tuple(lives.values()))


def pack_inner(
    inner: InnerBuffers, rows: Sequence[int], kept: Container[int] = (), whole: tuple[int, int] = (0, 0)
) -> tuple[dict[int, int], int]:
    """
    Where the inner tensors of a tile lie in scratch memory, and its bytes; the arena plans it.

    rows    slices of each in a tile
    kept    tensors of which lines are kept: these live for the whole group, ops [begin, end) of `whole`
    """
    if not inner.tensors:
        return {}, 0
    lives = [whole if t in kept else life for t, life in zip(inner.tensors, inner.lives, strict=True)]
    sizes = zip(lives, inner.slice_bytes, rows, strict=True)
    buffers = [Buffer(begin, end, size * count) for (begin, end), size, count in sizes]
    offsets = plan_offsets(buffers)
    return dict(zip(inner.tensors, offsets, strict=True)), arena_size(buffers, offsets)


class Scratch:
    """
    Where the inner tensors of each of a group's tiles lie in its scratch memory, of a piece and a group as `inside`
    gives them.

    spans   of each tile of a round
    bytes   of the scratch memory: the largest tile's
    """

    def __init__(self, piece: Piece, group: Group):
        self._piece, self._group = piece, group
        self._inner = inner_buffers(piece, group.begin, group.end)
        by_rows = piece.ops[group.end - 1].tileable and not piece.is_of_samples(group)
        self.spans = [spans_of(piece, group, k) if by_rows else Spans() for k in range(piece.steps(group))]
        self._known: dict[tuple[int, ...], tuple[dict[int, int], int]] = {}
        self._most: list[int] | None = None
        self._kept: set[int] = set()
        if group.lines and by_rows:
            tensors = self._inner.tensors
            self._most = [max(s.needed[t][1] - s.needed[t][0] for s in self.spans if t in s.needed) for t in tensors]
            self._kept = {t for s in self.spans for t in tensors if s.needed.get(t) != s.computed.get(t)}
        rest = piece.outer % group.outer or group.outer
        tiles = [(k, count) for k in range(len(self.spans)) for count in {group.outer, rest}]
        self.bytes = max((self._packed(k, count)[1] for k, count in tiles), default=0) if self._inner.tensors else 0

    def offsets(self, tile: int, samples: int) -> dict[int, int]:
        """Inner tensor -> its offset, in a tile of a round over so many outer samples."""
        return self._packed(tile, samples)[0] if self._inner.tensors else {}

    def _packed(self, tile: int, samples: int) -> tuple[dict[int, int], int]:
        tensors, needed = self._inner.tensors, self.spans[tile].needed
        rows = self._most or [needed[t][1] - needed[t][0] if t in needed else self._piece.rows(t) for t in tensors]
        sizes = tuple(count * samples for count in rows)
        if sizes not in self._known:
            whole = self._group.begin, self._group.end
            self._known[sizes] = pack_inner(self._inner, sizes, self._kept, whole)
        return self._known[sizes]


def memory_of(piece: Piece, plan: Plan) -> Memory:
    """The buffers that `trace_of` speaks of."""
    ends = [t.address + t.bytes for t in piece.tensors if t.address is not None]
    scratch = 0
    for group in plan:
        needed = Scratch(*inside(piece, group)).bytes
        place = piece.place_of_scratch(group.begin, group.end, needed) if needed else ()
        ends += [end for _, end in place]
        scratch = max(scratch, needed)
    count = len(piece.tensors)
    return Memory((*(t.bytes for t in piece.tensors), max(ends, default=0), scratch), count, count + 1)


def trace_of(piece: Piece, plan: Plan) -> Iterator[Access]:
    """
    The accesses of a plan. A tensor is dead at the last op that touches it, slice by slice, but for slices that the
    next tile touches too.
    """
    arena = len(piece.tensors)
    for group in plan:
        local, own = inside(piece, group)
        scratch = Scratch(local, own)
        place = piece.place_of_scratch(group.begin, group.end, scratch.bytes) if scratch.bytes else ()
        for begin in range(0, piece.outer, group.outer):
            samples = begin, min(piece.outer, begin + group.outer)
            for k, (here, ahead) in enumerate(zip(scratch.spans, [*scratch.spans[1:], None], strict=True)):
                offsets = scratch.offsets(k, samples[1] - samples[0])
                yield from _Tile(local, own, arena, offsets, place, samples, here, ahead).accesses()


def replay(piece: Piece, plan: Plan, cache_bytes: int, kind: CacheKind, page: int = 4096) -> Replayed:
    """Judge a plan by the trace that it gives."""
    memory = memory_of(piece, plan)
    outputs = [i for i, t in enumerate(piece.tensors) if t.output]
    return judge(trace_of(piece, plan), memory.sizes, outputs, cache_bytes, kind, page)


@dataclass(frozen=True, slots=True)
class _Tile:
    """
    One tile of a group, of outer samples [begin, end); `ahead` are the rows of the next one of the round, if any. The
    arena is buffer number `arena`, and the scratch memory of all groups the next.
    """

    piece: Piece
    group: Group
    arena: int
    inside: dict[int, int]
    place: tuple[Range, ...]
    samples: tuple[int, int]
    spans: Spans
    ahead: Spans | None

    def accesses(self) -> Iterator[Access]:
        for t, (begin, _) in self.spans.needed.items() if self.group.lines else ():
            fresh = self.spans.computed[t][0]
            if t in self.inside and begin < fresh:
                yield from self._inner(t, begin, fresh, write=False, dead=False)
                yield from self._inner(t, begin, fresh, write=True, dead=False)
        for k in range(self.group.begin, self.group.end):
            op = self.piece.ops[k]
            made = [self.spans.computed.get(t) for t in op.writes]
            if made and all(span is not None and span[0] >= span[1] for span in made):
                continue  # all that the tile needs of it is there
            seen: set[tuple[int, tuple[int, int] | None]] = set()
            for place, t in enumerate(op.reads):
                span = self.spans.read.get((k, place))
                if (t, span) in seen:
                    continue
                seen.add((t, span))
                if span is None:
                    yield from self._whole(k, t, write=False)
                else:
                    later = self.ahead.read.get((k, place), (span[1], span[1]))[0] if self.ahead else span[1]
                    yield from self._rows(k, t, span, later, write=False)
            for t in op.writes:
                span = self.spans.computed.get(t)
                if span is None:
                    yield from self._whole(k, t, write=True)
                else:
                    yield from self._rows(k, t, span, span[1], write=True)

    def _whole(self, k: int, t: int, *, write: bool) -> Iterator[Access]:
        """All of a tensor, or all of it that is of the tile's outer samples."""
        part, outer = self.piece.part_bytes(t), self.piece.tensors[t].outer
        begin, end = self.samples if outer else (0, 1)
        if t in self.inside:
            length = (end - begin) * part
            yield from self._in_scratch(self.inside[t], length, write, self._dies(k, t))
            return
        final = self.ahead is None and (outer or self.samples[1] == self.piece.outer)
        yield self._at_home(t, begin * part, (end - begin) * part, write, final and self._dies(k, t))

    def _rows(self, k: int, t: int, span: tuple[int, int], later: int, *, write: bool) -> Iterator[Access]:
        """Rows of a tensor, of which the next tile touches those from `later` on."""
        begin, end = span
        dead = self._dies(k, t)
        if t in self.inside:
            yield from self._inner(t, begin, end, write=write, dead=dead)
            return
        cut = min(max(begin, later), end)
        for first, stop, gone in ((begin, cut, dead), (cut, end, dead and self.ahead is None)):
            for offset, length in self._runs(t, first, stop):
                yield self._at_home(t, offset, length, write, gone)

    def _runs(self, t: int, first: int, stop: int) -> Iterator[tuple[int, int]]:
        """(offset, bytes) of rows, in the order in which they lie."""
        part, row = self.piece.part_bytes(t), self.piece.slice_bytes(t)
        begin, end = self.samples
        if stop - first == self.piece.rows(t):
            yield begin * part, (end - begin) * part
            return
        strips = self.piece.tensors[t].strips
        for sample in range(begin, end if stop > first else begin):
            for strip in range(strips):
                yield sample * part + (strip * part + first * row) // strips, (stop - first) * row // strips

    def _inner(self, t: int, begin: int, end: int, *, write: bool, dead: bool) -> Iterator[Access]:
        row = self.piece.slice_bytes(t) * (self.samples[1] - self.samples[0])
        at = self.inside[t] + (begin - self.spans.needed[t][0]) * row
        if end > begin:
            yield from self._in_scratch(at, (end - begin) * row, write, dead)

    def _in_scratch(self, at: int, length: int, write: bool, dead: bool) -> Iterator[Access]:
        """Bytes of the scratch memory: in the arena where the inner tensors would lie, or in a buffer of all groups."""
        end = at + length
        if not self.place:
            yield Access(self.arena + 1, at, length, write, dead)
        here = 0
        for low, high in self.place:
            first, stop = max(at, here), min(end, here + high - low)
            if first < stop:
                yield Access(self.arena, low + first - here, stop - first, write, dead)
            here += high - low

    def _dies(self, k: int, t: int) -> bool:
        return self.piece.last_touch[t] == k and not self.piece.tensors[t].output

    def _at_home(self, t: int, offset: int, length: int, write: bool, last: bool) -> Access:
        address = self.piece.tensors[t].address
        if address is None:
            return Access(t, offset, length, write, last)
        return Access(self.arena, address + offset, length, write, last)
