"""
Groups cut into rows give the bytes of layer by layer: with the halo computed again or kept, at the borders, with
strides, uneven last tiles, residuals and views. Elements are small integers, whose sums are exact in any order.
"""

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from .tiled import check, grouped, lowered, program

ONE = program(12, (3, 1, 1), "relu")
TWO = program(12, (3, 1, 1), (3, 1, 1))
STRIDED = program(24, (3, 2, 1), "relu", (3, 1, 1), (2, 2, 0))
RESIDUAL = program(12, (1, 1, 0), (3, 1, 1), "skip", "relu")


@pytest.mark.parametrize("halo", ["recompute", "lines"])
@pytest.mark.parametrize("size", [3, 4, 5])
@pytest.mark.parametrize("text", [ONE, TWO, RESIDUAL])
def test_rows_are_the_whole(text, size, halo):
    assert check(text, [(2, size)], halo)


def test_two_borders_of_one_size_are_two_tiles():
    # Rows [0, 7) and [5, 12) of %x: seven each, with padding before the ones and after the others.
    assert check(ONE, [(2, 6)], "recompute")


@pytest.mark.parametrize("halo", ["recompute", "lines"])
@pytest.mark.parametrize("size", [1, 2, 4, 5])
def test_rows_over_strides(size, halo):
    assert check(STRIDED, [(2, size)], halo)


layers = st.one_of(
    st.just("relu"), st.tuples(st.sampled_from([1, 2, 3, 5]), st.sampled_from([1, 1, 2, 3]), st.integers(0, 2))
)


@settings(deadline=None, max_examples=60)
@given(
    st.integers(8, 40),
    st.lists(layers, min_size=2, max_size=5),
    st.integers(1, 9),
    st.sampled_from(["recompute", "lines"]),
)
def test_any_chain_of_windows(rows, chain, size, halo):
    left = rows
    for kernel, stride, pad in (layer for layer in chain if layer != "relu"):
        assume(left + 2 * pad >= kernel)
        left = (left + 2 * pad - kernel) // stride + 1
    check(program(rows, *chain), [(2, size)], halo)


ATTENTION = """
func.func @main(%q: tensor<1x2x9x4xf32> {onnx.name = "q"}, %k: tensor<1x2x4x9xf32> {onnx.name = "k"},
    %v: tensor<1x2x9x4xf32> {onnx.name = "v"}) -> (tensor<1x9x8xf32> {onnx.name = "y"}) {
  %a = ge.matmul %q, %k : tensor<1x2x9x4xf32>, tensor<1x2x4x9xf32> -> tensor<1x2x9x9xf32>
  %b = ge.relu %a : tensor<1x2x9x9xf32> -> tensor<1x2x9x9xf32>
  %c = ge.matmul %b, %v : tensor<1x2x9x9xf32>, tensor<1x2x9x4xf32> -> tensor<1x2x9x4xf32>
  %d = ge.transpose %c perm [0, 2, 1, 3] : tensor<1x2x9x4xf32> -> tensor<1x9x2x4xf32>
  %s = ge.constant dense<[1, 9, 8]> : tensor<3xi64>
  %e = ge.reshape %d, %s : tensor<1x9x2x4xf32>, tensor<3xi64> -> tensor<1x9x8xf32>
  %y = ge.relu %e : tensor<1x9x8xf32> -> tensor<1x9x8xf32>
  func.return %y : tensor<1x9x8xf32>
}
"""


@pytest.mark.parametrize("size", [1, 2, 4])
def test_attention_by_rows_of_the_sequence(size):
    assert check(ATTENTION, [(1, size)], "none")


CHANNEL_CHAIN = """
func.func @main(%x: tensor<1x3x5x5xf32> {onnx.name = "x"}, %w: tensor<8x3x1x1xf32> {onnx.name = "w"},
    %d: tensor<8x1x3x3xf32> {onnx.name = "d"}) -> (tensor<1x8x5x5xf32> {onnx.name = "y"}) {
  %a = ge.conv %x, %w : tensor<1x3x5x5xf32>, tensor<8x3x1x1xf32> -> tensor<1x8x5x5xf32>
  %b = ge.conv %a, %d pads [1, 1, 1, 1] group 8 : tensor<1x8x5x5xf32>, tensor<8x1x3x3xf32> -> tensor<1x8x5x5xf32>
  %c = ge.relu %b : tensor<1x8x5x5xf32> -> tensor<1x8x5x5xf32>
  func.return %c : tensor<1x8x5x5xf32>
}
"""


@pytest.mark.parametrize("size", [2, 3])
def test_channels_take_their_part_of_the_weights(size):
    assert check(CHANNEL_CHAIN, [(1, size)], "none")


BOTH = """
func.func @main(%x: tensor<1x2x12x5xf32> {onnx.name = "x"}, %w: tensor<2x2x3x1xf32> {onnx.name = "w"})
    -> (tensor<1x2x12x5xf32> {onnx.name = "y"}, tensor<1x2x12x5xf32> {onnx.name = "z"}) {
  %a = ge.conv %x, %w pads [1, 0, 1, 0] : tensor<1x2x12x5xf32>, tensor<2x2x3x1xf32> -> tensor<1x2x12x5xf32>
  %b = ge.conv %a, %w pads [1, 0, 1, 0] : tensor<1x2x12x5xf32>, tensor<2x2x3x1xf32> -> tensor<1x2x12x5xf32>
  func.return %b, %a : tensor<1x2x12x5xf32>, tensor<1x2x12x5xf32>
}
"""


def test_rows_that_others_read_are_computed_once():
    assert check(BOTH, [(2, 4)], "recompute")
    assert launched_rows(BOTH, 4, "recompute") == [5, 4, 3]


def launched_rows(text, size, halo):
    """Rows that the first convolution computes, launch by launch."""
    module = lowered(grouped(text, [(2, size)], halo))
    convolutions = [op for op in module.walk() if op.name == "ge.conv"]
    return [op.results[0].type.get_shape()[2] for op in convolutions][::2]


def test_kept_lines_are_not_computed_again():
    assert launched_rows(TWO, 4, "recompute") == [5, 6, 5]
    assert launched_rows(TWO, 4, "lines") == [5, 4, 3]
