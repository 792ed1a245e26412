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

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.utils.exceptions import VerifyException

from ...dialects.ge.bodies import FusionOp, YieldOp, contents_type, yielded
from ...dialects.ge.constants import ConstantOp
from ...dialects.ge.interfaces import Box, Tiles, View, box_shape, is_contiguous, made_for, whole
from ...dialects.ge.types import shape_of, tensor_type
from ...planning.rows import MOST_APART
from ..tiling import Round, Tile, alike, boxes_in_body, members_of, rounds_of
from .bodies import stands_inside
from .steps import is_buffer

MOST_ROUNDS = 3
"""Loops over tiles, one after the other, of which each stands for rounds that are alike: at both borders and inside."""


@dataclass
class TiledRound:
    """A round of tiles, of which [begin, end) are alike."""

    round: Round
    begin: int
    end: int


@dataclass
class Tiled:
    """A group cut into tiles."""

    group: FusionOp
    rounds: list[TiledRound]


def tiled(group: FusionOp) -> Tiled | None:
    """The group as tiles, or None where it cannot be emitted so."""
    tiling = group.tiling
    if tiling is None or not group.outs:
        return None
    if not all(is_buffer(v) for op in group.body.block.ops for v in op.results if not isinstance(op, ConstantOp)):
        return None
    if any(isinstance(v.owner, View) for v in yielded(group.body)):
        return None  # what others read would be written under another shape
    rounds = rounds_of(group, tiling.cuts, tiling.halo.data == "lines")
    if rounds is None or len(rounds) > MOST_ROUNDS:
        return None
    found = [_tiled(group, each) for each in rounds]
    kept = [each for each in found if each is not None]
    return Tiled(group, kept) if len(kept) == len(found) else None


def _tiled(group: FusionOp, round_: Round) -> TiledRound | None:
    begin, end = alike(round_.tiles)
    # Tiles at the borders may have the boxes of those inside, and other pads; or no tile is what the next is.
    for first, last in ((begin, end), (begin + 1, end), (begin, end - 1), (begin + 1, end - 1), (begin, begin + 1)):
        found = TiledRound(round_, first, last)
        few = len(round_.tiles) - (last - first) <= MOST_APART
        if first < last and few and _can_run(group, found):
            return found
    return None


def _can_run(group: FusionOp, found: TiledRound) -> bool:
    """Whether each tile can be emitted, and those that a loop stands for are the same ops."""
    tiles = found.round.tiles
    steps = [each for each in (tiles, found.round.after, found.round.last) if each]
    inside = [tiles[k] for k in sorted({found.begin, found.begin + 1, found.end - 1}) if k < found.end]
    inside += [each[found.begin] for each in steps[1:]]
    borders = [k for k in range(len(tiles)) if not found.begin <= k < found.end]
    try:
        for op in members_of(group):
            if isinstance(op, View):
                if not all(_in_a_row(op, tile) for tile in tiles if op in tile.reads):
                    return False
                continue
            for alike_ in (inside, *([each[k] for each in steps] for k in borders)):
                bodies = [tile_body(op, tile) for tile in alike_ if op in tile.reads]
                if not all(bodies[0].is_structurally_equivalent(other) for other in bodies[1:]):
                    return False
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
    outside = {v: box for v, box in zip(op.operands, tile.reads[op], strict=True) if not given_inside(v)}
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


def given_inside(value: SSAValue) -> bool:
    return isinstance(value.owner, ConstantOp) and stands_inside(value.owner)


def _tile_type(value: SSAValue, box: Box) -> Attribute:
    return tensor_type(element_type_of(value), box_shape(box))


def element_type_of(value: SSAValue) -> Attribute:
    return cast("TensorType[Attribute]", contents_type(value.type)).element_type
