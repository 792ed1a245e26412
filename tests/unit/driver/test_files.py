"""Modules in and out of files: places in messages, weights' paths, and old files left whole."""

import io
import os
import sys
from pathlib import Path

import pytest
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.utils.exceptions import ParseError

from gecc.dialects.ge.data import append_to_sidecar, sidecar_path
from gecc.dialects.ge.errors import InputError, UsageError
from gecc.driver import files
from gecc.driver.files import check_writable, load_module, open_sources, replacing, save_module
from gecc.driver.registry import default_registry

PLAIN = "builtin.module {\n}\n"
WEIGHTS = 'ge.weights @w {path = "%s", bytes = 4 : i64}\n'


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(name: str, text: str) -> Path:
    path = Path(name)
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    return path


def path_in(module: ModuleOp) -> str:
    path = next(iter(module.body.block.ops)).properties["path"]
    assert isinstance(path, StringAttr)
    return path.data


def test_text_in_and_out(folder: Path):
    save_module(load_module(write("a.mlir", PLAIN)), "b.mlir")
    assert Path("b.mlir").read_text() == PLAIN
    assert sorted(os.listdir(folder)) == ["a.mlir", "b.mlir"]


def test_stdin_and_stdout(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(PLAIN.encode())))
    save_module(load_module(None), None)
    assert capsys.readouterr().out == PLAIN


def test_paths_of_weights_are_absolute_inside_and_relative_in_text(folder: Path):
    module = load_module(write("in/a.mlir", WEIGHTS % "w.bin"))
    assert path_in(module) == str(folder / "in/w.bin")
    Path("out").mkdir()
    save_module(module, "out/b.mlir")
    assert 'path = "../in/w.bin"' in Path("out/b.mlir").read_text()
    assert path_in(module) == str(folder / "in/w.bin"), "the module itself is as it was"


def test_names_beyond_ascii_stay_text(folder: Path):
    text = 'func.func @f(%x: tensor<1xf32> {onnx.name = "ü"}) attributes {note = ["ö"]} {\n  func.return\n}\n'
    module = load_module(write("a.mlir", text))
    save_module(module, "b.mlir")
    again = load_module("b.mlir")
    assert again.is_structurally_equivalent(module)
    [function] = again.body.block.ops
    assert function.attributes["note"].data[0] == StringAttr("ö")  # pyright: ignore
    assert function.properties["arg_attrs"].data[0].data["onnx.name"] == StringAttr("ü")  # pyright: ignore


def test_a_path_beyond_ascii(folder: Path):
    assert path_in(load_module(write("a.mlir", WEIGHTS % "ä.bin"))) == str(folder / "ä.bin")


def with_new_weights() -> ModuleOp:
    import numpy as np

    append_to_sidecar(np.arange(4, dtype=np.uint8))
    return load_module(write("a.mlir", WEIGHTS % sidecar_path()))


def test_new_weights_go_beside_the_output():
    save_module(with_new_weights(), "b.mlir")
    [kept] = Path().glob("b-*.weights")
    assert kept.read_bytes() == sidecar_path().read_bytes()
    assert path_in(load_module("b.mlir")) == str(kept.absolute())


def test_new_weights_go_where_asked():
    save_module(with_new_weights(), "b.mlir", weights_out="kept/../w.bin")
    assert Path("w.bin").exists()


def test_new_weights_on_stdout_need_a_file(capsys: pytest.CaptureFixture[str]):
    module = with_new_weights()
    with pytest.raises(UsageError, match="bytes of new weights: name a file for them with --weights-out=FILE"):
        save_module(module, None)
    assert capsys.readouterr().out == ""
    save_module(module, None, weights_out="w.bin")
    assert 'path = "w.bin"' in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("func.func @f( {\n}", "a.mlir:1:15: "),
        ('%0 = "test.op"() : () -> 3', "a.mlir:1:26: "),
    ],
)
def test_what_cannot_be_parsed_says_where(text: str, message: str):
    with pytest.raises(ParseError) as error:
        load_module(write("a.mlir", text))
    place = error.value.span.get_location()
    assert f"{place.file}:{place.line}:{place.col}: " == message


def test_what_its_own_checks_refuse_says_where():
    with pytest.raises(InputError, match=r"a\.mlir:2:\d+: Integer value 300 is out of range"):
        load_module(write("a.mlir", "// a\nmodule attributes {a = 300 : i8} {}"))


@pytest.mark.parametrize("text", ["}" * 3, "(" * 5000, '"builtin.module"() ({' * 3000, "\\", "%", '"', "#", "module {"])
def test_garbage_is_the_input_s_fault(text: str):
    with pytest.raises((InputError, ParseError)):
        load_module(write("a.mlir", text))


def test_bytes_that_are_no_text():
    Path("a.mlir").write_bytes(b"builtin.module { " + b" " * 64 + b"\xff }")
    with pytest.raises(InputError, match=r"a\.mlir: is not UTF-8 at byte 81"):
        load_module("a.mlir")


def test_ir_that_does_not_verify_is_the_input_s_fault():
    write("a.mlir", "func.func @f(%x: i32) -> i64 {\n  func.return %x : i32\n}")
    with pytest.raises(InputError, match=r"^a\.mlir: "):
        load_module("a.mlir")


@pytest.mark.parametrize("text", ["", " \n\n"])
def test_an_empty_file_is_no_module(text: str):
    with pytest.raises(InputError, match=r"a\.mlir: is empty"):
        load_module(write("a.mlir", text))


def test_parts_keep_their_lines():
    path = write("a.mlir", 'module {}\n// -----\n\n// two\n%0 = "test.op"() : () -> 3\n')
    first, second = open_sources(path, split=True)
    context = default_registry(pytest.fail).context()
    assert first.read(context) is not None
    with pytest.raises(ParseError) as error:
        second.read(context)
    assert error.value.span.get_location().line == 5


@pytest.mark.parametrize("name", ["missing.mlir", "missing.onnx", "."])
def test_no_file(name: str):
    with pytest.raises((InputError, OSError)):
        load_module(name)


def fill_and_fail(path: str) -> None:
    with replacing(path) as fresh:
        fresh.write_text("half")
        raise KeyboardInterrupt


def test_a_failed_write_leaves_the_old_file_whole(folder: Path):
    write("a.mlir", "old")
    with pytest.raises(KeyboardInterrupt):
        fill_and_fail("a.mlir")
    assert Path("a.mlir").read_text() == "old"
    assert os.listdir(folder) == ["a.mlir"]


def test_a_full_disk_names_the_output(folder: Path, monkeypatch: pytest.MonkeyPatch):
    module = load_module(write("a.mlir", PLAIN))
    write("b.mlir", "old")

    def full(*args: object, **named: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files, "print_module", full)
    with pytest.raises(OSError, match=r"No space left on device: 'b\.mlir'"):
        save_module(module, "b.mlir")
    assert Path("b.mlir").read_text() == "old"
    assert sorted(os.listdir(folder)) == ["a.mlir", "b.mlir"]


def test_a_new_file_keeps_the_old_one_s_mode_and_link():
    old = write("a.mlir", "old")
    old.chmod(0o640)
    Path("link.mlir").symlink_to("a.mlir")
    with replacing("link.mlir") as fresh:
        fresh.write_text("new")
    assert old.read_text() == "new"
    assert old.stat().st_mode & 0o777 == 0o640
    assert Path("link.mlir").is_symlink()


def test_dev_null_is_written_and_stays():
    save_module(load_module(write("a.mlir", PLAIN)), "/dev/null")
    assert not Path("/dev/null").is_file()


@pytest.mark.parametrize("name", [".", "no/such/a.mlir", "new/"])
def test_outputs_that_cannot_be_are_found_before_the_work(name: str):
    with pytest.raises(OSError, match=r"folder"):
        check_writable(name)
