"""What a lower precision costs, layer by layer, and the search for what to keep."""

import math
from pathlib import Path

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper
from xdsl.dialects.builtin import ModuleOp

from gecc.dialects.ge.errors import UsageError
from gecc.driver.precision import (
    Exact,
    Goal,
    distances,
    parse_goal,
    search,
    widen_contractions,
    write_keep_list,
    write_report,
)
from gecc.frontend import import_model
from gecc.reference import make_inputs, run
from gecc.transforms.precision.keep_list import read_keep_list
from gecc.transforms.precision.precision import Lowering, Precision


def model() -> ModelProto:
    """`far` leaves the range of f16, and is taken back; `near` and `last` are harmless."""
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["near"], name="near"),
        helper.make_node("Mul", ["near", "large"], ["far"], name="far"),
        helper.make_node("Mul", ["far", "small"], ["back"], name="back"),
        helper.make_node("Relu", ["back"], ["y"], name="last"),
    ]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 4])],
        [
            numpy_helper.from_array(np.eye(4, dtype=np.float32) * 100, "w"),
            numpy_helper.from_array(np.float32(6e4), "large"),
            numpy_helper.from_array(np.float32(1 / 6e4), "small"),
        ],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.fixture
def module() -> ModuleOp:
    return import_model(model())


@pytest.fixture
def exact(module: ModuleOp) -> Exact:
    return Exact(module, make_inputs(module))


def test_a_row_a_layer(module: ModuleOp, exact: Exact):
    rows = exact.layers(Lowering(Precision(), module).lowered(()))
    assert [(row.node, row.operator, row.type) for row in rows] == [
        ("near", "MatMul", "f16"),
        ("far", "Mul", "f16"),
        ("back", "Mul", "f16"),
        ("last", "Relu", "f16"),
    ]
    near, far, back, last = rows
    assert 0 < near.own_error < 1e-3
    assert math.isinf(far.own_error)
    # Its own operands are within the range: what comes before it is at fault.
    assert math.isinf(back.error)
    assert not math.isinf(back.own_error)
    assert math.isinf(last.error)


def test_what_did_not_change_has_no_error_of_its_own(module: ModuleOp, exact: Exact):
    rows = exact.layers(Lowering(Precision(), module).lowered(["far"]))
    assert [(row.node, row.type) for row in rows if math.isnan(row.own_error)] == [("far", "f32")]


def test_the_report_is_a_table(tmp_path: Path, module: ModuleOp, exact: Exact):
    write_report(exact.layers(Lowering(Precision(), module).lowered(["far", "back"])), tmp_path / "r.csv")
    lines = (tmp_path / "r.csv").read_text().splitlines()
    assert lines[0] == "node,operator,type,error,own_error"
    assert lines[2].startswith("far,Mul,f32,")
    assert len(lines) == 5


def test_the_search_keeps_what_overflows(module: ModuleOp, exact: Exact):
    shown: list[str] = []
    kept = search(module, Precision(), exact, Goal(), shown.append)
    assert kept[0] == "far"
    assert len(kept) <= 2
    assert "trial 1 of 16: 0 ops kept, inf times the goal" in shown[0]
    assert "within the goal" in shown[-1]

    after = Lowering(Precision(), module).lowered(kept)
    assert Goal().missed_by(exact.outputs, exact.run(after)) <= 1


def test_nothing_is_kept_where_nothing_needs_to(module: ModuleOp, exact: Exact):
    assert search(module, Precision(mode="origin"), exact, Goal()) == ()


def test_a_goal_that_is_out_of_reach(module: ModuleOp, exact: Exact):
    with pytest.raises(UsageError, match="not reached in 1 trials"):
        search(module, Precision(), exact, Goal(trials=1))


def test_sums_of_products_are_kept_in_f32(module: ModuleOp):
    after = Lowering(Precision(), module).lowered(())
    made = widen_contractions(after)
    after.verify()
    assert [op.name for op in made] == ["ge.matmul"]
    run(after, make_inputs(module))


def test_distances():
    a = np.array([1e6, 2.0], np.float32)
    assert distances(a, np.array([65504, 2], np.float16)) == (0, 0)
    assert distances(a, np.array([np.inf, 2], np.float16)) == (math.inf, math.inf)
    assert distances(np.array([1.0, 4.0]), np.array([1.0, 3.0])) == (1, 0.25)
    assert distances(np.array([np.nan]), np.array([np.nan])) == (0, 0)
    assert distances(np.array([1]), np.array([2])) == (0, 0)
    assert distances(["a sequence"], ["a sequence"]) == (0, 0)


def test_goals(tmp_path: Path):
    assert parse_goal("auto") == (Goal(), None)
    assert parse_goal("auto,atol=1e-2") == (Goal(atol=1e-2, rtol=math.inf), None)
    assert parse_goal("auto, rtol=5e-3, trials=3, file=k.ini") == (Goal(rtol=5e-3, trials=3), Path("k.ini"))


@pytest.mark.parametrize("text", ["all", "auto,tol=1", "auto,atol=0", "auto,atol=x", "auto,trials=1.5", "auto,file="])
def test_goals_that_mean_nothing(text: str):
    with pytest.raises(UsageError, match="--precision_keep must be auto or auto,atol=1e-2"):
        parse_goal(text)


def test_a_list_that_is_written_is_read(tmp_path: Path):
    write_keep_list(["/a/MatMul", "b = c"], tmp_path / "keep.ini")
    assert read_keep_list(str(tmp_path / "keep.ini")).nodes == {"/a/MatMul": False, "b = c": False}
