"""Transposed convolution: each element of the data is spread over a window of the result."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from xdsl.ir import Operation

from .core import ge_op
from .declare import OnnxName, integer, ints, operand, opt_operand, result
from .dims import Dim, unknown_size
from .errors import fail
from .info import Info, same_dim, same_element
from .interfaces import Box, Contraction, Tiles, on_operands, whole
from .types import shape_of
from .window import Windowed


@ge_op
class ConvTransposeOp(Windowed, Tiles, Contraction):
    """
    y[n, o, p * stride + k * dilation - pad] += x[n, c, p] * w[c, o, k], from b[o] on; with `group` g, output channels
    of one g-th read input channels of the same g-th. `output_padding` adds elements at the end of an axis;
    `output_shape` gives the spatial dims, and so what is cut off on either side (auto_pad SAME too, with the data's
    size * stride).

    C1 to C4  as for every window; the kernel's shape is w's
    C5  output_padding and output_shape have one entry a spatial axis, none negative
    C6  w has x's rank; channels of x = dim 0 of w, a multiple of group
    C7  x, w and b have one element type
    C8  b is a vector of group * dim 1 of w elements
    C9  the pads leave something of the result

        %y = ge.conv_transpose %x, %w strides [2, 2] pads [1, 1, 1, 1]
               : tensor<1x64x8x8xf32>, tensor<64x32x4x4xf32> -> tensor<1x32x16x16xf32>

    Source: ONNX ConvTranspose-22. (The text before 11 has the sides of an odd padding the other way round where
    output_shape is given; runtimes never did.)
    """

    name = "ge.conv_transpose"
    onnx = OnnxName("ConvTranspose", since=1, implied=("kernel_shape",))
    x = operand()
    w = operand()
    b = opt_operand()
    group = integer(1)
    output_padding = ints(())
    output_shape = ints(())
    y = result()

    def kernel(self) -> tuple[int, ...]:
        return shape_of(self.w.type)[2:]

    def implied(self) -> dict[str, Any]:
        return {"kernel_shape": self.kernel()} if min(self.kernel(), default=-1) > 0 else {}

    def infer(self, *operands: Any) -> Info:
        x, w, b = operands
        kernel = [d if isinstance(d, int) else -1 for d in w.dims[2:]]
        self.check_window(x, kernel)
        n, channels, *sizes = self.to_logical(x.dims)
        for what, values in (("output_padding", self.output_padding), ("output_shape", self.output_shape)):
            if values and (len(values) != len(sizes) or min(values) < 0):
                fail(self, f"{what} must have {len(sizes)} entries, none negative, got {list(values)} (C5)")
        if w.rank != x.rank or not same_dim(channels, w.dims[0]):
            fail(self, f"w must have rank {x.rank} and dim 0 {channels}, got {w.type} (C6)")
        if self.group < 1 or (isinstance(channels, int) and channels % self.group):
            fail(self, f"channels of x must be a multiple of group {self.group}, got {channels} (C6)")
        element = same_element(self, "C7", x, w, b)
        outs = w.dims[1] * self.group
        if b is not None and (b.rank != 1 or not same_dim(b.dims[0], outs)):
            fail(self, f"b must be a vector of {outs} elements, got {b.type} (C8)")
        return Info(element, self.to_physical([n, outs, *self._spatial(sizes, kernel)]))

    def _spatial(self, sizes: Sequence[Dim], kernel: Sequence[int]) -> list[Dim]:
        if self.output_shape:
            return list(self.output_shape)
        count = len(sizes)
        if self.auto_pad.startswith("SAME"):
            return [size * stride for size, stride in zip(sizes, self.steps(count)[0], strict=True)]
        pads = self.pads if self.pads and self.auto_pad == "NOTSET" else (0,) * (2 * count)
        out: list[Dim] = []
        for k, full in enumerate(self._spread(sizes, kernel)):
            dim = full - pads[k] - pads[count + k]
            if isinstance(dim, int) and dim < 0:
                fail(self, f"pads must leave something of axis {k}, got {dim} elements (C9)")
            out.append(dim)
        return out

    def _spread(self, sizes: Sequence[Dim], kernel: Sequence[int]) -> list[Dim]:
        """Dims of the result before anything is cut off."""
        strides, dilations = self.steps(len(sizes))
        more = self.output_padding or (0,) * len(sizes)
        return [
            unknown_size() if k < 0 else (size - 1) * s + m + (k - 1) * d + 1
            for size, k, s, m, d in zip(sizes, kernel, strides, more, dilations, strict=True)
        ]

    def cuts(self, sizes: Sequence[int], kernel: Sequence[int]) -> list[tuple[int, int]]:
        """For each spatial axis, how many elements are cut off before the result, and the result's size."""
        found: list[tuple[int, int]] = []
        for k, (full, dim) in enumerate(zip(self._spread(sizes, kernel), self._spatial(sizes, kernel), strict=True)):
            assert isinstance(full, int)
            assert isinstance(dim, int)
            total = max(full - dim, 0)
            before = total // 2 if self.auto_pad == "SAME_UPPER" else total - total // 2
            if self.auto_pad in ("NOTSET", "VALID") and not self.output_shape:
                before = self.pads[k] if self.pads and self.auto_pad == "NOTSET" else 0
            found.append((before, dim))
        return found

    def _depthwise(self) -> bool:
        """Whether each output channel is a group of its own: then any of them can be computed without the rest."""
        return self.group > 1 and shape_of(self.w.type)[1] == 1

    def loops(self) -> tuple[str, ...]:
        sizes, counts = (self.to_logical(shape_of(v.type))[2:] for v in (self.x, self.y))
        known = min(self.kernel()) > 0
        spatial = ["parallel" if known and min(n, m) > 0 else "whole" for n, m in zip(sizes, counts, strict=True)]
        channels = "parallel" if self.group == 1 or self._depthwise() else "whole"
        return self.to_physical(["parallel", channels, *spatial]) + ("reduction",) * (1 + len(spatial))

    def operand_tiles(self, tile: Box) -> list[Box]:
        n, outs, *_ = self.to_logical(tile)
        rows = [(first, count) for first, count, _, _ in self._spread_onto(tile)]
        channels, inner, *kernel = whole(self.w)
        if self._depthwise():
            each = channels[1] // self.group
            channels = (outs[0] * each, outs[1] * each)
        elif self.group == 1:
            inner = outs
        boxes = [self.to_physical([n, channels, *rows]), (channels, inner, *kernel)]
        return boxes if self.b is None else [*boxes, (outs,)]

    def on_tile(self, tile: Box, operands: Sequence[Any]) -> Operation:
        along = self._spread_onto(tile)
        group = self.to_logical(tile)[1][1] if self._depthwise() else self.group
        changed: dict[str, Any] = {"auto_pad": "NOTSET", "output_shape": None, "group": group}
        return on_operands(
            self,
            operands,
            pads=[before for _, _, before, _ in along] + [max(after, 0) for *_, after in along],
            output_padding=[max(-after, 0) for *_, after in along],
            **changed,
        )

    def _spread_onto(self, tile: Box) -> list[tuple[int, int, int, int]]:
        """
        What of the data is spread onto a tile of the result, along each spatial axis: (offset, elements, how many of
        what they are spread over are cut off before the tile, and after it; less than none where nothing reaches).
        """
        sizes = self.to_logical(shape_of(self.x.type))[2:]
        windows = zip(self.cuts(sizes, self.kernel()), *self.steps(len(sizes)), self.kernel(), strict=True)
        found: list[tuple[int, int, int, int]] = []
        for (begin, count), size, ((cut, dim), s, d, k) in zip(self.to_logical(tile)[2:], sizes, windows, strict=True):
            reach, at = (k - 1) * d, begin + cut
            first, last = 0, size - 1
            if count != dim:
                # Where windows leave gaps an element before the tile is read too: pads are not negative.
                first = min(max(min(-((reach - at) // s), at // s), 0), size - 1)
                last = min(max((at + count - 1) // s, first), size - 1)
            before = at - first * s
            found.append((first, last + 1 - first, before, (last - first) * s + reach + 1 - before - count))
        return found

    def flops(self) -> int:
        return 2 * math.prod(shape_of(self.x.type)) * math.prod(shape_of(self.w.type)[1:])
