"""
Arithmetic on quantised integers: each data operand has a scale and a zero point of its own, one number each.

Values are what `decompose` writes: operands as real numbers, the operation, the result quantised. ONNX Runtime computes
some of them by tables or in integers and may be a step of the result's off.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
from xdsl.dialects.builtin import f32, i1, i8
from xdsl.ir import SSAValue

from ..ge.activation import LeakyReluOp
from ..ge.arithmetic import AddOp, MulOp
from ..ge.comparison import WhereOp
from ..ge.composed import Maker
from ..ge.core import PureOp, ge_op
from ..ge.declare import OnnxName, operand, opt_operand, real, result
from ..ge.errors import fail
from ..ge.info import Info, broadcast, info_of_type, same_element
from ..ge.interfaces import Box, Composed, Overwrites, Tiles, Work, broadcast_box
from ..ge.movement import ReshapeOp
from ..ge.quantization import UI8, DequantizeLinearOp, QuantizeLinearOp, Scaled
from ..ge.quantized import check_vector
from ..ge.smooth import SigmoidOp
from ..ge.types import shape_of
from .activation import MICROSOFT


def check_parameters(op: PureOp, x: Info | None, scale: Info, zero: Info | None, code: str) -> None:
    """A scale of f32 and a zero point of the data's type, one number each."""
    if scale.element != f32:
        fail(op, f"a scale must be of f32, got {scale.type} ({code})")
    same_element(op, code, *(i for i in (x, zero) if i is not None)) if x is not None or zero is not None else None
    check_vector(op, "a scale", scale, None, code)
    check_vector(op, "a zero point", zero, None, code)


def check_bytes(op: PureOp, info: Info, code: str) -> None:
    if info.element not in (UI8, i8):
        fail(op, f"data must be of ui8 or i8, got {info.type} ({code})")


def scalar(make: Maker, x: SSAValue | None) -> SSAValue | None:
    """One number as a scalar: what operator sets before 13 ask of a scale."""
    if x is None or not info_of_type(x.type).rank:
        return x
    return make(ReshapeOp, x, make.constant(np.empty(0, np.int64)))


def real_of(make: Maker, x: SSAValue, scale: SSAValue, zero: SSAValue | None) -> SSAValue:
    return make(DequantizeLinearOp, x, scalar(make, scale), scalar(make, zero))


def quantised(make: Maker, y: SSAValue, scale: SSAValue, zero: SSAValue | None, like: SSAValue) -> SSAValue:
    point = make.number(0, like) if zero is None else scalar(make, zero)
    return make(QuantizeLinearOp, y, scalar(make, scale), point)


@ge_op
class QuantizeOp(Scaled, Composed):
    """
    round(x / y_scale) + y_zero_point, kept within the zero point's type (ui8 without one).

    C1 to C3  as for every op with a scale

        %y = ort.quantize_linear %x, %s, %z : tensor<?x64xf32>, tensor<f32>, tensor<ui16> -> tensor<?x64xui16>

    Source: com.microsoft QuantizeLinear-1, which has 16 and 4 bits in any operator set.
    """

    name = "ort.quantize_linear"
    onnx = OnnxName("QuantizeLinear", domain=MICROSOFT)
    x = operand()
    y_scale = operand()
    y_zero_point = opt_operand()
    y = result()

    def infer(self, *operands: Any) -> Info:
        x, scale, zero = operands
        dims = self.scaled_dims(x, scale, zero)
        return Info(zero.element if zero is not None else UI8, tuple(dims))

    def expansion(self, make: Maker, *operands: Any) -> SSAValue:
        return make(QuantizeLinearOp, *operands, axis=self.axis)


@ge_op
class DequantizeOp(Scaled, Composed):
    """
    (x - x_zero_point) * x_scale

    C1 to C3  as for every op with a scale
    C4  x and the zero point have one element type

        %y = ort.dequantize_linear %x, %s, %z : tensor<?x64xui16>, tensor<f32>, tensor<ui16> -> tensor<?x64xf32>

    Source: com.microsoft DequantizeLinear-1, which has 16 and 4 bits in any operator set.
    """

    name = "ort.dequantize_linear"
    onnx = OnnxName("DequantizeLinear", domain=MICROSOFT)
    x = operand()
    x_scale = operand()
    x_zero_point = opt_operand()
    y = result()

    def folds(self) -> bool:
        return False  # engines match it with what reads it, as they do ONNX's own

    def infer(self, *operands: Any) -> Info:
        x, scale, zero = operands
        same_element(self, "C4", x, zero)
        return Info(scale.element, tuple(self.scaled_dims(x, scale, zero)))

    def expansion(self, make: Maker, *operands: Any) -> SSAValue:
        return make(DequantizeLinearOp, *operands, axis=self.axis)


# ------------------------------------------------------------------ elementwise


class _Elementwise(PureOp, Tiles, Work, Overwrites, Composed):
    """Shared by functions of one element of each data operand, which broadcast; what is one number all tiles read."""

    DATA: ClassVar[tuple[str, ...]] = ("x",)

    def loops(self) -> tuple[str, ...]:
        return ("parallel",) * len(shape_of(self.results[0].type))

    def operand_tiles(self, tile: Box) -> list[Box]:
        values = zip(self.slots, self.by_slot(), strict=True)
        return [
            broadcast_box(tile, shape_of(v.type)) if slot.name in self.DATA else tuple((0, d) for d in shape_of(v.type))
            for slot, v in values
            if v is not None
        ]

    def flops(self) -> int:
        return 8 * math.prod(shape_of(self.results[0].type))

    def overwrites(self) -> tuple[int, ...]:
        return tuple(k for k, v in enumerate(self.operands) if v.type == self.results[0].type and shape_of(v.type))


class _QLinearBinary(_Elementwise):
    """
    Shared by c = f(a, b) of quantised integers.

    C1  a and b are of ui8 or i8, both of one type; their shapes broadcast
    C2  scales are one number of f32, zero points one number of the data's type
    """

    DATA: ClassVar[tuple[str, ...]] = ("a", "b")
    FUNCTION: ClassVar[type[AddOp | MulOp]]
    a = operand()
    a_scale = operand()
    a_zero_point = opt_operand()
    b = operand()
    b_scale = operand()
    b_zero_point = opt_operand()
    c_scale = operand()
    c_zero_point = opt_operand()
    c = result()

    def infer(self, *operands: Any) -> Info:
        a, a_scale, a_zero, b, b_scale, b_zero, c_scale, c_zero = operands
        check_bytes(self, a, "C1")
        kind = same_element(self, "C1", a, b)
        for x, scale, zero in ((a, a_scale, a_zero), (b, b_scale, b_zero), (a, c_scale, c_zero)):
            check_parameters(self, x, scale, zero, "C2")
        return Info(kind, broadcast(self, "C1", a.dims, b.dims))

    def expansion(self, make: Maker, *operands: Any) -> SSAValue:
        a, a_scale, a_zero, b, b_scale, b_zero, c_scale, c_zero = operands
        y = make(self.FUNCTION, real_of(make, a, a_scale, a_zero), real_of(make, b, b_scale, b_zero))
        return quantised(make, y, c_scale, c_zero, a)


@ge_op
class QLinearAddOp(_QLinearBinary):
    """
    a + b of quantised integers.

    C1  a and b are of ui8 or i8, both of one type; their shapes broadcast
    C2  scales are one number of f32, zero points one number of the data's type

        %c = ort.qlinear_add %a, %sa, %za, %b, %sb, %zb, %sc, %zc : tensor<?x64xui8>, tensor<f32>, tensor<ui8>,
             tensor<?x64xui8>, tensor<f32>, tensor<ui8>, tensor<f32>, tensor<ui8> -> tensor<?x64xui8>

    Source: com.microsoft QLinearAdd-1.
    """

    name = "ort.qlinear_add"
    onnx = OnnxName("QLinearAdd", domain=MICROSOFT)
    FUNCTION: ClassVar[type[AddOp | MulOp]] = AddOp


@ge_op
class QLinearMulOp(_QLinearBinary):
    """
    a * b of quantised integers.

    C1  a and b are of ui8 or i8, both of one type; their shapes broadcast
    C2  scales are one number of f32, zero points one number of the data's type

        %c = ort.qlinear_mul %a, %sa, %za, %b, %sb, %zb, %sc, %zc : tensor<?x64xui8>, tensor<f32>, tensor<ui8>,
             tensor<?x64xui8>, tensor<f32>, tensor<ui8>, tensor<f32>, tensor<ui8> -> tensor<?x64xui8>

    Source: com.microsoft QLinearMul-1.
    """

    name = "ort.qlinear_mul"
    onnx = OnnxName("QLinearMul", domain=MICROSOFT)
    FUNCTION: ClassVar[type[AddOp | MulOp]] = MulOp


class _QLinearUnary(_Elementwise):
    """
    Shared by y = f(x) of quantised integers.

    C1  x is of ui8 or i8
    C2  scales are one number of f32, zero points one number of the data's type
    """

    x = operand()
    x_scale = operand()
    x_zero_point = opt_operand()
    y_scale = operand()
    y_zero_point = opt_operand()
    y = result()

    def function(self, make: Maker, x: SSAValue) -> SSAValue:
        raise NotImplementedError

    def infer(self, *operands: Any) -> Info:
        x, x_scale, x_zero, y_scale, y_zero = operands
        check_bytes(self, x, "C1")
        check_parameters(self, x, x_scale, x_zero, "C2")
        check_parameters(self, x, y_scale, y_zero, "C2")
        return x.like(x.dims)

    def expansion(self, make: Maker, *operands: Any) -> SSAValue:
        x, x_scale, x_zero, y_scale, y_zero = operands
        return quantised(make, self.function(make, real_of(make, x, x_scale, x_zero)), y_scale, y_zero, x)


@ge_op
class QLinearSigmoidOp(_QLinearUnary):
    """
    1 / (1 + exp(-x)) of quantised integers.

    C1  x is of ui8 or i8
    C2  scales are one number of f32, zero points one number of the data's type

        %y = ort.qlinear_sigmoid %x, %sx, %zx, %sy, %zy : tensor<?x64xui8>, tensor<f32>, tensor<ui8>, tensor<f32>,
             tensor<ui8> -> tensor<?x64xui8>

    Source: com.microsoft QLinearSigmoid-1.
    """

    name = "ort.qlinear_sigmoid"
    onnx = OnnxName("QLinearSigmoid", domain=MICROSOFT)

    def function(self, make: Maker, x: SSAValue) -> SSAValue:
        return make(SigmoidOp, x)


@ge_op
class QLinearLeakyReluOp(_QLinearUnary):
    """
    x, or alpha * x where x < 0, of quantised integers.

    C1  x is of ui8 or i8
    C2  scales are one number of f32, zero points one number of the data's type

        %y = ort.qlinear_leaky_relu %x, %sx, %zx, %sy, %zy alpha 0.1 : tensor<?x64xui8>, tensor<f32>, tensor<ui8>,
             tensor<f32>, tensor<ui8> -> tensor<?x64xui8>

    Source: com.microsoft QLinearLeakyRelu-1.
    """

    name = "ort.qlinear_leaky_relu"
    onnx = OnnxName("QLinearLeakyRelu", domain=MICROSOFT)
    alpha = real(0.01)

    def function(self, make: Maker, x: SSAValue) -> SSAValue:
        return make(LeakyReluOp, x, alpha=self.alpha)


@ge_op
class QLinearWhereOp(_Elementwise):
    """
    x where `condition` is true, else y, of quantised integers.

    C1  condition is of truth values, x and y are of ui8 or i8, both of one type; the shapes of all three broadcast
    C2  scales are one number of f32, zero points one number of the data's type

        %z = ort.qlinear_where %c, %x, %sx, %zx, %y, %sy, %zy, %sz, %zz : tensor<64xi1>, tensor<?x64xui8>, tensor<f32>,
             tensor<ui8>, tensor<?x64xui8>, tensor<f32>, tensor<ui8>, tensor<f32>, tensor<ui8> -> tensor<?x64xui8>

    Source: com.microsoft QLinearWhere-1.
    """

    name = "ort.qlinear_where"
    onnx = OnnxName("QLinearWhere", domain=MICROSOFT)
    DATA: ClassVar[tuple[str, ...]] = ("condition", "x", "y")
    condition = operand()
    x = operand()
    x_scale = operand()
    x_zero_point = operand()
    y = operand()
    y_scale = operand()
    y_zero_point = operand()
    z_scale = operand()
    z_zero_point = operand()
    z = result()

    def infer(self, *operands: Any) -> Info:
        condition, x, x_scale, x_zero, y, y_scale, y_zero, z_scale, z_zero = operands
        check_bytes(self, x, "C1")
        kind = same_element(self, "C1", x, y)
        if condition.element != i1:
            fail(self, f"condition must be of truth values, got {condition.type} (C1)")
        for scale, zero in ((x_scale, x_zero), (y_scale, y_zero), (z_scale, z_zero)):
            check_parameters(self, x, scale, zero, "C2")
        return Info(kind, broadcast(self, "C1", condition.dims, x.dims, y.dims))

    def expansion(self, make: Maker, *operands: Any) -> SSAValue:
        condition, x, x_scale, x_zero, y, y_scale, y_zero, z_scale, z_zero = operands
        chosen = make(WhereOp, condition, real_of(make, x, x_scale, x_zero), real_of(make, y, y_scale, y_zero))
        return quantised(make, chosen, z_scale, z_zero, x)
