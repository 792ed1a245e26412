"""Whatever lies at the path: `read_light` gives a model whose tensors are sound, or an InputError in one line."""

from __future__ import annotations

import os
import struct
import zlib
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from onnx import AttributeProto, GraphProto, TensorProto, helper, numpy_helper

from gecc.dialects.ge.errors import InputError
from gecc.frontend.wire import lighten, materialise, read_light

from .wire_models import (
    assert_light,
    constant,
    length_delimited,
    model,
    raw_tensor,
    save,
    typed_tensor,
    unpacked_floats,
    varint,
    with_initializer,
)

PNG = b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + b"IHDR" + bytes(13) + struct.pack(">I", zlib.crc32(b"IHDR"))


def refusal(path: Path) -> str:
    with pytest.raises(InputError) as caught:
        read_light(path)
    text = str(caught.value)
    assert "\n" not in text
    return text


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (
            b"func.func @main() {\n}\n",
            "is not an ONNX model, or truncated: no field starts at byte 0 (it looks like text)",
        ),
        (b'{"ge": 1}\n', "(it looks like text)"),
        (b"builtin.module {\n}\n", "(it looks like text)"),
        (PNG, "(it is a PNG image)"),
        (b"PK\x03\x04" + bytes(40), "(it is a ZIP archive)"),
        (bytes(100), "is not an ONNX model, or truncated: no field starts at byte 0"),
        (b"\xff" * 100, "is not an ONNX model, or truncated: no number ends before byte 10"),
        (b"\x08\x0a", "is not an ONNX model: no graph in it"),
        (b"\x3a\x00", "names no operator set"),
    ],
)
def test_other_files(content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(content)
    text = refusal(path)
    assert text.startswith(f"{path}: ")
    assert message in text


def test_no_file(tmp_path: Path) -> None:
    assert refusal(tmp_path / "m.onnx") == f"{tmp_path}/m.onnx: cannot be read: No such file or directory"
    assert refusal(tmp_path / "none/m.onnx") == f"{tmp_path}/none/m.onnx: cannot be read: No such file or directory"
    assert "cannot be read" in refusal(tmp_path / "nul\0.onnx")
    assert "not UTF-8" in refusal(Path(os.fsdecode(bytes(tmp_path) + b"/\xff.onnx")))


def test_no_regular_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert refusal(tmp_path) == f"{tmp_path}: is a folder, not a model"
    assert refusal(tmp_path / "pipe") == f"{tmp_path}/pipe: is not a regular file"


def test_no_permission(tmp_path: Path) -> None:
    path = save(model(), tmp_path / "m.onnx")
    path.chmod(0)
    if os.access(path, os.R_OK):
        pytest.skip("the superuser may read everything")
    assert refusal(path) == f"{path}: cannot be read: Permission denied"


def sound() -> bytes:
    """A small model with a tensor of every form; its last field is opset_import."""
    initializers = [
        raw_tensor("raw", TensorProto.FLOAT16, 300),
        raw_tensor("nibbles", TensorProto.INT4, 1301),
        typed_tensor("floats", TensorProto.FLOAT, 150),
        typed_tensor("varints", TensorProto.INT32, 150),
        numpy_helper.from_array(np.arange(3), "small"),
        helper.make_tensor("words", TensorProto.STRING, [2], ["a", "b"]),
    ]
    inner = constant("c", np.arange(200.0))
    graph = model(initializers).graph
    graph.node.append(helper.make_node("If", ["b"], ["z"], name="choose", then_branch=inner, else_branch=inner))
    graph.initializer.add().MergeFromString(unpacked_floats("unpacked", range(130)))
    return model(graph=graph).SerializeToString()


SOUND = sound()


def test_every_truncation(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    # All the lengths near the ends, where the structure is; every seventh of those inside weights.
    lengths = {*range(1, 600), *range(600, len(SOUND) - 600, 7), *range(len(SOUND) - 600, len(SOUND))}
    for length in sorted(lengths):
        path.write_bytes(SOUND[:length])
        refusal(path)
    path.write_bytes(SOUND)
    assert_light(read_light(path))


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, len(SOUND) - 1), st.sampled_from(["flip", "set", "drop", "add"]), st.integers(0, 255)),
        min_size=1,
        max_size=8,
    )
)
def test_any_damage(tmp_path: Path, damage: list[tuple[int, str, int]]) -> None:
    content = bytearray(SOUND)
    for at, what, value in damage:
        at = min(at, len(content) - 1)
        if what == "flip":
            content[at] ^= 1 << value % 8
        elif what == "set":
            content[at] = value
        elif what == "drop":
            del content[at]
        else:
            content.insert(at, value)
    path = tmp_path / "m.onnx"
    path.write_bytes(content)

    with suppress(InputError):
        light = read_light(path)
        assert_light(light)
        materialise(light).SerializeToString()


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.binary(min_size=1, max_size=200))
def test_any_bytes(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(content)
    refusal(path)


# ------------------------------------------------------------------------------------------------ unsound tensors

DIMS_600 = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[600]).SerializeToString()


@pytest.mark.parametrize(
    ("tensor", "message"),
    [
        (TensorProto(name="w", data_type=1, dims=[600], raw_data=bytes(2396)), "holds 2396 bytes, dims [600] of FLOAT"),
        (TensorProto(name="w", data_type=1, dims=[600], float_data=[0] * 601), "holds 2404 bytes, dims [600] of FLOAT"),
        (TensorProto(name="w", data_type=10, dims=[600], int32_data=[0] * 9), "holds 18 bytes, dims [600] of FLOAT16"),
        (TensorProto(name="w", data_type=11, dims=[600], float_data=[0] * 600), "holds 0 bytes, dims [600] of DOUBLE"),
        (TensorProto(name="w", data_type=1, dims=[600]), "holds no data, dims [600] of FLOAT need 2400 bytes"),
        (TensorProto(name="w", data_type=1, dims=[3], raw_data=bytes(11)), "holds 11 bytes, dims [3] of FLOAT need 12"),
        (TensorProto(name="w", data_type=1, dims=[-1], raw_data=bytes(4)), "has a negative dim: [-1]"),
        (TensorProto(name="w", data_type=99, dims=[600], raw_data=bytes(600)), "has element type 99"),
        (TensorProto(name="w", dims=[1]), "has element type 0"),
        (TensorProto(name="w", data_type=1, dims=[2**62] * 300), "asks for more bytes than any file has"),
        (TensorProto(name="w", data_type=8, dims=[2], string_data=[b"a"]), "holds 1 strings"),
        (TensorProto(name="w", data_type=8, dims=[2], data_location=1), "holds strings, which cannot be external"),
        (TensorProto(name="w", data_type=1, dims=[600], raw_data=bytes(2400), data_location=1), "holds data as well"),
        (TensorProto(name="w", data_type=1, dims=[1], raw_data=bytes(4), data_location=1), "holds data as well"),
        (
            TensorProto(name="w", data_type=1, dims=[600], raw_data=bytes(2400), segment=TensorProto.Segment(begin=0)),
            "is cut into segments, which is not supported",
        ),
    ],
)
def test_unsound_tensors(tensor: TensorProto, message: str, tmp_path: Path) -> None:
    path = save(model([tensor]), tmp_path / "m.onnx")
    text = refusal(path)
    assert text.startswith(f'{path}: tensor "w" ')
    assert message in text

    if tensor.data_location != TensorProto.EXTERNAL:
        with pytest.raises(InputError) as caught:
            lighten(model([tensor]), lambda data: ("/nowhere", 0))
        assert str(caught.value).startswith('tensor "w" ')


def test_an_unsound_tensor_of_a_node_is_named_by_the_node(tmp_path: Path) -> None:
    graph = constant("c", np.arange(600))
    graph.node[0].attribute[0].t.dims[0] = 601
    path = save(model(graph=graph), tmp_path / "m.onnx")
    assert refusal(path) == f'{path}: node "make_c": its tensor holds 4800 bytes, dims [601] of INT64 need 4808'


def test_a_tensor_that_ends_within_its_data(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(with_initializer(DIMS_600 + varint(9 << 3 | 2) + varint(2400) + bytes(2399)))
    assert "should end at byte" in refusal(path)


def test_text_that_is_not_utf8(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(model().SerializeToString().replace(b"copy", b"c\xffpy"))
    assert "the text in 'name' is not UTF-8" in refusal(path)
    path.write_bytes(model().SerializeToString().replace(b"\x0a\x01x", b"\x0a\x01\xff"))
    assert "is not UTF-8" in refusal(path)


@pytest.mark.parametrize("size", [0, 600], ids=["small", "large"])
def test_nesting_deeper_than_protobuf_allows(size: int, tmp_path: Path) -> None:
    # A body in a body in a body...; the large ones are walked by us and not by protobuf.
    graph = GraphProto(name="g" * size)
    body = graph.SerializeToString()
    for _ in range(200):
        attribute = AttributeProto(name="body", type=AttributeProto.GRAPH).SerializeToString()
        node = length_delimited(5, attribute + length_delimited(6, body))
        body = length_delimited(1, node) + graph.SerializeToString()
    rest = model()
    rest.ClearField("graph")
    path = tmp_path / "m.onnx"
    path.write_bytes(length_delimited(7, body) + rest.SerializeToString())
    assert "is not an ONNX model, or truncated" in refusal(path)
