"""
Writes tiny_mobilevit.onnx: a MobileViT for 64 x 64 images, small enough to be committed, as an exporter would leave it.

    python examples/make_tiny_mobilevit.py [OUTPUT]

The architecture is MobileViT's (Mehta and Rastegari, arXiv:2110.02178) in small: a convolutional stem, two inverted
residual blocks, one block that runs a transformer over 2 x 2 patches, a classifier of 10 classes. The weights are
random with sane magnitudes. The graph has the noise of a TorchScript export with constant folding off: BatchNorms and
Dropouts not removed, LayerNorm and Gelu spelled out, shapes computed at run time from a free batch, positions computed
from constants, Identity nodes in front of shared weights.

The same bytes at every run: numpy promises RandomState's streams, the operator set is fixed, protobuf is told to be
deterministic.
"""

import sys
from pathlib import Path

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, checker, helper, numpy_helper

OPSET = 17
IMAGE = 64
CLASSES = 10
DEFAULT_OUTPUT = Path(__file__).with_name("tiny_mobilevit.onnx")


class Graph:
    """Nodes in the order of the calls, named by scope as PyTorch names them: `/stem/Conv`, `/stem/Conv_output_0`."""

    def __init__(self) -> None:
        self.nodes: list[NodeProto] = []
        self.weights: list[TensorProto] = []
        self.scope = ""
        self._random = np.random.RandomState(20)
        self._uses: dict[str, int] = {}

    def op(self, kind: str, *inputs: str, outputs: int = 1, **attributes: object) -> str:
        """Appends a node; returns its first output's name (`_output_1`, ... are the others)."""
        name = f"{self.scope}/{kind}"
        uses = self._uses.get(name, 0)
        self._uses[name] = uses + 1
        name += f"_{uses}" if uses else ""
        results = [f"{name}_output_{k}" for k in range(outputs)]
        self.nodes.append(helper.make_node(kind, inputs, results, name=name, **attributes))
        return results[0]

    def constant(self, value: object, dtype: str = "int64") -> str:
        return self.op("Constant", value=numpy_helper.from_array(np.asarray(value, dtype)))

    def weight(self, name: str, *shape: int, fan_in: int) -> str:
        return self._initializer(name, self._random.standard_normal(shape) * (2 / fan_in) ** 0.5)

    def near(self, centre: float, name: str, *shape: int) -> str:
        return self._initializer(name, centre + self._random.uniform(-0.1, 0.1, shape))

    def _initializer(self, name: str, values: np.ndarray) -> str:
        name = f"{self.scope[1:].replace('/', '.')}.{name}"
        self.weights.append(numpy_helper.from_array(values.astype("float32"), name))
        return name


def silu(g: Graph, x: str) -> str:
    return g.op("Mul", x, g.op("Sigmoid", x))


def gelu(g: Graph, x: str) -> str:
    error = g.op("Erf", g.op("Div", x, g.constant(2**0.5, "float32")))
    product = g.op("Mul", x, g.op("Add", error, g.constant(1.0, "float32")))
    return g.op("Mul", product, g.constant(0.5, "float32"))


def dropout(g: Graph, x: str) -> str:
    return g.op("Dropout", x, g.constant(0.1, "float32"))


def dim(g: Graph, x: str, axis: int) -> str:
    """Dimension `axis` of x as a list of one, the way exporters write `x.shape[axis]`."""
    return g.op("Unsqueeze", g.op("Gather", g.op("Shape", x), g.constant(axis), axis=0), g.constant([0]))


def reshape(g: Graph, x: str, *sizes: str | int) -> str:
    parts = [size if isinstance(size, str) else g.constant([size]) for size in sizes]
    return g.op("Reshape", x, g.op("Concat", *parts, axis=0))


def conv(
    g: Graph,
    scope: str,
    x: str,
    inner: int,
    outer: int,
    kernel: int = 1,
    stride: int = 1,
    groups: int = 1,
    act: bool = True,
) -> str:
    """Convolution, BatchNormalization and, if `act`, SiLU."""
    outside, g.scope = g.scope, f"{g.scope}/{scope}"
    weight = g.weight("conv.weight", outer, inner // groups, kernel, kernel, fan_in=inner // groups * kernel**2)
    pad = kernel // 2
    x = g.op("Conv", x, weight, kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=[pad] * 4, group=groups)
    statistics = [g.near(centre, name, outer) for centre, name in ((1, "weight"), (0, "bias"), (0, "mean"), (1, "var"))]
    x = g.op("BatchNormalization", x, *statistics, epsilon=1e-5)
    x = silu(g, x) if act else x
    g.scope = outside
    return x


def inverted_residual(g: Graph, scope: str, x: str, inner: int, outer: int, stride: int) -> str:
    g.scope = f"/{scope}"
    wide = 2 * inner
    y = conv(g, "expand", x, inner, wide)
    y = conv(g, "depthwise", y, wide, wide, kernel=3, stride=stride, groups=wide)
    y = conv(g, "project", y, wide, outer, act=False)
    return g.op("Add", x, y) if stride == 1 and inner == outer else y


def layer_norm(g: Graph, x: str, width: int, scale: str, bias: str) -> str:
    centred = g.op("Sub", x, g.op("ReduceMean", x, axes=[-1]))
    variance = g.op("ReduceMean", g.op("Pow", centred, g.constant(2.0, "float32")), axes=[-1])
    deviation = g.op("Sqrt", g.op("Add", variance, g.constant(1e-5, "float32")))
    return g.op("Add", g.op("Mul", g.op("Div", centred, deviation), scale), bias)


def linear(g: Graph, name: str, x: str, inner: int, outer: int) -> str:
    product = g.op("MatMul", x, g.weight(f"{name}.weight", inner, outer, fan_in=2 * inner))
    return g.op("Add", g.near(0, f"{name}.bias", outer), product)


def attention(g: Graph, x: str, width: int, heads: int) -> str:
    """x: [batch * 4, patches, width]."""
    rows, patches = dim(g, x, 0), dim(g, x, 1)

    def split_heads(name: str) -> str:
        y = reshape(g, linear(g, name, x, width, width), rows, patches, heads, width // heads)
        return g.op("Transpose", y, perm=[0, 2, 1, 3])

    query, key, value = split_heads("query"), split_heads("key"), split_heads("value")
    scores = g.op("MatMul", query, g.op("Transpose", key, perm=[0, 1, 3, 2]))
    scale = g.op("Sqrt", g.op("Cast", g.constant(width // heads), to=TensorProto.FLOAT))
    weights = dropout(g, g.op("Softmax", g.op("Div", scores, scale), axis=-1))
    merged = g.op("Transpose", g.op("MatMul", weights, value), perm=[0, 2, 1, 3])
    return linear(g, "output", reshape(g, merged, rows, patches, width), width, width)


def positions(g: Graph, patches: int, width: int) -> str:
    """Sinusoidal positions [1, patches, width], computed from constants at every inference."""
    index = g.op("Cast", g.op("Range", g.constant(0), g.constant(patches), g.constant(1)), to=TensorProto.FLOAT)
    rates = np.exp(-np.log(1e4) * np.arange(width // 2) / (width // 2)).astype("float32").round(6)
    angle = g.op("Mul", g.op("Unsqueeze", index, g.constant([1])), g.constant(rates, "float32"))
    table = g.op("Concat", g.op("Sin", angle), g.op("Cos", angle), axis=-1)
    return g.op("Unsqueeze", table, g.constant([0]))


def mobilevit(g: Graph, x: str, channels: int, width: int, side: int, layers: int) -> str:
    """Transformer over patches of 2 x 2 pixels: each of the four attends to its like in the other patches."""
    g.scope = "/vit"
    half = side // 2
    y = conv(g, "local", x, channels, channels, kernel=3)
    y = conv(g, "widen", y, channels, width, act=False)

    batch = dim(g, y, 0)
    y = reshape(g, y, batch, width, half, 2, half, 2)
    y = g.op("Transpose", y, perm=[0, 3, 5, 2, 4, 1])
    y = reshape(g, y, -1, half * half, width)
    y = dropout(g, g.op("Add", y, positions(g, half * half, width)))

    scale, bias = g.near(1, "norm.weight", width), g.near(0, "norm.bias", width)
    for layer in range(layers):
        g.scope = f"/vit/layer.{layer}"
        # Both layers share their norms' weights; the exporter leaves an Identity for each further use.
        shared = [g.op("Identity", scale), g.op("Identity", bias)] if layer else [scale, bias]
        y = g.op("Add", y, dropout(g, attention(g, layer_norm(g, y, width, *shared), width, heads=4)))
        wide = gelu(g, linear(g, "up", layer_norm(g, y, width, *shared), width, 2 * width))
        y = g.op("Add", y, dropout(g, linear(g, "down", wide, 2 * width, width)))

    g.scope = "/vit"
    y = reshape(g, y, batch, 2, 2, half, half, width)
    y = g.op("Transpose", y, perm=[0, 5, 3, 1, 4, 2])
    y = reshape(g, y, batch, width, side, side)
    y = conv(g, "narrow", y, width, channels)
    return conv(g, "fuse", g.op("Concat", x, y, axis=1), 2 * channels, channels, kernel=3)


def make_model() -> ModelProto:
    g = Graph()
    x = conv(g, "stem", "image", 3, 16, kernel=3, stride=2)
    x = inverted_residual(g, "block1", x, 16, 16, stride=1)
    x = inverted_residual(g, "block2", x, 16, 32, stride=2)
    x = mobilevit(g, x, channels=32, width=48, side=IMAGE // 4, layers=2)
    g.scope = "/head"
    x = g.op("GlobalAveragePool", conv(g, "widen", x, 32, 96))
    x = dropout(g, reshape(g, x, dim(g, x, 0), -1))
    x = g.op("Gemm", x, g.weight("fc.weight", CLASSES, 96, fan_in=192), g.near(0, "fc.bias", CLASSES), transB=1)
    g.nodes.append(helper.make_node("Softmax", [x], ["probabilities"], name="/head/Softmax", axis=-1))

    graph = helper.make_graph(
        g.nodes,
        "tiny_mobilevit",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, ["batch", 3, IMAGE, IMAGE])],
        [helper.make_tensor_value_info("probabilities", TensorProto.FLOAT, ["batch", CLASSES])],
        g.weights,
    )
    model = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", OPSET)], producer_name="make_tiny_mobilevit"
    )
    model.ir_version = 8
    checker.check_model(model, full_check=True)
    return model


def main(arguments: list[str]) -> None:
    output = Path(arguments[0]) if arguments else DEFAULT_OUTPUT
    output.write_bytes(make_model().SerializeToString(deterministic=True))


if __name__ == "__main__":
    main(sys.argv[1:])
