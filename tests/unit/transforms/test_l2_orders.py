"""L2 fusion among other passes: twice, before and after them, as text, and back to ONNX."""

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from gecc.dialects.ge.text import parse_module
from gecc.driver.registry import default_registry
from gecc.reference import make_inputs, run
from gecc.tools import ge_opt

IMAGE = "tensor<32x16x32x32xf32>"
WEIGHT = "tensor<16x16x3x3xf32>"
BLOCK = f"""
func.func @main(%x: {IMAGE} {{onnx.name = "x"}}, %w: {WEIGHT} {{onnx.name = "w"}}) -> ({IMAGE} {{onnx.name = "y"}}) {{
  %1 = ge.conv %x, %w pads [1, 1, 1, 1] : {IMAGE}, {WEIGHT} -> {IMAGE} onnx "first"
  %2 = ge.relu %1 : {IMAGE} -> {IMAGE} onnx "second"
  %3 = ge.conv %2, %w pads [1, 1, 1, 1] : {IMAGE}, {WEIGHT} -> {IMAGE} onnx "third"
  func.return %3 : {IMAGE}
}}
"""
L2 = "--l2-fusion=l2-size=1 target=cpu"

Tool = Callable[..., str]


@pytest.fixture
def tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Tool:
    """ge-opt in a folder with the block; what it prints."""
    monkeypatch.chdir(tmp_path)
    Path("block.mlir").write_text(BLOCK)

    def opt(*words: str) -> str:
        code = ge_opt.main([*words, "--verify-each"])
        out, err = capsys.readouterr()
        assert code == 0, err
        return out

    Path("fused.mlir").write_text(opt(L2, "block.mlir"))
    assert Path("fused.mlir").read_text().count('"L2"') == 1
    return opt


def test_a_group_is_read_as_it_was_written(tool: Tool):
    assert tool("fused.mlir") == Path("fused.mlir").read_text()


def test_a_group_is_read_in_the_generic_form(tool: Tool):
    generic = tool("fused.mlir", "--print-op-generic")
    assert '"ge.fusion"' in generic
    Path("generic.mlir").write_text(generic)
    assert tool("generic.mlir") == Path("fused.mlir").read_text()


def test_twice_is_once(tool: Tool):
    assert tool(L2, "fused.mlir") == Path("fused.mlir").read_text()


def test_what_was_taken_apart_is_formed_again(tool: Tool):
    assert tool("--inline-fusion", L2, "fused.mlir") == Path("fused.mlir").read_text()


@pytest.mark.parametrize("level", ["-O1", "-O3"])
def test_other_passes_leave_a_group(level: str, tool: Tool):
    after = tool(level, "fused.mlir", "--verify-numerics")
    assert '"L2"' in after
    assert "#ge.l2_tiling" in after


def test_op_fusion_stays_out_of_a_group(tool: Tool):
    assert "ConvRelu" not in tool("--op-fusion", "fused.mlir")


def test_on_buffers_there_is_nothing_to_group(tool: Tool, capsys: pytest.CaptureFixture[str]):
    buffers = tool("--ge-bufferize", "--memory-reuse", "block.mlir")
    assert tool("--ge-bufferize", "--memory-reuse", L2, "block.mlir") == buffers
    assert ge_opt.main(["--ge-bufferize", L2, "--remarks", "block.mlir"]) == 0
    assert "has no groups: it is on buffers; l2-fusion runs before ge-bufferize" in capsys.readouterr().err


def test_code_of_several_blocks_is_left_alone(tool: Tool, capsys: pytest.CaptureFixture[str]):
    head = "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {"
    Path("blocks.mlir").write_text(f"{head}\n  cf.br ^bb1\n^bb1:\n  func.return %x : tensor<4xf32>\n}}")
    assert tool(L2, "blocks.mlir") == tool("blocks.mlir")
    ge_opt.main([L2, "--remarks", "blocks.mlir"])
    assert "has no groups: it has several blocks" in capsys.readouterr().err


def test_where_none_pays_a_remark_says_so(tool: Tool, capsys: pytest.CaptureFixture[str]):
    ge_opt.main(["--l2-fusion=l2-size=192 target=cpu", "--remarks", "block.mlir"])
    assert "has no groups: none is modelled to pay" in capsys.readouterr().err


# Behind the block: a search for elements, whose size depends on data; a branch that reads the first value.
TAILS = {
    "data": f"""
  %4 = ge.non_zero %3 : {IMAGE} -> tensor<4x?xi64> onnx "fourth"
  func.return %3, %4 : {IMAGE}, tensor<4x?xi64>""",
    "branch": f"""
  %c = ge.constant dense<true> : tensor<i1>
  %4 = ge.if %c : tensor<i1> -> ({IMAGE}) {{
    %5 = ge.add %1, %3 : {IMAGE}, {IMAGE} -> {IMAGE}
    ge.yield %5 : {IMAGE}
  }} else {{
    ge.yield %3 : {IMAGE}
  }}
  func.return %3, %4 : {IMAGE}, {IMAGE}""",
}


@pytest.mark.parametrize("tail", TAILS)
def test_what_comes_behind_is_in_no_group_and_parts_none(tail: str, tool: Tool):
    second = "tensor<4x?xi64>" if tail == "data" else IMAGE
    text = BLOCK.replace(f"\n  func.return %3 : {IMAGE}", TAILS[tail])
    Path("more.mlir").write_text(text.replace('{onnx.name = "y"})', f'{{onnx.name = "y"}}, {second})'))
    grouped = tool(L2, "more.mlir")
    assert grouped.count('"L2"') == 1
    assert grouped.index("L2") < grouped.index("third") < grouped.index("ge.yield")
    assert grouped.index("ge.yield") < grouped.index({"data": "ge.non_zero", "branch": "ge.if"}[tail])
    tool(L2, "--ge-bufferize", "--memory-reuse", "--verify-numerics", "more.mlir")


@pytest.mark.parametrize("then", [(), ("--op-fusion",), ("-O3",), ("--infer-shape", "--compose-transposes")])
def test_in_tiles_it_computes_the_same(then: tuple[str, ...], tool: Tool):
    text = tool(*then, "--ge-bufferize", "--memory-reuse", "--verify-numerics", "fused.mlir")
    assert "scf.for" in text


@pytest.mark.parametrize(
    "cut", ["axes = [9], tile = [4]", "axes = [0, 9], tile = [1, 4]", "axes = [[0], [0]], tile = [[4], [4]]"]
)
def test_a_cut_that_is_not_there_runs_layer_by_layer(cut: str, tool: Tool):
    text = re.sub(r"axes = \S+, tile = \S+(?=, tiles)", cut, Path("fused.mlir").read_text())
    Path("edited.mlir").write_text(text)
    assert cut in text
    assert "scf.for" not in tool("--ge-bufferize", "--memory-reuse", "--verify-numerics", "edited.mlir")


def test_a_group_goes_back_to_onnx_as_its_ops(tool: Tool):
    tool("fused.mlir", "-o", "fused.onnx")
    model = onnx.load("fused.onnx")
    assert [node.op_type for node in model.graph.node] == ["Conv", "Relu", "Conv"]
    context: Context = default_registry(pytest.fail).context()
    before: ModuleOp = parse_module(context, BLOCK, "block.mlir")
    inputs = make_inputs(before)
    Path("again.mlir").write_text(tool("fused.onnx"))
    after = parse_module(context, Path("again.mlir").read_text(), "again.mlir")
    np.testing.assert_array_equal(run(before, inputs)["y"], run(after, inputs)["y"])
