"""The reference on whole modules: what only shows where ops stand in bodies."""

import numpy as np

from gecc.driver.registry import default_registry
from gecc.reference import make_inputs, run

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


def test_a_mask_is_zeros_and_ones():
    made = make_inputs(parse(NAMED))
    assert set(made["attention_mask"]) == {0, 1}
    assert set(made["ids"]) == set(range(8))
