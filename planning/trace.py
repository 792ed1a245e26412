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


def scratch_offsets(piece: Piece, group: Group) -> tuple[dict[int, int], int]:
    """
    Where a tile's inner tensors lie in the scratch buffer, and its bytes: what the arena planner makes of them.
    """
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    for k in range(group.begin, group.end):
        op = piece.ops[k]
        for t in (*op.reads, *op.writes):
            if piece.stays_inside(t, group):
                first.setdefault(t, k)
                last[t] = k
    buffers = [Buffer(first[t], last[t] + 1, piece.tensors[t].bytes // piece.batch * group.samples) for t in first]
    offsets = plan_offsets(buffers)
    return dict(zip(first, offsets, strict=True)), arena_size(buffers, offsets)


def memory_of(piece: Piece, plan: Plan) -> Memory:
    """The buffers that `trace_of` speaks of."""
    arena = max((t.address + t.bytes for t in piece.tensors if t.address is not None), default=0)
    scratch = max((scratch_offsets(piece, group)[1] for group in plan if group.end - group.begin > 1), default=0)
    count = len(piece.tensors)
    return Memory((*(t.bytes for t in piece.tensors), arena, scratch), count, count + 1)


def trace_of(piece: Piece, plan: Plan) -> Iterator[Access]:
    """The accesses of a plan. A tensor is dead at the last op that touches it, slice by slice."""
    for group in plan:
        inside = scratch_offsets(piece, group)[0] if group.end - group.begin > 1 else {}
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
