"""
What a pass may ask of an op. A pass puts these questions and never lists ops that it was not written for; an op of a
plugin that answers is fused, planned and run like ours.

    shape of the work   Elementwise, Reduction, Contraction, Movement; flops_of, bytes_of
    buffers             overwrites (which operand may the result lie over), SameBytes (the result is an operand's
                        bytes), View (and its elements), Parts (results are boxes of an operand), Joins (operands are
                        boxes of the result, with what is known around them)
    tiles               Tiles: loops, operand_tiles, on_tile
    effects             is_pure, from the op's traits
    meaning             Composed: the op in terms of other ops

A `Box` is one tile of a value: an (offset, size) for each axis of the value's own type. Offsets and sizes are numbers;
a tile at the border is another op than one inside (its pads differ), so border tiles are asked for on their own.
"""

from __future__ import annotations

import abc
import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.traits import is_side_effect_free

from .core import GeOp
from .kinds import Kind
from .types import is_as_wide, is_element, is_shaped, is_static, nbytes, shape_of

if TYPE_CHECKING:
    from .composed import Maker

Box: TypeAlias = "tuple[tuple[int, int], ...]"


def whole(value: SSAValue) -> Box:
    """The box of a whole static value."""
    return tuple((0, d) for d in shape_of(value.type))


def is_contiguous(box: Box, shape: Sequence[int]) -> bool:
    """Whether a box of a row-major value of `shape` is one run of bytes."""
    first = next((k for k, (_, size) in enumerate(box) if size != 1), len(box))
    return all(size == d for (_, size), d in zip(box[first + 1 :], shape[first + 1 :], strict=True))


def box_shape(box: Box) -> tuple[int, ...]:
    return tuple(size for _, size in box)


class Tiles(metaclass=Kind):
    """
    An op that can be computed tile by tile: tiles put together equal the whole, bit for bit.

    A tile is a box of the op's first result; all results of the op are cut alike.
    """

    @abc.abstractmethod
    def loops(self) -> tuple[str, ...]:
        """
        One word an axis of the result, then one a reduced axis: "parallel" (may be cut), "whole" (every tile covers
        the axis) or "reduction".
        """

    @abc.abstractmethod
    def operand_tiles(self, tile: Box) -> list[Box]:
        """The box of each operand (in `op.operands` order) that a tile of the result needs, halo included."""

    def on_tile(self, tile: Box, operands: Sequence[SSAValue]) -> Operation:
        """
        An op that computes that tile from its operands' tiles: by default the op itself. What it reads besides is in
        no block yet: constants of the tile, or an op before it (`made_for`).
        """
        del tile
        return on_operands(self, operands)


def made_for(op: Operation) -> list[Operation]:
    """An op that `Tiles.on_tile` gave, behind what was made with it, in the order in which they run."""
    before = [v.owner for v in op.operands if isinstance(v.owner, Operation) and v.owner.parent is None]
    return [*dict.fromkeys(each for owner in before for each in made_for(owner)), op]


class Work(metaclass=Kind):
    """An op that knows how much arithmetic it is."""

    @abc.abstractmethod
    def flops(self) -> int:
        """Floating-point (or integer) operations of the whole op on static shapes; a multiply-add is two."""


class SameBytes:
    """An op whose result is an operand's bytes as they lie, whatever shape and type they have: no byte moves."""

    def view_of(self) -> int:
        """Which operand."""
        return 0


class View(SameBytes):
    """An op whose result is an operand's elements in the same order under another shape."""


class Parts(metaclass=Kind):
    """An op each of whose results is a box of its first operand's elements, as they stand there."""

    @abc.abstractmethod
    def parts(self) -> list[Box] | None:
        """The box of each result; None where that is not known, or elements are skipped or turned round."""


class Joins(metaclass=Kind):
    """An op whose result is operands side by side, and what is known around them."""

    @abc.abstractmethod
    def joins(self) -> Sequence[Box | None]:
        """The box of the result that each operand is; None for one that is none."""

    def fills(self) -> Sequence[tuple[Box, Attribute]]:
        """Boxes of the result that are no operand, and the value of a constant that each is."""
        return ()


class Overwrites(metaclass=Kind):
    """
    An op whose result may lie over one of its operands: it reads an index no later than it writes it, or (not BY_INDEX)
    takes what it needs of a row, a sum say, before it writes any of it.
    """

    BY_INDEX: ClassVar[bool] = True

    @abc.abstractmethod
    def overwrites(self) -> tuple[int, ...]:
        """Positions in `op.operands`, best first. The operand must be as the result is: `types.is_as_wide`."""


class Elementwise(Tiles, Work, Overwrites):
    """
    y[i] = scalar(x0[i], x1[i], ...) with ONNX's broadcasting.

    `COST` is the arithmetic of one element; what needs a table or a series counts more than an addition.
    """

    COST: ClassVar[int] = 1

    @abc.abstractmethod
    def scalar(self, m: Any, *x: Any) -> Any:
        """
        The function of one element, in terms of a namespace `m` with numpy's names (maximum, exp, where, ...). With
        numpy for `m` it computes; a backend passes one that emits code.
        """

    def loops(self) -> tuple[str, ...]:
        assert isinstance(self, Operation)
        return ("parallel",) * len(shape_of(self.results[0].type))

    def operand_tiles(self, tile: Box) -> list[Box]:
        assert isinstance(self, Operation)
        return [broadcast_box(tile, shape_of(v.type)) for v in self.operands]

    def on_tile(self, tile: Box, operands: Sequence[SSAValue]) -> Operation:
        del tile
        return on_operands(self, operands)

    def flops(self) -> int:
        assert isinstance(self, Operation)
        return self.COST * math.prod(shape_of(self.results[0].type))

    def overwrites(self) -> tuple[int, ...]:
        assert isinstance(self, Operation)
        return tuple(k for k, v in enumerate(self.operands) if is_as_wide(v.type, self.results[0].type))


class Composed(abc.ABC):
    """
    An op that is a short way to write others. What they compute is its meaning: the reference runs them, `decompose`
    puts them in its place where a model cannot be written with the op itself, a backend without a kernel does too.
    """

    @abc.abstractmethod
    def expansion(self, make: Maker, *operands: Any) -> Sequence[SSAValue] | SSAValue:
        """
        The results, in terms of `operands` (by slot, None for an absent one), made with `make`; of optional results
        those that are there.
        """


class Reduction(Work):
    """An op that combines elements along axes of its first operand."""

    @abc.abstractmethod
    def reduced_axes(self) -> tuple[int, ...]:
        """Counted from the front."""

    def flops(self) -> int:
        assert isinstance(self, Operation)
        return math.prod(shape_of(self.operands[0].type))


class Contraction(Work):
    """An op that multiplies and adds: convolution, matrix product."""


class Movement:
    """An op that computes nothing: each element of the result is one of an operand (or a fill)."""

    def keeps_order(self) -> bool:
        """Whether the result is the first operand's elements in their order, so that no byte needs to move."""
        return False

    def reorders(self) -> tuple[int, ...] | None:
        """Which axis of the first operand each axis of the result is, where the result is that and nothing else."""
        return None


def broadcast_box(tile: Box, shape: tuple[int, ...]) -> Box:
    """The box of an operand of `shape` that broadcasts to a result of which `tile` is wanted."""
    tail = tile[len(tile) - len(shape) :]
    return tuple((0, 1) if d == 1 else t for d, t in zip(shape, tail, strict=True))


def on_operands(op: object, operands: Sequence[SSAValue], **changed: Any) -> Operation:
    """The op on other operands, given as `op.operands` lists them; result types are inferred."""
    assert isinstance(op, GeOp)
    given = iter(operands)
    return op.rebuilt([None if v is None else next(given) for v in op.by_slot()], **changed)


def is_pure(op: Operation) -> bool:
    """Whether `op` may be folded, merged, moved or dropped: no effects, no randomness, no state."""
    return is_side_effect_free(op)


def flops_of(op: Operation) -> int:
    """Arithmetic of a static op; a fusion's is its body's, what says nothing counts one an element."""
    if isinstance(op, Work):
        return op.flops()
    if op.regions:
        return sum(flops_of(inner) for region in op.regions for inner in walk_body(region))
    if isinstance(op, View | Movement):
        return 0
    return sum(math.prod(shape_of(r.type)) for r in op.results if is_static(r.type))


def walk_body(region: Region) -> Iterator[Operation]:
    for block in region.blocks:
        yield from block.ops


def bytes_of(op: Operation) -> int:
    """Bytes that a static op reads and writes when nothing is cached: each operand and result once."""
    values = [*dict.fromkeys(op.operands), *op.results]
    return sum(nbytes(v.type) for v in values if has_bytes(v))


def has_bytes(value: SSAValue) -> bool:
    """Whether a value is a static tensor or memref of elements of fixed width."""
    type_ = value.type
    return is_shaped(type_) and is_static(type_) and is_element(e := type_.element_type) and e.name != "ge.string"
