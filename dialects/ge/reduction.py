"""
Reductions: one number for all elements along some axes.

Shape arithmetic goes through sums, products, minima and maxima of integers. Files: selection.py (arg_max, arg_min,
top_k), softmax.py (what is normed by a reduction), scan.py (running sums).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, cast

import numpy as np
from xdsl.dialects.builtin import i32, i64
from xdsl.ir import SSAValue

from .core import PureOp, ge_op, info_of, shared_attributes
from .data import Array
from .declare import OnnxName, integer, operand, opt_operand, result
from .dims import Dim, Expr, choose, product, unknown_size
from .errors import fail
from .info import Info, axes_of
from .interfaces import Box, Reduction, Tiles, whole
from .types import element_of, shape_of


@shared_attributes
class Reduce(PureOp, Tiles, Reduction):
    """
    Shared by reductions along `axes`. Without axes (or with none in them) it is all axes, or with noop_with_empty_axes
    none: then what the op does to each element before and after it combines them is still done. A reduced axis stays
    with one element, or with keepdims 0 goes.

    C1  axes is a vector of i64
    C2  axes are axes of data, each once
    """

    keepdims = integer(1)
    noop_with_empty_axes = integer(0)
    data = operand()
    axes = opt_operand()
    reduced = result()
    COMBINE: ClassVar[Callable[[list[Dim]], Dim] | None] = None
    """What shape arithmetic makes of the elements that are combined."""

    def infer(self, *operands: Any) -> Info:
        data, axes = operands
        if axes is not None and (axes.rank != 1 or axes.element != i64):
            fail(self, f"axes must be a vector of i64, got {axes.type} (C1)")
        chosen = self._chosen(data.rank, axes)
        if chosen is None:
            assert axes is not None  # all axes, or none
            return data.like(self._unknown_dims(data, axes))
        kept: list[Dim] = [1 if k in chosen else d for k, d in enumerate(data.dims)]
        dims = kept if self.keepdims else [d for k, d in enumerate(data.dims) if k not in chosen]
        return data.like(dims, self._known(data, chosen))

    def _chosen(self, rank: int, axes: Info | None) -> tuple[int, ...] | None:
        """The axes, counted from the front; None where they are not known."""
        if axes is not None and axes.dims[0] != 0:
            return None if axes.numbers is None else axes_of(self, axes.numbers, rank, "C2")
        return () if self.noop_with_empty_axes else tuple(range(rank))

    def _unknown_dims(self, data: Info, axes: Info) -> list[Dim]:
        count = axes.dims[0]
        if self.keepdims:
            return [unknown_size() for _ in range(data.rank)]
        if not isinstance(count, int):
            fail(self, "the number of axes must be known where keepdims is 0 (C1)")
        if count > data.rank:
            fail(self, f"axes must be axes of {data.type}, each once, got {count} (C2)")
        return [unknown_size() for _ in range(data.rank - count)]

    def _known(self, data: Info, axes: tuple[int, ...]) -> Array | None:
        combine = type(self).COMBINE
        if combine is None or data.data is None or data.element not in (i32, i64) or data.data.size > 64:
            return None
        objects = np.moveaxis(data.data.astype(object), axes, range(len(axes)))
        shape = objects.shape[len(axes) :]
        columns = objects.reshape(-1, *shape)
        if not len(columns) and combine not in (_sum, product):
            return None
        out = np.empty(shape, dtype=object)
        for index in np.ndindex(shape):
            out[index] = combine([x if isinstance(x, Expr) else int(x) for x in columns[(slice(None), *index)]])
        if self.keepdims:
            out = out.reshape([1 if k in axes else d for k, d in enumerate(data.data.shape)])
        bits = element_of(data.element).bits - 1
        return out if all(isinstance(x, Expr) or -(1 << bits) <= x < (1 << bits) for x in out.flat) else None

    # ------------------------------------------------------------------ tiles

    def _axes(self) -> tuple[int, ...] | None:
        rank = len(shape_of(self.data.type))
        return self._chosen(rank, None if self.axes is None else info_of(cast(SSAValue, self.axes)))

    def reduced_axes(self) -> tuple[int, ...]:
        axes = self._axes()
        return tuple(range(len(shape_of(self.data.type)))) if axes is None else axes

    def loops(self) -> tuple[str, ...]:
        axes, rank = self._axes(), len(shape_of(self.reduced.type))
        if axes is None:
            return ("whole",) * rank + ("reduction",) * len(shape_of(self.data.type))
        gone = axes if self.keepdims else ()
        return tuple("whole" if k in gone else "parallel" for k in range(rank)) + ("reduction",) * len(axes)

    def operand_tiles(self, tile: Box) -> list[Box]:
        axes, data = self._axes(), list(whole(self.data))
        if axes is not None:
            kept = [k for k in range(len(data)) if k not in axes]
            for k, box in zip(kept, [tile[k] for k in kept] if self.keepdims else tile, strict=True):
                data[k] = box
        return [tuple(data)] if self.axes is None else [tuple(data), whole(self.axes)]


def _sum(values: list[Dim]) -> Dim:
    total: Dim = 0
    for value in values:
        total = total + value
    return total


def _extreme(name: str) -> Callable[[list[Dim]], Dim]:
    def combine(values: list[Dim]) -> Dim:
        # Numbers first: of those one is left.
        found, *others = sorted(values, key=lambda v: isinstance(v, Expr))
        for value in others:
            found = choose(name, found, value)
        return found

    return combine


@ge_op
class ReduceSumOp(Reduce):
    """
    The sum of x along axes.

    C1  axes is a vector of i64
    C2  axes are axes of data, each once

        %y = ge.reduce_sum %x, %axes keepdims 0 : tensor<?x12x8xf32>, tensor<1xi64> -> tensor<?x8xf32>

    Source: ONNX ReduceSum-13.
    """

    name = "ge.reduce_sum"
    onnx = OnnxName("ReduceSum", since=1, attributes_before={13: {"axes": "axes"}})
    COMBINE: ClassVar[Callable[[list[Dim]], Dim] | None] = staticmethod(_sum)


@ge_op
class ReduceMeanOp(Reduce):
    """
    The mean of x along axes.

    C1  axes is a vector of i64
    C2  axes are axes of data, each once

        %y = ge.reduce_mean %x, %axes keepdims 0 : tensor<?x12x8xf32>, tensor<1xi64> -> tensor<?x8xf32>

    Source: ONNX ReduceMean-18.
    """

    name = "ge.reduce_mean"
    onnx = OnnxName("ReduceMean", since=1, attributes_before={18: {"axes": "axes"}})


@ge_op
class ReduceMaxOp(Reduce):
    """
    The greatest x along axes.

    C1  axes is a vector of i64
    C2  axes are axes of data, each once

        %y = ge.reduce_max %x, %axes keepdims 0 : tensor<?x12x8xf32>, tensor<1xi64> -> tensor<?x8xf32>

    Source: ONNX ReduceMax-20.
    """

    name = "ge.reduce_max"
    onnx = OnnxName("ReduceMax", since=1, attributes_before={18: {"axes": "axes"}})
    COMBINE: ClassVar[Callable[[list[Dim]], Dim] | None] = staticmethod(_extreme("max"))


@ge_op
class ReduceMinOp(Reduce):
    """
    The least x along axes.

    C1  axes is a vector of i64
    C2  axes are axes of data, each once

        %y = ge.reduce_min %x, %axes keepdims 0 : tensor<?x12x8xf32>, tensor<1xi64> -> tensor<?x8xf32>

    Source: ONNX ReduceMin-20.
    """

    name = "ge.reduce_min"
    onnx = OnnxName("ReduceMin", since=1, attributes_before={18: {"axes": "axes"}})
    COMBINE: ClassVar[Callable[[list[Dim]], Dim] | None] = staticmethod(_extreme("min"))


@ge_op
class ReduceProdOp(Reduce):
    """
    The product of x along axes.

    C1  axes is a vector of i64
    C2  axes are axes of data, each once

        %y = ge.reduce_prod %x, %axes keepdims 0 : tensor<?x12x8xf32>, tensor<1xi64> -> tensor<?x8xf32>

    Source: ONNX ReduceProd-18.
    """

    name = "ge.reduce_prod"
    onnx = OnnxName("ReduceProd", since=1, attributes_before={18: {"axes": "axes"}})
    COMBINE: ClassVar[Callable[[list[Dim]], Dim] | None] = staticmethod(product)


@ge_op
class ReduceL1Op(Reduce):
    """
    The sum of |x| along axes.

    C1  axes is a vector of i64
    C2  axes are axes of data, each once

        %y = ge.reduce_l1 %x, %axes keepdims 0 : tensor<?x12x8xf32>, tensor<1xi64> -> tensor<?x8xf32>

    Source: ONNX ReduceL1-18.
    """

    name = "ge.reduce_l1"
    onnx = OnnxName("ReduceL1", since=1, attributes_before={18: {"axes": "axes"}})


@ge_op
class ReduceL2Op(Reduce):
    """
    The square root of the sum of x * x along axes.

    C1  axes is a vector of i64
    C2  axes are axes of data, each once

        %y = ge.reduce_l2 %x, %axes keepdims 0 : tensor<?x12x8xf32>, tensor<1xi64> -> tensor<?x8xf32>

    Source: ONNX ReduceL2-18.
    """

    name = "ge.reduce_l2"
    onnx = OnnxName("ReduceL2", since=1, attributes_before={18: {"axes": "axes"}})


@ge_op
class ReduceLogSumOp(Reduce):
    """
    The logarithm of the sum of x along axes.

    C1  axes is a vector of i64
    C2  axes are axes of data, each once

        %y = ge.reduce_log_sum %x, %axes keepdims 0 : tensor<?x12x8xf32>, tensor<1xi64> -> tensor<?x8xf32>

    Source: ONNX ReduceLogSum-28.
    """

    name = "ge.reduce_log_sum"
    onnx = OnnxName("ReduceLogSum", since=1, attributes_before={18: {"axes": "axes"}})


@ge_op
class ReduceLogSumExpOp(Reduce):
    """
    The logarithm of the sum of e ^ x along axes.

    C1  axes is a vector of i64
    C2  axes are axes of data, each once

        %y = ge.reduce_log_sum_exp %x, %axes keepdims 0 : tensor<?x12x8xf32>, tensor<1xi64> -> tensor<?x8xf32>

    Source: ONNX ReduceLogSumExp-28.
    """

    name = "ge.reduce_log_sum_exp"
    onnx = OnnxName("ReduceLogSumExp", since=1, attributes_before={18: {"axes": "axes"}})


@ge_op
class ReduceSumSquareOp(Reduce):
    """
    The sum of x * x along axes.

    C1  axes is a vector of i64
    C2  axes are axes of data, each once

        %y = ge.reduce_sum_square %x, %axes keepdims 0 : tensor<?x12x8xf32>, tensor<1xi64> -> tensor<?x8xf32>

    Source: ONNX ReduceSumSquare-18.
    """

    name = "ge.reduce_sum_square"
    onnx = OnnxName("ReduceSumSquare", since=1, attributes_before={18: {"axes": "axes"}})
