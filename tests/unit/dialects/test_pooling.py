"""Pooling (pooling.py)."""

from typing import Any

import numpy as np
import pytest
from xdsl.utils.exceptions import VerifyException

from gecc.dialects.ge.dims import evaluate, symbol
from gecc.dialects.ge.pooling import AveragePoolOp, MaxPoolOp
from gecc.reference import evaluate as reference

from .movement_cases import N, built, check_tiles, free, op_of, round_trip, said

X = "tensor<2x4x9x9xf32>"
H = symbol("H")


@pytest.mark.parametrize(
    "line",
    [
        f"%y = ge.max_pool %x kernel_shape [3, 3] : {X} -> tensor<2x4x7x7xf32>",
        f"%y = ge.max_pool %x strides [2, 2] pads [1, 1, 1, 1] kernel_shape [3, 3] : {X} -> tensor<2x4x5x5xf32>",
        f"%y = ge.max_pool %x strides [2, 2] kernel_shape [2, 2] ceil_mode 1 : {X} -> tensor<2x4x5x5xf32>",
        "%y, %i = ge.max_pool %x kernel_shape [3, 3] storage_order 1"
        f" : {X} -> tensor<2x4x7x7xf32>, tensor<2x4x7x7xi64>",
        f'%y = ge.average_pool %x data_format "NHWC" kernel_shape [2, 2] : {X} -> tensor<2x3x8x9xf32>',
        f"%y = ge.average_pool %x kernel_shape [2, 2] count_include_pad 1 : {X} -> tensor<2x4x8x8xf32>",
        f"%y = ge.lp_pool %x kernel_shape [2, 2] p 3 : {X} -> tensor<2x4x8x8xf32>",
        f"%y = ge.global_average_pool %x : {X} -> tensor<2x4x1x1xf32>",
        f'%y = ge.global_max_pool %x data_format "NHWC" : {X} -> tensor<2x1x1x9xf32>',
        f"%y = ge.global_lp_pool %x p 1 : {X} -> tensor<2x4x1x1xf32>",
    ],
)
def test_text(line: str) -> None:
    round_trip(line)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("%y = ge.max_pool %x kernel_shape [3] : tensor<2x4xf32> -> tensor<2x4xf32>", r"spatial axes.*\(C1\)"),
        (f"%y = ge.max_pool %x kernel_shape [3] : {X} -> {X}", r"kernel_shape must have 2 entries.*\(C2\)"),
        (f"%y = ge.max_pool %x kernel_shape [3, -1] : {X} -> {X}", r"kernel_shape must be positive.*\(C2\)"),
        (f'%y = ge.max_pool %x auto_pad "FULL" kernel_shape [3, 3] : {X} -> {X}', r"auto_pad must be.*FULL \(C3\)"),
        (f'%y = ge.max_pool %x data_format "NCW" kernel_shape [3, 3] : {X} -> {X}', r"data_format must be.*\(C4\)"),
        (f"%y = ge.max_pool %x kernel_shape [3, 10] : {X} -> {X}", r"a window of 10 must fit into 9.*\(C5\)"),
        (f"%y = ge.max_pool %x kernel_shape [1, 1] storage_order 2 : {X} -> {X}", r"storage_order must be.*\(C6\)"),
        (f"%y = ge.lp_pool %x kernel_shape [1, 1] p 0 : {X} -> {X}", r"p must be positive, got 0 \(C6\)"),
        ("%y = ge.global_max_pool %x : tensor<2x4xf32> -> tensor<2x4xf32>", r"spatial axes.*\(C1\)"),
        (f'%y = ge.global_max_pool %x data_format "N" : {X} -> {X}', r"data_format must be.*\(C2\)"),
        (f"%y = ge.global_lp_pool %x p 0 : {X} -> tensor<2x4x1x1xf32>", r"p must be positive.*\(C3\)"),
    ],
)
def test_constraint(line: str, message: str) -> None:
    with pytest.raises(VerifyException, match=message):
        op_of(line).verify()


def test_a_kernel_must_be_given() -> None:
    with pytest.raises(VerifyException, match="kernel_shape"):
        op_of(f"%y = ge.max_pool %x : {X} -> {X}").verify()


@pytest.mark.parametrize(
    ("size", "attributes", "count"),
    [
        # floor and ceil of (9 - 2) / 2, plus one
        (9, {"strides": [2]}, 4),
        (9, {"strides": [2], "ceil_mode": 1}, 5),
        # ceil of (4 + 1 - 2) / 2 is 2: a third window would start at 4, in the padding after the data
        (4, {"strides": [2], "pads": [0, 1], "ceil_mode": 1}, 2),
        (5, {"strides": [4], "auto_pad": "VALID"}, 1),
        (5, {"strides": [4], "auto_pad": "VALID", "ceil_mode": 1}, 2),
        (5, {"strides": [2], "auto_pad": "SAME_UPPER", "ceil_mode": 1}, 3),
    ],
)
def test_positions(size: int, attributes: dict[str, Any], count: int) -> None:
    op = built(MaxPoolOp, f"1x1x{size}xf32", kernel_shape=[2], **attributes)
    assert op.results[0].type.get_shape() == (1, 1, count)
    assert reference(op, [np.zeros((1, 1, size), np.float32)])[0].shape == (1, 1, count)


def test_dims_of_free_sizes() -> None:
    op = built(MaxPoolOp, "?x4x?x9xf32", kernel_shape=[3, 3], strides=[2, 2], pads=[0, 0, 1, 1], ceil_mode=1)
    height = op.infer(free(N, 4, H, 9))[0].dims[2]
    for h in (2, 3, 8, 9):
        known = built(MaxPoolOp, f"1x1x{h}x9xf32", kernel_shape=[3, 3], strides=[2, 2], pads=[0, 0, 1, 1], ceil_mode=1)
        assert evaluate(height, {"H": h}) == known.results[0].type.get_shape()[2]


def test_nothing_is_said_of_a_count_that_may_lose_its_last_window() -> None:
    op = built(MaxPoolOp, "?x4x?xf32", kernel_shape=[2], strides=[2], pads=[0, 1], ceil_mode=1)
    assert said(op.infer(free(N, 4, H))[0]) == ("N", "4", "?")


def test_indices_are_of_the_whole() -> None:
    op = built(MaxPoolOp, "2x1x2x3xf32", kernel_shape=[2, 2], results=2)
    assert op.loops()[:4] == ("whole",) * 4
    x = np.array([[[[1, 5, 2], [0, 5, 9]]], [[[7, 0, 0], [0, 0, 3]]]], np.float32)
    y, indices = reference(op, [x])
    assert (y.ravel().tolist(), indices.ravel().tolist()) == ([5, 9, 7, 3], [1, 5, 6, 11])
    by_columns = built(MaxPoolOp, "2x1x2x3xf32", kernel_shape=[2, 2], storage_order=1, results=2)
    assert reference(by_columns, [x])[1].ravel().tolist() == [2, 5, 6, 11]


def test_a_divisor_does_not_change_at_a_border() -> None:
    # The last window ends past the padding: what is there does not count, and would in a tile.
    op = built(AveragePoolOp, "1x1x4xf32", kernel_shape=[3], strides=[2], ceil_mode=1, count_include_pad=1)
    assert op.loops()[:3] == ("parallel", "parallel", "whole")
    assert reference(op, [np.ones((1, 1, 4), np.float32)])[0].tolist() == [[[1, 1]]]
    inside = built(AveragePoolOp, "1x1x4xf32", kernel_shape=[3], pads=[1, 1], count_include_pad=1)
    assert inside.loops()[:3] == ("parallel",) * 3
    assert reference(inside, [np.full((1, 1, 4), 3, np.float32)])[0].tolist() == [[[2, 3, 3, 2]]]


def test_padding_is_left_out_or_counts() -> None:
    x = np.full((1, 1, 2), -6, np.float32)
    assert reference(built(MaxPoolOp, "1x1x2xf32", kernel_shape=[2], pads=[1, 1]), [x])[0].tolist() == [[[-6, -6, -6]]]
    for counts, expected in ((0, [-6, -6, -6]), (1, [-3, -6, -3])):
        op = built(AveragePoolOp, "1x1x2xf32", kernel_shape=[2], pads=[1, 1], count_include_pad=counts)
        assert reference(op, [x])[0].tolist() == [[expected]]


def test_tiles() -> None:
    check_tiles(built(MaxPoolOp, "2x3x7x8xf32", kernel_shape=[3, 2], strides=[2, 3], pads=[1, 1, 0, 0], ceil_mode=1))
    check_tiles(op_of(f"%y = ge.global_average_pool %x : {X} -> tensor<2x4x1x1xf32>"))


def test_work() -> None:
    assert built(MaxPoolOp, "2x3x8x8xf32", kernel_shape=[3, 3], strides=[2, 2]).flops() == 2 * 3 * 3 * 3 * 9
    op = op_of(f"%y = ge.global_average_pool %x : {X} -> tensor<2x4x1x1xf32>")
    assert (op.reduced_axes(), op.flops()) == ((2, 3), 2 * 4 * 9 * 9)
