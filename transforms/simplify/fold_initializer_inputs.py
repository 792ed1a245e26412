"""
Inputs with a default value become constants.

    func.func @main(%x: ..., %w: tensor<4xf32> {onnx.name = "w", ge.default = [dense<...>, tensor<4xf32>]})
                                                 ->       %w = ge.constant dense<...> : tensor<4xf32> onnx ["w"]

An initialiser that is also an input is a default: a caller may give another value, so it is never folded unasked. Needs
nothing. Leaves no input with a default; those who gave one can no longer.
"""

from __future__ import annotations

from typing import Any, cast

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute

from ...dialects.ge.constants import ConstantOp
from ...dialects.ge.errors import text_of
from ...dialects.ge.names import set_names
from ..base import GePass
from ..report import count
from ..rewriting import functions, sync_type


class FoldInitializerInputs(GePass):
    name = "fold-initializer-inputs"
    ge_name = "FoldInitializerInputsPass"
    level = None
    summary = "Makes constants of inputs that have a default value: callers can no longer give another"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in functions(op):
            _fold(function)


def _fold(function: FuncOp) -> None:
    block = function.body.blocks.first
    attrs = list(function.arg_attrs.data) if function.arg_attrs is not None else []
    if block is None or not any("ge.default" in said.data for said in attrs):
        return
    folded: set[str | None] = set()
    for k in reversed(range(len(attrs))):
        default = attrs[k].data.get("ge.default")
        if not isinstance(default, ArrayAttr):
            continue
        value, type_ = cast("ArrayAttr[Attribute]", default).data
        constant = ConstantOp(value, type_)
        name = text_of(attrs[k].data.get("onnx.name"))
        set_names(constant, None, [name] if name else None)
        folded.add(name)
        if block.first_op is None:
            block.add_op(constant)
        else:
            block.insert_op_before(constant, block.first_op)
        block.args[k].replace_all_uses_with(constant.output)
        block.erase_arg(block.args[k])
        del attrs[k]
        count("inputs folded")
    function.properties["arg_attrs"] = ArrayAttr(attrs)
    listed = function.attributes.get("onnx.inputs")
    if listed is not None:
        left = [each for each in cast(Any, listed).data if text_of(each) not in folded]
        function.attributes["onnx.inputs"] = ArrayAttr(left)
    sync_type(function)
