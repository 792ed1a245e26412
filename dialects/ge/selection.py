"""Where the greatest and least elements along an axis are."""

from __future__ import annotations

import math
from typing import Any

from xdsl.dialects.builtin import i64

from .core import PureOp, ge_op, shared_attributes
from .declare import OnnxName, integer, operand, result
from .dims import Dim, is_size, unknown_size
from .errors import fail
from .info import Info, axis_of
from .interfaces import Box, Reduction, Tiles, Work, whole
from .types import shape_of


@shared_attributes
class ArgExtreme(PureOp, Tiles, Reduction):
    """
    Shared by arg_max and arg_min: the index along `axis` of the greatest (least) element, of several the first, or with
    select_last_index the last. The axis stays with one element, or with keepdims 0 goes.

    C1  axis is one of data
    """

    axis = integer(0)
    keepdims = integer(1)
    select_last_index = integer(0)
    data = operand()
    reduced = result()

    def infer(self, *operands: Any) -> Info:
        data: Info = operands[0]
        axis = axis_of(self, self.axis, data.rank, "C1")
        kept: tuple[Dim, ...] = (1,) if self.keepdims else ()
        return Info(i64, (*data.dims[:axis], *kept, *data.dims[axis + 1 :]))

    def reduced_axes(self) -> tuple[int, ...]:
        return (self.axis % len(shape_of(self.data.type)),)

    def loops(self) -> tuple[str, ...]:
        gone = self.reduced_axes() if self.keepdims else ()
        rank = len(shape_of(self.reduced.type))
        return (*("whole" if k in gone else "parallel" for k in range(rank)), "reduction")

    def operand_tiles(self, tile: Box) -> list[Box]:
        (axis,) = self.reduced_axes()
        return [(*tile[:axis], whole(self.data)[axis], *tile[axis + bool(self.keepdims) :])]


@ge_op
class ArgMaxOp(ArgExtreme):
    """
    The index along `axis` of the greatest element: of several the first, or with select_last_index the last.

    C1  axis is one of data

        %y = ge.arg_max %x axis 1 keepdims 0 : tensor<?x1000xf32> -> tensor<?xi64>

    Source: ONNX ArgMax-13.
    """

    name = "ge.arg_max"
    onnx = OnnxName("ArgMax", since=1)


@ge_op
class ArgMinOp(ArgExtreme):
    """
    The index along `axis` of the least element: of several the first, or with select_last_index the last.

    C1  axis is one of data

        %y = ge.arg_min %x axis 1 keepdims 0 : tensor<?x1000xf32> -> tensor<?xi64>

    Source: ONNX ArgMin-13.
    """

    name = "ge.arg_min"
    onnx = OnnxName("ArgMin", since=1)


@ge_op
class TopKOp(PureOp, Tiles, Work):
    """
    The k greatest (with largest 0, least) elements along `axis` and their indices there, in order with sorted 1; of
    equal ones that with the lower index comes first.

    C1  k is one number of i64
    C2  axis is one of x
    C3  k is at most the number of elements along axis

        %v, %i = ge.top_k %x, %k : tensor<?x1000xf32>, tensor<1xi64> -> tensor<?x5xf32>, tensor<?x5xi64>

    Source: ONNX TopK-24.
    """

    name = "ge.top_k"
    onnx = OnnxName("TopK", since=1, attributes_before={10: {"k": "k"}})
    x = operand()
    k = operand()
    axis = integer(-1)
    largest = integer(1)
    sorted = integer(1)
    values = result()
    indices = result()

    def infer(self, *operands: Any) -> list[Info]:
        x, k = operands
        if k.element != i64 or k.rank > 1 or any(d != 1 and isinstance(d, int) for d in k.dims):
            fail(self, f"k must be one number of i64, got {k.type} (C1)")
        axis = axis_of(self, self.axis, x.rank, "C2")
        wanted = k.elements[0] if k.elements is not None else unknown_size()
        if isinstance(wanted, int):
            size = x.dims[axis]
            if wanted < 0 or (isinstance(size, int) and wanted > size):
                fail(self, f"k must be at most the {size} elements along axis {axis}, got {wanted} (C3)")
        elif not is_size(wanted):
            wanted = unknown_size()
        dims = (*x.dims[:axis], wanted, *x.dims[axis + 1 :])
        return [x.like(dims), Info(i64, dims)]

    def _axis(self) -> int:
        return self.axis % len(shape_of(self.x.type))

    def loops(self) -> tuple[str, ...]:
        return tuple("whole" if k == self._axis() else "parallel" for k in range(len(shape_of(self.x.type))))

    def operand_tiles(self, tile: Box) -> list[Box]:
        box = list(tile)
        box[self._axis()] = whole(self.x)[self._axis()]
        return [tuple(box), whole(self.k)]

    def flops(self) -> int:
        # A comparison for each element and level of a heap of k.
        shape = shape_of(self.values.type)
        return math.prod(shape_of(self.x.type)) * max(1, shape[self._axis()].bit_length())
