"""
The catalogue: each form in which exporters write what it knows becomes one fusion; what only looks alike does not.

Every case is run before and after by the reference, bit by bit, and opened again.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr, f16, f32, i64
from xdsl.ir import Operation, SSAValue

from gecc.dialects.ge.bodies import FusionOp
from gecc.dialects.ge.text import module_text
from gecc.frontend import export_model
from gecc.reference import make_inputs, run
from gecc.transforms.fusion.catalogue.parts import parts_of
from gecc.transforms.fusion.inline_fusion import InlineFusion
from gecc.transforms.fusion.op_fusion import OpFusion
from gecc.transforms.fusion.pattern import product, value
from gecc.transforms.fusion.search import Search

from .fusion_builder import Builder, fused, names_of

# ------------------------------------------------------------------ activations


def erf_of(b: Builder, x: SSAValue, c: float = 2**0.5) -> SSAValue:
    return b.Add(b.Erf(b.Div(x, c)), 1.0)


ACTIVATIONS: dict[str, tuple[str, Callable[[Builder, SSAValue], SSAValue]]] = {
    "legacy": ("Gelu", lambda b, x: b.Mul(b.Mul(x, erf_of(b, x)), 0.5)),
    "dynamo": ("Gelu", lambda b, x: b.Mul(b.Mul(0.5, x), b.Add(1.0, b.Erf(b.Mul(x, 2**-0.5))))),
    "halves first": ("Gelu", lambda b, x: b.Mul(x, b.Mul(erf_of(b, x), 0.5))),
    "halves inside": ("Gelu", lambda b, x: b.Mul(x, b.Add(b.Mul(b.Erf(b.Div(x, 2**0.5)), 0.5), 0.5))),
    "tanh": (
        "FastGelu",
        lambda b, x: b.Mul(
            b.Mul(x, 0.5),
            b.Add(b.Tanh(b.Mul(b.Add(x, b.Mul(b.Pow(x, 3.0), 0.044715)), 0.7978845608)), 1.0),
        ),
    ),
    "tanh of products": (
        "FastGelu",
        lambda b, x: b.Mul(
            0.5,
            b.Mul(x, b.Add(1.0, b.Tanh(b.Mul(b.Mul(0.7978845608, x), b.Add(1.0, b.Mul(0.044715, b.Mul(x, x))))))),
        ),
    ),
    "quick": ("QuickGelu", lambda b, x: b.Mul(x, b.Sigmoid(b.Mul(x, 1.702)))),
    "silu": ("Silu", lambda b, x: b.Mul(b.Sigmoid(x), x)),
    "silu by exp": ("Silu", lambda b, x: b.Div(x, b.Add(b.Exp(b.Neg(x)), 1.0))),
    "hard swish": ("HardSwish", lambda b, x: b.Mul(b.HardSigmoid(x, alpha=1 / 6), x)),
    "hard swish by clip": ("HardSwish", lambda b, x: b.Div(b.Mul(x, b.Clip(b.Add(x, 3.0), 0.0, 6.0)), 6.0)),
    "hard sigmoid": ("HardSigmoid", lambda b, x: b.Div(b.Clip(b.Add(x, 3.0), 0.0, 6.0), 6.0)),
    "mish": ("Mish", lambda b, x: b.Mul(x, b.Tanh(b.Softplus(x)))),
    "mish by log": ("Mish", lambda b, x: b.Mul(x, b.Tanh(b.Log(b.Add(b.Exp(x), 1.0))))),
}


@pytest.mark.parametrize("form", ACTIVATIONS)
@settings(max_examples=6)
@given(shape=st.lists(st.integers(1, 5), min_size=1, max_size=4), element=st.sampled_from([f16, f32]))
def test_an_activation_is_one_op(form: str, shape: Sequence[int], element: Any):
    name, make = ACTIVATIONS[form]
    b = Builder(element)
    assert names_of(b.done(make(b, b.input(*shape)))) == [name]


@pytest.mark.parametrize("form", ACTIVATIONS)
def test_an_activation_goes_with_the_convolution_and_the_product_before_it(form: str):
    name, make = ACTIVATIONS[form]
    b = Builder()
    conv = b.Conv(b.input(1, 2, 4, 4), b.weight(3, 2, 3, 3), b.weight(3))
    dense = b.Add(b.MatMul(b.input(2, 4), b.weight(4, 3)), b.weight(3))
    gemm = b.Gemm(b.input(2, 4), b.weight(4, 3), b.weight(3))
    found = names_of(b.done(make(b, conv), make(b, dense), make(b, gemm)))
    assert found == [f"Conv{name}", f"MatMulAdd{name}", f"Gemm{name}"]


@pytest.mark.parametrize(
    "wrong",
    [
        lambda b, x: b.Mul(b.Mul(x, erf_of(b, x, 1.5)), 0.5),
        lambda b, x: b.Mul(b.Mul(x, erf_of(b, x)), 0.4),
        lambda b, x: b.Mul(b.Mul(x, b.Add(b.Erf(b.Div(x, 2**0.5)), 0.9)), 0.5),
    ],
)
def test_a_gelu_with_a_wrong_number_is_none(wrong: Callable[[Builder, SSAValue], SSAValue]):
    b = Builder()
    names, report = fused(b.done(wrong(b, b.input(2, 3))))
    assert names == ["DivErfAddMulMul"]
    assert any("activation" in remark and ", not " in remark for remark in report.remarks)

    b = Builder()
    names, report = fused(b.done(wrong(b, b.MatMul(b.input(2, 3), b.weight(3, 3)))))
    assert names == ["MatMulDivErfAddAnd2More"]
    (remark,) = report.remarks
    assert "is no Gelu: " in remark
    assert ", not " in remark


def test_a_gelu_whose_inner_value_is_a_result_is_none():
    b = Builder()
    x = b.input(2, 3)
    inner = erf_of(b, x)
    names, report = fused(b.done(inner, b.Mul(b.Mul(x, inner), 0.5)))
    assert "Gelu" not in "".join(names)
    assert any("the graph reads the result of" in remark for remark in report.remarks)


# ------------------------------------------------------------------ normalisations and softmax


def layer_norm(b: Builder, x: SSAValue, axis: int = -1, *, twice: bool = False, power: bool = True) -> SSAValue:
    mean = b.ReduceMean(x, [axis])
    less = b.Sub(x, mean)
    other = b.Sub(x, mean) if twice else less
    square = b.Pow(other, 2.0) if power else b.Mul(other, other)
    return b.Div(less, b.Sqrt(b.Add(b.ReduceMean(square, [axis]), 1e-3)))


def folded_layer_norm(b: Builder, x: SSAValue, scale: SSAValue, bias: SSAValue) -> SSAValue:
    """As TensorFlow has it."""
    mean = b.ReduceMean(x, [-1])
    less = b.Sub(x, mean)
    factor = b.Mul(b.Reciprocal(b.Sqrt(b.Add(b.ReduceMean(b.Mul(less, less), [-1]), 1e-3))), scale)
    return b.Add(b.Mul(x, factor), b.Sub(bias, b.Mul(mean, factor)))


@pytest.mark.parametrize("twice", [False, True])
@pytest.mark.parametrize("power", [False, True])
def test_a_layer_normalisation_in_its_arithmetic(twice: bool, power: bool):
    b = Builder()
    normal = layer_norm(b, b.input(2, 3, 4), twice=twice, power=power)
    assert names_of(b.done(b.Add(b.Mul(normal, b.weight(4)), b.weight(4)))) == ["LayerNormalization"]


def test_a_layer_normalisation_as_tensorflow_has_it():
    b = Builder()
    y = folded_layer_norm(b, b.input(2, 3, 4), b.weight(4), b.weight(4))
    assert names_of(b.done(y)) == ["LayerNormalization"]


def test_a_layer_normalisation_takes_what_is_added_before():
    b = Builder()
    x, y = b.input(2, 3, 4), b.input(2, 3, 4)
    op = b.LayerNormalization(b.Add(b.Add(x, y), b.weight(4)), b.weight(4), b.weight(4), results=[True, False, False])
    assert names_of(b.done(op)) == ["AddAddLayerNormalization"]


def test_a_layer_normalisation_of_another_axis_is_none():
    b = Builder()
    names, report = fused(b.done(layer_norm(b, b.input(2, 3, 4), axis=1)))
    assert "LayerNormalization" not in "".join(names)
    assert any("it does not go over the last axes" in remark for remark in report.remarks)


@pytest.mark.parametrize("form", ["div", "reciprocal", "power"])
@pytest.mark.parametrize("casts", [False, True])
def test_a_root_mean_square_normalisation(form: str, casts: bool):
    b = Builder(f16 if casts else f32)
    x = b.input(2, 3, 4)
    scale = b.weight(4)
    b.element = f32
    wide = b.cast(x, f32) if casts else x
    square = b.Add(b.ReduceMean(b.Pow(wide, 2.0), [-1]), 1e-6)
    match form:
        case "div":
            normal = b.Div(wide, b.Sqrt(square))
        case "reciprocal":
            normal = b.Mul(b.Reciprocal(b.Sqrt(square)), wide)
        case _:
            normal = b.Mul(wide, b.Pow(square, -0.5))
    b.element = f16 if casts else f32
    normal = b.cast(normal, f16) if casts else normal
    assert names_of(b.done(b.Mul(scale, normal))) == ["RMSNormalization"]


def test_a_normalisation_of_channels():
    """As detection models write it: the channels are the second axis."""
    b = Builder()
    x = b.input(2, 4, 3, 3)
    less = b.Sub(x, b.ReduceMean(x, [1]))
    normal = b.Div(less, b.Sqrt(b.Add(b.ReduceMean(b.Pow(less, 2.0), [1]), 1e-3)))
    y = b.Add(b.Mul(b.weight(4, 1, 1), normal), b.weight(4, 1, 1))
    assert names_of(b.done(y)) == ["ChannelNormalization"]


def test_means_over_different_axes_are_no_layer_normalisation():
    b = Builder()
    x = b.input(2, 3, 4)
    less = b.Sub(x, b.ReduceMean(x, [-1]))
    names, report = fused(b.done(b.Div(less, b.Sqrt(b.Add(b.ReduceMean(b.Pow(less, 2.0), [1]), 1e-3)))))
    assert "LayerNormalization" not in "".join(names)
    assert any("different axes" in remark for remark in report.remarks)


def test_a_sum_over_another_number_is_no_mean():
    b = Builder()
    x = b.input(2, 3, 4)
    mean = b.Div(b.ReduceSum(b.Mul(x, x), [-1]), 5.0)
    names, report = fused(b.done(b.Div(x, b.Sqrt(b.Add(mean, 1e-3)))))
    assert "Normalization" not in "".join(names)
    assert any("it is no mean" in remark for remark in report.remarks)


def test_a_normalisation_of_groups_with_the_shapes_and_the_activation_around_it():
    b = Builder()
    x = b.Reshape(b.input(1, 4, 3, 3), np.array([1, 2, 18]))
    y = b.InstanceNormalization(x, b.weight(2), b.weight(2))
    y = b.Reshape(y, np.array([1, 4, 3, 3]))
    y = b.Add(b.Mul(y, b.weight(4, 1, 1)), b.weight(4, 1, 1))
    assert names_of(b.done(b.Mul(y, b.Sigmoid(y)))) == ["InstanceNormalizationMulAddSilu"]


def test_any_reduction_and_what_goes_back_to_the_shape_of_what_it_reduces():
    b = Builder()
    x = b.input(2, 3, 4)
    length = b.Max(b.Sqrt(b.ReduceSum(b.Mul(x, x), [1])), 1e-3)
    assert names_of(b.done(b.Div(x, b.Expand(length, np.array([2, 3, 4]))))) == ["MulReduceSumSqrtMaxAnd2More"]


def test_a_softmax_in_its_arithmetic_with_a_scale_and_a_mask():
    b = Builder()
    scores = b.Add(b.Div(b.input(2, 3, 4), 8.0), b.input(2, 3, 4))
    exp = b.Exp(b.Sub(scores, b.ReduceMax(scores, [-1])))
    assert names_of(b.done(b.Div(exp, b.ReduceSum(exp, [-1])))) == ["DivAddSoftmax"]


def test_embeddings_and_their_normalisation_are_one():
    b = Builder()
    words, places, kinds = (b.input(2, 3, element=i64) for _ in range(3))
    total = b.Add(
        b.Add(b.Gather(b.weight(9, 4), words), b.Gather(b.weight(9, 4), kinds)), b.Gather(b.weight(9, 4), places)
    )
    op = b.LayerNormalization(total, b.weight(4), b.weight(4), results=[True, False, False])
    module = b.done(op)
    OpFusion().apply(Context(), module)
    (fusion,) = [op for op in module.walk() if isinstance(op, FusionOp)]
    assert fusion.label.data == "EmbeddingLayerNormalization"
    assert len(fusion.body.block.ops) == 6 + 1


# ------------------------------------------------------------------ attention


def heads(b: Builder, x: SSAValue, weight: SSAValue | None = None) -> SSAValue:
    """Two heads of four out of (1, 3, 8)."""
    projected = x if weight is None else b.Add(b.MatMul(x, weight), b.weight(8))
    return b.Transpose(b.Reshape(projected, np.array([1, 3, 2, 4])), perm=(0, 2, 1, 3))


def transposed(b: Builder, x: SSAValue) -> SSAValue:
    return b.Transpose(x, perm=(0, 1, 3, 2))


def back(b: Builder, x: SSAValue) -> SSAValue:
    return b.Reshape(b.Transpose(x, perm=(0, 2, 1, 3)), np.array([1, 3, 8]))


def attended(b: Builder, scores: SSAValue, v: SSAValue) -> SSAValue:
    return back(b, b.MatMul(b.Softmax(scores, axis=-1), v))


def test_attention_with_separate_projections_and_a_mask():
    b = Builder()
    x = b.input(1, 3, 8)
    q, k, v = (heads(b, x, b.weight(8, 8)) for _ in range(3))
    scores = b.Add(b.Div(b.MatMul(q, transposed(b, k)), 2.0), b.input(1, 1, 3, 3))
    assert names_of(b.done(attended(b, scores, v))) == ["MatMulAdd"] * 3 + ["Attention"]


def test_attention_with_a_packed_projection_and_a_mask_that_chooses():
    b = Builder()
    packed = b.Add(b.MatMul(b.input(1, 3, 8), b.weight(8, 24)), b.weight(24))
    parts = b.Split(packed, np.array([8, 8, 8]), axis=2, results=[True] * 3)
    q, k, v = (heads(b, part) for part in parts)
    mask = b.known(np.tril(np.ones((1, 1, 3, 3), bool)))
    scores = b.Where(mask, b.Mul(b.MatMul(q, transposed(b, k)), 0.5), -1e4)
    assert names_of(b.done(attended(b, scores, v))) == ["MatMulAdd", "Attention"]


def test_attention_with_scaled_queries_and_keys_and_rows_that_are_masked_as_a_whole():
    """As the exporter writes scaled_dot_product_attention."""
    b = Builder()
    q, k, v = (heads(b, b.input(1, 3, 8)) for _ in range(3))
    scores = b.Add(b.MatMul(b.Mul(q, 0.7), b.Mul(transposed(b, k), 0.7)), b.input(1, 1, 3, 3))
    weights = b.Softmax(scores, axis=-1)
    weights = b.Where(b.IsNaN(weights), 0.0, weights)
    assert names_of(b.done(back(b, b.MatMul(weights, v)))) == ["Attention"]


def test_attention_over_past_keys_and_values_that_are_results():
    b = Builder()
    past_k, past_v = b.input(1, 2, 5, 4), b.input(1, 2, 5, 4)
    q, k, v = (heads(b, b.input(1, 3, 8)) for _ in range(3))
    keys, values = b.Concat(past_k, k, axis=2), b.Concat(past_v, v, axis=2)
    y = attended(b, b.MatMul(q, transposed(b, keys)), values)
    assert "Attention" in names_of(b.done(y, keys, values))


def test_attention_of_groups_with_rotary_embeddings():
    b = Builder()
    cos, sin = b.input(1, 1, 3, 4), b.input(1, 1, 3, 4)
    q = heads(b, b.input(1, 3, 8))
    k, v = (b.Transpose(b.Reshape(b.input(1, 3, 4), np.array([1, 3, 1, 4])), perm=(0, 2, 1, 3)) for _ in range(2))

    def rotated(x: SSAValue) -> SSAValue:
        left, right = (b.Slice(x, [a], [z], [3]) for a, z in ((0, 2), (2, 4)))
        return b.Add(b.Mul(x, cos), b.Mul(b.Concat(b.Neg(right), left, axis=-1), sin))

    def repeated(x: SSAValue) -> SSAValue:
        wide = b.Expand(b.Unsqueeze(x, np.array([2])), np.array([1, 1, 2, 3, 4]))
        return b.Reshape(wide, np.array([1, 2, 3, 4]))

    scores = b.Mul(b.MatMul(rotated(q), transposed(b, repeated(rotated(k)))), 0.5)
    assert names_of(b.done(attended(b, scores, repeated(v)))) == ["Attention"]


def test_attention_of_windows_each_with_a_mask():
    b = Builder()
    q, k, v = (b.input(4, 2, 3, 4) for _ in range(3))
    scores = b.Add(b.MatMul(q, transposed(b, k)), b.weight(1, 2, 3, 3))
    scores = b.Add(b.Reshape(scores, np.array([2, 2, 2, 3, 3])), b.weight(1, 2, 1, 3, 3))
    scores = b.Reshape(scores, np.array([4, 2, 3, 3]))
    assert names_of(b.done(b.MatMul(b.Softmax(scores, axis=-1), v))) == ["Attention"]


def test_attention_by_einsum():
    b = Builder()
    q, k, v = (b.input(1, 3, 2, 4) for _ in range(3))
    weights = b.Softmax(b.Mul(b.Einsum(q, k, equation="bqhd,bkhd->bhqk"), 0.5), axis=-1)
    assert names_of(b.done(b.Einsum(weights, v, equation="bhqk,bkhd->bqhd"))) == ["Attention"]


def test_attention_with_normalised_queries_and_keys():
    b = Builder()

    def normalised(x: SSAValue) -> SSAValue:
        root = b.Sqrt(b.Add(b.ReduceMean(b.Pow(x, 2.0), [-1]), 1e-3))
        return b.Mul(b.Div(x, root), b.weight(4))

    q, k, v = (heads(b, b.input(1, 3, 8)) for _ in range(3))
    scores = b.MatMul(normalised(q), transposed(b, normalised(k)))
    assert names_of(b.done(attended(b, scores, v))) == ["Attention"]


def test_attention_whose_weights_have_another_batch():
    b = Builder()
    q, k, v = (b.input(2, 3, 4) for _ in range(3))
    scores = b.Reshape(b.MatMul(q, b.Transpose(k, perm=(0, 2, 1))), np.array([1, 2, 3, 3]))
    weights = b.Reshape(b.Softmax(scores, axis=-1), np.array([2, 3, 3]))
    assert names_of(b.done(b.MatMul(weights, v))) == ["Attention"]


def test_another_shape_that_cuts_the_rows_of_scores_is_none():
    b = Builder()
    q, k, v = b.input(2, 4, 4), b.input(2, 4, 4), b.input(2, 2, 4)
    scores = b.MatMul(q, b.Transpose(k, perm=(0, 2, 1)))
    weights = b.Softmax(b.Reshape(scores, np.array([2, 8, 2])), axis=-1)
    names, report = fused(b.done(b.MatMul(weights, v)))
    assert "Attention" not in names
    assert any("cuts the rows" in remark for remark in report.remarks)


def test_a_mask_that_broadcasts_the_scores_is_none():
    b = Builder()
    q, k, v = (heads(b, b.input(1, 3, 8)) for _ in range(3))
    scores = b.Add(b.MatMul(q, transposed(b, k)), b.input(2, 1, 3, 3))
    names, report = fused(b.done(b.MatMul(b.Softmax(scores, axis=-1), v)))
    assert "Attention" not in names
    assert any("the mask broadcasts the scores" in remark for remark in report.remarks)


def test_a_softmax_along_another_axis_is_no_attention():
    b = Builder()
    q, k, v = (heads(b, b.input(1, 3, 8)) for _ in range(3))
    y = b.MatMul(b.Softmax(b.MatMul(q, transposed(b, k)), axis=1), v)
    names, report = fused(b.done(y))
    assert "Attention" not in names
    assert any("it does not go along the last axis" in remark for remark in report.remarks)


def test_scores_that_are_a_result_keep_attention_apart():
    b = Builder()
    q, k, v = (heads(b, b.input(1, 3, 8)) for _ in range(3))
    scores = b.MatMul(q, transposed(b, k))
    assert "Attention" not in names_of(b.done(attended(b, scores, v), scores))


# ------------------------------------------------------------------ products and convolutions


def test_a_residual_and_a_normalisation_go_with_the_product():
    b = Builder()
    y = b.Add(b.Add(b.MatMul(b.input(2, 3, 4), b.weight(4, 4)), b.weight(4)), b.input(2, 3, 4))
    y = b.LayerNormalization(y, b.weight(4), b.weight(4), results=[True, False, False])
    assert names_of(b.done(y)) == ["MatMulAddAddLayerNormalization"]


def test_a_normalisation_stays_apart_from_a_residual_that_goes_on():
    b = Builder()
    y = b.Add(b.MatMul(b.input(2, 3, 4), b.weight(4, 4)), b.input(2, 3, 4))
    normal = b.LayerNormalization(y, b.weight(4), b.weight(4), results=[True, False, False])
    assert names_of(b.done(y, normal)) == ["MatMulAdd"]


def test_a_pad_a_convolution_a_residual_and_an_activation():
    b = Builder()
    x = b.input(1, 3, 4, 4)
    y = b.Conv(b.Pad(x, np.array([0, 0, 1, 1, 0, 0, 1, 1])), b.weight(3, 3, 3, 3), b.weight(3))
    assert names_of(b.done(b.Relu(b.Add(x, y)))) == ["PadConvAddRelu"]


def test_of_two_convolutions_that_are_added_the_last_takes_the_sum():
    b = Builder()
    x = b.input(1, 3, 4, 4)
    first, last = (b.Conv(x, b.weight(3, 3, 1, 1), b.weight(3)) for _ in range(2))
    module = b.done(b.Relu(b.Add(first, last)))
    OpFusion().apply(Context(), module)
    (fusion,) = [op for op in module.walk() if isinstance(op, FusionOp)]
    assert [op.name for op in fusion.body.block.ops] == ["ge.conv", "ge.add", "ge.relu", "ge.yield"]


@pytest.mark.parametrize("activation", ["Relu", "LeakyRelu", "Sigmoid", "Tanh", "Elu", "HardSigmoid", "HardSwish"])
def test_any_activation_goes_with_a_convolution(activation: str):
    b = Builder()
    y = b.Conv(b.input(1, 2, 4, 4), b.weight(2, 1, 3, 3), b.weight(2), group=2)
    assert names_of(b.done(getattr(b, activation)(y))) == [f"Conv{activation}"]


def test_a_slope_a_channel_goes_with_a_convolution_and_a_larger_result_does_not():
    b = Builder()
    y = b.Conv(b.input(1, 2, 4, 4), b.weight(3, 2, 4, 4))
    z = b.Conv(b.input(1, 2, 4, 4), b.weight(3, 2, 3, 3))
    assert names_of(b.done(b.Mul(y, b.input(1, 3, 2, 2)), b.PRelu(z, b.weight(3, 1, 1)))) == ["ConvPRelu"]


def test_an_activation_behind_transposes_goes_with_the_convolution():
    b = Builder()
    y = b.Conv(b.input(1, 2, 4, 4), b.weight(6, 2, 1, 1), b.weight(6))
    y = b.Transpose(b.Reshape(y, np.array([1, 2, 3, 4, 4])), perm=(0, 1, 3, 4, 2))
    assert names_of(b.done(b.Split(b.Sigmoid(y), np.array([1, 2]), axis=4, results=[True] * 2)[0])) == [
        "ConvTransposeSigmoid"
    ]


def test_a_normalisation_along_columns_of_a_product_stays_apart():
    b = Builder()
    y = b.Transpose(b.MatMul(b.input(2, 4, 4), b.weight(4, 4)), perm=(0, 2, 1))
    normal = b.LayerNormalization(y, b.weight(4), b.weight(4), results=[True, False, False])
    assert names_of(b.done(normal)) == ["MatMulTranspose"]


@pytest.mark.parametrize("training", [0, 1])
def test_a_batch_normalisation_goes_with_the_product_unless_it_is_being_trained(training: int):
    b = Builder()
    y = b.MatMul(b.input(3, 4), b.weight(4, 4))
    variance = b.known(np.full(4, 0.5))
    statistics = (b.weight(4), b.weight(4), b.weight(4), variance)
    y = b.Relu(b.BatchNormalization(y, *statistics, training_mode=training))
    assert names_of(b.done(y)) == ([] if training else ["MatMulBatchNormalizationRelu"])


def test_what_is_between_reshapes_around_a_product():
    b = Builder()
    x = b.input(2, 3, 4)
    y = b.Gemm(b.Reshape(x, np.array([6, 4])), b.weight(4, 4), b.weight(4))
    y = b.Add(x, b.Reshape(y, np.array([2, 3, 4])))
    normal = b.Add(b.Mul(layer_norm(b, y), b.weight(4)), b.weight(4))
    assert names_of(b.done(normal)) == ["GemmAddLayerNormalization"]


@pytest.mark.parametrize("name", ["SwiGLU", "GeGLU"])
def test_a_gate_is_with_the_product_that_it_gates(name: str):
    b = Builder()
    x = b.input(2, 4)
    gate, up = b.MatMul(x, b.weight(4, 6)), b.MatMul(x, b.weight(4, 6))
    of = ACTIVATIONS["silu" if name == "SwiGLU" else "legacy"][1]
    assert names_of(b.done(b.Mul(of(b, gate), up))) == [f"MatMul{name}"]


def test_a_gate_of_a_cut():
    b = Builder()
    gate, up = b.Split(b.input(2, 8), np.array([4, 4]), axis=1, results=[True] * 2)
    assert names_of(b.done(b.Mul(b.Mul(gate, b.Sigmoid(gate)), up))) == ["SwiGLU"]


# ------------------------------------------------------------------ quantised, and what is left


def integers(b: Builder, x: SSAValue, scale: float = 0.1) -> SSAValue:
    return b.QuantizeLinear(x, np.float32(scale), np.int8(3))


def floats(b: Builder, x: SSAValue, scale: float = 0.1) -> SSAValue:
    return b.DequantizeLinear(x, np.float32(scale), np.int8(3))


def test_quantised_ops_between_their_integers():
    b = Builder()
    x, y = b.input(1, 2, 4, 4), b.input(1, 2, 4, 4)
    w = b.known(np.arange(36, dtype=np.int8).reshape(2, 2, 3, 3))
    conv = b.Relu(b.Conv(floats(b, integers(b, x)), b.DequantizeLinear(w, np.float32(0.1), np.int8(0)), b.weight(2)))
    added = integers(b, b.Add(floats(b, integers(b, x)), floats(b, integers(b, y))))
    pooled = integers(b, b.MaxPool(floats(b, integers(b, x)), kernel_shape=(2, 2)))
    found = names_of(b.done(integers(b, conv), added, pooled))
    assert sorted(found) == ["QuantizedAdd", "QuantizedConvRelu", "QuantizedMaxPool"]


def residual_of_integers(b: Builder) -> ModuleOp:
    x = floats(b, integers(b, b.input(1, 2, 4, 4)))
    w = b.DequantizeLinear(b.known(np.arange(4, dtype=np.int8).reshape(2, 2, 1, 1)), np.float32(0.1), np.int8(0))
    y = floats(b, integers(b, b.Conv(x, w, b.weight(2))))
    return b.done(integers(b, b.Relu(b.Add(x, y))))


def test_the_sum_of_a_residual_goes_with_the_convolution_between_its_integers():
    names, _ = fused(residual_of_integers(Builder()))
    assert names == ["QuantizedConvAddRelu"]


def test_floats_that_several_read_are_made_again_and_are_one_when_opened():
    """Each kernel reads the integers, as engines do; the values are the same, so it is no question of the mode."""
    b = Builder()
    x = floats(b, integers(b, b.input(1, 2, 4, 4)))
    pools = [b.MaxPool(x, kernel_shape=(2, 2)), b.AveragePool(x, kernel_shape=(2, 2))]
    module = b.done(*(integers(b, pool) for pool in pools))
    inputs, text = make_inputs(module), module_text(module)
    before = run(module, inputs)
    OpFusion().apply(Context(), module)
    assert all(run(module, inputs)[name].tobytes() == before[name].tobytes() for name in before)
    assert sorted(op.label.data for op in module.walk() if isinstance(op, FusionOp)) == [
        "QuantizedAveragePool",
        "QuantizedMaxPool",
    ]
    assert module_text(module).count("ge.dequantize_linear") == 2
    assert sum(node.op_type == "DequantizeLinear" for node in export_model(module).graph.node) == 1

    InlineFusion().apply(Context(), module)
    assert module_text(module).count("ge.dequantize_linear") == text.count("ge.dequantize_linear") == 1


def test_floats_that_are_left_to_one_reader_go_with_it_though_it_had_its_turn():
    b = Builder()
    x = floats(b, integers(b, b.input(1, 2, 4, 4)))
    module = b.done(integers(b, b.MaxPool(x, kernel_shape=(2, 2))), b.ReduceMean(x, [3]))
    OpFusion().apply(Context(), module)
    text = module_text(module)
    assert sorted(op.label.data for op in module.walk() if isinstance(op, FusionOp)) == [
        "QuantizedMaxPool",
        "QuantizedReduceMean",
    ]
    OpFusion().apply(Context(), module)
    assert module_text(module) == text


def test_chains_and_trees_and_reductions_with_what_is_around_them():
    b = Builder()
    x, y = b.input(2, 3), b.input(2, 3)
    tree = b.Mul(b.Exp(x), b.Sqrt(b.Abs(y)))
    mean = b.Sqrt(b.ReduceMean(b.Mul(x, y), [1]))
    assert names_of(b.done(tree, mean)) == ["ExpAbsSqrtMul", "MulReduceMeanSqrt"]


def test_arithmetic_on_shapes_is_left_alone():
    b = Builder()
    shape = b.Shape(b.input(2, 3))
    assert names_of(b.done(b.Mul(b.Add(shape, np.array([1])), np.array([2])))) == []


def test_a_user_s_fusion_is_left_alone_whatever_its_name():
    b = Builder()
    x = b.input(2, 4)
    module = b.done(b.Relu(b.Exp(x)))
    OpFusion().apply(Context(), module)
    (fusion,) = [op for op in module.walk() if isinstance(op, FusionOp)]
    for name in ("ExpRelu", "FusedDense", "Gelu"):
        fusion.label = StringAttr(name)
        text = module_text(module)
        OpFusion().apply(Context(), module)
        assert module_text(module) == text
        assert "Gelu" not in {part for part, _ in parts_of(list(fusion.body.block.ops)[:-1])}


def test_powers_of_powers_are_looked_at_in_bounded_time():
    b = Builder()
    y = b.input(2, 2)
    for _ in range(100):
        y = b.Mul(y, y)
    module = b.done(b.Mul(b.Sigmoid(y), y))
    OpFusion().apply(Context(), module)
    assert any(isinstance(op, FusionOp) for op in module.walk())


def test_a_product_of_many_numbers_is_looked_at_in_bounded_time():
    """Each number is a factor of its own only up to a bound: a chain of scalings is linear, and not deep."""
    b = Builder()
    y = b.input(2, 2)
    for _ in range(200):
        y = b.Mul(y, 0.5)
    assert isinstance(y.owner, Operation)
    search = Search(b.block)
    assert search.find(product(value(), value(), scale=0.5), y.owner) is None
    assert search.steps < 50


def test_movements_of_one_value_are_one_op_with_several_results_too():
    b = Builder()
    parts = b.Split(b.Transpose(b.input(4, 6), perm=(1, 0)), np.array([2, 4]), axis=0, results=[True] * 2)
    joined = b.Concat(b.input(1, 3), b.Transpose(b.input(3, 2), perm=(1, 0)), axis=0)
    assert names_of(b.done(*parts, joined)) == ["TransposeSplit", "TransposeConcat"]
