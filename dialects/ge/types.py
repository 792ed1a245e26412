"""
Element types: the xDSL type, ONNX's TensorProto number and the numpy dtype of one element type, in one table.

Signed integers are signless in the IR, as MLIR's arith has them; unsigned ones say so (`ui8`). Kinds of value that
are no tensor of numbers have types of their own: `!ge.string` elements, `!ge.seq<T>`, `!ge.optional<T>`, and
`!ge.unknown` for what an operator outside the dialect may give.
"""

from __future__ import annotations

import math
from functools import cache
from typing import NamedTuple, Self, TypeGuard

import ml_dtypes
import numpy as np
from xdsl.dialects import builtin as b
from xdsl.ir import Attribute, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer


@irdl_attr_definition
class StringType(ParametrizedAttribute, TypeAttribute):
    """Element type of a tensor of strings."""

    name = "ge.string"


@irdl_attr_definition
class UnknownType(ParametrizedAttribute, TypeAttribute):
    """The type of a value, or the element type of a tensor, of which nothing is known before it is computed."""

    name = "ge.unknown"


class _OneInside(ParametrizedAttribute):
    element: Attribute

    @classmethod
    def of(cls, element: Attribute) -> Self:
        return cls.new([element])

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_attribute(self.element)

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> list[Attribute]:
        with parser.in_angle_brackets():
            return [parser.parse_type()]


@irdl_attr_definition
class SequenceType(_OneInside, TypeAttribute):
    """ONNX's sequence of `element`."""

    name = "ge.seq"


@irdl_attr_definition
class OptionalType(_OneInside, TypeAttribute):
    """ONNX's optional `element`."""

    name = "ge.optional"


class Element(NamedTuple):
    onnx: int
    """ONNX's TensorProto.DataType."""
    type: Attribute
    dtype: np.dtype[np.generic]
    bits: int
    """Width in memory (0: no fixed width); ONNX packs two 4-bit elements a byte."""


def _rows() -> tuple[Element, ...]:
    def row(onnx: int, type_: Attribute, dtype: object, bits: int = 0) -> Element:
        kind = np.dtype(dtype)  # pyright: ignore[reportArgumentType, reportCallIssue, reportUnknownVariableType]
        return Element(onnx, type_, kind, 0 if kind == np.object_ else bits or kind.itemsize * 8)  # pyright: ignore[reportUnknownArgumentType, reportUnknownMemberType]

    unsigned = b.Signedness.UNSIGNED
    return (
        row(1, b.f32, np.float32),
        row(2, b.IntegerType(8, unsigned), np.uint8),
        row(3, b.i8, np.int8),
        row(4, b.IntegerType(16, unsigned), np.uint16),
        row(5, b.i16, np.int16),
        row(6, b.i32, np.int32),
        row(7, b.i64, np.int64),
        row(8, StringType(), np.object_),
        row(9, b.i1, np.bool_),
        row(10, b.f16, np.float16),
        row(11, b.f64, np.float64),
        row(12, b.IntegerType(32, unsigned), np.uint32),
        row(13, b.IntegerType(64, unsigned), np.uint64),
        row(14, b.ComplexType(b.f32), np.complex64),
        row(15, b.ComplexType(b.f64), np.complex128),
        row(16, b.bf16, ml_dtypes.bfloat16),
        row(17, b.Float8E4M3FNType(), ml_dtypes.float8_e4m3fn),
        row(18, b.Float8E4M3FNUZType(), ml_dtypes.float8_e4m3fnuz),
        row(19, b.Float8E5M2Type(), ml_dtypes.float8_e5m2),
        row(20, b.Float8E5M2FNUZType(), ml_dtypes.float8_e5m2fnuz),
        row(21, b.IntegerType(4, unsigned), ml_dtypes.uint4, 4),
        row(22, b.IntegerType(4), ml_dtypes.int4, 4),
        row(23, b.Float4E2M1FNType(), ml_dtypes.float4_e2m1fn, 4),
        row(24, b.Float8E8M0FNUType(), ml_dtypes.float8_e8m0fnu),
        row(25, b.IntegerType(2, unsigned), ml_dtypes.uint2, 2),
        row(26, b.IntegerType(2), ml_dtypes.int2, 2),
    )


ELEMENTS = _rows()
_BY_TYPE = {e.type: e for e in ELEMENTS}
_BY_ONNX = {e.onnx: e for e in ELEMENTS}
_BY_DTYPE = {e.dtype: e for e in ELEMENTS}


def element_of(key: Attribute | int | np.dtype[np.generic]) -> Element:
    """The row of an element type, ONNX number or dtype. Raises KeyError for one that ONNX does not have."""
    if isinstance(key, int):
        return _BY_ONNX[key]
    return _BY_TYPE[key] if isinstance(key, Attribute) else _BY_DTYPE[key]


def is_element(type_: Attribute) -> bool:
    return type_ in _BY_TYPE


def is_float(type_: Attribute) -> bool:
    return isinstance(type_, b.AnyFloat)


def is_integer(type_: Attribute) -> bool:
    """An integer that is not a truth value."""
    return isinstance(type_, b.IntegerType) and type_ != b.i1


@cache
def tensor_type(element: Attribute, dims: tuple[int, ...]) -> b.TensorType[Attribute]:
    """A shared tensor type: types are made thousands of times and compared by value. Free dims are negative."""
    return b.TensorType(element, [d if d >= 0 else b.DYNAMIC_INDEX for d in dims])


def is_tensor(type_: Attribute) -> TypeGuard[b.TensorType[Attribute]]:
    """Whether a type is that of a tensor of known rank. (What `isinstance` says, without losing the element's type.)"""
    return isinstance(type_, b.TensorType)


def is_shaped(type_: Attribute) -> TypeGuard[b.TensorType[Attribute] | b.MemRefType[Attribute]]:
    """Whether a type is that of a tensor or a buffer of known rank."""
    return isinstance(type_, b.TensorType | b.MemRefType)


def shape_of(type_: Attribute) -> tuple[int, ...]:
    """Dims of a tensor or memref type; a free one is negative."""
    assert is_shaped(type_)
    return type_.get_shape()


def byte_size(element: Attribute, count: int) -> int:
    """Bytes of `count` elements as ONNX stores them. Raises KeyError for strings and unknown elements."""
    bits = _BY_TYPE[element].bits
    if not bits:
        raise KeyError(element)
    return -(-count * bits // 8)


def nbytes(type_: Attribute) -> int:
    """Bytes of a static tensor or memref."""
    assert is_shaped(type_)
    return byte_size(type_.element_type, math.prod(type_.get_shape()))


def is_as_wide(one: Attribute, two: Attribute) -> bool:
    """Whether two tensors or buffers have one shape, and elements of one width: each fits where the other lies."""
    if one == two:
        return True
    if not is_shaped(one) or not is_shaped(two) or one.get_shape() != two.get_shape():
        return False
    widths = [_BY_TYPE[e].bits if e in _BY_TYPE else 0 for e in (one.element_type, two.element_type)]
    return widths[0] == widths[1] > 0


def is_static(type_: Attribute) -> bool:
    return is_shaped(type_) and all(d >= 0 for d in type_.get_shape())
