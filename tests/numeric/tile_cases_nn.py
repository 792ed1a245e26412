"""Tile cases of convolution, pooling, products, normalisation and reductions."""

from typing import Any

import numpy as np

from gecc.dialects.ge.contraction import GemmOp, MatMulOp
from gecc.dialects.ge.convolution import ConvOp
from gecc.dialects.ge.einsum import EinsumOp
from gecc.dialects.ge.normalization import (
    BatchNormalizationOp,
    GroupNormalizationOp,
    InstanceNormalizationOp,
    LayerNormalizationOp,
    RMSNormalizationOp,
)
from gecc.dialects.ge.pooling import (
    AveragePoolOp,
    GlobalAveragePoolOp,
    GlobalLpPoolOp,
    GlobalMaxPoolOp,
    LpPoolOp,
    MaxPoolOp,
)
from gecc.dialects.ge.quantized import ConvIntegerOp, MatMulIntegerOp, QLinearConvOp, QLinearMatMulOp
from gecc.dialects.ge.reduction import (
    ReduceL1Op,
    ReduceL2Op,
    ReduceLogSumExpOp,
    ReduceLogSumOp,
    ReduceMaxOp,
    ReduceMeanOp,
    ReduceMinOp,
    ReduceProdOp,
    ReduceSumOp,
    ReduceSumSquareOp,
)
from gecc.dialects.ge.selection import ArgMaxOp, ArgMinOp, TopKOp
from gecc.dialects.ge.softmax import CumProdOp, CumSumOp, HardmaxOp, LogSoftmaxOp, SoftmaxOp
from gecc.dialects.ge.transposed_convolution import ConvTransposeOp
from gecc.dialects.ge.unscaled_normalization import LpNormalizationOp, LRNOp, MeanVarianceNormalizationOp

Rng = np.random.Generator


def one_of(rng: Rng, *choices: Any) -> Any:
    return choices[int(rng.integers(len(choices)))]


def small(rng: Rng, *shape: int, dtype: Any = np.float32, low: int = -4, high: int = 5) -> np.ndarray:
    """Small integers, whose sums and products a float holds exactly."""
    return rng.integers(low, high, shape).astype(dtype)


def real(rng: Rng, *shape: int) -> np.ndarray:
    return rng.standard_normal(shape).astype(np.float32)


def sizes(rng: Rng, count: int, least: int = 1, most: int = 5) -> list[int]:
    return rng.integers(least, most + 1, count).tolist()


# ------------------------------------------------------------------ windows


def window(rng: Rng, spatial: int) -> tuple[list[int], list[int], dict[str, Any]]:
    """Spatial sizes, a kernel that fits in them, and how it slides."""
    size, kernel = sizes(rng, spatial, 4, 9), sizes(rng, spatial, 1, 3)
    attributes: dict[str, Any] = {"strides": sizes(rng, spatial, 1, 3), "dilations": sizes(rng, spatial, 1, 2)}
    match one_of(rng, "pads", "pads", "none", "SAME_UPPER", "SAME_LOWER", "VALID"):
        case "pads":
            attributes["pads"] = sizes(rng, 2 * spatial, 0, 3)
        case "none":
            pass
        case mode:
            attributes["auto_pad"] = mode
    return [max(s, 2 * (k - 1) + 1) for s, k in zip(size, kernel, strict=True)], kernel, attributes


def conv_shapes(rng: Rng) -> tuple[list[int], list[int], int, dict[str, Any]]:
    """Shapes of x and w, output channels, attributes."""
    size, kernel, attributes = window(rng, one_of(rng, 1, 2, 2, 3))
    group, inner, outs = one_of(rng, 1, 1, 2, 3), one_of(rng, 1, 2), one_of(rng, 1, 2)
    if group == 1:
        outs = one_of(rng, 1, 4)
    attributes["group"] = group
    return [one_of(rng, 1, 3), group * inner, *size], [group * outs, inner, *kernel], group * outs, attributes


def nhwc(rng: Rng, x: np.ndarray, attributes: dict[str, Any]) -> np.ndarray:
    if not rng.integers(3):
        attributes["data_format"] = "NHWC"
        return np.ascontiguousarray(np.moveaxis(x, 1, -1))
    return x


def conv(rng: Rng) -> Any:
    x, w, outs, attributes = conv_shapes(rng)
    bias = one_of(rng, None, small(rng, outs))
    return ConvOp, [nhwc(rng, small(rng, *x), attributes), small(rng, *w), bias], attributes


def conv_integer(rng: Rng) -> Any:
    x, w, outs, attributes = conv_shapes(rng)
    zero = one_of(rng, None, np.uint8(3), np.full(1, 2, np.uint8))
    zeros = one_of(rng, None, np.int8(1), small(rng, outs, dtype=np.int8)) if zero is not None else None
    data = [small(rng, *x, dtype=np.uint8, low=0, high=20), small(rng, *w, dtype=np.int8)]
    return ConvIntegerOp, [*data, *(None if z is None else np.asarray(z) for z in (zero, zeros))], attributes


def qlinear_conv(rng: Rng) -> Any:
    x, w, outs, attributes = conv_shapes(rng)
    wide = one_of(rng, (), (outs,))
    scale = np.exp2(rng.integers(-3, 2, wide)).astype(np.float32)
    operands = [
        *(small(rng, *x, dtype=np.uint8, low=0, high=20), np.float32(0.5), np.uint8(3)),
        *(small(rng, *w, dtype=np.int8), scale, small(rng, *wide, dtype=np.int8)),
        *(np.float32(2), np.uint8(100), one_of(rng, None, small(rng, outs, dtype=np.int32))),
    ]
    return QLinearConvOp, [None if a is None else np.asarray(a) for a in operands], attributes


def conv_transpose(rng: Rng) -> Any:
    spatial = one_of(rng, 1, 2, 2)
    strides, kernel = sizes(rng, spatial, 1, 3), sizes(rng, spatial, 1, 4)
    group, inner, outs = one_of(rng, (1, 4, 3), (1, 2, 1), (2, 4, 3), (3, 2, 1))
    attributes: dict[str, Any] = {"strides": strides, "group": group, "dilations": sizes(rng, spatial, 1, 2)}
    size = sizes(rng, spatial, 2, 6)
    match one_of(rng, "pads", "pads", "more", "shape", "SAME_UPPER", "SAME_LOWER", "VALID", "none"):
        case "pads":
            extents = [(k - 1) * d + 1 for k, d in zip(kernel, attributes["dilations"], strict=True)]
            attributes["pads"] = [int(rng.integers(0, e + 1)) for e in extents * 2]
            size = [n + 2 * e for n, e in zip(size, extents, strict=True)]
        case "more":
            attributes["output_padding"] = sizes(rng, spatial, 0, 3)
        case "shape":
            attributes["output_shape"] = sizes(rng, spatial, 1, 12)
        case "none":
            pass
        case mode:
            attributes["auto_pad"] = mode
    x = nhwc(rng, small(rng, 2, group * inner, *size), attributes)
    w = small(rng, group * inner, outs, *kernel)
    return ConvTransposeOp, [x, w, one_of(rng, None, small(rng, outs * group))], attributes


def pool(cls: type) -> Any:
    def case(rng: Rng) -> Any:
        size, kernel, attributes = window(rng, one_of(rng, 1, 2, 2, 3))
        attributes["kernel_shape"] = kernel
        if "pads" in attributes:  # a window of padding alone has no maximum and no mean
            attributes["pads"] = [min(p, k - 1) for p, k in zip(attributes["pads"], kernel * 2, strict=True)]
        attributes["ceil_mode"] = one_of(rng, 0, 1, 1)
        if rng.integers(2):  # windows that end past the padded axis are found among these
            attributes = {"kernel_shape": kernel, "ceil_mode": 1, "strides": [2] * len(kernel)}
        if cls is AveragePoolOp:
            attributes["count_include_pad"] = one_of(rng, 0, 1, 1)
        if cls is MaxPoolOp:
            attributes["results"] = one_of(rng, 1, 1, 2)
        x = small(rng, one_of(rng, 1, 3), one_of(rng, 1, 4), *size)
        return cls, [nhwc(rng, x, attributes)], attributes

    return case


def global_pool(cls: type) -> Any:
    def case(rng: Rng) -> Any:
        attributes: dict[str, Any] = {}
        x = small(rng, *sizes(rng, one_of(rng, 3, 4, 5)))
        return cls, [nhwc(rng, x, attributes)], attributes

    return case


# ------------------------------------------------------------------ products


def factors(rng: Rng) -> tuple[list[int], list[int]]:
    """Shapes of a and b, with numpy's rules."""
    rows, inner, columns = sizes(rng, 3, 1, 6)
    return one_of(
        rng,
        ([inner], [inner]),
        ([inner], [3, inner, columns]),
        ([2, rows, inner], [inner]),
        ([rows, inner], [inner, columns]),
        ([2, 1, rows, inner], [3, inner, columns]),
        ([rows, inner], [2, 3, inner, columns]),
        ([2, 3, rows, inner], [2, 3, inner, columns]),
    )


def matmul(rng: Rng) -> Any:
    a, b = factors(rng)
    return MatMulOp, [small(rng, *a), small(rng, *b)], {}


def gemm(rng: Rng) -> Any:
    rows, inner, columns = sizes(rng, 3, 1, 6)
    across, down = one_of(rng, 0, 1), one_of(rng, 0, 1)
    a, b = small(rng, *[rows, inner][:: -1 if across else 1]), small(rng, *[inner, columns][:: -1 if down else 1])
    c = one_of(rng, None, (), (columns,), (1, columns), (rows, 1), (rows, columns))
    return (
        GemmOp,
        [a, b, None if c is None else small(rng, *c)],
        {"transA": across, "transB": down, "alpha": one_of(rng, 1.0, 0.5), "beta": one_of(rng, 1.0, 2.0)},
    )


def einsum(rng: Rng) -> Any:
    i, j, k = sizes(rng, 3, 1, 5)
    equation, *shapes = one_of(
        rng,
        ("ij,jk->ik", (i, j), (j, k)),
        ("...ij,...jk", (2, i, j), (3, 1, j, k)),
        ("ii->i", (i, i)),
        ("b...d, bd -> ...b", (2, i, j, k), (2, k)),
        ("ij,ij->ji", (i, j), (1, j)),
        ("aij,jk,k->ka", (2, i, j), (j, k), (k,)),
        ("ij->", (i, j)),
    )
    return EinsumOp, [small(rng, *shape) for shape in shapes], {"equation": equation}


def matmul_integer(rng: Rng) -> Any:
    a, b = factors(rng)
    zero = one_of(rng, None, small(rng, dtype=np.uint8, low=0), small(rng, 1, dtype=np.uint8, low=0))
    if len(a) > 2:
        zero = small(rng, *a[:-1], 1, dtype=np.uint8, low=0)
    columns = one_of(rng, None, small(rng, dtype=np.int8), small(rng, b[-1] if len(b) > 1 else 1, dtype=np.int8))
    return (
        MatMulIntegerOp,
        [small(rng, *a, dtype=np.uint8, low=0, high=20), small(rng, *b, dtype=np.int8), zero, columns],
        {},
    )


def qlinear_matmul(rng: Rng) -> Any:
    a, b = factors(rng)
    by_column = one_of(rng, (), (b[-1] if len(b) > 1 else 1,))
    by_row = one_of(rng, (), (*a[:-1], 1)) if len(a) > 2 else ()
    scale = [np.exp2(rng.integers(-3, 2, s)).astype(np.float32) for s in (by_row, by_column)]
    operands = [
        *(small(rng, *a, dtype=np.uint8, low=0, high=20), scale[0], small(rng, *by_row, dtype=np.uint8, low=0)),
        *(small(rng, *b, dtype=np.int8), scale[1], small(rng, *by_column, dtype=np.int8)),
        *(np.float32(0.5), np.uint8(9)),
    ]
    if len(b) == 1 or len(a) == 1:  # the result lacks an axis that a vector of scales would have
        operands[1:3] = np.float32(0.5), np.uint8(1)
        operands[4:6] = np.float32(2), np.int8(0)
    return QLinearMatMulOp, [np.asarray(o) for o in operands], {}


# ------------------------------------------------------------------ normalisation


def batch_normalization(rng: Rng) -> Any:
    x = real(rng, *sizes(rng, one_of(rng, 1, 2, 3, 4)))
    channels = x.shape[1] if x.ndim > 1 else 1
    scale, bias, mean = (real(rng, channels) for _ in range(3))
    return BatchNormalizationOp, [x, scale, bias, mean, np.abs(real(rng, channels)) + 1], {"epsilon": 1e-3}


def instance_normalization(rng: Rng) -> Any:
    x = small(rng, *sizes(rng, one_of(rng, 3, 4)))
    return InstanceNormalizationOp, [x, real(rng, x.shape[1]), real(rng, x.shape[1])], {}


def group_normalization(rng: Rng) -> Any:
    x = real(rng, 3, 4, *sizes(rng, one_of(rng, 1, 2)))
    return GroupNormalizationOp, [x, real(rng, 4), real(rng, 4)], {"num_groups": one_of(rng, 1, 2, 4)}


def axis_and_scale(rng: Rng) -> tuple[np.ndarray, int, tuple[int, ...]]:
    x = real(rng, *sizes(rng, one_of(rng, 2, 3, 4), 2))
    axis = int(rng.integers(-x.ndim, x.ndim))
    return x, axis, one_of(rng, x.shape[axis % x.ndim :], x.shape[-1:], x.shape)


def layer_normalization(rng: Rng) -> Any:
    x, axis, scale = axis_and_scale(rng)
    bias = one_of(rng, None, real(rng, *scale))
    return LayerNormalizationOp, [x, real(rng, *scale), bias], {"axis": axis, "results": one_of(rng, 1, 3)}


def rms_normalization(rng: Rng) -> Any:
    x, axis, scale = axis_and_scale(rng)
    return RMSNormalizationOp, [x, real(rng, *scale)], {"axis": axis}


def lrn(rng: Rng) -> Any:
    return LRNOp, [small(rng, 2, *sizes(rng, 3, 1, 6))], {"size": one_of(rng, 1, 3, 5)}


def lp_normalization(rng: Rng) -> Any:
    x, axis, _ = axis_and_scale(rng)
    return LpNormalizationOp, [np.round(x * 4) + 8], {"axis": axis, "p": one_of(rng, 1, 2)}


def mean_variance_normalization(rng: Rng) -> Any:
    return MeanVarianceNormalizationOp, [real(rng, *sizes(rng, 4, 2))], {"axes": one_of(rng, (0, 2, 3), (1,), (-1, 0))}


# ------------------------------------------------------------------ along axes


def reduce(cls: type, low: int = -4, high: int = 5) -> Any:
    def case(rng: Rng) -> Any:
        x = small(rng, *sizes(rng, one_of(rng, 1, 2, 3, 4)), low=low, high=high)
        axes = one_of(rng, None, rng.permutation(x.ndim)[: int(rng.integers(0, x.ndim + 1))] - one_of(rng, 0, x.ndim))
        return cls, [x, axes], {"keepdims": one_of(rng, 0, 1), "noop_with_empty_axes": one_of(rng, 0, 1)}

    return case


def along(cls: type, **choices: tuple[int, ...]) -> Any:
    def case(rng: Rng) -> Any:
        x = small(rng, *sizes(rng, one_of(rng, 1, 2, 3, 4)))
        attributes = {name: one_of(rng, *values) for name, values in choices.items()}
        return cls, [x], {"axis": int(rng.integers(-x.ndim, x.ndim)), **attributes}

    return case


def scan(cls: type) -> Any:
    def case(rng: Rng) -> Any:
        x = small(rng, *sizes(rng, one_of(rng, 1, 2, 3)))
        axis = np.array(rng.integers(-x.ndim, x.ndim), one_of(rng, np.int32, np.int64))
        return cls, [x, axis], {"reverse": one_of(rng, 0, 1), "exclusive": one_of(rng, 0, 1)}

    return case


def top_k(rng: Rng) -> Any:
    x = small(rng, *sizes(rng, one_of(rng, 1, 2, 3)))
    axis = int(rng.integers(-x.ndim, x.ndim))
    return (
        TopKOp,
        [x, rng.integers(1, x.shape[axis] + 1, 1)],
        {"axis": axis, "largest": one_of(rng, 0, 1), "results": 2},
    )


CASES = {
    "ge.arg_max": along(ArgMaxOp, keepdims=(0, 1), select_last_index=(0, 1)),
    "ge.arg_min": along(ArgMinOp, keepdims=(0, 1), select_last_index=(0, 1)),
    "ge.average_pool": pool(AveragePoolOp),
    "ge.batch_normalization": batch_normalization,
    "ge.conv": conv,
    "ge.conv_integer": conv_integer,
    "ge.conv_transpose": conv_transpose,
    "ge.cum_prod": scan(CumProdOp),
    "ge.cum_sum": scan(CumSumOp),
    "ge.einsum": einsum,
    "ge.gemm": gemm,
    "ge.global_average_pool": global_pool(GlobalAveragePoolOp),
    "ge.global_lp_pool": global_pool(GlobalLpPoolOp),
    "ge.global_max_pool": global_pool(GlobalMaxPoolOp),
    "ge.group_normalization": group_normalization,
    "ge.hardmax": along(HardmaxOp),
    "ge.instance_normalization": instance_normalization,
    "ge.layer_normalization": layer_normalization,
    "ge.log_softmax": along(LogSoftmaxOp),
    "ge.lp_normalization": lp_normalization,
    "ge.lp_pool": pool(LpPoolOp),
    "ge.lrn": lrn,
    "ge.matmul": matmul,
    "ge.matmul_integer": matmul_integer,
    "ge.max_pool": pool(MaxPoolOp),
    "ge.mean_variance_normalization": mean_variance_normalization,
    "ge.qlinear_conv": qlinear_conv,
    "ge.qlinear_matmul": qlinear_matmul,
    "ge.reduce_l1": reduce(ReduceL1Op),
    "ge.reduce_l2": reduce(ReduceL2Op),
    "ge.reduce_log_sum": reduce(ReduceLogSumOp, low=1),
    "ge.reduce_log_sum_exp": reduce(ReduceLogSumExpOp),
    "ge.reduce_max": reduce(ReduceMaxOp),
    "ge.reduce_mean": reduce(ReduceMeanOp),
    "ge.reduce_min": reduce(ReduceMinOp),
    "ge.reduce_prod": reduce(ReduceProdOp, low=1, high=3),
    "ge.reduce_sum": reduce(ReduceSumOp),
    "ge.reduce_sum_square": reduce(ReduceSumSquareOp),
    "ge.rms_normalization": rms_normalization,
    "ge.softmax": along(SoftmaxOp),
    "ge.top_k": top_k,
}

SUMS = {
    "ge.group_normalization",
    "ge.instance_normalization",
    "ge.layer_normalization",
    "ge.log_softmax",
    "ge.mean_variance_normalization",
    "ge.reduce_log_sum_exp",
    "ge.rms_normalization",
    "ge.softmax",
}
