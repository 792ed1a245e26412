"""What is picked by value (picking.py)."""

import numpy as np
import pytest
from xdsl.dialects.builtin import i1
from xdsl.utils.exceptions import VerifyException

from gecc.dialects.ge.picking import CompressOp, NonZeroOp, UniqueOp
from gecc.reference import evaluate

from .movement_cases import N, built, free, op_of, round_trip

BOXES, SCORES = "tensor<1x10x4xf32>", "tensor<1x3x10xf32>"


@pytest.mark.parametrize(
    "line",
    [
        "%y = ge.non_zero %x : tensor<2x4xi1> -> tensor<2x?xi64>",
        "%y = ge.compress %x, %c axis 0 : tensor<8x4xf32>, tensor<8xi1> -> tensor<?x4xf32>",
        "%y = ge.compress %x, %c : tensor<8x4xf32>, tensor<9xi1> -> tensor<?xf32>",
        "%y, %i, %j, %n = ge.unique %x : tensor<2x4xf32> -> tensor<?xf32>, tensor<?xi64>, tensor<8xi64>, tensor<?xi64>",
        "%y, %n = ge.unique %x axis 1 sorted 0 : tensor<2x4xf32> -> tensor<2x?xf32>, none, none, tensor<?xi64>",
        f"%y = ge.non_max_suppression %b, %s : {BOXES}, {SCORES} -> tensor<?x3xi64>",
        f"%y = ge.non_max_suppression %b, %s, %m, none, %t center_point_box 1 : {BOXES}, {SCORES}, tensor<1xi64>,"
        " tensor<1xf32> -> tensor<?x3xi64>",
    ],
)
def test_text(line: str) -> None:
    round_trip(line)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("%y = ge.compress %x, %c : tensor<8xf32>, tensor<8xi64> -> tensor<?xf32>", r"truth values.*\(C1\)"),
        ("%y = ge.compress %x, %c axis 1 : tensor<8xf32>, tensor<8xi1> -> tensor<?xf32>", r"axis must be in.*\(C2\)"),
        ("%y = ge.unique %x axis 2 : tensor<2x4xf32> -> tensor<?xf32>", r"axis must be in.*\(C1\)"),
        ("%y = ge.unique %x sorted 2 : tensor<2x4xf32> -> tensor<?xf32>", r"sorted must be 0 or 1.*\(C2\)"),
        (
            f"%y = ge.non_max_suppression %b, %s : {BOXES}, tensor<1x3x9xf32> -> tensor<?x3xi64>",
            r"boxes must be \[batch, n, 4\].*\(C1\)",
        ),
        (
            f"%y = ge.non_max_suppression %b, %s, %m : {BOXES}, {SCORES}, tensor<1xi32> -> tensor<?x3xi64>",
            r"must be of i64, got tensor<1xi32> \(C2\)",
        ),
        (
            f"%y = ge.non_max_suppression %b, %s, %m : {BOXES}, {SCORES}, tensor<2xi64> -> tensor<?x3xi64>",
            r"must be one element.*\(C2\)",
        ),
        (
            f"%y = ge.non_max_suppression %b, %s center_point_box 2 : {BOXES}, {SCORES} -> tensor<?x3xi64>",
            r"center_point_box must be 0 or 1.*\(C3\)",
        ),
    ],
)
def test_constraint(line: str, message: str) -> None:
    with pytest.raises(VerifyException, match=message):
        op_of(line).verify()


def test_what_is_picked_has_a_size_that_nobody_knows() -> None:
    op = built(CompressOp, "?x4xf32", "?xi1", axis=0)
    dims = op.infer(free(N, 4), free(N, element=i1)).dims
    assert str(dims[0]).startswith("?")
    assert dims[1] == 4


def test_every_element_has_its_place_among_the_unique_ones() -> None:
    op = built(UniqueOp, "?x4xf32", results=3)
    _, _, places = op.infer(free(N, 4))
    assert places.dims == (N * 4,)


def test_indices_of_a_constant_are_computed() -> None:
    op = built(NonZeroOp, np.array([[0, 1], [1, 0]]))
    [found] = evaluate(op, [op.operands[0].owner.array()])
    assert found.tolist() == [[0, 1], [1, 0]]
