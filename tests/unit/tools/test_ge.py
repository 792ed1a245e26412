"""ge as ATC users type it: flags, errors, the list of passes, the summary."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from gecc.dialects.ge.errors import UsageError
from gecc.driver import plugins
from gecc.tools import ge


class Result(NamedTuple):
    code: int
    out: str
    err: str


Tool = Callable[..., Result]


@pytest.fixture
def tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Tool:
    """Runs ge in a folder with a small `m.onnx`, no installed plugins, and no GE_* variable but those given."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(plugins, "entry_points", lambda group: [])
    weight = numpy_helper.from_array(np.ones((4, 4), np.float32), "w")
    nodes = [helper.make_node("MatMul", ["x", "w"], ["a"]), helper.make_node("Relu", ["a"], ["y"])]
    info = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes,
        "main",
        [info("x", TensorProto.FLOAT, [2, 4])],
        [info("y", TensorProto.FLOAT, [2, 4])],
        [weight],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), "m.onnx")

    def run(line: str, **environment: str) -> Result:
        monkeypatch.setattr(ge.os, "environ", environment)
        code = ge.main(line.split())
        return Result(code, *capsys.readouterr())

    return run


def test_both_spellings_of_a_value():
    assert ge.parse(["--model=m.onnx", "--framework", "5", "--input-shape=x:1"]) == {
        "model": "m.onnx",
        "framework": "5",
        "input_shape": "x:1",
    }


@pytest.mark.parametrize("words", [["-O2"], ["-O=2"], ["-O", "2"], ["--O=2"], ["--oo_level=2"]])
def test_spellings_of_the_level(words: list[str]):
    assert ge.parse(words) == {"oo_level": "2"}


@pytest.mark.parametrize(
    ("text", "path"),
    [("m", "m.onnx"), ("m.onnx", "m.onnx"), ("m.mlir", "m.mlir"), ("a/yolo.v5", "a/yolo.v5.onnx")],
)
def test_the_suffix_chooses(text: str, path: str):
    assert ge.output_path(text) == Path(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("m.gex", "not available in this version: --output=m.gex (a compiled model); write .onnx or .mlir"),
        ("m.om", "--output=m.om: .om is Huawei's; this writes .onnx or .mlir"),
        ("out/", "--output=out/ is a folder; name a file in it"),
    ],
)
def test_what_cannot_be_written(text: str, message: str):
    with pytest.raises(UsageError) as error:
        ge.output_path(text)
    assert str(error.value) == message


CONVERT = "--model=m.onnx --output=n"


@pytest.mark.parametrize(
    ("line", "code", "message"),
    [
        ("m.onnx", 2, "'m.onnx' belongs to no flag; the model is given as --model=m.onnx"),
        ("--modle=m.onnx", 2, "no flag '--modle'; did you mean 'model'?"),
        ("--model", 2, "--model needs a value: the .onnx file to convert (also .mlir)"),
        ("--model --output=n", 2, "--model needs a value: the .onnx file to convert (also .mlir)"),
        ("--output=n", 2, "--model is missing: the .onnx file to convert (also .mlir)"),
        ("--model=m.onnx", 2, "--output is missing: what to write: m is m.onnx; a suffix .onnx or .mlir chooses"),
        (f"{CONVERT} --output=o", 2, "--output is given twice: n and o"),
        (f"{CONVERT} --framework=3", 2, "--framework=3: only 5 (ONNX) can be read"),
        (f"{CONVERT} --input_format=NHWC", 2, "--input_format must be one of NCHW, NCDHW, ND; got 'NHWC'"),
        (f"{CONVERT} --opset=x", 2, "--opset must be a whole number, got 'x'"),
        (f"{CONVERT} --list_passes=1", 2, "--list_passes takes no value, got '1'"),
        (f"{CONVERT} --oo_level=O9", 2, "no optimisation level 'O9'; it is one of O0, O1, O2, O3"),
        (
            f"{CONVERT} --input_shape=2,4",
            2,
            "input shape '2,4' has no name; write name:1,3,224,224 and ; between inputs",
        ),
        ("--model=m.onnx --output=no/n", 1, "{here}/no: no such file or folder"),
    ],
)
def test_failures_are_one_line(line: str, code: int, message: str, tool: Tool, tmp_path: Path):
    assert tool(line) == (code, "", f"ge: error: {message.format(here=tmp_path)}\n")
    assert [path.name for path in tmp_path.iterdir()] == ["m.onnx"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", ":1:1: is not JSON: Expecting value"),
        (
            '{"rules": [\n{"pattern": ["MatMul", "Rellu"], "replacement": "R"}]}',
            ":2: rule 1 (\"R\"): pattern: no operator 'Rellu'; did you mean 'Relu'?",
        ),
        (
            '{"rules": [\n{"pattern": ["MatMul", "Relu"], "replacement": "R", "condition": "bach == 1"}]}',
            ":2: rule 1 (\"R\"): condition: column 1: no 'bach'; allowed: input_dtype, output_dtype, input_shape,"
            " weights_shape, batch, Operator.attribute, an element type; did you mean 'batch'?",
        ),
        ('{"Rules": [\n{"RuleName": "R"}]}', ":2: rule 1 (\"R\"): the key 'OuterInputs' is missing"),
    ],
)
def test_a_wrong_rules_file_is_one_line_and_writes_nothing(text: str, message: str, tool: Tool, tmp_path: Path):
    Path("rules.json").write_text(text)
    assert tool(f"{CONVERT} --fusion_rules_file=rules.json") == (2, "", f"ge: error: rules.json{message}\n")
    assert {path.name for path in tmp_path.iterdir()} == {"m.onnx", "rules.json"}


@pytest.mark.parametrize("name", ["missing.onnx", "empty.onnx", "text.onnx", "truncated.onnx", "folder.onnx"])
def test_bad_models_are_one_line_and_write_nothing(name: str, tool: Tool):
    Path("empty.onnx").touch()
    Path("text.onnx").write_text("not a model")
    Path("truncated.onnx").write_bytes(Path("m.onnx").read_bytes()[:-20])
    Path("folder.onnx").mkdir()
    Path("n.onnx").write_text("old")
    result = tool(f"--model={name} --output=n")
    assert (result.code, result.out) == (1, "")
    assert result.err.count("\n") == 1
    assert name in result.err
    assert Path("n.onnx").read_text() == "old"


def test_a_conversion_says_what_was_gained(tool: Tool):
    result = tool(f"{CONVERT} --framework=5 --input_format=NCHW")
    assert (result.code, result.out) == (0, "")
    lines = result.err.splitlines()
    assert lines[0] == "ge: m.onnx -> n.onnx"
    assert re.fullmatch(r"  nodes +2 -> \d+", lines[1])
    assert re.fullmatch(r"  constants +\d+ -> \d+ bytes", lines[2])
    assert [line.split()[0] for line in lines[3:5]] == ["arena", "seconds"]
    made = onnx.load("n.onnx")
    onnx.checker.check_model(made)
    assert made.producer_name == "gecc"


def test_mlir_is_written_too(tool: Tool):
    assert tool("--model=m.onnx --output=n.mlir").code == 0
    assert "ge." in Path("n.mlir").read_text()


def test_a_variable_that_is_almost_ours_is_a_warning(tool: Tool):
    result = tool(CONVERT, GE_L2_FUSIONS="1")
    assert result.code == 0
    assert result.err.startswith("ge: warning: GE_L2_FUSIONS is not a variable of ge; did you mean 'GE_L2_FUSION'?\n")


def test_the_list_of_passes_is_a_name_and_a_sentence_a_line(tool: Tool):
    result = tool("--list_passes")
    assert (result.code, result.err) == (0, "")
    matches = [re.match(r"^(\w+):\s*(.*)$", line) for line in result.out.splitlines()]
    assert None not in matches
    assert all(match[2] for match in matches if match)


def test_help_names_every_flag_and_variable(tool: Tool):
    text = tool("--help").out
    assert [name for name in (*ge.FLAGS, *ge.SWITCHES) if f"--{name}" not in text] == []
    assert "GE_MEMORY_STRATEGY" in text
    assert tool("--version").out.startswith("ge 0.")
