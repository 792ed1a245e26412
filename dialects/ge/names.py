"""
The ONNX names of an op: its node's and its outputs', attributes that are printed last and mean nothing to passes.

    %y = ge.relu %x : tensor<4xf32> -> tensor<4xf32> onnx "Relu_1" ["y"]
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ArrayAttr, StringAttr
from xdsl.ir import Attribute, Operation
from xdsl.parser import Parser
from xdsl.printer import Printer

NODE, OUTPUTS = "onnx.node", "onnx.outputs"


def print_names(printer: Printer, attributes: dict[str, Attribute]) -> None:
    """` onnx "node" ["output"]`, of what is there."""
    node, outputs = attributes.get(NODE), attributes.get(OUTPUTS)
    if node is None and outputs is None:
        return
    printer.print_string(" onnx")
    for attr in (node, outputs):
        if attr is not None:
            printer.print_string(" ")
            printer.print_attribute(attr)


def parse_names(parser: Parser, attributes: dict[str, Attribute]) -> None:
    if parser.parse_optional_keyword("onnx") is None:
        return
    if (node := _parse_optional_text(parser)) is not None:
        attributes[NODE] = node
    outputs = parser.parse_optional_comma_separated_list(parser.Delimiter.SQUARE, lambda: _parse_optional_text(parser))
    if outputs is not None:
        attributes[OUTPUTS] = ArrayAttr([o for o in outputs if o is not None])


def _parse_optional_text(parser: Parser) -> StringAttr | None:
    text = parser.parse_optional_str_literal()
    if text is None:
        raw = parser.parse_optional_bytes_literal()
        text = None if raw is None else raw.decode("utf-8", "replace")
    return None if text is None else StringAttr(text)


def set_names(op: Operation, node: str | None, outputs: Sequence[str] | None = None) -> None:
    if node:
        op.attributes[NODE] = StringAttr(node)
    if outputs:
        op.attributes[OUTPUTS] = ArrayAttr([StringAttr(o) for o in outputs])
