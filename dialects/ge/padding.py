"""What adds elements around a tensor."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import i32, i64
from xdsl.ir import Attribute

from .core import ge_op, info_of
from .data import value_of
from .declare import OnnxName, operand, opt_operand, result, text
from .dims import unknown_size
from .errors import fail
from .info import Info, same_dim, same_element
from .interfaces import Box, Joins, box_shape, whole
from .shapes import check_single, check_vector, numbers_in
from .slicing import Cut, given_axes
from .types import element_of, shape_of


@ge_op
class PadOp(Cut, Joins):
    """
    Adds pads[k] elements before and pads[n + k] after along the k-th of n axes (all, without `axes`); removes them
    where negative. What is added is constant_value (0 without it) for mode "constant", the border element for "edge",
    the elements mirrored at the border for "reflect", those from the other side for "wrap".

    C1  mode is constant, reflect, edge or wrap
    C2  pads is a vector of i64, axes one of i32 or i64, with two pads an axis
    C3  axes differ and are axes of the data
    C4  constant_value is one element of the data's type
    C5  no dim of the result is negative

        %y = ge.pad %x, %pads mode "edge" : tensor<?x8xf32>, tensor<4xi64> -> tensor<?x10xf32>

    Source: ONNX Pad-25.
    """

    name = "ge.pad"
    onnx = OnnxName(
        "Pad", since=1, attributes_before={2: {"paddings": "pads"}, 11: {"pads": "pads", "value": "constant_value"}}
    )
    data = operand()
    pads = operand()
    constant_value = opt_operand()
    axes = opt_operand()
    mode = text("constant")
    output = result()

    def infer(self, *operands: Any) -> Info:
        x, pads, fill, axes = operands
        if self.mode not in ("constant", "reflect", "edge", "wrap"):
            fail(self, f"mode must be constant, reflect, edge or wrap, got {self.mode} (C1)")
        check_vector(self, "pads", pads, "C2")
        if axes is not None:
            check_vector(self, "axes", axes, "C2", (i32, i64))
        count = x.rank if axes is None else axes.dims[0]
        if not same_dim(pads.dims[0], 2 * count):
            fail(self, f"pads must have {2 * count} elements, got {pads.type} (C2)")
        if fill is not None:
            same_element(self, "C4", x, fill)
            check_single(self, "constant_value", fill, "C4")
        on = given_axes(self, x.rank, axes, count, "C3")
        wanted = pads.elements
        if on is None:
            return x.like([unknown_size() for _ in x.dims])
        dims = list(x.dims)
        for k, axis in enumerate(on):
            dims[axis] = unknown_size() if wanted is None else dims[axis] + wanted[k] + wanted[len(on) + k]
        if any(isinstance(d, int) and d < 0 for d in dims):
            fail(self, f"no dim of the result can be negative, got {dims} (C5)")
        return x.like(dims)

    def moved_axes(self) -> Sequence[int] | None:
        rank = len(shape_of(self.data.type))
        axes = list(range(rank)) if self.axes is None else numbers_in(self.axes)
        pads = numbers_in(self.pads)
        if axes is None or pads is None:
            return None
        return [a % rank for k, a in enumerate(axes) if pads[k] or pads[len(axes) + k]]

    def joins(self) -> list[Box | None]:
        interior = self._interior()
        return [interior, *(None for _ in self.operands[1:])]

    def fills(self) -> list[tuple[Box, Attribute]]:
        interior = self._interior()
        if interior is None:
            return []
        result = whole(self.output)
        slabs: list[Box] = []
        for k, ((begin, size), (_, dim)) in enumerate(zip(interior, result, strict=True)):
            for at, count in ((0, begin), (begin + size, dim - begin - size)):
                slab = (*interior[:k], (at, count), *result[k + 1 :])
                if math.prod(box_shape(slab)):
                    slabs.append(slab)
        element = element_of(cast(Any, self.output.type).element_type)
        known = None if self.constant_value is None else info_of(self.constant_value).data
        fill: Any = 0 if known is None else known
        return [(slab, value_of(np.full(box_shape(slab), fill, element.dtype))) for slab in slabs]

    def _interior(self) -> Box | None:
        """Where the data stands in the result; None where elements are dropped, or what is around them is not known."""
        shape, pads = shape_of(self.data.type), numbers_in(self.pads)
        axes = list(range(len(shape))) if self.axes is None else numbers_in(self.axes)
        if self.mode != "constant" or axes is None or pads is None or min(pads, default=0) < 0:
            return None
        if self.constant_value is not None and info_of(self.constant_value).data is None:
            return None
        before = [0] * len(shape)
        for axis, count in zip(axes, pads, strict=False):
            before[axis] = count
        return tuple(zip(before, shape, strict=True))
