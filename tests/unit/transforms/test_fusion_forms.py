"""
Each rule of the catalogue on forms of any rank, shape, element type and order of operands: it fires where it must, not
where something else reads what is in the middle, and the values hold.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import bf16, f16, f32, i8, i64
from xdsl.ir import Operation, SSAValue

from gecc.dialects.ge.arithmetic import AddOp, MulOp
from gecc.dialects.ge.constants import ConstantOp
from gecc.dialects.ge.quantization import DequantizeLinearOp
from gecc.transforms.fusion.catalogue import CATALOGUE

from .catalogue_forms import ACTIVATIONS, folded_layer_norm, layer_norm
from .fusion_builder import Builder, fused, sizes


class Form(Builder):
    """A builder that writes sums and products in either order, and keeps the values that it makes."""

    def __init__(self, draw: st.DrawFn, element: Any) -> None:
        self.draw, self.values = draw, list[SSAValue]()
        super().__init__(element)
        self.lead = tuple(draw(st.lists(st.integers(1, 3), max_size=2)))
        self.width = draw(st.integers(2, 5))

    def rows(self) -> SSAValue:
        return self.input(*self.lead, 3, self.width)

    def image(self) -> SSAValue:
        return self.input(self.draw(st.integers(1, 2)), 2, *(self.draw(st.integers(3, 5)) for _ in range(2)))

    def one_of(self, *options: Any) -> Any:
        return options[self.draw(st.integers(0, len(options) - 1))]

    def maybe(self, make: Callable[[SSAValue], SSAValue], x: SSAValue) -> SSAValue:
        return make(x) if self.draw(st.booleans()) else x

    def _add(self, op: Operation) -> Any:
        if isinstance(op, AddOp | MulOp) and self.draw(st.booleans()):
            op.operands = (op.b, op.a)
        if not isinstance(op, ConstantOp):
            self.values.extend(op.results)
        return super()._add(op)


def scaled(f: Form, normal: SSAValue) -> SSAValue:
    match f.one_of("alone", "scale", "both"):
        case "alone":
            return normal
        case "scale":
            return f.Mul(normal, f.weight(f.width))
        case _:
            return f.Add(f.Mul(normal, f.weight(f.width)), f.weight(f.width))


def normalised(f: Form) -> SSAValue:
    x = f.rows()
    match f.one_of("op", "primitives", "folded"):
        case "op":
            return f.LayerNormalization(f.Add(x, f.rows()), f.weight(f.width), None)
        case "primitives":
            return scaled(f, layer_norm(f, x, twice=f.one_of(False, True), power=f.one_of(False, True)))
        case _:
            return folded_layer_norm(f, x, f.weight(f.width), f.weight(f.width))


def by_root_mean_square(f: Form) -> SSAValue:
    x = f.rows()
    square = f.one_of(lambda: f.Pow(x, 2.0), lambda: f.Mul(x, x))
    mean = f.ReduceMean(square(), [-1])
    root = f.Add(mean, 1e-3)
    match f.one_of("div", "reciprocal", "power"):
        case "div":
            normal = f.Div(x, f.Sqrt(root))
        case "reciprocal":
            normal = f.Mul(x, f.Reciprocal(f.Sqrt(root)))
        case _:
            normal = f.Mul(x, f.Pow(root, -0.5))
    return f.Mul(normal, f.weight(f.width))


def of_channels(f: Form) -> SSAValue:
    return f.Mul(layer_norm(f, f.image(), axis=1), f.weight(2, 1, 1))


def of_groups(f: Form) -> SSAValue:
    x = f.input(1, 4, 3, 3)
    y = f.Reshape(f.InstanceNormalization(f.Reshape(x, np.array([1, 2, -1])), f.weight(2), f.weight(2)), [1, 4, 3, 3])
    return f.Relu(f.Add(f.Mul(y, f.weight(4, 1, 1)), f.weight(4, 1, 1)))


def in_shares(f: Form, x: SSAValue) -> SSAValue:
    if f.one_of(True, False):
        return f.Softmax(x, axis=f.one_of(-1, len(x.type.shape) - 1))  # pyright: ignore[reportAttributeAccessIssue]
    exp = f.Exp(f.maybe(lambda x: f.Sub(x, f.ReduceMax(x, [-1])), x))
    return f.Div(exp, f.ReduceSum(exp, [-1]))


def softmax(f: Form) -> SSAValue:
    return in_shares(f, f.Add(f.Mul(f.rows(), 0.5), f.rows()))


def attention(f: Form) -> SSAValue:
    q, k, v = (f.input(*f.lead, 3, f.width) for _ in range(3))
    order = (*range(len(f.lead)), len(f.lead) + 1, len(f.lead))
    scores = f.MatMul(q, f.Transpose(k, perm=order))
    scores = f.one_of(f.Mul, f.Div)(scores, f.one_of(0.5, 2.0))
    if f.one_of(True, False):
        scores = f.Add(scores, f.input(1, 3))
    return f.MatMul(in_shares(f, scores), v)


def embedding(f: Form) -> SSAValue:
    sums = [f.Gather(f.weight(99, f.width), f.input(2, 3, element=i64)) for _ in range(f.one_of(2, 3))]
    total = sums[0]
    for other in sums[1:]:
        total = f.Add(total, other)
    return total


def activation(f: Form) -> SSAValue:
    return ACTIVATIONS[f.one_of(*ACTIVATIONS)][1](f, f.rows())


def convolved(f: Form) -> SSAValue:
    y = f.Conv(f.image(), f.weight(4, 1, 3, 3), f.weight(4), group=2)
    y = f.Mul(y, f.weight(*f.one_of((4, 1, 1), (1, 4, 1, 1))))
    return getattr(f, f.one_of("Relu", "Sigmoid", "HardSwish", "Tanh"))(y)


def multiplied(f: Form) -> SSAValue:
    y = f.Add(f.MatMul(f.rows(), f.weight(f.width, 4)), f.weight(4))
    return f.one_of(f.Relu, lambda x: ACTIVATIONS["legacy"][1](f, x))(y)


def gated(name: str) -> Callable[[Form], SSAValue]:
    def form(f: Form) -> SSAValue:
        x = f.rows()
        gate, up = (f.MatMul(x, f.weight(f.width, 4)) for _ in range(2))
        of = {"SwiGLU": "silu", "GeGLU": "legacy", "FastGeGLU": "tanh"}
        return f.Mul(ACTIVATIONS[of[name]][1](f, gate) if name in of else f.Sigmoid(gate), up)

    return form


def gated_cut(name: str) -> Callable[[Form], SSAValue]:
    def form(f: Form) -> SSAValue:
        gate, up = f.Split(f.input(*f.lead, 4), np.array([2, 2]), axis=-1, results=[True] * 2)
        of = {"SwiGLU": "silu", "GeGLU": "legacy", "FastGeGLU": "tanh"}
        return f.Mul(ACTIVATIONS[of[name]][1](f, gate) if name in of else f.Sigmoid(gate), up)

    return form


def integers(f: Form, x: SSAValue) -> SSAValue:
    return f.QuantizeLinear(x, np.float32(0.1), np.int8(3))


def floats(f: Form) -> SSAValue:
    return f.DequantizeLinear(f.input(1, 2, 4, 4, element=i8), np.float32(0.1), np.int8(3))


def quantised_product(f: Form) -> SSAValue:
    w = f.DequantizeLinear(f.known(np.arange(36, dtype=np.int8).reshape(2, 2, 3, 3)), np.float32(0.1), np.int8(0))
    y = f.Conv(floats(f), w)
    return integers(f, f.maybe(f.Relu, y))


def quantised_sum(f: Form) -> SSAValue:
    return integers(f, f.one_of(f.Add, f.Mul)(floats(f), floats(f)))


def quantised_pooling(f: Form) -> SSAValue:
    return integers(f, f.one_of(f.MaxPool, f.AveragePool)(floats(f), kernel_shape=(2, 2)))


def reduced(f: Form) -> SSAValue:
    x = f.Mul(f.rows(), f.rows())
    return f.Sqrt(f.Abs(f.one_of(f.ReduceSum, f.ReduceMax, f.ReduceMean)(x, [f.one_of(-1, -2)])))


def tree(f: Form) -> SSAValue:
    return f.Sub(f.Exp(f.rows()), f.Abs(f.rows()))


def moved(f: Form) -> SSAValue:
    return f.Concat(f.Transpose(f.input(2, 3), perm=(1, 0)), f.input(3, f.one_of(1, 2)), axis=1)


FORMS: dict[str, tuple[Callable[[Form], SSAValue], str]] = {
    "attention": (attention, "Attention"),
    "SwiGLU": (gated("SwiGLU"), "MatMulSwiGLU"),
    "SwiGLU of a cut": (gated_cut("SwiGLU"), "SwiGLU"),
    "GeGLU": (gated("GeGLU"), "MatMulGeGLU"),
    "GeGLU of a cut": (gated_cut("GeGLU"), "GeGLU"),
    "FastGeGLU": (gated("FastGeGLU"), "MatMulFastGeGLU"),
    "FastGeGLU of a cut": (gated_cut("FastGeGLU"), "FastGeGLU"),
    "GLU": (gated("GLU"), "MatMulGLU"),
    "GLU of a cut": (gated_cut("GLU"), "GLU"),
    "quantised product": (quantised_product, "QuantizedConv"),
    "quantised sum": (quantised_sum, "Quantized"),
    "quantised pooling": (quantised_pooling, "Quantized"),
    "convolution": (convolved, "ConvMul"),
    "product": (multiplied, "MatMulAdd"),
    "layer normalisation": (normalised, "LayerNormalization"),
    "channel normalisation": (of_channels, "ChannelNormalization"),
    "group normalisation": (of_groups, "InstanceNormalizationMulAddRelu"),
    "root mean square normalisation": (by_root_mean_square, "RMSNormalization"),
    "embeddings": (embedding, "EmbeddingSum"),
    "softmax": (softmax, "Softmax"),
    "activation": (activation, ""),
    "reduction": (reduced, "Reduce"),
    "elementwise": (tree, "ExpAbsSub"),
    "movement": (moved, "TransposeConcat"),
}
QUANTISED = [name for name in FORMS if name.startswith("quantised")]


def test_every_rule_has_a_form():
    assert set(FORMS) == {rule.name for rule in CATALOGUE}


def elements(rule: str) -> st.SearchStrategy[Any]:
    return st.just(f32) if rule in QUANTISED else st.sampled_from([f32, f16, bf16])


@pytest.mark.parametrize("rule", FORMS)
@settings(max_examples=6)
@given(data=st.data())
def test_it_is_one_fusion(rule: str, data: st.DataObject):
    make, label = FORMS[rule]
    f = Form(data.draw, data.draw(elements(rule)))
    names, _ = fused(f.done(make(f)))
    assert len(names) == 1
    assert label in names[0]


@pytest.mark.parametrize("rule", FORMS)
@settings(max_examples=6)
@given(data=st.data())
def test_a_value_in_the_middle_that_is_a_result_keeps_it_apart(rule: str, data: st.DataObject):
    make, _ = FORMS[rule]
    f = Form(data.draw, data.draw(elements(rule)))
    y = make(f)
    inner = [v for v in f.values if v is not y and v.first_use and not isinstance(v.owner, DequantizeLinearOp)]
    module = f.done(data.draw(st.sampled_from(inner)), y)
    count = sum(op.name.startswith("ge.") for op in module.walk() if not isinstance(op, ConstantOp))
    assert max([0, *sizes(module)]) < count
