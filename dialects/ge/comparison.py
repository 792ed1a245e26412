"""Elementwise comparisons, logic and choice: ops on or with truth values."""

from __future__ import annotations

from typing import Any, ClassVar

from xdsl.dialects.builtin import i1
from xdsl.ir import Attribute
from xdsl.irdl import traits_def
from xdsl.traits import Commutative

from .core import ge_op
from .declare import OnnxName, operand, result
from .dims import Dim, Expr, is_size, unknown
from .elementwise import Binary, Pointwise, is_positive
from .errors import fail
from .info import Info, broadcast, same_element


class Comparison(Binary):
    """
    Shared by comparisons.

    C1  a and b have one element type
    C2  their shapes broadcast
    """

    EXACT: ClassVar[bool] = True

    def result_element(self, element: Attribute) -> Attribute:
        return i1


def _truth(certain: bool, excluded: bool) -> Dim:
    return certain if certain or excluded else unknown()


@ge_op
class EqualOp(Comparison):
    """
    Whether a = b.

    C1  a and b have one element type
    C2  their shapes broadcast

        %y = ge.equal %a, %b : tensor<?x64xf32>, tensor<64xf32> -> tensor<?x64xi1>

    Source: ONNX Equal-19.
    """

    name = "ge.equal"
    onnx = OnnxName("Equal", since=7)
    traits = traits_def(Commutative())

    def scalar(self, m: Any, *x: Any) -> Any:
        return x[0] == x[1]

    def of_dims(self, *x: Any) -> Dim:
        return _truth(x[0] == x[1], is_positive(x[0] - x[1]) or is_positive(x[1] - x[0]))


@ge_op
class LessOp(Comparison):
    """
    Whether a < b.

    C1  a and b have one element type
    C2  their shapes broadcast

        %y = ge.less %a, %b : tensor<?x64xf32>, tensor<64xf32> -> tensor<?x64xi1>

    Source: ONNX Less-13.
    """

    name = "ge.less"
    onnx = OnnxName("Less", since=7)

    def scalar(self, m: Any, *x: Any) -> Any:
        return x[0] < x[1]

    def of_dims(self, *x: Any) -> Dim:
        return _truth(is_positive(x[1] - x[0]), is_size(x[0] - x[1]))


@ge_op
class LessOrEqualOp(Comparison):
    """
    Whether a <= b.

    C1  a and b have one element type
    C2  their shapes broadcast

        %y = ge.less_or_equal %a, %b : tensor<?x64xf32>, tensor<64xf32> -> tensor<?x64xi1>

    Source: ONNX LessOrEqual-16.
    """

    name = "ge.less_or_equal"
    onnx = OnnxName("LessOrEqual", since=12)

    def scalar(self, m: Any, *x: Any) -> Any:
        return x[0] <= x[1]

    def of_dims(self, *x: Any) -> Dim:
        return _truth(is_size(x[1] - x[0]), is_positive(x[0] - x[1]))


@ge_op
class GreaterOp(Comparison):
    """
    Whether a > b.

    C1  a and b have one element type
    C2  their shapes broadcast

        %y = ge.greater %a, %b : tensor<?x64xf32>, tensor<64xf32> -> tensor<?x64xi1>

    Source: ONNX Greater-13.
    """

    name = "ge.greater"
    onnx = OnnxName("Greater", since=7)

    def scalar(self, m: Any, *x: Any) -> Any:
        return x[0] > x[1]

    def of_dims(self, *x: Any) -> Dim:
        return _truth(is_positive(x[0] - x[1]), is_size(x[1] - x[0]))


@ge_op
class GreaterOrEqualOp(Comparison):
    """
    Whether a >= b.

    C1  a and b have one element type
    C2  their shapes broadcast

        %y = ge.greater_or_equal %a, %b : tensor<?x64xf32>, tensor<64xf32> -> tensor<?x64xi1>

    Source: ONNX GreaterOrEqual-16.
    """

    name = "ge.greater_or_equal"
    onnx = OnnxName("GreaterOrEqual", since=12)

    def scalar(self, m: Any, *x: Any) -> Any:
        return x[0] >= x[1]

    def of_dims(self, *x: Any) -> Dim:
        return _truth(is_size(x[0] - x[1]), is_positive(x[1] - x[0]))


class Logical(Binary):
    """
    Shared by operations on truth values.

    C1  a and b have one element type
    C2  their shapes broadcast
    C3  they have truth values
    """

    EXACT: ClassVar[bool] = True

    def check(self, element: Attribute) -> None:
        if element != i1:
            fail(self, f"operands must have truth values, got {element} (C3)")


@ge_op
class AndOp(Logical):
    """
    Whether a and b are both true.

    C1  a and b have one element type
    C2  their shapes broadcast
    C3  they have truth values

        %y = ge.and %a, %b : tensor<?x64xi1>, tensor<64xi1> -> tensor<?x64xi1>

    Source: ONNX And-7.
    """

    name = "ge.and"
    onnx = OnnxName("And", since=7)
    traits = traits_def(Commutative())

    def scalar(self, m: Any, *x: Any) -> Any:
        return m.logical_and(x[0], x[1])

    def of_dims(self, *x: Any) -> Dim:
        if any(not isinstance(v, Expr) and not v for v in x):
            return False
        return unknown() if any(isinstance(v, Expr) for v in x) else True


@ge_op
class OrOp(Logical):
    """
    Whether a or b is true, or both.

    C1  a and b have one element type
    C2  their shapes broadcast
    C3  they have truth values

        %y = ge.or %a, %b : tensor<?x64xi1>, tensor<64xi1> -> tensor<?x64xi1>

    Source: ONNX Or-7.
    """

    name = "ge.or"
    onnx = OnnxName("Or", since=7)
    traits = traits_def(Commutative())

    def scalar(self, m: Any, *x: Any) -> Any:
        return m.logical_or(x[0], x[1])

    def of_dims(self, *x: Any) -> Dim:
        if any(not isinstance(v, Expr) and v for v in x):
            return True
        return unknown() if any(isinstance(v, Expr) for v in x) else False


@ge_op
class XorOp(Logical):
    """
    Whether exactly one of a and b is true.

    C1  a and b have one element type
    C2  their shapes broadcast
    C3  they have truth values

        %y = ge.xor %a, %b : tensor<?x64xi1>, tensor<64xi1> -> tensor<?x64xi1>

    Source: ONNX Xor-7.
    """

    name = "ge.xor"
    onnx = OnnxName("Xor", since=7)
    traits = traits_def(Commutative())

    def scalar(self, m: Any, *x: Any) -> Any:
        return m.logical_xor(x[0], x[1])

    def of_dims(self, *x: Any) -> Dim:
        return unknown() if any(isinstance(v, Expr) for v in x) else x[0] != x[1]


@ge_op
class WhereOp(Pointwise):
    """
    x where condition is true, else y.

    C1  condition has truth values
    C2  x and y have one element type
    C3  all shapes broadcast

        %z = ge.where %c, %x, %y : tensor<?x64xi1>, tensor<64xf32>, tensor<f32> -> tensor<?x64xf32>

    Source: ONNX Where-16.
    """

    name = "ge.where"
    onnx = OnnxName("Where", since=9)
    EXACT: ClassVar[bool] = True
    condition = operand()
    x = operand()
    y = operand()
    z = result()

    def infer(self, *operands: Any) -> Info:
        condition, x, y = operands
        if condition.element != i1:
            fail(self, f"condition must have truth values, got {condition.type} (C1)")
        element = same_element(self, "C2", x, y)
        dims = broadcast(self, "C3", condition.dims, x.dims, y.dims)
        return Info(element, dims, self.elements_of(element, *operands))

    def scalar(self, m: Any, *x: Any) -> Any:
        return m.where(x[0], x[1], x[2])

    def of_dims(self, *x: Any) -> Dim:
        condition, a, b = x
        if isinstance(condition, Expr):
            return a if a == b else unknown()
        return a if condition else b
