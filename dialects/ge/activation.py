"""
Elementwise functions that networks use between layers: those made of straight lines, and those that are the identity
outside of training. smooth.py has the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from .core import ge_op
from .declare import OnnxName, operand, opt_integer, opt_operand, real, result, without_hints
from .dims import Dim
from .elementwise import FloatUnary, Pointwise, Unary, clipped, larger, smaller
from .errors import fail
from .info import Info, either, same_dim, same_element
from .interfaces import View


@ge_op
class ReluOp(Unary):
    """
    max(x, 0)

        %y = ge.relu %x : tensor<?x64xf32> -> tensor<?x64xf32>

    Source: ONNX Relu-14.
    """

    name = "ge.relu"
    onnx = OnnxName("Relu", since=6)
    EXACT: ClassVar[bool] = True

    def scalar(self, m: Any, *x: Any) -> Any:
        return m.maximum(x[0], 0)

    def of_dims(self, *x: Any) -> Dim:
        return larger(x[0], 0)


@ge_op
class LeakyReluOp(FloatUnary):
    """
    x, or alpha * x where x < 0.

    C1  x has floats

        %y = ge.leaky_relu %x alpha 0.1 : tensor<?x64xf32> -> tensor<?x64xf32>

    Source: ONNX LeakyRelu-16.
    """

    name = "ge.leaky_relu"
    onnx = OnnxName("LeakyRelu", since=6)
    alpha = real(0.01)

    def scalar(self, m: Any, *x: Any) -> Any:
        return m.where(x[0] < 0, x[0] * self.alpha, x[0])


@ge_op
class PReluOp(Pointwise):
    """
    x, or slope * x where x < 0.

    C1  x and slope have one element type
    C2  slope broadcasts to the shape of x

        %y = ge.prelu %x, %s : tensor<?x64x8x8xf32>, tensor<64x1x1xf32> -> tensor<?x64x8x8xf32>

    Source: ONNX PRelu-16.
    """

    name = "ge.prelu"
    onnx = OnnxName("PRelu", since=7)
    x = operand()
    slope = operand()
    y = result()

    def infer(self, *operands: Any) -> Info:
        x, slope = operands
        same_element(self, "C1", x, slope)
        dims = list(x.dims)
        first = x.rank - slope.rank
        if first < 0 or not all(d == 1 or same_dim(d, e) for d, e in zip(slope.dims, dims[first:], strict=True)):
            fail(self, f"slope must broadcast to {x.type}, got {slope.type} (C2)")
        for k, d in enumerate(slope.dims, first):
            # A dim of slope that is not 1 is that of x.
            dims[k] = either(dims[k], d) if d != 1 else dims[k]
        return x.like(dims)

    def scalar(self, m: Any, *x: Any) -> Any:
        return m.where(x[0] < 0, x[0] * x[1], x[0])


@ge_op
class ThresholdedReluOp(FloatUnary):
    """
    x where x > alpha, else 0.

    C1  x has floats

        %y = ge.thresholded_relu %x alpha 0.5 : tensor<?x64xf32> -> tensor<?x64xf32>

    Source: ONNX ThresholdedRelu-22.
    """

    name = "ge.thresholded_relu"
    onnx = OnnxName("ThresholdedRelu", since=10)
    alpha = real(1.0)

    def scalar(self, m: Any, *x: Any) -> Any:
        return m.where(x[0] > self.alpha, x[0], 0)


@ge_op
class ShrinkOp(Unary):
    """
    x + bias where x < -lambd, x - bias where x > lambd, else 0.

        %y = ge.shrink %x lambd 1.5 : tensor<?x64xf32> -> tensor<?x64xf32>

    Source: ONNX Shrink-9.
    """

    name = "ge.shrink"
    onnx = OnnxName("Shrink", since=9)
    COST: ClassVar[int] = 2
    bias = real(0.0)
    lambd = real(0.5)

    def scalar(self, m: Any, *x: Any) -> Any:
        return m.where(x[0] < -self.lambd, x[0] + self.bias, m.where(x[0] > self.lambd, x[0] - self.bias, 0))


@ge_op
class HardSigmoidOp(FloatUnary):
    """
    max(0, min(1, alpha * x + beta))

    C1  x has floats

        %y = ge.hard_sigmoid %x : tensor<?x64xf32> -> tensor<?x64xf32>

    Source: ONNX HardSigmoid-22.
    """

    name = "ge.hard_sigmoid"
    onnx = OnnxName("HardSigmoid", since=6)
    COST: ClassVar[int] = 4
    alpha = real(0.2)
    beta = real(0.5)

    def scalar(self, m: Any, *x: Any) -> Any:
        return clipped(m, x[0] * self.alpha + self.beta, 0, 1)


@ge_op
class HardSwishOp(FloatUnary):
    """
    x * max(0, min(1, x / 6 + 1 / 2))

    C1  x has floats

        %y = ge.hard_swish %x : tensor<?x64xf32> -> tensor<?x64xf32>

    Source: ONNX HardSwish-22.
    """

    name = "ge.hard_swish"
    onnx = OnnxName("HardSwish", since=14)
    COST: ClassVar[int] = 5

    def scalar(self, m: Any, *x: Any) -> Any:
        return x[0] * clipped(m, x[0] * (1 / 6) + 0.5, 0, 1)


@ge_op
class ClipOp(Pointwise):
    """
    min(max, max(min, x)); an absent bound does not bind.

    C1  x, min and max have one element type
    C2  min and max are scalars

        %y = ge.clip %x, %lo, %hi : tensor<?x64xf32>, tensor<f32>, tensor<f32> -> tensor<?x64xf32>
        %y = ge.clip %x, none, %hi : tensor<?x64xf32>, tensor<f32> -> tensor<?x64xf32>

    Source: ONNX Clip-13.
    """

    name = "ge.clip"
    onnx = OnnxName("Clip", since=6, attributes_before={11: {"min": "min", "max": "max"}})
    EXACT: ClassVar[bool] = True
    COST: ClassVar[int] = 2
    x = operand()
    min = opt_operand()
    max = opt_operand()
    y = result()

    def infer(self, *operands: Any) -> Info:
        x, low, high = operands
        same_element(self, "C1", x, low, high)
        for what, bound in (("min", low), ("max", high)):
            if bound is not None and bound.rank:
                fail(self, f"{what} must be a scalar, got {bound.type} (C2)")
        given = [i for i in operands if i is not None]
        return x.like(x.dims, self.elements_of(x.element, *given))

    def _bounded(self, at_least: Any, at_most: Any, x: tuple[Any, ...]) -> Any:
        value, bounds = x[0], list(x[1:])  # the operands that are there
        if self.min is not None:
            value = at_least(value, bounds.pop(0))
        return at_most(value, bounds.pop(0)) if self.max is not None else value

    def scalar(self, m: Any, *x: Any) -> Any:
        return self._bounded(m.maximum, m.minimum, x)

    def of_dims(self, *x: Any) -> Dim:
        return self._bounded(larger, smaller, x)


@ge_op
class IdentityOp(Unary, View):
    """
    x itself.

        %y = ge.identity %x : tensor<?x64xf32> -> tensor<?x64xf32>

    Source: ONNX Identity-25.
    """

    name = "ge.identity"
    onnx = OnnxName("Identity", since=1)
    COST: ClassVar[int] = 0

    def hands_on(self) -> bool:
        return True

    def infer(self, *operands: Any) -> Info:
        return operands[0]

    def scalar(self, m: Any, *x: Any) -> Any:
        return x[0]


@ge_op
class DropoutOp(Pointwise, View):
    """
    data itself: what dropout is outside of training. `ratio` and `seed` mean nothing then.

    C1  ratio is a scalar
    C2  training_mode is a constant and false

        %y = ge.dropout %x, %r : tensor<?x64xf32>, tensor<f32> -> tensor<?x64xf32>

    A node that may train, or that gives its mask, stays opaque.
    Source: ONNX Dropout-22.
    """

    name = "ge.dropout"
    onnx = OnnxName(
        "Dropout",
        since=7,
        attributes_before={12: {"ratio": "ratio"}},
        unsaid_before={12: ("training_mode", "seed")},
    )
    COST: ClassVar[int] = 0
    data = operand()
    ratio = opt_operand()
    training_mode = opt_operand()
    seed = opt_integer()
    output = result()

    @classmethod
    def from_older(cls, version: int, attrs: dict[str, Any], operands: Sequence[Info | None]) -> dict[str, Any] | None:
        attrs = without_hints(attrs)
        return attrs if attrs.pop("is_test", 0) == 1 else None

    def to_older(self, version: int) -> dict[str, Any] | None:
        return self.attrs() | {"is_test": 1}

    @classmethod
    def accepts(cls, attrs: dict[str, Any], operands: int, results: int) -> bool:
        del attrs, operands
        return results == 1

    def hands_on(self) -> bool:
        return True

    def infer(self, *operands: Any) -> Info:
        data, ratio, training = operands
        if ratio is not None and ratio.rank:
            fail(self, f"ratio must be a scalar, got {ratio.type} (C1)")
        if training is not None and (training.data is None or training.data.any()):
            fail(self, "training_mode must be a constant and false (C2)")
        return data

    def scalar(self, m: Any, *x: Any) -> Any:
        return x[0]
