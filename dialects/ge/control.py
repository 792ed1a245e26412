"""Control flow: ops whose bodies read outer values as they are. Sequences stay with ge.opaque."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self, cast

from xdsl.dialects.builtin import TensorType, i1, i64
from xdsl.ir import Attribute, Region, SSAValue
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, region_def, traits_def, var_result_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import RecursiveMemoryEffect

from .bodies import YieldOp
from .core import GeOp, ge_op, info_of
from .declare import OnnxName, integer, opt_ints, opt_operand, var_operands, var_results
from .dims import Dim, unknown_size
from .errors import fail
from .info import Info, axis_of, same_dim
from .kinds import Kind
from .names import NODE, OUTPUTS, parse_names, print_names
from .shapes import rank_unknown
from .types import is_element, is_tensor, shape_of


@irdl_op_definition
class IfOp(IRDLOperation, metaclass=Kind):
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
        if cast(Any, self.cond.type).element_type != i1 or any(d >= 0 and d != 1 for d in shape_of(self.cond.type)):
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


class Iteration(GeOp):
    """Shared by ops that run a body again and again: what is carried, then what is stacked up."""

    BODIES: ClassVar[tuple[str, ...]] = ("body",)
    traits = traits_def(RecursiveMemoryEffect())

    def initial_values(self) -> Sequence[SSAValue]:
        """What is carried starts as these; the first results are what it ends as."""
        raise NotImplementedError

    def yielded(self) -> Sequence[SSAValue]:
        last = self.regions[0].block.last_op
        if not isinstance(last, YieldOp):
            fail(self, "the body must end in ge.yield (C2)")
        return last.values

    def carried(self, start: Info, value: SSAValue) -> Info:
        """What is carried: what it starts as and what an iteration gives it have in common."""
        info = self.given(value)
        if info.element != start.element:
            fail(self, f"an iteration must give {start.element}, got {info.element} (C3)")
        if info.rank != start.rank:
            rank_unknown(self, f"a value is {start.type} at first and {value.type} later (C3)")
        return start.like([a if a == b else unknown_size() for a, b in zip(start.dims, info.dims, strict=True)])

    def given(self, value: SSAValue) -> Info:
        type_ = value.type
        if not is_tensor(type_) or not is_element(type_.element_type):
            rank_unknown(self, f"an iteration gives {type_} (C3)")
        return info_of(value)


@ge_op
class LoopOp(Iteration):
    """
    Runs the body until its first result is false, or `trip_count` times. What is carried goes from an iteration to the
    next; the other results of the body are stacked, one row an iteration.

    C1  trip_count is one element of i64, cond one of i1
    C2  the body takes the iteration's number, the condition and what is carried, and ends in ge.yield of the condition,
        what is carried and a value a stacked result
    C3  what is carried keeps its element type

        %n, %s = ge.loop %m, %c, %v : tensor<i64>, tensor<i1>, tensor<4xf32> -> tensor<4xf32>, tensor<?x4xf32> {
        ^bb0(%i: tensor<i64>, %go: tensor<i1>, %x: tensor<4xf32>):
          ...
          ge.yield %go, %y, %y : tensor<i1>, tensor<4xf32>, tensor<4xf32>
        }

    Source: ONNX Loop-25.
    """

    name = "ge.loop"
    onnx = OnnxName("Loop", since=1)
    trip_count = opt_operand()
    cond = opt_operand()
    initial = var_operands()
    body = region_def("single_block")
    outputs = var_results()

    def initial_values(self) -> Sequence[SSAValue]:
        return self.initial

    def infer(self, *operands: Any) -> list[Info]:
        trips, cond, *initial = operands
        for info, element in ((trips, i64), (cond, i1)):
            if info is not None and (info.element != element or not same_dim(info.count, 1)):
                fail(self, f"trip_count must be one i64 and cond one i1, got {info.type} (C1)")
        _, *values = self.yielded()
        if len(self.body.block.args) != 2 + len(initial) or len(values) != len(self.results):
            fail(self, f"the body must take {2 + len(initial)} values and give {1 + len(self.results)} (C2)")
        states = [self.carried(start, value) for start, value in zip(initial, values, strict=False)]
        stacked = [self.given(value) for value in values[len(initial) :]]
        count = self.iterations(trips, cond)
        return [*states, *(row.like([count, *row.dims]) for row in stacked)]

    def iterations(self, trips: Info | None, cond: Info | None) -> Dim:
        """How often the body runs, where it is known that only `trip_count` ends the loop."""
        goes_on = self.yielded()[0]
        while isinstance(goes_on.owner, GeOp) and goes_on.owner.hands_on():
            goes_on = goes_on.owner.operands[0]
        if goes_on is not self.body.block.args[1] and self.given(goes_on).numbers != [1]:
            return unknown_size()
        if trips is None or trips.elements is None or (cond is not None and cond.numbers != [1]):
            return unknown_size()
        (count,) = trips.elements
        return max(0, count) if isinstance(count, int) else count


@ge_op
class ScanOp(Iteration):
    """
    Runs the body once for each slice of the last `num_scan_inputs` operands along their scan axes. What is carried
    (the operands before them) goes from a slice to the next; the other results of the body are stacked.

    C1  num_scan_inputs is in 1 .. number of operands
    C2  the body takes what is carried and the slices, and ends in ge.yield of what is carried and a value a stacked
        result
    C3  what is carried keeps its element type
    C4  scan_input_axes are axes of the operands that are scanned, scan_output_axes of the stacked results

        %n, %y = ge.scan %s, %x num_scan_inputs 1 : tensor<4xf32>, tensor<7x4xf32> -> tensor<4xf32>, tensor<7x4xf32> {
        ^bb0(%state: tensor<4xf32>, %slice: tensor<4xf32>):
          ...
        }

    Source: ONNX Scan-25 (from 9 on: 8 has a batch axis).
    """

    name = "ge.scan"
    onnx = OnnxName("Scan", since=9)
    operands_ = var_operands()
    num_scan_inputs = integer()
    scan_input_axes = opt_ints()
    scan_input_directions = opt_ints()
    scan_output_axes = opt_ints()
    scan_output_directions = opt_ints()
    body = region_def("single_block")
    outputs = var_results()

    def initial_values(self) -> Sequence[SSAValue]:
        return self.operands[: len(self.operands) - self.num_scan_inputs]

    def infer(self, *operands: Any) -> list[Info]:
        count = self.num_scan_inputs
        if not 1 <= count <= len(operands):
            fail(self, f"num_scan_inputs must be in 1..{len(operands)}, got {count} (C1)")
        initial, scanned = operands[: len(operands) - count], operands[len(operands) - count :]
        values = self.yielded()
        if len(self.body.block.args) != len(operands) or len(values) != len(self.results):
            fail(self, f"the body must take {len(operands)} values and give {len(self.results)} (C2)")
        axes = self.scan_input_axes or (0,) * count
        lengths = [x.dims[axis_of(self, axis, x.rank, "C4")] for x, axis in zip(scanned, axes, strict=False)]
        length = next((d for d in lengths if isinstance(d, int)), lengths[0])
        states = [self.carried(start, value) for start, value in zip(initial, values, strict=False)]
        rows = [self.given(value) for value in values[len(initial) :]]
        stacked: list[Info] = []
        for row, axis in zip(rows, self.scan_output_axes or (0,) * len(rows), strict=False):
            dims = list(row.dims)
            dims.insert(axis_of(self, axis, row.rank + 1, "C4"), length)
            stacked.append(row.like(dims))
        return [*states, *stacked]
