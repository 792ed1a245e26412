"""ge-reduce: what is left is small, still fails in the same way, and is a test."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from xdsl.dialects.builtin import ModuleOp

from gecc.dialects.ge.constants import ConstantOp
from gecc.dialects.ge.errors import UsageError
from gecc.driver import load_module
from gecc.tools import ge_reduce
from gecc.tools.reducing import Reducer, size


class Result(NamedTuple):
    code: int
    out: str
    err: str


Tool = Callable[..., Result]


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """Ten layers of MatMul, Add, Relu on 4 x 64, in the middle a Sigmoid, and two outputs."""
    random = np.random.default_rng(0)
    nodes: list[onnx.NodeProto] = []
    weights: list[onnx.TensorProto] = []
    last = "x"
    for k in range(10):
        weights.append(numpy_helper.from_array(random.standard_normal((64, 64), np.float32), f"w{k}"))
        weights.append(numpy_helper.from_array(random.standard_normal(64, np.float32), f"b{k}"))
        nodes.append(helper.make_node("MatMul", [last, f"w{k}"], [f"m{k}"], name=f"layer{k}/MatMul"))
        nodes.append(helper.make_node("Add", [f"m{k}", f"b{k}"], [f"a{k}"], name=f"layer{k}/Add"))
        nodes.append(helper.make_node("Sigmoid" if k == 5 else "Relu", [f"a{k}"], [f"r{k}"], name=f"layer{k}/Act"))
        last = f"r{k}"
    info = helper.make_tensor_value_info
    outputs = [info(name, TensorProto.FLOAT, [4, 64]) for name in (last, "r3")]
    graph = helper.make_graph(nodes, "g", [info("x", TensorProto.FLOAT, [4, 64])], outputs, weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), tmp_path / "m.onnx")
    return tmp_path / "m.onnx"


@pytest.fixture
def tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Tool:
    monkeypatch.chdir(tmp_path)

    def run(*words: str | Path) -> Result:
        code = ge_reduce.main([str(word) for word in words])
        out, err = capsys.readouterr()
        return Result(code, out, err)

    return run


def names(module: ModuleOp) -> list[str]:
    return [op.name for op in module.walk() if op.name.startswith("ge.")]


def test_only_what_matters_is_left(model: Path):
    module = load_module(model)
    smallest = Reducer(module, lambda candidate: "ge.sigmoid" in names(candidate)).run()
    assert names(smallest) == ["ge.sigmoid"]
    assert size(smallest)[3] <= 4  # 1 x 1 in and out
    assert "onnx" not in str(smallest).replace("onnx.name", "").replace("onnx.opset", "").replace("ai.onnx", "")


def test_two_nodes_that_matter_together_both_stay(model: Path):
    def fails(candidate: ModuleOp) -> bool:
        found = names(candidate)
        return "ge.sigmoid" in found and "ge.relu" in found

    assert sorted(names(Reducer(load_module(model), fails).run())) == ["ge.relu", "ge.sigmoid"]


def test_a_weight_that_matters_stays_as_one_element_repeated(model: Path):
    def fails(candidate: ModuleOp) -> bool:
        products = [op for op in candidate.walk() if op.name == "ge.matmul"]
        return any(isinstance(op.operands[1].owner, ConstantOp) for op in products)

    smallest = Reducer(load_module(model), fails).run()
    assert sorted(names(smallest)) == ["ge.constant", "ge.matmul"]
    assert "#ge.splat" in str(smallest)


def test_a_size_that_matters_stays(model: Path):
    def fails(candidate: ModuleOp) -> bool:
        return any(op.name == "ge.relu" and op.results[0].type.get_shape()[-1] >= 16 for op in candidate.walk())

    smallest = Reducer(load_module(model), fails).run()
    [relu] = [op for op in smallest.walk() if op.name == "ge.relu"]
    assert relu.results[0].type.get_shape() == (1, 16)


def test_the_module_that_was_given_is_as_it_was(model: Path):
    module = load_module(model)
    before = str(module)
    Reducer(module, lambda candidate: "ge.sigmoid" in names(candidate)).run()
    assert str(module) == before


def test_each_step_is_told(model: Path):
    told: list[str] = []
    Reducer(load_module(model), lambda c: "ge.sigmoid" in names(c), lambda step, module: told.append(step)).run()
    assert list(dict.fromkeys(told)) == ["outputs", "end", "start", "bypass", "constants", "shapes", "names"]


def test_a_pass_that_crashes(tool: Tool, model: Path):
    result = tool(model, "--passes=constant-folding,test-crash")
    assert result.code == 0, result.err
    text = Path("m.reduced.mlir").read_text()
    assert text.startswith(
        "// RUN: not ge-opt --constant-folding --test-crash --verify-each %s 2>&1 | filecheck %s\n"
        "// CHECK: internal error in 'test-crash'\n"
    )
    assert "30 -> 0 nodes" in result.err
    load_module("m.reduced.mlir")


SCRIPT = "import sys; text = open(sys.argv[1]).read(); sys.exit('a sigmoid' if 'sigmoid' in text else 0)"


def test_a_command_that_fails(tool: Tool, model: Path):
    result = tool(model, "-o", "small.mlir", "--", sys.executable, "-c", SCRIPT)
    assert result.code == 0, result.err
    run, check, *_ = Path("small.mlir").read_text().splitlines()
    assert run.startswith("// RUN: not ")
    assert run.endswith(" %s 2>&1 | filecheck %s")
    assert check == "// CHECK: a sigmoid"
    assert names(load_module("small.mlir")) == ["ge.sigmoid"]


def test_the_command_says_where_the_file_goes_and_what_kind_it_is(tool: Tool, model: Path):
    script = "import sys, onnx; sys.exit(any(n.op_type == 'Sigmoid' for n in onnx.load(sys.argv[1]).graph.node))"
    result = tool(model, "--onnx", "-o", "small.mlir", "--", sys.executable, "-c", script, "{}", "more")
    assert result.code == 0, result.err
    assert " %s more 2>&1 " in Path("small.mlir").read_text().splitlines()[0]
    assert names(load_module("small.mlir")) == ["ge.sigmoid"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--passes=prune"], "nothing fails"),
        (["--passes=test-crash", "--error=boo!"], "--error=boo!: the passes fail otherwise"),
        (["--passes=prune", "--", "true"], "either --passes=... or -- COMMAND"),
        ([], "either --passes=... or -- COMMAND"),
        (["--", "true"], "does not fail on this model"),
        (["--error=no such words", "--", "false"], "the command does not say that"),
        (["--", "no-such-command"], "no-such-command: cannot be run"),
        (["--timeout=soon", "--", "false"], "--timeout must be a number of seconds"),
        (["--pases=prune"], "did you mean 'passes'?"),
        (["--passes"], "--passes needs a value"),
        (["other.onnx", "--passes=prune"], "one model is needed"),
    ],
)
def test_usage(tool: Tool, model: Path, words: list[str], said: str):
    result = tool(model, *words)
    assert (result.code, said in result.err) == (2, True), result.err


def test_a_module_without_a_function_is_one_line(tool: Tool):
    Path("m.mlir").write_text("builtin.module {}")
    assert tool("m.mlir", "--", "false") == (1, "", "ge-reduce: error: m.mlir: has no function\n")


def test_help_names_every_flag(tool: Tool):
    result = tool("--help")
    assert result.code == 0
    assert all(f"--{name}" in result.out for name in (*ge_reduce.VALUES, *ge_reduce.SWITCHES))


def test_a_flag_s_value_may_be_the_next_word():
    assert ge_reduce.parse(["m.onnx", "-o", "x", "--", "a", "--b"]) == ge_reduce.Line(
        {"output": "x"}, ["m.onnx"], ["a", "--b"]
    )
    with pytest.raises(UsageError, match="takes no value"):
        ge_reduce.parse(["--onnx=1"])
