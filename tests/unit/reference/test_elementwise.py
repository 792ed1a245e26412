"""Meanings of our own where the onnx package's evaluator is wrong or refuses; where it is right, the same."""

import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from xdsl.dialects.builtin import f16, f64
from xdsl.dialects.test import TestOp as Source

from gecc.dialects.ge.arithmetic import MeanOp
from gecc.dialects.ge.conversion import CastLikeOp, CastOp
from gecc.dialects.ge.math import ErfOp
from gecc.dialects.ge.quantization import QuantizeLinearOp
from gecc.dialects.ge.resize import ResizeOp
from gecc.dialects.ge.smooth import GeluOp
from gecc.dialects.ge.types import element_of, tensor_type
from gecc.reference import evaluate
from gecc.reference.evaluator import _as_onnx


def made(cls: Any, *arrays: Any, **attrs: Any) -> tuple[Any, list[Any]]:
    """An op on values of the arrays' types, and the arrays that are there."""
    there = [a for a in arrays if a is not None]
    values = iter(Source(result_types=[tensor_type(element_of(a.dtype).type, a.shape) for a in there]).results)
    return cls(*(None if a is None else next(values) for a in arrays), **attrs), there


def result(cls: Any, *arrays: Any, **attrs: Any) -> Any:
    op, there = made(cls, *arrays, **attrs)
    (found,) = evaluate(op, there)
    return found


def f32(*values: float) -> np.ndarray:
    return np.array(values, np.float32)


def test_what_is_out_of_range_is_the_largest_or_smallest_number():
    x = f32(1e10, -1e10, np.inf, -np.inf, 2.5, -0.4)
    for zero, wanted in (
        (np.uint8(3), [255, 0, 255, 0, 255, 0]),
        (np.int8(-1), [127, -128, 127, -128, 127, -128]),
        (np.int16(7), [32767, -32768, 32767, -32768, 2507, -393]),
    ):
        found = result(QuantizeLinearOp, x, np.array(0.001, np.float32), np.array(zero))
        assert (found.dtype, found.tolist()) == (zero.dtype, wanted)


def test_the_nearest_even_number_and_none_for_no_number():
    assert result(QuantizeLinearOp, f32(0.5, 1.5, 2.5, -0.5, np.nan), f32(1)).tolist() == [0, 2, 2, 0, 0]


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.uint16, ml_dtypes.int4, ml_dtypes.uint4])
@pytest.mark.parametrize(
    ("shape", "attrs"),
    [((), {}), ((1,), {}), ((4,), {"axis": 1}), ((3,), {"axis": -2}), ((3, 2, 6), {"block_size": 2, "axis": 1})],
)
def test_in_range_it_is_what_onnx_says(dtype: Any, shape: tuple[int, ...], attrs: dict[str, int]):
    random = np.random.default_rng(0)
    x = (
        random.standard_normal((3, 4, 6)).astype(np.float32)
        if shape != (3,)
        else random.standard_normal((3, 4)).astype("f")
    )
    scale = random.uniform(0.1, 0.5, shape).astype(np.float32)
    zero = random.integers(0, 3, shape).astype(dtype)
    op, there = made(QuantizeLinearOp, x, scale, zero, **attrs)
    (wanted,) = _as_onnx(op, there, {})
    np.testing.assert_array_equal(evaluate(op, there)[0].astype(int), wanted.astype(int))


def test_quantised_to_small_floats_is_left_to_onnx():
    zero = np.zeros((), ml_dtypes.float8_e4m3fn)
    assert result(QuantizeLinearOp, f32(1, 1000), f32(1).reshape(()), zero).astype(float).tolist() == [1, 448]


def test_the_precision_of_the_division():
    x, scale = f32(2049), f32(1)
    assert result(QuantizeLinearOp, x, scale, np.zeros(1, np.uint16)).tolist() == [2049]
    assert result(QuantizeLinearOp, x, scale, np.zeros(1, np.uint16), precision=f16).tolist() == [2048]


def test_a_mean_of_what_broadcasts():
    wide = np.arange(12, dtype=np.float32).reshape(3, 4)
    for operands in ((f32(1, 2, 3, 4), wide), (wide, f32(1, 2, 3, 4)), (f32(1), f32(3), wide[:, :1])):
        op, there = made(MeanOp, *operands)
        np.testing.assert_array_equal(evaluate(op, there)[0], sum(operands) / np.float32(len(operands)))
    half = result(MeanOp, np.array([1, 2], np.float16), np.array([[3], [4]], np.float16))
    assert half.dtype == np.float16


@pytest.mark.parametrize(("mode", "wanted"), [("up", [1, 4, 8, 16]), ("down", [1, 2, 4, 8]), ("nearest", [1, 4, 4, 8])])
def test_cast_like_rounds_as_cast(mode: str, wanted: list[float]):
    like = np.ones(1, ml_dtypes.float8_e8m0fnu)
    found = result(CastLikeOp, f32(1, 3, 5, 9), like, round_mode=mode)
    assert found.dtype == like.dtype
    assert found.astype(float).tolist() == wanted
    cast = result(CastOp, f32(1, 3, 5, 9), to=element_of(like.dtype).type, round_mode=mode)
    assert cast.astype(float).tolist() == wanted


def test_cast_like_of_plain_numbers():
    assert result(CastLikeOp, f32(1.5, -2.5), np.zeros(3, np.int32)).tolist() == [1, -2]
    assert result(CastLikeOp, f32(1000, 1), np.zeros(1, ml_dtypes.float8_e4m3fn), saturate=1).astype(
        float
    ).tolist() == [448, 1]


def test_erf_of_doubles_is_one_of_doubles():
    x = np.array([0.1, 0.5, -1, 2, np.inf, 1e-300])
    assert result(ErfOp, x).tolist() == [math.erf(v) for v in x]
    wanted = [v / 2 * (1 + math.erf(v / math.sqrt(2))) for v in x[:4]]
    np.testing.assert_allclose(result(GeluOp, x[:4]), wanted, rtol=1e-15)
    assert result(ErfOp, f32(0.5)).dtype == np.float32
    op, there = made(GeluOp, x[:4], approximate="tanh")
    np.testing.assert_array_equal(evaluate(op, there)[0], _as_onnx(op, there, {})[0])
    assert op.results[0].type.element_type == f64


def test_a_roi_of_no_elements_is_none():
    x, scales = np.arange(4, dtype=np.float32).reshape(1, 1, 2, 2), f32(1, 1, 2, 2)
    for attrs in ({"mode": "nearest"}, {"mode": "linear"}, {"mode": "cubic"}):
        with_roi = result(ResizeOp, x, f32(), scales, None, **attrs)
        np.testing.assert_array_equal(with_roi, result(ResizeOp, x, None, scales, None, **attrs))
