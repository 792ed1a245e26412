"""Pads that move into windows give the same numbers."""

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper
from xdsl.context import Context

from gecc.frontend import import_model
from gecc.reference import run
from gecc.transforms.simplify.pad_fusion import PadFusion

CASES: dict[str, tuple[list[int], float | None, str, dict[str, Any], bool]] = {
    # pads of the Pad, its fill, operator, attributes, whether it moves
    "conv": ([0, 0, 1, 2, 0, 0, 0, 3], None, "Conv", {"pads": [1, 0, 0, 2], "strides": [2, 1]}, True),
    "conv, valid": ([0, 0, 1, 1, 0, 0, 1, 1], 0.0, "Conv", {"auto_pad": "VALID"}, True),
    "conv, same": ([0, 0, 1, 1, 0, 0, 1, 1], 0.0, "Conv", {"auto_pad": "SAME_UPPER"}, False),
    "conv, ones": ([0, 0, 1, 1, 0, 0, 1, 1], 1.0, "Conv", {}, False),
    "average": ([0, 0, 1, 1, 0, 0, 1, 0], None, "AveragePool", {"kernel_shape": [2, 3]}, True),
    "average, counted": (
        [0, 0, 1, 1, 0, 0, 0, 1],
        None,
        "AveragePool",
        {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1], "count_include_pad": 1},
        True,
    ),
    "average, not counted": (
        [0, 0, 1, 1, 0, 0, 0, 1],
        None,
        "AveragePool",
        {"kernel_shape": [3, 3], "pads": [1] * 4},
        False,
    ),
    "average, up": ([0, 0, 1, 1, 0, 0, 1, 1], None, "AveragePool", {"kernel_shape": [2, 2], "ceil_mode": 1}, False),
    "maximum": ([0, 0, 1, 1, 0, 0, 1, 1], -np.inf, "MaxPool", {"kernel_shape": [2, 2], "strides": [2, 2]}, True),
    "maximum, zeros": ([0, 0, 1, 1, 0, 0, 1, 1], 0.0, "MaxPool", {"kernel_shape": [2, 2]}, False),
    "maximum, wide": ([0, 0, 2, 2, 0, 0, 2, 2], -np.inf, "MaxPool", {"kernel_shape": [2, 2]}, False),
}


@pytest.mark.parametrize("name", CASES)
def test_a_pad_before_a_window(name: str):
    pads, fill, kind, attributes, moves = CASES[name]
    random = np.random.default_rng(0)
    weights = {"pads": np.array(pads), "w": random.standard_normal((3, 2, 3, 2)).astype(np.float32)}
    if fill is not None:
        weights["fill"] = np.array(fill, np.float32)
    inputs = ["p", "w"] if kind == "Conv" else ["p"]
    nodes = [
        helper.make_node("Pad", ["x", "pads", *(["fill"] if fill is not None else [])], ["p"]),
        helper.make_node(kind, inputs, ["y"], **attributes),
    ]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 2, 6, 5])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(array, n) for n, array in weights.items()],
    )
    module = import_model(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8))
    x = random.standard_normal((1, 2, 6, 5)).astype(np.float32)
    before = run(module, {"x": x})["y"]
    PadFusion().apply(Context(), module)
    module.verify()
    after = run(module, {"x": x})["y"]

    assert any(op.name == "ge.pad" and op.results[0].first_use for op in module.walk()) is not moves
    np.testing.assert_allclose(after, before, rtol=1e-5, atol=1e-6)
