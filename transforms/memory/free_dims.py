"""Whether memory can be planned at all: asked before the passes that plan it, and what they need, are loaded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import DictionaryAttr, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute

from ...dialects.ge.errors import InputError, text_of
from ...dialects.ge.types import is_static, shape_of


def refuse_free_dims(function: FuncOp) -> None:
    """Raises InputError for an input of which a dim is free, with what to type."""
    attrs = function.arg_attrs.data if function.arg_attrs is not None else ()
    described = cast("Sequence[DictionaryAttr]", attrs)
    for k, argument in enumerate(function.body.block.args):
        type_: Attribute = argument.type
        if type_.name == TensorType.name and not is_static(type_):
            said = described[k].data.get("onnx.name") if k < len(described) else None
            name = text_of(said) or f"input_{k}"
            dims = ",".join("?" if d < 0 else str(d) for d in shape_of(type_))
            raise InputError(
                f"input '{name}' is {type_}: memory is planned for static shapes; "
                f"give --input-shape={name}:{dims} with a number for each ?"
            )
