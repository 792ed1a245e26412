"""
Operators that the model's operator set does not have, ONNX Runtime's own above all, are written as those that it has.

    %y = ort.quick_gelu %x          ->          %m = ge.mul %x, 1.702
                                                %s = ge.sigmoid %m
                                                %y = ge.mul %x, %s

So the model runs anywhere. What an op says of itself (`Composed`) is put in its place, and that of what then stands
there, until the operator set has it all. Needs nothing. Leaves an op where it cannot be said, and says which part.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.context import Context
from xdsl.dialects.builtin import DictionaryAttr, ModuleOp
from xdsl.ir import Operation, OpResult, SSAValue
from xdsl.rewriter import Rewriter

from ...dialects.ge.composed import expanded
from ...dialects.ge.core import GeOp
from ...dialects.ge.errors import text_of
from ...dialects.ge.interfaces import Composed
from ...dialects.ge.names import NODE, OUTPUTS, set_names
from ...dialects.ge.opaque import OpaqueOp
from ...dialects.ge.types import is_static
from ...frontend.nodes import is_writable, names_of_outputs
from ..base import GePass
from ..opset import opset_of
from ..report import count, missed
from ..rewriting import functions, sync_type, walk_outside


def decomposed(op: GeOp, opset: int) -> tuple[list[Operation], list[SSAValue]] | None:
    """Ops that `opset` has, and their values that are the op's results; None where it lacks a part."""
    ops, results = expanded(op, op.by_slot())
    written: list[Operation] = []
    now: dict[SSAValue, SSAValue] = {}
    for inner in ops:
        for k, value in enumerate(inner.operands):
            inner.operands[k] = now.get(value, value)
        if not isinstance(inner, GeOp) or is_writable(inner, opset):
            written.append(inner)
            continue
        parts = decomposed(inner, opset) if isinstance(inner, Composed) else None
        if parts is None:
            for made in reversed(ops):
                made.drop_all_references()
            return missed(op, f"not decomposed: opset {opset} has no {inner.onnx.type} of these types")
        written += parts[0]
        now.update(zip(inner.results, parts[1], strict=True))
        inner.drop_all_references()
    return written, [now.get(value, value) for value in results]


def _replace(op: GeOp, ops: Sequence[Operation], results: Sequence[SSAValue]) -> None:
    block = op.parent_block()
    assert block is not None
    block.insert_ops_before(ops, op)
    node, outputs = text_of(op.attributes.get(NODE)), names_of_outputs(op)
    for k, (old, new) in enumerate(zip(op.results, results, strict=True)):
        if isinstance(new, OpResult) and new.op in ops and OUTPUTS not in new.op.attributes:
            set_names(new.op, None if k else node, [outputs[k]] if k < len(outputs) else None)
            new._type = new.type if is_static(new.type) else old.type  # pyright: ignore[reportPrivateUsage]
        old.replace_all_uses_with(new)
    Rewriter.erase_op(op)


def _forget_unused_domains(module: ModuleOp) -> None:
    opsets = module.attributes.get("onnx.opset")
    if not isinstance(opsets, DictionaryAttr):
        return
    used = {"", *(op.onnx.domain for op in module.walk() if isinstance(op, GeOp))}
    used |= {text_of(op.domain) or "" for op in module.walk() if isinstance(op, OpaqueOp)}
    module.attributes["onnx.opset"] = DictionaryAttr({d: v for d, v in opsets.data.items() if d in used})


class Decompose(GePass):
    name = "decompose"
    ge_name = "DecomposePass"
    level = None
    summary = "Writes operators that the model's opset lacks, ONNX Runtime's own above all, as those that it has"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        opset, changed = opset_of(op), False
        for function in functions(op):
            for inner in walk_outside(function):
                if not isinstance(inner, GeOp) or not isinstance(inner, Composed) or is_writable(inner, opset):
                    continue
                parts = decomposed(inner, opset)
                if parts is not None:
                    _replace(inner, *parts)
                    count("operators decomposed")
                    changed = True
            sync_type(function)
        if changed:
            _forget_unused_domains(op)
