"""
A piece of a graph as the traffic model, the search and the trace see it: tensors, ops in order, one axis to cut.

    conv1: x, w1 -> a      Piece(batch=32, tensors=(x, w1, a), ops=(Op("conv1", reads=(0, 1), writes=(2,)),))
                           x, a   batched: sample k is the k-th of 32 equal parts
                           w1     not batched: read whole for every tile

A plan cuts the ops into consecutive `Group`s. A group runs tile by tile: all its ops on the first `samples` samples,
then on the next. A group of one op is that op by itself, as its own kernel walks over the batch.

The axis may be another than the batch, rows say: then each tensor has its own number of them, a `Window` says which
rows of an operand some rows of a result need, and `samples` counts rows of what the group's last op writes.

Rows may be those of one of several samples, `outer` of them: a group runs tile by tile over the rows of the first, then
over those of the next. A tensor that is one equal part for each sample says so; others are the same for all.

    Piece(outer=8, ..)   x: 8 images of 56 rows, outer, rows=56
                         Group(0, 2, samples=16): 8 times tiles of 16, 16, 16 and 8 rows
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from .dead import Range, first_bytes, merged


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
    outer     one equal part for each of the piece's outer samples: `rows` and `strips` are of one. All of a part that
              is not batched is touched by each tile of its sample
    """

    name: str
    bytes: int
    batched: bool = True
    output: bool = False
    address: int | None = None
    rows: int = 0
    strips: int = 1
    over: int | None = None
    outer: bool = False


class Part(NamedTuple):
    """
    A tensor that lies beside others.

    via        the join through which it is one of them; -1: none
    in_place   nobody else reads it, and an op makes it: in tiles it is computed where it is joined
    """

    tensor: int
    via: int = -1
    in_place: bool = False


class Beside(NamedTuple):
    """
    Tensors that lie side by side, as a concatenation wants its operands: it moves no byte. So do the parts of what is
    cut. In tiles of a group they do not lie so, and are copied (inside.py).

    at     ops before it
    last   the last op that reads them through it
    """

    at: int
    last: int
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Op:
    """
    Indices of tensors, and the work of all samples.

    tileable   it computes a slice of samples from slices
    windows    which slices of each read; None: all of it. Where there are none: the same as of the result
    alike      away from the borders its tiles are one op, if they are a multiple of rows that its windows say
    outer      it computes an outer sample from those of its operands; its own kernel walks over them
    via        for each read the join through which it is one, -1 where it is none; nothing if all are
    """

    name: str
    reads: tuple[int, ...]
    writes: tuple[int, ...]
    flops: float = 0
    tileable: bool = True
    windows: tuple[Window | None, ...] = ()
    alike: bool = True
    outer: bool = False
    via: tuple[int, ...] = ()


class Group(NamedTuple):
    """
    Ops [begin, end), `samples` samples a tile. Where windows overlap, the next tile needs rows that this one computed:
    they are computed again, or, with `lines`, kept. Of the piece's outer samples a tile takes so many.
    """

    begin: int
    end: int
    samples: int
    lines: bool = False
    outer: int = 1


Plan = Sequence[Group]
"""Groups that cover all ops of a piece in order."""


@dataclass(frozen=True)
class Piece:
    """
    joins    what lies side by side, in the order of `at`
    scratch  (begin, end) of a group -> where in the arena its inner tensors lie while it runs in tiles; of other groups
             `place_of_scratch` supposes it
    raises   ValueError where a tensor is written twice or after it is read, a batched tensor has no equal slices (in
             each outer sample), or a tileable op writes a tensor that is not batched
    """

    batch: int
    tensors: tuple[Tensor, ...]
    ops: tuple[Op, ...]
    outer: int = 1
    joins: tuple[Beside, ...] = ()
    scratch: Mapping[tuple[int, int], tuple[Range, ...]] = field(
        default_factory=dict[tuple[int, int], tuple[Range, ...]], hash=False
    )

    def __post_init__(self) -> None:
        if self.batch < 1 or self.outer < 1:
            raise ValueError(f"a batch has at least one sample, got {min(self.batch, self.outer)}")
        for tensor in self.tensors:
            slices = (tensor.rows or self.batch if tensor.batched else 1) * (self.outer if tensor.outer else 1)
            if tensor.bytes % slices:
                raise ValueError(f"'{tensor.name}': {tensor.bytes} bytes are not {slices} equal slices")
            if tensor.batched and not tensor.outer and self.outer > 1:
                raise ValueError(f"'{tensor.name}' has slices, but not of each outer sample")

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
        """Slices of a batched tensor, of one outer sample."""
        return self.tensors[t].rows or self.batch

    def part_bytes(self, t: int) -> int:
        """Bytes of a tensor that are of one outer sample; all of them where it is the same for all."""
        return self.tensors[t].bytes // (self.outer if self.tensors[t].outer else 1)

    def slice_bytes(self, t: int) -> int:
        return self.part_bytes(t) // self.rows(t)

    def extent(self, k: int) -> int:
        """Slices that op k computes of an outer sample; the batch where it does not tile."""
        op = self.ops[k]
        return self.rows(op.writes[0]) if op.tileable and op.writes else self.batch

    def tiles(self, group: Group) -> int:
        return self.rounds(group) * self.steps(group)

    def rounds(self, group: Group) -> int:
        """Times that a group walks over slices: once for so many outer samples."""
        return -(-self.outer // group.outer)

    def steps(self, group: Group) -> int:
        """Tiles of each round."""
        return -(-self.extent(group.end - 1) // group.samples)

    def is_of_samples(self, group: Group) -> bool:
        """Whether its tiles are outer samples as a whole."""
        return self.outer > 1 and group.samples == self.extent(group.end - 1)

    def reads_whole(self, k: int, t: int) -> bool:
        """Whether op k reads all of t (of its outer sample, if it has them) for every slice of its result."""
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

    def place_of_scratch(self, begin: int, end: int, count: int) -> tuple[Range, ...]:
        """
        The `count` bytes of the arena where the inner tensors of ops [begin, end) lie in tiles: what is known of them,
        or the first bytes where they would lie as a whole; () if these are fewer.
        """
        known = self.scratch.get((begin, end), ())
        if known:
            low, high = known[-1]
            missing = count - sum(b - a for a, b in known)  # alignment, or the arena packs them better than we
            return first_bytes((*known[:-1], (low, high + max(0, missing))), count)
        inner = (t for op in self.ops[begin:end] for t in op.writes if self.stays_inside(t, begin, end))
        places = ((a, a + self.tensors[t].bytes) for t in inner if (a := self.tensors[t].address) is not None)
        return first_bytes(merged(places), count)

    def compulsory_bytes(self) -> int:
        """Every input, weight and output once: no schedule moves less to and from memory."""
        used = self.last_touch
        return sum(t.bytes for i, t in enumerate(self.tensors) if i in used and (t.output or self.is_source(i)))


def balanced(batch: int, samples: int) -> int:
    """Samples a tile such that no more tiles are needed but the last is as full as can be."""
    tiles = -(-batch // samples)
    return -(-batch // tiles)
