"""
The arena of a bufferized function: who is alive when, and where each slot lies.

A step is an op that reads or writes buffers. Slots, weights, views and the end are no steps. A slot lives from the
first step that touches it, through any view, to the last one: [first, last + 1).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias, cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    FunctionType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    ModuleOp,
    UnitAttr,
    i8,
    i64,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.dialects.scf import ConditionOp, ForOp, IfOp, WhileOp, YieldOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue
from xdsl.rewriter import Rewriter

from ...dialects.ge.constants import MappedOp
from ...dialects.ge.gears import gears
from ...dialects.ge.memory import LaunchOp, RetypedOp, SlotOp, arena_alignment
from ...dialects.ge.types import nbytes
from ...planning import Algorithm, ArenaPlan, Buffer, Sharing, align_up, lower_bound, plan_arena
from ..report import count, missed
from ..rewriting import is_isolated

VIEWS = frozenset(
    (
        RetypedOp.name,
        *(f"memref.{name}" for name in ("cast", "collapse_shape", "expand_shape", "reinterpret_cast", "subview")),
    )
)
"""Ops whose result is their first operand's memory."""

LOOPS = (ForOp, WhileOp)
CONTROL = (*LOOPS, IfOp)
"""Steps that are made of steps."""

Loops: TypeAlias = "tuple[Operation, ...]"
"""From the outermost to the innermost."""

BOUND = "ge.arena_bound"
"""On the function: bytes that no arena for it can be smaller than."""


def arena_of(function: FuncOp) -> BlockArgument | None:
    """The argument that is the arena; None before bufferization."""
    block = function.body.blocks.first
    if block is None or function.arg_attrs is None:
        return None
    said = cast("Sequence[DictionaryAttr]", function.arg_attrs.data)
    return next((a for a, s in zip(block.args, said, strict=False) if "ge.arena" in s.data), None)


def is_on_buffers(function: FuncOp) -> bool:
    """Whether a function has been bufferized, by us or by hand."""
    first = function.body.blocks.first
    values = (*first.args, *(r for op in first.ops for r in op.results)) if first is not None else ()
    return arena_of(function) is not None or any(v.type.name == MemRefType.name for v in values)


def is_step(op: Operation) -> bool:
    if op.name in VIEWS or op.name.startswith("arith."):
        return False
    return not isinstance(op, SlotOp | MappedOp | ReturnOp | YieldOp | ConditionOp)


def steps_in(block: Block) -> Iterator[Operation]:
    return (op for op in block.ops if is_step(op))


def numbered(block: Block) -> Iterator[Operation]:
    """The steps of a block in the order of their numbers: those in loops and branches one after the other."""
    for op in steps_in(block):
        if isinstance(op, CONTROL):
            for region in op.regions:
                for inner in region.blocks:
                    yield from numbered(inner)
        else:
            yield op


def touched(op: Operation) -> Iterator[SSAValue]:
    """What a step reads or writes, bodies included where they see what is around them."""
    yield from op.operands
    if op.regions and not is_isolated(op):
        for inner in op.walk():
            if inner is not op:
                yield from inner.operands


class Roots:
    """Whose memory a value is: the slot, argument or weight behind views. O(1) a value."""

    def __init__(self, block: Block) -> None:
        self._roots: dict[SSAValue, SSAValue] = {}
        self._add(block)

    def _add(self, block: Block) -> None:
        for op in block.ops:
            if op.name in VIEWS:
                self._roots[op.results[0]] = self.of(op.operands[0])
            elif isinstance(op, CONTROL):
                for region in op.regions:
                    for inner in region.blocks:
                        self._add(inner)

    def of(self, value: SSAValue) -> SSAValue:
        return self._roots.get(value, value)


def lives(steps: Iterable[Operation], roots: Roots) -> dict[SSAValue, tuple[int, int]]:
    """
    Root -> the steps [first, last + 1) that touch it. The steps in loops and branches are numbered too, those of two
    branches one after the other: what only one branch touches shares with what only the other does. What is touched in
    one loop alone lives between its first and last step there, since each iteration writes it before it reads it; what
    others touch as well lives for the whole loop.
    """
    touches: list[tuple[int, SSAValue, Loops]] = []
    ranges: dict[Operation, tuple[int, int]] = {}
    count = 0

    def number(ops: Iterable[Operation], loops: Loops) -> None:
        nonlocal count
        for op in ops:
            begin = count
            if isinstance(op, CONTROL):
                inside = (*loops, op) if isinstance(op, LOOPS) else loops
                for region in op.regions:
                    for block in region.blocks:
                        number(steps_in(block), inside)
                if isinstance(op, LOOPS):
                    ranges[op] = (begin, count)
                continue
            touches.extend((count, root, loops) for root in {roots.of(v) for v in touched(op)})
            count += 1

    number(steps, ())
    home: dict[SSAValue, Loops] = {}  # the loops that all that touches a root is in
    for _, root, loops in touches:
        known = home.get(root, loops)
        if known != loops:
            known = tuple(a for a, b in zip(known, loops, strict=False) if a is b)
        home[root] = known
    found: dict[SSAValue, tuple[int, int]] = {}
    for at, root, loops in touches:
        depth = len(home[root])
        begin, end = ranges[loops[depth]] if len(loops) > depth else (at, at + 1)
        old = found.get(root, (begin, end))
        found[root] = (min(old[0], begin), max(old[1], end))
    return found


@dataclass(frozen=True)
class Layout:
    """
    How slots are placed.

    alignment         bytes; of each offset and of the arena's size
    sharing           who may share addresses: planning.plan_offsets
    max_reuse_ratio   likewise
    algorithm         planning.plan_arena
    seconds           for the search
    """

    alignment: int = 64
    sharing: Sharing = "lifetime"
    max_reuse_ratio: float = 1.0
    algorithm: Algorithm = "greedy"
    seconds: float = 1.0


def lay_out(function: FuncOp, layout: Layout) -> int:
    """
    Gives each slot of a bufferized function its lifetime and offset, and the arena its size, which it returns; a slot
    that no step touches goes.

    cost   linear in ops, and planning.plan_arena
    """
    arena = arena_of(function)
    assert arena is not None
    block = function.body.block
    _drop_unread(block)
    roots = Roots(block)
    alive = lives(steps_in(block), roots)

    slots = [op for op in block.ops if isinstance(op, SlotOp)]
    buffers = [_buffer(op, *alive[op.buffer]) for op in slots]
    plan = _plan(buffers, [None if op.block is None else op.block.value.data for op in slots], layout)
    for op, buffer, offset in zip(slots, buffers, plan.offsets, strict=True):
        for name, number in (("offset", offset), ("begin", buffer.begin), ("end", buffer.end)):
            op.properties[name] = _number(number)
    _resize(function, arena, plan.size, layout.alignment)
    function.attributes[BOUND] = IntegerAttr(plan.bound, i64)
    if layout.sharing == "lifetime" and not plan.proved:
        gap = plan.size - plan.bound
        missed(function, f"takes {plan.size} bytes, {gap} ({gap / plan.bound:.1%}) more than any plan is known to need")

    count("arena bytes", plan.size)
    count("lower bound bytes", plan.bound)
    count("tensor bytes", _tensor_bytes(block, roots, layout.alignment))
    if layout.sharing != "none":
        count("bytes saved by reuse", sum(align_up(b.size, layout.alignment) for b in buffers) - plan.size)
    return plan.size


def _plan(buffers: Sequence[Buffer], blocks: Sequence[int | None], layout: Layout) -> ArenaPlan:
    """A place for each buffer; those of one block as one, where the layout leaves that free."""
    free = layout.sharing == "lifetime" and layout.max_reuse_ratio >= 1 and layout.algorithm in ("greedy", "search")

    def planned(buffers: Sequence[Buffer]) -> ArenaPlan:
        return plan_arena(
            buffers,
            alignment=layout.alignment,
            sharing=layout.sharing,
            max_reuse_ratio=layout.max_reuse_ratio,
            algorithm=layout.algorithm,
            seconds=layout.seconds,
        )

    if not free or all(block is None for block in blocks):
        return planned(buffers)
    members: dict[int, list[int]] = {}
    for k, block in enumerate(blocks):
        members.setdefault(-k - 1 if block is None else block, []).append(k)
    offsets = [0] * len(buffers)
    whole: list[Buffer] = []
    for inside in members.values():
        parts = [buffers[k] for k in inside]
        if len(parts) == 1:
            whole += parts
            continue
        packed = plan_arena(parts, alignment=layout.alignment, algorithm="greedy")
        for k, offset in zip(inside, packed.offsets, strict=True):
            offsets[k] = offset
        life = min(b.begin for b in parts), max(b.end for b in parts)
        whole.append(Buffer(*life, packed.size, parts[0].name))
    plan = planned(whole)
    for inside, base in zip(members.values(), plan.offsets, strict=True):
        for k in inside:
            offsets[k] += base
    return ArenaPlan(offsets, plan.size, lower_bound(buffers, layout.alignment))


def share_arena(module: ModuleOp, sizes: Mapping[FuncOp, int]) -> None:
    """
    Gives the gears of a model one arena, as large as the largest needs.

    sizes   of those that were just laid out, bytes; the others need what their slots take
    """
    arenas = {function: arena for function in gears(module) if (arena := arena_of(function)) is not None}
    if len(arenas) < 2:
        return
    alignment = max(arena_alignment(arena) for arena in arenas.values())
    needed = [sizes.get(function, _taken(function)) for function in arenas]
    size = align_up(max(needed), alignment)
    for function, arena in arenas.items():
        _resize(function, arena, size, arena_alignment(arena))
    if len(sizes) == len(arenas):
        count("bytes saved by gears in one arena", sum(needed) - size)


def _taken(function: FuncOp) -> int:
    slots = (op for op in function.body.block.ops if isinstance(op, SlotOp))
    return max((op.offset.value.data + nbytes(op.buffer.type) for op in slots), default=0)


def _drop_unread(block: Block) -> None:
    """Slots and views that nothing reads or writes."""
    for op in reversed(list(block.ops)):
        if isinstance(op, CONTROL):
            for region in op.regions:
                for inner in region.blocks:
                    _drop_unread(inner)
        elif (op.name in VIEWS or isinstance(op, SlotOp)) and op.results[0].first_use is None:
            Rewriter.erase_op(op)


def arena_attributes(alignment: int) -> DictionaryAttr:
    return DictionaryAttr({"ge.arena": UnitAttr(), "ge.alignment": IntegerAttr(alignment, i64)})


def arena_type(size: int) -> MemRefType[Attribute]:
    return MemRefType(i8, [size])


def new_slot(arena: SSAValue, type_: Attribute, hint: str | None, block: int | None = None) -> SlotOp:
    """A slot that `lay_out` is to place."""
    properties = {"offset": _number(0), "begin": _number(0), "end": _number(1)}
    if block is not None:
        properties["block"] = _number(block)
    slot = SlotOp.create(operands=[arena], result_types=[type_], properties=properties)
    slot.buffer.name_hint = hint
    return slot


@lru_cache(maxsize=4096)
def _number(n: int) -> IntegerAttr[IntegerType]:
    return IntegerAttr(n, i64)


def _buffer(op: SlotOp, begin: int, end: int) -> Buffer:
    return Buffer(begin, end, nbytes(op.buffer.type), op.buffer.name_hint or "")


def _resize(function: FuncOp, arena: BlockArgument, size: int, alignment: int) -> None:
    arena._type = arena_type(size)  # pyright: ignore[reportPrivateUsage]
    if arena_alignment(arena) != alignment:
        assert function.arg_attrs is not None
        said = list(cast("Sequence[DictionaryAttr]", function.arg_attrs.data))
        said[arena.index] = arena_attributes(alignment)
        function.properties["arg_attrs"] = ArrayAttr(said)
    function.properties["function_type"] = FunctionType.from_lists(
        function.body.block.arg_types, list(function.function_type.outputs)
    )


def _tensor_bytes(block: Block, roots: Roots, alignment: int) -> int:
    """All tensors that are computed into the arena, as if each had (aligned) bytes of its own."""
    outs = (v for op in numbered(block) if isinstance(op, LaunchOp) for v in op.outs)
    return sum(align_up(nbytes(v.type), alignment) for v in outs if isinstance(roots.of(v).owner, SlotOp))
