"""
The protobuf wire format, as far as weights need it: where a field stands, without parsing what it holds.

A message is a row of fields: a tag (number and wire type, a varint), then a varint, 4 or 8 bytes, or a length and as
many bytes. The lengths allow to step over a tensor of gigabytes by reading ten bytes of it.
Source: https://protobuf.dev/programming-guides/encoding; field numbers: onnx.proto.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from mmap import mmap
from typing import NamedTuple, TypeAlias

from onnx import (
    AttributeProto,
    FunctionProto,
    GraphProto,
    ModelProto,
    NodeProto,
    TensorProto,
    TrainingInfoProto,
)

Data: TypeAlias = bytes | mmap
Message: TypeAlias = (
    ModelProto | TrainingInfoProto | FunctionProto | GraphProto | NodeProto | AttributeProto | TensorProto
)

MAX_DEPTH = 100  # messages inside messages: protobuf's own limit, on reading and on writing
LENGTH_DELIMITED = 2
_FIXED_WIDTH = {1: 8, 5: 4}


class Malformed(ValueError):
    """The bytes are not what they should be: truncated, damaged, or no protobuf at all."""


class Child(NamedTuple):
    """A field whose value may hold tensors."""

    name: str
    kind: str
    repeated: bool


TENSOR = "TensorProto"
# The ways from a model to its tensors. A sparse tensor stays whole: its two tensors have a meaning only together.
CHILDREN: dict[str, dict[int, Child]] = {
    "ModelProto": {
        7: Child("graph", "GraphProto", False),
        20: Child("training_info", "TrainingInfoProto", True),
        25: Child("functions", "FunctionProto", True),
    },
    "TrainingInfoProto": {
        1: Child("initialization", "GraphProto", False),
        2: Child("algorithm", "GraphProto", False),
    },
    "FunctionProto": {7: Child("node", "NodeProto", True), 11: Child("attribute_proto", "AttributeProto", True)},
    "GraphProto": {1: Child("node", "NodeProto", True), 5: Child("initializer", TENSOR, True)},
    "NodeProto": {5: Child("attribute", "AttributeProto", True)},
    "AttributeProto": {
        5: Child("t", TENSOR, False),
        6: Child("g", "GraphProto", False),
        10: Child("tensors", TENSOR, True),
        11: Child("graphs", "GraphProto", True),
    },
}


def children_of(message: Message, child: Child) -> Iterable[Message]:
    """The values that `message` has in the field `child`."""
    if child.repeated:
        return getattr(message, child.name)
    return (getattr(message, child.name),) if message.HasField(child.name) else ()


def open_child(message: Message, child: Child) -> Message:
    """The value to merge the next occurrence of the field `child` into: a repeated one grows, a single one merges."""
    if child.repeated:
        return getattr(message, child.name).add()
    value: Message = getattr(message, child.name)
    value.SetInParent()
    return value


def node_label(message: Message, outer: str | None) -> str | None:
    """What a person calls the node that `message` is (its name, or its first output), or else `outer`."""
    if not isinstance(message, NodeProto):
        return outer
    return str(message.name or next(iter(message.output), "")) or outer


def tensors(message: Message, node: str | None = None) -> Iterator[tuple[str | None, TensorProto]]:
    """All tensors in a model, graph, function, node or attribute, each with the name of the node that holds it."""
    node = node_label(message, node)
    for child in CHILDREN[message.DESCRIPTOR.name].values():
        for value in children_of(message, child):
            if isinstance(value, TensorProto):
                yield node, value
            else:
                yield from tensors(value, node)


def merge(message: Message, data: bytes) -> None:
    """
    Parses `data` into `message`, on top of what it holds.

    raises     Malformed
    """
    try:
        message.MergeFromString(data)
    except Exception as error:  # DecodeError; its module comes with onnx, it is not ours to import
        raise Malformed(str(error)) from error


def parse_tensor(data: bytes) -> TensorProto:
    tensor = TensorProto()
    merge(tensor, data)
    return tensor


# ------------------------------------------------------------------------------------------------ the bytes


class Field(NamedTuple):
    """A field in the bytes: its tag starts at `start`, its value is the bytes from `body` to `end`."""

    number: int
    wire: int
    start: int
    body: int
    end: int


def _varint(data: Data, at: int, end: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if at >= end:
            raise Malformed(f"truncated at byte {at}")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
    raise Malformed(f"no number ends before byte {at}")


def varint(value: int) -> bytes:
    """`value` >= 0, seven bits a byte, the lowest first."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def header(number: int, length: int) -> bytes:
    """What stands before the `length` bytes of field `number`."""
    return varint(number << 3 | LENGTH_DELIMITED) + varint(length)


def fields(data: Data, start: int, end: int) -> Iterator[Field]:
    """
    The fields of the message in data[start:end], in order.

    raises     Malformed where they do not fill it exactly
    cost       O(fields), whatever their size
    """
    at = start
    while at < end:
        tag, body = _varint(data, at, end)
        number, wire = tag >> 3, tag & 7
        if wire == LENGTH_DELIMITED:
            length, body = _varint(data, body, end)
            stop = body + length
        elif wire == 0:
            _, stop = _varint(data, body, end)
        elif wire in _FIXED_WIDTH:
            stop = body + _FIXED_WIDTH[wire]
        else:
            raise Malformed(f"no field starts at byte {at}")
        if number == 0:
            raise Malformed(f"no field starts at byte {at}")
        if stop > end:
            raise Malformed(f"the field at byte {at} should end at byte {stop}, there are {end}")
        yield Field(number, wire, at, body, stop)
        at = stop


@dataclass(frozen=True)
class Cut:
    """A child that is treated by itself: a tensor, or a message (with `inner` not empty) on the way to one."""

    child: Child
    number: int
    start: int
    body: int
    end: int
    inner: list[Cut] = field(default_factory=list["Cut"])


def cuts(data: Data, start: int, end: int, kind: str, wanted: Callable[[int, int], bool], depth: int = 0) -> list[Cut]:
    """
    The tensors in data[start:end], a message of type `kind`, and the ways to them, in order.

    wanted     whether the message data[body:end] may hold a tensor that matters; what does not is stepped over
    raises     Malformed; also for messages that are nested deeper than protobuf allows
    """
    if depth > MAX_DEPTH:
        raise Malformed(f"messages are nested deeper than {MAX_DEPTH}")

    found: list[Cut] = []
    children = CHILDREN[kind]
    for number, wire, tag, body, stop in fields(data, start, end):
        child = children.get(number)
        if child is None or wire != LENGTH_DELIMITED or not wanted(body, stop):
            continue
        if child.kind == TENSOR:
            found.append(Cut(child, number, tag, body, stop))
        elif inner := cuts(data, body, stop, child.kind, wanted, depth + 1):
            found.append(Cut(child, number, tag, body, stop, inner))
    return found
