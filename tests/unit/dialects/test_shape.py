"""Shape arithmetic: shapes, and tensors made from a shape or from bounds (shape.py)."""

import numpy as np
import pytest
from xdsl.dialects.builtin import i32, i64
from xdsl.utils.exceptions import VerifyException

from gecc.dialects.ge.shape import ConstantOfShapeOp, RangeOp, ShapeOp, SizeOp
from gecc.dialects.ge.shapes import RankUnknown

from .movement_cases import M, N, built, data, elements, free, ints, module_of, op_of, round_trip, said, scalar

LINES = [
    "%s = ge.shape %x start -2 : tensor<?x8x16xf32> -> tensor<2xi64>",
    "%s = ge.shape %x end 1 : tensor<?x8x16xf32> -> tensor<1xi64>",
    "%n = ge.size %x : tensor<?x8x!ge.string> -> tensor<i64>",
    "%y = ge.constant_of_shape %s : tensor<2xi64> -> tensor<?x8xf32>",
    "%y = ge.constant_of_shape %s value dense<1> : tensor<1xi64> : tensor<2xi64> -> tensor<?x8xi64>",
    '%y = ge.constant_of_shape %s value #ge.bytes<"0000C07F"> : tensor<1xf32> : tensor<2xi64> -> tensor<?x8xf32>',
    '%y = ge.constant_of_shape %s value #ge.bytes<"803F"> : tensor<1xbf16> : tensor<2xi64> -> tensor<?x8xbf16>',
    "%y = ge.range %a, %b, %c : tensor<i64>, tensor<i64>, tensor<i64> -> tensor<?xi64>",
    "%y = ge.range %a, %b, %c stash_type 11 : tensor<f16>, tensor<f16>, tensor<f16> -> tensor<?xf16>",
    "%y = ge.eye_like %x dtype f16 k 1 : tensor<?x8xf32> -> tensor<?x8xf16>",
]
FILL, RANGE, EYE = LINES[4], LINES[7], LINES[9]


@pytest.mark.parametrize("line", LINES)
def test_text(line: str) -> None:
    round_trip(line)


@pytest.mark.parametrize(
    ("line", "constants", "message"),
    [
        (FILL.replace("2xi64", "1x2xi64"), {}, r"input must be a vector of i64.*\(C1\)"),
        (FILL, {"s": ints(2, -1)}, r"no dim can be negative, got \[2, -1\] \(C1\)"),
        (FILL.replace("tensor<1xi64>", "tensor<2xi64>"), {}, r"value must have one element.*\(C2\)"),
        (
            RANGE.replace("tensor<i64>, tensor<i64> ->", "tensor<2xi64>, tensor<i64> ->"),
            {},
            r"limit must be one.*\(C1\)",
        ),
        (RANGE.replace("tensor<i64>, tensor<i64> ->", "tensor<i32>, tensor<i64> ->"), {}, r"one element type.*\(C1\)"),
        (RANGE.replace("i64", "i1"), {}, r"must be numbers, got i1 \(C1\)"),
        (RANGE, {"c": np.int64(0)}, r"delta must not be 0 \(C2\)"),
        (RANGE.replace("%c :", "%c stash_type 2 :"), {}, r"stash_type must be 1 or 11, got 2 \(C3\)"),
        (EYE.replace("?x8x", "?x8x8x"), {}, r"must be a matrix.*\(C1\)"),
        (
            "%y = ge.eye_like %x : tensor<2x2x!ge.string> -> tensor<2x2x!ge.string>",
            {},
            r"number or a truth value.*\(C2\)",
        ),
    ],
)
def test_constraint(line: str, constants: dict[str, object], message: str) -> None:
    with pytest.raises(VerifyException, match=message):
        module_of(line, **constants).verify()


# ------------------------------------------------------------------ what is known of the results


@pytest.mark.parametrize(
    ("start", "end", "want"),
    [(0, None, [N, 8, M]), (-2, None, [8, M]), (1, 2, [8]), (0, -1, [N, 8]), (-9, 9, [N, 8, M]), (2, 1, [])],
)
def test_shape_gives_dims_as_elements(start: int, end: int | None, want: list[object]) -> None:
    info = built(ShapeOp, "?x8x?xf32", start=start, end=end).infer(free(N, 8, M))
    assert (info.dims, elements(info)) == ((len(want),), want)


def test_size_is_the_product() -> None:
    assert elements(built(SizeOp, "?x8xf32").infer(free(N, 8))) == [8 * N]
    assert elements(built(SizeOp, "f32").infer(free())) == [1]


def test_constant_of_shape_is_as_long_as_the_elements_say() -> None:
    op = op_of(FILL)
    assert said(op.infer(data(N, 3))) == ("N", "3")
    assert said(op.infer(free(2, element=i64))) == ("?", "?")
    assert elements(op.infer(data(3))) == [1, 1, 1]
    assert elements(built(ConstantOfShapeOp, ints(2, 0)).infer(data(2, 0))) == []
    with pytest.raises(RankUnknown, match="length of input must be known"):
        op.infer(free(N, element=i64))


@pytest.mark.parametrize(
    ("bounds", "dims", "known"),
    [
        ((0, 4, 1), ("4",), [0, 1, 2, 3]),
        ((10, 4, -2), ("3",), [10, 8, 6]),
        ((4, 0, 1), ("0",), []),
        ((0, N, 1), ("N",), None),
        ((0, 4 * N, 2), ("2*N",), None),
        ((M, N, 1), ("max(-1*M + N, 0)",), None),
        ((N, 0, -1), ("N",), None),
        ((N, N + 2, 1), ("2",), [N, N + 1]),
        ((0, 10**9, 1), ("1000000000",), None),
    ],
)
def test_range_over_symbols(bounds: tuple[int, ...], dims: tuple[str, ...], known: list[object] | None) -> None:
    info = op_of(RANGE).infer(*map(scalar, bounds))
    assert (said(info), elements(info)) == (dims, known)


def test_range_of_bounds_that_a_run_gives() -> None:
    assert said(op_of(RANGE).infer(scalar(0), free(element=i64), scalar(1))) == ("?",)
    assert said(op_of(RANGE).infer(scalar(0), scalar(4), free(element=i64))) == ("?",)


def test_range_of_floats_counts_as_onnx_does() -> None:
    def count(*bounds: float) -> tuple[str, ...]:
        return said(built(RangeOp, *(np.float32(b) for b in bounds)).inferred()[0])

    assert count(0, 1, 0.1) == ("10",)
    assert count(1, 0, 0.5) == ("0",)
    assert count(0, float("inf"), 1) == ("?",)
    # In halves 2048 + 1 is 2048, and so would be the difference.
    assert said(built(RangeOp, *np.array([-1, 2048, 1], np.float16)).inferred()[0]) == ("2049",)


def test_eye_like_has_the_input_s_type_unless_told() -> None:
    line = "%y = ge.eye_like %x : tensor<?x8xi32> -> tensor<?x8xi32>"
    assert op_of(line).infer(free(N, 8, element=i32)).element == i32
