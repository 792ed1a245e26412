"""What constant folding may add to a model: little where elements are only moved, more where it saves arithmetic."""

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin
from xdsl.dialects.func import Func

from gecc.dialects.ge import Ge
from gecc.dialects.ge.text import module_text, parse_module
from gecc.transforms.simplify.constant_folding import ConstantFolding

# 4 KiB of weights; beside them what would become 64 elements, 256 bytes, of 2 and 2 x 8.
TEXT = """
func.func @main(%x: tensor<1024xf32>) -> (tensor<1024xf32>, tensor<8x8xf32>) {{
  %w = ge.constant dense<"0x{weights}"> : tensor<1024xf32>
  %y = ge.mul %x, %w : tensor<1024xf32>, tensor<1024xf32> -> tensor<1024xf32>
  %a = ge.constant dense<[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]> : tensor<8xf32>
  {op}
  func.return %y, %z : tensor<1024xf32>, tensor<8x8xf32>
}}
"""
MOVED = """%s = ge.constant dense<8> : tensor<2xi64>
  %z = ge.expand %a, %s : tensor<8xf32>, tensor<2xi64> -> tensor<8x8xf32>"""
COMPUTED = """%b = ge.constant dense<[[1.0], [2.0], [3.0], [4.0], [5.0], [6.0], [7.0], [8.0]]> : tensor<8x1xf32>
  %z = ge.add %a, %b : tensor<8xf32>, tensor<8x1xf32> -> tensor<8x8xf32>"""


@pytest.mark.parametrize(
    ("op", "options", "folds"),
    [
        (MOVED, {"share": 0.02}, False),
        (MOVED, {"share": 0.1}, True),
        (COMPUTED, {"arithmetic": 0.02}, False),
        (COMPUTED, {"arithmetic": 0.1}, True),
    ],
)
def test_a_result_is_a_share_of_all_constants(op: str, options: dict[str, float], folds: bool):
    context = Context()
    for dialect in (Builtin, Func, Ge):
        context.load_dialect(dialect)
    weights = "".join(f"{k:08X}" for k in range(1024))
    module = parse_module(context, TEXT.format(weights=weights, op=op), "test.mlir")
    ConstantFolding(max_growth=0, **options).apply(context, module)
    text = module_text(module)
    assert ("ge.expand" not in text and "ge.add" not in text) == folds
