"""
The four models that the brief's command lines name, each cut down to the part that its pass is about.

Small enough to run in a moment, and shaped as exporters leave them: BatchNorms, spelled-out shapes, constants that are
computed at every inference.
"""

from collections.abc import Callable, Sequence

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, checker, helper, numpy_helper

Shape = Sequence[int | str]


class Graph:
    """Collects nodes in order; `op` returns the name of the node's first output."""

    def __init__(self, dtype: str = "float32") -> None:
        self.dtype = dtype
        self.nodes: list[NodeProto] = []
        self.weights: list[TensorProto] = []
        self.inputs: dict[str, tuple[int, Shape]] = {}
        self._random = np.random.RandomState(0)

    @property
    def float(self) -> int:
        return helper.np_dtype_to_tensor_dtype(np.dtype(self.dtype))

    def input(self, name: str, *shape: int | str, dtype: int = TensorProto.FLOAT) -> str:
        self.inputs[name] = (dtype, shape)
        return name

    def op(self, kind: str, *inputs: str, output: str | None = None, **attributes: object) -> str:
        name = f"{kind}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [output or f"{name}_output"], name=name, **attributes))
        return self.nodes[-1].output[0]

    def constant(self, value: object, dtype: str = "int64") -> str:
        return self.op("Constant", value=numpy_helper.from_array(np.asarray(value, dtype)))

    def weight(self, *shape: int) -> str:
        return self._initializer(self._random.standard_normal(shape) / np.sqrt(np.prod(shape[1:])))

    def near(self, centre: float, size: int) -> str:
        return self._initializer(centre + self._random.uniform(-0.1, 0.1, size))

    def _initializer(self, values: np.ndarray) -> str:
        self.weights.append(numpy_helper.from_array(values.astype(self.dtype), f"weight_{len(self.weights)}"))
        return self.weights[-1].name

    def dim(self, x: str, axis: int) -> str:
        return self.op("Unsqueeze", self.op("Gather", self.op("Shape", x), self.constant(axis)), self.constant([0]))

    def model(self, **outputs: Shape) -> ModelProto:
        graph = helper.make_graph(
            self.nodes,
            "main",
            [helper.make_tensor_value_info(name, *kind) for name, kind in self.inputs.items()],
            [helper.make_tensor_value_info(name, self.float, shape) for name, shape in outputs.items()],
            self.weights,
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        checker.check_model(model, full_check=True)
        return model


def conv_bn(g: Graph, x: str, inner: int, outer: int, kernel: int = 1, stride: int = 1) -> str:
    x = g.op("Conv", x, g.weight(outer, inner, kernel, kernel), strides=[stride] * 2, pads=[kernel // 2] * 4)
    return g.op("BatchNormalization", x, g.near(1, outer), g.near(0, outer), g.near(0, outer), g.near(1, outer))


def yolo() -> ModelProto:
    """YOLOv5's detection head on two scales: its grid and anchors are constants, repeated over the batch."""
    g = Graph()
    x, classes, boxes = g.input("images", 1, 3, 64, 64), 3, []
    per_box = 5 + classes
    channels = 3
    for stride, anchors in ((8, [[10, 13], [16, 30], [33, 23]]), (16, [[30, 61], [62, 45], [59, 19]])):
        outer, side = 2 * stride, 64 // stride
        x = conv_bn(g, x, channels, outer, kernel=3, stride=8 if channels == 3 else 2)
        x, channels = g.op("Mul", x, g.op("Sigmoid", x)), outer
        head = g.op("Conv", x, g.weight(3 * per_box, outer, 1, 1), g.near(0, 3 * per_box))
        batch = g.dim(head, 0)
        shape = g.op("Concat", batch, g.constant([3]), g.constant([per_box]), g.constant([side, side]), axis=0)
        head = g.op("Transpose", g.op("Reshape", head, shape), perm=[0, 1, 3, 4, 2])
        head = g.op("Sigmoid", head)

        steps = g.op("Cast", g.op("Range", g.constant(0), g.constant(side), g.constant(1)), to=TensorProto.FLOAT)
        rows = g.op("Expand", g.op("Unsqueeze", steps, g.constant([1])), g.constant([side, side]))
        columns = g.op("Expand", g.op("Unsqueeze", steps, g.constant([0])), g.constant([side, side]))
        last = g.constant([-1])
        grid = g.op("Concat", g.op("Unsqueeze", columns, last), g.op("Unsqueeze", rows, last), axis=-1)
        anchor = g.op("Reshape", g.constant(anchors, "float32"), g.constant([1, 3, 1, 1, 2]))
        repeats = g.op("Concat", batch, g.constant([1, 1, 1, 1]), axis=0)
        anchor = g.op("Tile", anchor, repeats)

        def part(start: int, end: int, head: str = head) -> str:
            return g.op("Slice", head, g.constant([start]), g.constant([end]), g.constant([-1]))

        two = g.constant(2.0, "float32")
        centre = g.op("Add", g.op("Mul", part(0, 2), two), grid)
        centre = g.op("Mul", centre, g.constant(float(stride), "float32"))
        size = g.op("Mul", g.op("Pow", g.op("Mul", part(2, 4), two), two), anchor)
        found = g.op("Concat", centre, size, part(4, per_box), axis=-1)
        boxes.append(g.op("Reshape", found, g.op("Concat", batch, g.constant([-1]), g.constant([per_box]), axis=0)))
    g.op("Concat", *boxes, axis=1, output="boxes")
    return g.model(boxes=[1, 3 * (8 * 8 + 4 * 4), per_box])


def bert(dtype: str = "float32", width: int = 32) -> ModelProto:
    """BERT's embeddings, three lookups, two additions and LayerNorm, then a dense layer; the length is free."""
    g = Graph(dtype)
    words = g.input("input_ids", 1, "sequence", dtype=TensorProto.INT64)
    kinds = g.input("token_type_ids", 1, "sequence", dtype=TensorProto.INT64)
    indices = g.constant([list(range(64))])
    places = g.op("Slice", indices, g.constant([0]), g.dim(words, 1), g.constant([1]))
    x = g.op("Add", g.op("Gather", g.weight(100, width), words), g.op("Gather", g.weight(2, width), kinds))
    x = g.op("Add", g.op("Gather", g.weight(64, width), places), x)
    x = g.op("LayerNormalization", x, g.near(1, width), g.near(0, width), axis=-1, epsilon=1e-5)
    x = g.op("Relu", g.op("Add", g.op("MatMul", x, g.weight(width, 64)), g.near(0, 64)))
    g.op("MatMul", x, g.weight(64, width), output="hidden")
    return g.model(hidden=[1, "sequence", width])


def transformer(layers: int = 2) -> ModelProto:
    """A decoder: masked attention and a feed-forward block a layer."""
    g, width, heads, length = Graph(), 32, 4, 16
    x = g.input("x", 1, length, width)
    mask = g.constant(np.triu(np.full((length, length), -1e4), 1), "float32")
    for _ in range(layers):
        y = g.op("LayerNormalization", x, g.near(1, width), g.near(0, width), axis=-1)

        def split(y: str = y) -> str:
            y = g.op("Add", g.op("MatMul", y, g.weight(width, width)), g.near(0, width))
            return g.op("Transpose", g.op("Reshape", y, g.constant([1, length, heads, -1])), perm=[0, 2, 1, 3])

        query, key, value = split(), g.op("Transpose", split(), perm=[0, 1, 3, 2]), split()
        scores = g.op("Mul", g.op("MatMul", query, key), g.constant((width // heads) ** -0.5, "float32"))
        weights = g.op("Softmax", g.op("Add", scores, mask), axis=-1)
        y = g.op("Transpose", g.op("MatMul", weights, value), perm=[0, 2, 1, 3])
        y = g.op("MatMul", g.op("Reshape", y, g.constant([1, length, width])), g.weight(width, width))
        x = g.op("Add", x, y)
        y = g.op("LayerNormalization", x, g.near(1, width), g.near(0, width), axis=-1)
        y = g.op("Relu", g.op("Add", g.op("MatMul", y, g.weight(width, 4 * width)), g.near(0, 4 * width)))
        x = g.op("Add", x, g.op("MatMul", y, g.weight(4 * width, width)))
    g.op("LayerNormalization", x, g.near(1, width), g.near(0, width), axis=-1, output="y")
    return g.model(y=[1, length, width])


def resnet(batch: int = 1, side: int = 14, channels: int = 64) -> ModelProto:
    """Two of ResNet-50's bottlenecks: 1 x 1, 3 x 3, 1 x 1 convolutions with BatchNorms, residual addition, Relu."""
    g = Graph()
    x = g.input("x", batch, channels, side, side)
    for _ in range(2):
        y = g.op("Relu", conv_bn(g, x, channels, channels // 4))
        y = g.op("Relu", conv_bn(g, y, channels // 4, channels // 4, kernel=3))
        x = g.op("Relu", g.op("Add", conv_bn(g, y, channels // 4, channels), x))
    g.op("GlobalAveragePool", x, output="features")
    return g.model(features=[batch, channels, 1, 1])


def two_activations_a_layer(layers: int = 24) -> ModelProto:
    """The brief's sum for memory: `layers` layers that make two activations of 2 MiB (1024 x 512 floats) each."""
    g = Graph()
    x = g.input("x", 1024, 512)
    weight = g.weight(512, 512)
    for layer in range(layers):
        x = g.op("MatMul", g.op("MatMul", x, weight), weight, output="y" if layer == layers - 1 else None)
    return g.model(y=[1024, 512])


MODELS: dict[str, Callable[[], ModelProto]] = {
    "yolov5_optimized.onnx": yolo,
    "bert.onnx": bert,
    "transformer.onnx": transformer,
    "resnet50.onnx": resnet,
}
