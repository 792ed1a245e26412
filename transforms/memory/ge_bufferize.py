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
nothing: that is for memory-reuse. `lowering.py` does a block, `control.py` the bodies of conditionals and loops.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType, ModuleOp, UnitAttr
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, BlockArgument, SSAValue

from ...dialects.ge.constants import ConstantOp
from ...dialects.ge.errors import InputError, text_of
from ...dialects.ge.text import value_name
from ..base import GePass
from ..rewriting import functions
from .arena import Layout, arena_attributes, arena_type, is_on_buffers, lay_out, share_arena
from .free_dims import refuse_free_dims
from .lowering import Lowering, memref_of
from .plan import planned
from .rules import Rules
from .steps import is_buffer, is_constant


@dataclass(frozen=True)
class GeBufferize(GePass):
    """
    in_place  whether results may lie over operands that die there, and operands of a concat inside its result
    views     whether a reshape, a slice and the like give the bytes that are there already
    """

    name = "ge-bufferize"
    ge_name = "GeBufferizePass"
    level = 0
    summary = "Turns tensors into buffers: launches, views, and slots in one arena"

    in_place: bool = True
    views: bool = True

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        sizes: dict[FuncOp, int] = {}
        for function in functions(op):
            if function.body.blocks and not is_on_buffers(function):
                bufferize(function, self.in_place, self.views)
                sizes[function] = lay_out(function, Layout(sharing="none"))
        share_arena(op, sizes)


def bufferize(function: FuncOp, in_place: bool = True, views: bool = True) -> Mapping[SSAValue, SSAValue]:
    """
    The function on buffers, with slots that are yet to be placed; `in_place` and `views` as the pass has them.

    returns  the buffer of each value that the function had
    raises   InputError where that cannot be
    """
    _refuse_control_flow(function)
    refuse_free_dims(function)
    return _Bufferizer(function, Rules(in_place, views)).run()


def _refuse_control_flow(function: FuncOp) -> None:
    blocks, name = list(function.body.blocks), function.sym_name.data
    if len(blocks) > 1 or not isinstance(blocks[0].last_op, ReturnOp):
        raise InputError(f"function @{name} has several blocks: only straight code with ge.if can be bufferized")
    if any(isinstance(op, CallOp) for op in blocks[0].ops):
        raise InputError(f"function @{name} calls another one: inline it before ge-bufferize")


class _Bufferizer:
    """One function: its arguments, its body, what it returns."""

    def __init__(self, function: FuncOp, rules: Rules) -> None:
        self.function, self.old = function, function.body.block
        self.rules, self.new = rules, Block()
        self.plan = planned(self.old, rules)
        self.steps = self.plan.steps

    def run(self) -> dict[SSAValue, SSAValue]:
        """Returns the buffer of each value that has one."""
        buffers: dict[SSAValue, SSAValue] = {}
        results: dict[int, SSAValue] = {}
        arguments = self.arguments(buffers, results)
        lowering = Lowering(self.old, self.new, self.plan, self.rules, self.new.args[-1])
        lowering.buffers, lowering.results = buffers, results
        lowering.run()
        left = [k for k in range(len(self.steps.returned)) if k not in results]
        self.new.add_op(ReturnOp(*(self.value(self.steps.returned[k], buffers) for k in left)))
        self.replace_body(arguments, left)
        return buffers

    def arguments(self, buffers: dict[SSAValue, SSAValue], results: dict[int, SSAValue]) -> list[DictionaryAttr]:
        """Makes the new arguments, and says whose buffers they are; what is said of each."""
        said = [_said(self.function.arg_attrs, k) for k in range(len(self.old.args))]
        for argument in self.old.args:
            new = self.argument(memref_of(argument) if is_buffer(argument) else argument.type, argument.name_hint)
            buffers[argument] = new
        for k, value in enumerate(self.steps.returned):
            if is_buffer(value) and not self.steps.on_host(value):
                result = {"ge.result": UnitAttr(), **_said(self.function.res_attrs, k).data}
                name = value_name(text_of(result.get("onnx.name")))
                results[k] = self.argument(memref_of(value), name or value.name_hint)
                said.append(DictionaryAttr(result))
        self.argument(arena_type(0), "arena")
        said.append(arena_attributes(Layout().alignment))
        return said

    def argument(self, type_: Attribute, hint: str | None) -> BlockArgument:
        new = self.new.insert_arg(type_, len(self.new.args))
        new.name_hint = hint
        return new

    def value(self, value: SSAValue, buffers: Mapping[SSAValue, SSAValue]) -> SSAValue:
        """What is no buffer, as the host gives it."""
        if is_constant(value):
            constant = cast(ConstantOp, value.owner).clone()
            self.new.add_op(constant)
            return constant.output
        return buffers[value]

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


def _said(attrs: ArrayAttr[DictionaryAttr] | None, k: int) -> DictionaryAttr:
    said = attrs.data if attrs is not None else ()
    return said[k] if k < len(said) else DictionaryAttr({})
