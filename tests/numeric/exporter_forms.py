"""
How exporters write what the catalogue knows, as small ONNX graphs: tf2onnx, Paddle2ONNX, and both of PyTorch's.

A form is a function of a `Writer` and its first input that returns the result; `FORMS` has each with what it must be
recognised as. The same form is written for several opsets, its constants as initialisers or as Constant nodes.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper


class Writer:
    """Nodes one after the other: `w.Add(x, 1.0)`; numbers and arrays become constants."""

    def __init__(self, opset: int, *, nodes: bool = False, swap: bool = False) -> None:
        """`nodes`: constants are Constant nodes; `swap`: sums and products have their operands the other way round."""
        self.opset, self.nodes_for_constants, self.swap = opset, nodes, swap
        self.nodes: list[onnx.NodeProto] = []
        self.initialisers: list[onnx.TensorProto] = []
        self.inputs: list[onnx.ValueInfoProto] = []
        self.random = np.random.default_rng(0)

    def input(self, *shape: int, element: int = onnx.TensorProto.FLOAT) -> str:
        name = f"x{len(self.inputs)}"
        self.inputs.append(helper.make_tensor_value_info(name, element, shape))
        return name

    def weight(self, *shape: int) -> str:
        return self.constant((self.random.standard_normal(shape) / 2).astype(np.float32))

    def constant(self, array: Any) -> str:
        array = np.asarray(array)
        array = array.astype(np.float32) if array.dtype == np.float64 else array
        name = f"c{len(self.initialisers) + len(self.nodes)}"
        tensor = numpy_helper.from_array(array, name)
        if self.nodes_for_constants:
            self.nodes.append(helper.make_node("Constant", [], [name], value=tensor))
        else:
            self.initialisers.append(tensor)
        return name

    def node(self, kind: str, *operands: Any, outputs: int = 1, **attributes: Any) -> Any:
        values = [v if isinstance(v, str) else self.constant(v) for v in operands]
        if self.swap and kind in ("Add", "Mul"):
            values.reverse()
        names = [f"v{len(self.nodes)}_{k}" for k in range(outputs)]
        self.nodes.append(helper.make_node(kind, values, names, f"n{len(self.nodes)}", **attributes))
        return names[0] if outputs == 1 else names

    def __getattr__(self, kind: str) -> Callable[..., Any]:
        return lambda *operands, **attributes: self.node(kind, *operands, **attributes)

    def over(self, kind: str, x: str, axes: list[int]) -> str:
        """A reduction that keeps its axes."""
        if self.opset >= (13 if kind == "ReduceSum" else 18):
            return self.node(kind, x, np.array(axes), keepdims=1)
        return self.node(kind, x, axes=axes, keepdims=1)

    def clip(self, x: str, low: float, high: float) -> str:
        if self.opset < 11:
            return self.node("Clip", x, min=low, max=high)
        return self.node("Clip", x, low, high)

    def unsqueeze(self, x: str, axes: list[int]) -> str:
        return self.node("Unsqueeze", x, np.array(axes)) if self.opset >= 13 else self.node("Unsqueeze", x, axes=axes)

    def model(self, result: str) -> onnx.ModelProto:
        out = helper.make_tensor_value_info(result, onnx.TensorProto.FLOAT, None)
        graph = helper.make_graph(self.nodes, "form", self.inputs, [out], self.initialisers)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=10)
        return onnx.shape_inference.infer_shapes(model)


# ------------------------------------------------------------------ activations, after a convolution


def conv(w: Writer) -> str:
    return w.Conv(w.input(1, 3, 8, 8), w.weight(4, 3, 3, 3), w.weight(4))


def paddle_hard_swish(w: Writer) -> str:
    x = w.Identity(conv(w))
    return w.Div(w.Mul(x, w.clip(w.Add(x, np.float32([3.0])), 0.0, 6.0)), np.float32([6.0]))


def keras_hard_swish(w: Writer) -> str:
    x = conv(w)
    relu6 = w.Min(w.Relu(w.Add(x, 3.0)), 6.0)
    return w.Mul(w.Mul(x, relu6), np.float32(0.16666667))


def torch_hard_swish(w: Writer) -> str:
    x = conv(w)
    return w.Mul(x, w.HardSigmoid(x, alpha=1 / 6, beta=0.5))


def hard_sigmoid_by_clip(w: Writer) -> str:
    return w.clip(w.Add(w.Mul(conv(w), np.float32(1 / 6)), 0.5), 0.0, 1.0)


def swish(w: Writer) -> str:
    x = conv(w)
    return w.Mul(x, w.Sigmoid(x))


def paddle_mish(w: Writer) -> str:
    x = conv(w)
    return w.Mul(x, w.Tanh(w.Softplus(x)))


def darknet_mish(w: Writer) -> str:
    x = conv(w)
    return w.Mul(x, w.Tanh(w.Log(w.Add(w.Exp(x), 1.0))))


def leaky_relu_by_max(w: Writer) -> str:
    x = conv(w)
    return w.Max(x, w.Mul(x, np.float32(0.1)))


def relu_by_max(w: Writer) -> str:
    return w.Max(conv(w), 0.0)


def bias_after_transposes(w: Writer) -> str:
    """NHWC around NCHW, as TensorFlow's graphs are before transposes cancel."""
    x = w.Transpose(w.input(1, 8, 8, 3), perm=[0, 3, 1, 2])
    y = w.Transpose(w.Conv(x, w.weight(4, 3, 3, 3)), perm=[0, 2, 3, 1])
    y = w.Relu(w.Add(y, w.weight(4)))
    return w.Conv(w.Transpose(y, perm=[0, 3, 1, 2]), w.weight(4, 4, 1, 1))


def batch_norm_as_scale_and_shift(w: Writer) -> str:
    y = w.Transpose(
        w.Conv(w.Transpose(w.input(1, 8, 8, 3), perm=[0, 3, 1, 2]), w.weight(4, 3, 3, 3)), perm=[0, 2, 3, 1]
    )
    y = w.clip(w.Add(w.Mul(y, w.weight(4)), w.weight(4)), 0.0, 6.0)
    return w.Conv(w.Transpose(y, perm=[0, 3, 1, 2]), w.weight(4, 4, 1, 1))


def bias_by_reshape(w: Writer) -> str:
    y = w.Conv(w.input(1, 3, 8, 8), w.weight(4, 3, 3, 3))
    return w.Relu(w.Add(y, w.Reshape(w.weight(4), np.array([1, 4, 1, 1]))))


def squeeze_and_excite(w: Writer) -> str:
    x = conv(w)
    s = w.Relu(w.Conv(w.GlobalAveragePool(x), w.weight(2, 4, 1, 1), w.weight(2)))
    s = w.HardSigmoid(w.Conv(s, w.weight(4, 2, 1, 1), w.weight(4)), alpha=1 / 6, beta=0.5)
    return w.Mul(x, s)


# ------------------------------------------------------------------ Gelu, after a product


def dense(w: Writer) -> str:
    return w.Add(w.MatMul(w.input(2, 5, 8), w.weight(8, 16)), w.weight(16))


def dense_of_rows(w: Writer) -> str:
    """A product of matrices with reshapes around it."""
    y = w.MatMul(w.Reshape(w.input(2, 5, 8), np.array([10, 8])), w.weight(8, 16))
    return w.Reshape(w.Add(y, w.weight(16)), np.array([2, 5, 16]))


def paddle_gelu(w: Writer) -> str:
    x = dense(w)
    erf = w.Add(w.Erf(w.Div(x, np.float32([2**0.5]))), np.float32([1.0]))
    return w.Mul(w.Mul(x, erf), np.float32([0.5]))


def tf_gelu(w: Writer) -> str:
    x = dense(w)
    return w.Mul(w.Mul(0.5, x), w.Add(1.0, w.Erf(w.Mul(x, 2**-0.5))))


def google_gelu(w: Writer) -> str:
    """x times its cumulative distribution."""
    x = dense_of_rows(w)
    inner = w.Mul(w.Add(x, w.Mul(w.Pow(x, 3.0), 0.044715)), 0.7978845608)
    return w.Mul(x, w.Mul(w.Add(w.Tanh(inner), 1.0), 0.5))


def gelu_of_cubes(w: Writer) -> str:
    x = dense(w)
    cube = w.Mul(w.Mul(w.Mul(x, x), x), 0.044715)
    return w.Mul(w.Mul(0.5, x), w.Add(w.Tanh(w.Mul(w.Add(x, cube), 0.7978846)), 1.0))


def quick_gelu(w: Writer) -> str:
    x = dense(w)
    return w.Mul(x, w.Sigmoid(w.Mul(x, 1.702)))


# ------------------------------------------------------------------ normalisations


def _variance(w: Writer, less: str, square: str) -> str:
    return w.over("ReduceMean", w.Pow(less, 2.0) if square == "pow" else w.Mul(less, less), [-1])


def paddle_layer_norm(w: Writer) -> str:
    x = w.input(2, 5, 8)
    less = w.Sub(x, w.over("ReduceMean", x, [-1]))
    normal = w.Div(less, w.Sqrt(w.Add(_variance(w, less, "pow"), np.float32([1e-5]))))
    return w.Add(w.Mul(normal, w.weight(8)), w.weight(8))


def tf_layer_norm(w: Writer) -> str:
    x = w.input(2, 5, 8)
    mean = w.over("ReduceMean", x, [2])
    less = w.Sub(x, mean)
    inverse = w.Reciprocal(w.Sqrt(w.Add(_variance(w, less, "mul"), 1e-12)))
    factor = w.Mul(inverse, w.weight(8))
    return w.Add(w.Mul(x, factor), w.Sub(w.weight(8), w.Mul(mean, factor)))


def tf_layer_norm_of_the_other_difference(w: Writer) -> str:
    x = w.input(2, 5, 8)
    mean = w.over("ReduceMean", x, [2])
    inverse = w.Reciprocal(w.Sqrt(w.Add(_variance(w, w.Sub(mean, x), "mul"), 1e-6)))
    factor = w.Mul(inverse, w.weight(8))
    return w.Add(w.Mul(x, factor), w.Sub(w.weight(8), w.Mul(mean, factor)))


def layer_norm_by_power(w: Writer) -> str:
    x = w.input(2, 5, 8)
    less = w.Sub(x, w.over("ReduceMean", x, [-1]))
    normal = w.Mul(less, w.Pow(w.Add(_variance(w, less, "pow"), 1e-5), -0.5))
    return w.Add(w.Mul(w.weight(8), normal), w.weight(8))


def layer_norm_by_mean_of_squares(w: Writer) -> str:
    """The variance as the mean of squares less the square of the mean."""
    x = w.input(2, 5, 8)
    mean = w.over("ReduceMean", x, [-1])
    variance = w.Sub(w.over("ReduceMean", w.Mul(x, x), [-1]), w.Mul(mean, mean))
    normal = w.Div(w.Sub(x, mean), w.Sqrt(w.Add(variance, 1e-5)))
    return w.Add(w.Mul(normal, w.weight(8)), w.weight(8))


def layer_norm_of_channels(w: Writer) -> str:
    """ConvNeXt's, between transposes."""
    x = w.Transpose(w.input(1, 8, 5, 5), perm=[0, 2, 3, 1])
    less = w.Sub(x, w.over("ReduceMean", x, [-1]))
    normal = w.Div(less, w.Sqrt(w.Add(_variance(w, less, "pow"), 1e-6)))
    return w.Transpose(w.Add(w.Mul(normal, w.weight(8)), w.weight(8)), perm=[0, 3, 1, 2])


def rms_norm(w: Writer) -> str:
    x = w.input(2, 5, 8)
    root = w.Sqrt(w.Add(w.over("ReduceMean", w.Pow(x, 2.0), [-1]), 1e-6))
    return w.Mul(w.weight(8), w.Mul(x, w.Div(1.0, root)))


def tf_rms_norm(w: Writer) -> str:
    x = w.input(2, 5, 8)
    inverse = w.Reciprocal(w.Sqrt(w.Add(w.over("ReduceMean", w.Mul(x, x), [2]), 1e-6)))
    return w.Mul(w.Mul(x, inverse), w.weight(8))


def gemma_rms_norm(w: Writer) -> str:
    x = w.input(2, 5, 8)
    root = w.Pow(w.Add(w.over("ReduceMean", w.Pow(x, 2.0), [-1]), 1e-6), 0.5)
    return w.Mul(w.Mul(x, w.Reciprocal(root)), w.Add(w.weight(8), 1.0))


def rms_norm_by_sum(w: Writer) -> str:
    """The mean as a sum over a number."""
    x = w.input(2, 5, 8)
    mean = w.Div(w.over("ReduceSum", w.Mul(x, x), [-1]), 8.0)
    return w.Mul(w.Div(x, w.Sqrt(w.Add(mean, 1e-6))), w.weight(8))


# ------------------------------------------------------------------ softmax and attention


def softmax(w: Writer, x: str) -> str:
    exp = w.Exp(w.Sub(x, w.over("ReduceMax", x, [-1])))
    return w.Div(exp, w.over("ReduceSum", exp, [-1]))


def tf_softmax(w: Writer) -> str:
    return softmax(w, w.Add(w.Mul(w.input(2, 3, 5), 0.5), w.input(2, 1, 5)))


def softmax_times_inverse(w: Writer) -> str:
    x = w.input(2, 3, 5)
    exp = w.Exp(w.Sub(x, w.over("ReduceMax", x, [-1])))
    return w.Mul(exp, w.Reciprocal(w.over("ReduceSum", exp, [-1])))


def _projected(w: Writer, x: str, perm: list[int]) -> str:
    y = w.Add(w.MatMul(x, w.weight(8, 8)), w.weight(8))
    return w.Transpose(w.Reshape(y, np.array([2, 5, 2, 4])), perm=perm)


def tf_attention(w: Writer) -> str:
    """On rows, with softmax in its arithmetic and the mask made of ones and zeros."""
    x = w.Reshape(w.input(2, 5, 8), np.array([10, 8]))
    q, v = _projected(w, x, [0, 2, 1, 3]), _projected(w, x, [0, 2, 1, 3])
    k = _projected(w, x, [0, 2, 3, 1])
    mask = w.Mul(w.Sub(1.0, w.unsqueeze(w.input(2, 5), [1, 2])), -1e4)
    weights = softmax(w, w.Add(w.Mul(w.MatMul(q, k), 0.5), mask))
    y = w.Transpose(w.MatMul(weights, v), perm=[0, 2, 1, 3])
    y = w.MatMul(w.Reshape(y, np.array([10, 8])), w.weight(8, 8))
    return w.Reshape(w.Add(y, w.weight(8)), np.array([2, 5, 8]))


def paddle_attention(w: Writer) -> str:
    """The scale on the queries, one product cut by Split after a transpose to the front."""
    packed = w.Add(w.MatMul(w.input(2, 5, 8), w.weight(8, 24)), w.weight(24))
    packed = w.Transpose(w.Reshape(packed, np.array([2, 5, 3, 2, 4])), perm=[2, 0, 3, 1, 4])
    q, k, v = (w.Gather(packed, np.array(n), axis=0) for n in range(3))
    scores = w.MatMul(w.Mul(q, np.float32([0.5])), w.Transpose(k, perm=[0, 1, 3, 2]))
    y = w.MatMul(softmax(w, scores), v)
    return w.Reshape(w.Transpose(y, perm=[0, 2, 1, 3]), np.array([2, 5, 8]))


def swi_glu(w: Writer) -> str:
    x = w.input(2, 5, 8)
    gate = w.MatMul(x, w.weight(8, 16))
    return w.MatMul(w.Mul(w.Mul(gate, w.Sigmoid(gate)), w.MatMul(x, w.weight(8, 16))), w.weight(16, 8))


FORMS: dict[Callable[[Writer], str], str] = {
    paddle_hard_swish: "ConvHardSwish",
    keras_hard_swish: "ConvHardSwish",
    torch_hard_swish: "ConvHardSwish",
    hard_sigmoid_by_clip: "ConvClip",
    swish: "ConvSilu",
    paddle_mish: "ConvMish",
    darknet_mish: "ConvMish",
    leaky_relu_by_max: "Conv",
    relu_by_max: "ConvMax",
    bias_after_transposes: "ConvRelu",
    batch_norm_as_scale_and_shift: "ConvClip",
    bias_by_reshape: "ConvRelu",
    squeeze_and_excite: "ConvHardSigmoid",
    paddle_gelu: "Gelu",
    tf_gelu: "Gelu",
    google_gelu: "FastGelu",
    gelu_of_cubes: "FastGelu",
    quick_gelu: "QuickGelu",
    paddle_layer_norm: "LayerNormalization",
    tf_layer_norm: "LayerNormalization",
    tf_layer_norm_of_the_other_difference: "LayerNormalization",
    layer_norm_by_power: "LayerNormalization",
    layer_norm_by_mean_of_squares: "LayerNormalization",
    layer_norm_of_channels: "ChannelNormalization",
    rms_norm: "RMSNormalization",
    tf_rms_norm: "RMSNormalization",
    gemma_rms_norm: "RMSNormalization",
    rms_norm_by_sum: "RMSNormalization",
    tf_softmax: "Softmax",
    softmax_times_inverse: "Softmax",
    tf_attention: "Attention",
    paddle_attention: "Attention",
    swi_glu: "SwiGLU",
}
