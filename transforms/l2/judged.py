"""
What a function moves from and to memory, and how long that takes, as it stands: asked of the judge.

The function is lowered to loops over buffers (of a copy), every access of these goes through a cache of the target's
size, and what a launch moves is timed as the traffic model times a group: the longest of arithmetic, memory and L2, and
the starts of kernels and tiles. All figures are modelled.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, cast

from xdsl.dialects.builtin import ArrayAttr, IntAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from ...dialects.ge.bodies import FusionOp
from ...dialects.ge.constants import ConstantOp, MappedOp
from ...dialects.ge.interfaces import Joins, Parts, flops_of
from ...dialects.ge.memory import LaunchOp, SlotOp
from ...dialects.ge.types import nbytes
from ...planning import Access, Range, Replayed, judge_parts, knows_time, merged, terms
from ...targets import Target
from ..memory.arena import Layout, lay_out
from ..memory.ge_bufferize import bufferize
from ..report import Report, collecting
from .lying import Lying
from .replayed import Place, trace_of_function

TAG = "ge.judged_as"
"""On the ops of a copy: the number of the op or group that they are counted with, and of the op among a group's."""


@dataclass(frozen=True)
class Judged:
    """
    bytes     from and to memory
    seconds   None where the machine's figures are unknown
    lying     where values lie
    scratch   L2 group -> the bytes of the arena that its tiles use beside
    costs     op or L2 group of the function -> its seconds and, once more, those of its bytes: what moves more is
              dearer though it hides behind arithmetic; bytes where times are unknown
    """

    bytes: int
    seconds: float | None
    lying: Lying
    scratch: Mapping[Operation, tuple[Range, ...]]
    costs: Mapping[Operation, float]

    def cost_of(self, ops: Iterable[Operation]) -> float:
        return sum(self.costs.get(op, 0) for op in ops)

    def of(self, function: FuncOp, copy: FuncOp) -> Judged:
        """The same for a copy of the function."""
        other = dict(zip(function.body.block.ops, copy.body.block.ops, strict=True))
        scratch = {other[op]: ranges for op, ranges in self.scratch.items()}
        costs = {other[op]: cost for op, cost in self.costs.items()}
        return replace(self, lying=self.lying.of(function, copy), scratch=scratch, costs=costs)

    def is_as_good_as(self, other: Judged) -> bool:
        """No more bytes, in no more time."""
        slower = self.seconds is not None and other.seconds is not None and self.seconds > other.seconds
        return self.bytes <= other.bytes and not slower

    def is_better_than(self, other: Judged) -> bool:
        """Fewer bytes, in no more time."""
        return self.is_as_good_as(other) and self.bytes < other.bytes


@dataclass
class _Cost:
    """
    What the launches of an op or a group do and move. `ops`: those of it that are launched, which what moves no byte
    is not; an op starts again for each further tile.
    """

    ops: set[int] = field(default_factory=set[int])
    starts: int = 0
    flops: int = 0
    memory: int = 0
    read: int = 0
    written: int = 0

    def add(self, memory: Replayed, accesses: Iterable[Access]) -> None:
        self.memory += memory.total
        for access in accesses:
            if access.write:
                self.written += access.bytes
            else:
                self.read += access.bytes

    def seconds(self, machine: Target) -> float:
        longest = max(terms(machine, self.flops, self.memory, self.read, self.written))
        again = self.starts - len(self.ops)
        return longest + len(self.ops) * machine.launch_seconds + again * machine.tile_seconds


def judged(function: FuncOp, machine: Target, page: int) -> Judged:
    """Of a function on tensors; raises InputError where it cannot be lowered."""
    copy = function.clone()
    values = list(zip(_values(function), _values(copy), strict=True))
    costs = _marked(copy)
    with collecting(Report()):
        buffers = bufferize(copy)
        lay_out(copy, Layout(alignment=machine.alignment))
    groups = {at for at, op in enumerate(function.body.block.ops) if is_group(op)}
    launches = (op for op in copy.walk() if isinstance(op, LaunchOp))
    tiles: dict[Operation, _Mark] = {
        op: mark for op in launches if (mark := _mark_of(op)) is not None and mark.op in groups
    }
    trace = trace_of_function(copy, machine.l2_bytes, page, tiles)
    parts = trace.by_op()
    moved = judge_parts(
        (accesses for _, accesses in parts), trace.sizes, trace.outputs, machine.l2_bytes, machine.cache, page
    )
    numbers = _share_out(parts, moved, costs)
    bandwidth = machine.memory_bytes_per_s if knows_time(machine) else None
    each = [cost.seconds(machine) if bandwidth else 0.0 for cost in costs.values()]
    shares = (taken + cost.memory / (bandwidth or 1) for cost, taken in zip(costs.values(), each, strict=True))

    addresses: dict[SSAValue, int] = {}
    slots: dict[SSAValue, SSAValue] = {}
    for mine, other in values:
        buffer = buffers.get(other)
        if buffer is None or buffer not in trace.places:
            continue
        slots[mine], place = trace.roots.of(buffer), trace.places[buffer]
        if place.buffer == trace.arena:
            addresses[mine] = _address(place, trace.places[slots[mine]])
    free = {op for op in function.body.block.ops if _moves_nothing(op, slots)}
    inner: dict[int, set[SSAValue]] = {}
    outer = set(slots.values())
    for launch, at in numbers.items():
        roots = {trace.roots.of(v) for v in launch.operands}
        inner.setdefault(at, set()).update(r for r in roots - outer if isinstance(r.owner, SlotOp))
    scratch = {op: _ranges(inner.get(at, ())) for at, op in enumerate(function.body.block.ops) if is_group(op)}
    return Judged(
        sum(part.total for part in moved),
        sum(each) if bandwidth else None,
        Lying(addresses, free),
        scratch,
        dict(zip(function.body.block.ops, shares, strict=True)),
    )


def _address(place: Place, around: Place) -> int:
    """
    Where a value begins; one in runs, a part of a join, as if the slot's parts lay one after the other, each in a row:
    the planners know no other places, and the bytes are as many.
    """
    runs = len(place.runs()[0])
    return around.begin + (place.begin - around.begin) * runs


def is_group(op: Operation) -> bool:
    return isinstance(op, FusionOp) and op.tiling is not None


def _ranges(buffers: Iterable[SSAValue]) -> tuple[Range, ...]:
    """The bytes of slots in the arena."""
    slots = [cast(SlotOp, buffer.owner) for buffer in buffers]
    return merged((s.offset.value.data, s.offset.value.data + nbytes(s.buffer.type)) for s in slots)


class _Mark(NamedTuple):
    """Whose launch it is: the number of an op or a group in the function, and of the op among the group's."""

    op: int
    member: int


def _marked(function: FuncOp) -> dict[int, _Cost]:
    """Marks ops; by number, what they cost, which is not known yet."""
    found: dict[int, _Cost] = {}
    for at, op in enumerate(function.body.block.ops):
        found[at] = _Cost()
        members = list(cast(FusionOp, op).body.block.ops) if is_group(op) else [op]
        for k, member in enumerate(members):
            if isinstance(member, ConstantOp):
                continue  # it goes with each who reads it
            for part in member.walk():
                part.attributes[TAG] = ArrayAttr([IntAttr(at), IntAttr(k)])
    return found


def _mark_of(op: Operation) -> _Mark | None:
    for part in op.walk():
        mark = part.attributes.get(TAG)
        if mark is not None:
            return _Mark(*(n.data for n in cast("ArrayAttr[IntAttr]", mark)))
    return None


def _share_out(
    parts: Sequence[tuple[Operation, list[Access]]], moved: Sequence[Replayed], costs: dict[int, _Cost]
) -> dict[Operation, int]:
    """
    Adds what launches and copies do to what they belong to, whose number it returns for each launch; a copy of lines
    belongs to the launch behind it.
    """
    marks: dict[Operation, tuple[_Mark | None, int]] = {}
    copied: list[tuple[Replayed, list[Access]]] = []
    for (op, accesses), memory in zip(parts, moved, strict=True):
        if op not in marks:
            marks[op] = _mark_of(op), flops_of(op)
        mark, flops = marks[op]
        copied.append((memory, accesses))
        if mark is None:
            continue
        cost = costs[mark.op]
        cost.ops.add(mark.member)
        cost.starts += 1
        cost.flops += flops
        for each in copied:
            cost.add(*each)
        copied.clear()
    return {op: mark.op for op, (mark, _) in marks.items() if mark is not None}


def _values(function: FuncOp) -> Iterator[SSAValue]:
    return (r for op in function.body.block.ops for r in op.results)


def _moves_nothing(op: Operation, slots: Mapping[SSAValue, SSAValue]) -> bool:
    """Whether a join's operands lie in its result, all of a cut's operand in its results, or it is a weight's bytes."""
    if not op.results or not all(v in slots for v in op.results):
        return False
    if all(isinstance(slots[v].owner, MappedOp) for v in op.results):
        return True
    if not isinstance(op, Joins | Parts):
        return False
    if isinstance(op, Joins):
        home = slots[op.results[0]]
        return len(set(op.operands)) == len(op.operands) and all(slots.get(v) is home for v in op.operands)
    source = op.operands[0]
    if not isinstance(source.owner, Operation) or sum(nbytes(r.type) for r in op.results) != nbytes(source.type):
        return False
    only = all(use.operation is op for use in source.uses)
    return only and source in slots and all(slots[r] is slots[source] for r in op.results)
