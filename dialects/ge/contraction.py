"""
Matrix products of floats and integers.

Files: einsum.py (products written as an equation), quantized.py (of quantised integers), convolution.py.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from .core import PureOp, ge_op, shared_attributes
from .declare import OnnxName, Tensor, integer, operand, opt_operand, real, result
from .dims import Dim
from .errors import fail
from .info import Info, broadcast, same_dim, same_element
from .interfaces import Box, Contraction, Tiles, broadcast_box
from .types import shape_of


class MatrixProduct(PureOp, Tiles, Contraction):
    """
    Shared by y = a b, with numpy's rules: what stands before the last two axes broadcasts, a vector `a` is a row and a
    vector `b` a column, and that axis is missing in the result.

    C1  a and b have at least one axis
    C2  the last axis of a has as many elements as the axis of b that it meets
    C3  the axes before the last two broadcast
    """

    if TYPE_CHECKING:
        a: Tensor
        b: Tensor

    def product_dims(self, a: Info, b: Info) -> list[Dim]:
        """Dims of the result. Checks C1 to C3."""
        if not a.rank or not b.rank:
            fail(self, f"a and b must have axes, got {a.type} and {b.type} (C1)")
        inner = b.dims[-2] if b.rank > 1 else b.dims[0]
        if not same_dim(a.dims[-1], inner):
            fail(self, f"the axes of a and b that are summed over must agree, got {a.dims[-1]} and {inner} (C2)")
        rows = a.dims[-2:-1]
        columns = b.dims[-1:] if b.rank > 1 else ()
        return [*broadcast(self, "C3", a.dims[:-2], b.dims[:-2]), *rows, *columns]

    def loops(self) -> tuple[str, ...]:
        return ("parallel",) * len(shape_of(self.results[0].type)) + ("reduction",)

    def factors(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The shapes of a and b as they are multiplied."""
        return shape_of(self.a.type), shape_of(self.b.type)

    def factor_tiles(self, tile: Box) -> tuple[Box, Box]:
        """The boxes of a and b as they are multiplied."""
        a, b = self.factors()
        matrix = int(len(a) > 1) + int(len(b) > 1)
        batch = tile[: len(tile) - matrix]
        rows, columns = tile[len(batch) :][: len(a) > 1], tile[len(tile) :] if len(b) == 1 else tile[-1:]
        inner = ((0, a[-1]),)
        return (*broadcast_box(batch, a[:-2]), *rows, *inner), (*broadcast_box(batch, b[:-2]), *inner, *columns)

    def flops(self) -> int:
        return 2 * math.prod(shape_of(self.results[0].type)) * self.factors()[0][-1]


@ge_op
class MatMulOp(MatrixProduct):
    """
    y = a b

    C1  a and b have at least one axis
    C2  the last axis of a has as many elements as the axis of b that it meets
    C3  the axes before the last two broadcast
    C4  a and b have one element type

        %y = ge.matmul %a, %b : tensor<?x12x64x32xf32>, tensor<32x48xf32> -> tensor<?x12x64x48xf32>

    Source: ONNX MatMul-13.
    """

    name = "ge.matmul"
    onnx = OnnxName("MatMul", since=1)
    a = operand()
    b = operand()
    y = result()

    def infer(self, *operands: Any) -> Info:
        a, b = operands
        dims = self.product_dims(a, b)
        return Info(same_element(self, "C4", a, b), tuple(dims))

    def operand_tiles(self, tile: Box) -> list[Box]:
        return list(self.factor_tiles(tile))


@shared_attributes
class GeneralProduct(PureOp, Tiles, Contraction):
    """
    Shared by y = alpha * a' b' + beta * c, where a' is the transpose of a with transA and b' of b with transB; c
    broadcasts to the product's shape.

    C1  a and b are matrices
    C2  columns of a' = rows of b'
    C3  c broadcasts to the product's shape
    C4  a, b and c have one element type
    """

    a = operand()
    b = operand()
    c = opt_operand()
    alpha = real(1.0)
    beta = real(1.0)
    transA = integer(0)
    transB = integer(0)
    y = result()

    def infer(self, *operands: Any) -> Info:
        a, b, c = operands
        if a.rank != 2 or b.rank != 2:
            fail(self, f"a and b must be matrices, got {a.type} and {b.type} (C1)")
        rows, inner = reversed(a.dims) if self.transA else a.dims
        met, columns = reversed(b.dims) if self.transB else b.dims
        if not same_dim(inner, met):
            fail(self, f"columns of a' must be rows of b', got {inner} and {met} (C2)")
        dims = (rows, columns)
        if c is not None:
            self._check_addend(c, dims)
        return Info(same_element(self, "C4", a, b, c), dims)

    def _check_addend(self, c: Info, dims: tuple[Dim, Dim]) -> None:
        fits = [d == 1 or same_dim(d, m) for d, m in zip(reversed(c.dims), reversed(dims), strict=False)]
        if c.rank > 2 or not all(fits):
            fail(self, f"c must broadcast to {list(dims)}, got {c.type} (C3)")

    def loops(self) -> tuple[str, ...]:
        return ("parallel", "parallel", "reduction")

    def operand_tiles(self, tile: Box) -> list[Box]:
        rows, columns = tile
        inner = (0, shape_of(self.a.type)[0 if self.transA else 1])
        a, b = (rows, inner), (inner, columns)
        boxes: list[Box] = [a[::-1] if self.transA else a, b[::-1] if self.transB else b]
        return boxes if self.c is None else [*boxes, broadcast_box(tile, shape_of(self.c.type))]

    def flops(self) -> int:
        inner = shape_of(self.a.type)[0 if self.transA else 1]
        return math.prod(shape_of(self.y.type)) * (2 * inner + (self.c is not None))


@ge_op
class GemmOp(GeneralProduct):
    """
    y = alpha * a' b' + beta * c, where a' is the transpose of a with transA and b' of b with transB; c broadcasts to
    the product's shape.

    C1 to C4  as for every general product

        %y = ge.gemm %a, %b, %c transB 1 : tensor<?x256xf32>, tensor<10x256xf32>, tensor<10xf32> -> tensor<?x10xf32>

    Source: ONNX Gemm-13.
    """

    name = "ge.gemm"
    onnx = OnnxName("Gemm", since=7)
