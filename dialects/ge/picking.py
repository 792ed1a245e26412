"""
What is picked by value: sizes that only a run gives.

A result's dim that depends on data is free and has no symbol; a planner gives such a value no place in an arena.
"""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import f32, i1, i64

from .core import PureOp, ge_op
from .declare import OnnxName, integer, operand, opt_integer, opt_operand, opt_result, result
from .dims import unknown_size
from .errors import fail
from .info import Info, axis_of, same_dim
from .shapes import check_single


@ge_op
class NonZeroOp(PureOp):
    """
    The indices of the elements that are not 0, row-major: one column each.

        %y = ge.non_zero %x : tensor<?x64xi1> -> tensor<2x?xi64>

    Source: ONNX NonZero-13.
    """

    name = "ge.non_zero"
    onnx = OnnxName("NonZero", since=9)
    input = operand()
    output = result()

    def infer(self, *operands: Any) -> Info:
        x: Info = operands[0]
        # Of a scalar the operator's text and the engines say different things.
        return Info(i64, (x.rank or unknown_size(), unknown_size()))


@ge_op
class CompressOp(PureOp):
    """
    The slices along `axis` (without it: the elements, in order) at which `condition` is true.

    C1  condition is a vector of truth values
    C2  axis is one of input

        %y = ge.compress %x, %c axis 0 : tensor<8x4xf32>, tensor<8xi1> -> tensor<?x4xf32>

    Source: ONNX Compress-28.
    """

    name = "ge.compress"
    onnx = OnnxName("Compress", since=9)
    input = operand()
    condition = operand()
    axis = opt_integer()
    output = result()

    def infer(self, *operands: Any) -> Info:
        x, condition = operands
        if condition.rank != 1 or condition.element != i1:
            fail(self, f"condition must be a vector of truth values, got {condition.type} (C1)")
        if self.axis is None:
            return x.like([unknown_size()])
        axis = axis_of(self, self.axis, x.rank, "C2")
        return x.like([unknown_size() if k == axis else d for k, d in enumerate(x.dims)])


@ge_op
class UniqueOp(PureOp):
    """
    The different elements, or with `axis` the different slices along it, in rising order or that of the first ones;
    where each stands first, which one each element is, and how often it stands there.

    C1  axis is one of input
    C2  sorted is 0 or 1

        %y, %i, %j, %n = ge.unique %x : tensor<2x4xf32> -> tensor<?xf32>, tensor<?xi64>, tensor<8xi64>, tensor<?xi64>

    Source: ONNX Unique-28.
    """

    name = "ge.unique"
    onnx = OnnxName("Unique", since=11)
    input = operand()
    axis = opt_integer()
    sorted = integer(1)
    output = result()
    indices = opt_result()
    inverse_indices = opt_result()
    counts = opt_result()

    def infer(self, *operands: Any) -> list[Info]:
        x: Info = operands[0]
        if self.sorted not in (0, 1):
            fail(self, f"sorted must be 0 or 1, got {self.sorted} (C2)")
        many = unknown_size()
        if self.axis is None:
            unique, every = x.like([many]), x.count
        else:
            axis = axis_of(self, self.axis, x.rank, "C1")
            unique, every = x.like([many if k == axis else d for k, d in enumerate(x.dims)]), x.dims[axis]
        infos = [unique, Info(i64, (many,)), Info(i64, (every,)), Info(i64, (many,))]
        return [info for info, value in zip(infos, self.results_by_slot(), strict=False) if value is not None]


@ge_op
class NonMaxSuppressionOp(PureOp):
    """
    (batch, class, box) of the boxes with the highest scores, none of which overlaps a better one of its class by more
    than `iou_threshold`.

    C1  boxes are [batch, n, 4] and scores [batch, classes, n], of f32
    C2  the limits are one element each: max_output_boxes_per_class of i64, the thresholds of f32
    C3  center_point_box is 0 (corners) or 1 (centre and size)

        %y = ge.non_max_suppression %b, %s, %m, %i, %t : tensor<1x100x4xf32>, tensor<1x80x100xf32>, tensor<1xi64>,
             tensor<1xf32>, tensor<1xf32> -> tensor<?x3xi64>

    Source: ONNX NonMaxSuppression-11.
    """

    name = "ge.non_max_suppression"
    onnx = OnnxName("NonMaxSuppression", since=10)
    center_point_box = integer(0)
    boxes = operand()
    scores = operand()
    max_output_boxes_per_class = opt_operand()
    iou_threshold = opt_operand()
    score_threshold = opt_operand()
    selected_indices = result()

    def infer(self, *operands: Any) -> Info:
        boxes, scores, *limits = operands
        fits = boxes.rank == scores.rank == 3 and boxes.element == scores.element == f32
        if not fits or not all(map(same_dim, boxes.dims, (scores.dims[0], scores.dims[2], 4))):
            what = f"{boxes.type} and {scores.type}"
            fail(self, f"boxes must be [batch, n, 4] and scores [batch, classes, n], of f32, got {what} (C1)")
        names = ("max_output_boxes_per_class", "iou_threshold", "score_threshold")
        for name, info, element in zip(names, limits, (i64, f32, f32), strict=False):
            check_single(self, name, info, "C2")
            if info is not None and info.element != element:
                fail(self, f"{name} must be of {element}, got {info.type} (C2)")
        if self.center_point_box not in (0, 1):
            fail(self, f"center_point_box must be 0 or 1, got {self.center_point_box} (C3)")
        return Info(i64, (unknown_size(), 3))
