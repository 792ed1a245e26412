"""
Groups cut into samples and into rows of each give the bytes of layer by layer: halo computed again or kept, strides,
uneven last samples and last rows, views that put samples and rows together.
"""

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from .tiled import check, grouped, lowered, program

TWO = program(12, (3, 1, 1), (3, 1, 1), batch=4)
STRIDED = program(24, (3, 2, 1), "relu", (3, 1, 1), (2, 2, 0), batch=5)
RESIDUAL = program(12, (1, 1, 0), (3, 1, 1), "skip", "relu", batch=3)


@pytest.mark.parametrize("halo", ["recompute", "lines"])
@pytest.mark.parametrize("samples", [1, 2, 3])
@pytest.mark.parametrize("rows", [3, 4, 5])
def test_rows_of_samples_are_the_whole(samples, rows, halo):
    assert check(TWO, [(0, samples), (2, rows)], halo)


@pytest.mark.parametrize("halo", ["recompute", "lines"])
@pytest.mark.parametrize("samples", [1, 2, 4])
def test_strides_and_uneven_samples(samples, halo):
    assert check(STRIDED, [(0, samples), (2, 2)], halo)


@pytest.mark.parametrize("halo", ["recompute", "lines"])
def test_a_residual_around_a_window(halo):
    assert check(RESIDUAL, [(0, 1), (2, 4)], halo)


def loops(text, cuts, halo="recompute"):
    """Loops with the loops in them, of the module on buffers."""

    def inside(block):
        return [inside(op.body.block) for op in block.ops if op.name == "scf.for"]

    module = lowered(grouped(text, cuts, halo))
    return [loop for op in module.ops if op.name == "func.func" for loop in inside(op.body.block)]


def test_a_loop_over_samples_holds_the_loop_over_rows():
    assert loops(TWO, [(0, 1), (2, 2)]) == [[[]]]


def test_the_last_samples_have_a_loop_of_their_own():
    # Samples [0, 2), [2, 4), and the fifth.
    assert loops(STRIDED, [(0, 2), (2, 1)]) == [[[]], []]


def test_lines_begin_anew_at_each_sample():
    module = lowered(grouped(TWO, [(0, 1), (2, 4)], "lines"))
    convolutions = [op.results[0].type.get_shape() for op in module.walk() if op.name == "ge.conv"]
    assert [shape[2] for shape in convolutions[::2]] == [5, 4, 3]  # of 12 rows, in the one body for all samples


def test_columns_in_rows():
    # The outer loop's borders have their own pads too.
    text = TWO.replace("x3x1xf32", "x3x3xf32").replace("pads [1, 0, 1, 0]", "pads [1, 1, 1, 1]")
    assert check(text.replace("12x5", "12x9"), [(2, 3), (3, 3)], "recompute")


def test_what_others_read_is_not_computed_in_two_steps_of_the_outer_loop():
    text = program(12, (3, 1, 1), (3, 1, 1))
    both = text.replace("-> (tensor", '-> (tensor<1x3x12x5xf32> {onnx.name = "z"}, tensor', 1)
    both = both.replace("func.return %v1 :", "func.return %v0, %v1 : tensor<1x3x12x5xf32>,")
    assert not check(both, [(2, 4), (3, 2)], "recompute")
    assert check(both, [(2, 4)], "recompute")


# A product over all places of all samples: rows of a sample are rows of a matrix.
PLACES = """
func.func @main(%x: tensor<3x8x4xf32> {onnx.name = "x"}, %w: tensor<4x6xf32> {onnx.name = "w"})
    -> (tensor<3x8x6xf32> {onnx.name = "y"}) {
  %a = ge.relu %x : tensor<3x8x4xf32> -> tensor<3x8x4xf32>
  %s = ge.constant dense<[24, 4]> : tensor<2xi64>
  %b = ge.reshape %a, %s : tensor<3x8x4xf32>, tensor<2xi64> -> tensor<24x4xf32>
  %c = ge.matmul %b, %w : tensor<24x4xf32>, tensor<4x6xf32> -> tensor<24x6xf32>
  %d = ge.exp %c : tensor<24x6xf32> -> tensor<24x6xf32>
  %t = ge.constant dense<[3, 8, 6]> : tensor<3xi64>
  %e = ge.reshape %d, %t : tensor<24x6xf32>, tensor<3xi64> -> tensor<3x8x6xf32>
  %y = ge.relu %e : tensor<3x8x6xf32> -> tensor<3x8x6xf32>
  func.return %y : tensor<3x8x6xf32>
}
"""


@pytest.mark.parametrize("rows", [2, 3, 4])
def test_rows_of_a_sample_behind_a_view_that_joins_samples(rows):
    assert check(PLACES, [(0, 1), (1, rows)], "none")


def test_two_cuts_along_one_axis():
    text = (
        PLACES.replace("%y = ge.relu %e", "%y = ge.relu %e").split("  %t = ")[0]
        + "  func.return %d : tensor<24x6xf32>\n}"
    )
    text = text.replace("-> (tensor<3x8x6xf32> {onnx", "-> (tensor<24x6xf32> {onnx")
    assert check(text, [(0, 8), (0, 3)], "none")


layers = st.one_of(
    st.just("relu"), st.tuples(st.sampled_from([1, 2, 3, 5]), st.sampled_from([1, 1, 2, 3]), st.integers(0, 2))
)


@settings(deadline=None, max_examples=60)
@given(
    st.integers(2, 5),
    st.integers(8, 30),
    st.lists(layers, min_size=2, max_size=5),
    st.integers(1, 3),
    st.integers(1, 9),
    st.sampled_from(["recompute", "lines"]),
)
def test_any_chain_of_windows(batch, rows, chain, samples, size, halo):
    left = rows
    for kernel, stride, pad in (layer for layer in chain if layer != "relu"):
        assume(left + 2 * pad >= kernel)
        left = (left + 2 * pad - kernel) // stride + 1
    check(program(rows, *chain, batch=batch), [(0, samples), (2, size)], halo)
