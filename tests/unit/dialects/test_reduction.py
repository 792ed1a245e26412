"""Reductions (reduction.py), and where extremes are (selection.py)."""

from typing import Any

import numpy as np
import onnx.parser
import pytest
from xdsl.utils.exceptions import VerifyException

from gecc.dialects.ge.core import info_of
from gecc.dialects.ge.reduction import ReduceMaxOp, ReduceMeanOp, ReduceMinOp, ReduceProdOp, ReduceSumOp
from gecc.dialects.ge.selection import ArgMaxOp, TopKOp
from gecc.frontend import export_model, import_model

from .movement_cases import M, N, built, check_tiles, data, elements, free, ints, round_trip, said

X = "tensor<2x?x4xf32>"
KINDS = ["sum", "mean", "max", "min", "prod", "l1", "l2", "log_sum", "log_sum_exp", "sum_square"]


@pytest.mark.parametrize(
    "line",
    [
        *(f"%y = ge.reduce_{kind} %x : {X} -> tensor<1x1x1xf32>" for kind in KINDS),
        f"%y = ge.reduce_sum %x, %a keepdims 0 : {X}, tensor<2xi64> -> tensor<?xf32>",
        f"%y = ge.reduce_max %x noop_with_empty_axes 1 : {X} -> {X}",
        f"%y = ge.arg_max %x axis 1 keepdims 0 : {X} -> tensor<2x4xi64>",
        f"%y = ge.arg_min %x select_last_index 1 : {X} -> tensor<1x?x4xi64>",
        "%v, %i = ge.top_k %x, %k axis 0 largest 0 sorted 0"
        f" : {X}, tensor<1xi64> -> tensor<?x?x4xf32>, tensor<?x?x4xi64>",
    ],
)
def test_text(line: str) -> None:
    round_trip(line)


@pytest.mark.parametrize(
    ("cls", "operands", "attributes", "message"),
    [
        (ReduceSumOp, ("2x3xf32", "2xi32"), {}, r"axes must be a vector of i64, got tensor<2xi32> \(C1\)"),
        (ReduceSumOp, ("2x3xf32", np.array(1)), {}, r"axes must be a vector of i64.*\(C1\)"),
        (ReduceSumOp, ("2x3xf32", "?xi64"), {"keepdims": 0}, r"number of axes must be known.*\(C1\)"),
        (ReduceSumOp, ("2x3xf32", ints(2)), {}, r"axis must be in \[-2, 1\], got 2 \(C2\)"),
        (ReduceSumOp, ("2x3xf32", ints(1, -1)), {}, r"axes must differ, got \[1, -1\] \(C2\)"),
        (ReduceSumOp, ("2x3xf32", "3xi64"), {"keepdims": 0}, r"axes must be axes of .*, got 3 \(C2\)"),
        (ArgMaxOp, ("2x3xf32",), {"axis": 2}, r"axis must be in \[-2, 1\], got 2 \(C1\)"),
        (TopKOp, ("2x3xf32", "1xi32"), {}, r"k must be one number of i64.*\(C1\)"),
        (TopKOp, ("2x3xf32", "2xi64"), {}, r"k must be one number of i64.*\(C1\)"),
        (TopKOp, ("2x3xf32", ints(1)), {"axis": -3}, r"axis must be.*\(C2\)"),
        (TopKOp, ("2x3xf32", ints(4)), {}, r"k must be at most the 3 elements along axis 1, got 4 \(C3\)"),
    ],
)
def test_constraint(cls: Any, operands: Any, attributes: dict[str, int], message: str) -> None:
    with pytest.raises(VerifyException, match=message):
        built(cls, *operands, **attributes, results=2 if cls is TopKOp else 1)


@pytest.mark.parametrize(
    ("axes", "attributes", "dims"),
    [
        (None, {}, ("1", "1", "1")),
        (None, {"keepdims": 0}, ()),
        (None, {"noop_with_empty_axes": 1}, ("N", "M", "4")),
        (ints(), {}, ("1", "1", "1")),
        (ints(), {"noop_with_empty_axes": 1, "keepdims": 0}, ("N", "M", "4")),
        (ints(-2), {}, ("N", "1", "4")),
        (ints(2, 0), {"keepdims": 0}, ("M",)),
        ("2xi64", {}, ("?", "?", "?")),
        ("2xi64", {"keepdims": 0}, ("?",)),
        ("?xi64", {}, ("?", "?", "?")),
    ],
)
def test_dims(axes: Any, attributes: dict[str, int], dims: tuple[str, ...]) -> None:
    op = built(ReduceMeanOp, "?x?x4xf32", axes, **attributes)
    known = None if axes is None else info_of(op.axes)
    assert said(op.infer(free(N, M, 4), known)) == dims


def test_dims_of_selections() -> None:
    assert said(built(ArgMaxOp, "?x4x?xf32", axis=-1).infer(free(N, 4, M))) == ("N", "4", "1")
    op = built(TopKOp, "?x?xf32", "1xi64", axis=0, results=2)
    assert [said(r) for r in op.infer(free(N, M), data(N))] == [("N", "M")] * 2
    assert [said(r) for r in op.infer(free(N, M), data(5))] == [("5", "M")] * 2
    assert [said(r) for r in op.infer(free(N, M), data(N - 1))] == [("?", "M")] * 2


@pytest.mark.parametrize(
    ("cls", "expected"),
    [
        (ReduceProdOp, [12 * N]),
        (ReduceSumOp, [N + 7]),
        (ReduceMaxOp, ["max(4, N)"]),
        (ReduceMinOp, ["min(3, N)"]),
        (ReduceMeanOp, None),
    ],
)
def test_shape_arithmetic(cls: Any, expected: Any) -> None:
    found = elements(built(cls, "3xi64").infer(data(3, N, 4), None))
    if expected is not None and isinstance(expected[0], str):
        assert [str(e) for e in found or []] == expected
    else:
        assert found == expected


def test_shape_arithmetic_stays_in_its_type() -> None:
    assert built(ReduceProdOp, "3xi64").infer(data(1 << 40, 1 << 40, 1), None).data is None
    assert elements(built(ReduceProdOp, "2xi64", keepdims=0).infer(data(5, 7), None)) == [35]
    assert elements(built(ReduceSumOp, "0xi64").infer(data(), None)) == [0]
    assert built(ReduceMaxOp, "0xi64").infer(data(), None).data is None


def test_axes_of_which_nothing_is_known_are_not_cut() -> None:
    assert built(ReduceSumOp, "2x3xf32", "1xi64").loops()[:2] == ("whole", "whole")
    assert built(ReduceSumOp, "2x3x4xf32", ints(1)).loops() == ("parallel", "whole", "parallel", "reduction")
    assert built(ReduceSumOp, "2x3x4xf32", ints(1), keepdims=0).loops() == ("parallel", "parallel", "reduction")


def test_tiles() -> None:
    check_tiles(built(ReduceSumOp, "3x4x5xf32", ints(-2), keepdims=0))
    check_tiles(built(ReduceMaxOp, "3x4x5xf32", ints(0, 2)))
    check_tiles(built(ArgMaxOp, "3x4x5xf32", axis=1))
    check_tiles(built(TopKOp, "3x4x5xf32", ints(2), axis=1, results=2))


def test_work() -> None:
    op = built(ReduceSumOp, "3x4x5xf32", ints(-2, 0))
    assert (op.reduced_axes(), op.flops()) == ((1, 0), 60)
    assert built(ArgMaxOp, "3x4xf32", axis=-1).reduced_axes() == (1,)


@pytest.mark.parametrize(
    ("opset", "node"),
    [
        (11, "y = ReduceSum<axes = [1], keepdims = 0>(x)"),
        (13, "y = ReduceSum(x, one)"),
        (13, "y = ReduceMax<axes = [-1]>(x)"),
        (18, "y = ReduceMax(x, one)"),
        (11, "y = ReduceMean(x)"),
        (11, "y = ReduceL2<axes = [0, 1]>(x)"),
        (11, "y = ArgMax<axis = 1>(x)"),
        (9, "y, z = TopK<axis = 1, k = 2>(x)"),
        (11, "y, z = TopK<largest = 0>(x, one)"),
    ],
)
def test_axes_move_between_attribute_and_operand(opset: int, node: str) -> None:
    outputs = ", ".join(f"float {o.strip()}" for o in node.partition(" = ")[0].split(","))
    outputs = outputs.replace("float z", "int64 z") if "Arg" not in node else "int64 y"
    text = f"""<ir_version: 8, opset_import: ["" : {opset}]> main (float[3, 4] x) => ({outputs})
               <int64[1] one = {{1}}> {{ {node} }}"""
    model = onnx.parser.parse_model(text)
    (found,) = export_model(import_model(model), opset).graph.node
    found.name, model.graph.node[0].name = "node", "node"
    assert found == model.graph.node[0]
