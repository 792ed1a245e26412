"""
Ops that move elements and compute nothing: the order of axes, and views (the same bytes under another shape).

Slices and joins are in slicing.py, other rearrangements in rearrange.py, movement by index in gather.py.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.ir import Operation, SSAValue

from .core import PureOp, ge_op
from .declare import OnnxName, integer, ints, operand, opt_operand, result
from .dims import Dim, exact_quotient, floordiv, is_size, product, unknown_size
from .errors import fail
from .info import Info, axes_of
from .interfaces import Box, Movement, Tiles, View, box_shape, on_operands
from .shapes import check_vector, first_cut, moved, numbers_in, rank_unknown, vector
from .types import is_static, shape_of


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
        return moved(x, [x.dims[k] for k in perm], lambda data: data.transpose(perm))

    def keeps_order(self) -> bool:
        shape = shape_of(self.input.type)
        long = [k for k in self.order if shape[k] != 1]
        return long == sorted(long)

    def reorders(self) -> tuple[int, ...]:
        return self.order

    def loops(self) -> tuple[str, ...]:
        return ("parallel",) * len(shape_of(self.output.type))

    def operand_tiles(self, tile: Box) -> list[Box]:
        box = list(tile)
        for k, axis in enumerate(self.order):
            box[axis] = tile[k]
        return [tuple(box)]


class Viewed(PureOp, View, Tiles):
    """
    Shared by views. A view tiles along those axes of the result that are an axis of the input, with as many elements
    before it: `axis_of_input` says which, None where a tile must cover the axis.
    """

    def axes_of_input(self) -> list[int | None]:
        raise NotImplementedError

    def loops(self) -> tuple[str, ...]:
        return tuple("whole" if axis is None else "parallel" for axis in self.axes_of_input())

    def operand_tiles(self, tile: Box) -> list[Box]:
        box = [(0, d) for d in shape_of(self.operands[0].type)]
        for axis, cut in zip(self.axes_of_input(), tile, strict=True):
            if axis is not None:
                box[axis] = cut
        return first_cut(self, tuple(box))


@ge_op
class ReshapeOp(Viewed):
    """
    The same elements in the same order under another shape. In `shape`, -1 stands for what is left, and 0 for the
    input's own dim (for 0 itself with allowzero).

    C1  shape is a vector of i64 of known length
    C2  no dim is less than -1, and at most one is -1
    C3  a 0 stands where the input has a dim
    C4  the numbers of elements are equal

        %y = ge.reshape %x, %s : tensor<2x3x4xf32>, tensor<2xi64> -> tensor<6x4xf32>

    Tiles along an axis that the input has too, with as many elements before it.
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
        check_vector(self, "shape", shape, "C1")
        wanted: list[Dim] | None = shape.elements
        if wanted is None:
            rank = shape.dims[0]
            if not isinstance(rank, int):
                rank_unknown(self, "the length of shape must be known (C1)")
            # One dim of which nothing is known is what -1 would be.
            return x.like([x.count] if rank == 1 else [unknown_size() for _ in range(rank)])
        return moved(x, self._resolve(x, wanted))

    def _resolve(self, x: Info, wanted: list[Dim]) -> list[Dim]:
        numbers = [d for d in wanted if isinstance(d, int)]
        if any(d < -1 for d in numbers) or numbers.count(-1) > 1:
            fail(self, f"no dim can be less than -1, and at most one -1, got {wanted} (C2)")
        dims = list(wanted)
        for k, d in enumerate(wanted):
            if d == 0 and not self.allowzero:
                if k >= x.rank:
                    fail(self, f"dim {k} is 0, which the input of rank {x.rank} does not have (C3)")
                dims[k] = x.dims[k]
        # What may turn out to be -1 is no dim yet; a single one is what the others leave, as -1 itself.
        rest = [k for k, d in enumerate(wanted) if d == -1 or not (isinstance(d, int) or is_size(d))]
        known = product([d for k, d in enumerate(dims) if k not in rest])
        left = exact_quotient(x.count, known)
        if not rest or (known == 0 and -1 in wanted):
            if isinstance(known, int) and isinstance(x.count, int) and (rest or known != x.count):
                fail(self, f"{x.count} elements cannot be {dims} (C4)")
        elif isinstance(x.count, int) and isinstance(known, int) and left is None:
            fail(self, f"{x.count} elements cannot be {dims} (C4)")
        for k in rest:
            dims[k] = unknown_size()
        if len(rest) == 1 and known != 0:
            dims[rest[0]] = left if left is not None else floordiv(x.count, known)
        return dims

    def axes_of_input(self) -> list[int | None]:
        ins, outs = shape_of(self.data.type), shape_of(self.reshaped.type)
        if not is_static(self.data.type) or not is_static(self.reshaped.type) or 0 in ins:
            return [None] * len(outs)
        before = {math.prod(ins[:j]): j for j in range(len(ins)) if ins[j] != 1}
        found = [before.get(math.prod(outs[:k])) for k in range(len(outs))]
        return [None if j is None or ins[j] != d else j for j, d in zip(found, outs, strict=True)]

    def on_tile(self, tile: Box, operands: Sequence[SSAValue]) -> Operation:
        wanted, dims, own = numbers_in(self.shape), box_shape(tile), self.axes_of_input()
        kept = [-1, 0] if not self.allowzero else [-1]
        same = wanted is not None and all(
            n == d or (n in kept and (n == -1 or j == k))
            for k, (n, d, j) in enumerate(zip(wanted, dims, own, strict=True))
        )
        return on_operands(self, operands) if same else self.rebuilt([operands[0], vector(*dims)], allowzero=0)


@ge_op
class SqueezeOp(Viewed):
    """
    Leaves out `axes`, all of dim 1; without axes, every axis of dim 1.

    C1  axes is a vector of i64 of known length, whose elements differ and are axes of the data
    C2  the dims that go are 1
    C3  without axes, every dim is known

        %y = ge.squeeze %x, %axes : tensor<?x1x4xf32>, tensor<1xi64> -> tensor<?x4xf32>

    Source: ONNX Squeeze-25.
    """

    name = "ge.squeeze"
    onnx = OnnxName("Squeeze", since=1, attributes_before={13: {"axes": "axes"}})
    data = operand()
    axes = opt_operand()
    squeezed = result()

    def infer(self, *operands: Any) -> Info:
        x, axes = operands
        if axes is None:
            if not x.static:
                rank_unknown(self, f"axes must be given where a dim is free, got {x.type} (C3)")
            gone = tuple(k for k, d in enumerate(x.dims) if d == 1)
        else:
            check_vector(self, "axes", axes, "C1")
            if axes.numbers is None:
                if not isinstance(axes.dims[0], int):
                    rank_unknown(self, "the length of axes must be known (C1)")
                return x.like([unknown_size() for _ in range(x.rank - axes.dims[0])])
            gone = axes_of(self, axes.numbers, x.rank, "C1")
        if any(isinstance(x.dims[k], int) and x.dims[k] != 1 for k in gone):
            fail(self, f"axes {list(gone)} must be of dim 1, got {x.type} (C2)")
        return moved(x, [d for k, d in enumerate(x.dims) if k not in gone])

    def axes_of_input(self) -> list[int | None]:
        rank = len(shape_of(self.data.type))
        axes = numbers_in(self.axes)
        if axes is None:
            # Without axes, a tile of one element along an axis would lose that axis.
            return [None] * len(shape_of(self.squeezed.type))
        gone = {a % rank for a in axes}
        kept: list[int | None] = [k for k in range(rank) if k not in gone]
        return kept


@ge_op
class UnsqueezeOp(Viewed):
    """
    Puts in axes of dim 1, which the result has at `axes`.

    C1  axes is a vector of i64 of known length, whose elements differ and are axes of the result

        %y = ge.unsqueeze %x, %axes : tensor<?x4xf32>, tensor<1xi64> -> tensor<?x1x4xf32>

    Source: ONNX Unsqueeze-25.
    """

    name = "ge.unsqueeze"
    onnx = OnnxName("Unsqueeze", since=1, attributes_before={13: {"axes": "axes"}})
    data = operand()
    axes = operand()
    expanded = result()

    def infer(self, *operands: Any) -> Info:
        x, axes = operands
        check_vector(self, "axes", axes, "C1")
        if not isinstance(axes.dims[0], int):
            rank_unknown(self, "the length of axes must be known (C1)")
        rank = x.rank + axes.dims[0]
        if axes.numbers is None:
            return x.like([unknown_size() for _ in range(rank)])
        new = axes_of(self, axes.numbers, rank, "C1")
        own = iter(x.dims)
        return moved(x, [1 if k in new else next(own) for k in range(rank)])

    def axes_of_input(self) -> list[int | None]:
        rank = len(shape_of(self.expanded.type))
        axes = numbers_in(self.axes)
        if axes is None:
            return [None] * rank
        new = {a % rank for a in axes}
        own = iter(range(rank))
        return [None if k in new else next(own) for k in range(rank)]


@ge_op
class FlattenOp(Viewed):
    """
    A matrix of the same elements: the axes before `axis` are its rows, the others its columns.

    C1  axis is in [-rank, rank]

        %y = ge.flatten %x : tensor<?x8x4x4xf32> -> tensor<?x128xf32>

    Source: ONNX Flatten-25.
    """

    name = "ge.flatten"
    onnx = OnnxName("Flatten", since=1)
    input = operand()
    axis = integer(1)
    output = result()

    def infer(self, *operands: Any) -> Info:
        x: Info = operands[0]
        if not -x.rank <= self.axis <= x.rank:
            fail(self, f"axis must be in [{-x.rank}, {x.rank}], got {self.axis} (C1)")
        axis = self.axis + x.rank if self.axis < 0 else self.axis
        return moved(x, [product(x.dims[:axis]), product(x.dims[axis:])])

    def axes_of_input(self) -> list[int | None]:
        dims = np.array(shape_of(self.input.type))
        axis = self.axis + len(dims) if self.axis < 0 else self.axis
        long = np.flatnonzero(dims != 1)
        sides = [long[long < axis], long[long >= axis]]
        return [int(side[0]) if len(side) == 1 else None for side in sides]
