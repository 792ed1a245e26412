"""
From tensors to buffers: each op, or fusion, becomes a launch that reads buffers and writes buffers.

    func.func @main(%x: tensor<2x4xf32>) -> tensor<8xf32> {
      %a = ge.exp %x : ...
      %y = ge.reshape %a, %s : ...
      return %y

    func.func @main(%x: memref<2x4xf32>, %y: memref<8xf32> {ge.result}, %arena: memref<0xi8> {ge.arena}) {
      %a = memref.reinterpret_cast %y ...         // a view: the same bytes
      ge.launch ins(%x) outs(%a) {...ge.exp...}   // straight into the caller's buffer

Needs static shapes of the inputs. Leaves a function that returns nothing but what has no buffer (`steps.py` says what
that is); its arguments are the inputs, then the results, then the arena. Slots lie in the order given and share
nothing: that is for memory-reuse.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType, MemRefType, ModuleOp, TensorType, UnitAttr
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.dialects.memref import CopyOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue

from ...dialects.ge.bodies import FusionOp, HostOp, yielded
from ...dialects.ge.constants import ConstantOp, MappedOp
from ...dialects.ge.errors import InputError, text_of
from ...dialects.ge.interfaces import Joins
from ...dialects.ge.memory import LaunchOp
from ...dialects.ge.types import nbytes, shape_of
from ..base import GePass
from ..report import count
from ..rewriting import functions
from .arena import Layout, arena_attributes, arena_of, arena_type, lay_out, new_slot
from .bodies import body_of, body_of_ops
from .free_dims import refuse_free_dims
from .plan import planned
from .steps import Step, is_buffer, is_constant
from .tiles import Loops, Tiled, tiled
from .views import reshaped, subview


@dataclass(frozen=True)
class GeBufferize(GePass):
    """
    in_place  whether results may lie over operands that die there, and operands of a concat inside its result
    """

    name = "ge-bufferize"
    ge_name = "GeBufferizePass"
    level = 0
    summary = "Turns tensors into buffers: launches, views, and slots in one arena"

    in_place: bool = True

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in functions(op):
            if function.body.blocks and not _is_on_buffers(function):
                _refuse_control_flow(function)
                refuse_free_dims(function)
                _Bufferizer(function, self.in_place).run()
                lay_out(function, Layout(sharing="none"))


def _is_on_buffers(function: FuncOp) -> bool:
    first = function.body.blocks.first
    values = (*first.args, *(r for op in first.ops for r in op.results)) if first is not None else ()
    return arena_of(function) is not None or any(v.type.name == MemRefType.name for v in values)


def _refuse_control_flow(function: FuncOp) -> None:
    blocks, name = list(function.body.blocks), function.sym_name.data
    if len(blocks) > 1 or not isinstance(blocks[0].last_op, ReturnOp):
        raise InputError(f"function @{name} has several blocks: only straight code with ge.if can be bufferized")
    if any(isinstance(op, CallOp) for op in blocks[0].ops):
        raise InputError(f"function @{name} calls another one: inline it before ge-bufferize")


class _Bufferizer:
    """One function, in one walk over its steps; `buffers` holds the memref of each value that has one."""

    def __init__(self, function: FuncOp, in_place: bool) -> None:
        self.function, self.old = function, function.body.block
        self.groups: dict[FusionOp, Tiled | None] = {}
        self.plan = planned(self.old, self.cut, in_place)
        self.steps, self.over, self.joined = self.plan.steps, self.plan.over, self.plan.joined
        self.new, self.buffers = Block(), dict[SSAValue, SSAValue]()
        self.results: dict[int, BlockArgument] = {}  # the caller's buffer of each returned value, by its place
        self.homes: dict[SSAValue, tuple[SSAValue, BlockArgument]] = {}

    def cut(self, group: FusionOp) -> bool:
        if group not in self.groups:
            self.groups[group] = tiled(group)
        return self.groups[group] is not None

    def run(self) -> None:
        arguments = self.arguments()
        self.arena = self.new.args[-1]
        self.homes = {base: (self.steps.returned[k], self.results[k]) for base, k in self.plan.homes.items()}
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
                else:
                    self.launch(step)
        left = self.give_back()
        self.replace_body(arguments, left)

    # ------------------------------------------------------------------ the function

    def arguments(self) -> list[DictionaryAttr]:
        """Makes the new arguments; what is said of each."""
        said = [_said(self.function.arg_attrs, k) for k in range(len(self.old.args))]
        for argument in self.old.args:
            new = self.argument(_memref_of(argument) if is_buffer(argument) else argument.type, argument.name_hint)
            self.buffers[argument] = new
        for k, value in enumerate(self.steps.returned):
            if self.has_buffer(value):
                result = {"ge.result": UnitAttr(), **_said(self.function.res_attrs, k).data}
                self.results[k] = self.argument(_memref_of(value), _hint(result) or value.name_hint)
                said.append(DictionaryAttr(result))
        self.argument(arena_type(0), "arena")
        said.append(arena_attributes(Layout().alignment))
        return said

    def argument(self, type_: Attribute, hint: str | None) -> BlockArgument:
        new = self.new.insert_arg(type_, len(self.new.args))
        new.name_hint = hint
        return new

    def has_buffer(self, value: SSAValue) -> bool:
        return is_buffer(value) and not self.steps.on_host(value)

    def give_back(self) -> list[int]:
        """Copies what is not yet where the caller wants it; the places of returned values that are no buffers."""
        for k, argument in self.results.items():
            buffer = self.buffer(self.steps.returned[k])
            if buffer is not argument:
                self.new.add_op(CopyOp(buffer, argument))
                count("copies")
        left = [k for k in range(len(self.steps.returned)) if k not in self.results]
        self.new.add_op(ReturnOp(*(self.value(self.steps.returned[k]) for k in left)))
        return left

    def value(self, value: SSAValue) -> SSAValue:
        """What is no buffer, as the host gives it."""
        if is_constant(value):
            constant = cast(ConstantOp, value.owner).clone()
            self.new.add_op(constant)
            return constant.output
        return self.buffers[value]

    def replace_body(self, arguments: list[DictionaryAttr], left: list[int]) -> None:
        function, body = self.function, self.function.body
        for op in reversed(list(self.old.ops)):
            op.detach()
            op.erase(safe_erase=False)
        body.detach_block(self.old)
        body.add_block(self.new)
        returned = [self.steps.returned[k].type for k in left]
        function.properties["function_type"] = FunctionType.from_lists(list(self.new.arg_types), returned)
        function.properties["arg_attrs"] = ArrayAttr(arguments)
        if function.res_attrs is not None:
            function.properties["res_attrs"] = ArrayAttr([_said(function.res_attrs, k) for k in left])

    # ------------------------------------------------------------------ buffers

    def buffer(self, value: SSAValue) -> SSAValue:
        """The memref of a value; a constant is mapped on first use."""
        if value not in self.buffers:
            constant = cast(ConstantOp, value.owner)
            mapped = MappedOp(constant.value, _memref_of(value))
            mapped.attributes.update(constant.attributes)
            mapped.output.name_hint = value.name_hint
            self.new.add_op(mapped)
            self.buffers[value] = mapped.output
        return self.buffers[value]

    def view(self, result: SSAValue, source: SSAValue) -> None:
        value, argument = self.homes.get(self.steps.base(result), (None, None))
        if value is result and argument is not None:
            self.buffers[result] = argument
        else:
            self.buffers[result] = self.reshaped(self.buffer(source), result)
        count("views")

    def reshaped(self, buffer: SSAValue, like: SSAValue) -> SSAValue:
        """`buffer` under the shape of the value `like`."""
        return reshaped(self.new, buffer, shape_of(like.type), like.name_hint)

    def place(self, result: SSAValue) -> SSAValue:
        """A buffer for what a launch computes: the caller's, an operand's, or a slot."""
        if result in self.homes:
            return self.reshaped(self.homes[result][1], result)
        if result in self.over:
            count("in place")
            return self.buffers[self.over[result]]
        if result in self.joined.into:
            return self.part_of_join(result)
        slot = new_slot(self.arena, _memref_of(result), result.name_hint)
        self.new.add_op(slot)
        return slot.buffer

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
            self.buffers[part] = subview(self.new, self.buffers[whole], box, part.name_hint)
        return self.buffers[value]

    # ------------------------------------------------------------------ steps

    def parts(self, step: Step) -> None:
        source = self.buffer(step.reads[0])
        for result in step.op.results:
            if result.first_use is not None:
                self.buffers[result] = subview(self.new, source, self.steps.boxes[result], result.name_hint)
        count("views")

    def join(self, op: Operation) -> None:
        """What is not in its part of the result yet is copied there."""
        assert isinstance(op, Joins)
        whole = self.buffers[op.results[0]]
        for value, box in zip(map(self.steps.resolve, op.operands), op.joins(), strict=True):
            if self.joined.into.get(value) != (op.results[0], box) and nbytes(value.type):
                self.new.add_op(CopyOp(self.buffer(value), subview(self.new, whole, box, None)))
                count("copies")
        count("joined in place")

    def launch(self, step: Step) -> None:
        label = step.op.label if isinstance(step.op, FusionOp) else None
        body = body_of(step.op, step.reads, self.steps.resolve)
        ins = [self.buffer(v) for v in body.reads]
        for result in body.results:
            self.buffers[result] = self.place(result)
        launch = LaunchOp(ins, [self.buffers[r] for r in body.results], body.region)
        if label is not None:
            launch.attributes["label"] = label
        self.new.add_op(launch)
        count("launches")

    def tiles(self, group: FusionOp) -> None:
        outs = dict(zip(yielded(group.body), group.outs, strict=True))

        def place(inner: SSAValue) -> SSAValue:
            self.buffers[outs[inner]] = self.place(outs[inner])
            return self.buffers[outs[inner]]

        def scratch(type_: Attribute, hint: str | None) -> SSAValue:
            slot = new_slot(self.arena, type_, hint)
            self.new.add_op(slot)
            return slot.buffer

        def buffer(value: SSAValue) -> SSAValue:
            return self.buffer(self.steps.resolve(value))

        cut = self.groups[group]
        assert cut is not None
        count("launches in tiles", Loops(cut, self.new, buffer, place, scratch).emit())
        count("groups in tiles")

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


def _memref_of(value: SSAValue) -> MemRefType[Attribute]:
    type_ = cast("TensorType[Attribute]", value.type)
    return _memref_type(type_.element_type, type_.get_shape())


@cache
def _memref_type(element: Attribute, shape: tuple[int, ...]) -> MemRefType[Attribute]:
    return MemRefType(element, shape)


def _hint(said: Mapping[str, Attribute]) -> str | None:
    """The ONNX name, where it can be one of the text."""
    name = text_of(said.get("onnx.name"))
    return name if name is not None and SSAValue.is_valid_name(name) else None


def _said(attrs: ArrayAttr[DictionaryAttr] | None, k: int) -> DictionaryAttr:
    said = attrs.data if attrs is not None else ()
    return said[k] if k < len(said) else DictionaryAttr({})
