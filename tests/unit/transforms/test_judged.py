"""What a function's launches take by the judge: who is started, and who pays."""

import pytest

from gecc.dialects.ge.text import parse_module
from gecc.driver.registry import default_registry
from gecc.targets import get
from gecc.transforms.l2.judged import Judged, judged
from gecc.transforms.rewriting import functions

CONTEXT = default_registry(lambda text: None).context()
BRIEF = get("brief-910b")

JOINED = """
func.func @main(%x: tensor<2x4xf32>, %z: tensor<2x4xf32>) -> tensor<2x8xf32> {
  %a = ge.exp %x : tensor<2x4xf32> -> tensor<2x4xf32>
  %b = ge.exp %z : tensor<2x4xf32> -> tensor<2x4xf32>
  %c = ge.concat %a, %b axis 1 : tensor<2x4xf32>, tensor<2x4xf32> -> tensor<2x8xf32>
  %y = ge.softmax %c axis 0 : tensor<2x8xf32> -> tensor<2x8xf32>
  func.return %y : tensor<2x8xf32>
}"""

ENLARGED = """
func.func @main(%x: tensor<1x4x8x8xf32>) -> tensor<1x4x32x32xf32> {
  %s = ge.constant dense<[1.0, 1.0, 2.0, 2.0]> : tensor<4xf32>
  %a = ge.resize %x, none, %s coordinate_transformation_mode "asymmetric" nearest_mode "floor" : tensor<1x4x8x8xf32>, tensor<4xf32> -> tensor<1x4x16x16xf32>
  %y = ge.resize %a, none, %s coordinate_transformation_mode "asymmetric" nearest_mode "floor" : tensor<1x4x16x16xf32>, tensor<4xf32> -> tensor<1x4x32x32xf32>
  func.return %y : tensor<1x4x32x32xf32>
}"""  # noqa: E501


def judged_at(text: str) -> Judged:
    (function,) = functions(parse_module(CONTEXT, text, "test"))
    return judged(function, BRIEF, 4096)


def test_a_join_whose_operands_lie_in_it_starts_nothing():
    found = judged_at(JOINED)
    assert found.seconds == pytest.approx(3 * BRIEF.launch_seconds, rel=0.01)


def test_what_reads_one_constant_is_started_each():
    found = judged_at(ENLARGED)
    assert found.seconds == pytest.approx(2 * BRIEF.launch_seconds, rel=0.05)
