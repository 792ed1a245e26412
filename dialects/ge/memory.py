"""
What bufferization makes: bodies that run on buffers, and buffers in one arena.

    ge.launch ins(%x : memref<..>) outs(%y : memref<..>) {...}       a fusion, or one op, on buffers
    %b = ge.slot %arena[2048] life [1, 3) : memref<..> -> memref<..>  a buffer in the arena
    %c = ge.retyped %b : memref<4xf32> to memref<4xi32>               the same bytes as elements of another type
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self, cast

from xdsl.dialects.builtin import DenseArrayBase, DictionaryAttr, IntegerAttr, MemRefType, i8, i32, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import EffectInstance, IsolatedFromAbove, MemoryEffect, MemoryEffectKind, Pure

from .bodies import check_body, contents_type, parse_isolated
from .errors import fail
from .interfaces import has_bytes
from .kernel_tile import check_kernel_tile
from .kinds import Kind
from .names import NODE, OUTPUTS, parse_names, print_names
from .types import element_of, is_as_wide, nbytes


class _LaunchEffects(MemoryEffect):
    """Reads ins, writes outs. Anything less, and dead code elimination would erase a launch without a word."""

    @classmethod
    def get_effects(cls, op: Operation) -> set[EffectInstance]:
        launch = cast("LaunchOp", op)
        reads = {EffectInstance(MemoryEffectKind.READ, v) for v in launch.ins}
        return reads | {EffectInstance(MemoryEffectKind.WRITE, v) for v in launch.outs}


@irdl_op_definition
class LaunchOp(IRDLOperation, metaclass=Kind):
    """
    Runs a body on the contents of `ins` and writes what it yields to `outs`. The body stays on tensors, so every op
    of the dialect, and of plugins, can be launched as it is.

    C1  the body's arguments are the tensors of ins
    C2  the body ends in ge.yield of the tensors of outs

        ge.launch ins(%x, %w : memref<..>, memref<..>) outs(%y : memref<..>) { ... }
    """

    name = "ge.launch"
    ins = var_operand_def(MemRefType)
    outs = var_operand_def(MemRefType)
    body = region_def("single_block")
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(IsolatedFromAbove(), _LaunchEffects())

    def __init__(self, ins: Sequence[SSAValue], outs: Sequence[SSAValue], body: Region) -> None:
        # What irdl's own does, without its look at each definition: modules have tens of thousands of launches.
        sizes = DenseArrayBase.from_list(i32, [len(ins), len(outs)])
        Operation.__init__(self, operands=[*ins, *outs], properties={"operandSegmentSizes": sizes}, regions=[body])

    def verify_(self) -> None:
        ins, outs = ([contents_type(t) for t in values.types] for values in (self.ins, self.outs))
        check_body(self, self.body, ins, outs)
        check_kernel_tile(self, self.outs)

    def print(self, printer: Printer) -> None:
        for word, values in (("ins", self.ins), ("outs", self.outs)):
            if values:
                printer.print_string(f" {word}(")
                printer.print_list(values, printer.print_ssa_value)
                printer.print_string(" : ")
                printer.print_list(values.types, printer.print_attribute)
                printer.print_string(")")
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" ")
        printer.enter_scope()
        printer.print_region(self.body)
        printer.exit_scope()

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        def values(word: str) -> list[SSAValue]:
            if parser.parse_optional_keyword(word) is None:
                return []
            with parser.in_parens():
                found = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_unresolved_operand)
                parser.parse_punctuation(":")
                types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
            if len(found) != len(types):
                parser.raise_error(f"{len(found)} values need as many types, got {len(types)}")
            return [parser.resolve_operand(v, t) for v, t in zip(found, types, strict=True)]

        ins, outs = values("ins"), values("outs")
        attributes = parser.parse_optional_attr_dict_with_keyword()
        op = cls(ins, outs, parse_isolated(parser))
        if attributes is not None:
            op.attributes |= attributes.data
        return op


@irdl_op_definition
class SlotOp(IRDLOperation, metaclass=Kind):
    """
    A buffer in the arena, at a byte offset, for the steps [begin, end) of its block.

    C1  the offset is a multiple of the arena's alignment (the argument's `ge.alignment`)
    C2  the buffer ends inside the arena
    C3  it begins before it ends
    C4  the arena is one of bytes; the buffer is static, of elements of fixed width

        %b = ge.slot %arena[2048] life [1, 3) : memref<4096xi8> -> memref<2x4xf32>
        %s = ge.slot %arena[0] life [1, 2) block 1 : memref<4096xi8> -> memref<64xf32>

    Slots of one block, an L2 group's scratch, are planned as one buffer: the fewer bytes a tile touches, the more of
    them stay in the cache.
    """

    name = "ge.slot"
    arena = operand_def(MemRefType)
    offset = prop_def(IntegerAttr)
    begin = prop_def(IntegerAttr)
    end = prop_def(IntegerAttr)
    block = opt_prop_def(IntegerAttr)
    buffer = result_def(MemRefType)
    traits = traits_def(Pure())

    def __init__(
        self, arena: SSAValue, offset: int, life: tuple[int, int], type_: Attribute, block: int | None = None
    ) -> None:
        numbers = {"offset": offset, "begin": life[0], "end": life[1]} | ({} if block is None else {"block": block})
        super().__init__(
            operands=[arena],
            result_types=[type_],
            properties={name: IntegerAttr(n, i64) for name, n in numbers.items()},
        )

    @property
    def life(self) -> tuple[int, int]:
        return self.begin.value.data, self.end.value.data

    def verify_(self) -> None:
        if not has_bytes(self.buffer) or not has_bytes(self.arena) or cast(Any, self.arena.type).element_type != i8:
            fail(self, f"a buffer is static and its arena bytes, got {self.arena.type} -> {self.buffer.type} (C4)")
        offset, size, arena = self.offset.value.data, nbytes(self.buffer.type), nbytes(self.arena.type)
        alignment = arena_alignment(self.arena)
        if offset % alignment:
            fail(self, f"the offset must be a multiple of {alignment}, got {offset} (C1)")
        if offset < 0 or offset + size > arena:
            fail(self, f"{size} bytes at {offset} must lie inside the arena's {arena} (C2)")
        if self.begin.value.data >= self.end.value.data:
            fail(self, f"a lifetime begins before it ends, got [{self.begin.value.data}, {self.end.value.data}) (C3)")

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.arena)
        begin, end = self.life
        printer.print_string(f"[{self.offset.value.data}] life [{begin}, {end})")
        if self.block is not None:
            printer.print_string(f" block {self.block.value.data}")
        printer.print_op_attributes(self.attributes, reserved_attr_names=(NODE, OUTPUTS), print_keyword=True)
        printer.print_string(" : ")
        printer.print_attribute(self.arena.type)
        printer.print_string(" -> ")
        printer.print_attribute(self.buffer.type)
        print_names(printer, self.attributes)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        arena = parser.parse_unresolved_operand()
        with parser.in_square_brackets():
            offset = parser.parse_integer()
        parser.parse_keyword("life")
        parser.parse_punctuation("[")
        begin = parser.parse_integer()
        parser.parse_punctuation(",")
        end = parser.parse_integer()
        parser.parse_punctuation(")")
        block = parser.parse_integer() if parser.parse_optional_keyword("block") is not None else None
        attributes = parser.parse_optional_attr_dict_with_keyword()
        parser.parse_punctuation(":")
        arena_type = parser.parse_type()
        parser.parse_punctuation("->")
        op = cls(parser.resolve_operand(arena, arena_type), offset, (begin, end), parser.parse_type(), block)
        if attributes is not None:
            op.attributes |= attributes.data
        parse_names(parser, op.attributes)
        return op


@irdl_op_definition
class RetypedOp(IRDLOperation, metaclass=Kind):
    """
    A buffer's own bytes as elements of another type. What memref.view does for bytes in a row, for a buffer of any
    layout: a part of a larger one, say.

    C1  shape and layout stay
    C2  the types have one width, of whole bytes

        %b = ge.retyped %a : memref<2x4xf32> to memref<2x4xi32>
    """

    name = "ge.retyped"
    source = operand_def(MemRefType)
    result = result_def(MemRefType)
    traits = traits_def(Pure())
    assembly_format = "$source attr-dict `:` type($source) `to` type($result)"

    def __init__(self, source: SSAValue, element: Attribute) -> None:
        type_ = cast("MemRefType[Attribute]", source.type)
        new = MemRefType(element, type_.get_shape(), type_.layout, type_.memory_space)
        Operation.__init__(self, operands=[source], result_types=[new])

    def verify_(self) -> None:
        old, new = (cast("MemRefType[Attribute]", v.type) for v in (self.source, self.result))
        if (old.shape, old.layout, old.memory_space) != (new.shape, new.layout, new.memory_space):
            fail(self, f"only the elements' type may change, got {old} to {new} (C1)")
        if not is_as_wide(old, new) or element_of(old.element_type).bits % 8:
            fail(self, f"elements must have one width of whole bytes, got {old} to {new} (C2)")


def arena_alignment(arena: SSAValue) -> int:
    """`ge.alignment` of the function argument that is the arena; 1 where it does not say."""
    block = arena.owner
    function = block.parent_op() if isinstance(block, Block) else None
    if isinstance(function, FuncOp) and function.arg_attrs is not None and block is function.body.blocks.first:
        said = cast(DictionaryAttr, function.arg_attrs.data[cast(Any, arena).index])
        alignment = said.data.get("ge.alignment")
        if isinstance(alignment, IntegerAttr):
            return cast("IntegerAttr[Any]", alignment).value.data
    return 1
