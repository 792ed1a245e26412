"""
Ops that hand their operand on are dropped.

    %y = ge.identity %x : tensor<4xf32> -> tensor<4xf32>       ->       every reader of %y reads %x

Needs nothing. Leaves no such op, but one whose type says more than its operand's.
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import OpResult
from xdsl.rewriter import Rewriter

from ...dialects.ge.core import GeOp
from ...dialects.ge.kinds import walk
from ...dialects.ge.types import shape_of
from ..base import GePass
from ..report import count, missed
from ..rewriting import functions, is_result_of_function, sync_type


class Identity(GePass):
    name = "identity"
    ge_name = "IdentityPass"
    level = 1
    summary = "Drops ops that hand their operand on"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in functions(op):
            for inner in list(walk(function)):
                if isinstance(inner, GeOp) and inner.hands_on():
                    _drop(inner)
            sync_type(function)


def _drop(op: GeOp) -> None:
    source, result = op.operands[0], op.results[0]
    if any(r.first_use is not None for r in op.results[1:]):
        return None
    if any(s < 0 <= d for s, d in zip(shape_of(source.type), shape_of(result.type), strict=True)):
        return missed(op, "not dropped: its type says more than its operand's")
    if is_result_of_function(result) and isinstance(source, OpResult) and len(source.op.results) == 1:
        # The value's name as an output is what a reader of the graph looks for.
        outputs = op.attributes.get("onnx.outputs")
        if outputs is not None and not is_result_of_function(source):
            source.op.attributes["onnx.outputs"] = outputs
    result.replace_all_uses_with(source)
    Rewriter.erase_op(op)
    count("ops dropped")
    return None
