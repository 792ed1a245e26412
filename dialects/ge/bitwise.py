"""Elementwise operations on the bits of integers."""

from __future__ import annotations

from typing import Any

from xdsl.ir import Attribute
from xdsl.irdl import traits_def
from xdsl.traits import Commutative

from .core import ge_op
from .declare import OnnxName, text
from .elementwise import Binary, Unary
from .errors import fail
from .info import Info
from .types import is_integer


class BitwiseBinary(Binary):
    """
    Shared by bitwise operations of two operands.

    C1  a and b have one element type
    C2  their shapes broadcast
    C3  they have integers
    """

    def check(self, element: Attribute) -> None:
        if not is_integer(element):
            fail(self, f"operands must have integers, got {element} (C3)")


@ge_op
class BitwiseNotOp(Unary):
    """
    Each bit of x inverted.

    C1  x has integers

        %y = ge.bitwise_not %x : tensor<?x64xi32> -> tensor<?x64xi32>

    Source: ONNX BitwiseNot-18.
    """

    name = "ge.bitwise_not"
    onnx = OnnxName("BitwiseNot", since=18)

    def check(self, x: Info) -> None:
        if not is_integer(x.element):
            fail(self, f"x must have integers, got {x.type} (C1)")

    def scalar(self, m: Any, *x: Any) -> Any:
        return m.invert(x[0])


@ge_op
class BitwiseAndOp(BitwiseBinary):
    """
    The bits that stand in both a and b.

    C1  a and b have one element type
    C2  their shapes broadcast
    C3  they have integers

        %y = ge.bitwise_and %a, %b : tensor<?x64xi32>, tensor<i32> -> tensor<?x64xi32>

    Source: ONNX BitwiseAnd-18.
    """

    name = "ge.bitwise_and"
    onnx = OnnxName("BitwiseAnd", since=18)
    traits = traits_def(Commutative())

    def scalar(self, m: Any, *x: Any) -> Any:
        return x[0] & x[1]


@ge_op
class BitwiseOrOp(BitwiseBinary):
    """
    The bits that stand in a, b or both.

    C1  a and b have one element type
    C2  their shapes broadcast
    C3  they have integers

        %y = ge.bitwise_or %a, %b : tensor<?x64xi32>, tensor<i32> -> tensor<?x64xi32>

    Source: ONNX BitwiseOr-18.
    """

    name = "ge.bitwise_or"
    onnx = OnnxName("BitwiseOr", since=18)
    traits = traits_def(Commutative())

    def scalar(self, m: Any, *x: Any) -> Any:
        return x[0] | x[1]


@ge_op
class BitwiseXorOp(BitwiseBinary):
    """
    The bits that stand in exactly one of a and b.

    C1  a and b have one element type
    C2  their shapes broadcast
    C3  they have integers

        %y = ge.bitwise_xor %a, %b : tensor<?x64xi32>, tensor<i32> -> tensor<?x64xi32>

    Source: ONNX BitwiseXor-18.
    """

    name = "ge.bitwise_xor"
    onnx = OnnxName("BitwiseXor", since=18)
    traits = traits_def(Commutative())

    def scalar(self, m: Any, *x: Any) -> Any:
        return x[0] ^ x[1]


@ge_op
class BitShiftOp(BitwiseBinary):
    """
    a shifted by b bits: zeros come in from the right, copies of the sign from the left. By less than none or by all
    bits and more: what the sign alone gives, -1 for a right shift of a negative integer, else 0.

    C1  a and b have one element type
    C2  their shapes broadcast
    C3  they have integers
    C4  direction is LEFT or RIGHT

        %y = ge.bit_shift %a, %b direction "LEFT" : tensor<?x64xui32>, tensor<ui32> -> tensor<?x64xui32>

    Source: ONNX BitShift-28.
    """

    name = "ge.bit_shift"
    onnx = OnnxName("BitShift", since=11)
    direction = text()

    def check(self, element: Attribute) -> None:
        super().check(element)
        if self.direction not in ("LEFT", "RIGHT"):
            fail(self, f"direction must be LEFT or RIGHT, got {self.direction} (C4)")

    def scalar(self, m: Any, *x: Any) -> Any:
        # numpy's shifts, unlike C's, have ONNX's meaning beyond the width too.
        return m.left_shift(*x) if self.direction == "LEFT" else m.right_shift(*x)
