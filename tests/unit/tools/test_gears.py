"""Models of several shapes, from the command lines that ask for them to the run that picks one."""

import csv
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from gecc.driver import plugins
from gecc.tools import ge, ge_opt, ge_reduce, ge_report, ge_run


class Result(NamedTuple):
    code: int
    out: str
    err: str


Tool = Callable[..., Result]

SEVERAL = "--input_shape=x:1|2|4,3,8,8"
BATCHES = "--input_shape=x:-1,3,8,8 --dynamic_batch_size=1,2,4"


@pytest.fixture
def tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Tool:
    """Runs a tool in a folder with `m.onnx`: a convolution, its normalisation, and a Reshape that reads the batch."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(plugins, "entry_points", lambda group: [])
    random = np.random.default_rng(0)
    arrays = {"w": random.random((8, 3, 3, 3)), **{name: random.random(8) + 0.5 for name in "sbmv"}}
    weights = [numpy_helper.from_array(a.astype(np.float32), name) for name, a in arrays.items()]
    weights += [numpy_helper.from_array(np.array([n]), name) for name, n in {"first": 0, "rest": -1}.items()]
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1]),
        helper.make_node("BatchNormalization", ["c", "s", "b", "m", "v"], ["n"]),
        helper.make_node("Relu", ["n"], ["r"]),
        helper.make_node("Softmax", ["r"], ["p"]),
        helper.make_node("Shape", ["x"], ["d"]),
        helper.make_node("Gather", ["d", "first"], ["batch"]),
        helper.make_node("Concat", ["batch", "rest"], ["to"], axis=0),
        helper.make_node("Reshape", ["p", "to"], ["y"]),
    ]
    info = helper.make_tensor_value_info
    ends = [info("x", TensorProto.FLOAT, ["N", 3, 8, 8])], [info("y", TensorProto.FLOAT, ["N", 512])]
    graph = helper.make_graph(nodes, "main", *ends, weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), "m.onnx")

    def run(which: ModuleType, line: str) -> Result:
        monkeypatch.setattr(ge.os, "environ", {})
        monkeypatch.setattr(sys, "argv", [])
        code = which.main(line.split())
        return Result(code, *capsys.readouterr())

    return run


@pytest.mark.parametrize("shapes", [SEVERAL, BATCHES])
def test_ge_plans_each_shape_in_one_arena_over_the_same_weights(shapes: str, tool: Tool):
    result = tool(ge, f"--model=m.onnx --output=n.mlir {shapes}")
    assert result.code == 0
    text = Path("n.mlir").read_text()
    [size] = set(re.findall(r"%arena: memref<(\d+)xi8>", text))
    assert f"  arena      {size} bytes, shared by 3 gears\n" in result.err
    assert re.findall(r"func.func (@\w+)\(%x: memref<(\d)x", text) == [
        ("@main_0", "1"),
        ("@main_1", "2"),
        ("@main_2", "4"),
    ]
    assert "ge.shape" not in text, "sizes are known, so nothing asks for them"
    assert len(re.findall(r"#ge.weight<@folded, \d+>", text)) == 3
    assert len(set(re.findall(r"#ge.weight<@folded, \d+>", text))) == 1, "what was folded is there once for all"


@pytest.mark.parametrize("shapes", [SEVERAL, BATCHES])
def test_l2_groups_are_planned_at_each_shape(shapes: str, tool: Tool):
    done = tool(ge, f"--model=m.onnx --framework=5 --output=out.mlir --enable_l2_fusion=1 {shapes}")
    assert done.code == 0, done.err
    assert Path("out.mlir").read_text().count("ge.l2_traffic") == 3
    assert "L2FusionPass" in done.err


def test_what_gears_compute_alike_is_one_weight(tool: Tool):
    assert tool(ge_opt, "--input-shape=x:1|2|4,3,8,8 -O3 m.onnx -o g.mlir").code == 0
    places = re.findall(r"#ge.weight<@folded, (\d+)>", Path("g.mlir").read_text())
    assert (len(places), len(set(places))) == (3, 1), "the convolution's weights with the normalisation in them"


@pytest.mark.parametrize("shapes", [SEVERAL, BATCHES])
def test_an_onnx_model_keeps_its_free_dim_and_the_arena_is_told(shapes: str, tool: Tool):
    result = tool(ge, f"--model=m.onnx --output=n {shapes}")
    assert result.code == 0
    assert "bytes, shared by 3 gears" in result.err
    assert onnx.load("n.onnx").graph.input[0].type.tensor_type.shape.dim[0].dim_param == "N"


def test_the_arena_is_no_larger_than_the_largest_shape_has_by_itself(tool: Tool):
    def arena(line: str) -> str:
        found = re.search(r"arena +(\d+) bytes", tool(ge, f"--model=m.onnx --output=n {line}").err)
        return found[1] if found else ""

    assert arena(SEVERAL) == arena("--input_shape=x:4,3,8,8")


def test_matches_of_rules_are_those_in_the_model_as_it_is_written(tool: Tool):
    def matched(line: str) -> str:
        assert tool(ge, f"--model=m.onnx --output=n --export_compile_stat=1 {line}").code == 0
        return Path("fusion_result.json").read_text()

    assert matched(SEVERAL) == matched("--input_shape=x:-1,3,8,8")


def test_one_batch_size_is_a_model_at_that_shape(tool: Tool):
    assert tool(ge, "--model=m.onnx --output=n.mlir --input_shape=x:-1,3,8,8 --dynamic_batch_size=2").code == 0
    assert "func.func @main(%x: memref<2x3x8x8xf32>" in Path("n.mlir").read_text()


@pytest.mark.parametrize("batch", [1, 2, 4])
def test_ge_run_takes_the_gear_that_the_input_fits(batch: int, tool: Tool):
    tool(ge, f"--model=m.onnx --output=n.mlir {SEVERAL}")
    np.save("x.npy", np.ones((batch, 3, 8, 8), np.float32))
    for given in ("--input=x:x.npy", f"--input-shape=x:{batch},3,8,8"):
        result = tool(ge_run, f"n.mlir {given} --compare=reference --with=m.onnx")
        assert (result.code, result.out.splitlines()[0].split()[:3]) == (0, ["y", f"float32[{batch},", "512]"])


def test_a_report_is_on_the_gear_that_the_input_shape_names(tool: Tool):
    tool(ge, f"--model=m.onnx --output=n.mlir {SEVERAL}")
    result = tool(ge_report, "--memory n.mlir --input-shape=x:2,3,8,8 --strategy=given,balanced -o a.csv")
    assert result.code == 0
    with Path("a.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    # The arena in the text is the largest gear's; the plan made anew is this one's, half of it.
    assert {row["strategy"]: (int(row["size"]), int(row["arena"])) for row in rows} == {
        "given": (2 * 8 * 8 * 8 * 4, 4 * 8 * 8 * 8 * 4),
        "balanced": (2 * 8 * 8 * 8 * 4, 2 * 8 * 8 * 8 * 4),
    }


def test_a_model_in_gears_is_made_smaller_as_the_gear_that_fails(tool: Tool):
    assert tool(ge_opt, "--input-shape=x:1|2,3,8,8 -O0 m.onnx -o g.mlir").code == 0
    Path("check.py").write_text("import sys; sys.exit('2x8x8x8xf32' in open(sys.argv[1]).read())")
    result = tool(ge_reduce, f"g.mlir -o r.mlir -- {sys.executable} check.py")
    assert result.code == 0
    text = Path("r.mlir").read_text()
    assert text.count("func.func") == 1
    assert "2x8x8x8xf32" in text
    assert "ge.gear_of" not in text


def test_what_fails_only_as_several_functions_is_not_made_smaller(tool: Tool):
    assert tool(ge_opt, "--input-shape=x:1|2,3,8,8 -O0 m.onnx -o g.mlir").code == 0
    Path("check.py").write_text("import sys; sys.exit(open(sys.argv[1]).read().count('func.func') == 2)")
    result = tool(ge_reduce, f"g.mlir -o r.mlir -- {sys.executable} check.py")
    message = "none of the 2 functions fails alone; what is made smaller is one function"
    assert (result.code, result.err.splitlines()[-1]) == (2, f"ge-reduce: error: {message}")


def test_verify_numerics_looks_at_every_gear(tool: Tool, monkeypatch: pytest.MonkeyPatch):
    from gecc import reference

    seen: list[int] = []
    run = reference.run

    def counted(module: object, inputs: dict[str, np.ndarray], *rest: object):
        seen.append(len(inputs["x"]))
        return run(module, inputs, *rest)  # pyright: ignore[reportArgumentType]

    monkeypatch.setattr(reference, "run", counted)
    assert tool(ge_opt, "--input-shape=x:1|2,3,8,8 -O1 --verify-numerics -o n.mlir m.onnx").code == 0
    assert seen == [1, 1, 2, 2]


@pytest.mark.parametrize(
    ("which", "line", "code", "message"),
    [
        (
            ge_run,
            "n.mlir --input-shape=x:3,3,8,8",
            1,
            "no gear of the model takes x:3,3,8,8; its gears are x:1,3,8,8; x:2,3,8,8; x:4,3,8,8",
        ),
        (ge_run, "n.mlir --input-shape=z:3", 2, "the model has no input 'z'; its inputs are x"),
        (ge_run, "m.onnx --input-shape=x:1|2,3,8,8", 2, "input shape of 'x': 1|2 are several sizes; give one"),
        (
            ge_report,
            "--memory n.mlir -o a.csv",
            1,
            "n.mlir: is a model in 3 gears; a report is on one: "
            "--input-shape=x:1,3,8,8 or --input-shape=x:2,3,8,8 or --input-shape=x:4,3,8,8",
        ),
        (
            ge_report,
            "--memory n.mlir --input-shape=x:3,3,8,8 -o a.csv",
            1,
            "no gear of the model takes x:3,3,8,8; its gears are x:1,3,8,8; x:2,3,8,8; x:4,3,8,8",
        ),
        (
            ge_report,
            "--l2 n.mlir --input-shape=x:2,3,8,8 -o a.csv",
            1,
            "@main_1 is on buffers; L2 is judged from what it was before ge-bufferize",
        ),
        (
            ge_reduce,
            "n.mlir -- false",
            1,
            "n.mlir: is on buffers; give what it was made from, with ge-bufferize first in --passes",
        ),
        (
            ge,
            "--model=m.onnx --output=o --input_shape=x:1|2,3,8,8 --tuning=t.json",
            2,
            "--tuning is about one shape, and 2 are given",
        ),
        (
            ge,
            "--model=m.onnx --output=o --dynamic_batch_size=1,2",
            2,
            "--dynamic_batch_size=1,2 fills the -1 in --input_shape, and there is none",
        ),
        (
            ge,
            "--model=m.onnx --output=o --input_shape=x:1|2,4,8,8",
            2,
            "input 'x': dim 1 is 3 in the model, it cannot be 4",
        ),
    ],
)
def test_failures_are_one_line(which: ModuleType, line: str, code: int, message: str, tool: Tool):
    tool(ge, f"--model=m.onnx --output=n.mlir {SEVERAL}")
    Path("t.json").write_text("{}")
    assert tool(which, line) == (code, "", f"{which.TOOL}: error: {message}\n")
