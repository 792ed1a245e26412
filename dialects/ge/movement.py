"""Ops that move elements and compute nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.ir import Operation, SSAValue

from .core import OnnxName, PureOp, ge_op, integer, ints, operand, result
from .dims import Dim, exact_quotient, floordiv, is_size, product, unknown
from .errors import fail
from .info import Info
from .interfaces import Box, Movement, Tiles, View, on_operands
from .types import shape_of


@ge_op
class TransposeOp(PureOp, Movement, Tiles):
    """
    Reorders axes: axis k of the output is axis `perm[k]` of the input; without perm, axes are reversed.

    C1  perm is a permutation of 0 .. rank(input) - 1

        %y = ge.transpose %x perm [0, 2, 1] : tensor<?x4x8xf16> -> tensor<?x8x4xf16>

    Source: ONNX Transpose-25.
    """

    name = "ge.transpose"
    onnx = OnnxName("Transpose", since=1)
    input = operand()
    perm = ints(())
    output = result()

    @property
    def order(self) -> tuple[int, ...]:
        """perm, also where it is left to its default."""
        rank = len(shape_of(self.input.type))
        return self.perm or tuple(reversed(range(rank)))

    def infer(self, *operands: Any) -> Info:
        x: Info = operands[0]
        perm = self.perm or tuple(reversed(range(x.rank)))
        if sorted(perm) != list(range(x.rank)):
            fail(self, f"perm must be a permutation of 0..{x.rank - 1}, got {list(perm)} (C1)")
        return x.like([x.dims[k] for k in perm])

    def loops(self) -> tuple[str, ...]:
        return ("parallel",) * len(shape_of(self.output.type))

    def operand_tiles(self, tile: Box) -> list[Box]:
        box = list(tile)
        for k, axis in enumerate(self.order):
            box[axis] = tile[k]
        return [tuple(box)]

    def on_tile(self, tile: Box, operands: Sequence[SSAValue]) -> Operation:
        return on_operands(self, operands)


@ge_op
class ReshapeOp(PureOp, View):
    """
    The same elements in the same order under another shape. In `shape`, -1 stands for what is left, and 0 for the
    input's own dim (for 0 itself with allowzero).

    C1  shape is a vector of i64
    C2  at most one dim is -1
    C3  a 0 stands where the input has a dim
    C4  the numbers of elements are equal

        %y = ge.reshape %x, %s : tensor<2x3x4xf32>, tensor<2xi64> -> tensor<6x4xf32>

    Source: ONNX Reshape-25.
    """

    name = "ge.reshape"
    onnx = OnnxName("Reshape", since=5)
    data = operand()
    shape = operand()
    allowzero = integer(0)
    reshaped = result()

    def infer(self, *operands: Any) -> Info:
        x, shape = operands
        if shape.rank != 1 or str(shape.element) != "i64":
            fail(self, f"shape must be a vector of i64, got {shape.type} (C1)")
        wanted: list[Dim] | None = shape.elements
        if wanted is None:
            rank = shape.dims[0]
            if not isinstance(rank, int):
                fail(self, "the number of dims must be known (C1)")
            return x.like([unknown() for _ in range(rank)])
        return x.like(self._resolve(x, wanted), None if x.data is None else self._data(x, wanted))

    def _resolve(self, x: Info, wanted: list[Dim]) -> list[Dim]:
        # An element that may be -1 or unknown at run time is no dim yet.
        dims = [d if isinstance(d, int) or is_size(d) else unknown() for d in wanted]
        if sum(d == -1 for d in dims) > 1:
            fail(self, f"at most one dim can be -1, got {dims} (C2)")
        copied = [k for k, d in enumerate(dims) if d == 0 and not self.allowzero]
        if copied and copied[-1] >= x.rank:
            fail(self, f"dim {copied[-1]} is 0, which the input of rank {x.rank} does not have (C3)")
        for k in copied:
            dims[k] = x.dims[k]
        known = product([d for d in dims if d != -1])
        if -1 in dims:
            left = exact_quotient(x.count, known)
            if left is None and isinstance(x.count, int) and isinstance(known, int):
                fail(self, f"{x.count} elements cannot be {dims} (C4)")
            dims[dims.index(-1)] = left if left is not None else floordiv(x.count, known)
        elif isinstance(known, int) and isinstance(x.count, int) and known != x.count:
            fail(self, f"{x.count} elements cannot be {dims} (C4)")
        return dims

    def _data(self, x: Info, wanted: list[Dim]) -> Any:
        dims = self._resolve(x, wanted)
        return x.data.reshape(dims) if x.data is not None and all(isinstance(d, int) for d in dims) else None
