"""Errors that a person can act on, each one line; what else escapes is a bug of ours."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NoReturn, cast

from xdsl.dialects.builtin import ArrayAttr, BytesAttr, StringAttr
from xdsl.ir import Attribute, Operation
from xdsl.utils.exceptions import VerifyException


class InputError(Exception):
    """The input (model, module, data) is wrong: exit code 1."""

    def __init__(self, message: str, file: object = None, node: str | None = None) -> None:
        self.message, self.file, self.node = " ".join(message.split()), file, node
        super().__init__(str(self))

    def __str__(self) -> str:
        where = f"{self.file}: " if self.file is not None else ""
        who = f'node "{self.node}": ' if self.node else ""
        return f"{where}{who}{self.message}"


class UsageError(Exception):
    """The command line or a configuration is wrong: exit code 2."""


def text_of(attr: Attribute | None) -> str | None:
    """The text of a string attribute; xDSL parses a non-ASCII literal as bytes."""
    if isinstance(attr, StringAttr):
        return attr.data
    if isinstance(attr, BytesAttr):
        return attr.data.decode("utf-8", "replace")
    return None


def node_name(op: Operation) -> str | None:
    """The name of the ONNX node that `op` came from; without one, of its first output."""
    name = text_of(op.attributes.get("onnx.node"))
    if name:
        return name
    outputs = op.attributes.get("onnx.outputs")
    names = cast("ArrayAttr[Attribute]", outputs).data if isinstance(outputs, ArrayAttr) else ()
    return text_of(names[0]) if names else None


def fail(op: Operation, what: str) -> NoReturn:
    """Refuses `op`: the message names its ONNX node, the op, the constraint (`(C1)`) and what was found."""
    name = node_name(op)
    who = f'node "{name}": ' if name else ""
    raise VerifyException(f"{who}'{op.name}' {what}")


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """`; did you mean 'x'?` for the nearest of `known`, or nothing when none is near."""
    import difflib

    near = difflib.get_close_matches(name, sorted(set(known)), n=1, cutoff=0.6)
    return f"; did you mean '{near[0]}'?" if near else ""
