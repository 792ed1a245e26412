"""
Emits what a plan touches, in order, for the judge: buffer i is tensor i, then the arena, then the tiles' scratch.

    Group(0, 2, samples=2) of a batch of 4:   tile 0: conv1 reads x[0:2], w1; writes scratch; conv2 reads scratch ...
                                              tile 1: conv1 reads x[2:4], w1; ...

Uses none of the model's formulas but which rows a tile touches (rows.py). All groups share one scratch buffer, as
they share one arena when they run.
"""

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass

from .arena import Buffer, arena_size, plan_offsets
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
    return InnerBuffers(
        tuple(inner),
        tuple(piece.tensors[t].bytes // piece.rows(t) for t in inner),
        tuple((piece.producer[t], piece.last_touch[t] + 1) for t in inner),
    )


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


def scratch_offsets(piece: Piece, group: Group) -> tuple[dict[int, int], int]:
    """Inner tensor -> its offset in the scratch memory of a group's tile; and the bytes of that memory."""
    inner = inner_buffers(piece, group.begin, group.end)
    found = [spans_of(piece, group, k) for k in range(piece.tiles(group))]
    most = [max(end - begin for s in found for begin, end in (s.needed.get(t, (0, 0)),)) for t in inner.tensors]
    kept = {t for s in found for t in inner.tensors if group.lines and s.needed.get(t) != s.computed.get(t)}
    return pack_inner(inner, most, kept, (group.begin, group.end))


def memory_of(piece: Piece, plan: Plan) -> Memory:
    """The buffers that `trace_of` speaks of."""
    arena = max((t.address + t.bytes for t in piece.tensors if t.address is not None), default=0)
    scratch = max((scratch_offsets(piece, group)[1] for group in plan), default=0)
    count = len(piece.tensors)
    return Memory((*(t.bytes for t in piece.tensors), arena, scratch), count, count + 1)


def trace_of(piece: Piece, plan: Plan) -> Iterator[Access]:
    """
    The accesses of a plan. A tensor is dead at the last op that touches it, slice by slice, but for slices that the
    next tile touches too.
    """
    for group in plan:
        if group.end - group.begin == 1 and not piece.ops[group.begin].tileable:
            yield from _untiled(piece, group.begin)
            continue
        inside, _ = scratch_offsets(piece, group)
        count = piece.tiles(group)
        ahead = spans_of(piece, group, 0)
        for tile in range(count):
            spans, ahead = ahead, spans_of(piece, group, tile + 1) if tile + 1 < count else Spans()
            yield from _Tile(piece, group, inside, spans, ahead, tile + 1 == count).accesses()


def replay(piece: Piece, plan: Plan, cache_bytes: int, kind: CacheKind, page: int = 4096) -> Replayed:
    """Judge a plan by the trace that it gives."""
    memory = memory_of(piece, plan)
    outputs = [i for i, t in enumerate(piece.tensors) if t.output]
    return judge(trace_of(piece, plan), memory.sizes, outputs, cache_bytes, kind, page)


def _untiled(piece: Piece, k: int) -> Iterator[Access]:
    for t in dict.fromkeys(piece.ops[k].reads):
        yield from _whole(piece, k, t, write=False)
    for t in piece.ops[k].writes:
        yield from _whole(piece, k, t, write=True)


def _whole(piece: Piece, k: int, t: int, *, write: bool, final: bool = True) -> Iterator[Access]:
    dead = final and piece.last_touch[t] == k and not piece.tensors[t].output
    yield _at_home(piece, t, 0, piece.tensors[t].bytes, write, dead)


@dataclass(frozen=True, slots=True)
class _Tile:
    """One tile of a group; `ahead` are the rows of the next one."""

    piece: Piece
    group: Group
    inside: dict[int, int]
    spans: Spans
    ahead: Spans
    final: bool

    def accesses(self) -> Iterator[Access]:
        for t, (begin, _) in self.spans.needed.items() if self.group.lines else ():
            fresh = self.spans.computed[t][0]
            if t in self.inside and begin < fresh:
                yield from self._inner(t, begin, fresh, write=False, dead=False)
                yield from self._inner(t, begin, fresh, write=True, dead=False)
        for k in range(self.group.begin, self.group.end):
            op = self.piece.ops[k]
            seen: set[tuple[int, tuple[int, int] | None]] = set()
            for place, t in enumerate(op.reads):
                span = self.spans.read.get((k, place))
                if (t, span) in seen:
                    continue
                seen.add((t, span))
                if span is None:
                    yield from _whole(self.piece, k, t, write=False, final=self.final)
                else:
                    later = self.ahead.read.get((k, place), (span[1], span[1]))[0]
                    yield from self._rows(k, t, span, later, write=False)
            for t in op.writes:
                yield from self._rows(k, t, self.spans.computed[t], self.spans.computed[t][1], write=True)

    def _rows(self, k: int, t: int, span: tuple[int, int], later: int, *, write: bool) -> Iterator[Access]:
        """Rows of a tensor, of which the next tile touches those from `later` on."""
        begin, end = span
        dead = self.piece.last_touch[t] == k and not self.piece.tensors[t].output
        if t in self.inside:
            yield from self._inner(t, begin, end, write=write, dead=dead)
            return
        cut = min(max(begin, later), end)
        for first, stop, gone in ((begin, cut, dead), (cut, end, dead and self.final)):
            tensor = self.piece.tensors[t]
            plane = tensor.bytes // tensor.strips
            row = plane // self.piece.rows(t)
            for strip in range(tensor.strips if stop > first else 0):
                yield _at_home(self.piece, t, strip * plane + first * row, (stop - first) * row, write, gone)

    def _inner(self, t: int, begin: int, end: int, *, write: bool, dead: bool) -> Iterator[Access]:
        row = self.piece.tensors[t].bytes // self.piece.rows(t)
        at = self.inside[t] + (begin - self.spans.needed[t][0]) * row
        if end > begin:
            yield Access(len(self.piece.tensors) + 1, at, (end - begin) * row, write, dead)


def _at_home(piece: Piece, t: int, offset: int, length: int, write: bool, last: bool) -> Access:
    address = piece.tensors[t].address
    if address is None:
        return Access(t, offset, length, write, last)
    return Access(len(piece.tensors), address + offset, length, write, last)
