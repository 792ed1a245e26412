"""
Normalisations that have no operand but their data: what they scale by is all in their attributes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from .core import ge_op
from .declare import OnnxName, integer, ints, operand, real, result
from .errors import fail
from .info import Info, axes_of, axis_of
from .normalization import Normalization
from .types import shape_of


@ge_op
class LRNOp(Normalization):
    """
    y[n, c] = x[n, c] / (bias + alpha / size * s[n, c]) ^ beta, with s the sum of x * x over the `size` channels around
    c: from c - floor((size - 1) / 2) to c + ceil((size - 1) / 2).

    C1  x has a batch and a channel axis
    C2  size is positive

        %y = ge.lrn %x size 5 : tensor<1x96x27x27xf32> -> tensor<1x96x27x27xf32>

    Source: ONNX LRN-13.
    """

    name = "ge.lrn"
    onnx = OnnxName("LRN", since=1)
    COST: ClassVar[int] = 24
    SUMS_FIRST: ClassVar[bool] = False
    x = operand()
    alpha = real(1e-4)
    beta = real(0.75)
    bias = real(1.0)
    size = integer()
    y = result()

    def infer(self, *operands: Any) -> Info:
        x: Info = operands[0]
        if x.rank < 2:
            fail(self, f"x must have a batch and a channel axis, got {x.type} (C1)")
        if self.size < 1:
            fail(self, f"size must be positive, got {self.size} (C2)")
        return x.like(x.dims)

    def covered(self) -> Sequence[int]:
        return (1,)


@ge_op
class LpNormalizationOp(Normalization):
    """
    y = x / (sum of |x| ^ p along axis) ^ (1 / p), and zero where that sum is zero.

    C1  axis is one of input
    C2  p is 1 or 2

        %y = ge.lp_normalization %x axis 1 : tensor<?x512xf32> -> tensor<?x512xf32>

    Source: ONNX LpNormalization-22.
    """

    name = "ge.lp_normalization"
    onnx = OnnxName("LpNormalization", since=1)
    COST: ClassVar[int] = 3
    input = operand()
    axis = integer(-1)
    p = integer(2)
    output = result()

    def infer(self, *operands: Any) -> Info:
        x: Info = operands[0]
        axis_of(self, self.axis, x.rank, "C1")
        if self.p not in (1, 2):
            fail(self, f"p must be 1 or 2, got {self.p} (C2)")
        return x.like(x.dims)

    def covered(self) -> Sequence[int]:
        return (self.axis % len(shape_of(self.input.type)),)


@ge_op
class MeanVarianceNormalizationOp(Normalization):
    """
    y = (x - mean) / (sqrt(variance) + 1e-9), with mean and variance over `axes`.

    C1  axes are axes of x, each once

        %y = ge.mean_variance_normalization %x : tensor<2x8x4x4xf32> -> tensor<2x8x4x4xf32>

    Source: ONNX MeanVarianceNormalization-13.
    """

    name = "ge.mean_variance_normalization"
    onnx = OnnxName("MeanVarianceNormalization", since=9)
    x = operand()
    axes = ints((0, 2, 3))
    y = result()

    def infer(self, *operands: Any) -> Info:
        x: Info = operands[0]
        axes_of(self, self.axes, x.rank, "C1")
        return x.like(x.dims)

    def covered(self) -> Sequence[int]:
        rank = len(shape_of(self.x.type))
        return [a % rank for a in self.axes]
