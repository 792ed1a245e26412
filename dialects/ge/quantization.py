"""
Conversion between numbers and the small types that stand for them, with a scale and a zero point.

Both are one number for the whole tensor, a vector along `axis`, or, with `block_size`, one number for each block of so
many elements along `axis`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from xdsl.dialects.builtin import IntegerType, Signedness, f32
from xdsl.ir import Attribute, Operation, SSAValue

from .core import PureOp, ge_op, shared_attributes
from .declare import OnnxName, element_type, integer, operand, opt_operand, result
from .dims import Dim, ceildiv
from .errors import fail
from .info import Info, axis_of, either, same_dim, same_element
from .interfaces import Box, Tiles, Work, on_operands, whole
from .types import shape_of

UI8: Attribute = IntegerType(8, Signedness.UNSIGNED)


@shared_attributes
class Scaled(PureOp, Tiles, Work):
    """
    Shared by ops of x, its scale and its zero point.

    C1  axis counts an axis of x, except where there is but one number or one axis
    C2  the scale is one number, a vector of dim(x, axis) or, with block_size, of the shape of x apart from
        ceil(dim / block_size) along axis
    C3  the zero point has the scale's shape, or is one number as well
    """

    axis = integer(1)
    block_size = integer(0)

    def granularity(self, scale: Sequence[Dim]) -> str:
        """What has a number of its own: a "tensor", an "axis" or a "block"."""
        if not scale or (len(scale) == 1 and scale[0] == 1):
            return "tensor"
        return "block" if self.block_size else "axis"

    def along(self, rank: int) -> int:
        """`axis` counted from the front."""
        return 0 if rank == 1 else axis_of(self, self.axis, rank, "C1")

    def scaled_dims(self, x: Info, scale: Info, zero: Info | None) -> list[Dim]:
        """Dims of the result: those of x, with what the scale says of them."""
        if self.block_size < 0:
            fail(self, f"block_size must not be negative, got {self.block_size} (C2)")
        dims = list(x.dims)
        kind = self.granularity(scale.dims)
        if kind != "tensor":
            at = self.along(x.rank)
            shape = [dims[at]] if kind == "axis" else list(dims)
            if kind == "block":
                shape[at] = ceildiv(dims[at], self.block_size)
            if len(shape) != scale.rank or not all(map(same_dim, shape, scale.dims)):
                fail(self, f"the scale must be one number or have the shape {shape}, got {scale.type} (C2)")
            for k, d in [(at, scale.dims[0])] if kind == "axis" else enumerate(scale.dims):
                dims[k] = dims[k] if kind == "block" and k == at else either(dims[k], d)
        if zero is None or (kind == "tensor" and self.granularity(zero.dims) == "tensor"):
            return dims
        if zero.rank != scale.rank or not all(map(same_dim, zero.dims, scale.dims)):
            fail(self, f"the zero point must have the scale's shape, got {zero.type} for {scale.type} (C3)")
        return dims

    def loops(self) -> tuple[str, ...]:
        rank = len(shape_of(self.operands[0].type))
        words = ["parallel"] * rank
        if self.granularity(shape_of(self.operands[1].type)) == "block":
            words[self.along(rank)] = "whole"
        return tuple(words)

    def operand_tiles(self, tile: Box) -> list[Box]:
        parameters = self.operands[1:]
        kind = self.granularity(shape_of(parameters[0].type))
        at = 0 if kind == "tensor" else self.along(len(tile))

        def box(value: SSAValue) -> Box:
            if kind == "tensor":
                return whole(value)
            return (tile[at],) if kind == "axis" else (*tile[:at], whole(value)[at], *tile[at + 1 :])

        return [tile, *map(box, parameters)]

    def on_tile(self, tile: Box, operands: Sequence[SSAValue]) -> Operation:
        return on_operands(self, operands)

    def flops(self) -> int:
        return 4 * math.prod(shape_of(self.results[0].type))


@ge_op
class QuantizeLinearOp(Scaled):
    """
    round(x / y_scale) + y_zero_point, kept within the result's type; of two nearest integers, the even one. The type is
    the zero point's, else output_dtype, else ui8.

    C1  axis counts an axis of x, except where there is but one number or one axis
    C2  the scale is one number, a vector of dim(x, axis) or, with block_size, of the shape of x apart from
        ceil(dim / block_size) along axis
    C3  the zero point has the scale's shape, or is one number as well
    C4  output_dtype is the zero point's type, where both are given

        %y = ge.quantize_linear %x, %s, %z : tensor<?x64xf32>, tensor<f32>, tensor<i8> -> tensor<?x64xi8>

    Source: ONNX QuantizeLinear-28.
    """

    name = "ge.quantize_linear"
    onnx = OnnxName("QuantizeLinear", since=10)
    x = operand()
    y_scale = operand()
    y_zero_point = opt_operand()
    saturate = integer(1)
    output_dtype = element_type(None)
    precision = element_type(None)
    y = result()

    def infer(self, *operands: Any) -> Info:
        x, scale, zero = operands
        dims = self.scaled_dims(x, scale, zero)
        given = self.output_dtype or None
        if zero is not None and given not in (None, zero.element):
            fail(self, f"output_dtype must be the zero point's type {zero.element}, got {given} (C4)")
        return Info(zero.element if zero is not None else given or UI8, tuple(dims))


@ge_op
class DequantizeLinearOp(Scaled):
    """
    (x - x_zero_point) * x_scale, in output_dtype or else the scale's type.

    C1  axis counts an axis of x, except where there is but one number or one axis
    C2  the scale is one number, a vector of dim(x, axis) or, with block_size, of the shape of x apart from
        ceil(dim / block_size) along axis
    C3  the zero point has the scale's shape, or is one number as well
    C4  x and the zero point have one element type

        %y = ge.dequantize_linear %x, %s, %z : tensor<?x64xi8>, tensor<f32>, tensor<i8> -> tensor<?x64xf32>

    Source: ONNX DequantizeLinear-28.
    """

    name = "ge.dequantize_linear"
    onnx = OnnxName("DequantizeLinear", since=10)
    x = operand()
    x_scale = operand()
    x_zero_point = opt_operand()
    output_dtype = element_type(None)
    y = result()

    def folds(self) -> bool:
        # Engines match a dequantised constant with what reads it; folded, it is a float that nobody quantises.
        return False

    def infer(self, *operands: Any) -> Info:
        x, scale, zero = operands
        dims = self.scaled_dims(x, scale, zero)
        same_element(self, "C4", x, zero)
        return Info(self.output_dtype or scale.element, tuple(dims))


@ge_op
class DynamicQuantizeLinearOp(PureOp):
    """
    x quantised to ui8 with a scale and a zero point that cover its own range and 0:
    y_scale = (max(0, max x) - min(0, min x)) / 255, y_zero_point = round(-min(0, min x) / y_scale).

    C1  x has f32

        %y, %s, %z = ge.dynamic_quantize_linear %x : tensor<?x64xf32> -> tensor<?x64xui8>, tensor<f32>, tensor<ui8>

    Source: ONNX DynamicQuantizeLinear-11.
    """

    name = "ge.dynamic_quantize_linear"
    onnx = OnnxName("DynamicQuantizeLinear", since=11)
    x = operand()
    y = result()
    y_scale = result()
    y_zero_point = result()

    def infer(self, *operands: Any) -> list[Info]:
        x: Info = operands[0]
        if x.element != f32:
            fail(self, f"x must have f32, got {x.type} (C1)")
        return [Info(UI8, x.dims), Info(f32, ()), Info(UI8, ())]
