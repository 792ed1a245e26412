"""
Our own meanings of elementwise ops, where the onnx package's evaluator is wrong or refuses (onnx 1.23), against the
operators' text:

QuantizeLinear, "y = saturate((x / y_scale) + y_zero_point)": it goes through i32 before it saturates, so that 1e10
becomes 0 and not the largest number. What is no number has no integer; here it is the zero point, as for 0.
Mean, "all inputs and outputs must have the same data type. Supports multidirectional broadcasting": it adds to the
first operand in place, which must then be the widest.
CastLike, "round_mode: rounding mode to use when casting to float8e8m0": it has no such attribute.
Erf, of any float: it computes with f32's precision also in f64; so does Gelu, which is made of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import f64
from xdsl.ir import Block

from ..dialects.ge.arithmetic import MeanOp, SumOp
from ..dialects.ge.conversion import CastLikeOp, CastOp
from ..dialects.ge.math import ErfOp
from ..dialects.ge.quantization import QuantizeLinearOp
from ..dialects.ge.smooth import GeluOp
from ..dialects.ge.types import element_of, is_integer, tensor_type

Array = npt.NDArray[Any]


def quantize_linear(op: QuantizeLinearOp, operands: Sequence[Any]) -> list[Any] | None:
    x, scale, zero = (np.asarray(v) if v is not None else None for v in (*operands, None)[:3])
    element = cast(Any, op.results[0].type).element_type
    if not is_integer(element):
        return None
    assert x is not None
    assert scale is not None
    wide = None if op.precision is None else element_of(op.precision).dtype
    divisor = _spread(op, scale, x.shape)
    quotient = x / divisor if wide is None else x.astype(wide) / divisor.astype(wide)
    # In f64 every integer of the types that can be quantised to is exact, and so is the sum.
    moved = np.rint(np.nan_to_num(quotient.astype(np.float64), nan=0.0, posinf=np.inf, neginf=-np.inf))
    if zero is not None:
        moved = moved + _spread(op, zero, x.shape).astype(np.float64)
    bits = element_of(element).bits
    low = 0 if element_of(element).dtype.name.startswith("u") else -(1 << (bits - 1))
    return [np.clip(moved, low, low + (1 << bits) - 1).astype(np.int64).astype(element_of(element).dtype)]


def _spread(op: QuantizeLinearOp, parameter: Array, shape: tuple[int, ...]) -> Array:
    """A scale or zero point against x: one number, one an index of the axis, or one a block of it."""
    kind = op.granularity(parameter.shape)
    if kind == "tensor":
        return parameter.reshape(())
    axis = op.along(len(shape))
    if kind == "axis":
        return parameter.reshape([-1 if k == axis else 1 for k in range(len(shape))])
    repeated = np.repeat(parameter, op.block_size, axis)
    return repeated.take(range(shape[axis]), axis)


def from_left_to_right(op: MeanOp | SumOp, operands: Sequence[Any]) -> list[Any]:
    """The onnx package's Sum starts from 0, so that a lone -0 loses its sign."""
    return [op.scalar(np, *operands)]


def cast_like(op: CastLikeOp, operands: Sequence[Any]) -> list[Any]:
    from .evaluator import evaluate

    x = np.asarray(operands[0])
    (value,) = Block(arg_types=[tensor_type(element_of(x.dtype).type, x.shape)]).args
    return evaluate(CastOp(value, **op.attrs(), to=cast(Any, op.results[0].type).element_type), [x])


_erf = np.vectorize(math.erf, otypes=[np.float64])


def erf(op: ErfOp, operands: Sequence[Any]) -> list[Any] | None:
    return [_erf(operands[0])] if cast(Any, op.results[0].type).element_type == f64 else None


def gelu(op: GeluOp, operands: Sequence[Any]) -> list[Any] | None:
    if cast(Any, op.results[0].type).element_type != f64 or op.approximate != "none":
        return None
    return [operands[0] / 2 * (1 + _erf(operands[0] / math.sqrt(2)))]


ELEMENTWISE: dict[type, Callable[[Any, Sequence[Any]], list[Any] | None]] = {
    CastLikeOp: cast_like,
    ErfOp: erf,
    GeluOp: gelu,
    MeanOp: from_left_to_right,
    QuantizeLinearOp: quantize_linear,
    SumOp: from_left_to_right,
}
