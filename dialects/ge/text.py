"""
Modules as text. Use these, not xDSL's printer and parser as they are: its printer is quadratic in isolated bodies, and
its parser takes half its time for what it has parsed before.
"""

from __future__ import annotations

import re
from collections import ChainMap
from io import StringIO
from typing import IO, Any, cast

from xdsl.context import Context
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AnyFloat,
    ArrayAttr,
    BytesAttr,
    ComplexType,
    DictionaryAttr,
    IndexType,
    IntegerType,
    ModuleOp,
    RankedStructure,
    StringAttr,
)
from xdsl.ir import Attribute, Operation, SSAValue, TypeAttribute
from xdsl.irdl import base
from xdsl.parser import Parser
from xdsl.printer import Printer


class ModulePrinter(Printer):
    """xDSL's printer, whose inner scopes look outer names up instead of copying them."""

    def enter_scope(self) -> None:
        super().enter_scope()
        outer: object = self._ssa_names[-2]
        names = cast("ChainMap[str, int]", outer if isinstance(outer, ChainMap) else ChainMap(cast(Any, outer)))
        self._ssa_names[-1] = cast("dict[str, int]", names.new_child())


class ModuleParser(Parser):
    """xDSL's parser, which knows a type again by its text, and what dense data may be without asking each time."""

    def __init__(self, context: Context, source: str, name: str = "<unknown>") -> None:
        super().__init__(context, source, name)
        self._types: dict[str, TypeAttribute] = {}

    def _parse_attribute_entry(self) -> tuple[str, Attribute]:
        # xDSL lexes a literal with escapes beyond ASCII as bytes, and knows no such name.
        name = self.parse_optional_bytes_literal()
        if name is None:
            return super()._parse_attribute_entry()
        self.parse_punctuation("=")
        return name.decode("utf-8", "replace"), self.parse_attribute()

    def parse_optional_type(self) -> TypeAttribute | None:
        text = _PLAIN_TYPE.match(self.lexer.input.content, self.pos)
        if text is None:
            return super().parse_optional_type()
        known = self._types.get(text[0])
        if known is not None:
            self._resume_from(text.end())
            return known
        parsed = super().parse_optional_type()
        if parsed is not None:
            self._types[text[0]] = parsed
        return parsed

    def _parse_dense_literal_type(self) -> RankedStructure[IntegerType | IndexType | AnyFloat | ComplexType]:
        # As xDSL has it, but that it builds the constraint for each constant: 2 ms.
        type_ = self.expect(self.parse_optional_type, "Dense attribute must be typed!")
        if not _DENSE_TYPE.verifies(type_):
            self.raise_error("Expected memref, vector or tensor type of integer, index, float, or complex type")
        if any(dim == DYNAMIC_INDEX for dim in type_.get_shape()):
            self.raise_error("Dense literal attribute should have a static shape.")
        return type_


_PLAIN_TYPE = re.compile(r"(?:tensor|memref)<[\w?]+>")
_DENSE_TYPE = base(RankedStructure[IntegerType | IndexType | AnyFloat | ComplexType])


def print_module(op: Operation, stream: IO[str], *, generic: bool = False) -> None:
    """Writes a module (or any op) in the custom form, or in MLIR's generic one."""
    printer = ModulePrinter(stream, print_generic_format=generic)
    printer.print_op(op)
    printer.print_string("\n")


def module_text(op: Operation, *, generic: bool = False) -> str:
    stream = StringIO()
    print_module(op, stream, generic=generic)
    return stream.getvalue()


def parse_module(context: Context, source: str, name: str) -> ModuleOp:
    """
    Parses a module.

    name       of the file, for messages
    raises     ParseError
    """
    module = ModuleParser(context, source, name).parse_module()
    bytes_to_text(module)
    return module


def bytes_to_text(module: ModuleOp) -> None:
    """xDSL reads a literal with escapes beyond ASCII as bytes; what was printed was a string, and is one again."""
    for op in module.walk():
        for attributes in (op.attributes, op.properties):
            for key, attr in attributes.items():
                attributes[key] = _as_text(attr)


def value_name(name: str | None) -> str | None:
    """
    The name of a value in the text, from an ONNX one: a help for readers, nothing more. Without numbers at its end:
    xDSL takes `_1` for one that it put there, and drops one with each print and parse.
    """
    if not name:
        return None
    text = "".join(c if c.isascii() and (c.isalnum() or c in "_$.-") else "_" for c in name)
    text = re.sub(r"(_\d+)+$", "", text)
    return text if SSAValue.is_valid_name(text) else f"v{text}" if SSAValue.is_valid_name(f"v{text}") else None


def _as_text(attr: Attribute) -> Attribute:
    match attr:
        case BytesAttr():
            try:
                return StringAttr(attr.data.decode("utf-8"))
            except UnicodeDecodeError:
                return attr
        case ArrayAttr():
            texts = [_as_text(a) for a in attr.data]
            return attr if all(a is b for a, b in zip(texts, attr.data, strict=True)) else ArrayAttr(texts)
        case DictionaryAttr():
            named = {k: _as_text(a) for k, a in attr.data.items()}
            return attr if all(a is attr.data[k] for k, a in named.items()) else DictionaryAttr(named)
        case _:
            return attr
