"""
Convolution and pooling: windows that slide over the spatial axes.

`data_format` says where the channels of the data stand in memory: "NCHW" (ONNX's, for any number of spatial axes) or
"NHWC". Weights keep ONNX's layout. Kernels, strides and pads always speak of the spatial axes alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.ir import Operation, SSAValue

from .core import OnnxName, PureOp, ge_op, integer, ints, operand, opt_operand, result, shared_attributes, text
from .dims import Dim, ceildiv, unknown
from .errors import fail
from .info import Info, either, same_dim, same_element, window_count
from .interfaces import Box, Contraction, Tiles, on_operands
from .types import shape_of


@dataclass(frozen=True)
class Window:
    """How a window of `kernel` slides along one axis."""

    kernel: int
    stride: int
    dilation: int
    before: int
    after: int

    @property
    def extent(self) -> int:
        """Elements from the window's first to its last, both included."""
        return (self.kernel - 1) * self.dilation + 1

    def reads(self, begin: int, size: int, axis: int) -> tuple[int, int, int, int]:
        """
        What `size` positions from `begin` on read of an axis of `axis` elements: (offset, size, padding before, padding
        after). A tile wholly in the padding reads one element more than it must, so that no box is empty.
        """
        low = begin * self.stride - self.before
        high = (begin + size - 1) * self.stride - self.before + self.extent
        first, last = min(max(low, 0), axis - 1), max(min(high, axis), 1)
        return first, max(last - first, 1), first - low, high - max(last, first + 1)


@shared_attributes
class Windowed(PureOp, Tiles):
    """
    Shared by ops with a window.

    C1  the data has a batch, a channel and at least one spatial axis
    C2  kernel_shape, strides, dilations have one entry a spatial axis, pads two; all positive, pads not negative
    C3  auto_pad is NOTSET, VALID, SAME_UPPER or SAME_LOWER
    C4  data_format is NCHW or NHWC
    C5  the window fits into the padded axis
    """

    auto_pad = text("NOTSET")
    strides = ints(())
    pads = ints(())
    dilations = ints(())
    data_format = text("NCHW")

    def kernel(self) -> tuple[int, ...]:
        """Size of the window along each spatial axis; -1 where it is not known."""
        raise NotImplementedError

    # Order of axes: logical is N, C, spatial...; physical is the type's own.

    def to_logical(self, dims: Sequence[Any]) -> tuple[Any, ...]:
        return tuple(dims) if self.data_format == "NCHW" else (dims[0], dims[-1], *dims[1:-1])

    def to_physical(self, dims: Sequence[Any]) -> tuple[Any, ...]:
        return tuple(dims) if self.data_format == "NCHW" else (dims[0], *dims[2:], dims[1])

    def check_window(self, x: Info, kernel: Sequence[int]) -> None:
        spatial = x.rank - 2
        if spatial < 1:
            fail(self, f"the data must have a batch, a channel and spatial axes, got {x.type} (C1)")
        for what, values, want in (
            ("kernel_shape", kernel, spatial),
            ("strides", self.strides, spatial),
            ("dilations", self.dilations, spatial),
            ("pads", self.pads, 2 * spatial),
        ):
            if values and (len(values) != want or (what == "pads" and min(values) < 0)):
                fail(self, f"{what} must have {want} entries, none negative, got {list(values)} (C2)")
            if what != "pads" and any(v == 0 or (v < 0 and what != "kernel_shape") for v in values):
                fail(self, f"{what} must be positive, got {list(values)} (C2)")
        if self.auto_pad not in ("NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"):
            fail(self, f"auto_pad must be NOTSET, VALID, SAME_UPPER or SAME_LOWER, got {self.auto_pad} (C3)")
        if self.data_format not in ("NCHW", "NHWC"):
            fail(self, f"data_format must be NCHW or NHWC, got {self.data_format} (C4)")

    def windows(self, sizes: Sequence[Dim]) -> list[Window] | None:
        """The window along each spatial axis of the given sizes, auto_pad resolved; None where it depends on `?`."""
        found: list[Window] = []
        count = len(sizes)
        strides, dilations = self.strides or (1,) * count, self.dilations or (1,) * count
        for k, (size, kernel) in enumerate(zip(sizes, self.kernel(), strict=True)):
            if kernel < 0:
                return None
            window = Window(kernel, strides[k], dilations[k], 0, 0)
            if self.auto_pad.startswith("SAME"):
                if not isinstance(size, int):
                    return None
                total = max((math.ceil(size / strides[k]) - 1) * strides[k] + window.extent - size, 0)
                small, large = total // 2, total - total // 2
                before, after = (small, large) if self.auto_pad == "SAME_UPPER" else (large, small)
            elif self.auto_pad == "VALID" or not self.pads:
                before = after = 0
            else:
                before, after = self.pads[k], self.pads[count + k]
            found.append(Window(kernel, strides[k], dilations[k], before, after))
        return found

    def spatial_dims(self, sizes: Sequence[Dim], ceil: bool = False) -> list[Dim]:
        """Dims of the result along the spatial axes."""
        windows = self.windows(sizes)
        if windows is None:
            if not self.auto_pad.startswith("SAME"):
                return [unknown() for _ in sizes]
            strides = self.strides or (1,) * len(sizes)
            return [ceildiv(size, stride) for size, stride in zip(sizes, strides, strict=True)]
        out: list[Dim] = []
        for size, w in zip(sizes, windows, strict=True):
            count = window_count(size, w.kernel, w.stride, w.dilation, w.before + w.after, ceil)
            if isinstance(count, int) and isinstance(size, int):
                if size + w.before + w.after < w.extent:
                    fail(self, f"a window of {w.extent} must fit into {size} + {w.before} + {w.after} elements (C5)")
                if ceil and (count - 1) * w.stride >= size + w.before:
                    count -= 1  # ONNX: a window that would start in the padding after the data is dropped
            out.append(count)
        return out

    def window_tile(self, tile: Box, x: SSAValue) -> tuple[list[tuple[int, int]], list[int]]:
        """For a tile of the result: (offset, size) of the data along the spatial axes, and the pads that remain."""
        sizes = self.to_logical(shape_of(x.type))[2:]
        windows = self.windows(sizes)
        assert windows is not None
        reads = [w.reads(*t, size) for w, t, size in zip(windows, self.to_logical(tile)[2:], sizes, strict=True)]
        return [(r[0], r[1]) for r in reads], [r[2] for r in reads] + [r[3] for r in reads]


@ge_op
class ConvOp(Windowed, Contraction):
    """
    y[n, o, p] = b[o] + sum over c, k of x[n, c, p * stride + k * dilation - pad] * w[o, c, k]; with `group` g, output
    channels of one g-th read input channels of the same g-th.

    C1 to C5  as for every window
    C6  x, w and b have one element type
    C7  w has x's rank; channels of x = group * dim 1 of w; output channels are a multiple of group
    C8  b is a vector of output channels

        %y = ge.conv %x, %w, %b strides [2, 2] pads [3, 3, 3, 3]
               : tensor<1x3x224x224xf32>, tensor<64x3x7x7xf32>, tensor<64xf32> -> tensor<1x64x112x112xf32>

    Source: ONNX Conv-22.
    """

    name = "ge.conv"
    onnx = OnnxName("Conv", since=1)
    x = operand()
    w = operand()
    b = opt_operand()
    group = integer(1)
    y = result()

    def kernel(self) -> tuple[int, ...]:
        return shape_of(self.w.type)[2:]

    def infer(self, *operands: Any) -> Info:
        x, w, b = operands
        self.check_window(x, self.kernel())
        element = same_element(self, "C6", x, w, b)
        n, channels, *sizes = self.to_logical(x.dims)
        outs = w.dims[0]
        if w.rank != x.rank:
            fail(self, f"w must have the rank of x, {x.rank}, got {w.type} (C7)")
        if not same_dim(channels, w.dims[1] * self.group):
            fail(self, f"x must have {w.dims[1]} * {self.group} channels, got {channels} (C7)")
        if isinstance(outs, int) and outs % self.group:
            fail(self, f"output channels must be a multiple of group {self.group}, got {outs} (C7)")
        if b is not None and (b.rank != 1 or not same_dim(b.dims[0], outs)):
            fail(self, f"b must be a vector of {outs} elements, got {b.type} (C8)")
        if b is not None:
            outs = either(outs, b.dims[0])
        return Info(element, self.to_physical([n, outs, *self.spatial_dims(sizes)]))

    def loops(self) -> tuple[str, ...]:
        channels = "parallel" if self.group == 1 else "whole"
        spatial = ("parallel",) * (len(shape_of(self.y.type)) - 2)
        return self.to_physical(("parallel", channels, *spatial)) + ("reduction",) * (1 + len(spatial))

    def operand_tiles(self, tile: Box) -> list[Box]:
        n, outs, *_ = self.to_logical(tile)
        spatial, _ = self.window_tile(tile, self.x)
        channels = self.to_logical(shape_of(self.x.type))[1]
        boxes = [self.to_physical([n, (0, channels), *spatial]), (outs, *((0, d) for d in shape_of(self.w.type)[1:]))]
        return boxes if self.b is None else [*boxes, (outs,)]

    def on_tile(self, tile: Box, operands: Sequence[SSAValue]) -> Operation:
        _, pads = self.window_tile(tile, self.x)
        return on_operands(self, operands, pads=pads, auto_pad="NOTSET")

    def flops(self) -> int:
        return 2 * math.prod(shape_of(self.y.type)) * math.prod(shape_of(self.w.type)[1:])
