"""Doc strings and metadata, which a message of ONNX has and the attributes of what it became keep."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from xdsl.dialects.builtin import DictionaryAttr, StringAttr

from ..dialects.ge.errors import text_of

if TYPE_CHECKING:
    from onnx import GraphProto, ModelProto, NodeProto, ValueInfoProto
    from xdsl.ir import Attribute


def described(
    proto: ModelProto | GraphProto | NodeProto | ValueInfoProto, prefix: str = "onnx."
) -> dict[str, Attribute]:
    """What a message says of itself, under `prefix`doc and `prefix`metadata; nothing where it says nothing."""
    found: dict[str, Attribute] = {}
    if proto.doc_string:
        found[f"{prefix}doc"] = StringAttr(proto.doc_string)
    if proto.metadata_props:
        found[f"{prefix}metadata"] = DictionaryAttr({p.key: StringAttr(p.value) for p in proto.metadata_props})
    return found


def describe(
    proto: ModelProto | GraphProto | NodeProto | ValueInfoProto,
    attributes: Mapping[str, Attribute],
    prefix: str = "onnx.",
) -> None:
    """The inverse of `described`: writes what `attributes` keep."""
    if (doc := attributes.get(f"{prefix}doc")) is not None:
        proto.doc_string = text_of(doc) or ""
    told = attributes.get(f"{prefix}metadata")
    for key, value in cast("Mapping[str, Any]", told.data).items() if isinstance(told, DictionaryAttr) else ():
        proto.metadata_props.add(key=key, value=text_of(value) or "")
