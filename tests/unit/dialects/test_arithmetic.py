"""Arithmetic of two and more operands (arithmetic.py) and operations on bits (bitwise.py)."""

import numpy as np
import pytest
from xdsl.dialects.builtin import f32, i64
from xdsl.utils.exceptions import VerifyException

from gecc.dialects.ge.dims import floordiv, symbol
from gecc.dialects.ge.info import Info
from gecc.dialects.ge.interfaces import flops_of

from .elementwise_cases import check_scalar, known, op_of, round_trip, shape_data

N, M = symbol("N"), symbol("M")
BINARY = ["add", "sub", "mul", "div", "mod", "pow"]
BITS = ["bitwise_and %a, %b", "bitwise_or %a, %b", "bitwise_xor %a, %b"]
SHIFTS = ['bit_shift %a, %b direction "LEFT"', 'bit_shift %a, %b direction "RIGHT"']
VARIADIC = ["min", "max", "sum", "mean"]


@pytest.mark.parametrize(
    "line",
    [f"%y = ge.{name} %a, %b : tensor<?x64xf32>, tensor<64xf32> -> tensor<?x64xf32>" for name in BINARY]
    + [f"%y = ge.{name} : tensor<?x64xi32>, tensor<i32> -> tensor<?x64xi32>" for name in BITS + SHIFTS]
    + [f"%y = ge.{name} %a : tensor<?x64xf32> -> tensor<?x64xf32>" for name in VARIADIC]
    + [f"%y = ge.{name} %a, %b, %c : tensor<2xf32>, tensor<f32>, tensor<3x1xf32> -> tensor<3x2xf32>"
       for name in VARIADIC]
    + [
        "%y = ge.mod %a, %b fmod 1 : tensor<4xf32>, tensor<f32> -> tensor<4xf32>",
        "%y = ge.pow %a, %b : tensor<4xf32>, tensor<i64> -> tensor<4xf32>",
        "%y = ge.bitwise_not %a : tensor<4xi32> -> tensor<4xi32>",
    ],
)  # fmt: skip
def test_text(line: str) -> None:
    round_trip(line)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("%y = ge.add %a, %b : tensor<4xf32>, tensor<4xf16> -> tensor<4xf32>", r"type, got f32 and f16 \(C1\)"),
        ("%y = ge.add %a, %b : tensor<4xf32>, tensor<3xf32> -> tensor<4xf32>", r"to broadcast, got 4 and 3 \(C2\)"),
        ("%y = ge.mod %a, %b fmod 2 : tensor<4xf32>, tensor<f32> -> tensor<4xf32>", r"must be 0 or 1, got 2 \(C3\)"),
        ("%y = ge.pow %a, %b : tensor<4xf32>, tensor<i1> -> tensor<4xf32>", r"have numbers, got tensor<i1> \(C1\)"),
        ("%y = ge.pow %a, %b : tensor<4xf32>, tensor<3xi64> -> tensor<4xf32>", r"to broadcast.*\(C2\)"),
        ('%y = "ge.max"() : () -> tensor<4xf32>', r"at least one operand.*\(C1\)"),
        ("%y = ge.max %a, %b : tensor<4xf32>, tensor<4xf16> -> tensor<4xf32>", r"one element type.*\(C1\)"),
        ("%y = ge.max %a, %b : tensor<4xf32>, tensor<3xf32> -> tensor<4xf32>", r"to broadcast.*\(C2\)"),
        ("%y = ge.mean %a, %b : tensor<4xi32>, tensor<4xi32> -> tensor<4xi32>", r"must have floats, got i32 \(C3\)"),
        ("%y = ge.bitwise_or %a, %b : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>", r"must have integers.*\(C3\)"),
        ("%y = ge.bitwise_not %a : tensor<4xi1> -> tensor<4xi1>", r"must have integers, got tensor<4xi1> \(C1\)"),
        ('%y = ge.bit_shift %a, %b direction "UP" : tensor<4xi32>, tensor<i32> -> tensor<4xi32>',
         r"LEFT or RIGHT, got UP \(C4\)"),
    ],
)  # fmt: skip
def test_constraint(line: str, message: str) -> None:
    with pytest.raises(VerifyException, match=message):
        op_of(line).verify()


@pytest.mark.parametrize("name", BINARY)
def test_floats(name: str) -> None:
    a = np.array([[-7.5, -2, 0, 2, np.inf, np.nan, 3]], np.float32)
    b = np.array([[2], [-3], [0.5], [np.inf], [np.nan]], np.float32)
    check_scalar(f"%y = ge.{name} %a, %b : tensor<1x7xf32>, tensor<5x1xf32> -> tensor<5x7xf32>", a, b)


@pytest.mark.parametrize("dtype", ["i8", "i32", "i64", "ui8", "ui64"])
@pytest.mark.parametrize("name", ["add", "sub", "mul", "div", "mod"])
def test_integers(name: str, dtype: str) -> None:
    signed = not dtype.startswith("u")
    kind = np.dtype(dtype.replace("ui", "uint") if not signed else dtype.replace("i", "int"))
    a = np.array([[100, 7, 6, 0]] if not signed else [[100, 7, -7, -6, 0]]).astype(kind)
    b = np.array([[2], [3], [100]] if not signed else [[2], [3], [-3], [-100]]).astype(kind)
    types = f"tensor<1x?x{dtype}>, tensor<?x1x{dtype}> -> tensor<?x?x{dtype}>"
    check_scalar(f"%y = ge.{name} %a, %b : {types}", a, b)


def test_mod_with_the_sign_of_the_dividend_and_mixed_powers() -> None:
    a, b = np.array([-7, 7, -7, 7], np.float32), np.array([3, 3, -3, -3], np.float32)
    types = "tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>"
    check_scalar(f"%y = ge.mod %a, %b fmod 1 : {types}", a, b)
    check_scalar(
        "%y = ge.mod %a, %b fmod 1 : tensor<4xi32>, tensor<4xi32> -> tensor<4xi32>", a.astype("i"), b.astype("i")
    )
    check_scalar("%y = ge.pow %a, %b : tensor<4xf32>, tensor<4xi64> -> tensor<4xf32>", a, b.astype(np.int64))
    check_scalar(
        "%y = ge.pow %a, %b : tensor<2xi32>, tensor<2xf32> -> tensor<2xi32>", np.int32([2, 9]), np.float32([3, 0.5])
    )


@pytest.mark.parametrize("name", VARIADIC)
def test_variadic(name: str) -> None:
    a, b, c = np.float32([[1, np.nan, -3], [0, 2, 5]]), np.float32([2, 0, 1]), np.float32(0.5)
    types = "tensor<2x3xf32>, tensor<3xf32>, tensor<f32>"
    check_scalar(f"%y = ge.{name} %a, %b, %c : {types} -> tensor<2x3xf32>", a, b, np.array(c))
    check_scalar(f"%y = ge.{name} %a : tensor<2x3xf32> -> tensor<2x3xf32>", a)


@pytest.mark.parametrize("name", BITS)
def test_bits(name: str) -> None:
    a, b = np.array([[-5, 6, 255]], np.int32), np.array([[3], [-1]], np.int32)
    check_scalar(f"%y = ge.{name} : tensor<1x3xi32>, tensor<2x1xi32> -> tensor<2x3xi32>", a, b)
    check_scalar("%y = ge.bitwise_not %a : tensor<3xui8> -> tensor<3xui8>", np.array([0, 5, 255], np.uint8))


@pytest.mark.parametrize("name", SHIFTS)
def test_shifts_beyond_the_width(name: str) -> None:
    a, b = np.array([[-5, 6, 127]], np.int8), np.array([[0], [1], [7], [8], [100], [-1]], np.int8)
    check_scalar(f"%y = ge.{name} : tensor<1x3xi8>, tensor<6x1xi8> -> tensor<6x3xi8>", a, b)
    a, b = np.array([[5, 6, 255]], np.uint8), np.array([[0], [1], [7], [8]], np.uint8)
    check_scalar(f"%y = ge.{name} : tensor<1x3xui8>, tensor<4x1xui8> -> tensor<4x3xui8>", a, b)


def test_free_dims_broadcast() -> None:
    line = "%y = ge.add %a, %b : tensor<?x64xf32>, tensor<?x1xf32> -> tensor<?x64xf32>"
    assert op_of(line).infer(Info(f32, (N, 64)), Info(f32, (N, 1))).dims == (N, 64)
    assert op_of(line).infer(Info(f32, (N, 64)), Info(f32, (8, 1))).dims == (8, 64)
    first = op_of(line).infer(Info(f32, (N, 64)), Info(f32, (M, 1))).dims[0]
    assert first not in (N, M)
    three = "%y = ge.sum %a, %b, %c : tensor<?xf32>, tensor<?xf32>, tensor<f32> -> tensor<?xf32>"
    assert op_of(three).infer(Info(f32, (0,)), Info(f32, (1,)), Info(f32, ())).dims == (0,)


def test_shape_arithmetic() -> None:
    def of(name: str, a: Info, b: Info) -> list[object] | None:
        return known(f"%y = ge.{name} %a, %b : tensor<3xi64>, tensor<3xi64> -> tensor<3xi64>", a, b)

    a, b = shape_data(N, 7, -7), shape_data(2, 2, 2)
    assert of("add", a, b) == [N + 2, 9, -5]
    assert of("sub", a, b) == [N - 2, 5, -9]
    assert of("mul", a, b) == [N * 2, 14, -14]
    assert of("div", a, b) == [floordiv(N, 2), 3, -3]
    assert of("div", shape_data(N * 4, 1, 1), shape_data(N, 1, 1)) == [4, 1, 1]
    assert of("mod", a, b) == [N - floordiv(N, 2) * 2, 1, 1]
    assert of("pow", a, b) == [N * N, 49, 49]
    assert of("max", a, b) == [of("max", a, b)[0], 7, 2]
    assert of("min", shape_data(N, N + 1, 4), shape_data(N + 1, N, -4)) == [N, N, -4]
    assert of("sum", a, b) == [N + 2, 9, -5]
    # Rounding toward zero of what may be negative, and division by zero, are left open.
    assert of("div", shape_data(N - 5, 7, 7), b)[1:] == [3, 3]
    assert of("div", shape_data(1, 1, 1), shape_data(0, 0, 0)) is None
    assert of("mod", shape_data(1, 1, 1), shape_data(0, 0, 0)) is None
    # What wraps in i64 is no dim.
    assert of("mul", shape_data(2**62, 1, 1), shape_data(4, 1, 1)) is None


def test_fmod_of_dims_keeps_the_dividends_sign() -> None:
    line = "%y = ge.mod %a, %b fmod 1 : tensor<2xi64>, tensor<2xi64> -> tensor<2xi64>"
    assert known(line, shape_data(-7, N), shape_data(3, 4)) == [-1, N - floordiv(N, 4) * 4]


def test_known_floats() -> None:
    line = "%y = ge.mul %a, %b : tensor<2xf32>, tensor<f32> -> tensor<2xf32>"
    a, b = Info(f32, (2,), np.float32([32, 48])), Info(f32, (), np.array(0.5, np.float32))
    assert known(line, a, b) == [16.0, 24.0]


def test_cost_and_places() -> None:
    op = op_of("%y = ge.sum %a, %b, %c : tensor<2x3xf32>, tensor<3xf32>, tensor<2x3xf32> -> tensor<2x3xf32>")
    assert flops_of(op) == 2 * 6
    assert op.overwrites() == (0, 2)
    assert op.operand_tiles(((1, 1), (0, 3))) == [((1, 1), (0, 3)), ((0, 3),), ((1, 1), (0, 3))]
    assert (
        op_of("%y = ge.add %a, %b : tensor<2xi64>, tensor<2xi64> -> tensor<2xi64>")
        .infer(shape_data(1, 2), Info(i64, (2,)))
        .data
        is None
    )
