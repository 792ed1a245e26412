"""
Plans as genes, for whoever searches them by chance and selection.

    ops     conv1 conv2 relu conv3            genes   border before conv2: 0   before relu: 0   before conv3: 1
    plan    [conv1 conv2 relu] [conv3]                tiling of a group from conv1: 2   from conv2: 0 ...
                                                      kernel of conv3: 1

A border gene says whether a group begins at an op, a tiling gene which of the tilings that are allowed (fewest tiles
first) the group has that begins there, a kernel gene how an op walks that is in no group (0: as the rule says). Every
assignment of genes is a plan: a run that no tiling fits ends earlier, at the longest prefix that one does. What the
search refuses (occupancy, hit share, barred ops) is in no plan.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from random import Random
from typing import TypeVar

from .footprint import SCRATCH, Footprint
from .kernels import streamed, walks_in, walks_of
from .piece import Group, Piece, Plan, balanced
from .rows import can_be_cut, lines_can_be_kept, shares_are_whole
from .tiles import SearchOptions, crossing_bytes
from .traffic import Model

MOST_BORDERS = 256
"""Borders that have a gene: those that most bytes cross. The others are as in the plan that tuning starts from."""

TILINGS = 16
"""Values of a tiling gene."""

MOST_KERNELS = 64
"""Ops whose walk has a gene: those that read most bytes again and again."""

MOST_SIZES = 32
"""Sizes of tiles that a run is modelled at: an image has many rows."""

HOPELESS = 1.25
"""A plan of so many times the start's cost, by the model, is worth no judgement: that is a few per cent off, mostly."""

Genes = Mapping[str, int]
T = TypeVar("T")


class TuningSpace:
    """
    The plans that tuning may find for a piece.

    start    the plan that tuning starts from; `singles` its groups of one op, one for each op
    barred   ops that no group may hold
    genes    name -> number of values, from the first op to the last: neighbours in the piece are neighbours here
    walks    of each op that has a choice, the rule's first
    widest   `start`, where each op by itself that has a choice takes as much at a time as it may
    cost     a tiling is modelled once, when it is first met; a plan beside that linear in the ops
    """

    def __init__(
        self, model: Model, options: SearchOptions, start: Plan, singles: Plan, barred: Collection[int] = ()
    ) -> None:
        self.piece = model.piece
        self.start = list(start)
        self._model = model
        self._options = options
        self._singles = singles
        self._tilings: dict[tuple[int, int], list[Group]] = {}
        self._given = {(group.begin, group.end): group for group in start if _is_group(group)}
        ops = self.piece.ops
        can = [(op.tileable or op.outer) and k not in barred for k, op in enumerate(ops)]
        self._joinable = [k > 0 and can[k - 1] and can[k] for k in range(len(ops))]
        crossing = crossing_bytes(self.piece)
        borders = [k for k, joinable in enumerate(self._joinable) if joinable]
        self._borders = set(sorted(borders, key=lambda k: (-crossing[k], k))[:MOST_BORDERS])
        self.genes: dict[str, int] = {}
        self.walks = self._walks()
        for k in range(len(ops)):
            if k in self._borders:
                self.genes[_border(k)] = 2
            if k + 1 in self._borders:
                self.genes[_tiling(k)] = TILINGS
            if k in self.walks:
                self.genes[_kernel(k)] = len(self.walks[k])
        self._begins = {group.begin for group in start}

    def decode(self, genes: Genes) -> list[Group]:
        """The plan that genes say; those that are missing are 0."""
        plan: list[Group] = []
        count = len(self.piece.ops)
        begin = 0
        while begin < count:
            end = begin + 1
            while end < min(count, begin + self._options.longest) and self._goes_on(end, genes):
                end += 1
            while end - begin > 1 and not self._allowed(begin, end):
                end -= 1
            if end - begin > 1:
                plan.append(self._tiled(begin, end, genes))
            else:
                plan.append(self._alone(begin, genes))
            begin = end
        return plan

    def encode(self, plan: Plan) -> dict[str, int]:
        """The genes of a plan: `decode` gives it back, if it is one of this space."""
        genes = dict.fromkeys(self.genes, 0)
        for group in plan:
            if group.begin in self._borders:
                genes[_border(group.begin)] = 1
            if _is_group(group) and _tiling(group.begin) in genes:
                tilings = self._allowed(group.begin, group.end)
                genes[_tiling(group.begin)] = tilings.index(group) if group in tilings else 0
            elif not _is_group(group) and group.begin in self.walks:
                genes[_kernel(group.begin)] = self.walks[group.begin].index(group)
        return genes

    def near(self, plan: Plan, edits: int, random: Random) -> dict[str, int]:
        """
        Genes of a plan that differs from `plan` in so many places: a border set, taken or moved, another tiling,
        another walk of an op by itself.
        """
        genes = self.encode(plan)
        borders = sorted(self._borders)
        alone = [group.begin for group in plan if group.begin in self.walks and not _is_group(group)]
        kinds = [*range(3 if borders else 0), *([3] if alone else [])]
        for _ in range(edits if kinds else 0):
            kind = random.choice(kinds)
            if kind == 3:
                k = random.choice(alone)
                genes[_kernel(k)] = random.randrange(len(self.walks[k]))
                continue
            k = random.choice(borders)
            if kind == 0:
                genes[_border(k)] ^= 1
            elif kind == 1:
                set_ = [b for b in borders if genes[_border(b)]]
                k = random.choice(set_ or borders)
                to = k + random.choice((-2, -1, 1, 2))
                genes[_border(k)] = 0
                if to in self._borders:
                    genes[_border(to)] = 1
            else:
                begins = [b for b in (0, *borders) if _tiling(b) in genes and (b == 0 or genes[_border(b)])]
                genes[_tiling(random.choice(begins or [k - 1]))] = random.randrange(TILINGS)
        return genes

    @cached_property
    def widest(self) -> list[Group]:
        return [
            self.walks[group.begin][1] if group.begin in self.walks and not _is_group(group) else group
            for group in self.start
        ]

    def key(self, plan: Plan) -> str:
        """A short text that two plans share only if they are the same."""
        groups = [tuple(group) for group in (*groups_of(plan), *walks_in(plan, self._singles))]
        return hashlib.sha256(repr(groups).encode()).hexdigest()[:24]

    def has_promise(self, plan: Plan) -> bool:
        """Whether the model, which is far cheaper than the judge, finds a plan at most HOPELESS as bad as the start."""
        return self._modelled(plan) <= HOPELESS * self._start_cost

    @cached_property
    def _start_cost(self) -> float:
        return self._modelled(self.start)

    def _modelled(self, plan: Plan) -> float:
        """Seconds; bytes where the machine's figures are unknown."""
        found = self._model.evaluate(plan)
        return found.total if found.seconds is None else found.seconds

    def _walks(self) -> dict[int, list[Group]]:
        piece, capacity = self.piece, self._model.capacity
        again = {single.begin: streamed(piece, single, capacity) for single in self._singles}
        most = sorted((k for k in again if again[k]), key=lambda k: (-again[k], k))[:MOST_KERNELS]
        room = int(self._options.occupancy * capacity)
        found = {k: walks_of(piece, self._singles[k], capacity, room) for k in sorted(most)}
        return {k: walks for k, walks in found.items() if len(walks) > 1}

    def _alone(self, k: int, genes: Genes) -> Group:
        walks = self.walks.get(k, [self._singles[k]])
        return walks[min(genes.get(_kernel(k), 0), len(walks) - 1)]

    def _goes_on(self, k: int, genes: Genes) -> bool:
        if k in self._borders:
            return not genes.get(_border(k), 0)
        return self._joinable[k] and k not in self._begins

    def _tiled(self, begin: int, end: int, genes: Genes) -> Group:
        tilings = self._allowed(begin, end)
        given = self._given.get((begin, end))
        if given is not None and _tiling(begin) not in self.genes:
            return given
        return tilings[min(genes.get(_tiling(begin), 0), len(tilings) - 1)]

    def _allowed(self, begin: int, end: int) -> list[Group]:
        """The tilings of a run that the options allow, fewest tiles first; at most TILINGS."""
        found = self._tilings.get((begin, end))
        if found is None:
            found = [shape.group for shape in self._shapes(begin, end) if self._fits(shape)]
            found = _thinned(found, TILINGS)
            given = self._given.get((begin, end))
            if given is not None and given not in found:
                found = sorted(
                    [*found[: TILINGS - 1], given], key=lambda group: (-group.outer, -group.samples, group.lines)
                )
            self._tilings[begin, end] = found
        return found

    def _shapes(self, begin: int, end: int) -> Iterator[Footprint]:
        """Of a run at every size of balanced tiles, the largest first; where tiles overlap, also with lines kept."""
        extent = self.piece.extent(end - 1)
        found = [Group(begin, end, extent, outer=n) for n in _sizes(self.piece.outer)]
        found += [Group(begin, end, n) for n in _sizes(extent)]
        for group in found:
            if not is_tiling(self.piece, group):
                continue
            shape = self._model.shape(group)
            yield shape
            kept = group._replace(lines=True)
            if shape.halo and is_tiling(self.piece, kept):
                yield self._model.shape(kept)

    def _fits(self, shape: Footprint) -> bool:
        """As the search has it: weights are resident, or where they cannot be, streamed one op at a time."""
        limit = int(self._options.occupancy * self._model.capacity)
        group, tensors = shape.group, self.piece.tensors
        whole = sum(item.bytes for t, item in shape.items.items() if t != SCRATCH and not item.batched)
        spare = 0
        if shape.working_set > limit:
            ops = self.piece.ops[group.begin : group.end]
            streamed = (
                sum(tensors[t].bytes for t in {*op.reads} if not tensors[t].batched and not tensors[t].outer)
                for op in ops
            )
            spare = whole - max(streamed)
        return shape.working_set - spare <= limit and shape.hit_share >= self._options.fusion_threshold


def _sizes(slices: int) -> list[int]:
    """Slices of a tile such that tiles are balanced, the most first."""
    return _thinned(sorted({balanced(slices, n) for n in range(1, slices)}, reverse=True), MOST_SIZES)


def _thinned(found: list[T], most: int) -> list[T]:
    """At most so many: the first one by one, those behind at ever wider steps, and the last."""
    if len(found) <= most:
        return found
    places = dict.fromkeys(k * k * (len(found) - 1) // (most - 1) ** 2 for k in range(most))
    return [found[k] for k in places]


def structure_key(piece: Piece) -> str:
    """
    A short text that two pieces share only if they have the same ops on tensors of the same sizes, in the same order.

    Names do not count, nor what follows from them: addresses in the arena, flops.
    """
    tensors = [(t.bytes, t.batched, t.output, t.rows, t.outer) for t in piece.tensors]
    ops = [(op.reads, op.writes, op.tileable, op.windows, op.outer) for op in piece.ops]
    return hashlib.sha256(repr((piece.batch, piece.outer, tensors, ops)).encode()).hexdigest()[:32]


def groups_of(plan: Plan) -> list[Group]:
    """The groups of two and more ops."""
    return [group for group in plan if _is_group(group)]


def is_tiling(piece: Piece, group: Group) -> bool:
    """
    Whether a group's ops can be cut into its tiles, and these are several: of outer samples, or of whole rows, whose
    overlap can be kept if it says so.
    """
    if piece.is_of_samples(group):
        return (
            1 <= group.outer < piece.outer
            and not group.lines
            and all(op.outer for op in piece.ops[group.begin : group.end])
        )
    return (
        1 <= group.outer <= piece.outer
        and 1 <= group.samples < piece.extent(group.end - 1)
        and can_be_cut(piece, group.begin, group.end)
        and shares_are_whole(piece, group)
        and (not group.lines or lines_can_be_kept(piece, group))
    )


def with_groups(groups: Sequence[Group], singles: Plan) -> list[Group]:
    """
    The plan in which these groups, in order, stand and every other op is by itself.

    raises   ValueError where they overlap or leave the ops
    """
    plan: list[Group] = []
    here = 0
    for group in groups:
        if not here <= group.begin < group.end <= len(singles):
            raise ValueError(f"the group of ops [{group.begin}, {group.end}) is not one of {len(singles)} ops in order")
        plan += [*singles[here : group.begin], group]
        here = group.end
    return [*plan, *singles[here:]]


def _is_group(group: Group) -> bool:
    return group.end - group.begin > 1


def _border(k: int) -> str:
    return f"{k:06}.border"


def _kernel(k: int) -> str:
    return f"{k:06}.kernel"


def _tiling(k: int) -> str:
    return f"{k:06}.tiling"
