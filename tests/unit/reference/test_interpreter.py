"""The reference on whole modules: what only shows where ops stand in bodies."""

import numpy as np
import pytest
from xdsl.dialects.builtin import f32
from xdsl.dialects.test import TestOp as Source

from gecc.dialects.ge.convolution import ConvOp
from gecc.dialects.ge.types import tensor_type
from gecc.driver.registry import default_registry
from gecc.reference import make_inputs, run
from gecc.reference.evaluator import evaluate
from gecc.transforms.memory.ge_bufferize import GeBufferize

FUSED = """
func.func @main(%x: tensor<2x3xf32> {onnx.name = "x"}) -> (tensor<2x3xf32> {onnx.name = "y"}) {
  %z = ge.neg %x : tensor<2x3xf32> -> tensor<2x3xf32> onnx "n" ["z"]
  %y = ge.fusion "AddExp" (%a = %z : tensor<2x3xf32>, %b = %z : tensor<2x3xf32>) -> (tensor<2x3xf32>) {
    %c = ge.add %a, %b : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<2x3xf32>
    %d = ge.exp %c : tensor<2x3xf32> -> tensor<2x3xf32>
    ge.yield %d : tensor<2x3xf32>
  }
  return %y : tensor<2x3xf32>
}
"""

LOOP = """
func.func @main(%n: tensor<i64> {onnx.name = "n"}, %x: tensor<2x3xf32> {onnx.name = "x"})
    -> (tensor<2x3xf32> {onnx.name = "y"}, tensor<?x2x3xf32> {onnx.name = "all"}) {
  %y, %all = ge.loop %n, none, %x : tensor<i64>, tensor<2x3xf32> -> tensor<2x3xf32>, tensor<?x2x3xf32> {
  ^bb0(%i: tensor<i64>, %go: tensor<i1>, %v: tensor<2x3xf32>):
    %w = ge.add %v, %x : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<2x3xf32>
    ge.yield %go, %w, %w : tensor<i1>, tensor<2x3xf32>, tensor<2x3xf32>
  }
  return %y, %all : tensor<2x3xf32>, tensor<?x2x3xf32>
}
"""

NAMED = """
func.func @main(%x: tensor<64xi64> {onnx.name = "attention_mask"}, %y: tensor<64xi64> {onnx.name = "ids"}) {
  return
}
"""


def parse(text: str):
    from xdsl.parser import Parser

    return Parser(default_registry(lambda text: None).context(), text).parse_module()


def test_ops_in_a_fusion_read_its_arguments():
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    np.testing.assert_allclose(run(parse(FUSED), {"x": x})["y"], np.exp(-2 * x), rtol=1e-6)


@pytest.mark.parametrize("trips", [0, 1, 3])
def test_a_loop_stacks_rows_of_any_rank(trips: int):
    x = np.ones((2, 3), np.float32)
    found = run(parse(LOOP), {"n": np.array(trips), "x": x})
    assert np.array_equal(found["y"], x * (trips + 1))
    assert np.array_equal(
        found["all"], np.stack([x * k for k in range(2, trips + 2)]) if trips else np.empty((0, 2, 3))
    )


def test_a_mask_is_zeros_and_ones():
    made = make_inputs(parse(NAMED))
    assert set(made["attention_mask"]) == {0, 1}
    assert set(made["ids"]) == set(range(8))


TURNED = f"""
func.func @main(%x: tensor<1x8xf32> {{onnx.name = "x"}}) -> (tensor<1x8xf32> {{onnx.name = "y"}}) {{
  %w = ge.constant dense<{np.linspace(-1, 1, 64).reshape(8, 8).tolist()}> : tensor<8x8xf32>
  %t = ge.transpose %w perm [1, 0] : tensor<8x8xf32> -> tensor<8x8xf32>
  %y = ge.matmul %x, %t : tensor<1x8xf32>, tensor<8x8xf32> -> tensor<1x8xf32>
  return %y : tensor<1x8xf32>
}}
"""


def test_strides_of_a_buffer_do_not_change_how_it_is_summed():
    """On buffers the transposed weight is a view, which numpy would multiply by another routine."""
    module = parse(TURNED)
    inputs = make_inputs(module)
    before = run(module, inputs)["y"]
    GeBufferize().apply(default_registry(lambda text: None).context(), module)
    assert "memref.reinterpret_cast" in {op.name for op in module.walk()}
    assert run(module, inputs)["y"].tobytes() == before.tobytes()


def test_a_constant_that_is_one_number_all_over_is_summed_as_any_other():
    x = np.random.default_rng(0).standard_normal((6, 6, 4, 2)).astype(np.float32)
    splat = np.broadcast_to(np.float32(2), (2, 3, 2, 2))
    values = [Source(result_types=[tensor_type(f32, a.shape)]).results[0] for a in (x, splat)]
    op = ConvOp(*values, group=2)
    assert evaluate(op, [x, splat])[0].tobytes() == evaluate(op, [x, np.array(splat, order="C")])[0].tobytes()
