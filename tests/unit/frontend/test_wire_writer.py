"""Writing: an ordinary model with all the bits of the light one, complete or not at all."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from io import FileIO
from pathlib import Path

import numpy as np
import onnx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from onnx import ModelProto, TensorProto, helper, numpy_helper

from gecc.dialects.ge.errors import InputError, UsageError
from gecc.frontend.wire import materialise, read_light, span_of, tensors, write_model, writer

from .wire_models import ALL_TYPES, assert_light, constant, meaning, model, raw_tensor, save, typed_tensor


def sample() -> ModelProto:
    """Large and small tensors, in initialisers and in the branches of an If."""
    branch = constant("c", np.arange(2000, dtype=np.float32))
    graph = helper.make_graph(
        [helper.make_node("If", ["b"], ["y"], name="choose", then_branch=branch, else_branch=branch)],
        "g",
        [helper.make_tensor_value_info("b", TensorProto.BOOL, [])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2000])],
        [raw_tensor(f"w{kind}", kind, 1501) for kind in ALL_TYPES] + [raw_tensor("small", 1, 3)],
    )
    return model(graph=graph)


@pytest.fixture
def light(tmp_path: Path) -> ModelProto:
    (tmp_path / "source").mkdir()
    return read_light(save(sample(), tmp_path / "source/m.onnx"))


@pytest.mark.parametrize("external", [None, False, True])
def test_onnx_reads_what_we_write(external: bool | None, light: ModelProto, tmp_path: Path) -> None:
    path = tmp_path / "out.onnx"
    before = light.SerializeToString()

    write_model(light, path, external)

    assert meaning(onnx.load(path)) == meaning(sample())
    onnx.checker.check_model(path)
    assert path.with_name("out.onnx.data").exists() == bool(external)
    assert light.SerializeToString() == before


def test_external_data_is_in_order_and_on_pages(light: ModelProto, tmp_path: Path) -> None:
    write_model(light, tmp_path / "out.onnx", external=True)

    written = onnx.load(tmp_path / "out.onnx", load_external_data=False)
    entries = [{e.key: e.value for e in tensor.external_data} for _, tensor in tensors(written) if tensor.external_data]

    assert {entry["location"] for entry in entries} == {"out.onnx.data"}
    offsets = [int(entry["offset"]) for entry in entries]
    assert all(offset % 4096 == 0 for offset in offsets)
    assert offsets == sorted(offsets)


def test_equal_spans_are_written_once(tmp_path: Path) -> None:
    # Two tensors on one span, as models have them whose input and output embeddings are tied.
    source = read_light(save(model([raw_tensor("a", 1, 5000)]), tmp_path / "m.onnx"))
    source.graph.initializer.add().CopyFrom(source.graph.initializer[0])
    source.graph.initializer[1].name = "b"

    write_model(source, tmp_path / "out.onnx", external=True)

    assert (tmp_path / "out.onnx.data").stat().st_size == 20000
    assert materialise(read_light(tmp_path / "out.onnx")) == materialise(source)


def test_from_external_to_inline_and_back(light: ModelProto, tmp_path: Path) -> None:
    write_model(light, tmp_path / "a.onnx", external=True)
    write_model(read_light(tmp_path / "a.onnx"), tmp_path / "b.onnx", external=False)
    write_model(read_light(tmp_path / "b.onnx"), tmp_path / "c.onnx", external=True)

    assert meaning(onnx.load(tmp_path / "b.onnx")) == meaning(sample())
    assert (tmp_path / "c.onnx.data").read_bytes() == (tmp_path / "a.onnx.data").read_bytes()


def test_a_model_without_large_tensors_has_no_data_file(tmp_path: Path) -> None:
    write_model(model(), tmp_path / "out.onnx", external=True)
    assert os.listdir(tmp_path) == ["out.onnx"]
    assert onnx.load(tmp_path / "out.onnx") == model()


def test_above_the_limit_weights_go_beside(light: ModelProto, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "out.onnx"
    write_model(light, path)
    size = path.stat().st_size
    path.unlink()

    monkeypatch.setattr(writer, "LIMIT", size)
    write_model(light, path)
    assert not path.with_name("out.onnx.data").exists()

    monkeypatch.setattr(writer, "LIMIT", size - 1)
    write_model(light, path)
    assert path.with_name("out.onnx.data").exists()
    assert meaning(onnx.load(path)) == meaning(sample())

    with pytest.raises(UsageError, match="do not fit into one ONNX file"):
        write_model(light, path, external=False)
    monkeypatch.setattr(writer, "LIMIT", 100)
    with pytest.raises(InputError, match="has over 2 GB without its weights"):
        write_model(light, path)
    with pytest.raises(UsageError, match="do not fit into a ModelProto"):
        materialise(light)


def test_tensors_larger_than_a_chunk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "_CHUNK", 1000)
    source = model([raw_tensor(f"w{count}", 2, count, count) for count in (600, 1000, 1001, 99_999)])
    light = read_light(save(source, tmp_path / "m.onnx"))
    for external in (True, False):
        write_model(light, tmp_path / "out.onnx", external)
        assert meaning(onnx.load(tmp_path / "out.onnx")) == meaning(source)


def test_a_word_that_we_search_for_means_nothing_by_itself(tmp_path: Path) -> None:
    source = model([numpy_helper.from_array(np.arange(3), "location"), raw_tensor("location2", 1, 300)])
    source.graph.node[0].doc_string = "location"
    source.graph.node[0].attribute.append(helper.make_attribute("location", numpy_helper.from_array(np.arange(3))))
    write_model(read_light(save(source, tmp_path / "m.onnx")), tmp_path / "out.onnx")
    assert meaning(onnx.load(tmp_path / "out.onnx")) == meaning(source)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(ALL_TYPES), st.integers(0, 3000), st.booleans(), st.booleans()), max_size=6),
    st.sampled_from([None, True]),
)
def test_any_mixture_of_tensors(
    tmp_path: Path, mixture: list[tuple[int, int, bool, bool]], external: bool | None
) -> None:
    source = model()
    for number, (data_type, count, typed, in_node) in enumerate(mixture):
        tensor = (typed_tensor if typed else raw_tensor)(f"w{number}", data_type, count, number)
        if in_node:
            source.graph.node.extend(constant(f"c{number}", tensor).node)
        else:
            source.graph.initializer.append(tensor)

    write_model(read_light(save(source, tmp_path / "m.onnx")), tmp_path / "out.onnx", external)

    assert meaning(onnx.load(tmp_path / "out.onnx")) == meaning(source)
    assert_light(read_light(tmp_path / "out.onnx"))


# ------------------------------------------------------------------------------------------------ all or nothing


def snapshot(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with an older output, weights beside it."""
    folder = tmp_path / "out"
    folder.mkdir()
    (tmp_path / "older").mkdir()
    older = read_light(save(model([raw_tensor("old", 1, 5000)]), tmp_path / "older/m.onnx"))
    write_model(older, folder / "m.onnx", external=True)
    return folder


@pytest.mark.parametrize("external", [True, False])
def test_an_older_output_is_replaced(external: bool, light: ModelProto, folder: Path) -> None:
    write_model(light, folder / "m.onnx", external)
    assert meaning(onnx.load(folder / "m.onnx")) == meaning(sample())
    assert sorted(os.listdir(folder)) == ["m.onnx", "m.onnx.data"]


@pytest.mark.parametrize("external", [True, False])
@pytest.mark.parametrize("before", [True, False])
def test_the_source_may_be_the_target(external: bool, before: bool, tmp_path: Path) -> None:
    path = save(sample(), tmp_path / "m.onnx")
    write_model(read_light(path), path, before)

    write_model(read_light(path), path, external)

    assert meaning(onnx.load(path)) == meaning(sample())


class FullDisk(FileIO):
    """A file on a disk that has room for `room` bytes in all."""

    room = 0

    def write(self, data, /) -> int:
        count = min(len(data), FullDisk.room)
        if not count:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        FullDisk.room -= count
        return super().write(data[:count])


@pytest.mark.parametrize("external", [True, False])
@pytest.mark.parametrize("room", [0, 1, 4096, 50_000])
def test_a_full_disk(
    room: int, external: bool, light: ModelProto, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = snapshot(folder)
    monkeypatch.setattr(writer, "FileIO", FullDisk)
    monkeypatch.setattr(FullDisk, "room", room)

    with pytest.raises(InputError, match=r"m\.onnx(\.data)?: cannot be written: No space left on device$"):
        write_model(light, folder / "m.onnx", external)

    assert snapshot(folder) == old


def interrupted_at(number: int, function: Callable[..., None], error: BaseException) -> Callable[..., None]:
    """`function`, whose call `number` raises `error` instead."""
    calls = iter(range(100))

    def call(*arguments: object) -> None:
        if next(calls) == number:
            raise error
        function(*arguments)

    return call


@pytest.mark.parametrize("number", [0, 1, 2])
@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError(errno.EPERM, "Operation not permitted")])
def test_no_rename_is_left_half_done(
    number: int, error: BaseException, light: ModelProto, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Three renames: the old weights aside, the new weights, the new model.
    old = snapshot(folder)
    monkeypatch.setattr(writer.os, "replace", interrupted_at(number, os.replace, error))

    with pytest.raises((KeyboardInterrupt, InputError)):
        write_model(light, folder / "m.onnx", external=True)

    assert snapshot(folder) == old


def test_the_first_output_fails_at_its_last_rename(
    light: ModelProto, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "new").mkdir()
    monkeypatch.setattr(writer.os, "replace", interrupted_at(1, os.replace, KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        write_model(light, tmp_path / "new/m.onnx", external=True)
    assert os.listdir(tmp_path / "new") == []


def test_an_interrupt_after_the_last_rename_changes_nothing_any_more(
    light: ModelProto, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def replace(old: Path, new: Path) -> None:
        real(old, new)
        if new.name == "m.onnx":
            raise KeyboardInterrupt

    real = os.replace
    monkeypatch.setattr(writer.os, "replace", replace)

    with pytest.raises(KeyboardInterrupt):
        write_model(light, folder / "m.onnx", external=True)

    assert meaning(onnx.load(folder / "m.onnx")) == meaning(sample())
    assert sorted(os.listdir(folder)) == ["m.onnx", "m.onnx.data"]


@pytest.mark.parametrize("external", [True, False])
def test_a_source_that_is_gone_or_shorter(external: bool, light: ModelProto, folder: Path, tmp_path: Path) -> None:
    old = snapshot(folder)
    source = tmp_path / "source/m.onnx"

    source.write_bytes(source.read_bytes()[:5000])
    with pytest.raises(InputError, match=r"source/m\.onnx: has become shorter since it was read$"):
        write_model(light, folder / "m.onnx", external)
    with pytest.raises(InputError, match=r"source/m\.onnx: has become shorter since it was read$"):
        materialise(light)

    source.unlink()
    with pytest.raises(InputError, match=r"source/m\.onnx: cannot be read: No such file or directory$"):
        write_model(light, folder / "m.onnx", external)

    assert snapshot(folder) == old


@pytest.mark.parametrize("name", ["none/m.onnx", "folder", "pipe", "x" * 300, "/dev/null"])
def test_places_where_nothing_can_be_written(name: str, light: ModelProto, tmp_path: Path) -> None:
    place = tmp_path / "place"
    place.mkdir()
    (place / "folder").mkdir()
    os.mkfifo(place / "pipe")
    for external in (True, False):
        with pytest.raises(InputError, match="cannot be written: ") as caught:
            write_model(light, place / name, external)
        assert "\n" not in str(caught.value)
    assert sorted(os.listdir(place)) == ["folder", "pipe"]
    assert Path("/dev/null").is_char_device()


def test_a_name_that_is_not_utf8(light: ModelProto, tmp_path: Path) -> None:
    path = Path(os.fsdecode(bytes(tmp_path) + b"/\xff.onnx"))
    with pytest.raises(InputError, match="not UTF-8"):
        write_model(light, path, external=True)
    write_model(light, path, external=False)  # nothing in the file names it
    assert path.exists()


def test_permissions_are_those_of_any_new_file_or_of_the_old_one(light: ModelProto, tmp_path: Path) -> None:
    path, other = tmp_path / "m.onnx", tmp_path / "other"
    other.touch()
    write_model(light, path)
    assert path.stat().st_mode == other.stat().st_mode

    path.chmod(0o600)
    write_model(light, path)
    assert path.stat().st_mode & 0o777 == 0o600


def test_models_that_are_not_light_are_a_mistake_of_the_caller(tmp_path: Path, light: ModelProto) -> None:
    write_model(light, tmp_path / "out.onnx", external=True)
    ordinary = onnx.load(tmp_path / "out.onnx", load_external_data=False)
    with pytest.raises(ValueError, match="is not light"):
        materialise(ordinary)
    assert span_of(materialise(light).graph.initializer[0]) is None
