"""
Sampling at places that are data: grids, regions of interest, windows with offsets, and pooling undone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from xdsl.dialects.builtin import i64

from .core import PureOp, ge_op
from .declare import OnnxName, integer, ints, operand, opt_ints, opt_operand, real, result, text
from .dims import Dim, exact_quotient, unknown_size
from .errors import fail
from .info import Info, same_dim, same_element, window_count
from .interfaces import Box, Contraction, Tiles, whole
from .shapes import check_vector, first_cut, numbers_in, rank_unknown
from .types import shape_of

MODES = {"linear": "bilinear", "nearest": "nearest", "cubic": "bicubic"}
"""GridSample's modes as they were called before opset 20."""


@ge_op
class GridSampleOp(PureOp, Tiles):
    """
    y[n, c, p] = x[n, c, grid[n, p]], between elements by `mode`, outside of the data by `padding_mode`; coordinates go
    from -1 to 1.

    C1  grid has x's rank, and in its last dim a coordinate for each of x's rank - 2 spatial axes
    C2  mode is linear, nearest or cubic; padding_mode is zeros, border or reflection; align_corners is 0 or 1

        %y = ge.grid_sample %x, %g align_corners 1 : tensor<1x3x8x8xf32>, tensor<1x4x5x2xf32> -> tensor<1x3x4x5xf32>

    Source: ONNX GridSample-22.
    """

    name = "ge.grid_sample"
    onnx = OnnxName("GridSample", since=20)
    align_corners = integer(0)
    mode = text("linear")
    padding_mode = text("zeros")
    x = operand()
    grid = operand()
    y = result()

    @classmethod
    def from_older(cls, version: int, attrs: dict[str, Any], operands: Sequence[Info | None]) -> dict[str, Any] | None:
        newer = {old: new for new, old in MODES.items()}
        mode = newer.get(attrs.get("mode", "bilinear"))
        return None if mode is None else attrs | {"mode": mode}

    def to_older(self, version: int) -> dict[str, Any] | None:
        return self.attrs() | {"mode": MODES[self.mode]} if len(shape_of(self.x.type)) == 4 else None

    def infer(self, *operands: Any) -> Info:
        x, grid = operands
        if x.rank < 3 or grid.rank != x.rank or not same_dim(grid.dims[-1], x.rank - 2):
            what = f"grid must have x's rank and {x.rank - 2} coordinates in its last dim"
            fail(self, f"{what}, got {x.type} and {grid.type} (C1)")
        if self.mode not in MODES or self.padding_mode not in ("zeros", "border", "reflection"):
            fail(self, f'mode and padding_mode cannot be "{self.mode}" and "{self.padding_mode}" (C2)')
        if self.align_corners not in (0, 1):
            fail(self, f"align_corners must be 0 or 1, got {self.align_corners} (C2)")
        return x.like((*x.dims[:2], *grid.dims[1:-1]))

    def loops(self) -> tuple[str, ...]:
        return ("parallel",) * len(shape_of(self.y.type))

    def operand_tiles(self, tile: Box) -> list[Box]:
        return [(*tile[:2], *whole(self.x)[2:]), (tile[0], *tile[2:], whole(self.grid)[-1])]


@ge_op
class AffineGridOp(PureOp):
    """
    The grid of places that an affine map takes the centres (align_corners 0) or corners of a picture of `size` to.

    C1  size is a vector of i64, [n, c, h, w] or [n, c, d, h, w]
    C2  theta is [n, 2, 3] or [n, 3, 4]

        %y = ge.affine_grid %t, %s : tensor<1x2x3xf32>, tensor<4xi64> -> tensor<1x?x?x2xf32>

    Source: ONNX AffineGrid-20.
    """

    name = "ge.affine_grid"
    onnx = OnnxName("AffineGrid", since=20)
    align_corners = integer(0)
    theta = operand()
    size = operand()
    grid = result()

    def infer(self, *operands: Any) -> Info:
        theta, size = operands
        check_vector(self, "size", size, "C1")
        if not isinstance(size.dims[0], int):
            rank_unknown(self, "the length of size must be known (C1)")
        spatial = size.dims[0] - 2
        if spatial not in (2, 3):
            fail(self, f"size must have 4 or 5 elements, got {size.dims[0]} (C1)")
        if theta.rank != 3 or not same_dim(theta.dims[1], spatial) or not same_dim(theta.dims[2], spatial + 1):
            fail(self, f"theta must be [n, {spatial}, {spatial + 1}], got {theta.type} (C2)")
        dims = size.elements or [unknown_size() for _ in range(spatial + 2)]
        return theta.like((theta.dims[0], *dims[2:], spatial))


class _Regions(PureOp):
    """Shared by pooling of regions: [regions, channels, height, width]."""

    def pooled(self, x: Info, rois: Info, width: int, sizes: Sequence[int]) -> Info:
        if x.rank != 4 or rois.rank != 2 or not same_dim(rois.dims[1], width):
            fail(self, f"x must have rank 4 and rois be [regions, {width}], got {x.type} and {rois.type} (C1)")
        if min(sizes) < 1:
            fail(self, f"output sizes must be positive, got {list(sizes)} (C2)")
        return x.like((rois.dims[0], x.dims[1], *sizes))


@ge_op
class RoiAlignOp(_Regions, Tiles):
    """
    Averages (mode avg) or maxima of bilinear samples in each cell of each region of interest.

    C1  x has rank 4, rois is [regions, 4]
    C2  output_height and output_width are positive
    C3  batch_indices has one number of i64 for each region
    C4  mode is avg or max; coordinate_transformation_mode is half_pixel or output_half_pixel

        %y = ge.roi_align %x, %r, %b output_height 7 output_width 7 : tensor<1x8x32x32xf32>, tensor<?x4xf32>,
             tensor<?xi64> -> tensor<?x8x7x7xf32>

    Source: ONNX RoiAlign-22 (before 16, pixels were always output_half_pixel).
    """

    name = "ge.roi_align"
    onnx = OnnxName("RoiAlign", since=16)
    coordinate_transformation_mode = text("half_pixel")
    mode = text("avg")
    output_height = integer(1)
    output_width = integer(1)
    sampling_ratio = integer(0)
    spatial_scale = real(1.0)
    x = operand()
    rois = operand()
    batch_indices = operand()
    y = result()

    @classmethod
    def from_older(cls, version: int, attrs: dict[str, Any], operands: Sequence[Info | None]) -> dict[str, Any] | None:
        return attrs | {"coordinate_transformation_mode": "output_half_pixel"}

    def to_older(self, version: int) -> dict[str, Any] | None:
        attrs = self.attrs()
        return attrs if attrs.pop("coordinate_transformation_mode", "") == "output_half_pixel" else None

    def infer(self, *operands: Any) -> Info:
        x, rois, batch = operands
        pooled = self.pooled(x, rois, 4, (self.output_height, self.output_width))
        if batch.rank != 1 or batch.element != i64 or not same_dim(batch.dims[0], rois.dims[0]):
            fail(self, f"batch_indices must be a vector of {rois.dims[0]} i64, got {batch.type} (C3)")
        pixels = ("half_pixel", "output_half_pixel")
        if self.mode not in ("avg", "max") or self.coordinate_transformation_mode not in pixels:
            fail(self, f'mode cannot be "{self.mode}" with "{self.coordinate_transformation_mode}" (C4)')
        return pooled

    def loops(self) -> tuple[str, ...]:
        return ("parallel", "parallel", "whole", "whole")

    def operand_tiles(self, tile: Box) -> list[Box]:
        samples, _, *spatial = whole(self.x)
        return [(samples, tile[1], *spatial), (tile[0], whole(self.rois)[1]), (tile[0],)]


@ge_op
class MaxRoiPoolOp(_Regions):
    """
    Maxima in each cell of each region of interest, which begins with the number of its picture.

    C1  x has rank 4, rois is [regions, 5]
    C2  pooled_shape is two positive numbers

        %y = ge.max_roi_pool %x, %r pooled_shape [7, 7] : tensor<1x8x32x32xf32>, tensor<?x5xf32> -> tensor<?x8x7x7xf32>

    Source: ONNX MaxRoiPool-22.
    """

    name = "ge.max_roi_pool"
    onnx = OnnxName("MaxRoiPool", since=1)
    pooled_shape = ints()
    spatial_scale = real(1.0)
    x = operand()
    rois = operand()
    y = result()

    def infer(self, *operands: Any) -> Info:
        x, rois = operands
        if len(self.pooled_shape) != 2:
            fail(self, f"pooled_shape must be two numbers, got {list(self.pooled_shape)} (C2)")
        return self.pooled(x, rois, 5, self.pooled_shape)


@ge_op
class DeformConvOp(PureOp, Tiles, Contraction):
    """
    A convolution each of whose taps reads `offset` beside its place, between elements bilinearly, times `mask`.

    C1  x, w, offset and mask have one rank of at least 3; x has group * dim 1 of w channels
    C2  strides, dilations and pads, where given, have a number (pads two) for each spatial axis
    C3  offset has offset_group * kernel * spatial axes channels, mask as many less the axes
    C4  all have one element type
    C5  b is a vector of output channels

        %y = ge.deform_conv %x, %w, %o pads [1, 1, 1, 1] : tensor<1x4x8x8xf32>, tensor<6x4x3x3xf32>,
             tensor<1x18x8x8xf32> -> tensor<1x6x8x8xf32>

    Source: ONNX DeformConv-22.
    """

    name = "ge.deform_conv"
    onnx = OnnxName("DeformConv", since=19, implied=("kernel_shape",))
    dilations = opt_ints()
    group = integer(1)
    offset_group = integer(1)
    pads = opt_ints()
    strides = opt_ints()
    x = operand()
    w = operand()
    offset = operand()
    b = opt_operand()
    mask = opt_operand()
    y = result()

    def implied(self) -> dict[str, Any]:
        return {"kernel_shape": shape_of(self.w.type)[2:]} if min(shape_of(self.w.type)[2:]) > 0 else {}

    def infer(self, *operands: Any) -> Info:
        x, w, offset, b, mask = operands
        ranks = {info.rank for info in (x, w, offset, mask) if info is not None}
        if len(ranks) != 1 or x.rank < 3 or not same_dim(x.dims[1], w.dims[1] * self.group):
            fail(self, f"x, w and offset must fit each other, got {x.type}, {w.type} and {offset.type} (C1)")
        axes: int = x.rank - 2
        strides, dilations = self.strides or (1,) * axes, self.dilations or (1,) * axes
        pads: tuple[int, ...] = self.pads or (0,) * (2 * axes)
        if not len(strides) == len(dilations) == len(pads) // 2 == axes or min(*strides, *dilations) < 1:
            fail(self, f"strides, dilations and pads must be for {axes} axes (C2)")
        kernel = w.dims[2:]
        taps = math.prod(k for k in kernel if isinstance(k, int)) if all(isinstance(k, int) for k in kernel) else None
        for info, each in ((offset, axes), (mask, 1)):
            if info is not None and taps is not None and not same_dim(info.dims[1], self.offset_group * taps * each):
                fail(self, f"offset and mask must have channels for {taps} taps, got {info.type} (C3)")
        element = same_element(self, "C4", x, w, offset, b, mask)
        if b is not None and (b.rank != 1 or not same_dim(b.dims[0], w.dims[0])):
            fail(self, f"b must be a vector of {w.dims[0]} elements, got {b.type} (C5)")
        sizes: list[Dim] = []
        for k in range(axes):
            size = kernel[k]
            pad = pads[k] + pads[axes + k]
            counted = (
                window_count(x.dims[2 + k], size, strides[k], dilations[k], pad) if isinstance(size, int) else None
            )
            sizes.append(unknown_size() if counted is None else counted)
        return Info(element, (x.dims[0], w.dims[0], *sizes))

    def loops(self) -> tuple[str, ...]:
        # Offsets count from places of the whole, so spatial axes are not cut.
        spatial = len(shape_of(self.x.type)) - 2
        channels = "parallel" if self.group == 1 else "whole"
        return ("parallel", channels, *["whole"] * spatial) + ("reduction",) * (1 + spatial)

    def operand_tiles(self, tile: Box) -> list[Box]:
        samples, outs = tile[:2]
        boxes: list[Box] = []
        for slot, value in zip(self.slots, self.by_slot(), strict=True):
            if value is not None:
                along = outs if slot.name in ("w", "b") else samples
                boxes.append((along, *whole(value)[1:]))
        return boxes

    def flops(self) -> int:
        return 2 * math.prod(shape_of(self.y.type)) * math.prod(shape_of(self.w.type)[1:])


@ge_op
class MaxUnpoolOp(PureOp):
    """
    The elements of x at the places that max pooling took them from, all else 0.

    C1  x has a spatial axis; indices has x's shape and i64
    C2  kernel_shape, strides and pads have a number (pads two) for each spatial axis
    C3  output_shape is a vector of x's rank

        %y = ge.max_unpool %x, %i kernel_shape [2, 2] strides [2, 2] : tensor<1x4x4x4xf32>, tensor<1x4x4x4xi64>
             -> tensor<1x4x8x8xf32>

    Source: ONNX MaxUnpool-22.
    """

    name = "ge.max_unpool"
    onnx = OnnxName("MaxUnpool", since=9)
    kernel_shape = ints()
    pads = opt_ints()
    strides = opt_ints()
    x = operand()
    indices = operand()
    output_shape = opt_operand()
    output = result()

    def infer(self, *operands: Any) -> Info:
        x, indices, shape = operands
        fits = x.rank >= 3 and indices.rank == x.rank and indices.element == i64
        if not fits or not all(map(same_dim, x.dims, indices.dims)):
            fail(self, f"indices must have x's shape and i64, got {x.type} and {indices.type} (C1)")
        axes: int = x.rank - 2
        strides = self.strides or (1,) * axes
        pads: tuple[int, ...] = self.pads or (0,) * (2 * axes)
        if not len(self.kernel_shape) == len(strides) == len(pads) // 2 == axes:
            fail(self, f"kernel_shape, strides and pads must be for {axes} axes (C2)")
        if shape is not None:
            check_vector(self, "output_shape", shape, "C3")
            if not same_dim(shape.dims[0], x.rank):
                fail(self, f"output_shape must have {x.rank} elements, got {shape.type} (C3)")
            return x.like(shape.elements or [unknown_size() for _ in x.dims])
        sizes: list[Dim] = [
            (d - 1) * s - pads[k] - pads[axes + k] + size
            for k, (d, s, size) in enumerate(zip(x.dims[2:], strides, self.kernel_shape, strict=True))
        ]
        return x.like((*x.dims[:2], *sizes))


@ge_op
class Col2ImOp(PureOp, Tiles):
    """
    A picture of `image_shape` as the sum of its blocks, which stand as columns: the inverse of cutting windows.

    C1  input has rank 3; image_shape and block_shape are vectors of i64, of one known length
    C2  channels of input are a multiple of the elements of a block

        %y = ge.col2_im %x, %s, %b : tensor<1x20x9xf32>, tensor<2xi64>, tensor<2xi64> -> tensor<1x?x?x?xf32>

    Source: ONNX Col2Im-18.
    """

    name = "ge.col2_im"
    onnx = OnnxName("Col2Im", since=18)
    dilations = opt_ints()
    pads = opt_ints()
    strides = opt_ints()
    input = operand()
    image_shape = operand()
    block_shape = operand()
    output = result()

    def infer(self, *operands: Any) -> Info:
        x, image, block = operands
        check_vector(self, "image_shape", image, "C1")
        check_vector(self, "block_shape", block, "C1")
        length = image.dims[0] if isinstance(image.dims[0], int) else block.dims[0]
        if not isinstance(length, int):
            rank_unknown(self, "the length of image_shape must be known (C1)")
        if x.rank != 3 or not same_dim(image.dims[0], block.dims[0]):
            fail(self, f"input must have rank 3, image_shape and block_shape one length, got {x.type} (C1)")
        channels: Dim | None = unknown_size()
        if block.numbers is not None:
            channels = exact_quotient(x.dims[1], math.prod(block.numbers))
            if channels is None and isinstance(x.dims[1], int):
                fail(self, f"channels must be a multiple of {math.prod(block.numbers)}, got {x.dims[1]} (C2)")
        sizes = image.elements or [unknown_size() for _ in range(length)]
        return x.like((x.dims[0], unknown_size() if channels is None else channels, *sizes))

    def loops(self) -> tuple[str, ...]:
        # Blocks overlap in the picture; each channel has its own.
        spatial = len(shape_of(self.output.type)) - 2
        return ("parallel", "parallel" if self._block() else "whole", *["whole"] * spatial)

    def operand_tiles(self, tile: Box) -> list[Box]:
        batch, (begin, count) = tile[:2]
        block, (_, rows, columns) = self._block(), whole(self.input)
        return first_cut(self, (batch, (begin * block, count * block) if block else rows, columns))

    def _block(self) -> int:
        """Elements of a block; 0 where that is not known."""
        sizes = numbers_in(self.block_shape)
        return 0 if sizes is None else math.prod(sizes)
