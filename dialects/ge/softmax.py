"""Functions along one axis that keep its length: softmax and its kin, running sums and products."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, cast

from xdsl.dialects.builtin import i32, i64
from xdsl.ir import SSAValue

from .core import ge_op, info_of, shared_attributes
from .declare import OnnxName, integer, operand, result
from .errors import fail
from .info import Info, axis_of
from .interfaces import Box, whole
from .normalization import Normalization
from .types import shape_of


@shared_attributes
class AlongAxis(Normalization):
    """
    Shared by functions along `axis`.

    C1  axis is one of input
    """

    axis = integer(-1)
    input = operand()
    output = result()

    def infer(self, *operands: Any) -> Info:
        x: Info = operands[0]
        axis_of(self, self.axis, x.rank, "C1")
        return x.like(x.dims)

    def covered(self) -> Sequence[int]:
        return (self.axis % len(shape_of(self.input.type)),)


class OnceOverTheRest(AlongAxis):
    """
    Shared by functions that before opset 13 went over `axis` (1 by default) and all axes after it: the same along the
    last axis.
    """

    @classmethod
    def from_older(cls, version: int, attrs: dict[str, Any], operands: Sequence[Info | None]) -> dict[str, Any] | None:
        x, axis = operands[0], attrs.get("axis", 1)
        return {"axis": -1} if x is not None and axis in (-1, x.rank - 1) else None

    def to_older(self, version: int) -> dict[str, Any] | None:
        last = len(shape_of(self.input.type)) - 1
        return {"axis": last} if self.axis in (-1, last) else None


@ge_op
class SoftmaxOp(OnceOverTheRest):
    """
    y = e ^ (x - m) / (sum of e ^ (x - m) along axis), with m the greatest x along axis

    C1  axis is one of input

        %y = ge.softmax %x axis 1 : tensor<?x12x64xf32> -> tensor<?x12x64xf32>

    Source: ONNX Softmax-13 (before, it went over `axis` and all axes after it).
    """

    name = "ge.softmax"
    onnx = OnnxName("Softmax", since=13)
    COST: ClassVar[int] = 16


@ge_op
class LogSoftmaxOp(OnceOverTheRest):
    """
    y = x - m - log(sum of e ^ (x - m) along axis), with m the greatest x along axis

    C1  axis is one of input

        %y = ge.log_softmax %x : tensor<?x12x64xf32> -> tensor<?x12x64xf32>

    Source: ONNX LogSoftmax-13 (before, it went over `axis` and all axes after it).
    """

    name = "ge.log_softmax"
    onnx = OnnxName("LogSoftmax", since=13)
    COST: ClassVar[int] = 16


@ge_op
class HardmaxOp(OnceOverTheRest):
    """
    1 at the first of the greatest elements along axis, 0 elsewhere.

    C1  axis is one of input

        %y = ge.hardmax %x axis 0 : tensor<4x3xf32> -> tensor<4x3xf32>

    Source: ONNX Hardmax-13 (before, it went over `axis` and all axes after it).
    """

    name = "ge.hardmax"
    onnx = OnnxName("Hardmax", since=13)
    COST: ClassVar[int] = 2


@shared_attributes
class Scan(Normalization):
    """
    Shared by running sums and products: element i combines elements 0 .. i along the axis (with `reverse` those from i
    on), with `exclusive` without i itself.

    C1  axis is one number of i32 or i64
    C2  axis is one of x
    """

    exclusive = integer(0)
    reverse = integer(0)
    SUMS_FIRST: ClassVar[bool] = False
    COST: ClassVar[int] = 1
    x = operand()
    axis = operand()
    y = result()

    def infer(self, *operands: Any) -> Info:
        x, axis = operands
        if axis.element not in (i32, i64) or axis.rank > 1 or any(d != 1 and isinstance(d, int) for d in axis.dims):
            fail(self, f"axis must be one number of i32 or i64, got {axis.type} (C1)")
        if axis.numbers is not None:
            axis_of(self, axis.numbers[0], x.rank, "C2")
        return x.like(x.dims)

    def covered(self) -> Sequence[int]:
        rank = len(shape_of(self.x.type))
        known = info_of(cast(SSAValue, self.axis)).numbers
        return range(rank) if known is None else (known[0] % rank,)

    def operand_tiles(self, tile: Box) -> list[Box]:
        return [tile, whole(self.axis)]


@ge_op
class CumSumOp(Scan):
    """
    Running sums along an axis: element i is the sum of elements 0 .. i, with `exclusive` without i itself; with
    `reverse` it runs from the end.

    C1  axis is one number of i32 or i64
    C2  axis is one of x

        %y = ge.cum_sum %x, %axis reverse 1 : tensor<4x8xf32>, tensor<i64> -> tensor<4x8xf32>

    Source: ONNX CumSum-14.
    """

    name = "ge.cum_sum"
    onnx = OnnxName("CumSum", since=11)


@ge_op
class CumProdOp(Scan):
    """
    Running products along an axis: element i is the product of elements 0 .. i, with `exclusive` without i itself; with
    `reverse` it runs from the end.

    C1  axis is one number of i32 or i64
    C2  axis is one of x

        %y = ge.cum_prod %x, %axis : tensor<4x8xf32>, tensor<i64> -> tensor<4x8xf32>

    Source: ONNX CumProd-26.
    """

    name = "ge.cum_prod"
    onnx = OnnxName("CumProd", since=26)
