"""
Emits what a plan touches, in order, for the judge: buffer i is tensor i, then the arena, then the tiles' scratch.

    Group(0, 2, samples=2) of a batch of 4:   tile 0: conv1 reads x[0:2], w1; writes scratch; conv2 reads scratch ...
                                              tile 1: conv1 reads x[2:4], w1; ...

Uses none of the model's formulas. All groups share one scratch buffer, as they share one arena when they run.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from .arena import Buffer, arena_size, plan_offsets
from .judge import Access, CacheKind, Replayed, judge
from .piece import Group, Piece, Plan


@dataclass(frozen=True)
class Memory:
    """Buffers of a trace: their sizes, and the two that several tensors share."""

    sizes: tuple[int, ...]
    arena: int
    scratch: int


@dataclass(frozen=True, slots=True)
class InnerBuffers:
    """Tensors that never leave a group's tile: bytes of one sample, and the ops between which they live."""

    tensors: tuple[int, ...]
    sample_bytes: tuple[int, ...]
    lives: tuple[tuple[int, int], ...]


def inner_buffers(piece: Piece, begin: int, end: int) -> InnerBuffers:
    """The inner tensors of a group of ops [begin, end), in the order in which they are written."""
    inner = [t for op in piece.ops[begin:end] for t in op.writes if piece.stays_inside(t, begin, end)]
    return InnerBuffers(
        tuple(inner),
        tuple(piece.tensors[t].bytes // piece.batch for t in inner),
        tuple((piece.producer[t], piece.last_touch[t] + 1) for t in inner),
    )


def pack_inner(inner: InnerBuffers, samples: int) -> tuple[dict[int, int], int]:
    """Where the inner tensors of a tile of so many samples lie in scratch memory, and its bytes; the arena plans it."""
    if not inner.tensors:
        return {}, 0
    sizes = zip(inner.lives, inner.sample_bytes, strict=True)
    buffers = [Buffer(begin, end, size * samples) for (begin, end), size in sizes]
    offsets = plan_offsets(buffers)
    return dict(zip(inner.tensors, offsets, strict=True)), arena_size(buffers, offsets)


def scratch_offsets(piece: Piece, group: Group) -> tuple[dict[int, int], int]:
    """Inner tensor -> its offset in the scratch memory of a group's tile; and the bytes of that memory."""
    return pack_inner(inner_buffers(piece, group.begin, group.end), group.samples)


def memory_of(piece: Piece, plan: Plan) -> Memory:
    """The buffers that `trace_of` speaks of."""
    arena = max((t.address + t.bytes for t in piece.tensors if t.address is not None), default=0)
    scratch = max((scratch_offsets(piece, group)[1] for group in plan), default=0)
    count = len(piece.tensors)
    return Memory((*(t.bytes for t in piece.tensors), arena, scratch), count, count + 1)


def trace_of(piece: Piece, plan: Plan) -> Iterator[Access]:
    """The accesses of a plan. A tensor is dead at the last op that touches it, slice by slice."""
    for group in plan:
        inside, _ = scratch_offsets(piece, group)
        for start in range(0, piece.batch, group.samples):
            samples = min(group.samples, piece.batch - start)
            for k in range(group.begin, group.end):
                op = piece.ops[k]
                for t in dict.fromkeys(op.reads):
                    yield _access(piece, k, t, start, samples, inside, write=False)
                for t in op.writes:
                    yield _access(piece, k, t, start, samples, inside, write=True)


def replay(piece: Piece, plan: Plan, cache_bytes: int, kind: CacheKind, page: int = 4096) -> Replayed:
    """Judge a plan by the trace that it gives."""
    memory = memory_of(piece, plan)
    outputs = [i for i, t in enumerate(piece.tensors) if t.output]
    return judge(trace_of(piece, plan), memory.sizes, outputs, cache_bytes, kind, page)


def _access(piece: Piece, op: int, t: int, start: int, samples: int, inside: dict[int, int], *, write: bool) -> Access:
    tensor = piece.tensors[t]
    last = piece.last_touch[t] == op and not tensor.output
    if not tensor.batched:
        return _at_home(piece, t, 0, tensor.bytes, write, last and start + samples == piece.batch)

    slice_bytes = tensor.bytes // piece.batch
    if t in inside:
        return Access(len(piece.tensors) + 1, inside[t], slice_bytes * samples, write, last)
    return _at_home(piece, t, slice_bytes * start, slice_bytes * samples, write, last)


def _at_home(piece: Piece, t: int, offset: int, length: int, write: bool, last: bool) -> Access:
    address = piece.tensors[t].address
    if address is None:
        return Access(t, offset, length, write, last)
    return Access(len(piece.tensors), address + offset, length, write, last)
