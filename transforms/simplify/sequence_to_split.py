"""
A sequence that is cut only for its members to be taken again is a split.

    %q = ge.opaque "SplitToSequence" (%x, [2, 2, 81]) attrs {axis = 4}
    %a = ge.opaque "SequenceAt" (%q, 0), %b = ge.opaque "SequenceAt" (%q, 2)
        ->   %a, %1, %b = ge.split %x, [2, 2, 81] axis 4

Needs constant lengths (or parts of equal, known length) and constant places. Leaves no such sequence. One of which the
length is asked, or that goes elsewhere too, stays.
"""

from __future__ import annotations

from typing import Any, cast

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, TensorType
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import Rewriter

from ...dialects.ge.constants import ConstantOp
from ...dialects.ge.opaque import OpaqueOp
from ...dialects.ge.slicing import SplitOp
from ..base import GePass, carry_names
from ..opset import has_op
from ..report import count, missed
from ..rewriting import functions, walk_outside
from ..shape.analysis import Dims
from ..shape.views import vector


class SequenceToSplit(GePass):
    name = "sequence-to-split"
    ge_name = "SequenceToSplitPass"
    level = 1
    summary = "Makes sequences that are cut and taken apart again splits"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if not has_op(op, SplitOp):
            return
        for function in functions(op):
            dims = Dims(function)
            for inner in walk_outside(function, OpaqueOp):
                if _is(inner, "SplitToSequence"):
                    _split(inner, dims)


def _is(op: Operation, kind: str) -> bool:
    return isinstance(op, OpaqueOp) and op.domain is None and op.op_type.data == kind


def _split(op: OpaqueOp, dims: Dims) -> None:
    readers = [use.operation for use in op.results[0].uses]
    if not readers or not all(_is(r, "SequenceAt") and r.operands[0] is op.results[0] for r in readers):
        return None
    source = op.operands[0]
    if not isinstance(source.type, TensorType):
        return None
    axis = _number(op, "axis", 0) % max(dims(source).rank, 1)
    lengths = _lengths(op, dims(source).dims[axis])
    if lengths is None:
        return missed(op, "not made a split: its lengths are no constants")
    places = [_place(r, len(lengths)) for r in readers]
    if not all(p is not None for p in places):
        return missed(op, "not made a split: a place is no constant in it")
    cuts = vector(lengths, op)
    split = SplitOp(source, cuts.output, axis=axis, results=len(lengths))
    if any(r.results[0].type != split.results[p].type for r, p in zip(readers, places, strict=True) if p is not None):
        return missed(op, "not made a split: a type is not known well enough")
    block = op.parent_block()
    assert block is not None
    block.insert_op_before(cuts, op)
    block.insert_op_before(split, op)
    carry_names(op, [split.results[0]])
    split.attributes.pop("onnx.outputs", None)
    for reader, place in zip(readers, places, strict=True):
        assert place is not None
        reader.results[0].replace_all_uses_with(split.results[place])
        Rewriter.erase_op(reader)
    Rewriter.erase_op(op)
    dims.note(split)
    count("sequences made splits")
    return None


def _lengths(op: OpaqueOp, size: Any) -> list[int] | None:
    given = op.operands[1] if len(op.operands) > 1 else None
    if given is None:
        # Without lengths each member has one element along the axis, and only with keepdims it keeps the axis.
        return [1] * size if _number(op, "keepdims", 1) and isinstance(size, int) and size else None
    numbers = _constant(given)
    if numbers is None or not numbers:
        return None
    if len(cast(Any, given.type).get_shape()) == 1:
        return numbers
    part = numbers[0]
    if not isinstance(size, int) or part <= 0 or size == 0:
        return None
    return [part] * (size // part) + ([size % part] if size % part else [])


def _place(reader: Operation, count_: int) -> int | None:
    numbers = _constant(reader.operands[1])
    if numbers is None or len(numbers) != 1 or not -count_ <= numbers[0] < count_:
        return None
    return numbers[0] % count_


def _constant(value: SSAValue) -> list[int] | None:
    op = value.owner
    return [int(x) for x in op.array().flat] if isinstance(op, ConstantOp) else None


def _number(op: OpaqueOp, name: str, default: int) -> int:
    attr = op.attrs.data.get(name) if op.attrs is not None else None
    return cast("IntegerAttr[Any]", attr).value.data if isinstance(attr, IntegerAttr) else default
