"""
Products of quantised integers: y_q = round(y / y_scale) + y_zero_point of products of (x_q - x_zero_point) * x_scale.

The `integer` ops stop at the sums, in i32; the `qlinear` ones bring them back to the width of their operands. A scale
or zero point is one number for a tensor, or one for a row of `a`, a column of `b`, an output channel of `w`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from xdsl.dialects.builtin import i32
from xdsl.ir import SSAValue

from .contraction import MatrixProduct
from .convolution import Convolution
from .core import PureOp, ge_op
from .declare import OnnxName, operand, opt_operand, result
from .dims import Dim
from .errors import fail
from .info import Info, same_dim, same_element
from .interfaces import Box, broadcast_box, whole
from .types import shape_of


def is_one(shape: Sequence[Dim]) -> bool:
    """Whether a scale or zero point of this shape is one number for the whole tensor."""
    return all(d == 1 for d in shape)


def check_vector(op: PureOp, what: str, info: Info | None, count: Dim | None, code: str) -> None:
    """A scale or zero point is one number, or with `count` a vector of so many."""
    if info is None or (is_one(info.dims) and info.rank < 2):
        return
    if info.rank != 1 or count is None or not same_dim(info.dims[0], count):
        also = "" if count is None else f" or a vector of {count}"
        fail(op, f"{what} must be one number{also}, got {info.type} ({code})")


# ------------------------------------------------------------------ convolution


@ge_op
class ConvIntegerOp(Convolution):
    """
    The convolution of x - x_zero_point and w - w_zero_point, in i32; padding is x_zero_point.

    C1 to C5  as for every window; the kernel's shape is w's
    C6  w has x's rank; channels of x = group * dim 1 of w; output channels are a multiple of group
    C7  a zero point has the element type of its data
    C8  x_zero_point is one number, w_zero_point one number or one an output channel

        %y = ge.conv_integer %x, %w, %zx : tensor<1x3x8x8xui8>, tensor<4x3x3x3xui8>, tensor<ui8> -> tensor<1x4x6x6xi32>

    Source: ONNX ConvInteger-10.
    """

    name = "ge.conv_integer"
    onnx = OnnxName("ConvInteger", since=10, implied=("kernel_shape",))
    PER_CHANNEL: ClassVar[tuple[str, ...]] = ("w_zero_point",)
    x = operand()
    w = operand()
    x_zero_point = opt_operand()
    w_zero_point = opt_operand()
    y = result()

    def infer(self, *operands: Any) -> Info:
        x, w, x_zero, w_zero = operands
        dims = self.convolved(x, w)
        same_element(self, "C7", x, x_zero)
        same_element(self, "C7", w, w_zero)
        check_vector(self, "x_zero_point", x_zero, None, "C8")
        check_vector(self, "w_zero_point", w_zero, w.dims[0], "C8")
        return Info(i32, self.to_physical(dims))


@ge_op
class QLinearConvOp(Convolution):
    """
    The convolution of (x - x_zero_point) * x_scale and (w - w_zero_point) * w_scale, plus b * x_scale * w_scale,
    quantised with y_scale and y_zero_point.

    C1 to C5  as for every window; the kernel's shape is w's
    C6  w has x's rank; channels of x = group * dim 1 of w; output channels are a multiple of group
    C7  a zero point has the element type of its data; scales have one element type; b is of i32
    C8  w_scale and w_zero_point are one number or one an output channel, the others one number
    C9  b is a vector of output channels

        %y = ge.qlinear_conv %x, %sx, %zx, %w, %sw, %zw, %sy, %zy
               : tensor<1x3x8x8xui8>, tensor<f32>, tensor<ui8>, tensor<4x3x3x3xi8>, tensor<4xf32>, tensor<4xi8>,
                 tensor<f32>, tensor<ui8> -> tensor<1x4x6x6xui8>

    Source: ONNX QLinearConv-10.
    """

    name = "ge.qlinear_conv"
    onnx = OnnxName("QLinearConv", since=10, implied=("kernel_shape",))
    PER_CHANNEL: ClassVar[tuple[str, ...]] = ("w_scale", "w_zero_point", "b")
    x = operand()
    x_scale = operand()
    x_zero_point = operand()
    w = operand()
    w_scale = operand()
    w_zero_point = operand()
    y_scale = operand()
    y_zero_point = operand()
    b = opt_operand()
    y = result()

    def infer(self, *operands: Any) -> Info:
        x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero, b = operands
        dims = self.convolved(x, w)
        same_element(self, "C7", x, x_zero)
        same_element(self, "C7", w, w_zero)
        same_element(self, "C7", x_scale, w_scale, y_scale)
        if b is not None and b.element != i32:
            fail(self, f"b must be of i32, got {b.type} (C7)")
        single = {"x_scale": x_scale, "x_zero_point": x_zero, "y_scale": y_scale, "y_zero_point": y_zero}
        for what, info in single.items():
            check_vector(self, what, info, None, "C8")
        check_vector(self, "w_scale", w_scale, w.dims[0], "C8")
        check_vector(self, "w_zero_point", w_zero, w.dims[0], "C8")
        if b is not None and (b.rank != 1 or not same_dim(b.dims[0], w.dims[0])):
            fail(self, f"b must be a vector of {w.dims[0]} elements, got {b.type} (C9)")
        return Info(y_zero.element, self.to_physical(dims))


# ------------------------------------------------------------------ matrices


class QuantizedProduct(MatrixProduct):
    """
    Shared by matrix products of quantised integers.

    C1 to C3  as for every matrix product
    """

    BY_ROW: ClassVar[tuple[str, ...]] = ()
    """Scales and zero points of `a`: one number or one a row."""
    BY_COLUMN: ClassVar[tuple[str, ...]] = ()
    """Those of `b`: one number or one a column."""

    def check_rows(self, what: str, info: Info | None, a: Info, code: str) -> None:
        """One number, a vector of as many as a has rows, or a's shape with one column."""
        self._check_parameter(what, info, a, -2, code)

    def check_columns(self, what: str, info: Info | None, b: Info, code: str) -> None:
        self._check_parameter(what, info, b, -1, code)

    def _check_parameter(self, what: str, info: Info | None, of: Info, axis: int, code: str) -> None:
        if info is None or is_one(info.dims):
            return
        count = of.dims[axis] if of.rank > 1 else None
        full = list(of.dims)
        full[-1 if axis == -2 else -2 if of.rank > 1 else -1] = 1
        vector = info.rank == 1 and count is not None and same_dim(info.dims[0], count)
        matrix = info.rank == of.rank and all(map(same_dim, info.dims, full))
        if not vector and not matrix:
            fail(self, f"{what} must be one number, a vector of {count} or of shape {full}, got {info.type} ({code})")

    def operand_tiles(self, tile: Box) -> list[Box]:
        a, b = self.factor_tiles(tile)
        boxes: list[Box] = []
        for slot, value in zip(self.slots, self.by_slot(), strict=True):
            if value is None:
                continue
            if slot.name in ("a", "b"):
                boxes.append(a if slot.name == "a" else b)
            elif slot.name in self.BY_ROW:
                boxes.append(self._parameter(value, a, -2))
            else:
                boxes.append(self._parameter(value, b, -1) if slot.name in self.BY_COLUMN else whole(value))
        return boxes

    @staticmethod
    def _parameter(value: SSAValue, factor: Box, axis: int) -> Box:
        shape = shape_of(value.type)
        if is_one(shape):
            return whole(value)
        return (factor[axis],) if len(shape) == 1 else broadcast_box(factor, shape)


@ge_op
class MatMulIntegerOp(QuantizedProduct):
    """
    The matrix product of a - a_zero_point and b - b_zero_point, in i32.

    C1 to C3  as for every matrix product
    C4  a zero point has the element type of its data
    C5  a_zero_point is one number or one a row of a, b_zero_point one number or one a column of b

        %y = ge.matmul_integer %a, %b, %za : tensor<4x8xui8>, tensor<8x2xi8>, tensor<ui8> -> tensor<4x2xi32>

    Source: ONNX MatMulInteger-10.
    """

    name = "ge.matmul_integer"
    onnx = OnnxName("MatMulInteger", since=10)
    BY_ROW: ClassVar[tuple[str, ...]] = ("a_zero_point",)
    BY_COLUMN: ClassVar[tuple[str, ...]] = ("b_zero_point",)
    a = operand()
    b = operand()
    a_zero_point = opt_operand()
    b_zero_point = opt_operand()
    y = result()

    def infer(self, *operands: Any) -> Info:
        a, b, a_zero, b_zero = operands
        dims = self.product_dims(a, b)
        same_element(self, "C4", a, a_zero)
        same_element(self, "C4", b, b_zero)
        self.check_rows("a_zero_point", a_zero, a, "C5")
        self.check_columns("b_zero_point", b_zero, b, "C5")
        return Info(i32, tuple(dims))


@ge_op
class QLinearMatMulOp(QuantizedProduct):
    """
    The matrix product of (a - a_zero_point) * a_scale and (b - b_zero_point) * b_scale, quantised with y_scale and
    y_zero_point.

    C1 to C3  as for every matrix product
    C4  a zero point has the element type of its data; scales have one element type
    C5  scale and zero point of a are one number or one a row, of b one number or one a column

        %y = ge.qlinear_matmul %a, %sa, %za, %b, %sb, %zb, %sy, %zy
               : tensor<4x8xui8>, tensor<f32>, tensor<ui8>, tensor<8x2xi8>, tensor<2xf32>, tensor<2xi8>, tensor<f32>,
                 tensor<ui8> -> tensor<4x2xui8>

    Source: ONNX QLinearMatMul-21.
    """

    name = "ge.qlinear_matmul"
    onnx = OnnxName("QLinearMatMul", since=10)
    BY_ROW: ClassVar[tuple[str, ...]] = ("a_scale", "a_zero_point")
    BY_COLUMN: ClassVar[tuple[str, ...]] = ("b_scale", "b_zero_point")
    a = operand()
    a_scale = operand()
    a_zero_point = operand()
    b = operand()
    b_scale = operand()
    b_zero_point = operand()
    y_scale = operand()
    y_zero_point = operand()
    y = result()

    def infer(self, *operands: Any) -> Info:
        a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero = operands
        dims = self.product_dims(a, b)
        same_element(self, "C4", a, a_zero)
        same_element(self, "C4", b, b_zero)
        same_element(self, "C4", a_scale, b_scale, y_scale)
        self.check_rows("a_scale", a_scale, a, "C5")
        self.check_rows("a_zero_point", a_zero, a, "C5")
        self.check_columns("b_scale", b_scale, b, "C5")
        self.check_columns("b_zero_point", b_zero, b, "C5")
        return Info(y_zero.element, tuple(dims))

    def loops(self) -> tuple[str, ...]:
        found = super().loops()
        one = is_one(shape_of(self.y_scale.type)) and is_one(shape_of(self.y_zero_point.type))
        # ONNX leaves open which axis a y_scale of several numbers goes with.
        return found if one else ("whole",) * (len(found) - 1) + ("reduction",)
