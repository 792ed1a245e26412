"""ge-run as it is typed: outputs, comparisons, times, and errors in one line."""

import builtins
import io
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from gecc.driver import plugins
from gecc.tools import ge_run


class Result(NamedTuple):
    code: int
    out: str
    err: str


Tool = Callable[..., Result]

BUFFERS = """
func.func @main(%x: memref<2x4xf32> {onnx.name = "x"}, %y: memref<2x4xf32> {onnx.name = "y", ge.result}) {
  ge.launch ins(%x : memref<2x4xf32>) outs(%y : memref<2x4xf32>) {
  ^bb0(%a: tensor<2x4xf32>):
    %b = ge.relu %a : tensor<2x4xf32> -> tensor<2x4xf32>
    ge.yield %b : tensor<2x4xf32>
  }
  return
}
"""


def save(name: str, op: str, element: int = TensorProto.FLOAT, dims: tuple[Any, ...] = ("N", 4), **attrs: Any) -> None:
    """A model of one op with the input `x` and the output `y`."""
    info = helper.make_tensor_value_info
    output = attrs.get("to", element)
    node = helper.make_node(op, ["x"], ["y"], **attrs)
    graph = helper.make_graph([node], "main", [info("x", element, dims)], [info("y", output, dims)])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), name)


@pytest.fixture
def tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Tool:
    """Runs ge-run in a folder with `relu.onnx`, `abs.onnx`, a relu on buffers and an input, without plugins."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(plugins, "entry_points", lambda group: [])
    save("relu.onnx", "Relu")
    save("abs.onnx", "Abs")
    Path("buffers.mlir").write_text(BUFFERS)
    np.save("x.npy", np.array([[-1, 2, -3, 4]], np.float32))

    def run(line: str, stdin: bytes = b"") -> Result:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        code = ge_run.main(line.split())
        return Result(code, *capsys.readouterr())

    return run


def test_given_inputs(tool: Tool):
    assert tool("relu.onnx --input=x:x.npy --outputs=out.npz") == (0, "y  float32[1, 4]  0 2 0 4\n", "")
    np.testing.assert_array_equal(np.load("out.npz")["y"], [[0, 2, 0, 4]])


def test_inputs_by_name_from_one_file(tool: Tool):
    np.savez("in.npz", x=np.ones((1, 4), np.float32))
    assert tool("relu.onnx --inputs in.npz").out == "y  float32[1, 4]  1 1 1 1\n"


def test_inputs_are_made_up_the_same_for_one_seed(tool: Tool):
    first = tool("relu.onnx --input-shape=x:3,4")
    assert first.err == "ge-run: input x is made up: float32[3, 4]\n"
    assert first.out.startswith("y  float32[3, 4]  min 0  mean 0.")
    assert tool("relu.onnx --input-shape=x:3,4 --seed=0") == first
    assert tool("relu.onnx --input-shape=x:3,4 --seed=1").out != first.out


def test_made_up_inputs_fit_the_given_ones(tool: Tool):
    info = helper.make_tensor_value_info
    shapes = {"x": ["N", 4], "z": ["N", 1]}
    graph = helper.make_graph(
        [helper.make_node("Add", ["x", "z"], ["y"])],
        "main",
        [info(name, TensorProto.FLOAT, dims) for name, dims in shapes.items()],
        [info("y", TensorProto.FLOAT, ["N", 4])],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), "add.onnx")
    np.save("six.npy", np.zeros((6, 4), np.float32))
    assert tool("add.onnx --input=x:six.npy").err == "ge-run: input z is made up: float32[6, 1]\n"


def test_a_module_from_stdin(tool: Tool):
    assert tool("- --seed=1", BUFFERS.encode()).out.startswith("y  float32[2, 4]  ")
    assert tool("-", Path("relu.onnx").read_bytes()).out.startswith("y  float32[1, 4]  ")


def test_an_output_may_be_called_as_it_likes(tool: Tool):
    model = onnx.load("relu.onnx")
    model.graph.node[0].output[0] = model.graph.output[0].name = "file"
    onnx.save(model, "file.onnx")
    assert tool("file.onnx --input=x:x.npy --outputs=out.npz").code == 0
    assert np.load("out.npz").files == ["file"]


def test_bfloat16_goes_through_files(tool: Tool):
    save("wide.onnx", "Cast", TensorProto.FLOAT, to=TensorProto.BFLOAT16)
    save("narrow.onnx", "Cast", TensorProto.BFLOAT16, to=TensorProto.FLOAT)
    assert tool("wide.onnx --input=x:x.npy --outputs=half.npz").code == 0
    np.savez("in.npz", x=np.load("half.npz")["y"])
    assert tool("narrow.onnx --inputs=in.npz").out == "y  float32[1, 4]  -1 2 -3 4\n"


# ------------------------------------------------------------------ comparisons


@pytest.mark.parametrize(
    ("line", "who"),
    [
        ("relu.onnx --compare=ort", "ONNX Runtime on relu.onnx"),
        ("relu.onnx --compare=reference --with=relu.onnx --exact", "the reference on relu.onnx"),
        ("buffers.mlir --compare=ort --with=relu.onnx", "ONNX Runtime on relu.onnx"),
    ],
)
def test_equal_outputs_pass(line: str, who: str, tool: Tool):
    result = tool(line)
    assert result.code == 0
    assert result.out.splitlines()[1] == f"compared with {who}"
    assert result.out.endswith("PASS\nPASS\n")


def test_a_module_on_tensors_is_exported_for_onnx_runtime(tool: Tool):
    text = """func.func @main(%x: tensor<2x4xf32> {onnx.name = "x"}) -> (tensor<2x4xf32> {onnx.name = "y"}) {
      %y = ge.relu %x : tensor<2x4xf32> -> tensor<2x4xf32>
      return %y : tensor<2x4xf32>
    }"""
    result = tool("- --compare=ort", text.encode())
    assert (result.code, result.out.splitlines()[-1]) == (0, "PASS")


def test_other_outputs_fail(tool: Tool):
    result = tool("relu.onnx --compare=ort --with=abs.onnx --input=x:x.npy")
    assert (result.code, result.err) == (1, "")
    assert result.out.splitlines()[1:] == [
        "compared with ONNX Runtime on abs.onnx",
        "y  max |a-b| 3  max |a-b| / max |b| 0.75  allowed: 0.0001  FAIL",
        "FAIL",
    ]


def test_exact_allows_no_difference(tool: Tool):
    save("softmax.onnx", "Softmax")
    save("log.onnx", "LogSoftmax")
    model = onnx.load("log.onnx")
    model.graph.node[0].output[0] = "l"
    model.graph.node.append(helper.make_node("Exp", ["l"], ["y"]))
    onnx.save(model, "log.onnx")
    line = "softmax.onnx --compare=reference --with=log.onnx --input-shape=x:64,4"
    assert tool(line).code == 0
    result = tool(f"{line} --exact")
    assert result.code == 1
    assert "allowed: equal  FAIL" in result.out


@pytest.mark.parametrize(
    ("element", "code", "allowed"),
    [(TensorProto.UINT8, 0, "one step"), (TensorProto.INT32, 1, "equal"), (TensorProto.FLOAT16, 1, "0.02")],
)
def test_what_is_allowed_depends_on_the_type(element: int, code: int, allowed: str, tool: Tool):
    dtype = helper.tensor_dtype_to_np_dtype(element)
    for name, number in (("one.onnx", 1), ("two.onnx", 2)):
        value = numpy_helper.from_array(np.full((3,), number, dtype), "v")
        node = helper.make_node("Constant", [], ["y"], value=value)
        graph = helper.make_graph([node], "main", [], [helper.make_tensor_value_info("y", element, [3])])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), name)
    result = tool("one.onnx --compare=ort --with=two.onnx")
    assert result.code == code
    assert f"allowed: {allowed}  {'FAIL' if code else 'PASS'}" in result.out


def test_a_missing_output_fails(tool: Tool):
    model = onnx.load("relu.onnx")
    model.graph.node[0].output[0] = model.graph.output[0].name = "z"
    onnx.save(model, "z.onnx")
    result = tool("relu.onnx --compare=ort --with=z.onnx")
    assert result.code == 1
    assert result.out.splitlines()[2:] == [
        "z  is missing  FAIL",
        "y  is not an output of the other model  FAIL",
        "FAIL",
    ]


def test_without_onnx_runtime_there_is_a_hint(tool: Tool, monkeypatch: pytest.MonkeyPatch):
    real = builtins.__import__

    def without(name: str, *rest: Any) -> Any:
        if name == "onnxruntime":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    result = tool("relu.onnx --compare=ort --input=x:x.npy")
    assert (result.code, result.err) == (
        2,
        "ge-run: error: --compare=ort needs ONNX Runtime: pip install gecc[ort]\n",
    )


# ------------------------------------------------------------------ times


def test_times_say_whose_they_are(tool: Tool):
    lines = tool("buffers.mlir --time=2 --profile").out.splitlines()
    assert lines[0] == "seconds by op, reference interpreter"
    assert {line.split()[-1] for line in lines[1:3]} == {"ge.relu", "ge.launch"}
    assert lines[3].startswith("reference interpreter, 2 runs: least 0.")
    assert lines[4].startswith("y  float32[2, 4]")


# ------------------------------------------------------------------ errors


@pytest.mark.parametrize(
    ("line", "code", "message"),
    [
        ("", 2, "one model is needed; - is stdin"),
        ("relu.onnx abs.onnx", 2, "one model is needed, got relu.onnx abs.onnx"),
        ("relu.onnx --compair=ort", 2, "no flag '--compair'; did you mean 'compare'?"),
        ("relu.onnx --seed", 2, "--seed needs a value: of the made-up inputs: a whole number, by default 0"),
        ("relu.onnx --exact=1", 2, "--exact takes no value, got '1'"),
        ("relu.onnx --seed=1 --seed=2", 2, "--seed is given twice: 1 and 2"),
        ("relu.onnx --seed=-1", 2, "--seed must be a whole number from 0 on, got '-1'"),
        ("relu.onnx --time=0", 2, "--time must be a whole number from 1 on, got '0'"),
        ("relu.onnx --compare=tvm", 2, "--compare must be one of reference, ort; got 'tvm'"),
        (
            "relu.onnx --with=abs.onnx",
            2,
            "--with says how to compare: give --compare=reference or --compare=ort too",
        ),
        (
            "relu.onnx --compare=reference",
            2,
            "--compare=reference needs --with=MODEL: the reference runs the model itself anyway",
        ),
        (
            "buffers.mlir --compare=ort",
            2,
            "a module on buffers cannot be run by ONNX Runtime: name the model it was with --with=MODEL",
        ),
        ("relu.onnx --input=x.npy", 2, "--input=x.npy: write NAME:FILE.npy"),
        ("relu.onnx --input=xx:x.npy", 2, "the model has no input 'xx'; did you mean 'x'?"),
        ("relu.onnx --input=image:x.npy", 2, "the model has no input 'image'; its inputs are x"),
        ("relu.onnx --outputs=no/out.npz", 1, "{here}/no: no such file or folder"),
        ("buffers.mlir --input-shape=x:2,4", 2, "--input-shape: a module on buffers has no free dims"),
    ],
)
def test_failures_are_one_line(line: str, code: int, message: str, tool: Tool, tmp_path: Path):
    result = tool(line)
    assert result == (code, "", f"ge-run: error: {message.format(here=tmp_path)}\n")


@pytest.mark.parametrize("name", ["missing.onnx", "missing.mlir", "x.npy", "empty.mlir"])
def test_bad_models_are_one_line(name: str, tool: Tool):
    Path("empty.mlir").touch()
    result = tool(name)
    assert (result.code, result.out) == (1, "")
    assert result.err.count("\n") == 1


@pytest.mark.parametrize("name", ["text.npy", "empty.npy", "many.npz", "float64.npy", "wide.npy", "missing.npy"])
def test_inputs_that_do_not_fit_are_one_line(name: str, tool: Tool):
    Path("text.npy").write_text("not an array")
    Path("empty.npy").touch()
    np.savez("many.npz", x=np.zeros(3))
    np.save("float64.npy", np.zeros((1, 4)))
    np.save("wide.npy", np.zeros((1, 5), np.float32))
    result = tool(f"relu.onnx --input=x:{name}")
    assert (result.code, result.out) == (1, "")
    assert result.err.count("\n") == 1


def test_help_names_every_flag(tool: Tool):
    text = tool("--help").out
    assert [name for name in (*ge_run.VALUES, *ge_run.SWITCHES) if f"--{name}" not in text] == []
    assert tool("--version").out.startswith("ge-run 0.")
