"""Elementwise arithmetic of two and more operands, with ONNX's (numpy's) broadcasting."""

from __future__ import annotations

import operator
from functools import reduce
from typing import Any, ClassVar

from xdsl.irdl import traits_def
from xdsl.traits import Commutative

from .core import ge_op
from .declare import OnnxName, integer, operand, result, var_operands
from .dims import Dim, Expr, floordiv, is_size, unknown
from .elementwise import Arithmetic, Binary, Pointwise, larger, smaller
from .errors import fail
from .info import Info, broadcast, same_element
from .types import element_of, is_float, is_integer


@ge_op
class AddOp(Arithmetic):
    """
    a + b

    C1  a and b have one element type
    C2  their shapes broadcast

        %y = ge.add %a, %b : tensor<?x64xf32>, tensor<64xf32> -> tensor<?x64xf32>

    Source: ONNX Add-14.
    """

    name = "ge.add"
    onnx = OnnxName("Add", since=7)
    traits = traits_def(Commutative())

    def scalar(self, m: Any, *x: Any) -> Any:
        return x[0] + x[1]


@ge_op
class SubOp(Arithmetic):
    """
    a - b

    C1  a and b have one element type
    C2  their shapes broadcast

        %y = ge.sub %a, %b : tensor<?x64xf32>, tensor<64xf32> -> tensor<?x64xf32>

    Source: ONNX Sub-14.
    """

    name = "ge.sub"
    onnx = OnnxName("Sub", since=7)

    def scalar(self, m: Any, *x: Any) -> Any:
        return x[0] - x[1]


@ge_op
class MulOp(Arithmetic):
    """
    a * b

    C1  a and b have one element type
    C2  their shapes broadcast

        %y = ge.mul %a, %b : tensor<?x64xf32>, tensor<64xf32> -> tensor<?x64xf32>

    Source: ONNX Mul-14.
    """

    name = "ge.mul"
    onnx = OnnxName("Mul", since=7)
    traits = traits_def(Commutative())

    def scalar(self, m: Any, *x: Any) -> Any:
        return x[0] * x[1]


@ge_op
class DivOp(Binary):
    """
    a / b; of integers, rounded toward zero.

    C1  a and b have one element type
    C2  their shapes broadcast

        %y = ge.div %a, %b : tensor<?x64xf32>, tensor<64xf32> -> tensor<?x64xf32>

    Source: ONNX Div-14.
    """

    name = "ge.div"
    onnx = OnnxName("Div", since=7)
    COST: ClassVar[int] = 4
    EXACT: ClassVar[bool] = True

    def scalar(self, m: Any, *x: Any) -> Any:
        a, b = x
        element = element_of(self.a.type.element_type)
        if not is_integer(element.type):
            return a / b
        down = a // b
        if element.dtype.name.startswith("u"):
            return down
        # Rounding down and toward zero differ where there is a rest and the signs differ.
        return m.where(m.logical_and(down * b != a, (a < 0) != (b < 0)), down + 1, down)

    def of_dims(self, *x: Any) -> Dim:
        return truncated(*x)


def truncated(a: Dim, b: Dim) -> Dim:
    """a / b rounded toward zero; unknown where the signs are, or where b may be zero."""
    if isinstance(a, int) and isinstance(b, int) and b:
        return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
    return floordiv(a, b) if b != 0 and is_size(a) and is_size(b) else unknown()


@ge_op
class ModOp(Binary):
    """
    The rest of a / b, of b's sign (the quotient rounded down); with fmod, of a's sign (rounded toward zero).

    C1  a and b have one element type
    C2  their shapes broadcast
    C3  fmod is 0 or 1

        %y = ge.mod %a, %b : tensor<?x64xi64>, tensor<i64> -> tensor<?x64xi64>

    Source: ONNX Mod-28.
    """

    name = "ge.mod"
    onnx = OnnxName("Mod", since=10)
    COST: ClassVar[int] = 6
    EXACT: ClassVar[bool] = True
    fmod = integer(0)

    def check(self, element: Any) -> None:
        if self.fmod not in (0, 1):
            fail(self, f"fmod must be 0 or 1, got {self.fmod} (C3)")

    def scalar(self, m: Any, *x: Any) -> Any:
        return m.fmod(*x) if self.fmod else m.remainder(*x)

    def of_dims(self, *x: Any) -> Dim:
        a, b = x
        if b == 0:
            return unknown()
        return a - truncated(a, b) * b if self.fmod else a - floordiv(a, b) * b


@ge_op
class PowOp(Pointwise):
    """
    x to the power of y, in the type of x.

    C1  x and y have numbers
    C2  their shapes broadcast

        %z = ge.pow %x, %y : tensor<?x64xf32>, tensor<i64> -> tensor<?x64xf32>

    Source: ONNX Pow-15.
    """

    name = "ge.pow"
    onnx = OnnxName("Pow", since=7)
    COST: ClassVar[int] = 20
    x = operand()
    y = operand()
    z = result()

    def infer(self, *operands: Any) -> Info:
        x, y = operands
        for i in (x, y):
            if not is_float(i.element) and not is_integer(i.element):
                fail(self, f"operands must have numbers, got {i.type} (C1)")
        return Info(x.element, broadcast(self, "C2", x.dims, y.dims), self.elements_of(x.element, x, y))

    def scalar(self, m: Any, *x: Any) -> Any:
        return m.power(x[0], x[1])

    def of_dims(self, *x: Any) -> Dim:
        a, b = x
        if isinstance(b, Expr) or not 0 <= b <= 16:
            return unknown()
        return reduce(operator.mul, [a] * b, 1)


class Variadic(Pointwise):
    """
    Shared by functions of any number of operands.

    C1  there is an operand, and all have one element type
    C2  their shapes broadcast
    """

    data_0 = var_operands()
    y = result()

    def infer(self, *operands: Any) -> Info:
        if not operands:
            fail(self, "at least one operand must be given, got none (C1)")
        element = same_element(self, "C1", *operands)
        dims = broadcast(self, "C2", *(i.dims for i in operands))
        self.check(element)
        return Info(element, dims, self.elements_of(element, *operands))

    def check(self, element: Any) -> None:
        """The op's own constraints on the operands' element type."""
        del element

    def flops(self) -> int:
        return super().flops() * max(len(self.data_0) - 1, 1)


@ge_op
class MinOp(Variadic):
    """
    The smallest of all; not a number where one is not.

    C1  there is an operand, and all have one element type
    C2  their shapes broadcast

        %y = ge.min %a, %b : tensor<?x64xf32>, tensor<f32> -> tensor<?x64xf32>

    Source: ONNX Min-13.
    """

    name = "ge.min"
    onnx = OnnxName("Min", since=6)
    EXACT: ClassVar[bool] = True

    def scalar(self, m: Any, *x: Any) -> Any:
        return reduce(m.minimum, x)

    def of_dims(self, *x: Any) -> Dim:
        return reduce(smaller, x)


@ge_op
class MaxOp(Variadic):
    """
    The largest of all; not a number where one is not.

    C1  there is an operand, and all have one element type
    C2  their shapes broadcast

        %y = ge.max %a, %b : tensor<?x64xf32>, tensor<f32> -> tensor<?x64xf32>

    Source: ONNX Max-13.
    """

    name = "ge.max"
    onnx = OnnxName("Max", since=6)
    EXACT: ClassVar[bool] = True

    def scalar(self, m: Any, *x: Any) -> Any:
        return reduce(m.maximum, x)

    def of_dims(self, *x: Any) -> Dim:
        return reduce(larger, x)


@ge_op
class SumOp(Variadic):
    """
    The sum of all, from left to right.

    C1  there is an operand, and all have one element type
    C2  their shapes broadcast

        %y = ge.sum %a, %b, %c : tensor<?x64xf32>, tensor<64xf32>, tensor<f32> -> tensor<?x64xf32>

    Source: ONNX Sum-13.
    """

    name = "ge.sum"
    onnx = OnnxName("Sum", since=6)

    def scalar(self, m: Any, *x: Any) -> Any:
        return reduce(operator.add, x)

    def of_dims(self, *x: Any) -> Dim:
        return self.scalar(None, *x)


@ge_op
class MeanOp(Variadic):
    """
    The sum of all, from left to right, divided by their number.

    C1  there is an operand, and all have one element type
    C2  their shapes broadcast
    C3  they have floats

        %y = ge.mean %a, %b : tensor<?x64xf32>, tensor<64xf32> -> tensor<?x64xf32>

    Source: ONNX Mean-13.
    """

    name = "ge.mean"
    onnx = OnnxName("Mean", since=6)
    COST: ClassVar[int] = 2

    def check(self, element: Any) -> None:
        if not is_float(element):
            fail(self, f"operands must have floats, got {element} (C3)")

    def scalar(self, m: Any, *x: Any) -> Any:
        return reduce(operator.add, x) / len(x)
