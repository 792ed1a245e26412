"""Convolution (convolution.py, transposed_convolution.py, quantized.py) and the windows that it shares with pooling."""

from typing import Any

import numpy as np
import pytest
from xdsl.utils.exceptions import VerifyException

from gecc.dialects.ge.convolution import ConvOp
from gecc.dialects.ge.dims import evaluate, symbol
from gecc.dialects.ge.transposed_convolution import ConvTransposeOp
from gecc.dialects.ge.types import shape_of
from gecc.dialects.ge.window import Window
from gecc.reference import evaluate as reference

from .movement_cases import N, built, check_tiles, free, op_of, round_trip, said

X, W, B = "tensor<2x4x9x9xf32>", "tensor<6x4x3x3xf32>", "tensor<6xf32>"
H = symbol("H")


@pytest.mark.parametrize(
    "line",
    [
        f"%y = ge.conv %x, %w : {X}, {W} -> tensor<2x6x7x7xf32>",
        f"%y = ge.conv %x, %w, %b strides [2, 2] pads [1, 1, 1, 1] : {X}, {W}, {B} -> tensor<2x6x5x5xf32>",
        f'%y = ge.conv %x, %w auto_pad "SAME_UPPER" strides [2, 2] : {X}, {W} -> tensor<2x6x5x5xf32>',
        f'%y = ge.conv %x, %w dilations [2, 3] data_format "NHWC" : tensor<2x9x9x4xf32>, {W} -> tensor<2x5x3x6xf32>',
        "%y = ge.conv %x, %w group 2 : tensor<2x4x9xf32>, tensor<6x2x3xf32> -> tensor<2x6x7xf32>",
        "%y = ge.conv %x, %w : tensor<?x4x?x9xf32>, tensor<?x4x3x?xf32> -> tensor<?x?x?x?xf32>",
        "%y = ge.conv_transpose %x, %w strides [2, 2] output_padding [1, 1]"
        f" : {X}, tensor<4x6x3x3xf32> -> tensor<2x6x20x20xf32>",
        "%y = ge.conv_transpose %x, %w, %b output_shape [10, 11]"
        f" : {X}, tensor<4x6x3x3xf32>, {B} -> tensor<2x6x10x11xf32>",
        "%y = ge.conv_integer %x, %w, none, %z"
        " : tensor<1x3x8x8xui8>, tensor<4x3x3x3xi8>, tensor<4xi8> -> tensor<1x4x6x6xi32>",
        "%y = ge.qlinear_conv %x, %sx, %zx, %w, %sw, %zw, %sy, %zy pads [1, 1] : tensor<1x3x8xui8>, tensor<f32>,"
        " tensor<ui8>, tensor<4x3x3xi8>, tensor<4xf32>, tensor<4xi8>, tensor<1xf32>, tensor<ui8> -> tensor<1x4x8xui8>",
    ],
)
def test_text(line: str) -> None:
    round_trip(line)


def conv(attributes: str = "", x: str = X, w: str = W, b: str | None = None, y: str = "tensor<2x6x7x7xf32>") -> str:
    more = ("", "") if b is None else (", %b", f", {b}")
    return f"%y = ge.conv %x, %w{more[0]} {attributes} : {x}, {w}{more[1]} -> {y}"


def transposed(attributes: str = "", w: str = "tensor<4x6x3x3xf32>", b: str | None = None) -> str:
    return conv(attributes, w=w, b=b).replace("ge.conv", "ge.conv_transpose")


def quantized(x: str = "ui8", zx: str = "tensor<ui8>", sw: str = "tensor<f32>", b: str = "tensor<4xi32>") -> str:
    return (
        f"%y = ge.qlinear_conv %x, %sx, %zx, %w, %sw, %zw, %sy, %zy, %b : tensor<1x3x8x{x}>, tensor<f32>, {zx},"
        f" tensor<4x3x3xi8>, {sw}, tensor<i8>, tensor<f32>, tensor<ui8>, {b} -> tensor<1x4x6xui8>"
    )


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (conv(x="tensor<2x4xf32>"), r"a batch, a channel and spatial axes.*\(C1\)"),
        (conv("strides [1]"), r"strides must have 2 entries, all positive, got \[1\] \(C2\)"),
        (conv("strides [0, 1]"), r"strides must have 2 entries, all positive.*\(C2\)"),
        (conv("dilations [1, -1]"), r"dilations must have 2 entries.*\(C2\)"),
        (conv("pads [1, 1]"), r"pads must have 4 entries, none negative, got \[1, 1\] \(C2\)"),
        (conv("pads [0, 0, -1, 0]"), r"pads must have 4 entries, none negative.*\(C2\)"),
        (conv('auto_pad "SAME"'), r"auto_pad must be NOTSET, .*, got SAME \(C3\)"),
        (conv('data_format "CHWN"'), r"data_format must be NCHW or NHWC, got CHWN \(C4\)"),
        (conv(x="tensor<2x4x2x9xf32>"), r"a window of 3 must fit into 2 \+ 0 \+ 0 elements \(C5\)"),
        (conv(w="tensor<6x4x3xf32>"), r"kernel_shape must have 2 entries.*\(C2\)"),
        (conv(w="tensor<6x5x3x3xf32>"), r"x must have 5 \* 1 channels, got 4 \(C6\)"),
        (conv("group 4", w="tensor<6x1x3x3xf32>"), r"must be a multiple of group 4, got 6 \(C6\)"),
        (conv(w="tensor<6x4x3x3xf16>"), r"one element type, got f32 and f16 \(C7\)"),
        (conv(b="tensor<5xf32>"), r"b must be a vector of 6 elements, got tensor<5xf32> \(C8\)"),
        (conv(y="tensor<2x6x7x8xf32>"), r"result 0 must be tensor<2x6x7x7xf32>.*\(T\)"),
        (transposed("output_padding [1]"), r"output_padding must have 2 entries, none negative, got \[1\] \(C5\)"),
        (transposed(w="tensor<3x6x3x3xf32>"), r"w must have rank 4 and dim 0 4.*\(C6\)"),
        (transposed("group 3"), r"multiple of group 3, got 4 \(C6\)"),
        (transposed(w="tensor<4x6x3x3xf64>"), r"one element type.*\(C7\)"),
        (transposed(b="tensor<7xf32>"), r"b must be a vector of 6 elements.*\(C8\)"),
        (transposed("pads [9, 9, 9, 9]"), r"pads must leave something of axis 0, got -7 elements \(C9\)"),
        (quantized(zx="tensor<i8>"), r"one element type, got ui8 and i8 \(C7\)"),
        (quantized(b="tensor<4xf32>"), r"b must be of i32.*\(C7\)"),
        (quantized(sw="tensor<3xf32>"), r"w_scale must be one number or a vector of 4.*\(C8\)"),
        (quantized(zx="tensor<2xui8>"), r"x_zero_point must be one number, got.*\(C8\)"),
        (quantized(b="tensor<5xi32>"), r"b must be a vector of 4 elements.*\(C9\)"),
        (
            "%y = ge.conv_integer %x, %w, %z : tensor<1x3x8xui8>, tensor<4x3x3xi8>, tensor<i8> -> tensor<1x4x6xi32>",
            r"one element type.*\(C7\)",
        ),
        (
            "%y = ge.conv_integer %x, %w, %z : tensor<1x3x8xui8>, tensor<4x3x3xi8>, tensor<3xui8> -> tensor<1x4x6xi32>",
            r"x_zero_point must be one number.*\(C8\)",
        ),
    ],
)
def test_constraint(line: str, message: str) -> None:
    with pytest.raises(VerifyException, match=message):
        op_of(line).verify()


def test_dims_of_free_sizes() -> None:
    op = op_of(conv("strides [2, 2] pads [1, 1, 1, 1]", x="tensor<?x4x?x9xf32>", y="tensor<?x6x?x5xf32>"))
    x, w = free(N, 4, H, 9), free(6, 4, 3, 3)
    n, outs, height, width = op.infer(x, w, None).dims
    assert (n, outs, width) == (N, 6, 5)
    assert [evaluate(height, {"H": h}) for h in (1, 2, 9, 10)] == [1, 1, 5, 5]


def test_same_needs_the_stride_alone() -> None:
    op = op_of(conv('auto_pad "SAME_LOWER" strides [2, 2]', x="tensor<2x4x?x9xf32>", y="tensor<2x6x?x5xf32>"))
    height = op.infer(free(2, 4, H, 9), free(6, 4, 3, 3), None).dims[2]
    assert [evaluate(height, {"H": h}) for h in (1, 2, 9, 10)] == [1, 1, 5, 5]


def test_dims_of_transposed() -> None:
    op = op_of(transposed("strides [2, 2] pads [1, 1, 1, 1]").replace("7x7", "17x17"))
    assert said(op.infer(free(N, 4, H, 9), free(4, 6, 3, 3), None)) == ("N", "6", "2*H - 1", "17")


@pytest.mark.parametrize(
    ("window", "count", "size", "meets"),
    [
        (Window(3, 1, 1, 2, 2), 5, 3, True),
        (Window(3, 1, 1, 3, 0), 4, 3, False),  # the first spans [-3, 0)
        (Window(1, 2, 1, 0, 2), 3, 3, False),  # the last stands at 4
    ],
)
def test_a_window_of_padding_alone_is_seen(window: Window, count: int, size: int, meets: bool) -> None:
    assert window.meets_data(size, count) == meets


def test_what_a_tile_reads() -> None:
    # Positions 1 and 2 of a window of 3 with stride 2 and 1 before start at 1 and 3, and end before 6 of 5 elements.
    assert Window(3, 2, 1, 1, 1).reads(1, 2, 5) == (1, 4, 0, 1)


def test_an_axis_whose_padding_is_a_tile_of_its_own_is_not_cut() -> None:
    op = op_of(conv("pads [3, 0, 0, 0]", y="tensor<2x6x10x7xf32>"))
    assert op.loops()[:4] == ("parallel", "parallel", "whole", "parallel")


def test_axes_of_free_size_are_not_cut() -> None:
    # SAME takes its pads from the size.
    op = op_of(conv('auto_pad "SAME_UPPER"', x="tensor<2x4x?x9xf32>", y="tensor<2x6x?x9xf32>"))
    assert op.loops()[2:4] == ("whole", "whole")


def test_halo_pads_and_groups_of_a_tile() -> None:
    op = built(ConvOp, "2x6x9x9xf32", "6x1x3x3xf32", group=6, pads=[1, 1, 1, 1])
    tile = ((1, 1), (2, 3), (0, 4), (5, 4))
    assert op.operand_tiles(tile) == [((1, 1), (2, 3), (0, 5), (4, 5)), ((2, 3), (0, 1), (0, 3), (0, 3))]
    cut = built(ConvOp, "1x3x5x5xf32", "3x1x3x3xf32", group=3, pads=[1, 0, 0, 1])
    made = op.on_tile(tile, cut.operands)
    assert (made.attrs(), made.results[0].type) == (cut.attrs(), cut.results[0].type)


def test_work() -> None:
    assert op_of(conv()).flops() == 2 * (2 * 6 * 7 * 7) * (4 * 3 * 3)
    assert op_of(transposed().replace("7x7", "11x11")).flops() == 2 * (2 * 4 * 9 * 9) * (6 * 3 * 3)


def test_kernel_shape_is_written_back() -> None:
    assert op_of(conv()).implied() == {"kernel_shape": (3, 3)}
    free_kernel = conv(w="tensor<6x4x?x3xf32>", y="tensor<2x6x?x7xf32>")
    assert op_of(free_kernel).implied() == {}


def test_layouts_agree() -> None:
    x, w = (np.random.default_rng(0).integers(-4, 5, s).astype(np.float32) for s in ((2, 4, 9, 9), (6, 4, 3, 3)))
    y = reference(op_of(conv()), [x, w])[0]
    last = op_of(conv('data_format "NHWC"', x="tensor<2x9x9x4xf32>", y="tensor<2x7x7x6xf32>"))
    np.testing.assert_array_equal(reference(last, [x.transpose(0, 2, 3, 1), w])[0], y.transpose(0, 2, 3, 1))


def test_tiles() -> None:
    check_tiles(op_of(conv("strides [2, 2] pads [1, 2, 0, 1]", y="tensor<2x6x4x5xf32>")), tile=2)
    check_tiles(built(ConvTransposeOp, "2x3x4xf32", "3x4x2xf32", strides=[2]))


def test_rows_that_are_spread_onto_a_tile() -> None:
    # Row p is spread over rows 2 p - 1 to 2 p + 2 of the result, so rows 4 to 7 of it take what rows 1 to 4 give.
    op = built(ConvTransposeOp, "1x2x8x4xf32", "2x3x4x4xf32", strides=[2, 2], pads=[1, 1, 1, 1])
    inside = ((0, 1), (0, 3), (4, 4), (0, 8))
    assert op.operand_tiles(inside)[0] == ((0, 1), (0, 2), (1, 4), (0, 4))
    cut = built(ConvTransposeOp, "1x2x4x4xf32", "2x3x4x4xf32")
    made = op.on_tile(inside, cut.operands)
    assert (made.pads, made.output_padding, shape_of(made.y.type)) == ((3, 1, 3, 1), (0, 0), (1, 3, 4, 8))
    at_end = op.operand_tiles(((0, 1), (0, 3), (12, 4), (0, 8)))[0]
    assert at_end[2] == (5, 3)


def test_rows_that_nothing_is_spread_onto() -> None:
    # A window of one with stride 3 reaches every third row; of rows 1 and 2 the tile reads row 0, and cuts it off.
    op = built(ConvTransposeOp, "1x1x3xf32", "1x1x1xf32", strides=[3], output_padding=[2])
    check_tiles(op, tile=2)
    assert op.operand_tiles(((0, 1), (0, 1), (1, 2)))[0][2] == (0, 1)


def naive_transposed(x: Any, w: Any, stride: int, dilation: int) -> Any:
    y = np.zeros((x.shape[0], w.shape[1], (x.shape[2] - 1) * stride + (w.shape[2] - 1) * dilation + 1), np.float32)
    for n, c, p in np.ndindex(*x.shape):
        for o, k in np.ndindex(*w.shape[1:]):
            y[n, o, p * stride + k * dilation] += x[n, c, p] * w[c, o, k]
    return y


def test_meaning_of_transposed() -> None:
    x, w = (np.random.default_rng(0).integers(-4, 5, s).astype(np.float32) for s in ((2, 4, 5), (4, 3, 3)))
    full = naive_transposed(x, w, 3, 2)
    op = built(ConvTransposeOp, "2x4x5xf32", "4x3x3xf32", strides=[3], dilations=[2], pads=[1, 3])
    np.testing.assert_array_equal(reference(op, [x, w])[0], full[:, :, 1:-3])
    # 17 elements, of which 3 are cut: the odd one at the end with SAME_UPPER, else at the start.
    for auto_pad, cut in (("SAME_UPPER", slice(1, -2)), ("SAME_LOWER", slice(2, -1)), ("NOTSET", slice(2, -1))):
        by_shape = {"output_shape": [14], "auto_pad": auto_pad}
        op = built(ConvTransposeOp, "2x4x5xf32", "4x3x3xf32", strides=[3], dilations=[2], **by_shape)
        np.testing.assert_array_equal(reference(op, [x, w])[0], full[:, :, cut])


def test_integers_are_summed_exactly() -> None:
    types = "tensor<1x1x3xui8>, tensor<1x1x2xi8>, tensor<ui8> -> tensor<1x1x2xi32>"
    x, w = np.array([[[255, 0, 3]]], np.uint8), np.array([[[-128, 127]]], np.int8)
    y = reference(op_of(f"%y = ge.conv_integer %x, %w, %z : {types}"), [x, w, np.array(1, np.uint8)])[0]
    assert y.tolist() == [[[254 * -128 - 127, 128 + 2 * 127]]]
