"""
Attributes of nodes: AttributeProto <-> plain values (for the dialect's ops) and <-> MLIR attributes (for ge.opaque).

Of ge.opaque: an int is `1 : i64`, a float `1.0 : f32`, a string a string, a tensor `[data, type]` under `tensor`,
lists are lists; anything else (sparse tensors, types, strings that are no text) is the whole AttributeProto,
serialised, as `#ge.bytes`.
"""

from __future__ import annotations

from typing import Any, cast

from onnx import AttributeProto, TensorProto, helper
from xdsl.dialects.builtin import ArrayAttr, BytesAttr, DictionaryAttr, FloatAttr, IntegerAttr, StringAttr, f32, i64
from xdsl.ir import Attribute

from ..dialects.ge.attributes import RawAttr
from ..dialects.ge.data import array_of
from ..dialects.ge.declare import REQUIRED, AttributeDecl
from ..dialects.ge.errors import text_of
from ..dialects.ge.types import element_of
from .values import FileSymbol, fill_tensor, tensor_from_proto
from .wire import span_of

A = AttributeProto
_KINDS: dict[str, Any] = {
    "int": int,
    "type": int,
    "float": float,
    "string": str,
    "ints": tuple,
    "floats": tuple,
    "strings": tuple,
}


def plain_value(proto: AttributeProto) -> Any:
    """
    The value of a number, string or list of them.

    raises     ValueError for other kinds, and for a string that is no UTF-8
    """
    match proto.type:
        case A.INT:
            return proto.i
        case A.FLOAT:
            return proto.f
        case A.STRING:
            return proto.s.decode()
        case A.INTS:
            return tuple(proto.ints)
        case A.FLOATS:
            return tuple(proto.floats)
        case A.STRINGS:
            return tuple(s.decode() for s in proto.strings)
        case A.UNDEFINED:  # models of IR version 1 and 2 leave the kind out
            return plain_value(_with_kind(proto))
        case _:
            raise ValueError(f"an attribute of kind {A.AttributeType.Name(proto.type)}")


def declared_value(decl: AttributeDecl | None, proto: AttributeProto, symbol: FileSymbol) -> Any:
    """
    The value of an attribute as an op's declaration has it.

    raises     ValueError where it is of another kind
    """
    kind = decl.codec.kind if decl is not None else ""
    if kind == "tensor":
        if not proto.HasField("t"):
            raise ValueError("not a tensor")
        return tensor_from_proto(proto.t, symbol)
    value: Any = plain_value(proto)
    if not isinstance(value, _KINDS.get(kind, object)):
        raise ValueError(f"{proto.name} is not of kind {kind}")
    if kind != "type":
        return value
    if value == TensorProto.UNDEFINED and decl is not None and decl.default is not REQUIRED:
        return None  # ONNX: 0 is as if it were not there
    try:
        return element_of(value).type
    except KeyError:
        raise ValueError(f"{value} is no element type") from None


def proto_of(name: str, kind: str, value: Any, resolve: Any) -> AttributeProto:
    """The inverse of `declared_value`; `kind` is the codec's. `resolve` as for `from_mlir`."""
    match kind:
        case "int":
            return AttributeProto(name=name, type=A.INT, i=value)
        case "float":
            return AttributeProto(name=name, type=A.FLOAT, f=value)
        case "string":
            return AttributeProto(name=name, type=A.STRING, s=value.encode())
        case "ints":
            return AttributeProto(name=name, type=A.INTS, ints=value)
        case "floats":
            return AttributeProto(name=name, type=A.FLOATS, floats=value)
        case "strings":
            return AttributeProto(name=name, type=A.STRINGS, strings=[text.encode() for text in value])
        case "type":
            return AttributeProto(name=name, type=A.INT, i=element_of(value).onnx)
        case "tensor":
            return AttributeProto(name=name, type=A.TENSOR, t=_tensor_of(value[0], value[1], resolve))
        case _:
            raise ValueError(f"an attribute of kind {kind}")


def _with_kind(proto: AttributeProto) -> AttributeProto:
    for field, kind in (("ints", A.INTS), ("floats", A.FLOATS), ("strings", A.STRINGS)):
        if getattr(proto, field):
            return _kinded(proto, kind)
    for field, kind in (("s", A.STRING), ("f", A.FLOAT), ("i", A.INT), ("t", A.TENSOR), ("g", A.GRAPH)):
        if proto.HasField(field):
            return _kinded(proto, kind)
    raise ValueError("an attribute without a value")


def _kinded(proto: AttributeProto, kind: int) -> AttributeProto:
    copy = AttributeProto()
    copy.CopyFrom(proto)
    copy.type = cast(Any, kind)
    return copy


def to_mlir(proto: AttributeProto, symbol: FileSymbol) -> Attribute:
    """An attribute of ge.opaque."""
    if proto.type == A.TENSOR and (span_of(proto.t) is not None or proto.t.data_type != TensorProto.STRING):
        value, type_ = tensor_from_proto(proto.t, symbol)
        name = {"name": StringAttr(proto.t.name)} if proto.t.name else {}
        return DictionaryAttr({"tensor": ArrayAttr([value, type_]), **name})
    if proto.type == A.TENSORS and any(span_of(t) is not None for t in proto.tensors):
        return ArrayAttr([DictionaryAttr({"tensor": ArrayAttr(tensor_from_proto(t, symbol))}) for t in proto.tensors])
    try:
        value = plain_value(proto)
    except ValueError:
        return RawAttr(BytesAttr(proto.SerializeToString()))
    return _pack(value) if value != () else RawAttr(BytesAttr(proto.SerializeToString()))


def _pack(value: Any) -> Attribute:
    match value:
        case int():
            return IntegerAttr(value, i64)
        case float():
            return FloatAttr(value, f32)
        case str():
            return StringAttr(value)
        case _:
            return ArrayAttr([_pack(v) for v in value])


def from_mlir(name: str, attr: Attribute, resolve: Any) -> AttributeProto:
    """
    The inverse of `to_mlir`.

    resolve    a #ge.weight -> (module, path of its file)
    """
    match attr:
        case RawAttr():
            proto = AttributeProto()
            proto.ParseFromString(attr.data.data)
            return proto
        case DictionaryAttr():
            return AttributeProto(name=name, type=A.TENSOR, t=_tensor(attr, resolve))
        case ArrayAttr() if attr.data and isinstance(attr.data[0], DictionaryAttr):
            tensors = [_tensor(cast(DictionaryAttr, d), resolve) for d in attr.data]
            return AttributeProto(name=name, type=A.TENSORS, tensors=tensors)
        case _:
            return helper.make_attribute(name, _unpack(attr))


def _tensor(attr: DictionaryAttr, resolve: Any) -> TensorProto:
    value, type_ = cast("ArrayAttr[Attribute]", attr.data["tensor"]).data
    proto = _tensor_of(value, type_, resolve)
    proto.name = text_of(attr.data.get("name")) or ""
    return proto


def _tensor_of(value: Attribute, type_: Attribute, resolve: Any) -> TensorProto:
    module, path = resolve(value)
    proto = TensorProto()
    fill_tensor(proto, value, type_, array_of(value, type_, module), path)
    return proto


def _unpack(attr: Attribute) -> Any:
    match attr:
        case IntegerAttr():
            return cast("IntegerAttr[Any]", attr).value.data
        case FloatAttr():
            return cast("FloatAttr[Any]", attr).value.data
        case ArrayAttr():
            return [_unpack(a) for a in attr.data]
        case _:
            text = text_of(attr)
            if text is None:
                raise ValueError(f"an ONNX attribute cannot be {attr}")
            return text
