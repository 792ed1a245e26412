"""
An L2 group as loops over its tiles: full tiles in an scf.for, the tile at the border after it.

    %g = ge.fusion "L2" (%a = %x) -> (..)            scf.for %i = 0 to 5 step 1 {
        tiling <axes = [0], tile = [6], ..> {          %r = arith.muli %i, %six
      %b = ge.conv %a, %w                       ->     %p = memref.subview %x[%r, 0, 0, 0] [6, ..]
      %c = ge.relu %b                                  ge.launch ins(%p, %w) outs(%s) {ge.conv}
    }                                                  ge.launch ins(%s) outs(%q) {ge.relu}   // %q: rows of the result
                                                     }
                                                     ...the same for the two samples that are left

What lives only inside a tile is a slot of one tile's size (`%s`); what others read is written to its rows of the whole.
A launch's op is the one that the op itself gives for a tile (`on_tile`). A group whose tiles are not alike, or whose
ops do not answer, is launched layer by layer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.dialects.arith import ConstantOp as IndexConstantOp
from xdsl.dialects.arith import MuliOp
from xdsl.dialects.builtin import IndexType, IntegerAttr, MemRefType, TensorType
from xdsl.dialects.memref import ReinterpretCastOp, SubviewOp
from xdsl.dialects.scf import ForOp
from xdsl.dialects.scf import YieldOp as LoopYieldOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.utils.exceptions import VerifyException

from ...dialects.ge.bodies import FusionOp, YieldOp, contents_type, yielded
from ...dialects.ge.constants import ConstantOp
from ...dialects.ge.interfaces import Box, Tiles, View, whole
from ...dialects.ge.memory import LaunchOp
from ...dialects.ge.types import shape_of, tensor_type
from ..tiling import boxes_in_body, rows_needed
from .bodies import stands_inside
from .steps import is_buffer
from .views import reshaped, row_major


@dataclass
class Tiled:
    """
    A group cut into tiles of rows.

    rows    value of the group -> rows that it has in a full tile; a value that is not here is read whole
    tile    rows of the first result in a full tile; `full` of these, then `rest` rows
    """

    group: FusionOp
    rows: dict[SSAValue, int]
    full: int
    rest: int
    tile: int

    def members(self) -> list[Operation]:
        return [op for op in self.group.body.block.ops if not isinstance(op, ConstantOp | YieldOp)]


def tiled(group: FusionOp) -> Tiled | None:
    """The group as tiles, or None where it cannot be emitted so."""
    if group.tiling is None or [a.data for a in group.tiling.axes] != [0] or not group.outs:
        return None
    if not all(is_buffer(v) for op in group.body.block.ops for v in op.results if not isinstance(op, ConstantOp)):
        return None
    if any(isinstance(v.owner, View) for v in yielded(group.body)):
        return None  # what others read would be written under another shape
    shape = shape_of(group.outs[0].type)
    tile = group.tiling.tile.data[0].data
    if not shape or not 0 < tile < shape[0]:
        return None
    found = Tiled(group, {}, shape[0] // tile, shape[0] % tile, tile)

    def rows_of(value: SSAValue) -> int | None:
        size = shape_of(value.type)
        return tile * size[0] // shape[0] if size and tile * size[0] % shape[0] == 0 and _rest(size[0]) else None

    def _rest(size: int) -> bool:
        return found.rest * size % shape[0] == 0

    for op in found.members():
        for result in op.results:
            rows = rows_of(result)
            if rows is None:
                return None
            found.rows[result] = rows
        if isinstance(op, View):
            continue
        first, second = (rows_needed(op, k * found.rows[op.results[0]], found.rows[op.results[0]]) for k in (0, 1))
        if first is None or second is None:
            return None
        for value, a, b in zip(op.operands, first, second, strict=True):
            rows = rows_of(value)
            moves = rows is not None and a == _rows(value, 0, rows) and b == _rows(value, 1, rows)
            if moves and rows is not None:
                if found.rows.setdefault(value, rows) != rows:
                    return None
            elif a != whole(value) or b != whole(value) or value in found.rows:
                return None
    return found if _are_alike(found) else None


def _rows(value: SSAValue, index: int, rows: int) -> Box:
    return ((rows * index, rows), *whole(value)[1:])


def _are_alike(found: Tiled) -> bool:
    """Whether two tiles inside are the same ops, so that a loop can run them; also tries what will be emitted."""
    try:
        for op in found.members():
            if isinstance(op, View):
                continue
            one, two = (tile_body(op, found.rows, index, None) for index in (0, 1))
            if not one.is_structurally_equivalent(two):
                return False
            if found.rest:
                tile_body(op, found.rows, found.full, (found.rest, found.tile))
    except (VerifyException, AssertionError):
        return False
    return True


def tile_body(op: Operation, rows: dict[SSAValue, int], index: int, rest: tuple[int, int] | None) -> Region:
    """
    The body of a launch that computes tile `index` of a member of a group.

    rest    (rows left, rows of a tile) of the tile at the border
    """

    def count(value: SSAValue) -> int:
        return rows[value] if rest is None else rows[value] * rest[0] // rest[1]

    def box(value: SSAValue) -> Box:
        return ((rows[value] * index, count(value)), *whole(value)[1:]) if value in rows else whole(value)

    outside = [v for v in dict.fromkeys(op.operands) if not _inside(v)]
    block = Block(arg_types=[_tile_type(v, box(v)) for v in outside])
    stands_for: dict[SSAValue, SSAValue] = dict(zip(outside, block.args, strict=True))
    for value in dict.fromkeys(op.operands):
        if value not in stands_for:
            clone = cast(ConstantOp, value.owner).clone()
            block.add_op(clone)
            stands_for[value] = clone.output
    boxes = [box(r) for r in op.results]
    results = _emit(op, boxes, [stands_for[v] for v in op.operands], block)
    for value, result in zip(op.results, results, strict=True):
        if tuple(shape_of(result.type)) != tuple(size for _, size in box(value)):
            raise VerifyException(f"a tile of {value.type} came out as {result.type}")
    block.add_op(YieldOp(*results))
    return Region(block)


def _emit(op: Operation, boxes: Sequence[Box], operands: Sequence[SSAValue], block: Block) -> Sequence[SSAValue]:
    """Adds what computes those boxes of the op's results; a fusion by its body."""
    if not isinstance(op, FusionOp):
        assert isinstance(op, Tiles)
        new = op.on_tile(boxes[0], operands)
        new.attributes.update({k: a for k, a in op.attributes.items() if k not in new.attributes})
        block.add_op(new)
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
    return tensor_type(element_type_of(value), tuple(size for _, size in box))


@dataclass
class Loops:
    """
    Emits a tiled group.

    block     what it is added to
    buffer    the memref of a value from outside the group, made on first use
    place     a buffer for what the group gives to others
    scratch   a new slot for a memref type
    """

    group: Tiled
    block: Block
    buffer: Callable[[SSAValue], SSAValue]
    place: Callable[[SSAValue], SSAValue]
    scratch: Callable[[Attribute, str | None], SSAValue]

    def emit(self) -> int:
        """Adds the loops; returns how many launches they hold."""
        group = self.group
        given = dict.fromkeys(yielded(group.group.body))
        homes = {v: self.place(v) for v in given}
        # Whatever stands outside of the loops is made before them.
        outer = {v: self.buffer(v) for op in group.members() for v in op.operands if self._is_outer(v)}
        slots: dict[SSAValue, SSAValue] = {
            v: self.scratch(_memref(v, group.rows[v]), v.name_hint)
            for op in group.members()
            for v in op.results
            if v not in given and not isinstance(op, View)
        }
        zero, count, one = (self._index(n) for n in (0, group.full, 1))
        rows = {n: self._index(n) for n in sorted({group.rows[v] for v in (*outer, *given) if v in group.rows})}
        body = Block(arg_types=[IndexType()])
        body.args[0].name_hint = "tile"
        launches = self._tile(body, {**outer, **homes}, slots, 0, None, body.args[0], rows)
        body.add_op(LoopYieldOp())
        self.block.add_op(ForOp(zero, count, one, [], Region(body)))
        if group.rest:
            rest = (group.rest, group.tile)
            slots = {v: self.scratch(_memref(v, group.rows[v] * group.rest // group.tile), v.name_hint) for v in slots}
            launches += self._tile(self.block, {**outer, **homes}, slots, group.full, rest, None, {})
        return launches

    def _is_outer(self, value: SSAValue) -> bool:
        owner = value.owner
        inside = isinstance(owner, Operation) and owner.parent_block() is self.group.group.body.block
        if isinstance(owner, ConstantOp):
            return not stands_inside(owner)
        return not inside

    def _index(self, n: int) -> SSAValue:
        op = IndexConstantOp(IntegerAttr(n, IndexType()))
        self.block.add_op(op)
        return op.result

    def _tile(
        self,
        block: Block,
        wholes: dict[SSAValue, SSAValue],
        slots: dict[SSAValue, SSAValue],
        index: int,
        rest: tuple[int, int] | None,
        counter: SSAValue | None,
        rows: dict[int, SSAValue],
    ) -> int:
        """One tile's launches; with a `counter` it stands for all full tiles."""
        group = self.group
        local = dict(slots)
        begin: dict[int, SSAValue] = {}

        def part(value: SSAValue) -> SSAValue:
            if value in local:
                return local[value]
            buffer = wholes[value]
            if value not in group.rows:
                return buffer
            size = group.rows[value] if rest is None else group.rows[value] * rest[0] // rest[1]
            offset: SSAValue | int = group.rows[value] * index
            if counter is not None:
                if group.rows[value] not in begin:
                    scaled = MuliOp(counter, rows[group.rows[value]])
                    block.add_op(scaled)
                    begin[group.rows[value]] = scaled.result
                offset = begin[group.rows[value]]
            local[value] = _subview(block, buffer, offset, size)
            return local[value]

        launches = 0
        for op in group.members():
            if isinstance(op, View):
                source, result = op.operands[op.view_of()], op.results[0]
                size = group.rows[result] if rest is None else group.rows[result] * rest[0] // rest[1]
                local[result] = _reshaped(block, part(source), _memref(result, size))
                continue
            ins = [part(v) for v in dict.fromkeys(op.operands) if not _inside(v)]
            outs = [part(r) for r in op.results]
            launch = LaunchOp(ins, outs, tile_body(op, group.rows, index, rest))
            if isinstance(op, FusionOp):
                launch.attributes["label"] = op.label
            block.add_op(launch)
            launches += 1
        return launches


def _memref(value: SSAValue, rows: int) -> MemRefType[Attribute]:
    return MemRefType(element_type_of(value), [rows, *shape_of(value.type)[1:]])


def element_type_of(value: SSAValue) -> Attribute:
    return cast("TensorType[Attribute]", contents_type(value.type)).element_type


def _subview(block: Block, buffer: SSAValue, offset: SSAValue | int, rows: int) -> SSAValue:
    shape = shape_of(buffer.type)
    offsets: list[SSAValue | int] = [offset, *[0] * (len(shape) - 1)]
    sizes, ones = [rows, *shape[1:]], [1] * len(shape)
    type_ = SubviewOp.infer_result_type(cast("MemRefType[Attribute]", buffer.type), offsets, sizes, ones)
    view = SubviewOp.get(buffer, offsets, sizes, ones, type_)
    view.result.name_hint = buffer.name_hint
    block.add_op(view)
    return view.result


def _reshaped(block: Block, buffer: SSAValue, type_: MemRefType[Attribute]) -> SSAValue:
    if cast("MemRefType[Attribute]", buffer.type).get_offset():
        return reshaped(block, buffer, type_.get_shape(), None)
    view = ReinterpretCastOp.from_dynamic(buffer, [0], list(type_.get_shape()), row_major(type_.get_shape()), type_)
    block.add_op(view)
    return view.result
