"""Every elementwise op at every version of its operator: imported as the op, exported as the node that it was."""

from typing import Any

import onnx
import pytest
from onnx import TensorProto, helper

from gecc.dialects.ge import (
    activation,
    arithmetic,
    bitwise,
    comparison,
    conversion,
    math,
    quantization,
    smooth,
    trigonometry,
)
from gecc.dialects.ge.core import GeOp
from gecc.dialects.ge.elementwise import Unary
from gecc.frontend import export_model, import_model

FAMILIES = (activation, arithmetic, bitwise, comparison, conversion, math, quantization, smooth, trigonometry)
OPS: list[type[GeOp]] = [
    op
    for family in FAMILIES
    for op in vars(family).values()
    if isinstance(op, type) and issubclass(op, GeOp) and getattr(op, "name", "").startswith("ge.")
]
VERSIONS = sorted(
    (schema.name, schema.since_version)
    for schema in onnx.defs.get_all_schemas_with_history()
    if schema.domain == "" and schema.name in {op.onnx.type for op in OPS}
)
SINCE = {op.onnx.type: op.onnx.since for op in OPS}
HINTS_ASIDE = {op.onnx.type for op in OPS if issubclass(op, Unary)}
"""Operators of one operand whose first version differs in what it lets an engine do, and in no value."""
Optional = onnx.defs.OpSchema.FormalParameterOption.Optional
REQUIRED: dict[str, dict[str, Any]] = {
    "BitCast": {"to": TensorProto.INT32},
    "BitShift": {"direction": "LEFT"},
    "Cast": {"to": TensorProto.FLOAT16},
}


def element(parameter: Any) -> int:
    kinds = {"FLOAT": "tensor(float)", "BOOL": "tensor(bool)", "UINT8": "tensor(uint8)", "INT8": "tensor(int8)"}
    return next(TensorProto.DataType.Value(kind) for kind, text in kinds.items() if text in parameter.types)


def make_node(*parts: Any, **attrs: Any) -> onnx.NodeProto:
    return helper.make_node(*parts, domain="", **attrs)


def model(node: onnx.NodeProto, elements: list[int], opset: int) -> onnx.ModelProto:
    inputs = [
        helper.make_tensor_value_info(name, kind, [] if "scale" in name else ["N", 3])
        for name, kind in zip(node.input, elements, strict=True)
    ]
    graph = helper.make_graph([node], "g", inputs, [onnx.ValueInfoProto(name=name) for name in node.output])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def names(proto: onnx.ModelProto) -> list[str]:
    return [op.name for op in import_model(proto).walk() if op.name.startswith("ge.")]


@pytest.mark.parametrize(("operator", "version"), VERSIONS)
def test_round_trip(operator: str, version: int) -> None:
    schema = onnx.defs.get_schema(operator, version)
    inputs = [i for i in schema.inputs if i.option != Optional]
    outputs = [o.name + "_out" for o in schema.outputs if o.option != Optional]
    attrs = REQUIRED.get(operator, {}) if version > 1 else {}
    node = make_node(operator, [i.name for i in inputs], outputs, "the_node", **attrs)
    proto = model(node, [element(i) for i in inputs], version)
    if operator == "Cast" and version == 1:
        node.attribute.append(helper.make_attribute("to", "FLOAT16"))
        proto.graph.node[0].CopyFrom(node)
    module = import_model(proto)
    op = next(op for op in module.walk() if op.name.startswith("ge."))
    covered = version >= SINCE[operator] or operator in HINTS_ASIDE
    assert (op.name == "ge.opaque") == (not covered)
    assert list(export_model(module).graph.node) == [node]


def test_bounds_that_were_attributes() -> None:
    node = make_node("Clip", ["x"], ["y"], "clip", min=-1.0, max=1.0)
    module = import_model(model(node, [TensorProto.FLOAT], 6))
    assert [op.name for op in module.walk() if op.name.startswith("ge.")] == ["ge.constant", "ge.constant", "ge.clip"]
    back = export_model(module)
    assert sorted(back.graph.node[0].attribute, key=lambda a: a.name) == sorted(node.attribute, key=lambda a: a.name)
    assert [len(n.input) for n in export_model(module, opset=13).graph.node if n.op_type == "Clip"] == [3]


def test_dropout_of_each_kind() -> None:
    old = make_node("Dropout", ["x"], ["y"], "d", ratio=0.25)
    module = import_model(model(old, [TensorProto.FLOAT], 7))
    assert [op.name for op in module.walk() if op.name.startswith("ge.")] == ["ge.constant", "ge.dropout"]
    assert list(export_model(module).graph.node) == [old]
    masked = make_node("Dropout", ["x"], ["y", "mask"], "d")
    assert names(model(masked, [TensorProto.FLOAT], 13)) == ["ge.opaque"]
    training = make_node("Dropout", ["x", "", "t"], ["y"], "d")
    graph = model(make_node("Dropout", ["x"], ["y"], "d"), [TensorProto.FLOAT], 13)
    graph.graph.input.append(helper.make_tensor_value_info("t", TensorProto.BOOL, []))
    graph.graph.node[0].CopyFrom(training)
    assert names(graph) == ["ge.opaque"]


def test_hints_are_dropped_and_a_dropout_that_tests_is_one() -> None:
    relu = make_node("Relu", ["x"], ["y"], "r", consumed_inputs=[1])
    module = import_model(model(relu, [TensorProto.FLOAT], 5))
    assert [op.name for op in module.walk() if op.name.startswith("ge.")] == ["ge.relu"]
    assert list(export_model(module).graph.node) == [make_node("Relu", ["x"], ["y"], "r")]
    test = make_node("Dropout", ["x"], ["y"], "d", is_test=1)
    module = import_model(model(test, [TensorProto.FLOAT], 6))
    assert [op.name for op in module.walk() if op.name.startswith("ge.")] == ["ge.dropout"]
    assert list(export_model(module).graph.node) == [test]
    assert names(model(make_node("Dropout", ["x"], ["y"], "d"), [TensorProto.FLOAT], 6)) == ["ge.opaque"]


def test_selu_before_6_has_other_numbers() -> None:
    module = import_model(model(make_node("Selu", ["x"], ["y"]), [TensorProto.FLOAT], 5))
    [op] = [op for op in module.walk() if op.name == "ge.selu"]
    assert round(op.alpha, 6) == 1.6732
    given = make_node("Selu", ["x"], ["y"], alpha=1.5)
    [back] = export_model(import_model(model(given, [TensorProto.FLOAT], 5))).graph.node
    assert list(back.attribute) == list(given.attribute)
