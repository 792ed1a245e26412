"""
What a function on buffers touches, in order, for the judge: loops are run, views followed to the bytes behind them.

    scf.for %tile = 0 to 5 {                       Access(x, 0, 4096, write=False), Access(w, ...), ...
      %p = memref.subview %x[%tile, ..]     ->     Access(arena, 512, 4096, write=True)
      ge.launch ins(%p, %w) outs(%s) ..            ...
    }

Addresses are those of the text: a slot is a place in the arena. A launch outside of a loop is a kernel that walks over
its result; inside of a loop, or where it is a tile, it reads its operands, then writes its results. Knows neither the
model nor its plans.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby, repeat
from typing import Any, cast

from xdsl.dialects.builtin import MemRefType
from xdsl.dialects.func import FuncOp
from xdsl.dialects.scf import ForOp
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ...dialects.ge.bodies import HostOp
from ...dialects.ge.constants import MappedOp
from ...dialects.ge.interfaces import Box
from ...dialects.ge.memory import LaunchOp, RetypedOp, SlotOp
from ...dialects.ge.types import element_of, nbytes, shape_of
from ...planning import Access, CacheKind, Replayed, judge
from ...planning.collector import no_collector
from ..memory.arena import VIEWS, Roots, arena_of, is_step, touched
from .kernels import steps_of

DYNAMIC = -(2**63)


@dataclass
class Trace:
    """
    accesses   in order; `owners`, one for each, are the launches and copies that make them
    sizes      of the buffers, by number; `outputs` are those that hold results
    places     where in its buffer each memref of the function's block lies
    roots      whose memory each is
    arena      the number of the arena's buffer
    """

    accesses: list[Access]
    owners: list[Operation]
    sizes: list[int]
    outputs: list[int]
    places: dict[SSAValue, Place]
    roots: Roots
    arena: int

    def judged(self, cache_bytes: int, kind: CacheKind, page: int) -> Replayed:
        """Bytes from and to memory."""
        return judge(self.accesses, self.sizes, self.outputs, cache_bytes, kind, page)

    def by_op(self) -> list[tuple[Operation, list[Access]]]:
        """The accesses in order, cut where another op's begin."""
        pairs = groupby(zip(self.owners, self.accesses, strict=True), key=lambda pair: pair[0])
        return [(op, [access for _, access in run]) for op, run in pairs]


def trace_of_function(
    function: FuncOp, cache_bytes: int, page: int, tiles: Mapping[Operation, Hashable] | None = None
) -> Trace:
    """
    What a function on buffers touches; kernels are made for a cache of `cache_bytes`, which counts in pages.

    tiles   launches that are a tile each, wherever they stand: those at borders stand outside of their loop; with whose
            tiles they are, a group's op's
    cost    the runs of bytes that it touches, and the boxes that its kernels ask for
    """
    replay = _Replay(function, cache_bytes, page, tiles or {})
    with no_collector():
        replay.block(function.body.block, {}, False)  # buffers are numbered as they are met
    outputs = [replay.number[a] for a in replay.outputs if a in replay.number]
    arena = arena_of(function)
    assert arena is not None
    return Trace(
        replay.accesses, replay.owners, replay.sizes, outputs, replay.places, replay.roots, replay.number[arena]
    )


@dataclass(frozen=True, slots=True)
class Place:
    """Bytes of a buffer: where they begin, and sizes and strides (bytes) of the axes over them."""

    buffer: int
    begin: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    element: int

    def box(self, box: Box) -> Place:
        begin = self.begin + sum(o * s for (o, _), s in zip(box, self.strides, strict=True))
        return Place(self.buffer, begin, tuple(n for _, n in box), self.strides, self.element)

    def runs(self) -> tuple[list[int], int]:
        """Where runs of bytes that lie in a row begin, and the bytes of one."""
        length, axis = self.element, len(self.shape)
        while axis and (self.strides[axis - 1] == length or self.shape[axis - 1] == 1):
            axis -= 1
            length *= self.shape[axis]
        begins = [self.begin]
        for count, stride in zip(self.shape[:axis], self.strides, strict=False):
            begins = [begin + k * stride for begin in begins for k in range(count)]
        return begins, length


@dataclass
class _Moved:
    """What is copied, and what is written, in a loop and those in it."""

    copied: set[SSAValue] = field(default_factory=set[SSAValue])
    written: set[SSAValue] = field(default_factory=set[SSAValue])


@dataclass
class _Replay:
    function: FuncOp
    cache_bytes: int
    page: int
    tiles: Mapping[Operation, Hashable]
    number: dict[SSAValue, int] = field(default_factory=dict[SSAValue, int])
    sizes: list[int] = field(default_factory=list[int])
    places: dict[SSAValue, Place] = field(default_factory=dict[SSAValue, Place])
    accesses: list[Access] = field(default_factory=list[Access])
    owners: list[Operation] = field(default_factory=list[Operation])

    def __post_init__(self) -> None:
        block, said = self.function.body.block, self.function.arg_attrs
        notes: list[dict[str, Any]] = (
            [cast(Any, a).data for a in said] if said is not None else [{} for _ in block.args]
        )
        self.outputs = [a for a, note in zip(block.args, notes, strict=True) if "ge.result" in note]
        for argument in block.args:
            if isinstance(argument.type, MemRefType):
                self._new(argument)
        self.roots = Roots(block)
        self.last: dict[SSAValue, Operation] = {}
        self.kept: set[SSAValue] = set()
        self._see(block, None)

    def _see(self, block: Block, loop: _Moved | None) -> None:
        for op in block.ops:
            if isinstance(op, ForOp):
                inside = loop or _Moved()
                self._see(op.body.block, inside)
                if loop is None:
                    self.kept |= inside.copied & inside.written  # the next round reads it
            elif is_step(op):
                self.last.update((self.roots.of(v), op) for v in touched(op))
                if loop is not None:
                    writes = op.outs if isinstance(op, LaunchOp) else op.operands[1:]
                    loop.written.update(self.roots.of(v) for v in writes)
                    if op.name == "memref.copy":
                        loop.copied.add(self.roots.of(op.operands[0]))

    def _new(self, value: SSAValue) -> None:
        self.number[value] = len(self.sizes)
        self.sizes.append(nbytes(value.type))
        self.places[value] = self._over(value.type, self.number[value], 0)

    @staticmethod
    def _over(type_: Attribute, buffer: int, begin: int) -> Place:
        shape = shape_of(type_)
        element = element_of(cast(Any, type_).element_type).bits // 8
        strides = [element] * len(shape)
        for k in reversed(range(len(shape) - 1)):
            strides[k] = strides[k + 1] * shape[k + 1]
        return Place(buffer, begin, shape, tuple(strides), element)

    def block(self, block: Block, numbers: dict[SSAValue, int], looped: bool) -> None:
        for op in block.ops:
            if isinstance(op, ForOp):
                for counter in _rounds(op, numbers):
                    numbers[op.body.block.args[0]] = counter
                    self.block(op.body.block, numbers, True)
            elif op.name.startswith("arith."):
                _arithmetic(op, numbers)
            elif isinstance(op, SlotOp):
                arena = self.number[op.arena]
                self.places[op.buffer] = self._over(op.buffer.type, arena, op.offset.value.data)
            elif isinstance(op, MappedOp):
                self._new(op.output)
            elif op.name in VIEWS:
                place = self._view(op, numbers)
                if place is not None:
                    self.places[op.results[0]] = place
            elif isinstance(op, LaunchOp):
                self._launch(op, looped or op in self.tiles)
            elif op.name == "memref.copy":
                self._touch(op, op.operands[0], write=False)
                self._touch(op, op.operands[1], write=True)
            elif isinstance(op, HostOp):
                for value in op.ins:
                    if value in self.places:
                        self._touch(op, value, write=False)
            else:
                # Conditionals, and loops of which nobody knows the rounds: once.
                for inner in (b for region in op.regions for b in region.blocks):
                    self.block(inner, numbers, True)

    def _view(self, op: Operation, numbers: dict[SSAValue, int]) -> Place | None:
        source = self.places.get(op.operands[0])
        if source is None or op.name == RetypedOp.name:
            return source
        if op.name != "memref.subview":
            return self._over(op.results[0].type, source.buffer, source.begin)
        static: dict[str, Sequence[int]] = {
            n: cast(Any, op.properties[f"static_{n}"]).get_values() for n in ("offsets", "sizes")
        }
        moving = iter(numbers.get(v, 0) for v in op.operands[1:])
        offsets = [next(moving) if o == DYNAMIC else o for o in static["offsets"]]
        return source.box(tuple(zip(offsets, static["sizes"], strict=True)))

    def _touch(self, op: Operation, value: SSAValue, *, write: bool, box: Box | None = None) -> None:
        place, root = self.places.get(value), self.roots.of(value)
        if place is None:
            return
        dead = self._is_last(op, root) and isinstance(root.owner, SlotOp) and root not in self.kept
        begins, length = (place if box is None else place.box(box)).runs()
        self.owners += [op] * len(begins)
        same = repeat(place.buffer), repeat(length), repeat(write), repeat(dead)
        self.accesses += map(Access._make, zip(same[0], begins, *same[1:], strict=False))

    def _is_last(self, op: Operation, root: SSAValue) -> bool:
        """Whether nobody touches the memory behind an op; each tile of a group's op has its own part of it."""
        last = self.last.get(root)
        return last is op or (last is not None and op in self.tiles and self.tiles[op] == self.tiles.get(last))

    def _launch(self, op: LaunchOp, at_once: bool) -> None:
        reads = list(dict.fromkeys(zip(op.ins, range(len(op.ins)), strict=True)))
        for step in [None] if at_once else steps_of(op, self.cache_bytes, self.page):
            for value, k in reads:
                self._touch(op, value, write=False, box=step.reads[k] if step else None)
            for k, value in enumerate(op.outs):
                self._touch(op, value, write=True, box=step.writes[k] if step else None)


def _rounds(loop: ForOp, numbers: dict[SSAValue, int]) -> range:
    """The counter's values; one where they are known only when it runs."""
    bounds = [numbers[v] for v in (loop.lb, loop.ub, loop.step) if v in numbers]
    return range(*bounds) if len(bounds) == 3 else range(1)


def _arithmetic(op: Operation, numbers: dict[SSAValue, int]) -> None:
    """The arithmetic of loops over tiles."""
    if op.name == "arith.constant":
        numbers[op.results[0]] = int(cast(Any, op.properties["value"]).value.data)
    elif op.name in ("arith.muli", "arith.addi") and all(v in numbers for v in op.operands):
        one, two = (numbers[v] for v in op.operands)
        numbers[op.results[0]] = one * two if op.name == "arith.muli" else one + two
