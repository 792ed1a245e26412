"""Elementwise functions of one operand that networks use between layers, and the mathematical ones beside them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.ir import SSAValue

from .core import OnnxName, PureOp, ge_op, operand, real, result, shared_attributes
from .info import Info
from .interfaces import Elementwise


class Unary(PureOp, Elementwise):
    """Shared by y = f(x): the result has the operand's type."""

    x = operand()
    y = result()

    def infer(self, *operands: Any) -> Info:
        x: Info = operands[0]
        return x.like(x.dims)


@ge_op
class ReluOp(Unary):
    """
    max(x, 0)

        %y = ge.relu %x : tensor<?x64xf32> -> tensor<?x64xf32>

    Source: ONNX Relu-14.
    """

    name = "ge.relu"
    onnx = OnnxName("Relu", since=6)

    def scalar(self, m: Any, *x: Any) -> Any:
        return m.maximum(x[0], 0)
