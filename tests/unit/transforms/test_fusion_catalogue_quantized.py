"""
Ops between the integers that they are quantised to are one fusion.

Every case is run before and after by the reference, bit by bit, and opened again.
"""

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from gecc.dialects.ge.bodies import FusionOp
from gecc.dialects.ge.text import module_text
from gecc.frontend import export_model
from gecc.reference import make_inputs, run
from gecc.transforms.fusion.inline_fusion import InlineFusion
from gecc.transforms.fusion.op_fusion import OpFusion

from .fusion_builder import Builder, fused, names_of


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
