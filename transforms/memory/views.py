"""Views of buffers: a box of one, or its bytes under another shape."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import MemRefType, NoneAttr, StridedLayoutAttr
from xdsl.dialects.memref import ReinterpretCastOp, SubviewOp
from xdsl.ir import Attribute, Block, SSAValue

from ...dialects.ge.interfaces import Box
from ...dialects.ge.types import shape_of


def subview(block: Block, buffer: SSAValue, box: Box, hint: str | None) -> SSAValue:
    """Adds a box of a buffer; the buffer itself where it is all of it."""
    if all((offset, size) == (0, d) for (offset, size), d in zip(box, shape_of(buffer.type), strict=True)):
        return buffer
    offsets, sizes, ones = [o for o, _ in box], [n for _, n in box], [1] * len(box)
    type_ = SubviewOp.infer_result_type(cast("MemRefType[Attribute]", buffer.type), offsets, sizes, ones)
    view = SubviewOp.get(buffer, offsets, sizes, ones, type_)
    view.result.name_hint = hint
    block.add_op(view)
    return view.result


def reshaped(block: Block, buffer: SSAValue, shape: Sequence[int], hint: str | None) -> SSAValue:
    """Adds the bytes of a buffer, which lie in a row, under another shape; the buffer itself where it has that."""
    type_ = cast("MemRefType[Attribute]", buffer.type)
    if type_.get_shape() == tuple(shape):
        return buffer
    if isinstance(buffer.owner, ReinterpretCastOp):
        buffer = buffer.owner.source
    offset, strides = type_.get_offset(), row_major(shape)
    assert offset is not None, "bufferization knows where a buffer begins"
    # The offset counts from the underlying buffer, not from where the operand begins.
    layout = StridedLayoutAttr(strides, offset) if offset else NoneAttr()
    new = MemRefType(type_.element_type, shape, layout)
    if buffer.type == new:
        return buffer
    op = ReinterpretCastOp.from_dynamic(buffer, [offset], shape, strides, new)
    op.result.name_hint = hint
    block.add_op(op)
    return op.result


def row_major(shape: Sequence[int]) -> list[int]:
    """Strides in elements."""
    return [math.prod(shape[k + 1 :]) for k in range(len(shape))]
