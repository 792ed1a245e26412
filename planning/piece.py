"""
A piece of a graph as the traffic model, the search and the trace see it: tensors, ops in order, one axis to cut.

    conv1: x, w1 -> a      Piece(batch=32, tensors=(x, w1, a), ops=(Op("conv1", reads=(0, 1), writes=(2,)),))
                           x, a   batched: sample k is the k-th of 32 equal parts
                           w1     not batched: read whole for every tile

A plan cuts the ops into consecutive `Group`s. A group runs tile by tile: all its ops on the first `samples` samples,
then on the next. A group of one op is that op by itself, as its own kernel walks over the batch.

The axis may be another than the batch, rows say: then each tensor has its own number of them, a `Window` says which
rows of an operand some rows of a result need, and `samples` counts rows of what the group's last op writes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple


class Window(NamedTuple):
    """
    Rows [begin, end) of a result need rows [begin * scale / per - before, end * scale / per + after) of the operand:
    the first rounded down, the other up, both clipped to what there is.
    """

    scale: int = 1
    per: int = 1
    before: int = 0
    after: int = 0

    def rows(self, begin: int, end: int, extent: int) -> tuple[int, int]:
        """The rows of an operand that has `extent` of them; at least one."""
        first = max(0, begin * self.scale // self.per - self.before)
        stop = min(extent, -(-end * self.scale // self.per) + self.after)
        first = min(first, extent - 1)
        return first, max(first + 1, stop)


@dataclass(frozen=True, slots=True)
class Tensor:
    """
    bytes     of all samples together; views of one buffer (reshapes) are one tensor
    batched   equal slices, one a sample; otherwise every tile touches it whole (weights)
    output    a result of the piece: its bytes must reach memory
    address   offset in the arena that is used when the tensor is not inside a group; None: addresses of its own
    rows      equal slices where they are not the piece's samples; 0: they are
    strips    runs of bytes that a tile of it is: as many as there are elements before the axis
    over      the tensor that its writer reads and overwrites with it, at the same addresses
    """

    name: str
    bytes: int
    batched: bool = True
    output: bool = False
    address: int | None = None
    rows: int = 0
    strips: int = 1
    over: int | None = None


@dataclass(frozen=True, slots=True)
class Op:
    """
    Indices of tensors, and the work of all samples.

    tileable   it computes a slice of samples from slices
    windows    which slices of each read; None: all of it. Where there are none: the same as of the result
    alike      away from the borders its tiles are one op, if they are a multiple of rows that its windows say
    """

    name: str
    reads: tuple[int, ...]
    writes: tuple[int, ...]
    flops: float = 0
    tileable: bool = True
    windows: tuple[Window | None, ...] = ()
    alike: bool = True


class Group(NamedTuple):
    """
    Ops [begin, end), `samples` samples a tile. Where windows overlap, the next tile needs rows that this one computed:
    they are computed again, or, with `lines`, kept.
    """

    begin: int
    end: int
    samples: int
    lines: bool = False


Plan = Sequence[Group]
"""Groups that cover all ops of a piece in order."""


@dataclass(frozen=True)
class Piece:
    """
    raises   ValueError where a tensor is written twice or after it is read, a batched tensor has no equal slices, or
             a tileable op writes a tensor that is not batched
    """

    batch: int
    tensors: tuple[Tensor, ...]
    ops: tuple[Op, ...]

    def __post_init__(self) -> None:
        if self.batch < 1:
            raise ValueError(f"a batch has at least one sample, got {self.batch}")
        for tensor in self.tensors:
            rows = tensor.rows or self.batch
            if tensor.batched and tensor.bytes % rows:
                raise ValueError(f"'{tensor.name}': {tensor.bytes} bytes are not {rows} equal slices")

        seen: set[int] = set()
        for op in self.ops:
            seen.update(op.reads)
            for t in op.writes:
                name = self.tensors[t].name
                if t in seen:
                    raise ValueError(f"'{op.name}' writes '{name}', which was written or read before")
                if op.tileable and not self.tensors[t].batched:
                    raise ValueError(f"'{op.name}' is tileable but '{name}', its result, is not batched")
            seen.update(op.writes)

    @cached_property
    def producer(self) -> dict[int, int]:
        """Tensor -> the op that writes it; inputs and weights have none."""
        return {t: k for k, op in enumerate(self.ops) for t in op.writes}

    @cached_property
    def last_touch(self) -> dict[int, int]:
        """Tensor -> the last op that reads or writes it."""
        return {t: k for k, op in enumerate(self.ops) for t in (*op.reads, *op.writes)}

    def rows(self, t: int) -> int:
        """Slices of a batched tensor."""
        return self.tensors[t].rows or self.batch

    def extent(self, k: int) -> int:
        """Slices that op k computes; the batch where it does not tile."""
        op = self.ops[k]
        return self.rows(op.writes[0]) if op.tileable and op.writes else self.batch

    def tiles(self, group: Group) -> int:
        return -(-self.extent(group.end - 1) // group.samples)

    def reads_whole(self, k: int, t: int) -> bool:
        """Whether op k reads all of t for every slice of its result."""
        op = self.ops[k]
        if not self.tensors[t].batched:
            return True
        return bool(op.windows) and any(u == t and w is None for u, w in zip(op.reads, op.windows, strict=True))

    @cached_property
    def storage(self) -> tuple[int, ...]:
        """Tensor -> the first of those that lie one over the other where it lies."""
        found = list(range(len(self.tensors)))
        for op in self.ops:
            for t in op.writes:
                over = self.tensors[t].over
                if over is not None:
                    found[t] = found[over]
        return tuple(found)

    def is_source(self, t: int) -> bool:
        """An input or a weight: in memory before the first op."""
        return t not in self.producer

    def stays_inside(self, t: int, begin: int, end: int) -> bool:
        """Written in ops [begin, end), a tiled group, and needed by nobody outside: it lives in scratch memory."""
        return (
            end - begin > 1
            and begin <= self.producer.get(t, -1)
            and self.last_touch[t] < end
            and not self.tensors[t].output
        )

    def compulsory_bytes(self) -> int:
        """Every input, weight and output once: no schedule moves less to and from memory."""
        used = self.last_touch
        return sum(t.bytes for i, t in enumerate(self.tensors) if i in used and (t.output or self.is_source(i)))


def balanced(batch: int, samples: int) -> int:
    """Samples a tile such that no more tiles are needed but the last is as full as can be."""
    tiles = -(-batch // samples)
    return -(-batch // tiles)
