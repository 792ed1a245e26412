"""Gathers, scatters and one-hot (gather.py)."""

import numpy as np
import pytest
from xdsl.dialects.builtin import i64
from xdsl.utils.exceptions import VerifyException

from gecc.dialects.ge.gather import GatherElementsOp, GatherNDOp, GatherOp, OneHotOp, ScatterElementsOp, ScatterNDOp
from gecc.dialects.ge.shapes import RankUnknown

from .movement_cases import (
    M,
    N,
    built,
    check_tiles,
    data,
    elements,
    free,
    ints,
    module_of,
    op_of,
    round_trip,
    said,
    scalar,
)

LINES = [
    "%y = ge.gather %t, %i : tensor<1000x64xf32>, tensor<?x8xi64> -> tensor<?x8x64xf32>",
    "%y = ge.gather %x, %i axis -1 : tensor<?x8xf32>, tensor<i32> -> tensor<?xf32>",
    "%y = ge.gather_elements %x, %i axis 1 : tensor<?x8xf32>, tensor<?x3xi64> -> tensor<?x3xf32>",
    "%y = ge.gather_nd %x, %i : tensor<4x8x16xf32>, tensor<?x2xi64> -> tensor<?x16xf32>",
    "%y = ge.gather_nd %x, %i batch_dims 1 : tensor<4x8x16xf32>, tensor<4x3x1xi64> -> tensor<4x3x16xf32>",
    "%y = ge.scatter_elements %x, %i, %u axis 1 : tensor<?x8xf32>, tensor<?x3xi64>, tensor<?x3xf32> -> tensor<?x8xf32>",
    '%y = ge.scatter_nd %x, %i, %u reduction "add"'
    " : tensor<8x16xf32>, tensor<?x1xi64>, tensor<?x16xf32> -> tensor<8x16xf32>",
    "%y = ge.one_hot %i, %d, %v : tensor<?xi64>, tensor<i64>, tensor<2xf32> -> tensor<?x10xf32>",
]
GATHER, _, ELEMENTS, ND, BATCHED, SCATTER, SCATTER_ND, ONE_HOT = LINES


@pytest.mark.parametrize("line", LINES)
def test_text(line: str) -> None:
    round_trip(line)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (GATHER.replace("8xi64", "8xf32"), r"indices must be of i32 or i64.*\(C1\)"),
        (GATHER.replace("%i :", "%i axis 2 :"), r"axis must be in \[-2, 1\], got 2 \(C2\)"),
        (ELEMENTS.replace("3xi64", "3xi8"), r"indices must be of i32 or i64.*\(C1\)"),
        (ELEMENTS.replace("3xi64", "3x1xi64"), r"one rank.*\(C2\)"),
        (ELEMENTS.replace("axis 1", "axis 2"), r"axis must be in \[-2, 1\].*\(C3\)"),
        (ELEMENTS.replace("axis 1", "axis 0").replace("3x", "9x"), r"dim 1 of the indices must be at most 8.*\(C4\)"),
        (ND.replace("2xi64", "2xi32"), r"indices must be of i64.*\(C1\)"),
        (BATCHED.replace("batch_dims 1", "batch_dims 3"), r"batch_dims must be in \[0, 3\), got 3 \(C2\)"),
        (ND.replace("?x2xi64", "?x?xi64"), r"last dim of the indices must be known.*\(C3\)"),
        (ND.replace("?x2xi64", "?x4xi64"), r"the data must have 4 axes.*\(C3\)"),
        (BATCHED.replace("4x3x1xi64", "5x3x1xi64"), r"the first 1 dims must be equal.*\(C4\)"),
        (SCATTER.replace("3xi64", "3xf32"), r"indices must be of i32 or i64.*\(C1\)"),
        (SCATTER.replace("3xi64", "3x1xi64"), r"one rank.*\(C2\)"),
        (SCATTER.replace("axis 1", "axis 2"), r"axis must be in \[-2, 1\].*\(C3\)"),
        (SCATTER.replace("axis 1", "axis 0").replace("3x", "9x"), r"at most 8.*\(C4\)"),
        (SCATTER.replace("axis 1", 'axis 1 reduction "sub"'), r"reduction must be none, add.*got sub \(C5\)"),
        (SCATTER.replace("3xf32", "4xf32"), r"updates must have the shape of the indices.*\(C5\)"),
        (SCATTER.replace("3xf32", "3xf16"), r"one element type.*\(C5\)"),
        (SCATTER_ND.replace("i64", "i32"), r"indices must be of i64.*\(C1\)"),
        (SCATTER_ND.replace("add", "sub"), r"reduction must be none, add.*\(C2\)"),
        (SCATTER_ND.replace("1xi64", "3xi64"), r"the data must have 3 axes.*\(C3\)"),
        (SCATTER_ND.replace("?x16xf32", "?x15xf32"), r"updates must be tensor<\?x16xf32>.*\(C4\)"),
        (ONE_HOT.replace("tensor<i64>", "tensor<2xi64>"), r"depth must be one element.*\(C1\)"),
        (ONE_HOT.replace("2xf32", "3xf32"), r"values must be a vector of 2.*\(C2\)"),
        (ONE_HOT.replace("%v :", "%v axis 2 :"), r"axis must be in \[-2, 1\].*\(C3\)"),
    ],
)
def test_constraint(line: str, message: str) -> None:
    with pytest.raises(VerifyException, match=message):
        module_of(line).verify()


# ------------------------------------------------------------------ dims


def test_gather_puts_the_axes_of_the_indices_in_place_of_the_axis() -> None:
    op = op_of(GATHER)
    assert said(op.infer(free(N, 64), free(M, 2, element=i64))) == ("M", "2", "64")
    assert said(op.infer(free(N, 64), free(element=i64))) == ("64",)


def test_gather_of_shape_data() -> None:
    op = built(GatherOp, "2xi64", ints(0))
    assert elements(op.infer(data(N, 3), data(-1, 0))) == [3, N]
    one = op.infer(data(N, 3), scalar(0))
    assert (one.dims, elements(one)) == ((), [N])


def test_an_index_out_of_range_is_an_error_of_the_run_only() -> None:
    assert built(GatherOp, "2xi64", ints(0)).infer(data(N, 3), data(2)).data is None


def test_dims_of_gathers_by_several_numbers() -> None:
    assert said(op_of(ELEMENTS).infer(free(N, 8), free(M, 3, element=i64))) == ("M", "3")
    assert said(op_of(ND).infer(free(N, 8, M), free(N, 4, 2, element=i64))) == ("N", "4", "M")
    assert said(op_of(BATCHED).infer(free(N, 8, M), free(4, N, 1, element=i64))) == ("4", "N", "M")


def test_a_rank_that_the_last_dim_of_the_indices_decides_must_be_known() -> None:
    with pytest.raises(RankUnknown):
        op_of(ND).infer(free(4, 8), free(N, M, element=i64))


def test_dims_of_one_hot() -> None:
    op = op_of(ONE_HOT)
    assert said(op.infer(free(N, element=i64), scalar(M), free(2))) == ("N", "M")
    assert said(op.infer(free(N, element=i64), free(element=i64), free(2))) == ("N", "?")
    assert said(op_of(ONE_HOT.replace("%v :", "%v axis 0 :")).infer(free(N, element=i64), data(7), free(2))) == (
        "7",
        "N",
    )


# ------------------------------------------------------------------ tiles and buffers

X = np.arange(60, dtype=np.float32).reshape(4, 3, 5)


@pytest.mark.parametrize(
    ("op", "arrays"),
    [
        (built(GatherOp, "4x3x5xf32", "2x3xi64", axis=1), (X, ints(0, -1, 2, 1, 1, -3).reshape(2, 3))),
        (built(GatherOp, "4x3x5xf32", "i64", axis=-1), (X, np.int64(4))),
        (built(GatherElementsOp, "4x3x5xf32", "3x7x4xi64", axis=-2), (X, np.arange(84).reshape(3, 7, 4) % 6 - 3)),
        (built(GatherNDOp, "4x3x5xf32", "3x2xi64"), (X, ints(0, 1, -1, 2, 3, -3).reshape(3, 2))),
        (built(GatherNDOp, "4x3x5xf32", "4x3x1xi64", batch_dims=1), (X, ints(*range(12)).reshape(4, 3, 1) % 3)),
        (built(GatherNDOp, "4x3x5xf32", "2x3xi64"), (X, ints(0, 1, 4, -1, 2, 3).reshape(2, 3))),
        (
            built(ScatterElementsOp, "4x3x5xf32", "4x2x3xi64", "4x2x3xf32", axis=1),
            (
                X,
                np.tile(ints(2, -3), 12).reshape(4, 3, 2).swapaxes(1, 2),
                -np.arange(24, dtype=np.float32).reshape(4, 2, 3),
            ),
        ),
        (
            built(ScatterElementsOp, "4x5xf32", "1x5xi64", "1x5xf32", reduction="add"),
            (X[:, 0], ints(0, 1, 3, -1, 2).reshape(1, 5), np.ones((1, 5), np.float32)),
        ),
        (
            built(ScatterNDOp, "4x3x5xf32", "2x2xi64", "2x5xf32", reduction="max"),
            (X, ints(0, 1, -1, 2).reshape(2, 2), np.full((2, 5), 30, np.float32)),
        ),
        (built(OneHotOp, "4x3xi64", np.int64(5), np.float32([2, 3]), axis=1), (X[..., 0].astype(np.int64) - 8,)),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_tiles_put_together_are_the_whole(op: object, arrays: tuple[object, ...]) -> None:
    more = () if len(arrays) > 1 else (np.array(5), np.float32([2, 3]))
    check_tiles(op, *arrays, *more)


def test_an_axis_that_the_indices_do_not_cover_is_not_cut() -> None:
    op = built(ScatterElementsOp, "4x5xf32", "4x2xi64", "4x2xf32", axis=0)
    assert op.loops() == ("whole", "whole")


def test_a_scatter_may_lie_over_its_data_unless_it_also_reads_it() -> None:
    assert built(ScatterNDOp, "4x5xf32", "2x1xi64", "2x5xf32").overwrites() == (0,)
    x = built(GatherOp, "4x5xf32", "4xi64").output
    indices = built(GatherOp, "9xi64", "4x1xi64").output
    assert ScatterNDOp(x, indices, x).overwrites() == ()
