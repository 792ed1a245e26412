"""
Dropout drops nothing at inference.

    %y, %mask = ge.opaque "Dropout" (%x, %ratio, %false)       ->       every reader of %y reads %x

Where training_mode is false, or absent, or the ratio is 0; before opset 12, where it has none; before 7, with is_test.
A mask that is read is all true, which is a constant where its dims are known. Needs nothing. Leaves no Dropout but
those that train and those whose mask is of free dims.
"""

from __future__ import annotations

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, i1
from xdsl.ir import SSAValue
from xdsl.rewriter import Rewriter

from ...dialects.ge.activation import DropoutOp
from ...dialects.ge.constants import constant
from ...dialects.ge.opaque import OpaqueOp
from ...dialects.ge.types import is_static, shape_of
from ..base import GePass
from ..operands import element_type, uniform
from ..report import count, missed
from ..rewriting import functions, replace_uses, sync_type, walk_outside


class DropOut(GePass):
    name = "drop-out"
    ge_name = "DropOutPass"
    level = 1
    summary = "Drops Dropout, which does nothing at inference"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in functions(op):
            for inner in walk_outside(function, DropoutOp, OpaqueOp):
                if isinstance(inner, DropoutOp):
                    _drop(inner, None, op)
                elif inner.op_type.data == "Dropout" and inner.domain is None:
                    if _trains(inner):
                        missed(inner, "kept: it may train")
                    else:
                        _drop(inner, inner.results[1] if len(inner.results) > 1 else None, op)
            sync_type(function)


def _trains(op: OpaqueOp) -> bool:
    version = op.version.value.data
    if version >= 12:
        slots = [*op.by_slot(), None, None]
        return slots[2] is not None and uniform(slots[2]) != np.False_ and uniform(slots[1]) != 0
    if version >= 7:
        return False
    is_test = op.attrs.data.get("is_test") if op.attrs is not None else None
    return is_test is None or getattr(getattr(is_test, "value", None), "data", 0) == 0


def _drop(op: DropoutOp | OpaqueOp, mask: SSAValue | None, module: ModuleOp) -> None:
    source, result = op.operands[0], op.results[0]
    if source.type != result.type:
        return None
    if mask is not None and mask.first_use is not None:
        if element_type(mask) != i1 or not is_static(mask.type):
            return missed(op, "kept: its mask is read")
        kept = constant(np.broadcast_to(np.True_, shape_of(mask.type)), module)
        block = op.parent_block()
        assert block is not None
        block.insert_op_before(kept, op)
        mask.replace_all_uses_with(kept.output)
    replace_uses(result, source)
    Rewriter.erase_op(op)
    count("dropouts dropped")
    return None
