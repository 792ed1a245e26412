"""Buffers as arrays: slots of an arena, views of them, and the numbers that loops count with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType
from xdsl.ir import Attribute, Operation

from ..dialects.ge.errors import InputError
from ..dialects.ge.memory import SlotOp
from ..dialects.ge.types import element_of, nbytes, shape_of
from .arena import overlaps

Array = npt.NDArray[Any]

SIGNED_LESS = 2
"""arith.cmpi's predicate."""


def poisoned(type_: Attribute) -> Array:
    raw = np.full(nbytes(type_), 0xFF, np.uint8)
    return raw.view(element_of(cast(Any, type_).element_type).dtype).reshape(shape_of(type_))


def slot(op: SlotOp, arena: Array) -> Array:
    begin, size = op.offset.value.data, nbytes(op.buffer.type)
    dtype = element_of(cast(Any, op.buffer.type).element_type).dtype
    return arena[begin : begin + size].view(dtype).reshape(shape_of(op.buffer.type))


def arith(op: Operation, operands: Sequence[Any]) -> int:
    """The arithmetic around loops: all that is done with numbers that are no tensors."""
    match op.name:
        case "arith.constant":
            return int(cast(Any, op.properties["value"]).value.data)
        case "arith.muli":
            return operands[0] * operands[1]
        case "arith.addi":
            return operands[0] + operands[1]
        case "arith.subi":
            return operands[0] - operands[1]
        case "arith.andi":
            return operands[0] & operands[1]
        case "arith.index_cast":
            return operands[0]
        case "arith.cmpi" if cast(Any, op.properties["predicate"]).value.data == SIGNED_LESS:
            return int(operands[0] < operands[1])
        case _:
            raise InputError(f"the reference does not run '{op.name}'")


def memref(op: Operation, operands: Sequence[Array]) -> Sequence[Any]:
    """The ops of the memref dialect that bufferization uses."""
    match op.name:
        case "memref.subview":
            offsets, sizes, strides = _listed(op, ("offsets", "sizes", "strides"), operands[1:])
            index = tuple(
                slice(o, o + (n - 1) * s + 1, s) if n else slice(o, o)
                for o, n, s in zip(offsets, sizes, strides, strict=True)
            )
            view = operands[0][index]
            if list(view.shape) != sizes:
                raise InputError(f"memref.subview {offsets} {sizes} leaves its buffer of {operands[0].shape}")
            return [view.reshape(shape_of(op.results[0].type))]
        case "memref.load":
            return [int(operands[0][tuple(operands[1:])])]
        case "memref.store":
            operands[1][tuple(operands[2:])] = operands[0]
            return []
        case "memref.copy":
            if overlaps(*operands):
                raise InputError("memref.copy to bytes that it reads")
            operands[1][...] = operands[0]
            return []
        case "memref.reinterpret_cast":
            return [_cast(op, operands)]
        case "memref.expand_shape" | "memref.collapse_shape" | "memref.cast":
            view = operands[0].view()
            view.shape = shape_of(op.results[0].type)
            return [view]
        case _:
            raise InputError(f"the reference does not run '{op.name}'")


def _cast(op: Operation, operands: Sequence[Any]) -> Array:
    """Other sizes and strides for the memory that a buffer is in, counted from where that begins."""
    buffer: Array = operands[0]
    (begin,), sizes, strides = _listed(op, ("offsets", "sizes", "strides"), operands[1:])
    known = cast("MemRefType[Attribute]", op.operands[0].type).get_offset()
    if known is None:
        raise InputError("memref.reinterpret_cast of a buffer that begins where the program says: not run here")
    reach = sum((n - 1) * s for n, s in zip(sizes, strides, strict=True)) if 0 not in sizes else -1
    if buffer.flags.c_contiguous:
        memory = buffer.reshape(-1)
    elif begin == known:
        steps = [s // buffer.itemsize for s in buffer.strides]
        there = sum((n - 1) * s for n, s in zip(buffer.shape, steps, strict=True)) if buffer.size else -1
        memory = np.lib.stride_tricks.as_strided(buffer, (there + 1,), (buffer.itemsize,))
    else:
        raise InputError(f"memref.reinterpret_cast to offset {begin} of a buffer that begins at {known}")
    if not 0 <= begin - known <= begin - known + reach < max(1, memory.size) and reach >= 0:
        raise InputError(f"memref.reinterpret_cast to {sizes} by {strides} at {begin} leaves its buffer")
    raw = [s * buffer.itemsize for s in strides]
    return np.lib.stride_tricks.as_strided(memory[begin - known :], sizes, raw, writeable=buffer.flags.writeable)


def _listed(op: Operation, names: Sequence[str], moving: Sequence[Any]) -> list[list[int]]:
    """Lists of numbers of which some stand in the text and others are operands."""
    given = iter(int(x) for x in moving)
    static = (cast(Any, op.properties[f"static_{name}"]).get_values() for name in names)
    return [[next(given) if v == DYNAMIC_INDEX else v for v in values] for values in static]
