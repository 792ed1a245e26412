"""Elementwise arithmetic of two operands, with ONNX's (numpy's) broadcasting."""

from __future__ import annotations

from typing import Any

from .core import OnnxName, PureOp, ge_op, operand, result
from .info import Info, broadcast, same_element, shape_arithmetic
from .interfaces import Elementwise


class Binary(PureOp, Elementwise):
    """
    Shared by y = f(a, b).

    C1  a and b have one element type
    C2  their shapes broadcast
    """

    a = operand()
    b = operand()
    y = result()

    def infer(self, *operands: Any) -> Info:
        a, b = operands
        element = self.result_element(same_element(self, "C1", a, b))
        return Info(element, broadcast(self, "C2", a.dims, b.dims), self.elements_of(a, b))

    def result_element(self, element: Any) -> Any:
        """The result's element type from the operands'."""
        return element

    def elements_of(self, a: Info, b: Info) -> Any:
        """Elements of the result where shape arithmetic knows the operands'."""
        del a, b
        return None


class Arithmetic(Binary):
    """A binary op that shape arithmetic goes through: integers of known elements give known elements."""

    def elements_of(self, a: Info, b: Info) -> Any:
        return shape_arithmetic(a, b, lambda x, y: self.scalar(None, x, y))


@ge_op
class AddOp(Arithmetic):
    """
    a + b

        %y = ge.add %a, %b : tensor<?x64xf32>, tensor<64xf32> -> tensor<?x64xf32>

    Source: ONNX Add-14.
    """

    name = "ge.add"
    onnx = OnnxName("Add", since=7)

    def scalar(self, m: Any, *x: Any) -> Any:
        return x[0] + x[1]
