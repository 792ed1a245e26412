"""
Which rows of which tensors a tile of a group touches.

    conv3x3 -> a -> conv3x3 -> y, rows [4, 8) of y

    a   needed [3, 9)    computed [3, 9), or, where lines are kept, [5, 9)
    x   read   [2, 10)                                              [4, 10)

From the group's results backwards. A tensor that others read too gets the part of it that the tile is of the group,
and each of its rows is computed once.
"""

from dataclasses import dataclass, field
from fractions import Fraction
from math import lcm

from .piece import Group, Piece

Span = tuple[int, int]


@dataclass(slots=True)
class Spans:
    """
    Rows [begin, end) in one tile of a group.

    needed     of what its ops write: computed in this tile or kept from the one before
    computed   of these, computed in this tile; may be none
    read       (op, place among its reads) -> rows; only of reads by rows
    """

    needed: dict[int, Span] = field(default_factory=dict[int, Span])
    computed: dict[int, Span] = field(default_factory=dict[int, Span])
    read: dict[tuple[int, int], Span] = field(default_factory=dict[tuple[int, int], Span])


def spans_of(piece: Piece, group: Group, tile: int) -> Spans:
    """The rows of tile number `tile` of a round. Cost: linear in the group's touches."""
    before = _walk(piece, group, tile - 1, {}) if tile else Spans()
    return _walk(piece, group, tile, {t: end for t, (_, end) in before.needed.items()})


def _walk(piece: Piece, group: Group, tile: int, done: dict[int, int]) -> Spans:
    """done: tensor -> the row up to which the tile before has it."""
    extent = piece.extent(group.end - 1)
    begin, end = tile * group.samples, min(extent, (tile + 1) * group.samples)
    found = Spans()
    for k in range(group.end - 1, group.begin - 1, -1):
        op = piece.ops[k]
        rows: Span | None = None
        own = piece.rows(op.writes[0])
        for t in op.writes:
            count = piece.rows(t)
            share = begin * count // extent, -(-end * count // extent)
            inside = piece.stays_inside(t, group.begin, group.end)
            span = found.needed.get(t, share)
            if not inside:
                span = min(span[0], share[0]), max(span[1], share[1])
            found.needed[t] = span
            if t in done and (group.lines or not inside):
                span = min(max(span[0], done[t]), span[1]), span[1]
            found.computed[t] = span
            mine = span[0] * own // count, -(-span[1] * own // count)
            rows = mine if rows is None else (min(rows[0], mine[0]), max(rows[1], mine[1]))
        if rows is None or rows[0] >= rows[1]:
            continue
        for place, t in enumerate(op.reads):
            if piece.reads_whole(k, t):
                continue
            window = op.windows[place] if op.windows else None
            span = rows if window is None else window.rows(*rows, piece.rows(t))
            found.read[k, place] = span
            old = found.needed.get(t)
            if piece.producer.get(t, -1) >= group.begin:
                found.needed[t] = span if old is None else (min(old[0], span[0]), max(old[1], span[1]))
    return found


def has_equal_slices(piece: Piece, group: Group) -> bool:
    """Whether each tile of a round touches the same share of every tensor: no windows, one number of slices."""
    extent = piece.extent(group.end - 1)
    return not any(piece.ops[k].windows for k in range(group.begin, group.end)) and all(
        piece.rows(t) == extent for k in range(group.begin, group.end) for t in piece.ops[k].writes
    )


def can_be_cut(piece: Piece, begin: int, end: int) -> bool:
    """Whether all ops of [begin, end) tile, and none reads all of what another of them makes, for each slice."""
    return all(op.tileable for op in piece.ops[begin:end]) and not any(
        piece.reads_whole(k, t) and piece.producer.get(t, -1) >= begin
        for k in range(begin, end)
        for t in piece.ops[k].reads
    )


MOST_APART = 8
"""Tiles outside of a group's loop: each is all of the group's launches once more."""


def stride(piece: Piece, begin: int, end: int) -> int:
    """
    How many rows of its last result a tile of ops [begin, end) must move by, or a multiple, for every op to move by
    whole rows: two where that is enlarged twice, say. Then one tile is what the next is. 0 where none ever is.
    """
    if not all(op.alike for op in piece.ops[begin:end]):
        return 0
    rate: dict[int, Fraction] = {}
    whole = 1
    for k in range(end - 1, begin - 1, -1):
        op = piece.ops[k]
        own = next((rate[t] for t in op.writes if t in rate), Fraction(piece.extent(k), piece.extent(end - 1)))
        for place, t in enumerate(op.reads):
            if not piece.reads_whole(k, t):
                window = op.windows[place] if op.windows else None
                moved = rate.setdefault(t, own if window is None else own * Fraction(window.scale, window.per))
                whole = lcm(whole, own.denominator, moved.denominator)
    return whole


def shares_are_whole(piece: Piece, group: Group) -> bool:
    """Whether a tile is a whole number of rows of each tensor that others read."""
    extent = piece.extent(group.end - 1)
    return all(
        group.samples * piece.rows(t) % extent == 0
        for k in range(group.begin, group.end)
        for t in piece.ops[k].writes
        if not piece.stays_inside(t, group.begin, group.end)
    )


def lines_can_be_kept(piece: Piece, group: Group) -> bool:
    """Whether no tensor keeps more rows than come new: the kept ones move in their buffer without overlap."""
    spans = spans_of(piece, group, piece.steps(group) // 2)
    return all(
        fresh - begin <= end - fresh
        for (begin, _), (fresh, end) in zip(spans.needed.values(), spans.computed.values(), strict=True)
    )
