"""Initialisers that are sparse, and those that a caller may replace."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import gecc
from gecc.frontend import export_model, import_model
from gecc.reference import run

info = helper.make_tensor_value_info
WEIGHT = np.zeros((8, 8), np.float32)
WEIGHT.flat[[0, 7, 14]] = [1, 2, 3]


def sparse() -> onnx.SparseTensorProto:
    values = numpy_helper.from_array(np.array([1, 2, 3], np.float32), "w")
    return helper.make_sparse_tensor(values, numpy_helper.from_array(np.array([0, 7, 14], np.int64), "i"), [8, 8])


def model(graph: onnx.GraphProto, opset: int = 17) -> onnx.ModelProto:
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    onnx.checker.check_model(made)
    return made


@pytest.fixture(params=[9, 17])
def sparse_model(request: pytest.FixtureRequest) -> onnx.ModelProto:
    nodes = [helper.make_node("MatMul", ["x", "w"], ["m"], name="mm"), helper.make_node("Identity", ["m"], ["y"])]
    graph = helper.make_graph(nodes, "g", [info("x", 1, ["N", 8])], [info("y", 1, ["N", 8])])
    graph.sparse_initializer.append(sparse())
    return model(graph, request.param)


def test_a_sparse_initialiser_has_a_type_and_its_readers_are_known(sparse_model: onnx.ModelProto):
    [product] = [op for op in import_model(sparse_model).walk() if op.name == "ge.matmul"]
    assert product.operands[1].type.get_shape() == (8, 8)


def test_a_sparse_initialiser_is_one_again(sparse_model: onnx.ModelProto):
    back = export_model(import_model(sparse_model))
    assert [(n.op_type, list(n.input)) for n in back.graph.node] == [("MatMul", ["x", "w"]), ("Identity", ["m"])]
    assert list(back.graph.sparse_initializer) == list(sparse_model.graph.sparse_initializer)
    assert not back.graph.initializer


def test_passes_leave_it_sparse(sparse_model: onnx.ModelProto):
    optimised = gecc.optimize(sparse_model)
    onnx.checker.check_model(optimised)
    assert [n.op_type for n in optimised.graph.node] == ["MatMul"]
    assert len(optimised.graph.sparse_initializer) == 1


def test_a_sparse_initialiser_in_a_branch():
    def branch(name: str, weight: bool) -> onnx.GraphProto:
        node = helper.make_node("MatMul", ["x", "w"], [name]) if weight else helper.make_node("Neg", ["x"], [name])
        graph = helper.make_graph([node], name, [], [info(name, 1, [2, 8])])
        if weight:
            graph.sparse_initializer.append(sparse())
        return graph

    node = helper.make_node("If", ["c"], ["y"], then_branch=branch("a", True), else_branch=branch("b", False))
    inputs = [info("x", 1, [2, 8]), info("c", TensorProto.BOOL, [])]
    back = export_model(import_model(model(helper.make_graph([node], "g", inputs, [info("y", 1, [2, 8])]))))
    branches = {a.name: a.g for a in back.graph.node[0].attribute}
    assert len(branches["then_branch"].sparse_initializer) == 1


@pytest.fixture
def overridable() -> onnx.ModelProto:
    """y = x + w * 2, where w may be given."""
    two, w = (numpy_helper.from_array(np.full(4, v, np.float32), n) for n, v in (("two", 2), ("w", 5)))
    nodes = [helper.make_node("Mul", ["w", "two"], ["a"]), helper.make_node("Add", ["x", "a"], ["y"])]
    inputs = [info("w", 1, [4]), info("x", 1, [4])]
    return model(helper.make_graph(nodes, "g", inputs, [info("y", 1, [4])], [two, w]))


def test_a_default_stays_one(overridable: onnx.ModelProto):
    optimised = gecc.optimize(overridable)
    assert [i.name for i in optimised.graph.input] == ["w", "x"]
    module = import_model(optimised)
    x = np.zeros(4, np.float32)
    assert run(module, {"x": x})["y"].tolist() == [10] * 4
    assert run(module, {"x": x, "w": np.ones(4, np.float32)})["y"].tolist() == [2] * 4


def test_a_default_folds_when_asked(overridable: onnx.ModelProto):
    optimised = gecc.optimize(overridable, passes={"FoldInitializerInputsPass": True})
    assert [i.name for i in optimised.graph.input] == ["x"]
    assert [n.op_type for n in optimised.graph.node] == ["Add"]
    assert run(import_model(optimised), {"x": np.zeros(4, np.float32)})["y"].tolist() == [10] * 4
