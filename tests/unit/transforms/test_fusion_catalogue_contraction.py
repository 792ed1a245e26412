"""
Products and convolutions take what follows them into one fusion; what only looks alike stays apart.

Every case is run before and after by the reference, bit by bit, and opened again.
"""

import numpy as np
import pytest
from xdsl.context import Context

from gecc.dialects.ge.bodies import FusionOp
from gecc.transforms.fusion.op_fusion import OpFusion

from .catalogue_forms import ACTIVATIONS, layer_norm
from .fusion_builder import Builder, names_of


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
