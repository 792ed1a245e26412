"""Sampling at places that are data (sampling.py)."""

import pytest
from onnx import TensorProto, helper
from xdsl.dialects.builtin import i64
from xdsl.utils.exceptions import VerifyException

from gecc.dialects.ge.sampling import AffineGridOp, Col2ImOp, DeformConvOp, GridSampleOp, MaxUnpoolOp
from gecc.frontend import export_model, import_model

from .movement_cases import M, N, built, free, ints, op_of, round_trip

X, ROIS = "tensor<1x8x32x32xf32>", "tensor<?x4xf32>"
DATA, WEIGHT, OFFSET = "tensor<1x4x8x8xf32>", "tensor<6x4x3x3xf32>", "tensor<1x18x8x8xf32>"
POOLED, PLACES = "tensor<1x4x4x4xf32>", "tensor<1x4x4x4xi64>"


@pytest.mark.parametrize(
    "line",
    [
        f'%y = ge.grid_sample %x, %g mode "cubic" : {X}, tensor<1x4x5x2xf32> -> tensor<1x8x4x5xf32>',
        "%y = ge.affine_grid %t, %s align_corners 1 : tensor<1x2x3xf32>, tensor<4xi64> -> tensor<1x?x?x2xf32>",
        f"%y = ge.roi_align %x, %r, %b output_height 7 output_width 5 : {X}, {ROIS}, tensor<?xi64>"
        " -> tensor<?x8x7x5xf32>",
        f"%y = ge.max_roi_pool %x, %r pooled_shape [7, 5] : {X}, tensor<?x5xf32> -> tensor<?x8x7x5xf32>",
        f"%y = ge.deform_conv %x, %w, %o pads [1, 1, 1, 1] : {DATA}, {WEIGHT}, {OFFSET} -> tensor<1x6x8x8xf32>",
        f"%y = ge.deform_conv %x, %w, %o, none, %m : {DATA}, {WEIGHT}, tensor<1x18x6x6xf32>, tensor<1x9x6x6xf32>"
        " -> tensor<1x6x6x6xf32>",
        f"%y = ge.max_unpool %x, %i kernel_shape [2, 2] strides [2, 2] : {POOLED}, {PLACES} -> tensor<1x4x8x8xf32>",
        f"%y = ge.max_unpool %x, %i, %s kernel_shape [2, 2] : {POOLED}, {PLACES}, tensor<4xi64> -> tensor<?x?x?x?xf32>",
        "%y = ge.col2_im %x, %s, %b : tensor<1x20x9xf32>, tensor<2xi64>, tensor<2xi64> -> tensor<1x?x?x?xf32>",
    ],
)
def test_text(line: str) -> None:
    round_trip(line)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (f"%y = ge.grid_sample %x, %g : {X}, tensor<1x4x5x3xf32> -> {X}", r"2 coordinates.*\(C1\)"),
        (f'%y = ge.grid_sample %x, %g mode "bilinear" : {X}, tensor<1x4x5x2xf32> -> {X}', r'"bilinear".*\(C2\)'),
        (f"%y = ge.grid_sample %x, %g align_corners 2 : {X}, tensor<1x4x5x2xf32> -> {X}", r"0 or 1, got 2 \(C2\)"),
        ("%y = ge.affine_grid %t, %s : tensor<1x2x3xf32>, tensor<3xi64> -> tensor<1x?x?x2xf32>", r"4 or 5.*\(C1\)"),
        ("%y = ge.affine_grid %t, %s : tensor<1x2x4xf32>, tensor<4xi64> -> tensor<1x?x?x2xf32>", r"theta must.*\(C2\)"),
        (f"%y = ge.roi_align %x, %r, %b : {X}, tensor<?x5xf32>, tensor<?xi64> -> {X}", r"rois be.*\(C1\)"),
        (f"%y = ge.roi_align %x, %r, %b output_width 0 : {X}, {ROIS}, tensor<?xi64> -> {X}", r"positive.*\(C2\)"),
        (f"%y = ge.roi_align %x, %r, %b : {X}, {ROIS}, tensor<?xi32> -> {X}", r"batch_indices must be.*\(C3\)"),
        (f'%y = ge.roi_align %x, %r, %b mode "min" : {X}, {ROIS}, tensor<?xi64> -> {X}', r'"min".*\(C4\)'),
        (f"%y = ge.max_roi_pool %x, %r pooled_shape [7] : {X}, tensor<?x5xf32> -> {X}", r"two numbers.*\(C2\)"),
        (f"%y = ge.deform_conv %x, %w, %o group 2 : {DATA}, {WEIGHT}, {OFFSET} -> {DATA}", r"must fit each.*\(C1\)"),
        (f"%y = ge.deform_conv %x, %w, %o strides [1] : {DATA}, {WEIGHT}, {OFFSET} -> {DATA}", r"for 2 axes \(C2\)"),
        (f"%y = ge.deform_conv %x, %w, %o : {DATA}, {WEIGHT}, {DATA} -> {DATA}", r"channels for 9 taps.*\(C3\)"),
        (
            f"%y = ge.deform_conv %x, %w, %o : {DATA}, {WEIGHT}, tensor<1x18x8x8xf16> -> {DATA}",
            r"one element type.*\(C4\)",
        ),
        (
            f"%y = ge.deform_conv %x, %w, %o, %b : {DATA}, {WEIGHT}, {OFFSET}, tensor<4xf32> -> {DATA}",
            r"b must be a vector of 6.*\(C5\)",
        ),
        (f"%y = ge.max_unpool %x, %i kernel_shape [2, 2] : {POOLED}, {POOLED} -> {DATA}", r"x's shape and i64.*\(C1\)"),
        (f"%y = ge.max_unpool %x, %i kernel_shape [2] : {POOLED}, {PLACES} -> {DATA}", r"for 2 axes \(C2\)"),
        (
            f"%y = ge.max_unpool %x, %i, %s kernel_shape [2, 2] : {POOLED}, {PLACES}, tensor<2xi64> -> {DATA}",
            r"output_shape must have 4.*\(C3\)",
        ),
        ("%y = ge.col2_im %x, %s, %b : tensor<1x20xf32>, tensor<2xi64>, tensor<2xi64> -> tensor<1x?xf32>", r"\(C1\)"),
    ],
)
def test_constraint(line: str, message: str) -> None:
    with pytest.raises(VerifyException, match=message):
        op_of(line).verify()


def test_a_block_must_divide_the_channels() -> None:
    line = "%y = ge.col2_im %x, %s, %b : tensor<1x20x9xf32>, tensor<2xi64>, tensor<2xi64> -> tensor<1x?x?x?xf32>"
    with pytest.raises(VerifyException, match=r"multiple of 9, got 20 \(C2\)"):
        op_of(line, b=ints(3, 3)).verify()


def test_dims_from_data_and_from_windows() -> None:
    assert built(Col2ImOp, "1x20x9xf32", ints(5, 6), ints(2, 5)).output.type.get_shape() == (1, 2, 5, 6)
    assert built(AffineGridOp, "3x2x3xf32", ints(3, 8, 4, 5)).grid.type.get_shape() == (3, 4, 5, 2)
    op = built(MaxUnpoolOp, "?x4x4x4xf32", "?x4x4x4xi64", kernel_shape=(2, 2), strides=(2, 2), pads=(0, 1, 0, 1))
    assert op.infer(free(N, 4, 4, 4), free(N, 4, 4, 4, element=i64), None).dims == (N, 4, 8, 6)
    op = built(DeformConvOp, "?x4x?x8xf32", "6x4x3x3xf32", "?x18x?x6xf32")
    found = op.infer(free(N, 4, M, 8), free(6, 4, 3, 3), free(N, 18, M, 6), None, None).dims
    assert found == (N, 6, M - 2, 6)
    assert built(GridSampleOp, "2x3x8x8xf32", "2x4x5x2xf32").y.type.get_shape() == (2, 3, 4, 5)


@pytest.mark.parametrize(
    ("opset", "attrs"), [(16, {"mode": "bicubic"}), (16, {}), (20, {"mode": "cubic", "align_corners": 1}), (22, {})]
)
def test_grid_sample_of_each_opset(opset: int, attrs: dict[str, object]) -> None:
    node = helper.make_node("GridSample", ["x", "g"], ["y"], **attrs)
    back, op = through(node, opset, {"x": [1, 3, 8, 8], "g": [1, 4, 5, 2]})
    assert op == "ge.grid_sample"
    said = {a.name: helper.get_attribute_value(a) for a in back.attribute}
    defaults = {"mode": b"bilinear"} if opset == 16 else {}
    assert said == defaults | {k: v.encode() if isinstance(v, str) else v for k, v in attrs.items()}


@pytest.mark.parametrize(("opset", "pixels"), [(10, None), (16, "output_half_pixel"), (22, None)])
def test_roi_align_of_each_opset(opset: int, pixels: str | None) -> None:
    attrs = {"output_height": 2, "output_width": 2}
    attrs |= {} if pixels is None else {"coordinate_transformation_mode": pixels}
    node = helper.make_node("RoiAlign", ["x", "r", "b"], ["y"], **attrs)
    back, op = through(node, opset, {"x": [1, 3, 8, 8], "r": [4, 4], "b": [4]}, {"b": TensorProto.INT64})
    assert op == "ge.roi_align"
    assert sorted(back.attribute, key=lambda a: a.name) == sorted(node.attribute, key=lambda a: a.name)


def through(node, opset: int, shapes: dict[str, list[int]], types: dict[str, int] | None = None):
    """The node after import and export, and the name of the op that it was between."""
    types = types or {}
    inputs = [helper.make_tensor_value_info(n, types.get(n, TensorProto.FLOAT), dims) for n, dims in shapes.items()]
    output = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    graph = helper.make_graph([node], "g", inputs, [output])
    module = import_model(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8))
    [op] = [op.name for op in module.walk() if op.name.startswith("ge.")]
    [back] = export_model(module).graph.node
    return back, op
