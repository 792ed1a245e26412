"""
Meanings whose sums are exact, so that an element has the same bits in whatever order, shape or layout it is computed.

    evaluate           rows [0, 8) of a product, and the product of rows [0, 8): BLAS adds up in another order for
                       another shape, so their last bits differ
    evaluate_exactly   the same bits, or a tile is wrong

Factors are rounded to multiples of 2^-12, summands to multiples of 2^-24, and added up as doubles, which loses nothing
up to 5e8. An element is rounded alike wherever it lies. So the outputs are not the model's, only near them; but a model
that is cut into tiles and one that is not have them in common.

exact        products (MatMul, Gemm, Einsum, convolutions), sums, means, norms, average pools, softmax, normalisations,
             and all that is composed of these
as it is     elementwise ops, maxima, integers, running sums: one order whatever the shape
as doubles   Attention, LinearAttention, DeformConv, recurrent nets, ReduceProd, ReduceLogSumExp: one rounding at the
             end, of which the order of arithmetic changes about one in 2^29
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from xdsl.ir import Operation, SSAValue

from ..dialects.ge.attention import AttentionOp
from ..dialects.ge.contraction import GemmOp, MatMulOp
from ..dialects.ge.convolution import ConvOp
from ..dialects.ge.core import GeOp
from ..dialects.ge.einsum import EinsumOp
from ..dialects.ge.interfaces import Composed
from ..dialects.ge.normalization import GroupNormalizationOp, InstanceNormalizationOp
from ..dialects.ge.pooling import AveragePoolOp, GlobalAveragePoolOp, GlobalLpPoolOp, LpPoolOp
from ..dialects.ge.recurrent import GRUOp, LSTMOp, RNNOp
from ..dialects.ge.reduction import (
    ReduceL1Op,
    ReduceL2Op,
    ReduceLogSumExpOp,
    ReduceLogSumOp,
    ReduceMeanOp,
    ReduceProdOp,
    ReduceSumOp,
    ReduceSumSquareOp,
)
from ..dialects.ge.sampling import DeformConvOp
from ..dialects.ge.softmax import LogSoftmaxOp, SoftmaxOp
from ..dialects.ge.state import LinearAttentionOp
from ..dialects.ge.transposed_convolution import ConvTransposeOp
from ..dialects.ge.unscaled_normalization import LpNormalizationOp, LRNOp, MeanVarianceNormalizationOp
from .evaluator import composed, evaluate, typed

Array = npt.NDArray[Any]

FACTOR, SUMMAND, SHARE = 2.0**-12, 2.0**-24, 2.0**-30
"""Grids of factors, of summands, and of summands that are at most 1."""


def evaluate_exactly(op: Operation, operands: Sequence[Any], captured: dict[SSAValue, Any] | None = None) -> list[Any]:
    """What `evaluate` gives, with exact sums; raises as that does."""
    meaning = _MEANINGS.get(type(op))
    if meaning is not None:
        with np.errstate(all="ignore"):
            return [typed(x, r) for x, r in zip(meaning(op, operands), op.results, strict=True)]
    if isinstance(op, GeOp) and isinstance(op, Composed):
        return composed(op, operands, evaluate_exactly)
    return evaluate(op, operands, captured)


def _is_float(x: Any) -> bool:
    return isinstance(x, np.ndarray) and (x.dtype.kind == "f" or "float" in x.dtype.name)


def _on(grid: float, x: Any) -> Any:
    """Floats as doubles on a grid (a power of two: dividing by it loses nothing); anything else as it is."""
    return np.rint(x.astype(np.float64, order="C") / grid) * grid if _is_float(x) else x


def _as_doubles(op: Any, operands: Sequence[Any]) -> list[Any]:
    return evaluate(op, [x.astype(np.float64) if _is_float(x) else x for x in operands])


def _on_grid(grid: float, op: Any, operands: Sequence[Any]) -> list[Any]:
    return evaluate(op, [_on(grid, x) for x in operands])


# ------------------------------------------------------------------ what is normed by a sum


def _softmax(op: Any, operands: Sequence[Any]) -> list[Any]:
    x = operands[0].astype(np.float64)
    low = x - x.max(op.axis, keepdims=True)
    powers = _on(SHARE, np.exp(low))
    total = powers.sum(op.axis, keepdims=True)
    return [low - np.log(total) if isinstance(op, LogSoftmaxOp) else powers / total]


def _normal(x: Array, axes: tuple[int, ...], epsilon: float) -> Array:
    x = _on(SUMMAND, x)
    centred = _on(FACTOR, x - x.mean(axes, keepdims=True))
    return centred / np.sqrt((centred * centred).mean(axes, keepdims=True) + epsilon)


def _scaled(normal: Array, scale: Array, bias: Array) -> Array:
    ones = [1] * (normal.ndim - 2)
    return normal * scale.astype(np.float64).reshape(-1, *ones) + bias.astype(np.float64).reshape(-1, *ones)


def _instance_normalization(op: InstanceNormalizationOp, operands: Sequence[Any]) -> list[Any]:
    x, scale, bias = operands
    return [_scaled(_normal(x, tuple(range(2, x.ndim)), op.epsilon), scale, bias)]


def _group_normalization(op: GroupNormalizationOp, operands: Sequence[Any]) -> list[Any]:
    x, scale, bias = operands
    groups = x.reshape(x.shape[0], op.num_groups, -1)
    return [_scaled(_normal(groups, (2,), op.epsilon).reshape(x.shape), scale, bias)]


def _mean_variance_normalization(op: MeanVarianceNormalizationOp, operands: Sequence[Any]) -> list[Any]:
    return [_normal(operands[0], tuple(op.axes), 1e-9)]


_MEANINGS: dict[type, Callable[[Any, Sequence[Any]], list[Any]]] = {
    GroupNormalizationOp: _group_normalization,
    InstanceNormalizationOp: _instance_normalization,
    LogSoftmaxOp: _softmax,
    MeanVarianceNormalizationOp: _mean_variance_normalization,
    SoftmaxOp: _softmax,
    **dict.fromkeys(
        (
            ConvOp,
            ConvTransposeOp,
            EinsumOp,
            GemmOp,
            GlobalLpPoolOp,
            LRNOp,
            LpNormalizationOp,
            LpPoolOp,
            MatMulOp,
            ReduceL2Op,
            ReduceSumSquareOp,
        ),
        partial(_on_grid, FACTOR),
    ),
    **dict.fromkeys(
        (AveragePoolOp, GlobalAveragePoolOp, ReduceL1Op, ReduceLogSumOp, ReduceMeanOp, ReduceSumOp),
        partial(_on_grid, SUMMAND),
    ),
    **dict.fromkeys(
        (AttentionOp, DeformConvOp, GRUOp, LSTMOp, LinearAttentionOp, RNNOp, ReduceLogSumExpOp, ReduceProdOp),
        _as_doubles,
    ),
}
