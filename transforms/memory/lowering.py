"""
One block on to buffers: its steps, in order, become launches, views and slots.

    %a = ge.exp %x                  %a = ge.slot ..
    %b = ge.relu %a                 ge.launch ins(%x) outs(%a) {..}
    %c = ge.reshape %b, %s    ->    ge.launch ins(%a) outs(%a) {..}          // in place
    %y = ge.if %q {..}              %c = memref.reinterpret_cast %a ..       // a view
                                    scf.if .. {a block of its own, lowered in the same way}

What shares memory is decided before (`plan.py`); here it is built.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from functools import cache, partial
from itertools import count as numbers
from itertools import groupby
from typing import cast

from xdsl.dialects.builtin import MemRefType, TensorType
from xdsl.dialects.memref import CopyOp
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ...dialects.ge.bodies import FusionOp, HostOp, contents_type, yielded
from ...dialects.ge.constants import ConstantOp, MappedOp
from ...dialects.ge.interfaces import Joins
from ...dialects.ge.kernel_tile import KERNEL_TILE
from ...dialects.ge.memory import LaunchOp
from ...dialects.ge.types import nbytes, shape_of
from ..report import count
from .arena import new_slot
from .bodies import body_of, body_of_constant, body_of_ops
from .plan import Shared, planned
from .rules import Rules
from .steps import Step
from .views import reshaped, retyped, subview, transposed


class Lowering:
    """
    old       the block on tensors; `plan` says what becomes of it
    new       what is added to
    arena     slots lie in it; they stand in `slots`, the function's block, before what `new` is a body of
    buffers   the memref of each value that has one
    results   buffers that returned values are wanted in, by their place among these
    outer     of the block around, whose values this one sees
    """

    def __init__(
        self, old: Block, new: Block, plan: Shared, rules: Rules, arena: SSAValue, outer: Lowering | None = None
    ) -> None:
        self.old, self.new, self.plan, self.rules, self.arena, self.outer = old, new, plan, rules, arena, outer
        self.steps, self.over, self.joined = plan.steps, plan.over, plan.joined
        self.slots: Block = new if outer is None else outer.slots
        self.blocks: Iterator[int] = numbers(1) if outer is None else outer.blocks
        self.named: dict[int, int] = {} if outer is None else outer.named
        self.buffers: dict[SSAValue, SSAValue] = {}
        self.results: dict[int, SSAValue] = {}
        self.homes: dict[SSAValue, tuple[SSAValue, SSAValue]] = {}

    def inner(self, body: Block, new: Block) -> Lowering:
        """For a body of an op of this block."""
        plan = planned(body, self.rules, self.steps)
        return Lowering(body, new, plan, self.rules, self.arena, self)

    def run(self) -> None:
        homes = {base: k for base, k in self.plan.homes.items() if k in self.results}
        self.homes = {base: (self.steps.returned[k], self.results[k]) for base, k in homes.items()}
        for host, steps in _runs(self.steps.list):
            if host:
                self.host(steps)
                continue
            for step in steps:
                if step.kind == "view":
                    self.view(step.op.results[0], step.reads[0])
                elif step.kind == "part":
                    self.parts(step)
                elif step.op in self.joined.ops:
                    self.join(step.op)
                elif step.kind == "tiled":
                    self.tiles(cast(FusionOp, step.op))
                elif step.kind == "control":
                    self.control(step.op)
                else:
                    self.launch(step)
        self.give_back()

    def give_back(self) -> None:
        """Copies what is not yet where it is wanted."""
        for k, wanted in self.results.items():
            self.copy(self.buffer(self.steps.returned[k]), wanted)

    # ------------------------------------------------------------------ buffers

    def copy(self, source: SSAValue, target: SSAValue) -> None:
        if source is not target:
            self.new.add_op(CopyOp(source, target))
            count("copies")

    def slot(self, type_: Attribute, hint: str | None, block: int | None = None) -> SSAValue:
        slot = new_slot(self.arena, type_, hint, block)
        self.slots.add_op(slot)
        return slot.buffer

    def slot_like(self, value: SSAValue) -> SSAValue:
        return self.slot(memref_of(value), value.name_hint)

    def buffer(self, value: SSAValue) -> SSAValue:
        """The memref of a value; a constant is mapped on first use, in the block that it stands in."""
        if value in self.buffers:
            return self.buffers[value]
        if self.outer is not None and not self._stands_here(value):
            return self.outer.buffer(value)
        constant = cast(ConstantOp, value.owner)
        mapped = MappedOp(constant.value, memref_of(value))
        mapped.attributes.update(constant.attributes)
        mapped.output.name_hint = value.name_hint
        self.new.add_op(mapped)
        self.buffers[value] = mapped.output
        return mapped.output

    def _stands_here(self, value: SSAValue) -> bool:
        block = value.owner if isinstance(value.owner, Block) else value.owner.parent_block()
        while block is not None and block is not self.old:
            around = block.parent_op()
            block = around.parent_block() if around is not None else None
        return block is not None

    def view(self, result: SSAValue, source: SSAValue) -> None:
        value, wanted = self.homes.get(self.steps.base(result), (None, None))
        if value is result and wanted is not None:
            self.buffers[result] = wanted
        elif result in self.steps.orders:
            self.buffers[result] = transposed(
                self.new, self.buffer(source), self.steps.orders[result], result.name_hint
            )
        else:
            self.buffers[result] = self.seen_as(result, self.buffer(source))
        count("views")
        count("bytes of views", nbytes(result.type))

    def seen_as(self, value: SSAValue, buffer: SSAValue) -> SSAValue:
        """`buffer` under the shape and the type of a value."""
        buffer = retyped(self.new, buffer, memref_of(value).element_type, value.name_hint)
        return reshaped(self.new, buffer, shape_of(value.type), value.name_hint)

    def place(self, result: SSAValue) -> SSAValue:
        """A buffer for what a step computes: where it is wanted, an operand's, or a slot."""
        if result in self.homes:
            return self.seen_as(result, self.homes[result][1])
        if result in self.over:
            count("in place")
            count("bytes in place", nbytes(result.type))
            return self.seen_as(result, self.buffers[self.over[result]])
        if result in self.joined.into:
            return self.part_of_join(result)
        return self.slot_like(result)

    def part_of_join(self, value: SSAValue) -> SSAValue:
        """The part of a result that a value is computed into; the result's buffer is made for its first part."""
        nested = [value]
        while nested[-1] not in self.buffers and nested[-1] in self.joined.into:
            nested.append(self.joined.into[nested[-1]][0])
        whole = nested.pop()
        if whole not in self.buffers:
            self.buffers[whole] = self.place(whole)
        for part in reversed(nested):
            whole, box = self.joined.into[part]
            self.buffers[part] = self.seen_as(part, subview(self.new, self.buffers[whole], box, part.name_hint))
        return self.buffers[value]

    # ------------------------------------------------------------------ steps

    def parts(self, step: Step) -> None:
        source = self.buffer(step.reads[0])
        for result in step.op.results:
            if result.first_use is not None:
                self.buffers[result] = subview(self.new, source, self.steps.boxes[result], result.name_hint)
                count("bytes of views", nbytes(result.type))
        count("views")

    def join(self, op: Operation) -> None:
        """What is not in its part of the result yet is copied there; what is no operand is written beside it."""
        assert isinstance(op, Joins)
        whole = self.buffers[op.results[0]]
        for value, box in zip(map(self.steps.resolve, op.operands), op.joins(), strict=True):
            if box is not None and self.joined.into.get(value) != (op.results[0], box) and nbytes(value.type):
                self.copy(self.buffer(value), subview(self.new, whole, box, None))
        for box, value in op.fills():
            part = subview(self.new, whole, box, None)
            self.new.add_op(LaunchOp([], [part], body_of_constant(value, contents_type(part.type))))
            count("launches")
        count("joined in place")
        count("bytes joined in place", nbytes(op.results[0].type))

    def launch(self, step: Step) -> None:
        said = {KERNEL_TILE: step.op.attributes.get(KERNEL_TILE)}
        if isinstance(step.op, FusionOp):
            said["label"] = step.op.label
        body = body_of(step.op, step.reads, self.steps.resolve)
        ins = [self.buffer(v) for v in body.reads]
        for result in body.results:
            self.buffers[result] = self.place(result)
        launch = LaunchOp(ins, [self.buffers[r] for r in body.results], body.region)
        launch.attributes.update({name: attribute for name, attribute in said.items() if attribute is not None})
        self.new.add_op(launch)
        count("launches")

    def control(self, op: Operation) -> None:
        from .control import emit_control

        emit_control(self, op)

    def tiles(self, group: FusionOp) -> None:
        outs = dict(zip(yielded(group.body), group.outs, strict=True))

        def place(inner: SSAValue) -> SSAValue:
            self.buffers[outs[inner]] = self.place(outs[inner])
            return self.buffers[outs[inner]]

        def buffer(value: SSAValue) -> SSAValue:
            return self.buffer(self.steps.resolve(value))

        from .loops import Loops

        cut = self.rules.tiles_of(group)
        assert cut is not None
        scratch = partial(self.slot, block=self._block(group))
        count("launches in tiles", Loops(cut, self.new, buffer, place, scratch).emit())
        count("groups in tiles")

    def _block(self, group: FusionOp) -> int:
        """The number of the block that a group's scratch is a part of."""
        assert group.tiling is not None
        named = group.tiling.block.data
        number = self.named.get(named) or next(self.blocks)
        if named:
            self.named[named] = number
        return number

    def host(self, steps: Sequence[Step]) -> None:
        """Consecutive steps that run on the host, as one segment."""
        made = dict.fromkeys(r for step in steps for r in step.op.results)
        reads = dict.fromkeys(v for step in steps for v in step.reads if v not in made)
        ops = {step.op for step in steps}
        results = [r for r in made if _read_outside(r, ops)]
        body = body_of_ops([step.op for step in steps], list(reads), results, self.steps.resolve)
        host = HostOp([self.buffer(v) for v in body.reads], [r.type for r in results], body.region)
        for old, new in zip(results, host.outs, strict=True):
            new.name_hint = old.name_hint
            self.buffers[old] = new
        self.new.add_op(host)
        count("host segments")
        count("host ops", len(steps))


def _runs(steps: Sequence[Step]) -> Iterator[tuple[bool, list[Step]]]:
    """Consecutive steps that are all, or none of them, on the host."""
    return ((host, list(run)) for host, run in groupby(steps, lambda step: step.kind == "host"))


def _read_outside(value: SSAValue, ops: Container[Operation]) -> bool:
    def outside(op: Operation | None) -> bool:
        while op is not None and op not in ops:
            op = op.parent_op()
        return op is None

    return any(outside(use.operation) for use in value.uses)


def memref_of(value: SSAValue) -> MemRefType[Attribute]:
    type_ = cast("TensorType[Attribute]", value.type)
    return _memref_type(type_.element_type, type_.get_shape())


@cache
def _memref_type(element: Attribute, shape: tuple[int, ...]) -> MemRefType[Attribute]:
    return MemRefType(element, shape)
