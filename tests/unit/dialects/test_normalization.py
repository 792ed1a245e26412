"""Normalisation (normalization.py) and what goes along one axis (softmax.py)."""

from typing import Any

import numpy as np
import onnx.parser
import pytest
from onnx import TensorProto, helper
from xdsl.utils.exceptions import VerifyException

from gecc.dialects.ge.normalization import GroupNormalizationOp, LayerNormalizationOp
from gecc.dialects.ge.softmax import CumSumOp
from gecc.dialects.ge.unscaled_normalization import LpNormalizationOp, LRNOp
from gecc.frontend import export_model, import_model
from gecc.reference import evaluate as reference

from .movement_cases import N, built, free, op_of, round_trip, said

X, V = "tensor<2x8x4x4xf32>", "tensor<8xf32>"
BATCH = f"%y = ge.batch_normalization %x, %s, %b, %m, %v : {X}, {V}, {V}, {V}, {V} -> {X}"
GROUP = f"%y = ge.group_normalization %x, %s, %b num_groups 2 : {X}, {V}, {V} -> {X}"
INSTANCE = f"%y = ge.instance_normalization %x, %s, %b : {X}, {V}, {V} -> {X}"
LAYER = "%y = ge.layer_normalization %x, %s : tensor<?x12x8xf16>, tensor<8xf16> -> tensor<?x12x8xf16>"
RMS = "%y = ge.rms_normalization %x, %s : tensor<?x12x8xf16>, tensor<8xf32> -> tensor<?x12x8xf32>"


@pytest.mark.parametrize(
    "line",
    [
        BATCH,
        BATCH.replace("%v :", "%v epsilon 0.001 :"),
        "%y = ge.batch_normalization %x, %s, %b, %m, %v : tensor<?xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>,"
        " tensor<1xf32> -> tensor<?xf32>",
        GROUP,
        INSTANCE,
        LAYER,
        "%y, %m, %v = ge.layer_normalization %x, %s, %b axis 1 : tensor<?x12x8xf16>, tensor<12x8xf16>, tensor<8xf16>"
        " -> tensor<?x12x8xf16>, tensor<?x1x1xf32>, tensor<?x1x1xf32>",
        "%y, %v = ge.layer_normalization %x, %s stash_type 16 : tensor<4x8xf16>, tensor<8xf16>"
        " -> tensor<4x8xf16>, none, tensor<4x1xbf16>",
        RMS,
        f"%y = ge.lrn %x size 3 : {X} -> {X}",
        f"%y = ge.lp_normalization %x axis 1 p 1 : {X} -> {X}",
        f"%y = ge.mean_variance_normalization %x axes [1, -1] : {X} -> {X}",
        f"%y = ge.softmax %x axis 1 : {X} -> {X}",
        f"%y = ge.log_softmax %x : {X} -> {X}",
        f"%y = ge.hardmax %x : {X} -> {X}",
        f"%y = ge.cum_sum %x, %a exclusive 1 reverse 1 : {X}, tensor<i32> -> {X}",
        f"%y = ge.cum_prod %x, %a : {X}, tensor<1xi64> -> {X}",
    ],
)
def test_text(line: str) -> None:
    round_trip(line)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (BATCH.replace(X, "tensor<f32>"), r"x must have a batch axis.*\(C1\)"),
        (BATCH.replace(f"{X}, {V}", f"{X}, tensor<7xf32>"), r"scale must be a vector of 8 elements.*\(C2\)"),
        (INSTANCE.replace(X, "tensor<2x8xf32>"), r"spatial axes.*\(C1\)"),
        (INSTANCE.replace(f"{V} ->", "tensor<1x8xf32> ->"), r"b must be a vector of 8 elements.*\(C2\)"),
        (INSTANCE.replace(f"{V} ->", "tensor<8xf64> ->"), r"one element type.*\(C3\)"),
        (GROUP.replace(X, "tensor<2x8xf32>"), r"spatial axes.*\(C1\)"),
        (GROUP.replace(f"{V} ->", "tensor<2xf32> ->"), r"bias must be a vector of 8 elements.*\(C2\)"),
        (GROUP.replace("groups 2", "groups 3"), r"channels must be a multiple of num_groups 3, got 8 \(C3\)"),
        (GROUP.replace(f"{V} ->", "tensor<8xf64> ->"), r"one element type.*\(C4\)"),
        (LAYER.replace("%s :", "%s axis 3 :"), r"axis must be in \[-3, 2\], got 3 \(C1\)"),
        (LAYER.replace("%s :", "%s stash_type 10 :"), r"stash_type must be 1 or 16, got 10 \(C2\)"),
        (LAYER.replace("tensor<8xf16>", "tensor<4xf16>"), r"scale must broadcast.*\(C3\)"),
        (LAYER.replace("tensor<8xf16>", "tensor<8xf32>"), r"one element type.*\(C4\)"),
        (RMS.replace("%s :", "%s axis -4 :"), r"axis must be in \[-3, 2\], got -4 \(C1\)"),
        (RMS.replace("tensor<8xf32>", "tensor<1x1x1x8xf32>"), r"scale must broadcast.*\(C2\)"),
        ("%y = ge.lrn %x size 3 : tensor<4xf32> -> tensor<4xf32>", r"a batch and a channel axis.*\(C1\)"),
        (f"%y = ge.lrn %x size 0 : {X} -> {X}", r"size must be positive, got 0 \(C2\)"),
        (f"%y = ge.lp_normalization %x axis 4 : {X} -> {X}", r"axis must be.*\(C1\)"),
        (f"%y = ge.lp_normalization %x p 3 : {X} -> {X}", r"p must be 1 or 2, got 3 \(C2\)"),
        (f"%y = ge.mean_variance_normalization %x axes [1, -3] : {X} -> {X}", r"axes must differ.*\(C1\)"),
        (f"%y = ge.softmax %x axis 4 : {X} -> {X}", r"axis must be in \[-4, 3\], got 4 \(C1\)"),
        ("%y = ge.log_softmax %x : tensor<f32> -> tensor<f32>", r"axis must be.*\(C1\)"),
        (f"%y = ge.hardmax %x axis -5 : {X} -> {X}", r"axis must be.*\(C1\)"),
        (f"%y = ge.cum_sum %x, %a : {X}, tensor<2xi32> -> {X}", r"axis must be one number.*\(C1\)"),
        (f"%y = ge.cum_sum %x, %a : {X}, tensor<f32> -> {X}", r"axis must be one number.*\(C1\)"),
    ],
)
def test_constraint(line: str, message: str) -> None:
    with pytest.raises(VerifyException, match=message):
        op_of(line).verify()


def test_a_running_sum_checks_its_axis_where_it_is_known() -> None:
    with pytest.raises(VerifyException, match=r"axis must be in \[-2, 1\], got 2 \(C2\)"):
        built(CumSumOp, "3x4xf32", np.array(2))
    assert built(CumSumOp, "3x4xf32", np.array(-2)).loops() == ("whole", "parallel", "reduction")
    assert built(CumSumOp, "3x4xf32", "1xi64").loops()[:2] == ("whole", "whole")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (BATCH, "parallel parallel parallel parallel"),
        (INSTANCE, "parallel parallel whole whole"),
        (GROUP, "parallel whole whole whole"),
        (LAYER, "parallel parallel whole"),
        (RMS.replace("%s :", "%s axis 1 :"), "parallel whole whole"),
        (f"%y = ge.lrn %x size 3 : {X} -> {X}", "parallel whole parallel parallel"),
        (f"%y = ge.softmax %x axis -3 : {X} -> {X}", "parallel whole parallel parallel"),
    ],
)
def test_axes_that_a_tile_must_cover(line: str, words: str) -> None:
    op = op_of(line)
    rank = len(op.results[0].type.get_shape())
    assert op.loops()[:rank] == tuple(words.split())
    assert op.loops()[rank:] == ("reduction",) * words.count("whole")


def test_tiles_take_their_channels() -> None:
    assert op_of(BATCH).operand_tiles(((0, 1), (2, 3), (1, 2), (0, 4)))[1:] == [((2, 3),)] * 4
    op = built(LayerNormalizationOp, "3x4x5xf32", "4x1xf32", "5xf32")
    assert op.operand_tiles(((1, 1), (2, 2), (0, 5)))[1:] == [((2, 2), (0, 1)), ((0, 5),)]


def test_free_dims() -> None:
    assert said(op_of(LAYER).infer(free(N, 12, 8), free(8), None)[0]) == ("N", "12", "8")
    assert said(op_of(RMS).infer(free(N, 12, 8), free(8))) == ("N", "12", "8")
    assert said(op_of(BATCH).infer(free(N, 8, N), *[free(8)] * 4)) == ("N", "8", "N")


def test_work_and_place() -> None:
    assert op_of(BATCH).overwrites() == (0,)
    assert op_of(BATCH).flops() == 4 * 2 * 8 * 4 * 4


def first(text: str) -> str:
    """The op that the first node of a graph becomes."""
    module = import_model(onnx.parser.parse_model(text))
    return next(op.name for op in module.walk() if op.name.startswith("ge.") and op.name != "ge.constant")


@pytest.mark.parametrize(
    ("opset", "node", "name"),
    [
        (15, "y = BatchNormalization(x, v, v, v, v)", "ge.batch_normalization"),
        (9, "y = BatchNormalization<momentum = 0.5>(x, v, v, v, v)", "ge.batch_normalization"),
        (7, "y = BatchNormalization<spatial = 1>(x, v, v, v, v)", "ge.batch_normalization"),
        # What trains, or norms each element by itself, is kept as it is.
        (15, "y, m, w = BatchNormalization<training_mode = 1>(x, v, v, v, v)", "ge.opaque"),
        (7, "y = BatchNormalization<spatial = 0>(x, v, v, v, v)", "ge.opaque"),
        (6, "y = BatchNormalization(x, v, v, v, v)", "ge.opaque"),
        (6, "y = BatchNormalization<is_test = 1>(x, v, v, v, v)", "ge.batch_normalization"),
        (20, "y = GroupNormalization<num_groups = 3>(x, v, v)", "ge.group_normalization"),
        (21, "y = GroupNormalization<num_groups = 3>(x, v, v)", "ge.group_normalization"),
        (11, "y = Softmax<axis = 2>(x)", "ge.opaque"),
        (11, "y = Softmax<axis = 3>(x)", "ge.softmax"),
        (13, "y = Softmax<axis = 3>(x)", "ge.softmax"),
    ],
)
def test_older_forms(opset: int, node: str, name: str) -> None:
    outputs = ", ".join(f"float {o.strip()}" for o in node.partition(" = ")[0].split(","))
    header = f'<ir_version: 8, opset_import: ["" : {opset}]>'
    assert first(f"{header} main (float[2, 3, 4, 4] x, float[3] v) => ({outputs}) {{ {node} }}") == name


def test_lrn_walks_channels() -> None:
    x = np.arange(1, 6, dtype=np.float32).reshape(1, 5, 1)
    op = built(LRNOp, "1x5x1xf32", size=2, alpha=2.0, beta=1.0, bias=1.0)
    # Of size 2: channel c and the one after it.
    around = [1 + 4, 4 + 9, 9 + 16, 16 + 25, 25]
    np.testing.assert_allclose(
        reference(op, [x])[0].ravel(), [c / (1 + s) for c, s in zip(range(1, 6), around, strict=True)]
    )


def test_lp_norms_are_of_absolute_values() -> None:
    x = np.array([[3, -1], [0, 0]], np.float32)
    assert reference(built(LpNormalizationOp, "2x2xf32", p=1), [x])[0].tolist() == [[0.75, -0.25], [0, 0]]


def test_groups_are_normed_by_themselves() -> None:
    x = np.array([0, 2, 10, 14], np.float32).reshape(1, 4, 1)
    one: Any = np.ones(4, np.float32)
    op = built(GroupNormalizationOp, "1x4x1xf32", "4xf32", "4xf32", num_groups=2, epsilon=0.0)
    assert reference(op, [x, one, one * 0])[0].ravel().tolist() == [-1, 1, -1, 1]


def through(node: onnx.NodeProto, shapes: dict[str, list[int]], opset: int) -> tuple[list[str], list[onnx.NodeProto]]:
    """Ops that a node is imported as, and the nodes that they are exported as."""
    inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, dims) for name, dims in shapes.items()]
    graph = helper.make_graph([node], "g", inputs, [onnx.ValueInfoProto(name=node.output[0])])
    module = import_model(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8))
    return [op.name for op in module.walk() if op.name.startswith("ge.")], list(export_model(module).graph.node)


@pytest.mark.parametrize("opset", [1, 6])
def test_batch_normalization_before_7_where_it_tests(opset: int) -> None:
    shapes = {"x": [1, 3, 4, 4]} | {name: [3] for name in "sbmv"}
    hints = {"consumed_inputs": [0, 0, 0, 1, 1]} if opset == 1 else {}
    node = helper.make_node("BatchNormalization", list(shapes), ["y"], is_test=1, epsilon=0.5, **hints)
    ops, [back] = through(node, shapes, opset)
    assert ops == ["ge.batch_normalization"]
    assert sorted(back.attribute, key=lambda a: a.name) == sorted(node.attribute, key=lambda a: a.name)
    node = helper.make_node("BatchNormalization", list(shapes), ["y"], **hints)
    assert through(node, shapes, opset)[0] == ["ge.opaque"]


@pytest.mark.parametrize(("groups", "op"), [(4, "ge.group_normalization"), (2, "ge.opaque")])
def test_group_normalization_of_opset_18_where_each_channel_is_a_group(groups: int, op: str) -> None:
    shapes = {"x": [1, 4, 8, 8], "s": [groups], "b": [groups]}
    node = helper.make_node("GroupNormalization", list(shapes), ["y"], num_groups=groups)
    ops, [back] = through(node, shapes, 18)
    assert ops == [op]
    assert list(back.attribute) == list(node.attribute)
