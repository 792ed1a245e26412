"""Activations: elementwise, and so tiled and planned like those of ONNX."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from xdsl.ir import SSAValue

from ..ge.arithmetic import AddOp, MulOp
from ..ge.composed import Maker
from ..ge.core import ge_op
from ..ge.declare import OnnxName, operand, opt_operand, real, result
from ..ge.elementwise import FloatUnary, Pointwise, erf
from ..ge.errors import fail
from ..ge.info import Info, broadcast, same_element
from ..ge.interfaces import Composed
from ..ge.smooth import GeluOp as StandardGeluOp
from ..ge.smooth import SigmoidOp
from ..ge.types import is_float

MICROSOFT = "com.microsoft"


def _gelu(m: Any, x: Any) -> Any:
    return 0.5 * x * (1 + erf(m, x * math.sqrt(0.5)))


@ge_op
class GeluOp(FloatUnary, Composed):
    """
    x / 2 * (1 + erf(x / sqrt(2)))

    C1  x has floats

        %y = ort.gelu %x : tensor<?x64xf32> -> tensor<?x64xf32>

    Source: com.microsoft Gelu-1.
    """

    name = "ort.gelu"
    onnx = OnnxName("Gelu", domain=MICROSOFT)
    COST: ClassVar[int] = 20

    def scalar(self, m: Any, *x: Any) -> Any:
        return _gelu(m, x[0])

    def expansion(self, make: Maker, *operands: Any) -> SSAValue:
        return make(StandardGeluOp, *operands)


@ge_op
class QuickGeluOp(FloatUnary, Composed):
    """
    x / (1 + exp(-alpha * x))

    C1  x has floats

        %y = ort.quick_gelu %x : tensor<?x64xf32> -> tensor<?x64xf32>

    Source: com.microsoft QuickGelu-1.
    """

    name = "ort.quick_gelu"
    onnx = OnnxName("QuickGelu", domain=MICROSOFT)
    COST: ClassVar[int] = 14
    alpha = real(1.702)

    def scalar(self, m: Any, *x: Any) -> Any:
        return x[0] * (1 / (1 + m.exp(-self.alpha * x[0])))

    def expansion(self, make: Maker, *operands: Any) -> SSAValue:
        [x] = operands
        return make(MulOp, x, make(SigmoidOp, make(MulOp, x, make.number(self.alpha, x))))


class _Biased(Pointwise, Composed):
    """
    Shared by functions of x + bias.

    C1  x and bias have one element type, of floats
    C2  bias is a vector that broadcasts to x
    """

    def biased(self, x: Info, bias: Info | None) -> Info:
        if not is_float(same_element(self, "C1", x, bias)):
            fail(self, f"x must have floats, got {x.type} (C1)")
        if bias is None:
            return x.like(x.dims)
        if bias.rank != 1 or not x.rank:
            fail(self, f"bias must be a vector that broadcasts to {x.type}, got {bias.type} (C2)")
        return x.like((*x.dims[:-1], *broadcast(self, "C2", x.dims[-1:], bias.dims)))


@ge_op
class FastGeluOp(_Biased):
    """
    With z = x + bias: z / 2 * (1 + tanh(sqrt(2 / pi) * (z + 0.044715 * z^3))).

    C1  x and bias have one element type, of floats
    C2  bias is a vector that broadcasts to x

        %y = ort.fast_gelu %x, %b : tensor<?x64xf32>, tensor<64xf32> -> tensor<?x64xf32>

    Source: com.microsoft FastGelu-1.
    """

    name = "ort.fast_gelu"
    onnx = OnnxName("FastGelu", domain=MICROSOFT)
    COST: ClassVar[int] = 20
    x = operand()
    bias = opt_operand()
    y = result()

    def infer(self, *operands: Any) -> Info:
        return self.biased(*operands)

    def scalar(self, m: Any, *x: Any) -> Any:
        z = x[0] if self.bias is None else x[0] + x[1]
        return 0.5 * z * (1 + m.tanh(math.sqrt(2 / math.pi) * (z + 0.044715 * (z * z * z))))

    def expansion(self, make: Maker, *operands: Any) -> SSAValue:
        x, bias = operands
        return make(StandardGeluOp, x if bias is None else make(AddOp, x, bias), approximate="tanh")


@ge_op
class BiasGeluOp(_Biased):
    """
    With z = a + b: z / 2 * (1 + erf(z / sqrt(2))).

    C1  a and b have one element type, of floats
    C2  b is a vector that broadcasts to a

        %y = ort.bias_gelu %a, %b : tensor<?x64xf32>, tensor<64xf32> -> tensor<?x64xf32>

    Source: com.microsoft BiasGelu-1.
    """

    name = "ort.bias_gelu"
    onnx = OnnxName("BiasGelu", domain=MICROSOFT)
    COST: ClassVar[int] = 21
    a = operand()
    b = operand()
    c = result()

    def infer(self, *operands: Any) -> Info:
        return self.biased(*operands)

    def scalar(self, m: Any, *x: Any) -> Any:
        return _gelu(m, x[0] + x[1])

    def expansion(self, make: Maker, *operands: Any) -> SSAValue:
        return make(StandardGeluOp, make(AddOp, *operands))
