"""
A group as its tiles see it: what lies side by side as a whole is copied, tile by tile, to lie so in scratch memory.

    up = conv x                 as a whole, `up` and `skip` lie in one buffer: the concat moves no byte
    y  = concat up, skip        in tiles of a group of both convolutions: `up` is computed in its part of a scratch
    z  = conv y                 buffer, the tile's rows of `skip` are copied to theirs
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from .piece import Beside, Group, Op, Piece, Tensor


@dataclass(frozen=True)
class Inside(Piece):
    """
    The ops of one group and its copies, then one that reads what others need later. Tensors have their numbers, and
    those behind them are the copies.

    of        the piece that it is made of, and was checked
    together  tensors that lie in one scratch buffer, from the first that is written to the last that is read
    copies    ops that copy
    """

    of: Piece | None = None
    together: tuple[tuple[int, ...], ...] = ()
    copies: frozenset[int] = frozenset()

    def __post_init__(self) -> None:
        """As good as the piece that it is made of."""

    @cached_property
    def storage(self) -> tuple[int, ...]:
        assert self.of is not None
        known = self.of.storage
        return (*known, *range(len(known), len(self.tensors)))


def only_copied(piece: Piece, tensors: Iterable[int]) -> set[int]:
    """Those of the tensors that a group reads to copy them, and for nothing else."""
    if not isinstance(piece, Inside):
        return set()
    others = {t for k, op in enumerate(piece.ops[:-1]) if k not in piece.copies for t in (*op.reads, *op.writes)}
    return set(tensors) - others


def inside(piece: Piece, group: Group) -> tuple[Piece, Group]:
    """
    The piece, and the group among its ops, for whoever asks what its tiles touch: the same two where nothing is copied.

    cost   linear in the group's touches, where something is
    """
    copied = _copied(piece, group) if group.end - group.begin > 1 and piece.joins else {}
    if not copied:
        return piece, group
    return _Builder(piece, group, copied).build()


def _copied(piece: Piece, group: Group) -> dict[int, Beside]:
    """Of the piece's joins, those of which a part is made in the group and whose reader is in it, too."""
    first = bisect_right(piece.joins, group.begin, key=_at)
    stop = bisect_left(piece.joins, group.end, key=_at)
    found: dict[int, Beside] = {}
    read = {j for op in piece.ops[group.begin : group.end] for j in op.via} if first < stop else set[int]()
    for j in range(stop - 1, first - 1, -1):
        join = piece.joins[j]
        made = any(piece.producer.get(part.tensor, -1) >= group.begin for part in join.parts)
        if made and j in read and join.last < group.end:
            found[j] = join
            read.update(part.via for part in join.parts)
    return dict(reversed(found.items()))


def _at(join: Beside) -> int:
    return join.at


class _Builder:
    """
    known   (join, tensor) -> what is read instead of the tensor by whoever reads it through the join
    """

    def __init__(self, piece: Piece, group: Group, copied: dict[int, Beside]):
        self.piece, self.group, self.copied = piece, group, copied
        self.tensors = list[Tensor]()
        self.ops = list[Op]()
        self.known: dict[tuple[int, int], int] = {}
        self.together: list[tuple[int, ...]] = []
        self.places: list[int] = []

    def build(self) -> tuple[Piece, Group]:
        piece, group = self.piece, self.group
        waiting = iter([*self.copied.items()])
        j, join = next(waiting, (-1, None))
        for k in range(group.begin, group.end):
            while join is not None and join.at == k:
                for op in self._copies(j, join):
                    self.places.append(len(self.ops))
                    self.ops.append(op)
                j, join = next(waiting, (-1, None))
            op = piece.ops[k]
            if any(via in self.copied for via in op.via):
                reads = (self.known.get((via, t), t) for via, t in zip(op.via, op.reads, strict=True))
                op = replace(op, reads=tuple(reads))
            self.ops.append(op)
        touched = dict.fromkeys(t for op in self.ops for t in (*op.reads, *op.writes))
        later = tuple(t for t in touched if piece.last_touch.get(t, -1) >= group.end)
        end = len(self.ops)
        found = Inside(
            piece.batch,
            (*piece.tensors, *self.tensors),
            (*self.ops, Op("later", later, (), tileable=False)),
            piece.outer,
            of=piece,
            together=tuple(self.together),
            copies=frozenset(self.places),
        )
        return found, group._replace(begin=0, end=end)

    def _copies(self, j: int, join: Beside) -> Iterator[Op]:
        piece, group = self.piece, self.group
        parts: list[int] = []
        for part in join.parts:
            t = self.known.get((part.via, part.tensor), part.tensor)
            stays = t == part.tensor and piece.stays_inside(t, group.begin, group.end)
            if part.in_place and stays and not group.lines:
                parts.append(t)
                continue
            tensor = piece.tensors[part.tensor]
            self.tensors.append(Tensor(tensor.name, tensor.bytes, tensor.batched, rows=tensor.rows, outer=tensor.outer))
            copy = len(piece.tensors) + len(self.tensors) - 1
            self.known[j, part.tensor] = copy
            parts.append(copy)
            yield Op(f"{tensor.name}, beside others", (t,), (copy,), tileable=tensor.batched, outer=tensor.outer)
        self.together.append(tuple(parts))
