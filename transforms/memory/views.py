"""Views of buffers: a box of one, its bytes under another shape or type, its axes in another order."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    IntegerAttr,
    IntegerType,
    MemRefType,
    NoneAttr,
    StridedLayoutAttr,
    i64,
)
from xdsl.dialects.memref import CollapseShapeOp, ExpandShapeOp, ReinterpretCastOp, SubviewOp
from xdsl.ir import Attribute, Block, SSAValue

from ...dialects.ge.interfaces import Box
from ...dialects.ge.memory import RetypedOp
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
    offset, strides = type_.get_offset(), row_major(shape)
    if offset is None:
        return _reshaped_in_a_loop(block, buffer, shape, hint)
    if isinstance(buffer.owner, ReinterpretCastOp):
        buffer = buffer.owner.source
    # The offset counts from the underlying buffer, not from where the operand begins.
    layout = StridedLayoutAttr(strides, offset) if offset else NoneAttr()
    new = MemRefType(type_.element_type, shape, layout)
    if buffer.type == new:
        return buffer
    op = ReinterpretCastOp.from_dynamic(buffer, [offset], shape, strides, new)
    op.result.name_hint = hint
    block.add_op(op)
    return op.result


def retyped(block: Block, buffer: SSAValue, element: Attribute, hint: str | None) -> SSAValue:
    """Adds the bytes of a buffer as elements of another type; the buffer itself where it has that."""
    if isinstance(buffer.owner, RetypedOp):
        source = buffer.owner.source
        buffer = source if _element_of(source) == element else buffer
    if _element_of(buffer) == element:
        return buffer
    op = RetypedOp(buffer, element)
    op.result.name_hint = hint
    block.add_op(op)
    return op.result


def _element_of(buffer: SSAValue) -> Attribute:
    return cast("MemRefType[Attribute]", buffer.type).element_type


def _reshaped_in_a_loop(block: Block, buffer: SSAValue, shape: Sequence[int], hint: str | None) -> SSAValue:
    """Of a buffer that begins where a loop's counter says: by way of one axis, which needs no offset."""
    type_ = cast("MemRefType[Attribute]", buffer.type)
    rank, count = type_.get_num_dims(), math.prod(shape)
    row = MemRefType(type_.element_type, [count], StridedLayoutAttr([1], None))
    new = MemRefType(type_.element_type, shape, StridedLayoutAttr(row_major(shape), None))
    if rank != 1:
        properties: dict[str, Attribute] = {"reassociation": _all_axes(rank)}
        if rank == 0:
            properties["static_output_shape"] = DenseArrayBase.from_list(i64, [1])
        kind = CollapseShapeOp if rank else ExpandShapeOp
        op = kind.create(operands=[buffer], result_types=[row], properties=properties)
        block.add_op(op)
        buffer = op.results[0]
    if len(shape) != 1:
        properties = {"reassociation": _all_axes(len(shape))}
        if shape:
            properties["static_output_shape"] = DenseArrayBase.from_list(i64, list(shape))
        kind = ExpandShapeOp if shape else CollapseShapeOp
        op = kind.create(operands=[buffer], result_types=[new], properties=properties)
        block.add_op(op)
        buffer = op.results[0]
    buffer.name_hint = hint
    return buffer


def _all_axes(rank: int) -> ArrayAttr[ArrayAttr[IntegerAttr[IntegerType]]]:
    """All axes as one; of rank 0 there is nothing to group."""
    return ArrayAttr([ArrayAttr([IntegerAttr(k, i64) for k in range(rank)])] if rank else [])


def transposed(block: Block, buffer: SSAValue, order: Sequence[int], hint: str | None) -> SSAValue:
    """Adds a buffer with its axes in another order: as many bytes lie between two elements as before."""
    type_ = cast("MemRefType[Attribute]", buffer.type)
    old, offset = type_.get_strides(), type_.get_offset()
    assert old is not None
    assert offset is not None
    shape, strides = ([given[k] for k in order] for given in (type_.get_shape(), cast("Sequence[int]", old)))
    if isinstance(buffer.owner, ReinterpretCastOp):
        buffer = buffer.owner.source
    new = MemRefType(type_.element_type, shape, StridedLayoutAttr(strides, offset))
    op = ReinterpretCastOp.from_dynamic(buffer, [offset], shape, strides, new)
    op.result.name_hint = hint
    block.add_op(op)
    return op.result


def row_major(shape: Sequence[int]) -> list[int]:
    """Strides in elements."""
    return [math.prod(shape[k + 1 :]) for k in range(len(shape))]
