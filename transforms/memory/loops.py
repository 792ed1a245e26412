"""
Emits the loops of a tiled L2 group (tiles.py): launches over parts of buffers, whose places follow from the counters.

    scf.for %round = 0 to 8 step 1 {                  one sample after the other
      ...rows 0 to 7 of the sample
      scf.for %tile = 1 to 6 step 1 {
        %p = memref.subview %x[%round, 0, 8 %tile - 1, 0] [1, .., 10, ..]
        ge.launch ins(%p, %w) outs(%s) ..
      }
      ...the last rows of the sample
    }

The distance that a box moves is asked of two tiles, one step of a loop apart; all others are known to move as far.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import cast

from xdsl.dialects.arith import AddiOp, MuliOp
from xdsl.dialects.arith import ConstantOp as IndexConstantOp
from xdsl.dialects.builtin import IndexType, IntegerAttr, MemRefType
from xdsl.dialects.memref import CopyOp, SubviewOp
from xdsl.dialects.scf import ForOp
from xdsl.dialects.scf import YieldOp as LoopYieldOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ...dialects.ge.bodies import FusionOp, yielded
from ...dialects.ge.constants import ConstantOp
from ...dialects.ge.interfaces import Box, Joins, View, box_shape
from ...dialects.ge.memory import LaunchOp
from ...dialects.ge.types import shape_of
from ..tiling import Tile, members_of
from .bodies import stands_inside
from .tiles import Tiled, TiledRound, element_type_of, given_inside, tile_body
from .views import reshaped


@dataclass
class Loops:
    """
    Emits a tiled group.

    block     what it is added to
    buffer    the memref of a value from outside the group, made on first use
    place     a buffer for what the group gives to others
    scratch   a new slot for a memref type
    """

    tiled: Tiled
    block: Block
    buffer: Callable[[SSAValue], SSAValue]
    place: Callable[[SSAValue], SSAValue]
    scratch: Callable[[Attribute, str | None], SSAValue]
    wholes: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue], init=False)
    launches: int = field(default=0, init=False)

    def emit(self) -> int:
        """Adds the loops; returns how many launches they hold."""
        self.wholes = {v: self.place(v) for v in dict.fromkeys(yielded(self.tiled.group.body))}
        for op in members_of(self.tiled.group):
            # Whatever stands outside of the loops is made before them.
            self.wholes.update({v: self.buffer(v) for v in op.operands if self._is_outer(v) and v not in self.wholes})
        for each in self.tiled.rounds:
            if each.round.count == 1:
                _RoundEmitter(self, each, self.block, None).run()
                continue
            loop = _Loop(self.block, each.round.first, each.round.count, "round", each.round.tiles, each.round.after)
            _RoundEmitter(self, each, loop.block, loop).run()
            loop.close()
        return self.launches

    def slots(self, tile: Tile, block: Block) -> dict[SSAValue, SSAValue]:
        """Of what lives only inside a tile; an operand of a join lies in its result."""
        found: dict[SSAValue, SSAValue] = {}
        into: dict[SSAValue, tuple[SSAValue, Box]] = {}
        for op in reversed(members_of(self.tiled.group)):
            for v in op.results:
                if v not in tile.needed or v in self.wholes or isinstance(op, View):
                    continue
                if v in into:
                    whole_, box = into[v]
                    found[v] = _part(block, found[whole_], box)
                else:
                    found[v] = self.scratch(MemRefType(element_type_of(v), box_shape(tile.needed[v])), v.name_hint)
            into |= {v: (op.results[0], box) for v, box in self.joined(op, tile).items() if self.is_part(v, op, tile)}
        return found

    def joined(self, op: Operation, tile: Tile) -> dict[SSAValue, Box]:
        """
        Where the operands of a join lie in its result's slot, of which at least one is computed there; nothing where
        the op is launched.
        """
        group = self.tiled.group
        if not isinstance(op, Joins) or op not in tile.reads or op.fills() or len({*op.operands}) < len(op.operands):
            return {}
        result, places = op.results[0], op.joins()
        lines = group.tiling is not None and group.tiling.halo.data == "lines"
        if lines or result in self.wholes or any(place is None for place in places):
            return {}
        found: dict[SSAValue, Box] = {}
        for v, place, box in zip(op.operands, places, tile.reads[op], strict=True):
            corners = zip(place or (), box, tile.needed[result], strict=True)
            found[v] = tuple((at + begin - first, count) for (at, _), (begin, count), (first, _) in corners)
        return found if any(self.is_part(v, op, tile) for v in found) else {}

    def is_part(self, value: SSAValue, op: Operation, tile: Tile) -> bool:
        """Whether the join is all that reads a value, and reads all that the tile makes of it."""
        made = value in tile.needed and value not in self.wholes and not isinstance(value.owner, View)
        at = list(op.operands).index(value)
        return made and value.has_one_use() and tile.needed[value] == tile.reads[op][at]

    def _is_outer(self, value: SSAValue) -> bool:
        owner = value.owner
        inside = isinstance(owner, Operation) and owner.parent_block() is self.tiled.group.body.block
        if isinstance(owner, ConstantOp):
            return not stands_inside(owner)
        return not inside


class _Loop:
    """
    An scf.for that is being made: its body is `block`, and goes with it behind all that stands in `around` by `close`.

    tiles, after   what it emits for its first step, and where that lies one step on
    """

    def __init__(
        self, around: Block, first: int, count: int, hint: str, tiles: Sequence[Tile], after: Sequence[Tile]
    ) -> None:
        boxes = [zip(one.boxes(), two.boxes(), strict=True) for one, two in zip(tiles, after, strict=True)]
        moves = sorted({d for each in boxes for one, two in each for d in _distance(one, two)})
        numbers = {n: _index(around, n) for n in dict.fromkeys((first, first + count, 1))}
        self.bounds = [numbers[n] for n in (first, first + count, 1)]
        self.steps = {n: numbers[n] if n in numbers else _index(around, n) for n in moves if n}
        self.first = first
        self.after = list(after)
        self.around = around
        self.block = Block(arg_types=[IndexType()])
        self.counter = self.block.args[0]
        self.counter.name_hint = hint

    def close(self) -> None:
        self.block.add_op(LoopYieldOp())
        first, end, step = self.bounds
        self.around.add_op(ForOp(first, end, step, [], Region(self.block)))


@dataclass
class _RoundEmitter:
    """The tiles of a round, added to `block`; with an outer loop it stands for all rounds of that."""

    loops: Loops
    tiled: TiledRound
    block: Block
    outer: _Loop | None

    def run(self) -> None:
        tiles, begin, end = self.tiled.round.tiles, self.tiled.begin, self.tiled.end
        lines: dict[SSAValue, SSAValue] = {}
        for k in range(begin):
            lines = self._border(k, lines)
        lines = self._inside(lines) if end - begin > 1 else self._border(begin, lines)
        for k in range(end, len(tiles)):
            lines = self._border(k, lines)

    def _border(self, index: int, before: dict[SSAValue, SSAValue]) -> dict[SSAValue, SSAValue]:
        """One tile outside of the loop; its slots, where the next tile finds lines."""
        tile = self.tiled.round.tiles[index]
        slots = self.loops.slots(tile, self.block)
        for value, kept in tile.kept.items():
            _keep(self.block, tile, value, kept, before[value], slots[value])
        _Emitter(self.loops, self.block, tile, slots, self._outer(index)).run()
        return slots

    def _inside(self, before: dict[SSAValue, SSAValue]) -> dict[SSAValue, SSAValue]:
        begin, end = self.tiled.begin, self.tiled.end
        tile, after = self.tiled.round.tiles[begin], self.tiled.round.tiles[begin + 1]
        slots = self.loops.slots(tile, self.block)
        for value, kept in tile.kept.items():
            # As if the slot had been the one of the tile before, too.
            axis = _axis(tile, value)
            held = shape_of(slots[value].type)[axis]
            self.block.add_op(
                CopyOp(
                    _lines(self.block, before[value], axis, shape_of(before[value].type)[axis] - kept, kept),
                    _lines(self.block, slots[value], axis, held - kept, kept),
                )
            )
        loop = _Loop(self.block, begin, end - begin, "tile", [tile], [after])
        for value, kept in tile.kept.items():
            _keep(loop.block, tile, value, kept, slots[value], slots[value])
        _Emitter(self.loops, loop.block, tile, slots, [*self._outer(begin), (loop, after)]).run()
        loop.close()
        return slots

    def _outer(self, index: int) -> list[tuple[_Loop, Tile]]:
        return [] if self.outer is None else [(self.outer, self.outer.after[index])]


def _keep(block: Block, tile: Tile, value: SSAValue, kept: int, old: SSAValue, new: SSAValue) -> None:
    """Copies the last lines of a tile's slot to where the next tile has its first."""
    axis = _axis(tile, value)
    last = shape_of(old.type)[axis] - kept
    block.add_op(CopyOp(_lines(block, old, axis, last, kept), _lines(block, new, axis, 0, kept)))


def _lines(block: Block, buffer: SSAValue, axis: int, begin: int, count: int) -> SSAValue:
    shape = shape_of(buffer.type)
    offsets = [begin if k == axis else 0 for k in range(len(shape))]
    return _subview(block, buffer, offsets, [count if k == axis else d for k, d in enumerate(shape)])


def _index(block: Block, n: int) -> SSAValue:
    op = IndexConstantOp(IntegerAttr(n, IndexType()))
    block.add_op(op)
    return op.result


@dataclass
class _Emitter:
    """The launches of one tile, which stands for those of all steps of the loops around it."""

    loops: Loops
    block: Block
    tile: Tile
    slots: dict[SSAValue, SSAValue]
    around: list[tuple[_Loop, Tile]]
    """From the outermost to the innermost, each with the tile one step on."""
    parts: dict[tuple[SSAValue, Box], SSAValue] = field(default_factory=dict[tuple[SSAValue, Box], SSAValue])
    offsets: dict[tuple[int, ...], SSAValue] = field(default_factory=dict[tuple[int, ...], SSAValue])
    products: dict[tuple[int, int], SSAValue] = field(default_factory=dict[tuple[int, int], SSAValue])

    def run(self) -> None:
        for op in members_of(self.loops.tiled.group):
            if op not in self.tile.reads:
                continue
            boxes = dict(zip(op.operands, self.tile.reads[op], strict=True))
            moved = {v: [after.reads[op][k] for _, after in self.around] for k, v in enumerate(op.operands)}
            if isinstance(op, View):
                source, result = op.operands[op.view_of()], op.results[0]
                box = self.tile.needed[result]
                part = self.part(source, boxes[source], moved[source])
                self.slots[result] = reshaped(self.block, part, box_shape(box), None)
                continue
            places = self.loops.joined(op, self.tile)
            if places:
                for v, place in places.items():
                    if not self.loops.is_part(v, op, self.tile):
                        source = self.part(v, boxes[v], moved[v])
                        self.block.add_op(CopyOp(source, _part(self.block, self.slots[op.results[0]], place)))
                continue
            ins = [self.part(v, box, moved[v]) for v, box in boxes.items() if not given_inside(v)]
            outs = [
                self.part(r, self.tile.computed[r], [after.computed[r] for _, after in self.around]) for r in op.results
            ]
            launch = LaunchOp(ins, outs, tile_body(op, self.tile))
            if isinstance(op, FusionOp):
                launch.attributes["label"] = op.label
            self.block.add_op(launch)
            self.loops.launches += 1

    def part(self, value: SSAValue, box: Box, moved: Sequence[Box]) -> SSAValue:
        """The memref of a box of a value; `moved` is where the box is one step of each loop on."""
        if (value, box) in self.parts:
            return self.parts[value, box]
        offsets: list[SSAValue | int]
        if value in self.slots:
            buffer = self.slots[value]
            offsets = [a - b for (a, _), (b, _) in zip(box, self.tile.needed[value], strict=True)]
        else:
            buffer = self.loops.wholes[value]
            offsets = [self._offset(a, [m[k][0] for m in moved]) for k, (a, _) in enumerate(box)]
        self.parts[value, box] = _subview(self.block, buffer, offsets, box_shape(box))
        return self.parts[value, box]

    def _offset(self, here: int, there: Sequence[int]) -> SSAValue | int:
        """Where a box begins along an axis: here in the loops' first step, there one step of each on."""
        steps = [at - here for at in there]
        if not any(steps):
            return here
        base = here - sum(loop.first * step for (loop, _), step in zip(self.around, steps, strict=True))
        if (*steps, base) not in self.offsets:
            found: SSAValue | None = None
            for k, step in enumerate(steps):
                if step:
                    product = self._product(k, step)
                    found = product if found is None else self._sum(found, product)
            assert found is not None
            self.offsets[*steps, base] = self._sum(found, _index(self.block, base)) if base else found
        return self.offsets[*steps, base]

    def _product(self, k: int, step: int) -> SSAValue:
        """What the k-th loop's counter moves by."""
        key = (k, step)
        loop, _ = self.around[k]
        if step == 1:
            return loop.counter
        if key not in self.products:
            op = MuliOp(loop.counter, loop.steps[step])
            self.block.add_op(op)
            self.products[key] = op.result
        return self.products[key]

    def _sum(self, one: SSAValue, two: SSAValue) -> SSAValue:
        op = AddiOp(one, two)
        self.block.add_op(op)
        return op.result


def _axis(tile: Tile, value: SSAValue) -> int:
    """Along which lines are kept."""
    return next(k for k, part in enumerate(tile.needed[value]) if part != tile.computed[value][k])


def _distance(one: Box, two: Box) -> list[int]:
    return [b - a for (a, _), (b, _) in zip(one, two, strict=True)]


def _part(block: Block, buffer: SSAValue, box: Box) -> SSAValue:
    return _subview(block, buffer, [begin for begin, _ in box], box_shape(box))


def _subview(block: Block, buffer: SSAValue, offsets: Sequence[SSAValue | int], sizes: Sequence[int]) -> SSAValue:
    """Adds a box of a buffer; the buffer itself where it is all of it."""
    if tuple(sizes) == tuple(shape_of(buffer.type)):
        return buffer
    ones = [1] * len(sizes)
    type_ = SubviewOp.infer_result_type(cast("MemRefType[Attribute]", buffer.type), offsets, sizes, ones)
    view = SubviewOp.get(buffer, offsets, sizes, ones, type_)
    view.result.name_hint = buffer.name_hint
    block.add_op(view)
    return view.result
