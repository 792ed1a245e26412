"""
Windows that slide over the spatial axes: what convolution and pooling share.

`data_format` says where the channels of the data stand in memory: "NCHW" (ONNX's, for any number of spatial axes) or
"NHWC". Kernels, strides and pads always speak of the spatial axes alone; "logical" order is N, C, spatial.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.ir import SSAValue

from .core import PureOp, shared_attributes
from .declare import ints, our_text, text
from .dims import Dim, ceildiv, unknown_size
from .errors import fail
from .info import Info, window_count
from .interfaces import Box
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

    def start(self, position: int) -> int:
        """Where the window at that position starts, counted from the first element of the data."""
        return position * self.stride - self.before

    def meets_data(self, size: int, count: int) -> bool:
        """Whether each of `count` windows spans an element of an axis of `size`: none lies in the padding alone."""
        return self.start(0) + self.extent > 0 and self.start(count - 1) < size

    def reads(self, begin: int, count: int, size: int) -> tuple[int, int, int, int]:
        """
        What `count` windows from position `begin` on span of an axis of `size`, which they meet: (offset, elements,
        padding before, padding after).
        """
        low, high = self.start(begin), self.start(begin + count - 1) + self.extent
        first, last = max(low, 0), min(high, size)
        return first, last - first, first - low, high - last


class Layout(PureOp):
    """Shared by ops whose data has a layout. The attribute itself is the concrete op's, or Windowed's."""

    def format(self) -> str:
        """NCHW or NHWC."""
        raise NotImplementedError

    def to_logical(self, dims: Sequence[Any]) -> tuple[Any, ...]:
        return tuple(dims) if self.format() == "NCHW" else (dims[0], dims[-1], *dims[1:-1])

    def to_physical(self, dims: Sequence[Any]) -> tuple[Any, ...]:
        return tuple(dims) if self.format() == "NCHW" else (dims[0], *dims[2:], dims[1])

    def check_layout(self, x: Info, rank_code: str, format_code: str) -> None:
        if x.rank < 3:
            fail(self, f"the data must have a batch, a channel and spatial axes, got {x.type} ({rank_code})")
        if self.format() not in ("NCHW", "NHWC"):
            fail(self, f"data_format must be NCHW or NHWC, got {self.format()} ({format_code})")


@shared_attributes
class Windowed(Layout):
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
    data_format = our_text("NCHW")

    def format(self) -> str:
        return self.data_format

    def check_window(self, x: Info, kernel: Sequence[int]) -> None:
        """C1 to C4; `kernel` has -1 where the kernel's size is not known."""
        spatial = x.rank - 2
        if spatial < 1:
            fail(self, f"the data must have a batch, a channel and spatial axes, got {x.type} (C1)")
        for what, values in (("kernel_shape", kernel), ("strides", self.strides), ("dilations", self.dilations)):
            least = -1 if what == "kernel_shape" else 1
            if values and (len(values) != spatial or 0 in values or min(values) < least):
                fail(self, f"{what} must have {spatial} entries, all positive, got {list(values)} (C2)")
        if self.pads and (len(self.pads) != 2 * spatial or min(self.pads) < 0):
            fail(self, f"pads must have {2 * spatial} entries, none negative, got {list(self.pads)} (C2)")
        if self.auto_pad not in ("NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"):
            fail(self, f"auto_pad must be NOTSET, VALID, SAME_UPPER or SAME_LOWER, got {self.auto_pad} (C3)")
        self.check_layout(x, "C1", "C4")

    def steps(self, spatial: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Strides and dilations, also where they are left to their default."""
        return self.strides or (1,) * spatial, self.dilations or (1,) * spatial

    def kernel(self) -> tuple[int, ...]:
        """Size of the window along each spatial axis; negative where it is not known."""
        raise NotImplementedError

    def windows(self, sizes: Sequence[Dim], kernel: Sequence[int] | None = None) -> list[Window] | None:
        """
        The window along each spatial axis of the given sizes, auto_pad resolved; None where it depends on `?`.

        kernel     where more is known of it than the op's types say
        """
        kernel = self.kernel() if kernel is None else kernel
        found: list[Window] = []
        count = len(sizes)
        strides, dilations = self.steps(count)
        for k, (size, extent) in enumerate(zip(sizes, kernel, strict=True)):
            if extent < 0:
                return None
            window = Window(extent, strides[k], dilations[k], 0, 0)
            if self.auto_pad.startswith("SAME"):
                if not isinstance(size, int) or size < 0:
                    return None
                total = max((math.ceil(size / strides[k]) - 1) * strides[k] + window.extent - size, 0)
                small, large = total // 2, total - total // 2
                before, after = (small, large) if self.auto_pad == "SAME_UPPER" else (large, small)
            elif self.auto_pad == "VALID" or not self.pads:
                before = after = 0
            else:
                before, after = self.pads[k], self.pads[count + k]
            found.append(Window(extent, strides[k], dilations[k], before, after))
        return found

    def spatial_dims(self, sizes: Sequence[Dim], kernel: Sequence[int], ceil: bool = False) -> list[Dim]:
        """Dims of the result along the spatial axes. Checks C5."""
        if self.auto_pad.startswith("SAME"):
            return [ceildiv(size, stride) for size, stride in zip(sizes, self.steps(len(sizes))[0], strict=True)]
        windows = self.windows(sizes, kernel)
        if windows is None:
            return [unknown_size() for _ in sizes]
        return [self._positions(size, w, ceil) for size, w in zip(sizes, windows, strict=True)]

    def _positions(self, size: Dim, w: Window, ceil: bool) -> Dim:
        count = window_count(size, w.kernel, w.stride, w.dilation, w.before + w.after, ceil)
        if isinstance(count, int) and isinstance(size, int):
            if size + w.before + w.after < w.extent:
                fail(self, f"a window of {w.extent} must fit into {size} + {w.before} + {w.after} elements (C5)")
            # A window that would start in the padding after the data is dropped.
            return count - 1 if ceil and w.start(count - 1) >= size else count
        # Of a free size it is known only for these that no window starts there.
        return unknown_size() if ceil and w.after + w.stride > w.extent else count

    # What tiles are made of: `x` is the data, `y` the result, both static along the spatial axes.

    def spatial_tiles(self, x: SSAValue, y: SSAValue) -> list[bool]:
        """Which spatial axes may be cut: those of known size none of whose windows lies in the padding alone."""
        sizes, counts = (self.to_logical(shape_of(v.type))[2:] for v in (x, y))
        windows = self.windows(sizes)
        if windows is None:
            return [False] * len(sizes)
        return [s > 0 and n > 0 and w.meets_data(s, n) for w, s, n in zip(windows, sizes, counts, strict=True)]

    def window_tile(self, tile: Box, x: SSAValue, y: SSAValue) -> tuple[list[tuple[int, int]], list[int]]:
        """For a tile of the result: (offset, size) of the data along the spatial axes, and the pads that remain."""
        sizes, counts = (self.to_logical(shape_of(v.type))[2:] for v in (x, y))
        windows = self.windows(sizes)
        assert windows is not None
        boxes: list[tuple[int, int]] = []
        befores: list[int] = []
        afters: list[int] = []
        for w, (begin, count), size, positions in zip(windows, self.to_logical(tile)[2:], sizes, counts, strict=True):
            first, elements, before, after = (0, size, w.before, w.after)
            if count != positions:
                first, elements, before, after = w.reads(begin, count, size)
            boxes.append((first, elements))
            befores.append(before)
            afters.append(after)
        return boxes, befores + afters
