"""
Ops with a body that is isolated from what is around it.

    ge.fusion "name" (%a = %x : T) -> (T) {...}    several ops that run as one; its meaning is its body
    ge.host (%a = %x : T) -> (T) {...}             what has no place in the arena, run by the reference
    ge.yield %r : T                                ends every body
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from io import StringIO
from typing import Any, Self, TypeVar, cast

from xdsl.dialects.builtin import MemRefType, StringAttr
from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    opt_prop_def,
    prop_def,
    region_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsolatedFromAbove, IsTerminator, Pure, RecursiveMemoryEffect

from .attributes import L2TilingAttr
from .declare import parse_text
from .errors import fail
from .kernel_tile import check_kernel_tile
from .kinds import Kind
from .types import tensor_type

T = TypeVar("T")


@irdl_op_definition
class YieldOp(IRDLOperation, metaclass=Kind):
    """Ends a body and gives its results."""

    name = "ge.yield"
    values = var_operand_def()
    traits = traits_def(Pure(), IsTerminator())
    assembly_format = "attr-dict ($values^ `:` type($values))?"

    def __init__(self, *values: SSAValue) -> None:
        Operation.__init__(self, operands=values)


def yielded(body: Region) -> Sequence[SSAValue]:
    """The results of a body."""
    last = body.block.last_op
    return last.operands if last is not None else ()


def check_body(op: Operation, body: Region, args: Sequence[Attribute], results: Sequence[Attribute]) -> None:
    found = [a.type for a in body.block.args]
    if found != list(args):
        fail(op, f"block arguments must be {_types(args)}, got {_types(found)} (C1)")
    last = body.block.last_op
    if not isinstance(last, YieldOp):
        fail(op, "the body must end in ge.yield (C2)")
    if list(last.values.types) != list(results):
        fail(op, f"ge.yield must give {_types(results)}, got {_types(last.values.types)} (C2)")


def _types(types: Sequence[Attribute]) -> str:
    return f"({', '.join(map(str, types))})"


@irdl_op_definition
class FusionOp(IRDLOperation, metaclass=Kind):
    """
    Several ops that run as one. The meaning is the body; the name is for people, nothing is decided by it.

    Inside stand every constant that a shape or a tile depends on, and scalars; outside, as operands, the weights.
    With `tiling` it is an L2 group, whose body holds fusions and single ops.

    C1  the body's arguments have the operands' types
    C2  the body ends in ge.yield of the results' types

        %y = ge.fusion "ConvRelu" (%a = %x : tensor<..>, %b = %w : tensor<..>) -> (tensor<..>) {
          %0 = ge.conv %a, %b : ...
          %1 = ge.relu %0 : ...
          ge.yield %1 : ...
        }
    """

    name = "ge.fusion"
    label = prop_def(StringAttr)
    tiling = opt_prop_def(L2TilingAttr)
    ins = var_operand_def()
    outs = var_result_def()
    body = region_def("single_block")
    traits = traits_def(IsolatedFromAbove(), RecursiveMemoryEffect())

    def __init__(
        self,
        label: str,
        ins: Sequence[SSAValue],
        out_types: Sequence[Attribute],
        body: Region,
        tiling: L2TilingAttr | None = None,
    ) -> None:
        super().__init__(
            operands=[ins],
            result_types=[out_types],
            regions=[body],
            properties={"label": StringAttr(label), "tiling": tiling},
        )

    def verify_(self) -> None:
        check_body(self, self.body, list(self.ins.types), list(self.outs.types))
        check_kernel_tile(self, self.outs)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_attribute(self.label)

        def more() -> None:
            if self.tiling is not None:
                printer.print_string(" tiling ")
                printer.print_attribute(self.tiling)

        print_bound(printer, self, self.ins, self.outs.types, self.body, more)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        label = parse_text(parser)

        def more() -> L2TilingAttr | None:
            if parser.parse_optional_keyword("tiling") is None:
                return None
            tiling = parser.parse_attribute()
            if not isinstance(tiling, L2TilingAttr):
                parser.raise_error("#ge.l2_tiling must stand here")
            return tiling

        ins, outs, tiling, attributes, body = parse_bound(parser, more)
        op = cls(label, ins, outs, body, tiling)
        op.attributes |= attributes
        return op


def print_bound(
    printer: Printer,
    op: Operation,
    ins: Sequence[SSAValue],
    out_types: Sequence[Attribute],
    body: Region,
    more: Callable[[], None] = lambda: None,
) -> None:
    """` (%a = %x : T) -> (T) {...}`: a body whose arguments stand beside the values that they are bound to."""
    # The body's names are its own: they are given out in its scope, after the operands are named out here.
    outer = [_value_text(printer, value) for value in ins]
    printer.print_string(" (")
    printer.enter_scope()
    for k, (argument, value, text) in enumerate(zip(body.block.args, ins, outer, strict=True)):
        printer.print_string(", " if k else "")
        printer.print_ssa_value(argument)
        printer.print_string(f" = {text} : ")
        printer.print_attribute(value.type)
    printer.print_string(") -> (")
    printer.print_list(out_types, printer.print_attribute)
    printer.print_string(")")
    more()
    printer.print_op_attributes(op.attributes, print_keyword=True)
    printer.print_string(" ")
    printer.print_region(body, print_entry_block_args=False)
    printer.exit_scope()


def parse_bound(
    parser: Parser, more: Callable[[], T]
) -> tuple[list[SSAValue], list[Attribute], T, dict[str, Attribute], Region]:
    """The inverse of `print_bound`: operands, result types, what `more` parsed, attributes, body."""

    def bound() -> tuple[Any, Attribute, SSAValue]:
        argument = parser.parse_argument(expect_type=False)
        parser.parse_punctuation("=")
        operand = parser.parse_unresolved_operand()
        parser.parse_punctuation(":")
        type_ = parser.parse_type()
        return argument, type_, parser.resolve_operand(operand, type_)

    triples = parser.parse_comma_separated_list(parser.Delimiter.PAREN, bound)
    parser.parse_punctuation("->")
    outs: list[Attribute] = list(parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type))
    extra = more()
    attributes = parser.parse_optional_attr_dict_with_keyword()
    arguments = [argument.resolve(contents_type(type_)) for argument, type_, _ in triples]
    body = parse_isolated(parser, arguments)
    named = dict(attributes.data) if attributes is not None else {}
    return [value for _, _, value in triples], outs, extra, named, body


def contents_type(type_: Attribute) -> Attribute:
    """The tensor type of a buffer's contents, whatever its layout; of anything else its own type."""
    if not isinstance(type_, MemRefType):
        return type_
    memref = cast("MemRefType[Attribute]", type_)
    return tensor_type(memref.element_type, memref.get_shape())


def _value_text(printer: Printer, value: SSAValue) -> str:
    """What `printer` writes for a value, taken without writing it."""
    text = StringIO()
    stream, printer.stream = printer.stream, text
    try:
        printer.print_ssa_value(value)
        return text.getvalue()
    finally:
        printer.stream = stream


def parse_isolated(parser: Parser, arguments: Sequence[Any] | None = None) -> Region:
    """
    Parses a body in a scope of its own. Stock xDSL copies all outer names at every region (quadratic in the module)
    and refuses an inner name that stands outside too, which MLIR allows.
    """
    outer, forward = parser.ssa_values, parser.forward_ssa_references
    parser.ssa_values, parser.forward_ssa_references = {}, {}
    try:
        body = parser.parse_region(arguments)
        if parser.forward_ssa_references:
            name = next(iter(parser.forward_ssa_references))
            parser.raise_error(f"value %{name} is not defined in the body, which is isolated")
        return body
    finally:
        parser.ssa_values, parser.forward_ssa_references = outer, forward


@irdl_op_definition
class HostOp(IRDLOperation, metaclass=Kind):
    """
    A piece of the program whose values are no buffers (sequences, strings, results whose size depends on data), run
    by the reference. It reads buffers and values, and gives values; the memory plan is cut here.

    C1  the body's arguments have the operands' types, tensors for buffers
    C2  the body ends in ge.yield of the results' types

        %s = ge.host (%a = %x : memref<4xf32>) -> (!ge.seq<tensor<?xf32>>) { ... }
    """

    name = "ge.host"
    ins = var_operand_def()
    outs = var_result_def()
    body = region_def("single_block")
    # Without an effects trait nothing is known of its effects: it is neither dropped nor moved.
    traits = traits_def(IsolatedFromAbove())

    def __init__(self, ins: Sequence[SSAValue], out_types: Sequence[Attribute], body: Region) -> None:
        super().__init__(operands=[ins], result_types=[out_types], regions=[body])

    def verify_(self) -> None:
        check_body(self, self.body, [contents_type(t) for t in self.ins.types], list(self.outs.types))

    def print(self, printer: Printer) -> None:
        print_bound(printer, self, self.ins, self.outs.types, self.body)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        ins, outs, _, attributes, body = parse_bound(parser, lambda: None)
        op = cls(ins, outs, body)
        op.attributes |= attributes
        return op
