"""Modules as text. Use these, not xDSL's printer and parser as they are: those are quadratic in isolated bodies."""

from __future__ import annotations

from collections import ChainMap
from io import StringIO
from typing import IO, Any, cast

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, BytesAttr, DictionaryAttr, ModuleOp, StringAttr
from xdsl.ir import Attribute, Operation
from xdsl.parser import Parser
from xdsl.printer import Printer


class ModulePrinter(Printer):
    """xDSL's printer, whose inner scopes look outer names up instead of copying them."""

    def enter_scope(self) -> None:
        super().enter_scope()
        outer: object = self._ssa_names[-2]
        names = cast("ChainMap[str, int]", outer if isinstance(outer, ChainMap) else ChainMap(cast(Any, outer)))
        self._ssa_names[-1] = cast("dict[str, int]", names.new_child())


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
    module = Parser(context, source, name).parse_module()
    for op in module.walk():
        for attributes in (op.attributes, op.properties):
            for key, attr in attributes.items():
                attributes[key] = _as_text(attr)
    return module


def _as_text(attr: Attribute) -> Attribute:
    """xDSL reads a literal with escapes beyond ASCII as bytes; what was printed was a string."""
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
