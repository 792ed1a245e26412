"""Ops of shape arithmetic: what a tensor's shape is, and tensors made from a shape or from bounds."""

from __future__ import annotations

import math
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import TensorType, bf16, f16, f32, i64
from xdsl.ir import Attribute

from .core import PureOp, ge_op
from .data import Array, array_of
from .declare import OnnxName, element_type, integer, operand, opt_integer, opt_tensor, result
from .dims import Dim, Expr, ceildiv, choose, is_size, unknown_size
from .errors import fail
from .info import Info, same_element
from .interfaces import Movement
from .shapes import check_single, check_vector, moved, rank_unknown
from .types import element_of, is_element, is_float, is_integer, is_static, shape_of


@ge_op
class ShapeOp(PureOp):
    """
    The dims of the data from axis start to before end; both count from the end where negative, and are clamped.

        %s = ge.shape %x start -2 : tensor<?x8x16xf32> -> tensor<2xi64>

    Source: ONNX Shape-25.
    """

    name = "ge.shape"
    onnx = OnnxName("Shape", since=1)
    data = operand()
    start = integer(0)
    end = opt_integer()
    shape = result()

    def infer(self, *operands: Any) -> Info:
        x: Info = operands[0]
        dims = list(x.dims[self.start : self.end])
        return Info(i64, (len(dims),), _elements(dims))


@ge_op
class SizeOp(PureOp):
    """
    How many elements the data has.

        %n = ge.size %x : tensor<?x8xf32> -> tensor<i64>

    Source: ONNX Size-25.
    """

    name = "ge.size"
    onnx = OnnxName("Size", since=1)
    data = operand()
    size = result()

    def infer(self, *operands: Any) -> Info:
        x: Info = operands[0]
        return Info(i64, (), _elements([x.count]).reshape(()))


def _elements(dims: list[Dim]) -> Array:
    return np.array(dims, object if any(isinstance(d, Expr) for d in dims) else np.int64)


@ge_op
class ConstantOfShapeOp(PureOp, Movement):
    """
    A tensor of the shape that `input` lists, each element `value` (without it, 0.0 of f32).

    C1  input is a vector of i64 of known length, none negative
    C2  value has one element

        %y = ge.constant_of_shape %s value dense<1> : tensor<1xi64> : tensor<2xi64> -> tensor<?x8xi64>

    Source: ONNX ConstantOfShape-25.
    """

    name = "ge.constant_of_shape"
    onnx = OnnxName("ConstantOfShape", since=9)
    input = operand()
    value = opt_tensor()
    output = result()

    def infer(self, *operands: Any) -> Info:
        shape: Info = operands[0]
        check_vector(self, "input", shape, "C1")
        rank = shape.dims[0]
        if not isinstance(rank, int):
            rank_unknown(self, "the length of input must be known (C1)")
        dims = shape.elements if shape.elements is not None else [unknown_size() for _ in range(rank)]
        if any(isinstance(d, int) and d < 0 for d in dims):
            fail(self, f"no dim can be negative, got {dims} (C1)")
        element, fill = self.fill()
        return moved(Info(element, (), fill), dims, lambda data: np.broadcast_to(data, cast("list[int]", dims)))

    def fill(self) -> tuple[Attribute, Array]:
        """The element type, and the element as a scalar."""
        if self.value is None:
            return f32, np.zeros((), np.float32)
        data, type_ = self.value
        if not is_static(type_) or math.prod(shape_of(type_)) != 1:
            fail(self, f"value must have one element, got {type_} (C2)")
        return cast("TensorType[Attribute]", type_).element_type, array_of(data, type_, None).reshape(())


@ge_op
class RangeOp(PureOp):
    """
    start, start + delta, start + 2 * delta, ... before limit.

    C1  start, limit and delta are one number each, of one element type
    C2  delta is not 0
    C3  stash_type is 1 (f32) or 11 (f64)

        %y = ge.range %a, %b, %c : tensor<i64>, tensor<i64>, tensor<i64> -> tensor<?xi64>

    `stash_type` is the type (ONNX's number) that f16 and bf16 are computed in.
    Source: ONNX Range-27.
    """

    name = "ge.range"
    onnx = OnnxName("Range", since=11)
    start = operand()
    limit = operand()
    delta = operand()
    stash_type = integer(1)
    output = result()

    def infer(self, *operands: Any) -> Info:
        start, limit, delta = operands
        element = same_element(self, "C1", start, limit, delta)
        if not (is_integer(element) or is_float(element)):
            fail(self, f"start, limit and delta must be numbers, got {element} (C1)")
        for what, info in (("start", start), ("limit", limit), ("delta", delta)):
            check_single(self, what, info, "C1")
        if self.stash_type not in (1, 11):
            fail(self, f"stash_type must be 1 or 11, got {self.stash_type} (C3)")
        if delta.data is not None and delta.data.size and delta.data.flat[0] == 0:
            fail(self, "delta must not be 0 (C2)")
        if is_integer(element):
            return self._integers(start, limit, delta)
        if any(i.data is None for i in operands):
            return Info(element, (unknown_size(),))
        # ONNX's own arithmetic: the difference in the elements' type (halves in stash_type), the quotient in double.
        first, last, step = (i.data.reshape(()) for i in operands)
        if element in (f16, bf16):
            first, last, step = (x.astype(element_of(self.stash_type).dtype) for x in (first, last, step))
        with np.errstate(all="ignore"):
            count = float(last - first) / float(step)
        return Info(element, (max(math.ceil(count), 0) if math.isfinite(count) else unknown_size(),))

    def _integers(self, start: Info, limit: Info, delta: Info) -> Info:
        first, last, step = ((i.elements or [None])[0] for i in (start, limit, delta))
        if first is None or last is None or not isinstance(step, int):
            return Info(start.element, (unknown_size(),))
        if isinstance(first, int) and isinstance(last, int):
            taken = range(first, last, step)
            made = Info(start.element, (), np.zeros((), element_of(start.element).dtype))
            return moved(made, [len(taken)], lambda _: list(taken))
        span = last - first if step > 0 else first - last
        count = ceildiv(span if is_size(span) else choose("max", span, 0), abs(step))
        if not isinstance(count, int):
            return Info(start.element, (count,))
        made = Info(start.element, (), np.array(first, object))
        return moved(made, [count], lambda _: [first + k * step for k in range(count)])


@ge_op
class EyeLikeOp(PureOp, Movement):
    """
    1 on the k-th diagonal of a matrix of the input's shape, 0 elsewhere; of type `dtype`, or the input's.

    C1  the input is a matrix
    C2  the element type is a number or a truth value

        %y = ge.eye_like %x k 1 dtype f16 : tensor<?x8xf32> -> tensor<?x8xf16>

    Source: ONNX EyeLike-22.
    """

    name = "ge.eye_like"
    onnx = OnnxName("EyeLike", since=9)
    input = operand()
    dtype = element_type(None)
    k = integer(0)
    output = result()

    def infer(self, *operands: Any) -> Info:
        x: Info = operands[0]
        if x.rank != 2:
            fail(self, f"the input must be a matrix, got {x.type} (C1)")
        element = cast("Attribute | None", self.dtype) or x.element
        if not is_element(element) or element_of(element).dtype.kind == "O":
            fail(self, f"the element type must be a number or a truth value, got {element} (C2)")
        return Info(element, x.dims)
