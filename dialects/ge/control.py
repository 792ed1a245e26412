"""Control flow: ops whose bodies read outer values as they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self, cast

from xdsl.dialects.builtin import TensorType, i1
from xdsl.ir import Attribute, Region, SSAValue
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, region_def, traits_def, var_result_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import RecursiveMemoryEffect

from .bodies import YieldOp
from .core import NODE, OUTPUTS, parse_names, print_names
from .errors import fail
from .types import shape_of


@irdl_op_definition
class IfOp(IRDLOperation):
    """
    The results of one of two bodies, by a condition.

    C1  the condition is one element of i1
    C2  both bodies end in ge.yield of as many values as there are results
    C3  each value has the result's element type

        %y = ge.if %c : tensor<i1> -> (tensor<?xf32>) onnx "If_3" ["y"] {
          ge.yield %a : tensor<4xf32>
        } else {
          ge.yield %b : tensor<?xf32>
        }

    Source: ONNX If-25.
    """

    name = "ge.if"
    cond = operand_def(TensorType)
    outs = var_result_def()
    then_branch = region_def("single_block")
    else_branch = region_def("single_block")
    traits = traits_def(RecursiveMemoryEffect())

    def __init__(self, cond: SSAValue, out_types: Sequence[Attribute], then: Region, otherwise: Region) -> None:
        super().__init__(operands=[cond], result_types=[out_types], regions=[then, otherwise])

    def verify_(self) -> None:
        if cast(Any, self.cond.type).element_type != i1 or any(d not in (1, -1) for d in shape_of(self.cond.type)):
            fail(self, f"the condition must be one element of i1, got {self.cond.type} (C1)")
        for body in (self.then_branch, self.else_branch):
            last = body.block.last_op
            if not isinstance(last, YieldOp) or len(last.values) != len(self.outs):
                fail(self, f"each body must end in ge.yield of {len(self.outs)} values (C2)")
            for value, out in zip(last.values, self.outs, strict=True):
                if getattr(value.type, "element_type", None) != getattr(out.type, "element_type", None):
                    fail(self, f"a body must yield {out.type}, got {value.type} (C3)")

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.cond)
        printer.print_op_attributes(self.attributes, reserved_attr_names=(NODE, OUTPUTS), print_keyword=True)
        printer.print_string(" : ")
        printer.print_attribute(self.cond.type)
        printer.print_string(" -> (")
        printer.print_list(self.outs.types, printer.print_attribute)
        printer.print_string(")")
        print_names(printer, self.attributes)
        printer.print_string(" ")
        printer.print_region(self.then_branch)
        printer.print_string(" else ")
        printer.print_region(self.else_branch)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        cond = parser.parse_unresolved_operand()
        extra = parser.parse_optional_attr_dict_with_keyword()
        parser.parse_punctuation(":")
        condition = parser.resolve_operand(cond, parser.parse_type())
        parser.parse_punctuation("->")
        outs = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
        attributes = dict(extra.data) if extra is not None else {}
        parse_names(parser, attributes)
        then = parser.parse_region()
        parser.parse_keyword("else")
        op = cls(condition, outs, then, parser.parse_region())
        op.attributes.update(attributes)
        return op


