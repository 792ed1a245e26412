"""
An L2 group as loops over its tiles: tiles that are alike in an scf.for, those at the borders around it.

    %g = ge.fusion "L2" (%a = %x) -> (..)            ...rows 0 to 7, whose first window lies in the padding
        tiling <axes = [2], tile = [8], ..> {        scf.for %i = 1 to 6 step 1 {
      %b = ge.conv %a, %w                              %p = memref.subview %x[0, 0, 8 %i - 1, 0] [.., 10, ..]
      %c = ge.relu %b                         ->       ge.launch ins(%p, %w) outs(%s) {ge.conv}
    }                                                  %q = memref.subview %y[0, 0, 8 %i, 0] [.., 8, ..]
                                                       ge.launch ins(%s) outs(%q) {ge.relu}
                                                     }
                                                     ...the last rows

What lives only inside a tile is a slot of one tile's size (`%s`); what others read is written to its place in the
whole. Lines that a tile keeps for the next lie at the end of their slot, and move before the rows that come new. A
launch's op is the one that the op itself gives for a tile (`on_tile`). A group that cannot be cut as it says is
launched layer by layer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import cast

from xdsl.dialects.arith import AddiOp, MuliOp
from xdsl.dialects.arith import ConstantOp as IndexConstantOp
from xdsl.dialects.builtin import IndexType, IntegerAttr, MemRefType, TensorType
from xdsl.dialects.memref import CopyOp, SubviewOp
from xdsl.dialects.scf import ForOp
from xdsl.dialects.scf import YieldOp as LoopYieldOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.utils.exceptions import VerifyException

from ...dialects.ge.bodies import FusionOp, YieldOp, contents_type, yielded
from ...dialects.ge.constants import ConstantOp
from ...dialects.ge.interfaces import Box, Tiles, View, box_shape, is_contiguous, made_for, whole
from ...dialects.ge.memory import LaunchOp
from ...dialects.ge.types import shape_of, tensor_type
from ..tiling import Tile, alike, boxes_in_body, members_of, tiles_of
from .bodies import stands_inside
from .steps import is_buffer
from .views import reshaped

MOST_AT_BORDERS = 8
"""Tiles outside of the loop: each is all of the group's launches once more."""


@dataclass
class Tiled:
    """A group cut into tiles, of which [begin, end) are alike."""

    group: FusionOp
    tiles: list[Tile]
    begin: int
    end: int


def tiled(group: FusionOp) -> Tiled | None:
    """The group as tiles, or None where it cannot be emitted so."""
    tiling = group.tiling
    if tiling is None or not group.outs:
        return None
    if not all(is_buffer(v) for op in group.body.block.ops for v in op.results if not isinstance(op, ConstantOp)):
        return None
    if any(isinstance(v.owner, View) for v in yielded(group.body)):
        return None  # what others read would be written under another shape
    axes, sizes = [a.data for a in tiling.axes], [n.data for n in tiling.tile]
    tiles = tiles_of(group, axes, sizes, tiling.halo.data == "lines")
    if tiles is None:
        return None
    begin, end = alike(tiles)
    # Tiles at the borders may have the boxes of those inside, and other pads.
    for first, last in ((begin, end), (begin + 1, end), (begin, end - 1), (begin + 1, end - 1)):
        found = Tiled(group, tiles, first, last)
        if first < last and len(tiles) - (last - first) <= MOST_AT_BORDERS and _can_run(found):
            return found
    return None


def _can_run(found: Tiled) -> bool:
    """Whether each tile can be emitted, and those of the loop are the same ops."""
    tiles = found.tiles
    inside = [tiles[k] for k in sorted({found.begin, found.begin + 1, found.end - 1}) if k < found.end]
    try:
        for op in members_of(found.group):
            if isinstance(op, View):
                if not all(_in_a_row(op, tile) for tile in tiles if op in tile.reads):
                    return False
                continue
            first, *others = [tile_body(op, tile) for tile in inside if op in tile.reads]
            if not all(first.is_structurally_equivalent(other) for other in others):
                return False
            for tile in (*tiles[: found.begin], *tiles[found.end :]):
                if op in tile.reads:
                    tile_body(op, tile)
    except (VerifyException, AssertionError, ValueError):
        return False
    return all(_moves_apart(tiles[found.begin], value, kept) for value, kept in tiles[found.begin].kept.items())


def _in_a_row(view: Operation, tile: Tile) -> bool:
    """Whether the bytes that a view gives another shape lie in a row."""
    assert isinstance(view, View)
    source = view.operands[view.view_of()]
    box = tile.reads[view][view.view_of()]
    held = tile.needed.get(source, whole(source))
    inside = tuple((a - b, m) for (a, m), (b, _) in zip(box, held, strict=True))
    return is_contiguous(inside, box_shape(held))


def _moves_apart(tile: Tile, value: SSAValue, kept: int) -> bool:
    """Whether the lines that a loop keeps do not overlap the place that they move to."""
    fresh = tile.computed[value]
    axis = next(k for k, part in enumerate(tile.needed[value]) if part != fresh[k])
    return fresh[axis][1] >= kept


def tile_body(op: Operation, tile: Tile) -> Region:
    """The body of a launch that computes a tile of a member of a group."""
    outside = {v: box for v, box in zip(op.operands, tile.reads[op], strict=True) if not _inside(v)}
    block = Block(arg_types=[_tile_type(v, box) for v, box in outside.items()])
    stands_for: dict[SSAValue, SSAValue] = dict(zip(outside, block.args, strict=True))
    for value in dict.fromkeys(op.operands):
        if value not in stands_for:
            clone = cast(ConstantOp, value.owner).clone()
            block.add_op(clone)
            stands_for[value] = clone.output
    boxes = [tile.computed[r] for r in op.results]
    results = _emit(op, boxes, [stands_for[v] for v in op.operands], block)
    for value, box, result in zip(op.results, boxes, results, strict=True):
        if tuple(shape_of(result.type)) != box_shape(box):
            raise VerifyException(f"a tile of {value.type} came out as {result.type}")
    for constant in [o for o in block.ops if isinstance(o, ConstantOp) and not o.output.uses]:
        constant.detach()  # of the whole: the tile has its own, or says it as an attribute
        constant.erase()
    block.add_op(YieldOp(*results))
    return Region(block)


def _emit(op: Operation, boxes: Sequence[Box], operands: Sequence[SSAValue], block: Block) -> Sequence[SSAValue]:
    """Adds what computes those boxes of the op's results; a fusion by its body."""
    if not isinstance(op, FusionOp):
        assert isinstance(op, Tiles)
        new = op.on_tile(boxes[0], operands)
        new.attributes.update({k: a for k, a in op.attributes.items() if k not in new.attributes})
        block.add_ops(made_for(new))
        return new.results
    wanted = boxes_in_body(op, boxes)
    if wanted is None:
        raise VerifyException(f"{op.name} has no such tile")
    inner = [o for o in op.body.block.ops if not isinstance(o, YieldOp)]
    known: dict[SSAValue, SSAValue] = dict(zip(op.body.block.args, operands, strict=True))
    for o in inner:
        if isinstance(o, ConstantOp):
            clone = o.clone()
            block.add_op(clone)
            known[o.output] = clone.output
        else:
            made = _emit(o, [wanted[r] for r in o.results], [known[v] for v in o.operands], block)
            known.update(zip(o.results, made, strict=True))
    return [known[v] for v in yielded(op.body)]


def _inside(value: SSAValue) -> bool:
    return isinstance(value.owner, ConstantOp) and stands_inside(value.owner)


def _tile_type(value: SSAValue, box: Box) -> Attribute:
    return tensor_type(element_type_of(value), box_shape(box))


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
        tiles, begin, end = self.tiled.tiles, self.tiled.begin, self.tiled.end
        members = members_of(self.tiled.group)
        self.wholes = {v: self.place(v) for v in dict.fromkeys(yielded(self.tiled.group.body))}
        for op in members:
            # Whatever stands outside of the loops is made before them.
            self.wholes.update({v: self.buffer(v) for v in op.operands if self._is_outer(v) and v not in self.wholes})

        lines: dict[SSAValue, SSAValue] = {}
        for k in range(begin):
            lines = self._border(k, lines)
        if end - begin > 1:
            lines = self._loop(lines)
        else:
            lines = self._border(begin, lines)
        for k in range(end, len(tiles)):
            lines = self._border(k, lines)
        return self.launches

    def _border(self, index: int, before: dict[SSAValue, SSAValue]) -> dict[SSAValue, SSAValue]:
        """One tile outside of the loop; its slots, where the next tile finds lines."""
        tile = self.tiled.tiles[index]
        slots = self._slots(tile)
        for value, kept in tile.kept.items():
            self._keep(self.block, tile, value, kept, before[value], slots[value])
        _Emitter(self, self.block, tile, slots, None).run()
        return slots

    def _loop(self, before: dict[SSAValue, SSAValue]) -> dict[SSAValue, SSAValue]:
        begin, end = self.tiled.begin, self.tiled.end
        tile, after = self.tiled.tiles[begin], self.tiled.tiles[begin + 1]
        slots = self._slots(tile)
        for value, kept in tile.kept.items():
            # As if the slot had been the one of the tile before, too.
            axis = _axis(tile, value)
            held = shape_of(slots[value].type)[axis]
            self.block.add_op(
                CopyOp(
                    self._lines(self.block, before[value], axis, shape_of(before[value].type)[axis] - kept, kept),
                    self._lines(self.block, slots[value], axis, held - kept, kept),
                )
            )
        moves = sorted({d for one, two in zip(tile.boxes(), after.boxes(), strict=True) for d in _distance(one, two)})
        numbers = {n: self._index(n) for n in dict.fromkeys((begin, end, 1))}
        steps = {n: numbers[n] if n in numbers else self._index(n) for n in moves if n}
        body = Block(arg_types=[IndexType()])
        body.args[0].name_hint = "tile"
        for value, kept in tile.kept.items():
            self._keep(body, tile, value, kept, slots[value], slots[value])
        _Emitter(self, body, tile, slots, _Counter(begin, after, body.args[0], steps)).run()
        body.add_op(LoopYieldOp())
        self.block.add_op(ForOp(numbers[begin], numbers[end], numbers[1], [], Region(body)))
        return slots

    def _slots(self, tile: Tile) -> dict[SSAValue, SSAValue]:
        return {
            v: self.scratch(MemRefType(element_type_of(v), box_shape(tile.needed[v])), v.name_hint)
            for op in members_of(self.tiled.group)
            for v in op.results
            if v in tile.needed and v not in self.wholes and not isinstance(op, View)
        }

    def _keep(self, block: Block, tile: Tile, value: SSAValue, kept: int, old: SSAValue, new: SSAValue) -> None:
        """Copies the last lines of a tile's slot to where the next tile has its first."""
        axis = _axis(tile, value)
        last = shape_of(old.type)[axis] - kept
        block.add_op(CopyOp(self._lines(block, old, axis, last, kept), self._lines(block, new, axis, 0, kept)))

    @staticmethod
    def _lines(block: Block, buffer: SSAValue, axis: int, begin: int, count: int) -> SSAValue:
        shape = shape_of(buffer.type)
        return _subview(block, buffer, [begin if k == axis else 0 for k in range(len(shape))],
                        [count if k == axis else d for k, d in enumerate(shape)])  # fmt: skip

    def _is_outer(self, value: SSAValue) -> bool:
        owner = value.owner
        inside = isinstance(owner, Operation) and owner.parent_block() is self.tiled.group.body.block
        if isinstance(owner, ConstantOp):
            return not stands_inside(owner)
        return not inside

    def _index(self, n: int) -> SSAValue:
        op = IndexConstantOp(IntegerAttr(n, IndexType()))
        self.block.add_op(op)
        return op.result


@dataclass
class _Counter:
    """A loop's counter, from `first` on; `after` is the second tile, `steps` are the distances by number."""

    first: int
    after: Tile
    value: SSAValue
    steps: dict[int, SSAValue]


@dataclass
class _Emitter:
    """The launches of one tile; with a counter it stands for all tiles of the loop."""

    loops: Loops
    block: Block
    tile: Tile
    slots: dict[SSAValue, SSAValue]
    counter: _Counter | None
    parts: dict[tuple[SSAValue, Box], SSAValue] = field(default_factory=dict[tuple[SSAValue, Box], SSAValue])
    scaled: dict[tuple[int, int], SSAValue] = field(default_factory=dict[tuple[int, int], SSAValue])

    def run(self) -> None:
        for op in members_of(self.loops.tiled.group):
            if op not in self.tile.reads:
                continue
            boxes = dict(zip(op.operands, self.tile.reads[op], strict=True))
            later = self.counter.after.reads[op] if self.counter is not None else self.tile.reads[op]
            moved = dict(zip(op.operands, later, strict=True))
            if isinstance(op, View):
                source, result = op.operands[op.view_of()], op.results[0]
                box = self.tile.needed[result]
                part = self.part(source, boxes[source], moved[source])
                self.slots[result] = reshaped(self.block, part, box_shape(box), None)
                continue
            ins = [self.part(v, box, moved[v]) for v, box in boxes.items() if not _inside(v)]
            after = self.counter.after if self.counter is not None else self.tile
            outs = [self.part(r, self.tile.computed[r], after.computed[r]) for r in op.results]
            launch = LaunchOp(ins, outs, tile_body(op, self.tile))
            if isinstance(op, FusionOp):
                launch.attributes["label"] = op.label
            self.block.add_op(launch)
            self.loops.launches += 1

    def part(self, value: SSAValue, box: Box, moved: Box) -> SSAValue:
        """The memref of a box of a value; `moved` is the same box one tile on."""
        if (value, box) in self.parts:
            return self.parts[value, box]
        offsets: list[SSAValue | int]
        if value in self.slots:
            buffer = self.slots[value]
            offsets = [a - b for (a, _), (b, _) in zip(box, self.tile.needed[value], strict=True)]
        else:
            buffer = self.loops.wholes[value]
            offsets = [self._offset(a, b) for (a, _), (b, _) in zip(box, moved, strict=True)]
        self.parts[value, box] = _subview(self.block, buffer, offsets, box_shape(box))
        return self.parts[value, box]

    def _offset(self, here: int, there: int) -> SSAValue | int:
        """Where a box begins along an axis: here in the loop's first tile, there in the second."""
        counter, step = self.counter, there - here
        if counter is None or step == 0:
            return here
        base = here - counter.first * step
        if (step, 0) not in self.scaled:
            op = MuliOp(counter.value, counter.steps[step])
            self.block.add_op(op)
            self.scaled[step, 0] = op.result
        if (step, base) not in self.scaled:
            number = IndexConstantOp(IntegerAttr(base, IndexType()))
            op = AddiOp(self.scaled[step, 0], number.result)
            self.block.add_ops([number, op])
            self.scaled[step, base] = op.result
        return self.scaled[step, base]


def _axis(tile: Tile, value: SSAValue) -> int:
    """Along which lines are kept."""
    return next(k for k, part in enumerate(tile.needed[value]) if part != tile.computed[value][k])


def _distance(one: Box, two: Box) -> list[int]:
    return [b - a for (a, _), (b, _) in zip(one, two, strict=True)]


def element_type_of(value: SSAValue) -> Attribute:
    return cast("TensorType[Attribute]", contents_type(value.type)).element_type


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
