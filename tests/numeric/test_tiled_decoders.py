"""Groups of decoders cut into rows, where something is made twice as large again, give the bytes of layer by layer."""

import pytest

from .tiled import check, grouped, lowered


def level(up):
    """An encoder's level and its decoder's: `up` makes %p, 1x2x24x4, twice as large again, as %u."""
    return f"""
func.func @main(%x: tensor<1x2x48x8xf32> {{onnx.name = "x"}}, %w: tensor<2x2x3x3xf32> {{onnx.name = "w"}},
    %v: tensor<2x2x2x2xf32> {{onnx.name = "v"}}, %j: tensor<3x4x3x1xf32> {{onnx.name = "j"}})
    -> (tensor<1x3x48x8xf32> {{onnx.name = "y"}}) {{
  %a = ge.conv %x, %w pads [1, 1, 1, 1] : tensor<1x2x48x8xf32>, tensor<2x2x3x3xf32> -> tensor<1x2x48x8xf32>
  %m = ge.max_pool %a kernel_shape [2, 2] strides [2, 2] : tensor<1x2x48x8xf32> -> tensor<1x2x24x4xf32>
  %p = ge.conv %m, %w pads [1, 1, 1, 1] : tensor<1x2x24x4xf32>, tensor<2x2x3x3xf32> -> tensor<1x2x24x4xf32>
  {up}
  %c = ge.concat %u, %a axis 1 : tensor<1x2x48x8xf32>, tensor<1x2x48x8xf32> -> tensor<1x4x48x8xf32>
  %y = ge.conv %c, %j pads [1, 0, 1, 0] : tensor<1x4x48x8xf32>, tensor<3x4x3x1xf32> -> tensor<1x3x48x8xf32>
  func.return %y : tensor<1x3x48x8xf32>
}}
"""


RESIZED = """
  %s = ge.constant dense<[1.0, 1.0, 2.0, 2.0]> : tensor<4xf32>
  %u = ge.resize %p, none, %s {} : tensor<1x2x24x4xf32>, tensor<4xf32> -> tensor<1x2x48x8xf32>"""
NEAREST = 'coordinate_transformation_mode "asymmetric" nearest_mode "floor"'
SPREAD = """
  %u = ge.conv_transpose %p, %v strides [2, 2]
     : tensor<1x2x24x4xf32>, tensor<2x2x2x2xf32> -> tensor<1x2x48x8xf32>"""
SHUFFLED = """
  %q = ge.concat %p, %p, %p, %p axis 1 : tensor<1x2x24x4xf32>, tensor<1x2x24x4xf32>, tensor<1x2x24x4xf32>,
     tensor<1x2x24x4xf32> -> tensor<1x8x24x4xf32>
  %u = ge.depth_to_space %q blocksize 2 : tensor<1x8x24x4xf32> -> tensor<1x2x48x8xf32>"""
MIRRORED = """
  %n = ge.constant dense<[0, 0, 12, 2, 0, 0, 12, 2]> : tensor<8xi64>
  %u = ge.pad %p, %n mode "reflect" : tensor<1x2x24x4xf32>, tensor<8xi64> -> tensor<1x2x48x8xf32>"""


@pytest.mark.parametrize("halo", ["recompute", "lines"])
@pytest.mark.parametrize(
    "up",
    [RESIZED.format(NEAREST), RESIZED.format('mode "linear"'), RESIZED.format('mode "cubic"'), SPREAD, SHUFFLED],
)
def test_a_decoder_s_level_is_one_loop(up, halo):
    assert check(level(up), [(2, 4)], halo)
    # Of twelve tiles at most five meet a border.
    assert launched(level(up), 4, halo) <= 6


@pytest.mark.parametrize("halo", ["recompute", "lines"])
@pytest.mark.parametrize("up", [RESIZED.format('mode "linear"'), SPREAD])
def test_a_decoder_s_level_of_each_sample(up, halo):
    assert check(level(up).replace("tensor<1x", "tensor<3x"), [(0, 2), (2, 8)], halo)


@pytest.mark.parametrize("size", [6, 7, 10, 11])
@pytest.mark.parametrize("up", [RESIZED.format('mode "linear"'), SPREAD, SHUFFLED, MIRRORED])
def test_a_decoder_s_level_at_any_size(up, size):
    check(level(up), [(2, size)], "recompute")


def test_branches_that_move_at_different_rates_are_no_loop():
    # Six rows of the result are six of %p, and so twelve of %a, of which six are joined: always others of the twelve.
    assert check(level(MIRRORED), [(2, 6)], "recompute")


def test_corners_that_stay_where_they_are():
    # A row lies 23 / 47 below the one before it: no tile is another one moved, so each is a tile of its own.
    aligned = RESIZED.format('mode "linear" coordinate_transformation_mode "align_corners"')
    assert check(level(aligned), [(2, 6)], "recompute")


def launched(text, size, halo):
    """Tiles that are launched apart: those of the loop count once."""
    module = lowered(grouped(text, [(2, size)], halo))
    return sum(op.name == "ge.max_pool" for op in module.walk())
