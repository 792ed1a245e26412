"""Resizing by interpolation (resize.py)."""

from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import f32
from xdsl.utils.exceptions import VerifyException

from gecc.dialects.ge.info import Info
from gecc.dialects.ge.resize import ResizeOp

from .movement_cases import M, N, built, check_tiles, data, free, ints, module_of, op_of, round_trip, said

LINES = [
    '%y = ge.resize %x, none, %s mode "linear" : tensor<?x3x8x8xf32>, tensor<4xf32> -> tensor<?x3x?x?xf32>',
    "%y = ge.resize %x, none, none, %n axes [2, 3] : tensor<?x3x8x8xf32>, tensor<2xi64> -> tensor<?x3x16x16xf32>",
    '%y = ge.resize %x, %r, %s coordinate_transformation_mode "tf_crop_and_resize" extrapolation_value 1.0'
    " : tensor<?x3xf32>, tensor<4xf32>, tensor<2xf32> -> tensor<?x?xf32>",
    '%y = ge.resize %x, none, %s antialias 1 cubic_coeff_a -0.5 mode "cubic" data_format "NHWC"'
    " : tensor<?x8x8x3xf32>, tensor<4xf32> -> tensor<?x?x?x3xf32>",
]
SCALED, SIZED, CROPPED, NHWC = LINES


@pytest.mark.parametrize("line", LINES)
def test_text(line: str) -> None:
    round_trip(line)


@pytest.mark.parametrize(
    ("line", "constants", "message"),
    [
        (SCALED.replace("linear", "bilinear"), {}, r"mode must be one of nearest, linear, cubic, got bilinear \(C1\)"),
        (NHWC.replace("?x8x8x3x", "?x3x").replace("4xf32> ->", "2xf32> ->"), {}, r"spatial axes for NHWC.*\(C1\)"),
        (SIZED.replace("[2, 3]", "[2, 4]"), {}, r"axis must be in \[-4, 3\], got 4 \(C2\)"),
        (SIZED.replace("[2, 3]", "[2, -2]"), {}, r"axes must differ.*\(C2\)"),
        (SCALED.replace("tensor<4xf32> ->", "tensor<0xf32> ->"), {}, r"either scales or sizes must be there.*\(C3\)"),
        (
            "%y = ge.resize %x, none, %s, %n : tensor<4xf32>, tensor<1xf32>, tensor<1xi64> -> tensor<8xf32>",
            {},
            r"not both \(C3\)",
        ),
        (SCALED.replace("4xf32> ->", "3xf32> ->"), {}, r"scales must be a vector of 4 f32.*\(C4\)"),
        (SIZED, {"n": ints(16, 0)}, r"sizes must be positive, got \[.*16.*, .*0.*\] \(C4\)"),
        (SCALED, {"s": np.float32([1, 1, -2, 2])}, r"scales must be positive.*\(C4\)"),
        (CROPPED.replace("tensor<4xf32>, ", "tensor<3xf32>, "), {}, r"roi must have 4 elements.*\(C5\)"),
        (CROPPED.replace("tensor<4xf32>, ", "tensor<4xi64>, "), {}, r"roi must be a vector of floats.*\(C5\)"),
    ],
)
def test_constraint(line: str, constants: dict[str, object], message: str) -> None:
    with pytest.raises(VerifyException, match=message):
        module_of(line, **constants).verify()


def scales(*factors: float) -> Info:
    return Info(f32, (len(factors),), np.float32(factors))


# ------------------------------------------------------------------ dims


def test_dims_from_scales() -> None:
    op = op_of(SCALED)
    assert said(op.infer(free(N, 3, M, 5), None, scales(1, 1, 2, 2), None)) == ("N", "3", "2*M", "10")
    assert said(op.infer(free(N, 3, M, 5), None, scales(1, 1, 0.5, 0.5), None)) == ("N", "3", "floordiv(M, 2)", "2")
    assert said(op.infer(free(N, 3, M, 10), None, scales(1, 1, 0.7, 0.7), None)) == ("N", "3", "?", "7")
    assert said(op.infer(free(N, 3, M, 5), None, free(4), None)) == ("?", "?", "?", "?")


def test_dims_from_sizes() -> None:
    op = op_of(SIZED)
    assert said(op.infer(free(N, 3, 8, 8), None, None, data(2 * M, 16))) == ("N", "3", "2*M", "16")
    assert said(op.infer(free(N, 3, 8, 8), free(0), free(0), data(4, 4))) == ("N", "3", "4", "4")


def test_a_policy_keeps_one_scale_for_all() -> None:
    line = SIZED.replace("[2, 3]", '[2, 3] keep_aspect_ratio_policy "{}"')
    smaller, larger = op_of(line.format("not_larger")), op_of(line.format("not_smaller"))
    # 7 / 8 and 5 / 5: times 7 / 8, 5 is 4.375; times 1, 8 is 8.
    assert said(smaller.infer(free(N, 3, 8, 5), None, None, data(7, 5))) == ("N", "3", "7", "4")
    assert said(larger.infer(free(N, 3, 8, 5), None, None, data(7, 5))) == ("N", "3", "8", "5")
    assert said(larger.infer(free(N, 3, M, 5), None, None, data(7, 5))) == ("N", "3", "?", "?")


def test_a_crop_scales_the_region() -> None:
    op = op_of(CROPPED)
    assert said(op.infer(free(8, 10), scales(0, 0.5, 0.5, 1), scales(2, 2), None)) == ("8", "10")


def test_scales_of_channels_last_stay_in_onnx_s_order() -> None:
    assert said(op_of(NHWC).infer(free(N, 8, 4, 3), None, scales(1, 1, 2, 3), None)) == ("N", "16", "12", "3")


def test_a_mode_of_opset_11_alone_is_left_opaque() -> None:
    assert not ResizeOp.accepts({"coordinate_transformation_mode": "tf_half_pixel_for_nn"}, 3, 1)


# ------------------------------------------------------------------ tiles

ONCE_TWICE = np.float32([1, 1, 2, 1.5])


@pytest.mark.parametrize(
    "attrs",
    [
        {},
        {"mode": "linear"},
        {"mode": "linear", "coordinate_transformation_mode": "align_corners"},
        {"mode": "cubic", "coordinate_transformation_mode": "pytorch_half_pixel"},
        {"mode": "nearest", "nearest_mode": "ceil", "coordinate_transformation_mode": "asymmetric"},
    ],
)
def test_tiles_put_together_are_the_whole(attrs: dict[str, str]) -> None:
    op = built(ResizeOp, "3x3x4x6xf32", None, ONCE_TWICE, **attrs)
    assert op.loops() == ("parallel",) * 4
    check_tiles(op)


@pytest.mark.parametrize("scale", [3, 1 / 3, 0.7, 1.1, 25 / 9])
@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
def test_places_of_a_tile_are_those_of_the_whole_where_a_scale_is_no_power_of_two(scale: float, mode: str) -> None:
    op = built(ResizeOp, "1x1x40xf64", None, np.float32([1, 1, scale]), mode=mode)
    check_tiles(op, np.random.default_rng(0).standard_normal((1, 1, 40)), np.float32([1, 1, scale]), tile=3)


def test_axes_that_are_not_named_are_cut() -> None:
    op = built(ResizeOp, "3x3x4xf32", None, None, ints(6), axes=[-1])
    assert op.loops() == ("parallel",) * 3
    check_tiles(op)


def test_of_a_smoothed_or_cropped_resize_only_other_axes_are_cut() -> None:
    smoothed = built(ResizeOp, "3x3x4xf32", None, np.float32([1, 1, 0.5]), mode="linear", antialias=1)
    assert smoothed.loops() == ("parallel", "parallel", "whole")
    check_tiles(smoothed)
    assert op_of(CROPPED).loops() == ("whole", "whole")


def rows_and_op(op: ResizeOp, begin: int, count: int) -> tuple[tuple[int, int], Any]:
    tile = (*((0, d) for d in (1, 1)), (begin, count), (0, 8))
    box = op.operand_tiles(tile)[0]
    shape = "x".join(str(size) for _, size in box)
    operands = built(ResizeOp, f"{shape}xf32", None, np.float32([1, 1, 2, 2])).operands
    return box[2], op.on_tile(tile, operands)


@pytest.mark.parametrize(
    ("attrs", "rows", "start"),
    [
        # Row 8 of 32 lies at 8 / 2, or at (8 + 1 / 2) / 2 - 1 / 2 = 3 3/4: behind row 3, from which the tile counts.
        ({"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}, (4, 4), (0, 1, 2)),
        ({"mode": "linear"}, (3, 6), (3, 2, 4)),
        ({"mode": "cubic"}, (2, 8), (7, 2, 4)),
    ],
)
def test_inside_a_tile_twice_as_large_is_always_the_same_op(
    attrs: dict[str, str], rows: tuple[int, int], start: tuple[int, int, int]
) -> None:
    op = built(ResizeOp, "1x1x16x4xf32", None, np.float32([1, 1, 2, 2]), **attrs)
    (one, first), (two, second) = rows_and_op(op, 8, 8), rows_and_op(op, 16, 8)
    assert (one, two) == (rows, (rows[0] + 4, rows[1]))
    assert (first.axes, first.grid[:4]) == ((2, 3), (8, *start))
    assert first.properties == second.properties


def test_a_grid_says_the_size() -> None:
    grid = [1, 0, 1, 1, 3, 1, 2, 4]
    assert list(built(ResizeOp, "1x2xf32", grid=grid).y.type.get_shape()) == [1, 3]
    with pytest.raises(VerifyException, match=r"grid must be .* for each of 2 axes.*\(C6\)"):
        built(ResizeOp, "1x2xf32", grid=grid[:7])
    with pytest.raises(VerifyException, match=r"no scales.*\(C6\)"):
        built(ResizeOp, "1x2xf32", None, np.float32([1, 1]), grid=grid)


def test_channels_last_is_cut_along_its_own_axes() -> None:
    op = built(ResizeOp, "3x4x6x2xf32", None, np.float32([1, 1, 2, 2]), data_format="NHWC")
    check_tiles(op)
    assert op.operand_tiles(((0, 3), (2, 2), (0, 12), (1, 1)))[0] == ((0, 3), (1, 1), (0, 6), (1, 1))
