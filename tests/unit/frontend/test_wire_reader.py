"""Reading: what `read_light` and `lighten` give has all the bits of the model, and none of its weights."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import onnx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from onnx import ModelProto, TensorProto, helper, numpy_helper
from onnx.external_data_helper import set_external_data

from gecc.dialects.ge.errors import InputError
from gecc.frontend.wire import INLINE, Spool, lighten, materialise, read_light, read_span, span_of, tensors

from .wire_models import (
    ALL_TYPES,
    assert_light,
    constant,
    length_delimited,
    meaning,
    model,
    raw_tensor,
    save,
    typed_tensor,
    unpacked_floats,
    varint,
    with_initializer,
)

NAMES = {number: TensorProto.DataType.Name(number) for number in ALL_TYPES}
FORMS = {"raw": raw_tensor, "typed": typed_tensor}


@pytest.fixture
def spool():
    spool = Spool()
    yield spool
    spool.close()


def only(proto: ModelProto) -> TensorProto:
    ((_, tensor),) = tensors(proto)
    return tensor


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("data_type", ALL_TYPES, ids=NAMES.get)
def test_every_element_type_in_both_forms(data_type: int, form: str, tmp_path: Path, spool: Spool) -> None:
    # An odd count, so that elements of 2, 4 and 6 bits end within a byte.
    source = model([FORMS[form]("large", data_type, 2501), FORMS[form]("small", data_type, 3)])
    raw = meaning(model([raw_tensor("large", data_type, 2501), raw_tensor("small", data_type, 3)]))
    path = save(source, tmp_path / "m.onnx")

    for light in (read_light(path, spool), lighten(source, spool)):
        assert_light(light)
        assert meaning(materialise(light)) == raw


@pytest.mark.parametrize("data_type", [1, 11, 14, 15], ids=NAMES.get)
def test_packed_floats_are_mapped_where_they_lie(data_type: int, tmp_path: Path) -> None:
    source = model([typed_tensor("w", data_type, 999)])
    path = save(source, tmp_path / "m.onnx")

    span = span_of(only(read_light(path)))

    assert span is not None
    assert span.path == str(path)
    assert path.read_bytes()[span.offset : span.offset + span.length] == raw_tensor("w", data_type, 999).raw_data


def test_unpacked_floats_go_to_the_spool(tmp_path: Path, spool: Spool) -> None:
    values = np.arange(300, dtype=np.float32) / 7
    path = tmp_path / "m.onnx"
    path.write_bytes(with_initializer(unpacked_floats("w", values.tolist())))

    span = span_of(only(read_light(path, spool)))

    assert span is not None
    assert span.path == spool.path
    assert read_span(span) == values.tobytes()


def test_packed_floats_in_two_parts_are_one_tensor(tmp_path: Path, spool: Spool) -> None:
    # A protobuf writer may split a packed field; the parts do not lie side by side.
    values = np.arange(300, dtype=np.float32)
    head = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[300]).SerializeToString()
    parts = length_delimited(4, values[:100].tobytes()) + length_delimited(4, values[100:].tobytes())
    path = tmp_path / "m.onnx"
    path.write_bytes(with_initializer(parts + head))

    assert read_span(span_of(only(read_light(path, spool)))) == values.tobytes()


def test_many_small_integers_in_few_bytes_are_large(tmp_path: Path, spool: Spool) -> None:
    # 100 varints of a byte each: the message is below the limit, the data (800 bytes) is not.
    source = model([helper.make_tensor("w", TensorProto.INT64, [100], range(100))])

    light = read_light(save(source, tmp_path / "m.onnx"), spool)

    assert_light(light)
    assert read_span(span_of(only(light))) == np.arange(100).tobytes()


def test_the_limit_counts_the_data_alone(tmp_path: Path) -> None:
    at_limit, above = np.zeros(INLINE, np.uint8), np.zeros(INLINE + 1, np.uint8)
    arrays = [numpy_helper.from_array(at_limit, "n" * 600), numpy_helper.from_array(above, "above")]

    light = read_light(save(model(arrays), tmp_path / "m.onnx"))

    assert [bool(span_of(tensor)) for tensor in light.graph.initializer] == [False, True]


def test_no_elements_and_scalars(tmp_path: Path) -> None:
    source = model([numpy_helper.from_array(np.zeros((0, 7)), "none"), numpy_helper.from_array(np.array(3.5), "one")])
    assert read_light(save(source, tmp_path / "m.onnx")) == source


def test_strings_stay(tmp_path: Path, spool: Spool) -> None:
    words = [f"a long word, number {number}" for number in range(100)]
    source = model([helper.make_tensor("words", TensorProto.STRING, [100], words)])
    assert read_light(save(source, tmp_path / "m.onnx")) == source
    assert lighten(source, spool) == source


def nested(weights: np.ndarray) -> ModelProto:
    """Large constants everywhere that ONNX allows one: If in If, tensors, functions and their defaults, training."""
    inner = constant("c", weights)
    branch = helper.make_graph(
        [helper.make_node("If", ["b"], ["y"], name="inner", then_branch=inner, else_branch=inner)],
        "branch",
        [],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(weights + 1, "own")],
    )
    graph = helper.make_graph(
        [
            helper.make_node("If", ["b"], ["z"], name="outer", then_branch=branch, else_branch=inner),
            helper.make_node("Many", [], ["m"], domain="d", values=[numpy_helper.from_array(weights + 2)] * 2),
            helper.make_node("Graphs", [], ["n"], domain="d", bodies=[inner, branch]),
        ],
        "g",
        [helper.make_tensor_value_info("b", TensorProto.BOOL, [])],
        [helper.make_tensor_value_info("z", TensorProto.FLOAT, None)],
    )
    source = model(graph=graph)
    default = helper.make_attribute("w", numpy_helper.from_array(weights + 3))
    source.functions.append(
        helper.make_function("d", "f", [], ["c"], inner.node, [helper.make_opsetid("", 17)], attribute_protos=[default])
    )
    source.training_info.add().algorithm.CopyFrom(inner)
    source.metadata_props.add(key="k", value="v")
    return source


def test_tensors_at_any_depth(tmp_path: Path, spool: Spool) -> None:
    source = nested(np.arange(1000, dtype=np.float32))
    before = source.SerializeToString(deterministic=True)

    for light in (read_light(save(source, tmp_path / "m.onnx")), lighten(source, spool)):
        spans = [span_of(tensor) for _, tensor in tensors(light)]
        assert len(spans) == 13
        assert all(spans)
        assert light.ByteSize() < 4000
        assert materialise(light).SerializeToString(deterministic=True) == before
    assert source.SerializeToString(deterministic=True) == before


def test_order_of_large_and_small_is_kept(tmp_path: Path, spool: Spool) -> None:
    source = model([numpy_helper.from_array(np.arange(n), f"w{n}") for n in (3, 300, 4, 5, 500, 600, 6)])
    for light in (read_light(save(source, tmp_path / "m.onnx")), lighten(source, spool)):
        assert [tensor.name for tensor in light.graph.initializer] == [
            tensor.name for tensor in source.graph.initializer
        ]


def test_sparse_tensors_stay_whole(tmp_path: Path, spool: Spool) -> None:
    source = model()
    values = numpy_helper.from_array(np.arange(1000, dtype=np.float32), "sparse")
    source.graph.sparse_initializer.append(
        helper.make_sparse_tensor(values, numpy_helper.from_array(np.arange(1000)), [5000])
    )
    assert read_light(save(source, tmp_path / "m.onnx")) == source
    assert lighten(source, spool) == source


def test_unknown_fields_of_a_newer_onnx_are_kept(tmp_path: Path) -> None:
    # Field 1000 of the graph and of a tensor: no onnx of today knows it.
    head = TensorProto(name="w", data_type=TensorProto.UINT8, dims=[600]).SerializeToString()
    unknown = length_delimited(1000, b"from the future")
    path = tmp_path / "m.onnx"
    path.write_bytes(with_initializer(head + length_delimited(9, bytes(600)) + unknown) + unknown)

    assert read_light(path).SerializeToString().count(b"from the future") == 2


def test_a_message_in_two_parts_is_merged(tmp_path: Path) -> None:
    # Files put one after the other are one message to protobuf.
    first, second = model([raw_tensor("a", 1, 300)]), ModelProto()
    second.graph.initializer.append(raw_tensor("b", 1, 300))
    path = tmp_path / "m.onnx"
    path.write_bytes(first.SerializeToString() + second.SerializeToString())

    assert materialise(read_light(path)) == onnx.load(path)


def test_six_gigabytes_in_one_file(tmp_path: Path) -> None:
    # Protobuf itself stops at 2 GB. The file is a hole: it takes no space, and reading it would take seconds.
    size = 6 << 30
    head = TensorProto(name="w", data_type=TensorProto.UINT8, dims=[size]).SerializeToString()
    tensor_head = head + varint(9 << 3 | 2) + varint(size)
    graph_head = model().graph.SerializeToString() + varint(5 << 3 | 2) + varint(len(tensor_head) + size)
    rest = model()
    rest.ClearField("graph")
    start = rest.SerializeToString() + varint(7 << 3 | 2) + varint(len(graph_head) + len(tensor_head) + size)
    start += graph_head + tensor_head
    path = tmp_path / "m.onnx"
    with path.open("wb") as file:
        file.write(start)
        file.truncate(len(start) + size)
    before = anonymous_kib()

    light = read_light(path)

    assert span_of(only(light)) == (str(path), len(start), size)
    assert anonymous_kib() - before < 4096


def anonymous_kib() -> int:
    if not Path("/proc/self/status").exists():
        pytest.skip("no /proc")
    (line,) = (line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("RssAnon"))
    return int(line.split()[1])


# ------------------------------------------------------------------------------------------------ external data


def external(tensor: TensorProto, location: str, offset: int | None = None, length: int | None = None) -> TensorProto:
    set_external_data(tensor, location, offset, length)
    tensor.ClearField("raw_data")
    return tensor


def test_external_data_in_a_folder_below(tmp_path: Path) -> None:
    (tmp_path / "weights").mkdir()
    array = np.arange(600, dtype=np.float32)
    (tmp_path / "weights/w.bin").write_bytes(b"head" + array.tobytes() + b"tail")
    source = model([external(numpy_helper.from_array(array, "w"), "weights/w.bin", 4, 2400)])

    light = read_light(save(source, tmp_path / "m.onnx"))

    assert span_of(only(light)) == (str(tmp_path / "weights/w.bin"), 4, 2400)
    assert meaning(materialise(light)) == meaning(model([numpy_helper.from_array(array, "w")]))


def test_external_offset_and_length_may_be_left_out(tmp_path: Path) -> None:
    array = np.arange(600, dtype=np.float32)
    (tmp_path / "w.bin").write_bytes(array.tobytes())
    light = read_light(save(model([external(numpy_helper.from_array(array, "w"), "w.bin")]), tmp_path / "m.onnx"))
    assert read_span(span_of(only(light))) == array.tobytes()


def test_small_external_tensors_are_read_in(tmp_path: Path) -> None:
    array = np.arange(3)
    (tmp_path / "w.bin").write_bytes(b"\xff" + array.tobytes())
    light = read_light(save(model([external(numpy_helper.from_array(array, "w"), "w.bin", 1)]), tmp_path / "m.onnx"))
    assert light == model([numpy_helper.from_array(array, "w")])


def test_the_model_may_be_named_relative_to_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    array = np.arange(600)
    (tmp_path / "w.bin").write_bytes(array.tobytes())
    save(model([external(numpy_helper.from_array(array, "w"), "w.bin"), raw_tensor("r", 1, 600)]), tmp_path / "m.onnx")
    monkeypatch.chdir(tmp_path)

    light = read_light(Path("m.onnx"))

    assert [span_of(tensor).path for _, tensor in tensors(light)] == [str(tmp_path / "w.bin"), str(tmp_path / "m.onnx")]


def test_a_link_within_the_folder_is_followed(tmp_path: Path) -> None:
    array = np.arange(600)
    (tmp_path / "real.bin").write_bytes(array.tobytes())
    (tmp_path / "w.bin").symlink_to("real.bin")
    light = read_light(save(model([external(numpy_helper.from_array(array, "w"), "w.bin")]), tmp_path / "m.onnx"))
    assert read_span(span_of(only(light))) == array.tobytes()


def cached(tmp_path: Path, location: str) -> Path:
    """A model as a cache keeps it: it and its data are links into a folder of files."""
    (tmp_path / "blobs").mkdir()
    (tmp_path / "snapshot").mkdir()
    save(model([external(numpy_helper.from_array(np.arange(600), "w"), location)]), tmp_path / "blobs/aa")
    (tmp_path / "blobs/bb").write_bytes(np.arange(600).tobytes())
    (tmp_path / "snapshot/m.onnx").symlink_to("../blobs/aa")
    (tmp_path / "snapshot/m.data").symlink_to("../blobs/bb")
    return tmp_path / "snapshot/m.onnx"


def test_a_model_and_its_data_are_links_into_one_folder(tmp_path: Path) -> None:
    light = read_light(cached(tmp_path, "m.data"))
    assert read_span(span_of(only(light))) == np.arange(600).tobytes()


def test_a_link_does_not_let_a_model_climb_out_of_its_folder(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="outside the model's folder"):
        read_light(cached(tmp_path, "../blobs/bb"))


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A model's folder, beside a file that is none of its business."""
    home = tmp_path / "home"
    home.mkdir()
    (tmp_path / "secret").write_bytes(bytes(4800))
    (tmp_path / "home2").mkdir()
    (tmp_path / "home2/secret").write_bytes(bytes(4800))
    (home / "link").symlink_to("../secret")
    (home / "links").symlink_to("..")
    (home / "short.bin").write_bytes(bytes(100))
    (home / "w.bin").write_bytes(bytes(4800))
    (home / "folder").mkdir()
    os.mkfifo(home / "pipe")
    return home


@pytest.mark.parametrize(
    ("location", "offset", "length", "message"),
    [
        ("/etc/passwd", None, None, "outside the model's folder"),
        ("../secret", None, None, "outside the model's folder"),
        ("folder/../../secret", None, None, "outside the model's folder"),
        ("../home2/secret", None, None, "outside the model's folder"),
        ("link", None, None, "outside the model's folder"),
        ("links/secret", None, None, "outside the model's folder"),
        ("missing.bin", None, None, "No such file or directory"),
        ("folder", None, None, "not a file"),
        ("pipe", None, None, "not a file"),
        ("", None, None, "without a usable location"),
        ("w\0.bin", None, None, "without a usable location"),
        ("x" * 300, None, None, "File name too long"),
        ("short.bin", None, None, "should be bytes 0 to 4800 of"),
        ("w.bin", 1, 4800, "should be bytes 1 to 4801 of"),
        ("w.bin", 10**18, 4800, "which has 4800"),
        ("w.bin", 0, 4799, "has 4799 bytes in"),
    ],
)
@pytest.mark.parametrize("count", [600, 30], ids=["large", "small"])
def test_bad_external_data(
    location: str, offset: int | None, length: int | None, message: str, count: int, home: Path
) -> None:
    if count == 30 and location in ("short.bin", "w.bin"):
        pytest.skip("fits")
    source = model([external(numpy_helper.from_array(np.zeros(count), "enc.w"), location, offset, length)])
    path = save(source, home / "m.onnx")

    with pytest.raises(InputError) as caught:
        read_light(path)

    assert str(caught.value).startswith(f'{path}: tensor "enc.w" ')
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("key", "value"), [("offset", "-1"), ("offset", "many"), ("length", "1e3"), ("offset", "9" * 99)]
)
def test_offset_and_length_are_numbers(key: str, value: str, home: Path) -> None:
    tensor = external(numpy_helper.from_array(np.zeros(600), "w"), "w.bin")
    tensor.external_data.add(key=key, value=value)
    with pytest.raises(InputError, match=f"external {key} that is no number"):
        read_light(save(model([tensor]), home / "m.onnx"))


def test_sparse_tensors_cannot_be_external(tmp_path: Path, spool: Spool) -> None:
    # They stay whole, so a location in them would reach whoever reads them later, unchecked.
    source = model()
    values = external(numpy_helper.from_array(np.zeros(3), "sparse"), "/etc/passwd")
    source.graph.sparse_initializer.add(values=values, indices=numpy_helper.from_array(np.arange(3)), dims=[9])
    for read in (lambda: read_light(save(source, tmp_path / "m.onnx")), lambda: lighten(source, spool)):
        with pytest.raises(InputError, match='sparse tensor "sparse" is external'):
            read()


# ------------------------------------------------------------------------------------------------ from memory


def test_a_light_model_may_be_lightened_again(tmp_path: Path, spool: Spool) -> None:
    light = read_light(save(nested(np.arange(1000, dtype=np.float32)), tmp_path / "m.onnx"))
    assert lighten(light, spool) == light


def test_a_model_in_memory_has_no_folder(spool: Spool) -> None:
    source = model([external(numpy_helper.from_array(np.zeros(600), "w"), "w.bin")])
    with pytest.raises(InputError, match=r'tensor "w" has its data in w\.bin, and a model in memory has no folder'):
        lighten(source, spool)


def test_errors_name_the_node(spool: Spool) -> None:
    graph = constant("c", np.zeros(600))
    graph.node[0].attribute[0].t.dims[0] = 601
    with pytest.raises(
        InputError, match=r'^node "make_c": its tensor holds 4800 bytes, dims \[601\] of DOUBLE need 4808'
    ):
        lighten(model(graph=graph), spool)


def test_the_spool_is_aligned_and_goes(spool: Spool) -> None:
    places = [spool(bytes([n]) * n) for n in (1, 100, 64, 3)]
    assert [offset for _, offset in places] == [0, 64, 192, 256]
    content = Path(spool.path).read_bytes()
    assert content[192:256] == bytes([64]) * 64
    spool.close()
    assert not Path(spool.path).exists()


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(ALL_TYPES), st.integers(0, 1300), st.sampled_from(["raw", "typed"]), st.booleans()),
        max_size=6,
    )
)
def test_any_mixture_of_tensors(tmp_path: Path, spool: Spool, tensors_: list[tuple[int, int, str, bool]]) -> None:
    source = model()
    for number, (data_type, count, form, in_node) in enumerate(tensors_):
        tensor = FORMS[form](f"w{number}", data_type, count, number)
        if in_node:
            source.graph.node.extend(constant(f"c{number}", tensor).node)
        else:
            source.graph.initializer.append(tensor)

    for light in (read_light(save(source, tmp_path / "m.onnx"), spool), lighten(source, spool)):
        assert_light(light)
        assert meaning(materialise(light)) == meaning(source)
