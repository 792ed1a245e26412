"""Small models for the tests of `frontend/wire`, with tensors in every form that ONNX has for them."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from onnx import GraphProto, ModelProto, TensorProto, helper, numpy_helper

from gecc.frontend.wire import INLINE, span_of, stored_bytes, tensors

TYPED = ("float_data", "int32_data", "int64_data", "double_data", "uint64_data")
ALL_TYPES = [number for number in TensorProto.DataType.values() if number not in (0, TensorProto.STRING)]


def raw_tensor(name: str, data_type: int, count: int, seed: int = 0) -> TensorProto:
    """`count` elements of random bits as raw data, unused bits of the last byte zero."""
    dtype = helper.tensor_dtype_to_np_dtype(data_type)
    bits = np.random.default_rng(seed).integers(0, 256, count * dtype.itemsize, np.uint8)
    if data_type == TensorProto.BOOL:
        bits &= 1
    if dtype.name.endswith(("int4", "float4_e2m1fn")):
        bits &= 15
    if dtype.name.endswith("int2"):
        bits &= 3
    if dtype.name.startswith("float6"):
        bits &= 63
    return numpy_helper.from_array(bits.view(dtype), name)


def typed_tensor(name: str, data_type: int, count: int, seed: int = 0) -> TensorProto:
    """The same elements, in their typed field."""
    raw = raw_tensor(name, data_type, count, seed)
    field = helper.tensor_dtype_to_field(data_type)
    made = TensorProto(name=name, data_type=data_type, dims=raw.dims)
    if field in ("float_data", "double_data"):  # the bits as they are: Python's floats would change some NaNs
        made.MergeFromString(length_delimited(4 if field == "float_data" else 10, raw.raw_data))
        return made

    dtype = helper.tensor_dtype_to_np_dtype(data_type)
    bits = np.frombuffer(raw.raw_data, np.uint8)
    if "float6" in dtype.name:
        bits = numpy_helper.to_array(raw).view(np.uint8)
    elif dtype.kind in "iu":
        bits = bits.view(dtype)
    elif dtype.itemsize == 2:
        bits = bits.view(np.uint16)
    getattr(made, field).extend(bits.tolist())
    return made


def model(initializers: Iterable[TensorProto] = (), graph: GraphProto | None = None) -> ModelProto:
    """A model that only holds `initializers`; opset_import is its last field, as in files of other writers."""
    graph = graph or helper.make_graph(
        [helper.make_node("Identity", ["x"], ["y"], name="copy")],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 3])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", 3])],
    )
    graph.initializer.extend(initializers)
    return helper.make_model(graph, producer_name="test", opset_imports=[helper.make_opsetid("", 17)])


def constant(name: str, value: TensorProto | np.ndarray) -> GraphProto:
    """A graph without inputs whose only node is a Constant."""
    tensor = value if isinstance(value, TensorProto) else numpy_helper.from_array(value)
    node = helper.make_node("Constant", [], [name], name=f"make_{name}", value=tensor)
    return helper.make_graph([node], f"{name}_graph", [], [helper.make_tensor_value_info(name, tensor.data_type, None)])


def save(proto: ModelProto, path: Path) -> Path:
    path.write_bytes(proto.SerializeToString())
    return path


def meaning(proto: ModelProto) -> bytes:
    """All of `proto`, with every tensor's data in one form: equal models have equal meanings, bit for bit."""
    copy = ModelProto()
    copy.CopyFrom(proto)
    for _, tensor in tensors(copy):
        if tensor.data_type == TensorProto.STRING:
            continue
        data = stored_bytes(tensor)
        for name in (*TYPED, "data_location"):
            tensor.ClearField(name)
        tensor.raw_data = data
    return copy.SerializeToString(deterministic=True)


def assert_light(proto: ModelProto) -> None:
    """Every large tensor is a span, every small one holds its data."""
    for _, tensor in tensors(proto):
        if span := span_of(tensor):
            assert span.length > INLINE
            assert Path(span.path).is_absolute()
            assert not any(len(getattr(tensor, name)) for name in (*TYPED, "raw_data"))
        elif tensor.data_type != TensorProto.STRING:
            assert len(stored_bytes(tensor)) <= INLINE


# ------------------------------------------------------------------------------------------------ the wire format


def length_delimited(number: int, body: bytes) -> bytes:
    """A field written by hand, for what no library writes."""
    return varint(number << 3 | 2) + varint(len(body)) + body


def varint(value: int) -> bytes:
    groups = [value >> shift & 0x7F for shift in range(0, max(value.bit_length(), 1), 7)]
    return bytes(group | 0x80 for group in groups[:-1]) + bytes(groups[-1:])


def with_initializer(tensor: bytes) -> bytes:
    """The file of a model whose one initialiser is the message `tensor`."""
    graph = model().graph.SerializeToString() + length_delimited(5, tensor)
    rest = model()
    rest.ClearField("graph")
    return length_delimited(7, graph) + rest.SerializeToString()


def unpacked_floats(name: str, values: Iterable[float]) -> bytes:
    """A FLOAT tensor whose float_data is not packed: a tag before each element, as proto2 wrote it once."""
    values = list(values)
    head = TensorProto(name=name, data_type=TensorProto.FLOAT, dims=[len(values)]).SerializeToString()
    return head + b"".join(varint(4 << 3 | 5) + struct.pack("<f", value) for value in values)
