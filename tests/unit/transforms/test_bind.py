"""Sizes for free dimensions: what fits the model, and what does not."""

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, ModuleOp
from xdsl.dialects.func import Func

from gecc.dialects.ge import Ge
from gecc.dialects.ge.errors import UsageError
from gecc.dialects.ge.text import module_text, parse_module
from gecc.transforms.shape.bind import bind_shapes

POOLED = """
func.func @main(%x: tensor<?x3x?x?xf32> {onnx.name = "x", ge.dims = ["N", 3, "S", "S"]}) -> tensor<?x3x?x?xf32> {
  %0 = ge.max_pool %x kernel_shape [3, 3] : tensor<?x3x?x?xf32> -> tensor<?x3x?x?xf32> onnx "pool"
  func.return %0 : tensor<?x3x?x?xf32>
}
"""


def module(text: str = POOLED) -> ModuleOp:
    context = Context()
    for dialect in (Builtin, Func, Ge):
        context.load_dialect(dialect)
    return parse_module(context, text, "test.mlir")


def test_what_follows_from_a_size_is_known():
    bound = module()
    bind_shapes(bound, {"x": [2, 3, 8, -1]})
    assert "tensor<2x3x8x8xf32> -> tensor<2x3x6x6xf32>" in module_text(bound)


def test_an_input_without_a_name_goes_by_its_number():
    bound = module(POOLED.replace('onnx.name = "x", ', ""))
    bind_shapes(bound, {"input_0": [2, 3, 8, -1]})
    assert "tensor<2x3x8x8xf32> -> tensor<2x3x6x6xf32>" in module_text(bound)


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        ({"y": [1]}, "the model has no input 'y'; its inputs are x"),
        ({"x": [1, 3]}, "it cannot be [1, 3]"),
        ({"x": [1, 4, 8, 8]}, "dim 1 is 3 in the model, it cannot be 4"),
        ({"x": [1, 3, 8, 9]}, "dim 'S' cannot be both 8 and 9"),
        (
            {"x": [-1, 3, 2, 2]},
            "the model cannot have the input shape x:?,3,2,2: node \"pool\": 'ge.max_pool' a window of 3 must fit into "
            "2 + 0 + 0 elements (C5)",
        ),
    ],
)
def test_what_does_not_fit_is_refused(shapes: dict[str, list[int]], message: str):
    with pytest.raises(UsageError) as caught:
        bind_shapes(module(), shapes)
    assert message in str(caught.value)
