"""Pooling: one number for a window of the data, or for a channel's whole extent."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from xdsl.dialects.builtin import i64
from xdsl.ir import Operation

from .core import ge_op, shared_attributes
from .declare import OnnxName, integer, ints, operand, opt_result, our_text, result
from .errors import fail
from .info import Info
from .interfaces import Box, Reduction, Tiles, Work, on_operands, whole
from .types import shape_of
from .window import Layout, Windowed


@shared_attributes
class Pool(Windowed, Tiles, Work):
    """
    Shared by pooling with a window. With `ceil_mode` there is one more position for a window that ends past the padded
    axis, if it starts before the data ends; with auto_pad VALID too, as onnx's shape inference and ONNX Runtime have it
    (the formula in the operator's text rounds down).

    C1 to C5  as for every window
    """

    kernel_shape = ints()
    ceil_mode = integer(0)
    x = operand()

    def kernel(self) -> tuple[int, ...]:
        return self.kernel_shape

    def pooled(self, x: Info) -> Info:
        """The result's element type and dims. Checks C1 to C5."""
        self.check_window(x, self.kernel_shape)
        if min(self.kernel_shape, default=0) < 1:
            fail(self, f"kernel_shape must be positive, got {list(self.kernel_shape)} (C2)")
        n, channels, *sizes = self.to_logical(x.dims)
        spatial = self.spatial_dims(sizes, self.kernel_shape, bool(self.ceil_mode))
        return x.like(self.to_physical([n, channels, *spatial]))

    def cut_axes(self) -> list[bool]:
        """Which spatial axes may be cut."""
        return self.spatial_tiles(self.x, self.results[0])

    def loops(self) -> tuple[str, ...]:
        spatial = ["parallel" if c else "whole" for c in self.cut_axes()]
        return self.to_physical(["parallel", "parallel", *spatial]) + ("reduction",) * len(spatial)

    def operand_tiles(self, tile: Box) -> list[Box]:
        spatial, _ = self.window_tile(tile, self.x, self.results[0])
        return [self.to_physical([*self.to_logical(tile)[:2], *spatial])]

    def on_tile(self, tile: Box, operands: Sequence[Any]) -> Operation:
        _, pads = self.window_tile(tile, self.x, self.results[0])
        # SAME has a count of its own, which its pads give when rounding down.
        ceil = 0 if self.auto_pad.startswith("SAME") else self.ceil_mode
        return on_operands(self, operands, pads=pads, auto_pad="NOTSET", ceil_mode=ceil)

    def flops(self) -> int:
        return math.prod(shape_of(self.results[0].type)) * math.prod(self.kernel_shape)


@ge_op
class MaxPoolOp(Pool):
    """
    y[n, c, p] = max over k of x[n, c, p * stride + k * dilation - pad], padding left out. `indices` are those of the
    maxima in the flattened data (of the last spatial axis first with storage_order 1).

    C1 to C5  as for every window
    C6  storage_order is 0 or 1

        %y = ge.max_pool %x kernel_shape [3, 3] strides [2, 2] pads [1, 1, 1, 1]
               : tensor<1x64x112x112xf32> -> tensor<1x64x56x56xf32>

    Source: ONNX MaxPool-22.
    """

    name = "ge.max_pool"
    onnx = OnnxName("MaxPool", since=1)
    storage_order = integer(0)
    y = result()
    indices = opt_result()

    def infer(self, *operands: Any) -> list[Info]:
        y = self.pooled(operands[0])
        if self.storage_order not in (0, 1):
            fail(self, f"storage_order must be 0 or 1, got {self.storage_order} (C6)")
        return [y, Info(i64, y.dims)][: len(self.results)]

    def loops(self) -> tuple[str, ...]:
        # Indices count elements of the whole tensor: a tile's would be others.
        found = super().loops()
        return found if self.indices is None else tuple(w if w == "reduction" else "whole" for w in found)


@ge_op
class AveragePoolOp(Pool):
    """
    y[n, c, p] = mean over k of x[n, c, p * stride + k * dilation - pad]; padding counts as zeros with
    count_include_pad, otherwise it is left out.

    C1 to C5  as for every window

        %y = ge.average_pool %x kernel_shape [2, 2] strides [2, 2] : tensor<1x8x8x8xf32> -> tensor<1x8x4x4xf32>

    Source: ONNX AveragePool-22.
    """

    name = "ge.average_pool"
    onnx = OnnxName("AveragePool", since=1)
    count_include_pad = integer(0)
    y = result()

    def infer(self, *operands: Any) -> Info:
        return self.pooled(operands[0])

    def cut_axes(self) -> list[bool]:
        found = super().cut_axes()
        if not self.count_include_pad or not any(found):
            return found
        # Elements that ceil_mode adds past the padding do not count; a tile would have them as padding, which does.
        sizes, counts = (self.to_logical(shape_of(v.type))[2:] for v in (self.x, self.y))
        windows = self.windows(sizes)
        assert windows is not None
        return [
            cut and w.start(count - 1) + w.extent <= size + w.after
            for cut, w, size, count in zip(found, windows, sizes, counts, strict=True)
        ]


@ge_op
class LpPoolOp(Pool):
    """
    y[n, c, i] = (sum over k of |x[n, c, i * stride + k * dilation - pad]| ^ p) ^ (1 / p), padding being zeros.

    C1 to C5  as for every window
    C6  p is positive

        %y = ge.lp_pool %x kernel_shape [2] p 3 : tensor<1x8x8xf32> -> tensor<1x8x7xf32>

    Source: ONNX LpPool-22.
    """

    name = "ge.lp_pool"
    onnx = OnnxName("LpPool", since=2)
    p = integer(2)
    y = result()

    def infer(self, *operands: Any) -> Info:
        y = self.pooled(operands[0])
        if self.p < 1:
            fail(self, f"p must be positive, got {self.p} (C6)")
        return y


@shared_attributes
class GlobalPool(Layout, Tiles, Reduction):
    """
    Shared by pooling over all spatial axes; they stay, with one element each.

    C1  the data has a batch, a channel and at least one spatial axis
    C2  data_format is NCHW or NHWC
    """

    data_format = our_text("NCHW")
    x = operand()
    y = result()

    def format(self) -> str:
        return self.data_format

    def infer(self, *operands: Any) -> Info:
        x: Info = operands[0]
        self.check_layout(x, "C1", "C2")
        n, channels, *sizes = self.to_logical(x.dims)
        return x.like(self.to_physical([n, channels, *[1] * len(sizes)]))

    def reduced_axes(self) -> tuple[int, ...]:
        return self.to_logical(range(len(shape_of(self.x.type))))[2:]

    def loops(self) -> tuple[str, ...]:
        spatial = len(self.reduced_axes())
        return self.to_physical(["parallel", "parallel", *["whole"] * spatial]) + ("reduction",) * spatial

    def operand_tiles(self, tile: Box) -> list[Box]:
        n, channels, *_ = self.to_logical(tile)
        return [self.to_physical([n, channels, *self.to_logical(whole(self.x))[2:]])]


@ge_op
class GlobalAveragePoolOp(GlobalPool):
    """
    y[n, c] = mean of x[n, c]

    C1  the data has a batch, a channel and at least one spatial axis
    C2  data_format is NCHW or NHWC

        %y = ge.global_average_pool %x : tensor<1x2048x7x7xf32> -> tensor<1x2048x1x1xf32>

    Source: ONNX GlobalAveragePool-22.
    """

    name = "ge.global_average_pool"
    onnx = OnnxName("GlobalAveragePool", since=1)


@ge_op
class GlobalMaxPoolOp(GlobalPool):
    """
    y[n, c] = maximum of x[n, c]

    C1  the data has a batch, a channel and at least one spatial axis
    C2  data_format is NCHW or NHWC

        %y = ge.global_max_pool %x : tensor<1x2048x7x7xf32> -> tensor<1x2048x1x1xf32>

    Source: ONNX GlobalMaxPool-22.
    """

    name = "ge.global_max_pool"
    onnx = OnnxName("GlobalMaxPool", since=1)


@ge_op
class GlobalLpPoolOp(GlobalPool):
    """
    y[n, c] = (sum of |x[n, c]| ^ p) ^ (1 / p)

    C1  the data has a batch, a channel and at least one spatial axis
    C2  data_format is NCHW or NHWC
    C3  p is positive

        %y = ge.global_lp_pool %x p 1 : tensor<1x2048x7x7xf32> -> tensor<1x2048x1x1xf32>

    Source: ONNX GlobalLpPool-22.
    """

    name = "ge.global_lp_pool"
    onnx = OnnxName("GlobalLpPool", since=2)
    p = integer(2)

    def infer(self, *operands: Any) -> Info:
        y = super().infer(*operands)
        if self.p < 1:
            fail(self, f"p must be positive, got {self.p} (C3)")
        return y
