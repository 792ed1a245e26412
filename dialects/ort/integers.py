"""Products of quantised integers with real results, and the general product of both kinds."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from xdsl.dialects.builtin import f32, i32
from xdsl.ir import SSAValue

from ..ge.arithmetic import AddOp, MulOp
from ..ge.composed import Maker
from ..ge.core import PureOp, ge_op
from ..ge.declare import OnnxName, integer, operand, opt_operand, real, result
from ..ge.dims import Dim
from ..ge.errors import fail
from ..ge.info import Info, same_dim, same_element
from ..ge.interfaces import Box, Composed, Contraction, Tiles, broadcast_box, whole
from ..ge.quantization import DynamicQuantizeLinearOp
from ..ge.quantized import MatMulIntegerOp, QuantizedProduct, check_vector
from ..ge.types import shape_of
from .activation import MICROSOFT
from .quantized import check_bytes, check_parameters, quantised, scalar


class _ToFloat(QuantizedProduct, Composed):
    """
    Shared by matrix products of integers whose sums are made real.

    C1 to C3  as for every matrix product
    C4  a zero point has the element type of its data; scales are of f32
    C5  what goes with a is one number, with b one number or one a column
    C6  bias is a vector of columns, of f32
    """

    def check_scaled(self, b: Info, b_scale: Info, b_zero: Info | None, bias: Info | None, columns: Dim) -> None:
        same_element(self, "C4", b, b_zero)
        if b_scale.element != f32:
            fail(self, f"a scale must be of f32, got {b_scale.type} (C4)")
        self.check_columns("b_scale", b_scale, b, "C5")
        self.check_columns("b_zero_point", b_zero, b, "C5")
        if bias is not None and (bias.element != f32 or bias.rank != 1 or not same_dim(bias.dims[0], columns)):
            fail(self, f"bias must be a vector of {columns}, of f32, got {bias.type} (C6)")

    def real(self, make: Maker, sums: SSAValue, a_scale: SSAValue, b_scale: SSAValue, bias: Any) -> SSAValue:
        y = make(MulOp, make.cast(sums, f32), make(MulOp, a_scale, b_scale))
        return y if bias is None else make(AddOp, y, bias)


@ge_op
class MatMulIntegerToFloatOp(_ToFloat):
    """
    The matrix product of (a - a_zero_point) * a_scale and (b - b_zero_point) * b_scale, plus bias.

    C1 to C3  as for every matrix product
    C4  a zero point has the element type of its data; scales are of f32
    C5  what goes with a is one number, with b one number or one a column
    C6  bias is a vector of columns, of f32

        %y = ort.matmul_integer_to_float %a, %b, %sa, %sb, %za : tensor<4x8xui8>, tensor<8x2xi8>, tensor<f32>,
             tensor<2xf32>, tensor<ui8> -> tensor<4x2xf32>

    Source: com.microsoft MatMulIntegerToFloat-1.
    """

    name = "ort.matmul_integer_to_float"
    onnx = OnnxName("MatMulIntegerToFloat", domain=MICROSOFT)
    BY_COLUMN: ClassVar[tuple[str, ...]] = ("b_scale", "b_zero_point", "bias")
    a = operand()
    b = operand()
    a_scale = operand()
    b_scale = operand()
    a_zero_point = opt_operand()
    b_zero_point = opt_operand()
    bias = opt_operand()
    y = result()

    def infer(self, *operands: Any) -> Info:
        a, b, a_scale, b_scale, a_zero, b_zero, bias = operands
        dims = self.product_dims(a, b)
        same_element(self, "C4", a, a_zero)
        check_parameters(self, None, a_scale, a_zero, "C5")
        self.check_scaled(b, b_scale, b_zero, bias, b.dims[-1])
        return Info(f32, tuple(dims))

    def expansion(self, make: Maker, *operands: Any) -> SSAValue:
        a, b, a_scale, b_scale, a_zero, b_zero, bias = operands
        if a_zero is None and b_zero is not None:
            a_zero = make.number(0, a)
        sums = make(MatMulIntegerOp, a, b, scalar(make, a_zero), b_zero)
        return self.real(make, sums, a_scale, b_scale, bias)


@ge_op
class DynamicQuantizeMatMulOp(_ToFloat):
    """
    The matrix product of a, quantised to ui8 by its own range, and (b - b_zero_point) * b_scale, plus bias.

    C1 to C3  as for every matrix product
    C4  a is of f32; a zero point has the element type of its data; scales are of f32
    C5  what goes with b is one number or one a column
    C6  bias is a vector of columns, of f32

        %y = ort.dynamic_quantize_matmul %a, %b, %s : tensor<4x8xf32>, tensor<8x2xi8>, tensor<2xf32> -> tensor<4x2xf32>

    Source: com.microsoft DynamicQuantizeMatMul-1.
    """

    name = "ort.dynamic_quantize_matmul"
    onnx = OnnxName("DynamicQuantizeMatMul", domain=MICROSOFT)
    BY_COLUMN: ClassVar[tuple[str, ...]] = ("b_scale", "b_zero_point", "bias")
    a = operand()
    b = operand()
    b_scale = operand()
    b_zero_point = opt_operand()
    bias = opt_operand()
    y = result()

    def infer(self, *operands: Any) -> Info:
        a, b, b_scale, b_zero, bias = operands
        dims = self.product_dims(a, b)
        if a.element != f32:
            fail(self, f"a must be of f32, got {a.type} (C4)")
        self.check_scaled(b, b_scale, b_zero, bias, b.dims[-1])
        return Info(f32, tuple(dims))

    def loops(self) -> tuple[str, ...]:
        # The range that a is quantised by is that of the whole.
        found = super().loops()
        columns = len(shape_of(self.b.type)) > 1 and len(shape_of(self.b.type)) == 2
        return (*("whole",) * (len(found) - 2), "parallel" if columns else "whole", found[-1])

    def expansion(self, make: Maker, *operands: Any) -> SSAValue:
        a, b, b_scale, b_zero, bias = operands
        numbers, scale, zero = make.all(DynamicQuantizeLinearOp, a, results=3)
        return self.real(make, make(MatMulIntegerOp, numbers, b, zero, b_zero), scale, b_scale, bias)


@ge_op
class QGemmOp(PureOp, Tiles, Contraction, Composed):
    """
    alpha * (a' - a_zero_point) (b' - b_zero_point) * a_scale * b_scale, with c added to the integer sums; a' is the
    transpose of a with transA, b' of b with transB. Quantised where y_scale is given.

    C1  a and b are matrices of ui8 or i8; columns of a' = rows of b'
    C2  what goes with a is one number, with b one number or one a column of b'
    C3  c is of i32 and broadcasts to the product's shape
    C4  y_scale and y_zero_point are one number each, given together

        %y = ort.qgemm %a, %sa, %za, %b, %sb, %zb, %c transB 1 : tensor<4x8xui8>, tensor<f32>, tensor<ui8>,
             tensor<2x8xi8>, tensor<f32>, tensor<i8>, tensor<2xi32> -> tensor<4x2xf32>

    Source: com.microsoft QGemm-1.
    """

    name = "ort.qgemm"
    onnx = OnnxName("QGemm", domain=MICROSOFT)
    a = operand()
    a_scale = operand()
    a_zero_point = operand()
    b = operand()
    b_scale = operand()
    b_zero_point = operand()
    c = opt_operand()
    y_scale = opt_operand()
    y_zero_point = opt_operand()
    alpha = real(1.0)
    transA = integer(0)
    transB = integer(0)
    y = result()

    def infer(self, *operands: Any) -> Info:
        a, a_scale, a_zero, b, b_scale, b_zero, c, y_scale, y_zero = operands
        if a.rank != 2 or b.rank != 2:
            fail(self, f"a and b must be matrices, got {a.type} and {b.type} (C1)")
        check_bytes(self, a, "C1")
        check_bytes(self, b, "C1")
        rows, inner = reversed(a.dims) if self.transA else a.dims
        met, columns = reversed(b.dims) if self.transB else b.dims
        if not same_dim(inner, met):
            fail(self, f"columns of a' must be rows of b', got {inner} and {met} (C1)")
        check_parameters(self, a, a_scale, a_zero, "C2")
        same_element(self, "C2", b, b_zero)
        check_vector(self, "b_scale", b_scale, columns, "C2")
        check_vector(self, "b_zero_point", b_zero, columns, "C2")
        if c is not None:
            fits = [d == 1 or same_dim(d, m) for d, m in zip(reversed(c.dims), (columns, rows), strict=False)]
            if c.element != i32 or c.rank > 2 or not all(fits):
                fail(self, f"c must be of i32 and broadcast to {[rows, columns]}, got {c.type} (C3)")
        if y_scale is None:
            if y_zero is not None:
                fail(self, "y_scale and y_zero_point must be given together (C4)")
            return Info(f32, (rows, columns))
        check_parameters(self, None, y_scale, y_zero, "C4")
        return Info(a.element if y_zero is None else y_zero.element, (rows, columns))

    def flops(self) -> int:
        return 2 * math.prod(shape_of(self.y.type)) * shape_of(self.a.type)[0 if self.transA else 1]

    def loops(self) -> tuple[str, ...]:
        return ("parallel", "parallel", "reduction")

    def operand_tiles(self, tile: Box) -> list[Box]:
        rows, columns = tile
        inner = whole(self.a)[0 if self.transA else 1]
        boxes: list[Box] = []
        for slot, value in zip(self.slots, self.by_slot(), strict=True):
            if value is None:
                continue
            match slot.name:
                case "a":
                    box = (inner, rows) if self.transA else (rows, inner)
                case "b":
                    box = (columns, inner) if self.transB else (inner, columns)
                case "c":
                    box = broadcast_box(tile, shape_of(value.type))
                case "b_scale" | "b_zero_point":
                    box = broadcast_box((columns,), shape_of(value.type))
                case _:
                    box = whole(value)
            boxes.append(box)
        return boxes

    def expansion(self, make: Maker, *operands: Any) -> SSAValue:
        a, a_scale, a_zero, b, b_scale, b_zero, c, y_scale, y_zero = operands
        left, right = (make.transpose(x, 1, 0) if turned else x for x, turned in ((a, self.transA), (b, self.transB)))
        sums = make(MatMulIntegerOp, left, right, scalar(make, a_zero), b_zero)
        sums = sums if c is None else make(AddOp, sums, c)
        scale = make(MulOp, scalar(make, a_scale) or a_scale, b_scale)
        scale = scale if self.alpha == 1 else make(MulOp, scale, make.number(self.alpha, scale))
        y = make(MulOp, make.cast(sums, f32), scale)
        return y if y_scale is None else quantised(make, y, y_scale, y_zero, a)
