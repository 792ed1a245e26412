"""Ops that move elements between axes or along them, or blank some out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import i32, i64
from xdsl.ir import Operation, SSAValue

from .core import PureOp, ge_op, shared_attributes
from .declare import OnnxName, integer, operand, opt_ints, opt_operand, result, text
from .dims import Dim, exact_quotient, floordiv, unknown_size
from .errors import fail
from .info import Info, axes_of, axis_of, same_dim
from .interfaces import Box, Movement, Overwrites, Tiles, box_shape, on_operands, whole
from .shapes import check_single, constant_of, numbers_in, vector
from .slicing import Cut, SliceOp
from .types import shape_of


@shared_attributes
class Blocks(PureOp, Movement, Tiles):
    """
    Shared by moves between channels and blocks of b x b neighbours, b the blocksize.

    C1  the input has a batch, a channel and two spatial axes
    C2  mode is DCR (a channel's number is block * channels + channel) or CRD (channel * blocks + block)
    C3  blocksize is positive and divides what it must
    """

    blocksize = integer()
    mode = text("DCR")

    def check(self, x: Info) -> None:
        if x.rank != 4:
            fail(self, f"the input must have a batch, a channel and two spatial axes, got {x.type} (C1)")
        if self.mode not in ("DCR", "CRD"):
            fail(self, f"mode must be DCR or CRD, got {self.mode} (C2)")
        if self.blocksize < 1:
            fail(self, f"blocksize must be positive, got {self.blocksize} (C3)")

    def divided(self, size: Dim, by: int, what: str) -> Dim:
        if isinstance(size, int) and size % by:
            fail(self, f"{what} must be a multiple of {by}, got {size} (C3)")
        exact = exact_quotient(size, by)
        return floordiv(size, by) if exact is None else exact


@ge_op
class DepthToSpaceOp(Blocks):
    """
    Each b * b channels become blocks of b x b neighbours.

    C1, C2, C3  as for Blocks; b * b divides the channels

        %y = ge.depth_to_space %x blocksize 2 : tensor<?x12x8x8xf32> -> tensor<?x3x16x16xf32>

    Source: ONNX DepthToSpace-28.
    """

    name = "ge.depth_to_space"
    onnx = OnnxName("DepthToSpace", since=1)
    input = operand()
    output = result()

    def infer(self, *operands: Any) -> Info:
        x: Info = operands[0]
        self.check(x)
        n, c, h, w = x.dims
        b = self.blocksize
        return x.like([n, self.divided(c, b * b, "channels"), h * b, w * b])

    def loops(self) -> tuple[str, ...]:
        return ("parallel", "parallel" if self.mode == "CRD" else "whole", "parallel", "parallel")

    def operand_tiles(self, tile: Box) -> list[Box]:
        b, c = self.blocksize, whole(self.input)[1]
        if self.mode == "CRD":
            c = (tile[1][0] * b * b, tile[1][1] * b * b)
        h, w = ((begin // b, -(-(begin + size) // b) - begin // b) for begin, size in tile[2:])
        return [(tile[0], c, h, w)]

    def on_tile(self, tile: Box, operands: Sequence[SSAValue]) -> Operation:
        blocks = on_operands(self, operands)
        if shape_of(blocks.results[0].type) == box_shape(tile):
            return blocks
        # The tile begins or ends inside of a block.
        starts = [begin % self.blocksize for begin, _ in tile[2:]]
        ends = [start + size for start, (_, size) in zip(starts, tile[2:], strict=True)]
        return SliceOp(blocks.results[0], vector(*starts), vector(*ends), vector(2, 3))


@ge_op
class SpaceToDepthOp(Blocks):
    """
    Blocks of b x b neighbours become b * b channels each.

    C1, C2, C3  as for Blocks; b divides both spatial dims

        %y = ge.space_to_depth %x blocksize 2 : tensor<?x3x16x16xf32> -> tensor<?x12x8x8xf32>

    Source: ONNX SpaceToDepth-28.
    """

    name = "ge.space_to_depth"
    onnx = OnnxName("SpaceToDepth", since=1)
    input = operand()
    output = result()

    def infer(self, *operands: Any) -> Info:
        x: Info = operands[0]
        self.check(x)
        n, c, h, w = x.dims
        b = self.blocksize
        return x.like([n, c * b * b, self.divided(h, b, "the height"), self.divided(w, b, "the width")])

    def loops(self) -> tuple[str, ...]:
        return ("parallel", "whole", "parallel", "parallel")

    def operand_tiles(self, tile: Box) -> list[Box]:
        b = self.blocksize
        h, w = ((begin * b, size * b) for begin, size in tile[2:])
        return [(tile[0], whole(self.input)[1], h, w)]


@ge_op
class TriluOp(Cut, Overwrites):
    """
    The upper (or with upper 0 the lower) triangle of each matrix, from the k-th diagonal on; the rest is 0.

    C1  the input has at least two axes
    C2  k is one element of i64

        %y = ge.trilu %x upper 0 : tensor<?x8x8xf32> -> tensor<?x8x8xf32>

    Source: ONNX Trilu-14.
    """

    name = "ge.trilu"
    onnx = OnnxName("Trilu", since=14)
    input = operand()
    k = opt_operand()
    upper = integer(1)
    output = result()

    def infer(self, *operands: Any) -> Info:
        x, k = operands
        if x.rank < 2:
            fail(self, f"the input must have at least two axes, got {x.type} (C1)")
        if k is not None and k.element != i64:
            fail(self, f"k must be one element of i64, got {k.type} (C2)")
        check_single(self, "k", k, "C2")
        return x.like(x.dims)

    def _diagonal(self) -> int | None:
        """k, where it is known."""
        if self.k is None:
            return 0
        known = numbers_in(self.k)
        return None if known is None else known[0]

    def moved_axes(self) -> Sequence[int] | None:
        rank = len(shape_of(self.input.type))
        return (rank - 2, rank - 1) if self._diagonal() is None else ()

    def on_tile(self, tile: Box, operands: Sequence[SSAValue]) -> Operation:
        k, ((row, _), (column, _)) = self._diagonal(), tile[-2:]
        if k is None or row == column:
            return on_operands(self, operands)
        return self.rebuilt([operands[0], constant_of(np.array(k + row - column, np.int64))])

    def overwrites(self) -> tuple[int, ...]:
        return (0,) if self.input.type == self.output.type else ()


@ge_op
class ReverseSequenceOp(PureOp, Movement, Tiles):
    """
    Of sequence i (along batch_axis), the first sequence_lens[i] elements along time_axis in reverse, the others as
    they are.

    C1  the input has at least two axes
    C2  batch_axis and time_axis are 0 and 1, or 1 and 0
    C3  sequence_lens is a vector of i64 with a length for each sequence

        %y = ge.reverse_sequence %x, %n : tensor<8x?xf32>, tensor<?xi64> -> tensor<8x?xf32>

    Source: ONNX ReverseSequence-28.
    """

    name = "ge.reverse_sequence"
    onnx = OnnxName("ReverseSequence", since=10)
    input = operand()
    sequence_lens = operand()
    batch_axis = integer(1)
    time_axis = integer(0)
    output = result()

    def infer(self, *operands: Any) -> Info:
        x, lens = operands
        if x.rank < 2:
            fail(self, f"the input must have at least two axes, got {x.type} (C1)")
        batch, time = axis_of(self, self.batch_axis, x.rank, "C2"), axis_of(self, self.time_axis, x.rank, "C2")
        if {batch, time} != {0, 1}:
            fail(self, f"batch_axis and time_axis must be 0 and 1 or 1 and 0, got {batch} and {time} (C2)")
        if lens.rank != 1 or lens.element != i64 or not same_dim(lens.dims[0], x.dims[batch]):
            fail(self, f"sequence_lens must be a vector of {x.dims[batch]} elements of i64, got {lens.type} (C3)")
        return x.like(x.dims)

    def loops(self) -> tuple[str, ...]:
        rank = len(shape_of(self.input.type))
        return tuple("whole" if k == self.time_axis % rank else "parallel" for k in range(rank))

    def operand_tiles(self, tile: Box) -> list[Box]:
        return [tile, (tile[self.batch_axis % len(tile)],)]


@ge_op
class CenterCropPadOp(Cut):
    """
    The middle of input, cut or padded with zeros to `shape` along `axes` (all, without); of an odd number of elements
    the one more is cut or put at the end.

    C1  axes differ and are axes of input
    C2  shape is a vector of i32 or i64 with a number, not negative, for each of the axes

        %y = ge.center_crop_pad %x, %s axes [2, 3] : tensor<?x3x9x8xf32>, tensor<2xi64> -> tensor<?x3x4x10xf32>

    Source: ONNX CenterCropPad-18.
    """

    name = "ge.center_crop_pad"
    onnx = OnnxName("CenterCropPad", since=18)
    input_data = operand()
    shape = operand()
    axes = opt_ints()
    output_data = result()

    def infer(self, *operands: Any) -> Info:
        x, shape = operands
        axes = axes_of(self, range(x.rank) if self.axes is None else self.axes, x.rank, "C1")
        if shape.rank != 1 or shape.element not in (i32, i64) or not same_dim(shape.dims[0], len(axes)):
            fail(self, f"shape must be a vector of {len(axes)} integers, got {shape.type} (C2)")
        wanted = shape.elements or [unknown_size() for _ in axes]
        if any(isinstance(d, int) and d < 0 for d in wanted):
            fail(self, f"shape must not be negative, got {wanted} (C2)")
        dims = list(x.dims)
        for axis, d in zip(axes, wanted, strict=True):
            dims[axis] = d
        return x.like(dims)

    def moved_axes(self) -> Sequence[int] | None:
        rank = len(shape_of(self.input_data.type))
        return [a % rank for a in (range(rank) if self.axes is None else self.axes)]
