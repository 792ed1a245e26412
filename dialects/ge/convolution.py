"""
Convolution: products of a window of the data with weights.

Weights keep ONNX's layout (output channels, input channels of one group, kernel), whatever `data_format` says of the
data. Files: window.py (windows and pads), transposed_convolution.py, quantized.py (convolution of integers).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from xdsl.ir import Operation

from .core import ge_op, shared_attributes
from .declare import OnnxName, Tensor, integer, operand, opt_operand, result
from .dims import Dim
from .errors import fail
from .info import Info, either, same_dim, same_element
from .interfaces import Box, Contraction, Tiles, on_operands, whole
from .types import shape_of
from .window import Windowed


@shared_attributes
class Convolution(Windowed, Tiles, Contraction):
    """
    Shared by convolutions of data `x` with weights `w`; with `group` g, output channels of one g-th read input channels
    of the same g-th.

    C1 to C5  as for every window; the kernel's shape is w's
    C6  w has x's rank; channels of x = group * dim 1 of w; output channels are a multiple of group
    """

    if TYPE_CHECKING:
        x: Tensor
        w: Tensor

    group = integer(1)
    PER_CHANNEL: ClassVar[tuple[str, ...]] = ()
    """Operands that have an element an output channel, or one for all."""

    def kernel(self) -> tuple[int, ...]:
        return shape_of(self.w.type)[2:]

    def implied(self) -> dict[str, Any]:
        return {"kernel_shape": self.kernel()} if min(self.kernel(), default=-1) > 0 else {}

    def convolved(self, x: Info, w: Info) -> list[Dim]:
        """Logical dims of the result. Checks C1 to C6."""
        kernel = [d if isinstance(d, int) else -1 for d in w.dims[2:]]
        self.check_window(x, kernel)
        if w.rank != x.rank:
            fail(self, f"w must have the rank of x, {x.rank}, got {w.type} (C6)")
        n, channels, *sizes = self.to_logical(x.dims)
        outs = w.dims[0]
        if self.group < 1 or not same_dim(channels, w.dims[1] * self.group):
            fail(self, f"x must have {w.dims[1]} * {self.group} channels, got {channels} (C6)")
        if isinstance(outs, int) and outs % self.group:
            fail(self, f"output channels must be a multiple of group {self.group}, got {outs} (C6)")
        return [n, outs, *self.spatial_dims(sizes, kernel)]

    def _depthwise(self) -> bool:
        """Whether each output channel is a group of its own: then any of them can be computed without the rest."""
        return self.group > 1 and shape_of(self.w.type)[0] == self.group

    def loops(self) -> tuple[str, ...]:
        channels = "parallel" if self.group == 1 or self._depthwise() else "whole"
        cut = self.spatial_tiles(self.x, self.results[0])
        spatial = ["parallel" if c else "whole" for c in cut]
        return self.to_physical(("parallel", channels, *spatial)) + ("reduction",) * (1 + len(spatial))

    def operand_tiles(self, tile: Box) -> list[Box]:
        n, outs, *_ = self.to_logical(tile)
        spatial, _ = self.window_tile(tile, self.x, self.results[0])
        inner = shape_of(self.w.type)[1]
        channels = (outs[0] * inner, outs[1] * inner) if self._depthwise() else (0, inner * self.group)
        boxes: list[Box] = []
        for slot, value in zip(self.slots, self.by_slot(), strict=True):
            if value is None:
                continue
            if slot.name == "x":
                boxes.append(self.to_physical([n, channels, *spatial]))
            elif slot.name == "w":
                boxes.append((outs, *whole(value)[1:]))
            else:
                shared = slot.name not in self.PER_CHANNEL or shape_of(value.type) in ((), (1,))
                boxes.append(whole(value) if shared else (outs,))
        return boxes

    def on_tile(self, tile: Box, operands: Sequence[Any]) -> Operation:
        _, pads = self.window_tile(tile, self.x, self.results[0])
        group = self.to_logical(tile)[1][1] if self._depthwise() else self.group
        return on_operands(self, operands, pads=pads, auto_pad="NOTSET", group=group)

    def flops(self) -> int:
        return 2 * math.prod(shape_of(self.results[0].type)) * math.prod(shape_of(self.w.type)[1:])


@ge_op
class ConvOp(Convolution):
    """
    y[n, o, p] = b[o] + sum over c, k of x[n, c, p * stride + k * dilation - pad] * w[o, c, k]; with `group` g, output
    channels of one g-th read input channels of the same g-th.

    C1 to C5  as for every window; the kernel's shape is w's
    C6  w has x's rank; channels of x = group * dim 1 of w; output channels are a multiple of group
    C7  x, w and b have one element type
    C8  b is a vector of output channels

        %y = ge.conv %x, %w, %b strides [2, 2] pads [3, 3, 3, 3]
               : tensor<1x3x224x224xf32>, tensor<64x3x7x7xf32>, tensor<64xf32> -> tensor<1x64x112x112xf32>

    Source: ONNX Conv-22.
    """

    name = "ge.conv"
    onnx = OnnxName("Conv", since=1, implied=("kernel_shape",))
    PER_CHANNEL: ClassVar[tuple[str, ...]] = ("b",)
    x = operand()
    w = operand()
    b = opt_operand()
    y = result()

    def infer(self, *operands: Any) -> Info:
        x, w, b = operands
        n, outs, *sizes = self.convolved(x, w)
        element = same_element(self, "C7", x, w, b)
        if b is not None and (b.rank != 1 or not same_dim(b.dims[0], outs)):
            fail(self, f"b must be a vector of {outs} elements, got {b.type} (C8)")
        if b is not None:
            outs = either(outs, b.dims[0])
        return Info(element, self.to_physical([n, outs, *sizes]))
