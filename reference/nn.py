"""
Our own meanings of ops with windows, of products of quantised integers and of some normalisations.

The onnx package's evaluator walks windows in Python, and is wrong or refuses here (onnx 1.23), against the operators'
text: MaxPool with auto_pad SAME or a stride below the dilation, ceil_mode with auto_pad, AveragePool with ceil_mode and
dilations, global pooling of three or more spatial axes, GlobalLpPool, LRN (walks the batch for the channels; four axes
only), ConvTranspose with groups or auto_pad, ConvInteger and QLinearConv of other than two spatial axes with zero
points or scales by channel, MatMulInteger and QLinearMatMul with those of `a` as a vector, LpNormalization
with p 1 (sums elements, not what they are in absolute value).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from ..dialects.ge.convolution import Convolution, ConvOp
from ..dialects.ge.core import GeOp
from ..dialects.ge.normalization import GroupNormalizationOp
from ..dialects.ge.pooling import (
    AveragePoolOp,
    GlobalAveragePoolOp,
    GlobalLpPoolOp,
    GlobalMaxPoolOp,
    GlobalPool,
    LpPoolOp,
    MaxPoolOp,
    Pool,
)
from ..dialects.ge.quantized import ConvIntegerOp, MatMulIntegerOp, QLinearConvOp, QLinearMatMulOp
from ..dialects.ge.transposed_convolution import ConvTransposeOp
from ..dialects.ge.types import element_of
from ..dialects.ge.unscaled_normalization import LpNormalizationOp, LRNOp
from ..dialects.ge.window import Layout, Windowed

Array = npt.NDArray[Any]


def _by_name(op: GeOp, operands: Sequence[Any]) -> dict[str, Any]:
    """Operands by the name of their slot, None for an absent one."""
    given = iter(operands)
    return {s.name: None if v is None else next(given) for s, v in zip(op.slots, op.by_slot(), strict=True)}


def _first(op: Layout, x: Array) -> Array:
    """The data with its channels on axis 1."""
    return x if op.format() == "NCHW" else np.moveaxis(x, -1, 1)


def _back(op: Layout, y: Array) -> Array:
    return y if op.format() == "NCHW" else np.ascontiguousarray(np.moveaxis(y, 1, -1))


def _wide(x: Array) -> Any:
    """What sums of such elements are kept in: more than a half has."""
    return np.float32 if x.dtype.itemsize < 4 and x.dtype.kind not in "iu" else x.dtype


def _windows(op: Windowed, x: Array, kernel: Sequence[int], fill: Any, ceil: bool = False, beyond: Any = None) -> Array:
    """
    All windows of channels-first data: [n, c, positions..., kernel...].

    fill       what stands in the padding
    beyond     what stands after it, where a window ends there (ceil): `fill` too if not given
    """
    sizes = x.shape[2:]
    windows = op.windows(sizes, kernel)
    assert windows is not None
    counts = [cast(int, d) for d in op.spatial_dims(sizes, kernel, ceil)]
    ends = [w.start(n - 1) + w.extent - size for w, n, size in zip(windows, counts, sizes, strict=True)]
    afters = [w.after for w in windows]
    x = np.pad(
        x, [(0, 0), (0, 0), *((w.before, a) for w, a in zip(windows, afters, strict=True))], constant_values=fill
    )
    more = [(0, max(end - a, 0)) for end, a in zip(ends, afters, strict=True)]
    x = np.pad(x, [(0, 0), (0, 0), *more], constant_values=fill if beyond is None else beyond)
    view = np.lib.stride_tricks.sliding_window_view(x, [w.extent for w in windows], tuple(range(2, x.ndim)))
    steps = [slice(0, (n - 1) * w.stride + 1, w.stride) for w, n in zip(windows, counts, strict=True)]
    taps = [slice(None, None, w.dilation) for w in windows]
    return view[(slice(None), slice(None), *steps, *taps)]


# ------------------------------------------------------------------ convolution


def _convolve(op: Convolution, x: Array, w: Array) -> Array:
    """Channels first, without bias, in the operands' dtype."""
    spatial, group = x.ndim - 2, op.group
    windows = _windows(op, x, w.shape[2:], 0)
    positions = windows.shape[2 : 2 + spatial]
    y = np.empty((x.shape[0], w.shape[0], *positions), x.dtype)
    ins, outs = x.shape[1] // group, w.shape[0] // group
    for g, sample in itertools.product(range(group), range(x.shape[0])):
        kernel = w[g * outs : (g + 1) * outs].reshape(outs, -1)
        part = windows[sample, g * ins : (g + 1) * ins]
        # [c, positions..., kernel...] -> [c * kernel, positions]
        columns = np.moveaxis(part, range(1, 1 + spatial), range(-spatial, 0)).reshape(-1, math.prod(positions))
        y[sample, g * outs : (g + 1) * outs] = (kernel @ columns).reshape(outs, *positions)
    return y


def _channels(vector: Array, rank: int) -> Array:
    """One number, or one a channel, against channels-first data."""
    return vector.reshape(-1, *[1] * (rank - 2))


def conv(op: ConvOp, operands: Sequence[Any]) -> list[Any]:
    at = _by_name(op, operands)
    x, wide = _first(op, at["x"]), _wide(at["x"])
    y = _convolve(op, x.astype(wide, copy=False), at["w"].astype(wide, copy=False))
    if at["b"] is not None:
        y += _channels(at["b"], y.ndim).astype(wide, copy=False)
    return [_back(op, y.astype(x.dtype, copy=False))]


def _integer_sums(op: Convolution, at: dict[str, Any]) -> Array:
    """The convolution without zero points, channels first, exact: sums of products of bytes fit in a double."""
    x, w = _first(op, at["x"]).astype(np.float64), at["w"].astype(np.float64)
    if at["x_zero_point"] is not None:
        x -= at["x_zero_point"].reshape(())
    if at["w_zero_point"] is not None:
        w -= at["w_zero_point"].reshape(-1, *[1] * (w.ndim - 1))
    return _convolve(op, x, w)


def conv_integer(op: ConvIntegerOp, operands: Sequence[Any]) -> list[Any]:
    return [_back(op, _integer_sums(op, _by_name(op, operands)).astype(np.int64).astype(np.int32))]


def qlinear_conv(op: QLinearConvOp, operands: Sequence[Any]) -> list[Any]:
    at = _by_name(op, operands)
    sums = _integer_sums(op, at)
    if at["b"] is not None:
        sums += _channels(at["b"], sums.ndim)
    scale = at["x_scale"].reshape(()) * at["w_scale"] / at["y_scale"].reshape(())
    return [_back(op, _quantized(sums * _channels(scale, sums.ndim), at["y_zero_point"]))]


def _quantized(values: Array, zero: Array) -> Array:
    """Rounded to the nearest (of two, the even one), moved by the zero point, and held in its type's range."""
    limits = np.iinfo(zero.dtype)
    return np.clip(np.rint(values) + zero, limits.min, limits.max).astype(zero.dtype)


def conv_transpose(op: ConvTransposeOp, operands: Sequence[Any]) -> list[Any]:
    at = _by_name(op, operands)
    data, wide = _first(op, at["x"]), _wide(at["x"])
    x, w = data.astype(wide, copy=False), at["w"].astype(wide, copy=False)
    sizes, kernel, group = x.shape[2:], w.shape[2:], op.group
    strides, dilations = op.steps(len(sizes))
    cuts = op.cuts(sizes, kernel)
    spread = [
        max((n - 1) * s + (k - 1) * d + 1, before + size)
        for n, s, k, d, (before, size) in zip(sizes, strides, kernel, dilations, cuts, strict=True)
    ]
    full = np.zeros((x.shape[0], group * w.shape[1], *spread), wide)
    ins, outs = x.shape[1] // group, w.shape[1]
    for g, tap in itertools.product(range(group), np.ndindex(kernel)):
        part = x[:, g * ins : (g + 1) * ins]
        taps = w[(slice(g * ins, (g + 1) * ins), slice(None), *tap)]
        starts = [t * d for t, d in zip(tap, dilations, strict=True)]
        at_tap = [slice(t, t + (n - 1) * s + 1, s) for t, n, s in zip(starts, sizes, strides, strict=True)]
        full[(slice(None), slice(g * outs, (g + 1) * outs), *at_tap)] += np.einsum("nc...,co->no...", part, taps)
    y = full[(slice(None), slice(None), *(slice(b, b + size) for b, size in cuts))]
    if at["b"] is not None:
        y = y + _channels(at["b"], y.ndim).astype(wide, copy=False)
    return [_back(op, y.astype(data.dtype, copy=False))]


# ------------------------------------------------------------------ pooling


def _taps(op: Pool, x: Array, fill: Any, beyond: Any = None) -> Array:
    """Windows of channels-first data with their elements along one last axis."""
    windows = _windows(op, x, op.kernel_shape, fill, bool(op.ceil_mode), beyond)
    return windows.reshape(*windows.shape[: x.ndim], math.prod(windows.shape[x.ndim :]))


def max_pool(op: MaxPoolOp, operands: Sequence[Any]) -> list[Any]:
    x = _first(op, operands[0])
    least = np.iinfo(x.dtype).min if x.dtype.kind in "iu" else -np.inf
    taps = _taps(op, x, least)
    y = taps.max(-1)
    if op.indices is None:
        return [_back(op, y)]
    sizes, count = x.shape[2:], math.prod(x.shape[2:])
    order = np.arange(count).reshape(sizes if op.storage_order == 0 else sizes[::-1])
    places = _taps(op, (order if op.storage_order == 0 else order.T)[None, None], -1)
    chosen = np.argmax((taps == y[..., None]) & (places >= 0), -1)
    found = np.take_along_axis(np.broadcast_to(places, taps.shape), chosen[..., None], -1)[..., 0]
    planes = np.arange(x.shape[0] * x.shape[1]).reshape(*x.shape[:2], *[1] * len(sizes)) * count
    return [_back(op, y), _back(op, found + planes)]


def average_pool(op: AveragePoolOp, operands: Sequence[Any]) -> list[Any]:
    x = _first(op, operands[0])
    counts = _taps(op, np.ones((1, 1, *x.shape[2:])), op.count_include_pad, 0).sum(-1)
    sums = _taps(op, x.astype(_wide(x), copy=False), 0).sum(-1)
    return [_back(op, (sums / counts.astype(sums.dtype)).astype(x.dtype))]


def lp_pool(op: LpPoolOp, operands: Sequence[Any]) -> list[Any]:
    x = _first(op, operands[0])
    return [_back(op, _norm(_taps(op, x.astype(_wide(x), copy=False), 0), op.p, (-1,)).astype(x.dtype))]


def _norm(x: Array, p: int, axes: tuple[int, ...], keepdims: bool = False) -> Array:
    return (np.abs(x) ** p).sum(axes, keepdims=keepdims) ** (1 / p)


def _globally(reduce: Callable[[Any, Array, tuple[int, ...]], Array]) -> Callable[[Any, Sequence[Any]], list[Any]]:
    def meaning(op: GlobalPool, operands: Sequence[Any]) -> list[Any]:
        x = operands[0]
        return [reduce(op, x.astype(_wide(x), copy=False), op.reduced_axes()).astype(x.dtype)]

    return meaning


# ------------------------------------------------------------------ products of integers


def _product_sums(at: dict[str, Any]) -> Array:
    a, b = at["a"].astype(np.float64), at["b"].astype(np.float64)
    if at["a_zero_point"] is not None:
        a -= _rows(at["a_zero_point"], a)
    if at["b_zero_point"] is not None:
        b -= at["b_zero_point"]
    return a @ b


def _rows(parameter: Array, a: Array) -> Array:
    """One number, or one a row, against a."""
    return parameter[:, None] if parameter.ndim == 1 and parameter.size > 1 and a.ndim > 1 else parameter


def matmul_integer(op: MatMulIntegerOp, operands: Sequence[Any]) -> list[Any]:
    return [_product_sums(_by_name(op, operands)).astype(np.int64).astype(np.int32)]


def qlinear_matmul(op: QLinearMatMulOp, operands: Sequence[Any]) -> list[Any]:
    at = _by_name(op, operands)
    scale = _rows(at["a_scale"], at["a"]) * at["b_scale"] / at["y_scale"]
    sums = _product_sums(at)
    return [_quantized(sums * (scale if scale.size > 1 else scale.reshape(())), at["y_zero_point"]).reshape(sums.shape)]


# ------------------------------------------------------------------ normalisation


def lrn(op: LRNOp, operands: Sequence[Any]) -> list[Any]:
    x = operands[0]
    wide = x.astype(_wide(x), copy=False)
    squares, sums = wide * wide, np.zeros_like(wide)
    below, above = (op.size - 1) // 2, op.size // 2
    for c in range(x.shape[1]):
        sums[:, c] = squares[:, max(c - below, 0) : c + above + 1].sum(1)
    return [(wide / (op.bias + (op.alpha / op.size) * sums) ** op.beta).astype(x.dtype)]


def group_normalization(op: GroupNormalizationOp, operands: Sequence[Any]) -> list[Any]:
    x, scale, bias = operands
    groups = x.astype(element_of(op.stash_type).dtype).reshape(x.shape[0], op.num_groups, -1)
    mean, variance = groups.mean(-1, keepdims=True), groups.var(-1, keepdims=True)
    normal = ((groups - mean) / np.sqrt(variance + groups.dtype.type(op.epsilon))).reshape(x.shape).astype(x.dtype)
    return [normal * _channels(scale, x.ndim) + _channels(bias, x.ndim)]


def lp_normalization(op: LpNormalizationOp, operands: Sequence[Any]) -> list[Any]:
    x = operands[0]
    wide = x.astype(_wide(x), copy=False)
    norm = _norm(wide, op.p, (op.axis,), keepdims=True)
    return [np.where(norm == 0, 0, wide / norm).astype(x.dtype)]


NN: dict[type, Callable[[Any, Sequence[Any]], list[Any] | None]] = {
    AveragePoolOp: average_pool,
    ConvIntegerOp: conv_integer,
    ConvOp: conv,
    ConvTransposeOp: conv_transpose,
    GlobalAveragePoolOp: _globally(lambda op, x, axes: x.mean(axes, keepdims=True)),
    GlobalLpPoolOp: _globally(lambda op, x, axes: _norm(x, op.p, axes, keepdims=True)),
    GlobalMaxPoolOp: _globally(lambda op, x, axes: x.max(axes, keepdims=True)),
    GroupNormalizationOp: group_normalization,
    LRNOp: lrn,
    LpNormalizationOp: lp_normalization,
    LpPoolOp: lp_pool,
    MatMulIntegerOp: matmul_integer,
    MaxPoolOp: max_pool,
    QLinearConvOp: qlinear_conv,
    QLinearMatMulOp: qlinear_matmul,
}
