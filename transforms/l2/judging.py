"""
The judge's word on a function as it stands: it is lowered to loops over buffers, and these are replayed.

    function  ->  a copy, on buffers, in an arena  ->  trace  ->  bytes of each unit  ->  seconds of each, summed

A unit is an op of the function: a kernel of its own, or a group with all its tiles. Shares nothing with the planners
but a machine's figures. All of it modelled.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, cast

from xdsl.dialects.builtin import IntAttr
from xdsl.dialects.func import FuncOp
from xdsl.dialects.scf import ForOp
from xdsl.ir import Operation, SSAValue

from ...dialects.ge.bodies import FusionOp, YieldOp
from ...dialects.ge.constants import ConstantOp
from ...dialects.ge.interfaces import Joins, Parts, View, flops_of
from ...dialects.ge.memory import LaunchOp, SlotOp
from ...dialects.ge.types import nbytes
from ...planning import Access, Machine, Range, judge_parts, knows_time, merged, starts, terms
from ..memory.arena import Layout, lay_out
from ..memory.ge_bufferize import bufferize
from ..report import Report, collecting
from .piece import Lying
from .replayed import Trace, trace_of_function

UNIT = "ge.judged_unit"
"""Which op of the function an op comes from, by number: lives on copies alone."""


@dataclass(frozen=True)
class Judged:
    """
    total     bytes from and to memory
    seconds   None where the machine's figures are unknown
    lying     where the function's values lie
    scratch   L2 group -> the bytes of the arena that its tiles use beside
    """

    total: int
    seconds: float | None
    lying: Lying
    scratch: Mapping[Operation, tuple[Range, ...]]

    def beats(self, other: Judged) -> bool:
        """Whether it moves fewer bytes, in no more time."""
        return self.total < other.total and (self.seconds or 0.0) <= (other.seconds or 0.0)


def judged(function: FuncOp, machine: Machine, alignment: int, page: int) -> Judged:
    """
    Lowers a copy of a function on tensors, and judges it.

    alignment   of buffers, bytes
    page        bytes of a line of the cache
    raises      InputError where it cannot be lowered
    cost        about 0.25 us a page that is touched, and the lowering
    """
    ops = list(function.body.block.ops)
    copy, trace, buffers = _lowered(function, machine.l2_bytes, alignment, page)
    addresses: dict[SSAValue, int] = {}
    slots: dict[SSAValue, SSAValue] = {}
    for value, buffer in buffers.items():
        slots[value], place = trace.roots.of(buffer), trace.places[buffer]
        if place.buffer == trace.arena and place.is_in_a_row():
            addresses[value] = place.begin
    lying = Lying(addresses, {op for op in ops if _moves_nothing(op, slots)})

    runs = list(_runs(trace))
    counted = judge_parts(
        (accesses for _, accesses in runs), trace.sizes, trace.outputs, machine.l2_bytes, machine.cache, page
    )
    units = {k: _Unit() for k, _ in runs}
    for (k, accesses), part in zip(runs, counted, strict=True):
        units[k].add(part.total, accesses)
    known = set(slots.values())
    for launch, times in _launches(copy.body.block.ops, 1):
        unit = units.get(_unit_of(launch, -1))
        if unit is not None:
            unit.flops += flops_of(launch) * times
            unit.scratch |= {s for v in launch.operands if (s := trace.roots.of(v)) not in known}
    total = sum(part.total for part in counted)
    seconds = sum(u.seconds(machine, ops[k]) for k, u in units.items() if k >= 0) if knows_time(machine) else None
    scratch = {ops[k]: unit.ranges() for k, unit in units.items() if k >= 0 and is_group(ops[k])}
    return Judged(total, seconds, lying, scratch)


@dataclass
class _Unit:
    """What an op moves and computes; `scratch` are roots that hold no value of the function."""

    memory: int = 0
    read: int = 0
    written: int = 0
    flops: int = 0
    scratch: set[SSAValue] = field(default_factory=set[SSAValue])

    def add(self, memory: int, accesses: Sequence[Access]) -> None:
        self.memory += memory
        self.read += sum(a.bytes for a in accesses if not a.write)
        self.written += sum(a.bytes for a in accesses if a.write)

    def seconds(self, machine: Machine, op: Operation) -> float:
        longest = max(terms(machine, self.flops, self.memory, self.read, self.written))
        if not isinstance(op, FusionOp) or op.tiling is None:
            return longest + starts(machine, 1, 1)
        members = sum(not isinstance(o, ConstantOp | View | YieldOp) for o in op.body.block.ops)
        return longest + starts(machine, members, op.tiling.tiles.data)

    def ranges(self) -> tuple[Range, ...]:
        slots = (value.owner for value in self.scratch)
        return merged(
            (s.offset.value.data, s.offset.value.data + nbytes(s.buffer.type)) for s in slots if isinstance(s, SlotOp)
        )


def is_group(op: Operation) -> bool:
    return isinstance(op, FusionOp) and op.tiling is not None


def _lowered(
    function: FuncOp, cache_bytes: int, alignment: int, page: int
) -> tuple[FuncOp, Trace, dict[SSAValue, SSAValue]]:
    """A copy on buffers, its trace, and the buffer of each value of the function that has one."""
    copy = function.clone()
    for k, op in enumerate(copy.body.block.ops):
        for part in op.walk():
            part.attributes[UNIT] = IntAttr(k)
    pairs = list(zip(_values(function), _values(copy), strict=True))
    with collecting(Report()):
        buffers = bufferize(copy)
        lay_out(copy, Layout(alignment=alignment))
    trace = trace_of_function(copy, cache_bytes, page)
    found = ((mine, buffers.get(other)) for mine, other in pairs)
    return copy, trace, {mine: buffer for mine, buffer in found if buffer is not None and buffer in trace.places}


def _values(function: FuncOp) -> Iterator[SSAValue]:
    return (r for op in function.body.block.ops for r in op.results)


def _runs(trace: Trace) -> Iterator[tuple[int, list[Access]]]:
    """The accesses in order, cut where another unit's begin; what has no number is of the unit before."""
    units: list[int] = []
    for owner, run in groupby(trace.owners):
        unit = _unit_of(owner, units[-1] if units else -1)
        units += [unit] * sum(1 for _ in run)
    pairs = groupby(zip(units, trace.accesses, strict=True), key=lambda pair: pair[0])
    return ((unit, [access for _, access in run]) for unit, run in pairs)


def _unit_of(op: Operation, otherwise: int) -> int:
    for part in op.walk():
        tag = part.attributes.get(UNIT)
        if tag is not None:
            return int(cast(Any, tag).data)
    return otherwise


def _launches(ops: Iterable[Operation], times: int) -> Iterator[tuple[LaunchOp, int]]:
    """The launches, and how often each runs; bodies of which nobody knows the rounds: once."""
    for op in ops:
        if isinstance(op, LaunchOp):
            yield op, times
            continue
        bounds = [_number(v) for v in (op.lb, op.ub, op.step)] if isinstance(op, ForOp) else [None]
        rounds = 1 if None in bounds else len(range(*cast("list[int]", bounds)))
        for block in (b for region in op.regions for b in region.blocks):
            yield from _launches(block.ops, times * rounds)


def _number(value: SSAValue) -> int | None:
    """What a loop's bound is; None where only the run tells."""
    owner = value.owner
    if isinstance(owner, Operation) and owner.name == "arith.constant":
        return int(cast(Any, owner.properties["value"]).value.data)
    return None


def _moves_nothing(op: Operation, slots: Mapping[SSAValue, SSAValue]) -> bool:
    """Whether a join's operands lie in its result, or all of a cut's operand in its results."""
    if not isinstance(op, Joins | Parts) or not all(v in slots for v in op.results):
        return False
    if isinstance(op, Joins):
        home = slots[op.results[0]]
        return len(set(op.operands)) == len(op.operands) and all(slots.get(v) is home for v in op.operands)
    source = op.operands[0]
    if not isinstance(source.owner, Operation) or sum(nbytes(r.type) for r in op.results) != nbytes(source.type):
        return False
    only = all(use.operation is op for use in source.uses)
    return only and source in slots and all(slots[r] is slots[source] for r in op.results)
