"""Conversion between element types, with and without a scale (conversion.py, quantization.py)."""

import itertools
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from xdsl.dialects.builtin import f16, f32, i1, i8, i32
from xdsl.utils.exceptions import VerifyException

from gecc.dialects.ge.dims import ceildiv, symbol
from gecc.dialects.ge.info import Info
from gecc.dialects.ge.quantization import UI8
from gecc.reference import evaluate

from .elementwise_cases import check_scalar, known, op_of, round_trip, shape_data

N = symbol("N")


@pytest.mark.parametrize(
    "line",
    [
        "%y = ge.cast %x to f16 : tensor<?x64xf32> -> tensor<?x64xf16>",
        "%y = ge.cast %x to f8E4M3FN saturate 0 : tensor<?x64xf32> -> tensor<?x64xf8E4M3FN>",
        '%y = ge.cast %x to f8E8M0FNU round_mode "down" : tensor<?x64xf32> -> tensor<?x64xf8E8M0FNU>',
        "%y = ge.cast %x to !ge.string : tensor<?x64xf32> -> tensor<?x64x!ge.string>",
        "%y = ge.cast_like %x, %t : tensor<?x64xf32>, tensor<3xf16> -> tensor<?x64xf16>",
        "%y = ge.quantize_linear %x, %s : tensor<?x64xf32>, tensor<f32> -> tensor<?x64xui8>",
        "%y = ge.quantize_linear %x, %s output_dtype i4 precision f32 : tensor<?x4xf16>, tensor<f16> -> tensor<?x4xi4>",
        "%y = ge.quantize_linear %x, %s, %z axis 0 : tensor<8x4xf32>, tensor<8xf32>, tensor<8xi8> -> tensor<8x4xi8>",
        "%y = ge.quantize_linear %x, %s axis 0 block_size 3 : tensor<8x4xf32>, tensor<3x4xf32> -> tensor<8x4xui8>",
        "%y = ge.dequantize_linear %x, %s, %z : tensor<?x64xi8>, tensor<f32>, tensor<i8> -> tensor<?x64xf32>",
        "%y = ge.dequantize_linear %x, %s axis -1 : tensor<?x64xi8>, tensor<64xf16> -> tensor<?x64xf16>",
        "%y = ge.dequantize_linear %x, %s output_dtype f16 : tensor<4xi32>, tensor<1xf32> -> tensor<4xf16>",
        "%y, %s, %z = ge.dynamic_quantize_linear %x : tensor<?x64xf32> -> tensor<?x64xui8>, tensor<f32>, tensor<ui8>",
    ],
)
def test_text(line: str) -> None:
    round_trip(line)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('%y = ge.cast %x to f16 round_mode "even" : tensor<4xf32> -> tensor<4xf16>', r"nearest, got even \(C1\)"),
        ('%y = ge.cast_like %x, %t round_mode "even" : tensor<4xf32>, tensor<f16> -> tensor<4xf16>', r"even \(C1\)"),
        ("%y = ge.quantize_linear %x, %s axis 2 : tensor<4x3xf32>, tensor<3xf32> -> tensor<4x3xui8>",
         r"axis must be in \[-2, 1\], got 2 \(C1\)"),
        ("%y = ge.quantize_linear %x, %s : tensor<4x3xf32>, tensor<4xf32> -> tensor<4x3xui8>",
         r"the scale must be one number or have the shape \[3\], got tensor<4xf32> \(C2\)"),
        ("%y = ge.quantize_linear %x, %s : tensor<f32>, tensor<4xf32> -> tensor<ui8>", r"axis must be.*\(C1\)"),
        ("%y = ge.dequantize_linear %x, %s : tensor<4x3xi8>, tensor<4x3xf32> -> tensor<4x3xf32>", r"the scale.*\(C2\)"),
        ("%y = ge.dequantize_linear %x, %s block_size 2 : tensor<4x5xi8>, tensor<4x2xf32> -> tensor<4x5xf32>",
         r"\[4, 3\], got tensor<4x2xf32> \(C2\)"),
        ("%y = ge.dequantize_linear %x, %s block_size -2 : tensor<4x5xi8>, tensor<4x2xf32> -> tensor<4x5xf32>",
         r"block_size must not be negative, got -2 \(C2\)"),
        ("%y = ge.quantize_linear %x, %s, %z : tensor<4xf32>, tensor<f32>, tensor<4xi8> -> tensor<4xi8>",
         r"the zero point must have the scale's shape, got tensor<4xi8> for tensor<f32> \(C3\)"),
        ("%y = ge.quantize_linear %x, %s, %z : tensor<4xf32>, tensor<4xf32>, tensor<i8> -> tensor<4xi8>",
         r"the zero point must have the scale's shape, got tensor<i8> for tensor<4xf32> \(C3\)"),
        ("%y = ge.quantize_linear %x, %s, %z output_dtype i8 : tensor<4xf32>, tensor<f32>, tensor<ui8> -> tensor<4xi8>",
         r"output_dtype must be the zero point's type ui8, got i8 \(C4\)"),
        ("%y = ge.dequantize_linear %x, %s, %z : tensor<4xi8>, tensor<f32>, tensor<ui8> -> tensor<4xf32>",
         r"one element type, got i8 and ui8 \(C4\)"),
        ("%y, %s, %z = ge.dynamic_quantize_linear %x : tensor<4xf16> -> tensor<4xui8>, tensor<f32>, tensor<ui8>",
         r"must have f32, got tensor<4xf16> \(C1\)"),
    ],
)  # fmt: skip
def test_constraint(line: str, message: str) -> None:
    with pytest.raises(VerifyException, match=message):
        op_of(line).verify()


NUMBERS = {
    "f32": np.array([-3.7, -0.0, 0.3, 1, 2.5, 100, 117], np.float32),
    "f16": np.array([-3.7, -0.0, 0.3, 1, 2.5, 100, 117], np.float16),
    "bf16": np.array([-3.7, -0.0, 0.3, 1, 2.5, 100, 117], ml_dtypes.bfloat16),
    "i32": np.array([-300, -1, 0, 1, 7, 200, 70000], np.int32),
    "ui8": np.array([0, 1, 2, 7, 100, 200, 255], np.uint8),
    "i1": np.array([True, False, True, True, False, False, True]),
}
TYPES = ["f32", "f16", "bf16", "f64", "i8", "i64", "i1"]


@pytest.mark.parametrize(("given", "to"), list(itertools.product(NUMBERS, TYPES)))
def test_cast(given: str, to: str) -> None:
    check_scalar(f"%y = ge.cast %x to {to} : tensor<7x{given}> -> tensor<7x{to}>", NUMBERS[given])


@pytest.mark.parametrize("saturate", ["", " saturate 0"])
@pytest.mark.parametrize("to", ["f8E4M3FN", "f8E4M3FNUZ", "f8E5M2", "f8E5M2FNUZ"])
def test_cast_to_float8(to: str, saturate: str) -> None:
    x = np.array([-np.inf, -1e6, -1.1, -0.0, 0.3, 460, 1e6, np.inf, np.nan], np.float32)
    check_scalar(f"%y = ge.cast %x to {to}{saturate} : tensor<9xf32> -> tensor<9x{to}>", x)


@pytest.mark.parametrize("saturate", ["", " saturate 0"])
@pytest.mark.parametrize("mode", ["up", "down", "nearest"])
def test_cast_to_a_power_of_two(mode: str, saturate: str) -> None:
    x = np.array([2.0**-20, 0.3, 0.75, 1, 1.25, 1.5, 1.75, 2, 3, 1000, 2.0**100, np.nan], np.float32)
    how = f'{saturate} round_mode "{mode}"' if mode != "up" else saturate
    check_scalar(f"%y = ge.cast %x to f8E8M0FNU{how} : tensor<12xf32> -> tensor<12xf8E8M0FNU>", x)


def test_the_ends_of_the_powers_of_two() -> None:
    # ONNX's table; its evaluator turns infinity into not a number.
    x = np.array([0, np.inf, 2.0**127 * 1.5], np.float32)
    op = op_of("%y = ge.cast %x to f8E8M0FNU : tensor<3xf32> -> tensor<3xf8E8M0FNU>")
    assert op.scalar(np, x).astype(float).tolist() == [2.0**-127, 2.0**127, 2.0**127]
    op = op_of("%y = ge.cast %x to f8E8M0FNU saturate 0 : tensor<3xf32> -> tensor<3xf8E8M0FNU>")
    assert np.isnan(op.scalar(np, x).astype(float)).all()


def test_shape_arithmetic_through_casts() -> None:
    def cast(to: str, x: Info) -> list[Any] | None:
        return known(f"%y = ge.cast %x to {to} : {x.type} -> tensor<{x.dims[0]}x{to}>", x)

    assert cast("i32", shape_data(N, 3)) == [N, 3]
    assert cast("i1", shape_data(N + 1, 0)) == [True, False]
    assert cast("i64", Info(i1, (2,), np.array([True, False]))) == [1, 0]
    assert cast("f32", shape_data(3, 4)) == [3.0, 4.0]
    assert cast("i64", Info(f32, (2,), np.float32([2.7, -2.7]))) == [2, -2]
    assert cast("i1", Info(f32, (2,), np.float32([0, 0.5]))) == [False, True]
    # What is not exact, or an expression in a float, is not known.
    assert cast("f32", shape_data(2**24 + 1, 4)) is None
    assert cast("f32", shape_data(N, 4)) is None
    assert cast("i32", shape_data(2**40, 4)) is None
    assert cast("i64", Info(f32, (1,), np.float32([np.inf]))) is None
    assert cast("i8", shape_data(1, 2)) is None
    like = "%y = ge.cast_like %x, %t : tensor<2xi64>, tensor<f32> -> tensor<2xf32>"
    assert known(like, shape_data(3, 4), Info(f32, ())) == [3.0, 4.0]


def test_free_dims() -> None:
    dims = (N, 64)
    assert op_of("%y = ge.cast %x to f16 : tensor<?x64xf32> -> tensor<?x64xf16>").infer(Info(f32, dims)).dims == dims
    per_axis = op_of("%y = ge.dequantize_linear %x, %s : tensor<?x?xi8>, tensor<64xf16> -> tensor<?x64xf16>")
    info = per_axis.infer(Info(i8, (N, symbol("C"))), Info(f16, (64,)), None)
    assert (info.element, info.dims) == (f16, dims)
    blocked = op_of("%y = ge.quantize_linear %x, %s block_size 4 : tensor<2x?xf32>, tensor<2x?xf32> -> tensor<2x?xui8>")
    info = blocked.infer(Info(f32, (2, N)), Info(f32, (2, ceildiv(N, 4))), None)
    assert (info.element, info.dims) == (UI8, (2, N))
    y, scale, zero = op_of(
        "%y, %s, %z = ge.dynamic_quantize_linear %x : tensor<?xf32> -> tensor<?xui8>, tensor<f32>, tensor<ui8>"
    ).infer(Info(f32, (N,)))
    assert [(i.element, i.dims) for i in (y, scale, zero)] == [(UI8, (N,)), (f32, ()), (UI8, ())]
    assert (
        op_of("%y = ge.dequantize_linear %x, %s : tensor<i32>, tensor<f32> -> tensor<f32>")
        .infer(Info(i32, ()), Info(f32, ()), None)
        .dims
        == ()
    )


def put_together(line: str, arrays: list[Any], tile: tuple[int, ...]) -> None:
    """Tiles of `tile` elements, computed one by one and put together, are the whole."""
    op = op_of(line)
    whole = evaluate(op, arrays)[0]
    made = np.zeros_like(whole)
    steps = [range(0, d, t) for d, t in zip(whole.shape, tile, strict=True)]
    cut: Callable[[Any], tuple[slice, ...]] = lambda box: tuple(slice(o, o + n) for o, n in box)  # noqa: E731
    for corner in itertools.product(*steps):
        box = tuple((o, min(t, d - o)) for o, t, d in zip(corner, tile, whole.shape, strict=True))
        parts = [a[cut(b)] for a, b in zip(arrays, op.operand_tiles(box), strict=True)]
        types = [
            f"tensor<{''.join(f'{d}x' for d in p.shape)}{v.type.element_type}>"
            for p, v in zip(parts, op.operands, strict=True)
        ]
        named = line.partition(" : ")[0]
        result = f"tensor<{''.join(f'{n}x' for _, n in box)}{op.results[0].type.element_type}>"
        operands = op_of(f"{named} : {', '.join(types)} -> {result}").operands
        on_tile = op.on_tile(box, operands)
        on_tile.verify()
        made[cut(box)] = evaluate(on_tile, parts)[0]
    np.testing.assert_array_equal(made, whole)


X = np.linspace(-4, 4, 35, dtype=np.float32).reshape(5, 7)
Q = np.arange(-17, 18, dtype=np.int8).reshape(5, 7)


@pytest.mark.parametrize("tile", [(2, 3), (5, 1), (1, 7)])
def test_tiles(tile: tuple[int, int]) -> None:
    s, z = np.float32([0.5, 0.1, 0.2, 1, 2]), np.int8([1, -1, 0, 3, 0])
    put_together(
        "%y = ge.cast_like %x, %t : tensor<5x7xf32>, tensor<3xf16> -> tensor<5x7xf16>",
        [X, np.zeros(3, np.float16)],
        tile,
    )
    put_together(
        "%y = ge.quantize_linear %x, %s, %z : tensor<5x7xf32>, tensor<f32>, tensor<i8> -> tensor<5x7xi8>",
        [X, s[1], z[1]],
        tile,
    )
    put_together(
        "%y = ge.quantize_linear %x, %s, %z axis 0 : tensor<5x7xf32>, tensor<5xf32>, tensor<5xi8> -> tensor<5x7xi8>",
        [X, s, z],
        tile,
    )
    put_together(
        "%y = ge.dequantize_linear %x, %s, %z axis -2 : tensor<5x7xi8>, tensor<5xf32>, tensor<5xi8> -> tensor<5x7xf32>",
        [Q, s, z],
        tile,
    )
    put_together("%y = ge.dequantize_linear %x, %s : tensor<5x7xi8>, tensor<1xf32> -> tensor<5x7xf32>",
                 [Q, s[:1]], tile)  # fmt: skip


def test_a_blocked_axis_is_not_cut() -> None:
    scale = np.linspace(0.1, 1, 15, dtype=np.float32).reshape(5, 3)
    line = "%y = ge.dequantize_linear %x, %s block_size 3 : tensor<5x7xi8>, tensor<5x3xf32> -> tensor<5x7xf32>"
    assert op_of(line).loops() == ("parallel", "whole")
    put_together(line, [Q, scale], (2, 7))


def test_flops() -> None:
    line = "%y = ge.dequantize_linear %x, %s : tensor<5x7xi8>, tensor<1xf32> -> tensor<5x7xf32>"
    assert op_of(line).flops() == 4 * 35
