"""Functions of one operand (math.py, trigonometry.py)."""

import numpy as np
import pytest
from xdsl.dialects.builtin import f32, i1, i64
from xdsl.utils.exceptions import VerifyException

from gecc.dialects.ge.dims import symbol, unknown
from gecc.dialects.ge.info import Info

from .elementwise_cases import check_scalar, known, op_of, round_trip, shape_data

N = symbol("N")
FLOATS = ["neg", "abs", "sign", "floor", "ceil", "round", "sqrt", "reciprocal", "exp", "log", "erf"]
ANGLES = ["sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh"]
QUESTIONS = [
    "%y = ge.is_nan %x",
    "%y = ge.is_inf %x",
    "%y = ge.is_inf %x detect_negative 0",
    "%y = ge.is_inf %x detect_positive 0",
    "%y = ge.is_inf %x detect_negative 0 detect_positive 0",
]


@pytest.mark.parametrize(
    "line",
    [f"%y = ge.{name} %x : tensor<?x64xf32> -> tensor<?x64xf32>" for name in FLOATS + ANGLES]
    + [f"{q} : tensor<?x64xf32> -> tensor<?x64xi1>" for q in QUESTIONS]
    + ["%y = ge.not %x : tensor<?x64xi1> -> tensor<?x64xi1>"],
)
def test_text(line: str) -> None:
    round_trip(line)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("%y = ge.exp %x : tensor<4xi32> -> tensor<4xi32>", r"must have floats, got tensor<4xi32> \(C1\)"),
        ("%y = ge.tanh %x : tensor<4xi32> -> tensor<4xi32>", r"must have floats, got tensor<4xi32> \(C1\)"),
        ("%y = ge.is_nan %x : tensor<4xi32> -> tensor<4xi1>", r"must have floats, got tensor<4xi32> \(C1\)"),
        ("%y = ge.not %x : tensor<4xi32> -> tensor<4xi32>", r"must have truth values, got tensor<4xi32> \(C1\)"),
        ("%y = ge.is_nan %x : tensor<4xf32> -> tensor<4xf32>", r"must be tensor<4xi1>.*\(T\)"),
    ],
)
def test_constraint(line: str, message: str) -> None:
    with pytest.raises(VerifyException, match=message):
        op_of(line).verify()


@pytest.mark.parametrize("name", FLOATS + ANGLES)
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_function(name: str, dtype: type) -> None:
    x = np.array([-np.inf, -7, -2.5, -1.5, -0.5, -0.0, 0, 0.5, 0.9, 1, 1.5, 2.5, 9, np.inf, np.nan], dtype)
    type_ = f"tensor<15xf{np.dtype(dtype).itemsize * 8}>"
    check_scalar(f"%y = ge.{name} %x : {type_} -> {type_}", x)


@pytest.mark.parametrize("question", QUESTIONS)
def test_questions(question: str) -> None:
    x = np.array([-np.inf, -1, 0, np.inf, np.nan], np.float32)
    check_scalar(f"{question} : tensor<5xf32> -> tensor<5xi1>", x)


def test_integers_and_truth() -> None:
    x = np.array([-3, 0, 4], np.int32)
    for name in ("neg", "abs", "sign"):
        check_scalar(f"%y = ge.{name} %x : tensor<3xi32> -> tensor<3xi32>", x)
    check_scalar("%y = ge.not %x : tensor<2xi1> -> tensor<2xi1>", np.array([True, False]))


def test_free_dims_and_rank_0() -> None:
    info = op_of("%y = ge.is_nan %x : tensor<?xf32> -> tensor<?xi1>").infer(Info(f32, (N,)))
    assert (info.element, info.dims) == (i1, (N,))
    assert op_of("%y = ge.exp %x : tensor<f32> -> tensor<f32>").infer(Info(f32, ())).dims == ()


def test_shape_arithmetic() -> None:
    def elements(name: str, *given: object) -> list[object] | None:
        return known(f"%y = ge.{name} %x : tensor<3xi64> -> tensor<3xi64>", shape_data(*given))  # pyright: ignore

    assert elements("neg", N, 2, -3) == [-N, -2, 3]
    assert elements("abs", -N, 2, -3) == [N, 2, 3]
    assert elements("sign", N + 1, 0, -3) == [1, 0, -1]
    # An unknown sign is unknown, the rest is kept.
    assert elements("sign", N, 0, -3)[1:] == [0, -1]
    assert elements("abs", unknown(), unknown(), unknown()) is None
    # -2^63 has no counterpart in i64.
    assert elements("neg", -(2**63), 0, 0) is None


def test_known_floats_go_through_what_is_exact() -> None:
    x = Info(f32, (3,), np.array([2.25, -1.5, np.nan], np.float32))
    line = "%y = ge.{} %x : tensor<3xf32> -> tensor<3xf32>"
    np.testing.assert_array_equal(op_of(line.format("floor")).infer(x).data, np.float32([2, -2, np.nan]))
    np.testing.assert_array_equal(op_of(line.format("sqrt")).infer(x).data, np.float32([1.5, np.nan, np.nan]))
    assert op_of(line.format("exp")).infer(x).data is None
    big = Info(i64, (65,), np.zeros(65, np.int64))
    assert op_of("%y = ge.neg %x : tensor<65xi64> -> tensor<65xi64>").infer(big).data is None
