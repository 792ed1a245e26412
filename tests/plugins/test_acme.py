"""A plugin in a package of its own: its op parses, is found, tiled and fused for L2 like ours, by the real tool."""

import os
import subprocess
import sys
from pathlib import Path

from onnx import TensorProto, helper, load, save

# Intermediates of 51 MB each at a batch of 32, so that a group pays at 32 MB of L2.
ACTIVATIONS, WEIGHTS = "tensor<32x128x56x56xf32>", "tensor<128x128x1x1xf32>"
SPELLED_OUT = f"""
func.func @main(%x: {ACTIVATIONS}, %v: {WEIGHTS}, %w: {WEIGHTS}) -> {ACTIVATIONS} {{
  %a = ge.conv %x, %v : {ACTIVATIONS}, {WEIGHTS} -> {ACTIVATIONS}
  %s = ge.sigmoid %a : {ACTIVATIONS} -> {ACTIVATIONS}
  %y = ge.mul %a, %s : {ACTIVATIONS}, {ACTIVATIONS} -> {ACTIVATIONS} onnx "act/Mul" ["y"]
  %b = ge.conv %y, %w : {ACTIVATIONS}, {WEIGHTS} -> {ACTIVATIONS}
  func.return %b : {ACTIVATIONS}
}}
"""


def ge_opt(text: str, *arguments: str) -> str:
    tool = Path(sys.executable).parent / "ge-opt"
    environment = os.environ | {"PYTHONWARNINGS": "error"}
    result = subprocess.run([tool, *arguments], input=text, env=environment, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_the_pass_finds_the_op_and_keeps_the_node_s_name():
    text = ge_opt(SPELLED_OUT, "--acme-swish")

    [swish] = [line for line in text.splitlines() if "acme.swish" in line]
    assert swish.endswith('onnx "act/Mul" ["y"]')
    assert "ge.sigmoid" not in text
    assert "ge.mul" not in text


def test_a_product_with_another_sigmoid_is_left_alone():
    text = SPELLED_OUT.replace("ge.sigmoid %a", "ge.sigmoid %x")

    assert "acme.swish" not in ge_opt(text, "--acme-swish")


def test_the_op_is_tiled_in_an_l2_group():
    text = ge_opt(SPELLED_OUT, "--acme-swish", "--l2-fusion=l2-size=32")

    group = text[text.index("#ge.l2_tiling") :]
    group = group[: group.index("func.return")]
    assert "acme.swish" in group


def test_the_pass_is_listed():
    listed = subprocess.run([Path(sys.executable).parent / "ge-opt", "--list-passes"], capture_output=True, text=True)
    assert "acme-swish" in listed.stdout


def test_the_converter_runs_the_pass_under_ge_s_kind_of_name(tmp_path: Path):
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", 4]) for name in "xy")
    nodes = [helper.make_node("Sigmoid", ["x"], ["s"]), helper.make_node("Mul", ["s", "x"], ["y"], name="act/Mul")]
    save(helper.make_model(helper.make_graph(nodes, "g", [x], [y]), ir_version=10), tmp_path / "m.onnx")
    flags = [f"--model={tmp_path / 'm.onnx'}", f"--output={tmp_path / 'out.onnx'}", "--opt_passes=AcmeSwishPass:1"]
    subprocess.run([Path(sys.executable).parent / "ge", *flags], check=True, capture_output=True)

    model = load(tmp_path / "out.onnx")
    [node] = model.graph.node
    assert (node.domain, node.op_type, node.name) == ("acme", "Swish", "act/Mul")
    assert {opset.domain for opset in model.opset_import} == {"", "acme"}


def test_the_reference_computes_the_op_by_its_scalar_function():
    text = """
func.func @main(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %s = ge.sigmoid %x : tensor<4x8xf32> -> tensor<4x8xf32>
  %y = ge.mul %x, %s : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<4x8xf32>
  func.return %y : tensor<4x8xf32>
}
"""
    assert "acme.swish" in ge_opt(text, "--acme-swish", "--verify-numerics")
