"""What the planners are told of a function that is cut along rows (transforms/l2/piece.py)."""

import pytest

from gecc.dialects.ge.text import parse_module
from gecc.driver.registry import default_registry
from gecc.planning import Op, Window
from gecc.transforms.l2.piece import describe
from gecc.transforms.rewriting import functions

CONTEXT = default_registry(lambda text: None).context()


def told(line: str, rows: int, made: int) -> Op:
    """Of one op that makes so many rows of `rows`, under the name of %s a constant with its scales."""
    x, y = f"tensor<1x2x{rows}x4xf32>", f"tensor<1x2x{made}x4xf32>"
    text = f"""
    func.func @main(%x: {x} {{onnx.name = "x"}}, %w: tensor<2x2x4x1xf32> {{onnx.name = "w"}})
        -> ({y} {{onnx.name = "y"}}) {{
      %s = ge.constant dense<[1.0, 1.0, {made / rows}, 1.0]> : tensor<4xf32>
      %y = {line.format(x=x, y=y)}
      func.return %y : {y}
    }}"""
    (function,) = functions(parse_module(CONTEXT, text, "test.mlir"))
    described = describe(function)
    assert described is not None
    return described.piece.ops[0]


RESIZE = "ge.resize %x, none, %s {} : {{x}}, tensor<4xf32> -> {{y}}"
NEAREST = RESIZE.format('coordinate_transformation_mode "asymmetric" nearest_mode "floor"')
LINEAR = RESIZE.format('mode "linear"')
SPREAD = (
    "ge.conv_transpose %x, %w strides [2, 1] pads [1, 0, 1, 0] : {x}, tensor<2x2x4x1xf32> -> {y}"  # four rows of each
)


@pytest.mark.parametrize(
    ("line", "rows", "made", "window"),
    [
        (NEAREST, 32, 64, Window(1, 2)),
        (NEAREST, 32, 96, Window(1, 3)),
        (NEAREST, 64, 32, Window(2, after=-1)),
        (LINEAR, 32, 64, Window(1, 2, 1, 1)),
        (LINEAR, 32, 96, Window(1, 3, 1, 1)),
        (SPREAD, 32, 64, Window(1, 2, 1, 1)),
        ("ge.max_pool %x kernel_shape [3, 1] strides [2, 1] pads [1, 0, 1, 0] : {x} -> {y}", 64, 32, Window(2, 1, 1)),
    ],
)
def test_how_rows_follow_from_those_of_the_result(line: str, rows: int, made: int, window: Window) -> None:
    op = told(line, rows, made)
    assert op.windows[0] == window
    assert op.alike


def test_of_corners_that_stay_no_tile_is_what_the_next_is() -> None:
    assert not told(RESIZE.format('mode "linear" coordinate_transformation_mode "align_corners"'), 32, 64).alike
