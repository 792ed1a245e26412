"""Whether memory can be planned at all: asked before the passes that plan it, and what they need, are loaded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute

from ...dialects.ge.errors import InputError, text_of
from ...dialects.ge.types import is_static, shape_of


def refuse_free_dims(function: FuncOp, why: str = "memory is planned") -> None:
    """Raises InputError for an input of which a dim is free, with what to type."""
    attrs = function.arg_attrs.data if function.arg_attrs is not None else ()
    described = cast("Sequence[DictionaryAttr]", attrs)
    for k, argument in enumerate(function.body.block.args):
        type_: Attribute = argument.type
        if type_.name == TensorType.name and not is_static(type_):
            said: Mapping[str, Attribute] = described[k].data if k < len(described) else {}
            name = text_of(said.get("onnx.name")) or f"input_{k}"
            dims = ",".join("?" if d < 0 else str(d) for d in shape_of(type_))
            free = ", ".join(_symbols(said.get("ge.dims"))) or "a dim"
            raise InputError(
                f"input '{name}' is {type_} with {free} free: {why} for static shapes; "
                f"give --input-shape={name}:{dims} with a number for each ?, or several, 1|2|4"
            )


def _symbols(dims: Attribute | None) -> list[str]:
    """The names among an input's dims."""
    entries: Sequence[Attribute] = cast("ArrayAttr[Attribute]", dims).data if dims is not None else ()
    return [text for entry in entries if (text := text_of(entry)) is not None]
