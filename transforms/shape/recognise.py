"""
Nodes that were opaque, because nothing was known of what they read, as the ops that they turn out to be; and the way
back for those that turn out to be impossible.
"""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import Rewriter

from ...dialects.ge import ONNX_OPS
from ...dialects.ge.core import GeOp
from ...dialects.ge.data import find_module, weight_files
from ...dialects.ge.errors import text_of
from ...dialects.ge.info import info_of_type
from ...dialects.ge.kinds import walk
from ...dialects.ge.opaque import OpaqueOp
from ...dialects.ge.types import is_tensor
from ..base import carry_names
from ..opset import opset_of


def recognise_opaque(function: FuncOp) -> int:
    """
    Replaces opaque ops of `function` that the dialect has an op for, in order, so that one makes the next known.
    Returns how many.
    """
    opaque = [op for op in walk(function) if isinstance(op, OpaqueOp) and _may_be_known(op)]
    if not opaque:
        return 0
    from ...frontend.known import recognised  # brings onnx

    symbols = _symbols(find_module(function))
    found = 0
    for op in opaque:
        made = recognised(op, symbols.__getitem__)
        if made is not None:
            constants, new = made
            _replace(op, [*constants, new], new)
            found += 1
    return found


def make_opaque(op: GeOp) -> None:
    """
    Replaces an op by its node, whose constraints nobody checks before it runs.

    raises     InputError where the model's opset has no such operator
    """
    from ...frontend.known import forgotten

    module = find_module(op)
    assert module is not None
    made = forgotten(op, opset_of(module), _symbols(module).__getitem__)
    block = op.parent_block()
    assert block is not None
    block.insert_op_before(made, op)
    carry_names(op, made.results)
    for value, old in zip(made.results, op.results, strict=True):
        old.replace_all_uses_with(value)
    Rewriter.erase_op(op)


def _symbols(module: ModuleOp | None) -> dict[str, str]:
    """The ge.weights op of each file."""
    return {
        cast(StringAttr, op.properties["path"]).data: cast(StringAttr, op.properties["sym_name"]).data
        for op in (weight_files(module) if module is not None else ())
    }


def _may_be_known(op: OpaqueOp) -> bool:
    domain = text_of(op.domain) or ""
    return not op.bodies and (domain == "com.microsoft" or (domain, op.op_type.data) in ONNX_OPS)


def _replace(op: OpaqueOp, ops: list[Operation], new: Operation) -> None:
    block = op.parent_block()
    assert block is not None
    for value, old in zip(new.results, op.results, strict=True):
        _keep_what_was_known(new, value, old)
    block.insert_ops_before(ops, op)
    carry_names(op, new.results)
    for value, old in zip(new.results, op.results, strict=True):
        old.replace_all_uses_with(value)
    Rewriter.erase_op(op)


def _keep_what_was_known(new: Operation, value: SSAValue, old: SSAValue) -> None:
    """ONNX's inference may have known dims that ours does not: they stay where they agree."""
    if not isinstance(new, GeOp) or not is_tensor(old.type) or not is_tensor(value.type):
        return
    if info_of_type(value.type).admits(old.type) and not info_of_type(old.type).admits(value.type):
        value._type = old.type  # pyright: ignore[reportPrivateUsage]
