"""
What the bytes of a tensor are: its `raw_data`, whatever form it came in.

`raw_data` is the elements in order, little-endian, without gaps; a bool is a byte; elements of 2, 4 and 6 bits fill
bytes from the lowest bit. The typed fields (`float_data`, `int32_data`, ...) are another spelling of the same bytes.
Source: onnx.proto, TensorProto.
"""

from __future__ import annotations

from math import prod
from typing import NamedTuple

import numpy as np
from onnx import TensorProto

from .protobuf import fields


class Unusable(ValueError):
    """A tensor that means nothing; the message goes on from the words 'tensor "w"'."""


class Storage(NamedTuple):
    """How an element type is stored."""

    bits: int  # an element, in raw_data
    field: str  # the typed field
    item: str  # the numpy type of the bytes that one entry of the typed field stands for


# By TensorProto.DataType; numbers, because the oldest onnx that we run with lacks the names from 24 on.
STORAGE: dict[int, Storage] = {
    1: Storage(32, "float_data", "<f4"),  # FLOAT
    2: Storage(8, "int32_data", "<u1"),  # UINT8
    3: Storage(8, "int32_data", "<i1"),  # INT8
    4: Storage(16, "int32_data", "<u2"),  # UINT16
    5: Storage(16, "int32_data", "<i2"),  # INT16
    6: Storage(32, "int32_data", "<i4"),  # INT32
    7: Storage(64, "int64_data", "<i8"),  # INT64
    9: Storage(8, "int32_data", "<u1"),  # BOOL
    10: Storage(16, "int32_data", "<u2"),  # FLOAT16
    11: Storage(64, "double_data", "<f8"),  # DOUBLE
    12: Storage(32, "uint64_data", "<u4"),  # UINT32
    13: Storage(64, "uint64_data", "<u8"),  # UINT64
    14: Storage(64, "float_data", "<f4"),  # COMPLEX64: real, imaginary, real, ...
    15: Storage(128, "double_data", "<f8"),  # COMPLEX128
    16: Storage(16, "int32_data", "<u2"),  # BFLOAT16
    17: Storage(8, "int32_data", "<u1"),  # FLOAT8E4M3FN
    18: Storage(8, "int32_data", "<u1"),  # FLOAT8E4M3FNUZ
    19: Storage(8, "int32_data", "<u1"),  # FLOAT8E5M2
    20: Storage(8, "int32_data", "<u1"),  # FLOAT8E5M2FNUZ
    21: Storage(4, "int32_data", "<u1"),  # UINT4: an entry is a byte, two elements
    22: Storage(4, "int32_data", "<u1"),  # INT4
    23: Storage(4, "int32_data", "<u1"),  # FLOAT4E2M1
    24: Storage(8, "int32_data", "<u1"),  # FLOAT8E8M0
    25: Storage(2, "int32_data", "<u1"),  # UINT2: an entry is a byte, four elements
    26: Storage(2, "int32_data", "<u1"),  # INT2
    27: Storage(6, "int32_data", "<u1"),  # FLOAT6E2M3: an entry is one element, unlike those of 2 and 4 bits
    28: Storage(6, "int32_data", "<u1"),  # FLOAT6E3M2
}
DATA_FIELDS = {
    4: "float_data",
    5: "int32_data",
    6: "string_data",
    7: "int64_data",
    9: "raw_data",
    10: "double_data",
    11: "uint64_data",
}
RAW_DATA = 9


def is_external(tensor: TensorProto) -> bool:
    return tensor.data_location == TensorProto.EXTERNAL


def byte_count(tensor: TensorProto) -> int | None:
    """
    The bytes that the element type and the dims ask for; None for strings, which have no fixed size.

    raises     Unusable for a negative dim, an element type that ONNX does not have, a tensor in segments
    """
    if tensor.HasField("segment"):
        raise Unusable("is cut into segments, which is not supported")
    if any(dim < 0 for dim in tensor.dims):
        raise Unusable(f"has a negative dim: {list(tensor.dims)}")
    if tensor.data_type == TensorProto.STRING:
        return None
    storage = STORAGE.get(tensor.data_type)
    if storage is None:
        raise Unusable(f"has element type {tensor.data_type}, which ONNX does not define")
    needed = (prod(tensor.dims) * storage.bits + 7) // 8
    if needed >= 2**63:
        raise Unusable("asks for more bytes than any file has")
    return needed


def stored_bytes(tensor: TensorProto) -> bytes:
    """
    The data that lies in `tensor` itself, as raw bytes.

    raises     Unusable where it is not as long as the dims and the element type ask for; for strings
    cost       O(bytes); one copy
    """
    needed = byte_count(tensor)
    if needed is None:
        raise Unusable("holds strings, which have no raw form")
    if is_external(tensor):
        raise Unusable("holds no data: it is external")
    if tensor.HasField("raw_data"):
        data = tensor.raw_data
    else:
        data = _typed_bytes(tensor, STORAGE[tensor.data_type])
    if len(data) != needed:
        raise Unusable(f"holds {len(data)} bytes, {dims_and_type(tensor)} need {needed}")
    return data


def _typed_bytes(tensor: TensorProto, storage: Storage) -> bytes:
    if storage.field in ("float_data", "double_data"):
        # The packed field is the very bytes; by way of Python floats some NaNs would change.
        text = tensor.SerializeToString()
        found = (field for field in fields(text, 0, len(text)) if DATA_FIELDS.get(field.number) == storage.field)
        return b"".join(text[field.body : field.end] for field in found)

    wide = {"int32_data": np.int32, "int64_data": np.int64, "uint64_data": np.uint64}[storage.field]
    # Integers narrow by their low bits: that is how a negative int8 and the bits of a float16 stand in int32_data.
    items = np.array(getattr(tensor, storage.field), wide).astype(storage.item)
    if storage.bits != 6:
        return items.tobytes()

    bits = np.unpackbits(items.reshape(-1, 1), axis=1, count=6, bitorder="little")
    return np.packbits(bits.reshape(-1), bitorder="little").tobytes()


def dims_and_type(tensor: TensorProto) -> str:
    """For messages: `dims [2, 3] of FLOAT`."""
    known = tensor.data_type in TensorProto.DataType.values()
    name = TensorProto.DataType.Name(tensor.data_type) if known else f"type {tensor.data_type}"
    return f"dims {list(tensor.dims)} of {name}"


def check_strings(tensor: TensorProto) -> None:
    """Raises Unusable unless a tensor of strings has as many as its dims ask for."""
    if len(tensor.string_data) != prod(tensor.dims):
        raise Unusable(f"holds {len(tensor.string_data)} strings, not what its dims {list(tensor.dims)} ask for")
