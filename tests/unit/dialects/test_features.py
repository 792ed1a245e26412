"""Features of classic models (features.py): text, constraints, and what ONNX Runtime makes of them."""

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper
from xdsl.context import Context
from xdsl.utils.exceptions import VerifyException

from gecc.frontend import export_model, import_model, materialise
from gecc.reference import run
from gecc.transforms.simplify.decompose import Decompose

from ..frontend.graph_models import ran
from .movement_cases import op_of, round_trip

X = "tensor<?x4xf32>"


@pytest.mark.parametrize(
    "line",
    [
        f"%y = ge.binarizer %x threshold 0.5 : {X} -> {X}",
        f"%y = ge.scaler %x offset [0.5] scale [1.0, 2.0, 3.0, 4.0] : {X} -> {X}",
        f"%y = ge.array_feature_extractor %x, %i : {X}, tensor<2xi64> -> tensor<?x2xf32>",
        '%y = ge.label_encoder %x keys_strings ["a", "b"] values_int64s [0, 1] : tensor<?x!ge.string> -> tensor<?xi64>',
    ],
)
def test_text(line: str) -> None:
    round_trip(line)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("%y = ge.binarizer %x : tensor<4xi1> -> tensor<4xi1>", r"must have numbers.*\(C1\)"),
        (f"%y = ge.scaler %x offset [0.5] scale [1.0, 2.0] : {X} -> {X}", r"scale must be one number.*\(C2\)"),
        (
            f"%y = ge.array_feature_extractor %x, %i : {X}, tensor<2xi32> -> tensor<?x2xf32>",
            r"indices be of i64.*\(C1\)",
        ),
        ("%y = ge.label_encoder %x keys_int64s [1] : tensor<4xi64> -> tensor<4xi64>", r"values must be given.*\(C1\)"),
        (
            "%y = ge.label_encoder %x keys_int64s [1] values_int64s [2, 3] : tensor<4xi64> -> tensor<4xi64>",
            r"as many values as keys.*\(C1\)",
        ),
        (
            "%y = ge.label_encoder %x keys_int64s [1] values_int64s [2] : tensor<4xf32> -> tensor<4xi64>",
            r"x must have i64.*\(C2\)",
        ),
    ],
)
def test_constraint(line: str, message: str) -> None:
    with pytest.raises(VerifyException, match=message):
        op_of(line).verify()


ROWS = np.arange(12, dtype=np.float32).reshape(3, 4) - 5


@pytest.mark.parametrize(
    ("kind", "inputs", "attrs"),
    [
        ("Scaler", [ROWS], {"offset": [1.0, 2.0, 3.0, 4.0], "scale": [0.5, 2.0, 1.0, 3.0]}),
        ("Scaler", [ROWS.astype(np.int64)], {"offset": [1.0], "scale": [0.5]}),
        ("Binarizer", [ROWS], {"threshold": 1.0}),
        ("ArrayFeatureExtractor", [ROWS, np.array([3, 0], np.int64)], {}),
        ("ArrayFeatureExtractor", [ROWS[0], np.array([[1, 2]], np.int64)], {}),
        ("LabelEncoder", [ROWS[0].astype(np.int64)], {"keys_int64s": [-4, -2], "values_floats": [1.0, 2.0]}),
    ],
)
def test_it_is_what_the_runtime_says(kind: str, inputs: list[Any], attrs: dict[str, Any]) -> None:
    names = [f"x{k}" for k in range(len(inputs))]
    node = helper.make_node(kind, names, ["y"], name="it", domain="ai.onnx.ml", **attrs)
    infos = [
        helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
        for n, x in zip(names, inputs, strict=True)
    ]
    graph = helper.make_graph([node], "g", infos, [onnx.ValueInfoProto(name="y")])
    imports = [helper.make_opsetid("", 15), helper.make_opsetid("ai.onnx.ml", 2)]
    source = helper.make_model(graph, opset_imports=imports, ir_version=8)
    feeds = dict(zip(names, inputs, strict=True))
    module = import_model(source)
    assert "ge.opaque" not in str(module)
    (wanted,) = ran(source, feeds)
    np.testing.assert_array_equal(run(module, feeds)["y"], wanted)
    np.testing.assert_array_equal(ran(materialise(export_model(module)), feeds)[0], wanted)
    Decompose().apply(Context(), module)
    module.verify()
    np.testing.assert_array_equal(ran(materialise(export_model(module)), feeds)[0], wanted)
