"""What goes into weights gives the same results, but for rounding: every linear op, groups, every tail."""

from collections import Counter
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper
from xdsl.context import Context

from gecc.frontend import import_model
from gecc.reference import run
from gecc.transforms.base import GePass
from gecc.transforms.simplify.conv_batchnorm_fusion import ConvBatchnormFusion
from gecc.transforms.simplify.conv_scale_fusion import ConvScaleFusion
from gecc.transforms.simplify.matmul_scale_fusion import MatMulScaleFusion
from gecc.transforms.simplify.sibling_matmul_fusion import SiblingMatMulFusion
from gecc.transforms.simplify.split_sinking import SplitSinking

RANDOM = np.random.default_rng(0)

LINEAR: dict[str, tuple[str, tuple[int, ...], list[tuple[int, ...]], dict[str, Any], int]] = {
    # operator, data, weights, attributes, channels of the result
    "conv": ("Conv", (2, 4, 5, 5), [(6, 2, 3, 3)], {"group": 2}, 6),
    "conv with bias": ("Conv", (2, 4, 5), [(6, 4, 3), (6,)], {}, 6),
    "transposed": ("ConvTranspose", (2, 4, 5, 5), [(4, 6, 2, 2), (6,)], {"strides": [2, 2]}, 6),
    "transposed groups": ("ConvTranspose", (2, 4, 5, 5), [(4, 3, 2, 2)], {"group": 2}, 6),
    "gemm": ("Gemm", (3, 4), [(4, 6), (1, 6)], {"alpha": 0.5, "beta": 2.0}, 6),
    "gemm, turned": ("Gemm", (3, 4), [(6, 4), (1,)], {"transB": 1}, 6),
}
TAILS = ("Mul", "Div", "Add", "Sub", "RSub", "Neg", "BatchNormalization")


def near_one(*shape: int) -> np.ndarray:
    return (1 + 0.25 * RANDOM.standard_normal(shape)).astype(np.float32)


@pytest.mark.parametrize("tail", TAILS)
@pytest.mark.parametrize("name", LINEAR)
def test_a_tail_goes_into_the_weights(name: str, tail: str):
    kind, data, shapes, attributes, channels = LINEAR[name]
    weights = {f"w{k}": near_one(*shape) for k, shape in enumerate(shapes)}
    nodes = [helper.make_node(kind, ["x", *weights], ["a"], **attributes)]
    per_channel = (channels, *[1] * (len(data) - 2))
    if tail == "BatchNormalization":
        weights |= {f"p{k}": abs(near_one(channels)) for k in range(4)}
        nodes.append(helper.make_node(tail, ["a", "p0", "p1", "p2", "p3"], ["y"]))
    elif tail == "Neg":
        nodes.append(helper.make_node(tail, ["a"], ["y"]))
    else:
        weights["s"] = near_one(*per_channel)
        operands = ["s", "a"] if tail == "RSub" else ["a", "s"]
        nodes.append(helper.make_node(tail.removeprefix("R"), operands, ["y"]))

    assert simplified(nodes, data, weights) == Counter({kind: 1})


def test_matmul_takes_factors_and_its_bias_sums():
    weights = {"w": near_one(4, 6), "b": near_one(6), "s": near_one(6), "t": near_one(1)}
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["p"]),
        helper.make_node("Div", ["p", "s"], ["q"]),
        helper.make_node("Add", ["b", "q"], ["r"]),
        helper.make_node("Mul", ["r", "t"], ["u"]),
        helper.make_node("Sub", ["t", "u"], ["y"]),
    ]
    assert simplified(nodes, (2, 3, 4), weights) == Counter({"MatMul": 1, "Add": 1})


@pytest.mark.parametrize("shape", [(5,), (1, 6, 5, 5), (2, 1, 1, 1), (1, 1, 6, 1, 1)])
def test_what_differs_along_another_axis_stays(shape: tuple[int, ...]):
    nodes = [helper.make_node("Conv", ["x", "w"], ["a"]), helper.make_node("Mul", ["a", "s"], ["y"])]
    found = simplified(nodes, (2, 4, 5, 5), {"w": near_one(6, 4, 1, 1), "s": near_one(*shape)})
    assert found == Counter({"Conv": 1, "Mul": 1})


def test_a_product_with_another_reader_stays():
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["a"]),
        helper.make_node("Mul", ["a", "s"], ["b"]),
        helper.make_node("Add", ["a", "b"], ["y"]),
    ]
    found = simplified(nodes, (2, 4, 5, 5), {"w": near_one(6, 4, 1, 1), "s": near_one(6, 1, 1)})
    assert found == Counter({"Conv": 1, "Mul": 1, "Add": 1})


def test_attention_has_one_product_and_no_scale():
    weights = {"shape": np.array([2, 5, 2, 3]), "scale": np.array(0.5, np.float32), "flat": np.array([2, 5, 6])}
    nodes: list[Any] = []
    for name, perm in (("q", [0, 2, 1, 3]), ("k", [0, 2, 3, 1]), ("v", [0, 2, 1, 3])):
        weights |= {f"w{name}": near_one(4, 6) - 1, f"b{name}": near_one(6)}
        nodes += [
            helper.make_node("MatMul", ["x", f"w{name}"], [f"{name}0"]),
            helper.make_node("Add", [f"b{name}", f"{name}0"], [f"{name}1"]),
            helper.make_node("Reshape", [f"{name}1", "shape"], [f"{name}2"]),
            helper.make_node("Transpose", [f"{name}2"], [name], perm=perm),
        ]
    nodes += [
        helper.make_node("MatMul", ["q", "k"], ["s"]),
        helper.make_node("Mul", ["s", "scale"], ["t"]),
        helper.make_node("Softmax", ["t"], ["p"]),
        helper.make_node("MatMul", ["p", "v"], ["o"]),
        helper.make_node("Transpose", ["o"], ["u"], perm=[0, 2, 1, 3]),
        helper.make_node("Reshape", ["u", "flat"], ["y"]),
    ]
    found = simplified(nodes, (2, 5, 4), weights, MatMulScaleFusion(), SiblingMatMulFusion(), SplitSinking())
    assert found == Counter({"MatMul": 3, "Add": 1, "Reshape": 2, "Transpose": 3, "Split": 1, "Softmax": 1})


FUSIONS = (ConvBatchnormFusion(), ConvScaleFusion())


def simplified(
    nodes: list[Any], data: tuple[int, ...], weights: dict[str, np.ndarray], *passes: GePass
) -> Counter[str]:
    """Operators after the passes, which must keep the numbers."""
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, data)],
        [y],
        [numpy_helper.from_array(array, name) for name, array in weights.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    module = import_model(model)
    inputs = {"x": near_one(*data)}
    before = run(module, inputs)["y"]
    for one in passes or FUSIONS:
        one.apply(Context(), module)
        module.verify()
    after = run(module, inputs)["y"]

    assert before.dtype == after.dtype
    assert np.max(np.abs(before - after)) <= 1e-5 * np.max(np.abs(before))
    kinds = [getattr(op, "onnx", None) for op in module.walk()]
    return Counter(kind.type for kind in kinds if kind is not None)
