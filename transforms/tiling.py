"""
Which boxes of which values the tiles of a group read and compute: asked of the ops, from the results backwards.

    conv3x3 -> a -> conv3x3 -> y, tile k is rows [4k, 4k + 4) of y

                     tile 0          tile 1          tile 2
    y   computed     [0, 4)          [4, 8)          [8, 12)
    a   needed       [0, 5)          [3, 9)          [7, 13)
    a   computed     [0, 5)          [3, 9)          [7, 13)       each tile computes its halo anew
        or           [0, 5)          [5, 9)          [9, 13)       or keeps the last lines of the tile before

A value with several readers gets the union of their boxes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TypeAlias

from xdsl.ir import Operation, SSAValue

from ..dialects.ge.bodies import FusionOp, YieldOp, yielded
from ..dialects.ge.constants import ConstantOp
from ..dialects.ge.interfaces import Box, Tiles, View, whole
from ..dialects.ge.memory import LaunchOp
from ..dialects.ge.types import shape_of
from .boxes import box_behind, lies_in


def rows_needed(op: Operation, begin: int, rows: int) -> list[Box] | None:
    """`boxes_needed` for rows [begin, begin + rows) of all results."""
    return boxes_needed(op, [((begin, rows), *whole(r)[1:]) for r in op.results])


def boxes_needed(op: Operation, boxes: Sequence[Box]) -> list[Box] | None:
    """The boxes of the operands (in `op.operands` order) for boxes of the results; None where it cannot be cut so."""
    if isinstance(op, FusionOp):
        wanted = boxes_in_body(op, boxes)
        return None if wanted is None else [wanted.get(a, whole(a)) for a in op.body.block.args]
    if not isinstance(op, Tiles):
        return None
    cuts = [
        {k: part for k, part in enumerate(box) if part != (0, shape_of(r.type)[k])}
        for r, box in zip(op.results, boxes, strict=True)
    ]
    words = op.loops()
    if any(cut != cuts[0] for cut in cuts) or any(words[k] != "parallel" for k in cuts[0]):
        return None
    needed = op.operand_tiles(boxes[0])
    return needed if all(size > 0 for box in needed for _, size in box) else None


def boxes_in_body(fusion: FusionOp | LaunchOp, boxes: Sequence[Box]) -> dict[SSAValue, Box] | None:
    """
    The box of each value in a fusion's or launch's body for boxes of its results, from the results backwards; None
    where an op cannot be cut so, or two readers of a value want different boxes of it.
    """
    wanted: dict[SSAValue, Box] = {}

    def ask(value: SSAValue, box: Box) -> bool:
        if isinstance(value.owner, ConstantOp):
            return box == whole(value)
        return wanted.setdefault(value, box) == box

    if not all(ask(v, b) for v, b in zip(yielded(fusion.body), boxes, strict=True)):
        return None
    for op in reversed(list(fusion.body.block.ops)[:-1]):
        if isinstance(op, ConstantOp):
            continue
        box = wanted.get(op.results[0])
        if box is None or len(op.results) != 1:
            return None
        needed = boxes_needed(op, [box])
        if needed is None or not all(ask(v, b) for v, b in zip(op.operands, needed, strict=True)):
            return None
    return wanted


@dataclass
class Tile:
    """
    One tile of a group.

    computed   value that a member gives -> the box that the tile computes
    needed     the same -> the box that its buffer holds while the tile runs; more than `computed` where lines are kept
    reads      member -> the boxes of its operands
    kept       value whose first lines the tile before computed -> how many
    """

    computed: dict[SSAValue, Box] = field(default_factory=dict[SSAValue, Box])
    needed: dict[SSAValue, Box] = field(default_factory=dict[SSAValue, Box])
    reads: dict[Operation, list[Box]] = field(default_factory=dict[Operation, list[Box]])
    kept: dict[SSAValue, int] = field(default_factory=dict[SSAValue, int])

    def boxes(self) -> Iterable[Box]:
        yield from self.computed.values()
        yield from self.needed.values()
        for boxes in self.reads.values():
            yield from boxes


def members_of(group: FusionOp) -> list[Operation]:
    return [op for op in group.body.block.ops if not isinstance(op, ConstantOp | YieldOp)]


@dataclass
class Round:
    """
    The tiles of the inner loop for one step of the outer one, as samples are walked; all tiles where there is no outer.

    first, count   the steps [first, first + count) that it stands for: each box moves by one distance from each to the
                   next
    after, last    the tiles in the second of these steps and in the last; none where it is one
    """

    tiles: list[Tile]
    first: int = 0
    count: int = 1
    after: list[Tile] = field(default_factory=list[Tile])
    last: list[Tile] = field(default_factory=list[Tile])


Cut: TypeAlias = "tuple[int, int]"
"""An axis, and at most how much of it at a time."""


def rounds_of(group: FusionOp, cuts: Sequence[Sequence[Cut]], lines: bool) -> list[Round] | None:
    """
    The tiles of a group whose results are cut along an axis each, or along two, the second inside of the first.

    cuts      of each result, or of all: outermost first
    lines     whether inner values keep what the tile before computed, inside of a round; else that is computed again
    returns   None where the group cannot be cut so
    cost      members x (steps of the outer loop + tiles of a few of them)
    """
    results = yielded(group.body)
    each = list(cuts) * (len(results) if len(cuts) == 1 else 1)
    if len(each) != len(results):
        return None
    if any(axis >= len(shape_of(v.type)) for v, cut in zip(results, each, strict=True) for axis, _ in cut):
        return None
    outer = {v: cut[0] for v, cut in zip(results, each, strict=True)} if len(each[0]) > 1 else {}
    cutter = _Cutter(group, outer, {v: cut[-1] for v, cut in zip(results, each, strict=True)}, lines)
    steps = cutter.steps() if outer else 1
    if steps is None:
        return None
    starts = [cutter.tile(0, step, None) for step in range(steps)] if outer else [Tile()]
    begins = [tile for tile in starts if tile is not None]
    if len(begins) < steps:
        return None
    rounds: list[Round] = []
    for first, end in _runs(begins):
        found = [cutter.round(step) for step in sorted({first, first + 1, end - 1}) if step < end]
        known = [tiles for tiles in found if tiles is not None]
        if len(known) < len(found) or not _all_move(known[0], known[1:], end - 1 - first):
            return None
        rounds.append(Round(known[0], first, end - first, *([known[1], known[-1]] if len(known) > 1 else [])))
    return rounds


def _runs(tiles: Sequence[Tile]) -> list[tuple[int, int]]:
    """Cuts tiles into runs [begin, end) of which each moves by one distance to the next."""
    shifts = [_shift(a, b) for a, b in pairwise(tiles)]
    runs: list[tuple[int, int]] = []
    begin = 0
    for k in range(1, len(tiles) + 1):
        if k == len(tiles) or shifts[k - 1] is None or (k - 1 > begin and shifts[k - 1] != shifts[k - 2]):
            runs.append((begin, k))
            begin = k
    return runs


def _all_move(tiles: Sequence[Tile], others: Sequence[Sequence[Tile]], times: int) -> bool:
    """Whether each tile moves as far in the last of the others as in the first, so many times over."""
    if not others:
        return True
    if any(len(one) != len(tiles) for one in others):
        return False
    for tile, near, far in zip(tiles, others[0], others[-1], strict=True):
        one, all_ = _shift(tile, near), _shift(tile, far)
        if one is None or all_ is None or all_ != [tuple(n * times for n in move) for move in one]:
            return False
    return True


def alike(tiles: Sequence[Tile]) -> tuple[int, int]:
    """The longest run [begin, end) of tiles whose boxes have one size, and move by one distance each."""
    best = (0, 1)
    begin = 0
    shifts: list[list[tuple[int, ...]] | None] = [_shift(a, b) for a, b in pairwise(tiles)]
    for k, shift in enumerate(shifts):
        if shift is None:
            begin = k + 1
        elif k > begin and shifts[k - 1] != shift:
            begin = k
        if k + 2 - begin > best[1] - best[0] and begin <= k:
            best = (begin, k + 2)
    return best


def _shift(a: Tile, b: Tile) -> list[tuple[int, ...]] | None:
    """How far each box moves from tile to tile; None where they are not alike."""
    if a.kept != b.kept:
        return None
    if a.reads.keys() != b.reads.keys() or a.needed.keys() != b.needed.keys():
        return None
    moves: list[tuple[int, ...]] = []
    for one, two in zip(a.boxes(), b.boxes(), strict=True):
        if any(m != n for (_, m), (_, n) in zip(one, two, strict=True)):
            return None
        moves.append(tuple(v - u for (u, _), (v, _) in zip(one, two, strict=True)))
    return moves if _places(a) == _places(b) else None


def _places(tile: Tile) -> list[tuple[int, ...]]:
    """Where each box of a value that the tile makes begins in what it holds of it: a slot does not move."""
    return [
        tuple(at - begin for (at, _), (begin, _) in zip(box, tile.needed[value], strict=True))
        for op, boxes in tile.reads.items()
        for value, box in zip(op.operands, boxes, strict=True)
        if value in tile.needed
    ]


@dataclass
class _Cutter:
    """`outer`, `cuts`: value that the group gives -> axis and size of a step of the outer loop, of a tile in it."""

    group: FusionOp
    outer: dict[SSAValue, Cut]
    cuts: dict[SSAValue, Cut]
    lines: bool

    def steps(self) -> int | None:
        """Steps of the outer loop; None where results have not as many."""
        return _count((value, whole(value), cut) for value, cut in self.outer.items())

    def round(self, step: int) -> list[Tile] | None:
        """All tiles of a step of the outer loop."""
        count = _count((value, self._outer_share(value, step), cut) for value, cut in self.cuts.items())
        tiles: list[Tile] = []
        for k in range(count or 0):
            tile = self.tile(k, step, tiles[-1] if tiles else None)
            if tile is None:
                return None
            tiles.append(tile)
        return tiles or None

    def tile(self, index: int, step: int, before: Tile | None) -> Tile | None:
        tile = Tile()
        wanted = {value: self._share(value, index, step) for value in self.cuts}
        for op in reversed(members_of(self.group)):
            needed = self._member(tile, op, wanted, before)
            if needed is None:
                return None
            for value, box in zip(op.operands, needed, strict=False):
                if isinstance(value.owner, ConstantOp) and box != whole(value):
                    return None
                wanted[value] = _union(wanted[value], box) if value in wanted else box
        # Else what others read would be computed in several steps.
        given = (lies_in(tile.needed[value], self._outer_share(value, step)) for value in self.outer)
        return tile if self._reads_once(tile) and all(given) else None

    def _member(self, tile: Tile, op: Operation, wanted: dict[SSAValue, Box], before: Tile | None) -> list[Box] | None:
        """The boxes of a member's operands, none where the tile leaves it out; None where it cannot be cut so."""
        results = [r for r in op.results if r in wanted]
        if before is None and len(results) < len(op.results):
            return None
        if not all(self._compute(tile, r, wanted[r], before) for r in results):
            return None
        idle = [r not in wanted or any(size == 0 for _, size in tile.computed[r]) for r in op.results]
        if all(idle):
            return []
        if any(idle):
            return None
        if isinstance(op, View):
            behind, source = box_behind(op, wanted[op.results[0]]), op.view_of()
            if behind is None:
                return None
            needed = [behind if k == source else whole(v) for k, v in enumerate(op.operands)]
        else:
            found = boxes_needed(op, [tile.computed[r] for r in op.results])
            if found is None:
                return None
            needed = found
        tile.reads[op] = needed
        return needed

    def _share(self, value: SSAValue, index: int, step: int) -> Box:
        """What a tile gives of a value that others read."""
        return _part(self._outer_share(value, step), self.cuts[value], index)

    def _outer_share(self, value: SSAValue, step: int) -> Box:
        return _part(whole(value), self.outer[value], step) if value in self.outer else whole(value)

    def _compute(self, tile: Tile, value: SSAValue, box: Box, before: Tile | None) -> bool:
        """Takes down what of `value` the tile needs and computes."""
        given = value in self.cuts
        tile.needed[value] = tile.computed[value] = box
        if before is None or isinstance(value.owner, View) or not (given or self.lines):
            return True
        if value not in before.needed:
            return False
        old = before.needed[value]
        cut = [k for k, (one, two) in enumerate(zip(old, box, strict=True)) if one != two]
        if len(cut) != 1:
            return False
        axis = cut[0]
        (old_begin, old_count), (begin, count) = old[axis], box[axis]
        kept = min(count, old_begin + old_count - begin)
        if begin < old_begin or (kept < 0 and given):
            return False  # a gap in what others read would stay empty
        if kept <= 0:
            return True
        tile.computed[value] = tuple((begin + kept, count - kept) if k == axis else part for k, part in enumerate(box))
        if not given:
            tile.kept[value] = kept
        return True

    def _reads_once(self, tile: Tile) -> bool:
        """Whether no member reads one value under two boxes."""
        for op, boxes in tile.reads.items():
            seen: dict[SSAValue, Box] = {}
            if any(seen.setdefault(v, b) != b for v, b in zip(op.operands, boxes, strict=True)):
                return False
        return True


def _union(one: Box, two: Box) -> Box:
    ends = [(min(a, b), max(a + m, b + n)) for (a, m), (b, n) in zip(one, two, strict=True)]
    return tuple((begin, end - begin) for begin, end in ends)


def _part(box: Box, cut: Cut, index: int) -> Box:
    axis, size = cut
    begin, count = box[axis]
    share = begin + index * size, min(size, count - index * size)
    return tuple(share if k == axis else part for k, part in enumerate(box))


def _count(cuts: Iterable[tuple[SSAValue, Box, Cut]]) -> int | None:
    """Into how many parts boxes are cut; None where they are not all cut into as many, and into several."""
    counts: set[int | None] = set()
    for _, box, (axis, size) in cuts:
        fits = axis < len(box) and 0 < size < box[axis][1]
        counts.add(-(-box[axis][1] // size) if fits else None)
    return counts.pop() if len(counts) == 1 else None
