"""Elementwise functions that networks use between layers, those with exponentials in them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

from xdsl.ir import SSAValue

from .arithmetic import AddOp, MulOp
from .composed import Maker
from .core import ge_op
from .declare import OnnxName, operand, real, result, text, without_hints
from .elementwise import FloatUnary, Pointwise, erf
from .errors import fail
from .info import Info, either, same_dim, same_element
from .interfaces import Composed
from .math import ErfOp
from .trigonometry import TanhOp
from .types import is_float


@ge_op
class EluOp(FloatUnary):
    """
    x, or alpha * (exp(x) - 1) where x <= 0.

    C1  x has floats

        %y = ge.elu %x alpha 2.0 : tensor<?x64xf32> -> tensor<?x64xf32>

    Source: ONNX Elu-22.
    """

    name = "ge.elu"
    onnx = OnnxName("Elu", since=6)
    COST: ClassVar[int] = 12
    alpha = real(1.0)

    def scalar(self, m: Any, *x: Any) -> Any:
        return m.where(x[0] > 0, x[0], self.alpha * m.expm1(x[0]))


SELU_BEFORE_6 = {"alpha": 1.6732, "gamma": 1.0507}
"""Its defaults had four digits."""


@ge_op
class SeluOp(FloatUnary):
    """
    gamma * x, or gamma * alpha * (exp(x) - 1) where x <= 0.

    C1  x has floats

        %y = ge.selu %x : tensor<?x64xf32> -> tensor<?x64xf32>

    Source: ONNX Selu-22 (before 6, alpha and gamma had four digits by default).
    """

    name = "ge.selu"
    onnx = OnnxName("Selu", since=6)
    COST: ClassVar[int] = 13
    alpha = real(1.6732631921768188)
    gamma = real(1.0507010221481323)

    @classmethod
    def from_older(cls, version: int, attrs: dict[str, Any], operands: Sequence[Info | None]) -> dict[str, Any] | None:
        return SELU_BEFORE_6 | without_hints(attrs)

    def to_older(self, version: int) -> dict[str, Any] | None:
        given = {"alpha": self.alpha, "gamma": self.gamma}
        return {name: value for name, value in given.items() if round(value, 6) != SELU_BEFORE_6[name]}

    def scalar(self, m: Any, *x: Any) -> Any:
        return m.where(x[0] > 0, x[0], self.alpha * m.expm1(x[0])) * self.gamma


@ge_op
class CeluOp(FloatUnary):
    """
    max(x, 0) + min(alpha * (exp(x / alpha) - 1), 0)

    C1  x has floats

        %y = ge.celu %x alpha 2.0 : tensor<?x64xf32> -> tensor<?x64xf32>

    Source: ONNX Celu-28.
    """

    name = "ge.celu"
    onnx = OnnxName("Celu", since=12)
    COST: ClassVar[int] = 15
    alpha = real(1.0)

    def scalar(self, m: Any, *x: Any) -> Any:
        return m.maximum(x[0], 0) + m.minimum(self.alpha * m.expm1(x[0] / self.alpha), 0)


@ge_op
class SigmoidOp(FloatUnary):
    """
    1 / (1 + exp(-x))

    C1  x has floats

        %y = ge.sigmoid %x : tensor<?x64xf32> -> tensor<?x64xf32>

    Source: ONNX Sigmoid-13.
    """

    name = "ge.sigmoid"
    onnx = OnnxName("Sigmoid", since=6)
    COST: ClassVar[int] = 12

    def scalar(self, m: Any, *x: Any) -> Any:
        return 1 / (1 + m.exp(-x[0]))


@ge_op
class SoftplusOp(FloatUnary):
    """
    log(exp(x) + 1)

    C1  x has floats

        %y = ge.softplus %x : tensor<?x64xf32> -> tensor<?x64xf32>

    Source: ONNX Softplus-22.
    """

    name = "ge.softplus"
    onnx = OnnxName("Softplus", since=1)
    COST: ClassVar[int] = 22

    def scalar(self, m: Any, *x: Any) -> Any:
        return _softplus(m, x[0])


def _softplus(m: Any, x: Any) -> Any:
    # The exponential of a large x would overflow.
    return m.maximum(x, 0) + m.log1p(m.exp(-m.abs(x)))


@ge_op
class SoftsignOp(FloatUnary):
    """
    x / (1 + |x|)

    C1  x has floats

        %y = ge.softsign %x : tensor<?x64xf32> -> tensor<?x64xf32>

    Source: ONNX Softsign-22.
    """

    name = "ge.softsign"
    onnx = OnnxName("Softsign", since=1)
    COST: ClassVar[int] = 6

    def scalar(self, m: Any, *x: Any) -> Any:
        return x[0] / (1 + m.abs(x[0]))


@ge_op
class MishOp(FloatUnary):
    """
    x * tanh(log(exp(x) + 1))

    C1  x has floats

        %y = ge.mish %x : tensor<?x64xf32> -> tensor<?x64xf32>

    Source: ONNX Mish-22.
    """

    name = "ge.mish"
    onnx = OnnxName("Mish", since=18)
    COST: ClassVar[int] = 35

    def scalar(self, m: Any, *x: Any) -> Any:
        return x[0] * m.tanh(_softplus(m, x[0]))


@ge_op
class GeluOp(FloatUnary, Composed):
    """
    x / 2 * (1 + erf(x / sqrt(2))); with approximate "tanh", x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))).

    C1  x has floats
    C2  approximate is none or tanh

        %y = ge.gelu %x approximate "tanh" : tensor<?x64xf32> -> tensor<?x64xf32>

    Source: ONNX Gelu-20.
    """

    name = "ge.gelu"
    onnx = OnnxName("Gelu", since=20)
    COST: ClassVar[int] = 20
    approximate = text("none")

    def check(self, x: Info) -> None:
        super().check(x)
        if self.approximate not in ("none", "tanh"):
            fail(self, f"approximate must be none or tanh, got {self.approximate} (C2)")

    def scalar(self, m: Any, *x: Any) -> Any:
        if self.approximate == "tanh":
            cube = x[0] * x[0] * x[0]
            return 0.5 * x[0] * (1 + m.tanh(math.sqrt(2 / math.pi) * (x[0] + 0.044715 * cube)))
        return 0.5 * x[0] * (1 + erf(m, x[0] * math.sqrt(0.5)))

    def expansion(self, make: Maker, *operands: Any) -> SSAValue:
        [x] = operands
        if self.approximate == "tanh":
            cube = make(MulOp, make(MulOp, x, x), x)
            inner = make(AddOp, x, make(MulOp, cube, make.number(0.044715, x)))
            bent = make(TanhOp, make(MulOp, inner, make.number(math.sqrt(2 / math.pi), x)))
        else:
            bent = make(ErfOp, make(MulOp, x, make.number(math.sqrt(0.5), x)))
        return make(MulOp, make(MulOp, x, make.number(0.5, x)), make(AddOp, bent, make.number(1, x)))


@ge_op
class SwishOp(FloatUnary):
    """
    x / (1 + exp(-alpha * x))

    C1  x has floats

        %y = ge.swish %x alpha 1.5 : tensor<?x64xf32> -> tensor<?x64xf32>

    Source: ONNX Swish-24.
    """

    name = "ge.swish"
    onnx = OnnxName("Swish", since=24)
    COST: ClassVar[int] = 14
    alpha = real(1.0)

    def scalar(self, m: Any, *x: Any) -> Any:
        return x[0] * (1 / (1 + m.exp(-self.alpha * x[0])))


@ge_op
class SwiGLUOp(Pointwise, Composed):
    """
    a / (1 + exp(-alpha * a)) * b

    C1  a and b have one element type, of floats
    C2  they have one shape

        %y = ge.swi_glu %a, %b : tensor<?x64xf32>, tensor<?x64xf32> -> tensor<?x64xf32>

    Source: ONNX SwiGLU-28.
    """

    name = "ge.swi_glu"
    onnx = OnnxName("SwiGLU", since=28)
    COST: ClassVar[int] = 15
    a = operand()
    b = operand()
    alpha = real(1.0)
    y = result()

    def infer(self, *operands: Any) -> Info:
        a, b = operands
        if not is_float(same_element(self, "C1", a, b)):
            fail(self, f"a and b must have floats, got {a.type} (C1)")
        if a.rank != b.rank or not all(map(same_dim, a.dims, b.dims)):
            fail(self, f"a and b must have one shape, got {a.type} and {b.type} (C2)")
        return a.like(tuple(map(either, a.dims, b.dims)))

    def scalar(self, m: Any, *x: Any) -> Any:
        return x[0] * (1 / (1 + m.exp(-self.alpha * x[0]))) * x[1]

    def expansion(self, make: Maker, *operands: Any) -> SSAValue:
        a, b = operands
        scaled = a if self.alpha == 1 else make(MulOp, a, make.number(self.alpha, a))
        return make(MulOp, make(MulOp, a, make(SigmoidOp, scaled)), b)
