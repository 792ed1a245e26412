"""Trigonometric and hyperbolic functions, elementwise."""

from __future__ import annotations

from typing import Any, ClassVar

from .core import ge_op
from .declare import OnnxName
from .elementwise import FloatUnary


@ge_op
class SinOp(FloatUnary):
    """
    The sine of x, in radians.

    C1  x has floats

        %y = ge.sin %x : tensor<?x64xf32> -> tensor<?x64xf32>

    Source: ONNX Sin-22.
    """

    name = "ge.sin"
    onnx = OnnxName("Sin", since=7)
    COST: ClassVar[int] = 12

    def scalar(self, m: Any, *x: Any) -> Any:
        return m.sin(x[0])


@ge_op
class CosOp(FloatUnary):
    """
    The cosine of x, in radians.

    C1  x has floats

        %y = ge.cos %x : tensor<?x64xf32> -> tensor<?x64xf32>

    Source: ONNX Cos-22.
    """

    name = "ge.cos"
    onnx = OnnxName("Cos", since=7)
    COST: ClassVar[int] = 12

    def scalar(self, m: Any, *x: Any) -> Any:
        return m.cos(x[0])


@ge_op
class TanOp(FloatUnary):
    """
    The tangent of x, in radians.

    C1  x has floats

        %y = ge.tan %x : tensor<?x64xf32> -> tensor<?x64xf32>

    Source: ONNX Tan-22.
    """

    name = "ge.tan"
    onnx = OnnxName("Tan", since=7)
    COST: ClassVar[int] = 20

    def scalar(self, m: Any, *x: Any) -> Any:
        return m.tan(x[0])


@ge_op
class AsinOp(FloatUnary):
    """
    The angle in [-pi/2, pi/2] whose sine is x.

    C1  x has floats

        %y = ge.asin %x : tensor<?x64xf32> -> tensor<?x64xf32>

    Source: ONNX Asin-22.
    """

    name = "ge.asin"
    onnx = OnnxName("Asin", since=7)
    COST: ClassVar[int] = 20

    def scalar(self, m: Any, *x: Any) -> Any:
        return m.arcsin(x[0])


@ge_op
class AcosOp(FloatUnary):
    """
    The angle in [0, pi] whose cosine is x.

    C1  x has floats

        %y = ge.acos %x : tensor<?x64xf32> -> tensor<?x64xf32>

    Source: ONNX Acos-22.
    """

    name = "ge.acos"
    onnx = OnnxName("Acos", since=7)
    COST: ClassVar[int] = 20

    def scalar(self, m: Any, *x: Any) -> Any:
        return m.arccos(x[0])


@ge_op
class AtanOp(FloatUnary):
    """
    The angle in [-pi/2, pi/2] whose tangent is x.

    C1  x has floats

        %y = ge.atan %x : tensor<?x64xf32> -> tensor<?x64xf32>

    Source: ONNX Atan-22.
    """

    name = "ge.atan"
    onnx = OnnxName("Atan", since=7)
    COST: ClassVar[int] = 20

    def scalar(self, m: Any, *x: Any) -> Any:
        return m.arctan(x[0])


@ge_op
class SinhOp(FloatUnary):
    """
    (exp(x) - exp(-x)) / 2

    C1  x has floats

        %y = ge.sinh %x : tensor<?x64xf32> -> tensor<?x64xf32>

    Source: ONNX Sinh-22.
    """

    name = "ge.sinh"
    onnx = OnnxName("Sinh", since=9)
    COST: ClassVar[int] = 15

    def scalar(self, m: Any, *x: Any) -> Any:
        return m.sinh(x[0])


@ge_op
class CoshOp(FloatUnary):
    """
    (exp(x) + exp(-x)) / 2

    C1  x has floats

        %y = ge.cosh %x : tensor<?x64xf32> -> tensor<?x64xf32>

    Source: ONNX Cosh-22.
    """

    name = "ge.cosh"
    onnx = OnnxName("Cosh", since=9)
    COST: ClassVar[int] = 15

    def scalar(self, m: Any, *x: Any) -> Any:
        return m.cosh(x[0])


@ge_op
class TanhOp(FloatUnary):
    """
    (exp(x) - exp(-x)) / (exp(x) + exp(-x))

    C1  x has floats

        %y = ge.tanh %x : tensor<?x64xf32> -> tensor<?x64xf32>

    Source: ONNX Tanh-13.
    """

    name = "ge.tanh"
    onnx = OnnxName("Tanh", since=6)
    COST: ClassVar[int] = 12

    def scalar(self, m: Any, *x: Any) -> Any:
        return m.tanh(x[0])


@ge_op
class AsinhOp(FloatUnary):
    """
    log(x + sqrt(x^2 + 1))

    C1  x has floats

        %y = ge.asinh %x : tensor<?x64xf32> -> tensor<?x64xf32>

    Source: ONNX Asinh-22.
    """

    name = "ge.asinh"
    onnx = OnnxName("Asinh", since=9)
    COST: ClassVar[int] = 20

    def scalar(self, m: Any, *x: Any) -> Any:
        return m.arcsinh(x[0])


@ge_op
class AcoshOp(FloatUnary):
    """
    log(x + sqrt(x^2 - 1))

    C1  x has floats

        %y = ge.acosh %x : tensor<?x64xf32> -> tensor<?x64xf32>

    Source: ONNX Acosh-22.
    """

    name = "ge.acosh"
    onnx = OnnxName("Acosh", since=9)
    COST: ClassVar[int] = 20

    def scalar(self, m: Any, *x: Any) -> Any:
        return m.arccosh(x[0])


@ge_op
class AtanhOp(FloatUnary):
    """
    log((1 + x) / (1 - x)) / 2

    C1  x has floats

        %y = ge.atanh %x : tensor<?x64xf32> -> tensor<?x64xf32>

    Source: ONNX Atanh-22.
    """

    name = "ge.atanh"
    onnx = OnnxName("Atanh", since=9)
    COST: ClassVar[int] = 20

    def scalar(self, m: Any, *x: Any) -> Any:
        return m.arctanh(x[0])
