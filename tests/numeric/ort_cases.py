"""
Nodes of the operators that ONNX Runtime writes: per operator a function(rng) -> Case, called several times, with
shapes, attributes and absent operands of its choice.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Rng = np.random.Generator
MICROSOFT = "com.microsoft"


@dataclass
class Case:
    """
    A node.

    inputs     None for an absent one
    outputs    which results are asked for
    close      how far a value may be off, relative to the greatest one; of quantised results, in steps
    frees      axes of inputs, by position, that the model leaves free
    opset      the only one in which ONNX can say it, if not in any
    """

    inputs: list[Any]
    attrs: dict[str, Any] = field(default_factory=dict[str, Any])
    outputs: tuple[bool, ...] = (True,)
    close: float = 2e-6
    domain: str = MICROSOFT
    frees: dict[int, tuple[int, ...]] = field(default_factory=dict[int, tuple[int, ...]])
    opset: int | None = None


def one_of(rng: Rng, *choices: Any) -> Any:
    return choices[int(rng.integers(len(choices)))]


def real(rng: Rng, *shape: int, dtype: Any = np.float32) -> Any:
    return rng.standard_normal(shape).astype(dtype)


def some(rng: Rng, array: Any) -> Any:
    """The array or nothing."""
    return array if rng.integers(2) else None


# ------------------------------------------------------------------ activations


def unary(rng: Rng) -> Case:
    return Case([real(rng, 2, 3, 8)], frees={0: one_of(rng, (), (0, 1))})


def quick_gelu(rng: Rng) -> Case:
    return Case([real(rng, 2, 8)], one_of(rng, {}, {"alpha": 1.5}))


def fast_gelu(rng: Rng) -> Case:
    return Case([real(rng, 2, 3, 8), some(rng, real(rng, 8))], close=1e-5)


def bias_gelu(rng: Rng) -> Case:
    return Case([real(rng, 2, 3, 8), real(rng, 8)], frees={0: (0,)})


# ------------------------------------------------------------------ normalisations


def layer_normalization(rng: Rng) -> Case:
    axis = one_of(rng, -1, 1, 2, -2)
    tail = (2, 3, 8)[axis:]
    x, scale, b = real(rng, 2, 3, 8), real(rng, *tail), some(rng, real(rng, *tail))
    return Case([x, scale, b], {"axis": axis, "epsilon": 1e-4}, domain="", frees={0: (0,)}, opset=13)


def simplified_layer_normalization(rng: Rng) -> Case:
    return Case([real(rng, 2, 3, 8), real(rng, 8)], {"axis": -1, "epsilon": 1e-4}, domain="", frees={0: (0, 1)})


def skip_layer_normalization(rng: Rng) -> Case:
    shape = one_of(rng, (2, 3, 8), (3, 8))
    skip = one_of(rng, shape, (1, 3, 8) if len(shape) == 3 else shape)
    vectors = [real(rng, 8), *(some(rng, real(rng, 8)) for _ in range(2))]
    outputs = one_of(rng, (True,), (True, False, False, True))
    frees = {0: (0,), 1: (0,)} if skip == shape else {}
    return Case([real(rng, *shape), real(rng, *skip), *vectors], {"epsilon": 1e-5}, outputs, frees=frees)


def skip_simplified_layer_normalization(rng: Rng) -> Case:
    outputs = one_of(rng, (True,), (True, False, False, True))
    shape = one_of(rng, (2, 3, 8), (3, 8))
    operands = [real(rng, *shape), real(rng, *shape), real(rng, 8), some(rng, real(rng, 8))]
    return Case(operands, {"epsilon": 1e-5}, outputs)


def embed_layer_normalization(rng: Rng) -> Case:
    batch, positions, width = 2, 5, 8

    def ids(most: int) -> Any:
        return rng.integers(0, most, (batch, positions)).astype(np.int32)

    segments = bool(rng.integers(2))
    operands = [ids(11), ids(2) if segments else None, real(rng, 11, width), real(rng, 9, width)]
    operands += [real(rng, 2, width) if segments else None, real(rng, width), real(rng, width)]
    mask = some(rng, (np.arange(positions) < np.array([[3], [5]])).astype(np.int32))
    operands += [mask, some(rng, ids(9))]
    outputs = one_of(rng, (True, True), (True, True, True))
    return Case(operands, {"epsilon": 1e-5, "mask_index_type": 1}, outputs, close=1e-5, frees={0: (0,)})


# ------------------------------------------------------------------ products


def fused_matmul(rng: Rng) -> Case:
    attrs = {"alpha": one_of(rng, 1.0, 0.125), "transA": one_of(rng, 0, 1), "transB": one_of(rng, 0, 1)}
    before = one_of(rng, ((), ()), ((2,), (2,)), ((2, 3), (2, 3)), ((2, 3), ()))
    a, b = (4, 5)[:: -1 if attrs["transA"] else 1], (5, 6)[:: -1 if attrs["transB"] else 1]
    frees = {0: (0,)} if before[0] == (2, 3) and not before[1] else {}
    return Case([real(rng, *before[0], *a), real(rng, *before[1], *b)], attrs, frees=frees)


ACTIVATIONS: tuple[tuple[str, list[float]], ...] = (
    *(("Relu", []), ("Sigmoid", []), ("Tanh", []), ("LeakyRelu", [0.2])),
    *(("Clip", [-0.5, 0.5]), ("HardSigmoid", [0.3, 0.4])),
)


def fused_conv(rng: Rng) -> Case:
    kind, params = one_of(rng, *ACTIVATIONS)
    attrs: dict[str, Any] = {"activation": kind, "kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}
    attrs |= {"strides": one_of(rng, [1, 1], [2, 2]), "group": one_of(rng, 1, 2)}
    if params:
        attrs["activation_params"] = params
    size = 8 // attrs["strides"][0]
    z = some(rng, real(rng, 1, 4, size, size))
    operands = [real(rng, 1, 2, 8, 8), real(rng, 4, 2 // attrs["group"], 3, 3), some(rng, real(rng, 4)), z]
    return Case(operands, attrs, close=1e-5)


def fused_gemm(rng: Rng) -> Case:
    kind, params = one_of(rng, *ACTIVATIONS[:4])
    attrs: dict[str, Any] = {"activation": kind, "transA": one_of(rng, 0, 1), "transB": one_of(rng, 0, 1)}
    attrs |= {"alpha": one_of(rng, 1.0, 0.5), "activation_alpha": params[0] if params else 0.0}
    a, b = (4, 5)[:: -1 if attrs["transA"] else 1], (5, 6)[:: -1 if attrs["transB"] else 1]
    c = one_of(rng, None, real(rng, 6), real(rng, 4, 6))
    return Case([real(rng, *a), real(rng, *b), c], attrs, close=1e-5)


def matmul_nbits(rng: Rng) -> Case:
    bits, block, width, columns = one_of(rng, 4, 8), one_of(rng, 16, 32), one_of(rng, 32, 48, 64), one_of(rng, 3, 8)
    blocks = -(-width // block)
    packed = rng.integers(0, 256, (columns, blocks, block * bits // 8)).astype(np.uint8)
    scales = np.abs(real(rng, columns * blocks)) / 8
    points = rng.integers(0, 256, columns * -(-blocks * bits // 8)).astype(np.uint8)
    zero = one_of(rng, None, points, None if bits == 8 else (rng.integers(0, 16, columns * blocks)).astype(np.float32))
    attrs = {"K": width, "N": columns, "bits": bits, "block_size": block}
    a = one_of(rng, real(rng, 4, width), real(rng, 2, 3, width))
    return Case([a, packed, scales, zero, None, some(rng, real(rng, columns))], attrs, close=1e-5, frees={0: (0,)})


# ------------------------------------------------------------------ attention


def masks(rng: Rng, batch: int, rows: int, keys: int) -> Any:
    counts = rng.integers(1, keys + 1, batch).astype(np.int32)
    flat = (np.arange(keys) < counts[:, None]).astype(np.int32)
    return one_of(rng, None, counts, flat, np.repeat(flat[:, None], rows, 1))


def attention(rng: Rng) -> Case:
    batch, rows, heads, width, before = 2, 4, 2, 3, one_of(rng, 0, 0, 5)
    sizes = [heads * width] * 3
    attrs: dict[str, Any] = {"num_heads": heads, "unidirectional": one_of(rng, 0, 1)}
    if not before and not rng.integers(3):
        sizes[2] = heads * 5
        attrs["qkv_hidden_sizes"] = sizes
    if rng.integers(2):
        attrs["scale"] = 0.4
    past = real(rng, 2, batch, heads, before, width) if before else None
    mask = masks(rng, batch, rows, rows + before)
    bias = None if before else some(rng, real(rng, one_of(rng, 1, batch), heads, rows, rows))
    operands = [real(rng, batch, rows, 7), real(rng, 7, sum(sizes)), real(rng, sum(sizes)), mask, past, bias]
    outputs = (True, True) if before else (True,)
    return Case(operands, attrs, outputs, close=1e-5)


def multi_head_attention(rng: Rng) -> Case:
    batch, rows, keys, heads, width, values = 2, 4, 5, 2, 3, one_of(rng, 3, 6)
    before = one_of(rng, 0, 0, 3)
    keys = one_of(rng, rows, keys)
    keys, values = (rows, width) if before else (keys, values)
    q, k = real(rng, batch, rows, heads * width), real(rng, batch, keys, heads * width)
    v = real(rng, batch, keys, heads * values)
    bias = some(rng, real(rng, heads * (2 * width + values)))
    past = [real(rng, batch, heads, before, width) if before else None for _ in range(2)]
    added = some(rng, real(rng, one_of(rng, 1, batch), one_of(rng, 1, heads), rows, keys + before))
    attrs = {"num_heads": heads, "unidirectional": one_of(rng, 0, 1) if rows == keys else 0}
    mask = None if attrs["unidirectional"] else masks(rng, batch, rows, keys + before)
    outputs = (True, True, True) if before else (True,)
    return Case([q, k, v, bias, mask, added, *past], attrs, outputs, close=1e-5)


def rotary_embedding(rng: Rng) -> Case:
    batch, rows, heads, width, turned = 2, 4, 3, 8, one_of(rng, 8, 4)
    attrs: dict[str, Any] = {"interleaved": one_of(rng, 0, 1)}
    if turned < width:
        attrs |= {"rotary_embedding_dim": turned, "num_heads": heads}
    x = one_of(rng, real(rng, batch, rows, heads * width), real(rng, batch, heads, rows, width))
    ids = one_of(rng, np.array([3], np.int64), rng.integers(0, 20, (batch, rows)).astype(np.int64))
    return Case([x, ids, real(rng, 20, turned // 2), real(rng, 20, turned // 2)], attrs, frees={0: (0,)})


def group_query_attention(rng: Rng) -> Case:
    """A step with a cache, or a prompt; all rows of a batch are as long, for the rest of a buffer is anything."""
    batch, heads, groups, width, turned = one_of(rng, 1, 2), 4, 2, 16, one_of(rng, 0, 16)
    rows, before = one_of(rng, (1, 5), (3, 0), (1, 8), (1, 3))
    total = rows + before
    past = [real(rng, batch, groups, before, width) if before else None for _ in range(2)]
    attrs: dict[str, Any] = {"num_heads": heads, "kv_num_heads": groups}
    attrs |= one_of(rng, {}, {"scale": 0.3}, {"local_window_size": 2}, {"softcap": 5.0})
    if turned:
        attrs |= {"do_rotary": 1, "rotary_interleaved": one_of(rng, 0, 1)}
    packed = bool(rng.integers(2))
    q = real(rng, batch, rows, (heads + 2 * groups if packed else heads) * width)
    k, v = (None if packed else real(rng, batch, rows, groups * width) for _ in range(2))
    caches = [real(rng, 20, turned // 2) if turned else None for _ in range(2)]
    counts = np.full(batch, total - 1, np.int32)
    operands = [q, k, v, *past, counts, np.array(total, np.int32), *caches]
    return Case(operands, attrs, (True, True, True), close=1e-5, frees={0: (0, 1)} if packed else {})


# ------------------------------------------------------------------ quantised integers


def parameters(rng: Rng, dtype: Any) -> list[Any]:
    """A scale and a zero point, of one element as the runtime takes them."""
    scale = np.float32(rng.uniform(0.02, 0.1))
    zero = np.asarray(rng.integers(100, 140) if dtype == np.uint8 else rng.integers(-20, 20), dtype)
    return [np.asarray(scale), zero] if rng.integers(2) else [scale.reshape(1), zero.reshape(1)]


def numbers(rng: Rng, dtype: Any, *shape: int) -> Any:
    limits = np.iinfo(dtype)
    return rng.integers(limits.min, limits.max + 1, shape).astype(dtype)


def byte(rng: Rng) -> Any:
    return one_of(rng, np.uint8, np.int8)


def quantize_linear(rng: Rng) -> Case:
    dtype = one_of(rng, np.uint8, np.int8, np.uint16, np.int16)
    wide = one_of(rng, (), (4,))
    scale = rng.uniform(0.01, 0.1, wide).astype(np.float32)
    zero = np.asarray(rng.integers(0, 9, wide), dtype)
    return Case([real(rng, 2, 3, 4), scale, zero], {"axis": 2} if wide else {}, close=1, opset=21)


def dequantize_linear(rng: Rng) -> Case:
    dtype = one_of(rng, np.uint8, np.int8, np.uint16, np.int16)
    wide = one_of(rng, (), (4,))
    scale = rng.uniform(0.01, 0.1, wide).astype(np.float32)
    zero = np.asarray(rng.integers(0, 9, wide), dtype)
    return Case([numbers(rng, dtype, 2, 3, 4), scale, zero], {"axis": 2} if wide else {}, opset=21)


def qlinear_binary(rng: Rng) -> Case:
    dtype = byte(rng)
    shapes = one_of(rng, ((2, 3, 4), (2, 3, 4)), ((2, 3, 4), (4,)), ((2, 1, 4), (3, 1)))
    data = [numbers(rng, dtype, *shape) for shape in shapes]
    operands = [data[0], *scalars(rng, dtype), data[1], *scalars(rng, dtype), *scalars(rng, dtype)]
    return Case(operands, close=1, frees={0: (0,)} if shapes[0] == shapes[1] else {})


def qlinear_unary(rng: Rng) -> Case:
    dtype = byte(rng)
    return Case([numbers(rng, dtype, 2, 3, 4), *parameters(rng, dtype), *parameters(rng, dtype)], close=1)


def qlinear_leaky_relu(rng: Rng) -> Case:
    case = qlinear_unary(rng)
    case.attrs = one_of(rng, {}, {"alpha": 0.2})
    return case


def qlinear_where(rng: Rng) -> Case:
    dtype = byte(rng)
    condition = rng.integers(0, 2, (2, 3, 4)).astype(bool)
    operands = [condition, numbers(rng, dtype, 2, 3, 4), *scalars(rng, dtype), numbers(rng, dtype, 4)]
    return Case([*operands, *scalars(rng, dtype), *scalars(rng, dtype)], close=1)


def scalars(rng: Rng, dtype: Any) -> list[Any]:
    return [x.reshape(()) for x in parameters(rng, dtype)]


def qlinear_concat(rng: Rng) -> Case:
    dtype, axis = byte(rng), one_of(rng, 1, -1)
    shapes = [(2, 3, 4), (2, 5, 4) if axis == 1 else (2, 3, 1)]
    inputs = [x for shape in shapes for x in (numbers(rng, dtype, *shape), *scalars(rng, dtype))]
    return Case([*scalars(rng, dtype), *inputs], {"axis": axis}, close=1)


def qlinear_global_average_pool(rng: Rng) -> Case:
    dtype, last = byte(rng), one_of(rng, 0, 1)
    x = numbers(rng, dtype, 2, 5, 7, 6)
    return Case([x, *parameters(rng, dtype), *parameters(rng, dtype)], {"channels_last": last}, close=1)


def qlinear_softmax(rng: Rng) -> Case:
    dtype, opset = byte(rng), one_of(rng, 11, 13)
    axis = -1 if opset < 13 else one_of(rng, -1, 1)
    scale, zero = np.asarray(np.float32(1 / 256)), np.asarray(0 if dtype == np.uint8 else -128, dtype)
    x = numbers(rng, dtype, 2, 3, 9)
    return Case([x, *scalars(rng, dtype), scale, zero], {"axis": axis, "opset": opset}, close=1)


def matmul_integer_to_float(rng: Rng) -> Case:
    left, right, wide = np.uint8, byte(rng), one_of(rng, (), (6,))
    before = one_of(rng, (), (2,))
    scale = rng.uniform(0.01, 0.1, wide).astype(np.float32)
    zero = some(rng, np.asarray(rng.integers(0, 9, wide), right))
    operands = [numbers(rng, left, *before, 4, 5), numbers(rng, right, 5, 6), np.asarray(np.float32(0.05)), scale]
    return Case([*operands, some(rng, np.asarray(120, left)), zero, some(rng, real(rng, 6))], close=1e-5)


def dynamic_quantize_matmul(rng: Rng) -> Case:
    right, wide, before = byte(rng), one_of(rng, (), (6,)), one_of(rng, (), (2,))
    scale = rng.uniform(0.01, 0.1, wide).astype(np.float32)
    zero = some(rng, np.asarray(rng.integers(0, 9, wide), right))
    operands = [real(rng, *before, 4, 5), numbers(rng, right, 5, 6), scale, zero, some(rng, real(rng, 6))]
    return Case(operands, close=1e-5)


def qgemm(rng: Rng) -> Case:
    right, wide, quantised = byte(rng), one_of(rng, (), (6,)), bool(rng.integers(2))
    attrs = {"transA": one_of(rng, 0, 1), "transB": one_of(rng, 0, 1), "alpha": one_of(rng, 1.0, 0.5)}
    a, b = (4, 5)[:: -1 if attrs["transA"] else 1], (5, 6)[:: -1 if attrs["transB"] else 1]
    scale = rng.uniform(0.01, 0.1, wide).astype(np.float32)
    zero = np.asarray(rng.integers(0, 9, wide), right)
    c = one_of(rng, None, rng.integers(-99, 99, 6).astype(np.int32), rng.integers(-99, 99, (4, 6)).astype(np.int32))
    operands = [numbers(rng, np.uint8, *a), *scalars(rng, np.uint8), numbers(rng, right, *b), scale, zero, c]
    return Case([*operands, *(scalars(rng, np.uint8) if quantised else ())], attrs, close=1 if quantised else 1e-5)


CASES: dict[str, Callable[[Rng], Case]] = {
    "Gelu": unary,
    "QuickGelu": quick_gelu,
    "FastGelu": fast_gelu,
    "BiasGelu": bias_gelu,
    "LayerNormalization": layer_normalization,
    "SimplifiedLayerNormalization": simplified_layer_normalization,
    "SkipLayerNormalization": skip_layer_normalization,
    "SkipSimplifiedLayerNormalization": skip_simplified_layer_normalization,
    "EmbedLayerNormalization": embed_layer_normalization,
    "FusedMatMul": fused_matmul,
    "FusedConv": fused_conv,
    "FusedGemm": fused_gemm,
    "MatMulNBits": matmul_nbits,
    "Attention": attention,
    "MultiHeadAttention": multi_head_attention,
    "RotaryEmbedding": rotary_embedding,
    "GroupQueryAttention": group_query_attention,
    "QuantizeLinear": quantize_linear,
    "DequantizeLinear": dequantize_linear,
    "QLinearAdd": qlinear_binary,
    "QLinearMul": qlinear_binary,
    "QLinearSigmoid": qlinear_unary,
    "QLinearLeakyRelu": qlinear_leaky_relu,
    "QLinearWhere": qlinear_where,
    "QLinearConcat": qlinear_concat,
    "QLinearGlobalAveragePool": qlinear_global_average_pool,
    "QLinearSoftmax": qlinear_softmax,
    "MatMulIntegerToFloat": matmul_integer_to_float,
    "DynamicQuantizeMatMul": dynamic_quantize_matmul,
    "QGemm": qgemm,
}
"""Operator -> its cases."""
