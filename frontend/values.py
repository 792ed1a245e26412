"""
Types and tensors: ONNX's protobuf <-> the dialect's types and constant data.

A large tensor of a light model stays where it is: its data becomes `#ge.weight<@file, offset>`, and the export writes
it back as the same span of the same file.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
from onnx import TensorProto, TypeProto, ValueInfoProto
from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, StringAttr, TensorType, UnitAttr, UnrankedTensorType, i64
from xdsl.ir import Attribute

from ..dialects.ge.attributes import StringsAttr, WeightAttr, strings
from ..dialects.ge.data import Array, from_raw, raw_bytes, value_of, weight_in
from ..dialects.ge.errors import InputError, text_of
from ..dialects.ge.types import (
    OptionalType,
    SequenceType,
    StringType,
    UnknownType,
    element_of,
    is_element,
    nbytes,
    shape_of,
    tensor_type,
)
from .wire import Span, set_span, span_of, stored_bytes

FileSymbol = Callable[[str], str]
"""Path of a weights file -> the symbol of its ge.weights op."""


# ------------------------------------------------------------------ types


def type_from_proto(proto: TypeProto) -> Attribute:
    """The dialect's type of an ONNX type; what is not said is unknown."""
    match proto.WhichOneof("value"):
        case "tensor_type":
            tensor = proto.tensor_type
            element: Attribute = UnknownType()
            if tensor.elem_type:
                try:
                    element = element_of(tensor.elem_type).type
                except KeyError:
                    raise InputError(f"element type {tensor.elem_type} is not one of ONNX's") from None
            if not tensor.HasField("shape"):
                return UnrankedTensorType(element)
            dims = tuple(d.dim_value if d.HasField("dim_value") else -1 for d in tensor.shape.dim)
            return tensor_type(element, dims)
        case "sequence_type":
            return SequenceType.of(type_from_proto(proto.sequence_type.elem_type))
        case "optional_type":
            return OptionalType.of(type_from_proto(proto.optional_type.elem_type))
        case _:
            return UnknownType()


def dims_from_proto(proto: TypeProto) -> Attribute | None:
    """
    The declared dims of a tensor, or of those in a sequence or an optional: a number, a symbol, or a unit for one that
    has neither; None without a shape.
    """
    match proto.WhichOneof("value"):
        case "sequence_type":
            return dims_from_proto(proto.sequence_type.elem_type)
        case "optional_type":
            return dims_from_proto(proto.optional_type.elem_type)
        case _:
            pass
    if proto.WhichOneof("value") != "tensor_type" or not proto.tensor_type.HasField("shape"):
        return None
    dims: list[Attribute] = []
    for d in proto.tensor_type.shape.dim:
        if d.HasField("dim_value"):
            dims.append(IntegerAttr(d.dim_value, i64))
        else:
            dims.append(StringAttr(d.dim_param) if d.dim_param else UnitAttr())
    return ArrayAttr(dims)


def fill_type(proto: TypeProto, type_: Attribute, dims: Attribute | None = None) -> None:
    """Writes a type; `dims` are the declared ones, of which symbols are kept where the type has a free dim."""
    match type_:
        case TensorType() | UnrankedTensorType():
            element = cast("TensorType[Attribute]", type_).element_type
            proto.tensor_type.elem_type = element_of(element).onnx if is_element(element) else 0
            if not isinstance(type_, TensorType):
                return
            named: Sequence[Attribute] = cast("ArrayAttr[Attribute]", dims).data if isinstance(dims, ArrayAttr) else ()
            proto.tensor_type.shape.SetInParent()
            for k, size in enumerate(shape_of(cast(Attribute, type_))):
                dim = proto.tensor_type.shape.dim.add()
                if size >= 0:
                    dim.dim_value = size
                elif k < len(named) and (text := text_of(named[k])) is not None:
                    dim.dim_param = text
        case SequenceType():
            fill_type(proto.sequence_type.elem_type, type_.element, dims)
        case OptionalType():
            fill_type(proto.optional_type.elem_type, type_.element, dims)
        case _:
            pass


def is_known(type_: Attribute) -> bool:
    """Whether a type says enough to be declared in a model."""
    match type_:
        case TensorType() | UnrankedTensorType():
            return is_element(cast("TensorType[Attribute]", type_).element_type)
        case SequenceType() | OptionalType():
            return is_known(type_.element)
        case _:
            return False


def value_info(name: str, type_: Attribute, dims: Attribute | None = None) -> ValueInfoProto:
    proto = ValueInfoProto(name=name)
    if is_known(type_):
        fill_type(proto.type, type_, dims)
    return proto


# ------------------------------------------------------------------ tensors


def tensor_from_proto(proto: TensorProto, symbol: FileSymbol) -> tuple[Attribute, Attribute]:
    """
    A tensor of a light model as the value and the type of a constant.

    raises     InputError for an element type that ONNX does not have, or data of the wrong size
    """
    try:
        element = element_of(proto.data_type)
    except KeyError:
        raise InputError(f"tensor {proto.name!r} has element type {proto.data_type}, not one of ONNX's") from None
    type_ = tensor_type(element.type, tuple(proto.dims))
    span = span_of(proto)
    if span is not None:
        return weight_in(symbol(span.path), span.offset), type_
    if element.type == StringType():
        return StringsAttr(strings(s.decode("utf-8", "replace") for s in proto.string_data)), type_
    raw = stored_bytes(proto)
    if len(raw) != nbytes(type_):
        raise InputError(f"tensor {proto.name!r} of {type_} needs {nbytes(type_)} bytes, got {len(raw)}")
    return value_of(from_raw(raw, element.type, tuple(proto.dims))), type_


def fill_tensor(proto: TensorProto, value: Attribute, type_: Attribute, array: Array, path: str | None) -> None:
    """
    Writes a constant's data.

    array      its elements, read only where they are few
    path       of the weights file of a #ge.weight
    """
    element = element_of(cast("TensorType[Attribute]", type_).element_type)
    proto.data_type = element.onnx
    proto.dims.extend(shape_of(type_))
    if isinstance(value, WeightAttr):
        assert path is not None
        set_span(proto, Span(path, value.offset.data, nbytes(type_)))
    elif element.type == StringType():
        proto.string_data.extend(str(x).encode() for x in array.ravel())
    else:
        proto.raw_data = raw_bytes(array)


def tensor_of_array(array: Array, name: str = "") -> TensorProto:
    """A tensor with its data inside; for small ones."""
    proto = TensorProto(name=name)
    element = element_of(array.dtype)
    proto.data_type = element.onnx
    proto.dims.extend(array.shape)
    if element.type == StringType():
        proto.string_data.extend(str(x).encode() for x in array.ravel())
    else:
        proto.raw_data = raw_bytes(np.asarray(array))
    return proto


def i64_vector(values: Any) -> Array:
    return np.array(values, np.int64)
