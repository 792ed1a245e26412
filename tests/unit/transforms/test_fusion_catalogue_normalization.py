"""
Normalisations and softmax as exporters write them become one fusion each; what only looks alike does not.

Every case is run before and after by the reference, bit by bit, and opened again.
"""

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import f16, f32, i64

from gecc.dialects.ge.bodies import FusionOp
from gecc.transforms.fusion.op_fusion import OpFusion

from .catalogue_forms import folded_layer_norm, layer_norm
from .fusion_builder import Builder, fused, names_of


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
