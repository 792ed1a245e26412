"""Quantised integers along axes: joined, pooled, normed."""

from __future__ import annotations

import math
from typing import Any

from xdsl.ir import SSAValue

from ..ge.composed import Maker
from ..ge.core import PureOp, ge_op
from ..ge.declare import OnnxName, integer, operand, opt_operand, result, var_operands
from ..ge.dims import Dim
from ..ge.errors import fail
from ..ge.info import Info, axis_of, either, same_dim, same_element
from ..ge.interfaces import Box, Composed, Tiles, Work, whole
from ..ge.pooling import GlobalAveragePoolOp
from ..ge.shapes import first_cut
from ..ge.slicing import ConcatOp
from ..ge.softmax import SoftmaxOp
from ..ge.types import shape_of
from .activation import MICROSOFT
from .quantized import check_bytes, check_parameters, quantised, real_of


@ge_op
class QLinearConcatOp(PureOp, Tiles, Composed):
    """
    Quantised integers one after the other along `axis`, each (data, scale, zero point) brought to one scale.

    C1  there are three operands for each input, and an input
    C2  scales are one number of f32, zero points one number of y_zero_point's type; data have that type
    C3  ranks are equal, and so are dims apart from those of `axis`

        %y = ort.qlinear_concat %sy, %zy, %a, %sa, %za, %b, %sb, %zb axis 1 : tensor<f32>, tensor<ui8>,
             tensor<?x4xui8>, tensor<f32>, tensor<ui8>, tensor<?x8xui8>, tensor<f32>, tensor<ui8> -> tensor<?x12xui8>

    Source: com.microsoft QLinearConcat-1.
    """

    name = "ort.qlinear_concat"
    onnx = OnnxName("QLinearConcat", domain=MICROSOFT)
    y_scale = operand()
    y_zero_point = operand()
    inputs = var_operands()
    axis = integer()
    y = result()

    def infer(self, *operands: Any) -> Info:
        y_scale, y_zero, *inputs = operands
        if not inputs or len(inputs) % 3:
            fail(self, f"there must be three operands for each input, got {len(inputs)} (C1)")
        check_parameters(self, None, y_scale, y_zero, "C2")
        for x, scale, zero in zip(inputs[::3], inputs[1::3], inputs[2::3], strict=True):
            check_parameters(self, y_zero, scale, zero, "C2")
            same_element(self, "C2", x, y_zero)
        first, *others = inputs[::3]
        axis = axis_of(self, self.axis, first.rank, "C3")
        dims: list[Dim] = list(first.dims)
        for x in others:
            same = x.rank == first.rank and all(same_dim(d, dims[k]) for k, d in enumerate(x.dims) if k != axis)
            if not same:
                fail(self, f"dims apart from those of axis must be equal, got {first.type} and {x.type} (C3)")
            dims = [d + e if k == axis else either(d, e) for k, (d, e) in enumerate(zip(dims, x.dims, strict=True))]
        return first.like(dims)

    def loops(self) -> tuple[str, ...]:
        rank = len(shape_of(self.y.type))
        return tuple("whole" if k == self.axis % rank else "parallel" for k in range(rank))

    def operand_tiles(self, tile: Box) -> list[Box]:
        axis = self.axis % len(tile)
        boxes = [whole(v) for v in self.operands]
        boxes[2::3] = [(*tile[:axis], box[axis], *tile[axis + 1 :]) for box in boxes[2::3]]
        return boxes

    def expansion(self, make: Maker, *operands: Any) -> SSAValue:
        y_scale, y_zero, *inputs = operands
        parts = zip(inputs[::3], inputs[1::3], inputs[2::3], strict=True)
        reals = [real_of(make, *part) for part in parts]
        return quantised(make, make(ConcatOp, *reals, axis=self.axis), y_scale, y_zero, y_zero)


@ge_op
class QLinearGlobalAveragePoolOp(PureOp, Tiles, Work, Composed):
    """
    The mean over all spatial axes of quantised integers; with channels_last 1 the channels stand behind them.

    C1  x has a batch, a channel and at least one spatial axis, and is of ui8 or i8
    C2  scales are one number of f32, zero points one number of the data's type
    C3  channels_last is 0 or 1

        %y = ort.qlinear_global_average_pool %x, %sx, %zx, %sy, %zy : tensor<1x64x7x7xui8>, tensor<f32>, tensor<ui8>,
             tensor<f32>, tensor<ui8> -> tensor<1x64x1x1xui8>

    Source: com.microsoft QLinearGlobalAveragePool-1.
    """

    name = "ort.qlinear_global_average_pool"
    onnx = OnnxName("QLinearGlobalAveragePool", domain=MICROSOFT)
    x = operand()
    x_scale = operand()
    x_zero_point = operand()
    y_scale = operand()
    y_zero_point = operand()
    channels_last = integer(0)
    y = result()

    def infer(self, *operands: Any) -> Info:
        x, x_scale, x_zero, y_scale, y_zero = operands
        check_bytes(self, x, "C1")
        if x.rank < 3:
            fail(self, f"x must have a batch, a channel and spatial axes, got {x.type} (C1)")
        check_parameters(self, x, x_scale, x_zero, "C2")
        check_parameters(self, x, y_scale, y_zero, "C2")
        if self.channels_last not in (0, 1):
            fail(self, f"channels_last must be 0 or 1, got {self.channels_last} (C3)")
        ones = [1] * (x.rank - 2)
        return x.like([x.dims[0], *ones, x.dims[-1]] if self.channels_last else [*x.dims[:2], *ones])

    def flops(self) -> int:
        return math.prod(shape_of(self.x.type))

    def loops(self) -> tuple[str, ...]:
        kept = (0, len(shape_of(self.x.type)) - 1 if self.channels_last else 1)
        return tuple("parallel" if k in kept else "whole" for k in range(len(shape_of(self.x.type))))

    def operand_tiles(self, tile: Box) -> list[Box]:
        words = self.loops()
        box = zip(tile, whole(self.x), words, strict=True)
        return first_cut(self, tuple(t if word == "parallel" else d for t, d, word in box))

    def expansion(self, make: Maker, *operands: Any) -> SSAValue:
        x, x_scale, x_zero, y_scale, y_zero = operands
        layout = "NHWC" if self.channels_last else "NCHW"
        y = make(GlobalAveragePoolOp, real_of(make, x, x_scale, x_zero), data_format=layout)
        return quantised(make, y, y_scale, y_zero, x)


@ge_op
class QLinearSoftmaxOp(PureOp, Tiles, Work, Composed):
    """
    The softmax along `axis` of quantised integers.

    C1  x is of ui8 or i8, axis is one of x
    C2  scales are one number of f32, zero points one number of the data's type
    C3  `opset`, whose Softmax it is, is 13 or more, or axis is the last

        %y = ort.qlinear_softmax %x, %sx, %zx, %sy, %zy axis -1 opset 13 : tensor<?x64xui8>, tensor<f32>, tensor<ui8>,
             tensor<f32>, tensor<ui8> -> tensor<?x64xui8>

    Source: com.microsoft QLinearSoftmax-1.
    """

    name = "ort.qlinear_softmax"
    onnx = OnnxName("QLinearSoftmax", domain=MICROSOFT)
    x = operand()
    x_scale = operand()
    x_zero_point = opt_operand()
    y_scale = operand()
    y_zero_point = operand()
    axis = integer(-1)
    opset = integer()
    y = result()

    def infer(self, *operands: Any) -> Info:
        x, x_scale, x_zero, y_scale, y_zero = operands
        check_bytes(self, x, "C1")
        axis = axis_of(self, self.axis, x.rank, "C1")
        check_parameters(self, x, x_scale, x_zero, "C2")
        check_parameters(self, x, y_scale, y_zero, "C2")
        if self.opset < 13 and axis != x.rank - 1:
            fail(self, f"before opset 13 axis must be the last, got {self.axis} (C3)")
        return x.like(x.dims)

    def flops(self) -> int:
        return 16 * math.prod(shape_of(self.x.type))

    def loops(self) -> tuple[str, ...]:
        rank = len(shape_of(self.x.type))
        return tuple("whole" if k == self.axis % rank else "parallel" for k in range(rank))

    def operand_tiles(self, tile: Box) -> list[Box]:
        return first_cut(self, tile)

    def expansion(self, make: Maker, *operands: Any) -> SSAValue:
        x, x_scale, x_zero, y_scale, y_zero = operands
        y = make(SoftmaxOp, real_of(make, x, x_scale, x_zero), axis=self.axis)
        return quantised(make, y, y_scale, y_zero, x)
