"""Elementwise functions of one operand: rounding, roots, exponentials, classification; trigonometry.py has the rest."""

from __future__ import annotations

from typing import Any, ClassVar

from xdsl.dialects.builtin import i1
from xdsl.ir import Attribute

from .core import ge_op
from .declare import OnnxName, integer
from .dims import Dim, Expr, is_size, unknown
from .elementwise import FloatUnary, Unary, erf, is_positive
from .errors import fail
from .info import Info


@ge_op
class NegOp(Unary):
    """
    -x

        %y = ge.neg %x : tensor<?x64xf32> -> tensor<?x64xf32>

    Source: ONNX Neg-13.
    """

    name = "ge.neg"
    onnx = OnnxName("Neg", since=6)
    EXACT: ClassVar[bool] = True

    def scalar(self, m: Any, *x: Any) -> Any:
        return -x[0]

    def of_dims(self, *x: Any) -> Dim:
        return -x[0]


@ge_op
class AbsOp(Unary):
    """
    |x|

        %y = ge.abs %x : tensor<?x64xf32> -> tensor<?x64xf32>

    Source: ONNX Abs-13.
    """

    name = "ge.abs"
    onnx = OnnxName("Abs", since=6)
    EXACT: ClassVar[bool] = True

    def scalar(self, m: Any, *x: Any) -> Any:
        return m.abs(x[0])

    def of_dims(self, *x: Any) -> Dim:
        return x[0] if is_size(x[0]) else -x[0] if is_size(-x[0]) else unknown()


@ge_op
class SignOp(Unary):
    """
    1 where x > 0, -1 where x < 0, else x (0, or not a number)

        %y = ge.sign %x : tensor<?x64xf32> -> tensor<?x64xf32>

    Source: ONNX Sign-13.
    """

    name = "ge.sign"
    onnx = OnnxName("Sign", since=9)
    EXACT: ClassVar[bool] = True

    def scalar(self, m: Any, *x: Any) -> Any:
        return m.sign(x[0])

    def of_dims(self, *x: Any) -> Dim:
        if is_positive(x[0]) or x[0] == 0:
            return 0 if x[0] == 0 else 1
        return -1 if is_positive(-x[0]) else unknown()


@ge_op
class FloorOp(FloatUnary):
    """
    The largest integer that is not above x.

    C1  x has floats

        %y = ge.floor %x : tensor<?x64xf32> -> tensor<?x64xf32>

    Source: ONNX Floor-13.
    """

    name = "ge.floor"
    onnx = OnnxName("Floor", since=6)
    EXACT: ClassVar[bool] = True

    def scalar(self, m: Any, *x: Any) -> Any:
        return m.floor(x[0])


@ge_op
class CeilOp(FloatUnary):
    """
    The smallest integer that is not below x.

    C1  x has floats

        %y = ge.ceil %x : tensor<?x64xf32> -> tensor<?x64xf32>

    Source: ONNX Ceil-13.
    """

    name = "ge.ceil"
    onnx = OnnxName("Ceil", since=6)
    EXACT: ClassVar[bool] = True

    def scalar(self, m: Any, *x: Any) -> Any:
        return m.ceil(x[0])


@ge_op
class RoundOp(FloatUnary):
    """
    The integer nearest to x; of two, the even one.

    C1  x has floats

        %y = ge.round %x : tensor<?x64xf32> -> tensor<?x64xf32>

    Source: ONNX Round-22.
    """

    name = "ge.round"
    onnx = OnnxName("Round", since=11)
    EXACT: ClassVar[bool] = True

    def scalar(self, m: Any, *x: Any) -> Any:
        return m.rint(x[0])


@ge_op
class SqrtOp(FloatUnary):
    """
    The square root of x; not a number where x < 0.

    C1  x has floats

        %y = ge.sqrt %x : tensor<?x64xf32> -> tensor<?x64xf32>

    Source: ONNX Sqrt-13.
    """

    name = "ge.sqrt"
    onnx = OnnxName("Sqrt", since=6)
    COST: ClassVar[int] = 4
    EXACT: ClassVar[bool] = True

    def scalar(self, m: Any, *x: Any) -> Any:
        return m.sqrt(x[0])


@ge_op
class ReciprocalOp(FloatUnary):
    """
    1 / x

    C1  x has floats

        %y = ge.reciprocal %x : tensor<?x64xf32> -> tensor<?x64xf32>

    Source: ONNX Reciprocal-13.
    """

    name = "ge.reciprocal"
    onnx = OnnxName("Reciprocal", since=6)
    COST: ClassVar[int] = 4
    EXACT: ClassVar[bool] = True

    def scalar(self, m: Any, *x: Any) -> Any:
        return 1 / x[0]


@ge_op
class ExpOp(FloatUnary):
    """
    e to the power of x.

    C1  x has floats

        %y = ge.exp %x : tensor<?x64xf32> -> tensor<?x64xf32>

    Source: ONNX Exp-13.
    """

    name = "ge.exp"
    onnx = OnnxName("Exp", since=6)
    COST: ClassVar[int] = 10

    def scalar(self, m: Any, *x: Any) -> Any:
        return m.exp(x[0])


@ge_op
class LogOp(FloatUnary):
    """
    The natural logarithm of x.

    C1  x has floats

        %y = ge.log %x : tensor<?x64xf32> -> tensor<?x64xf32>

    Source: ONNX Log-13.
    """

    name = "ge.log"
    onnx = OnnxName("Log", since=6)
    COST: ClassVar[int] = 10

    def scalar(self, m: Any, *x: Any) -> Any:
        return m.log(x[0])


@ge_op
class ErfOp(Unary):
    """
    The error function: 2 / sqrt(pi) times the integral of exp(-t^2) from 0 to x.

        %y = ge.erf %x : tensor<?x64xf32> -> tensor<?x64xf32>

    Source: ONNX Erf-13.
    """

    name = "ge.erf"
    onnx = OnnxName("Erf", since=9)
    COST: ClassVar[int] = 15

    def scalar(self, m: Any, *x: Any) -> Any:
        return erf(m, x[0])


@ge_op
class NotOp(Unary):
    """
    Whether x is false.

    C1  x has truth values

        %y = ge.not %x : tensor<?x64xi1> -> tensor<?x64xi1>

    Source: ONNX Not-1.
    """

    name = "ge.not"
    onnx = OnnxName("Not", since=1)
    EXACT: ClassVar[bool] = True

    def scalar(self, m: Any, *x: Any) -> Any:
        return m.logical_not(x[0])

    def check(self, x: Info) -> None:
        if x.element != i1:
            fail(self, f"x must have truth values, got {x.type} (C1)")

    def of_dims(self, *x: Any) -> Dim:
        return unknown() if isinstance(x[0], Expr) else not x[0]


class Classification(FloatUnary):
    """Shared by questions about a float."""

    def result_element(self, element: Attribute) -> Attribute:
        return i1


@ge_op
class IsNaNOp(Classification):
    """
    Whether x is not a number.

    C1  x has floats

        %y = ge.is_nan %x : tensor<?x64xf32> -> tensor<?x64xi1>

    Source: ONNX IsNaN-20.
    """

    name = "ge.is_nan"
    onnx = OnnxName("IsNaN", since=9)

    def scalar(self, m: Any, *x: Any) -> Any:
        return m.isnan(x[0])


@ge_op
class IsInfOp(Classification):
    """
    Whether x is an infinity of a sign that is asked for.

    C1  x has floats

        %y = ge.is_inf %x detect_negative 0 : tensor<?x64xf32> -> tensor<?x64xi1>

    Source: ONNX IsInf-20.
    """

    name = "ge.is_inf"
    onnx = OnnxName("IsInf", since=10)
    COST: ClassVar[int] = 2
    detect_negative = integer(1)
    detect_positive = integer(1)

    def scalar(self, m: Any, *x: Any) -> Any:
        found = m.isinf(x[0])
        if not self.detect_negative:
            found = m.logical_and(found, x[0] > 0)
        return found if self.detect_positive else m.logical_and(found, x[0] < 0)
