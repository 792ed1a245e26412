"""What adds elements around a tensor."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import i32, i64
from xdsl.ir import Attribute, Operation, SSAValue

from .core import ge_op, info_of
from .data import value_of
from .declare import OnnxName, operand, opt_operand, result, text
from .dims import unknown_size
from .errors import fail
from .info import Info, same_dim, same_element
from .interfaces import Box, Joins, box_shape, on_operands, whole
from .shapes import check_single, check_vector, first_cut, numbers_in, vector
from .slicing import Cut, SliceOp, given_axes
from .types import element_of, shape_of


@dataclass(frozen=True)
class _Rows:
    """Along one axis, a tile is `count` elements of the data with so many around them, less the first `skip`."""

    first: int
    count: int
    before: int
    after: int
    skip: int = 0


def _clipped(at: int, end: int, left: int, constant: bool) -> _Rows:
    """[at, end) of data of `left` elements, around which stand constants or the element at the border."""
    first, last = max(at, 0), min(end, left)
    if first < last:
        return _Rows(first, last - first, first - at, end - last)
    border = 0 if end <= 0 else left - 1
    return _Rows(border, 1, -1, end - at) if constant else _Rows(border, 1, end - at - 1, 0)


def _reflected(at: int, end: int, left: int) -> _Rows:
    """[at, end) of data of `left` elements mirrored at its borders: what is mirrored must be there too."""
    before, after = max(-at, 0), max(end - left, 0)
    first = min(max(at, 0), left - 1 - after)
    last = max(min(end, left), before + 1 if before else 0)
    return _Rows(first, last - first, before, after, at - first + before)


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

    def _around(self) -> dict[int, tuple[int, int]] | None:
        """Pads before and after along each axis that is named; None where they are not known."""
        shape, pads = shape_of(self.data.type), numbers_in(self.pads)
        axes = list(range(len(shape))) if self.axes is None else numbers_in(self.axes)
        if axes is None or pads is None:
            return None
        return {a % len(shape): (p, q) for a, p, q in zip(axes, pads, pads[len(axes) :], strict=False)}

    def moved_axes(self) -> Sequence[int] | None:
        around = self._around()
        if around is None:
            return None
        sizes = shape_of(self.data.type)
        return [axis for axis, pad in around.items() if any(pad) and not self._may_cut(sizes[axis], *pad)]

    def _may_cut(self, size: int, before: int, after: int) -> bool:
        left = size + min(before, 0) + min(after, 0)
        if self.mode == "reflect":
            return max(before, after) < left
        return self.mode != "wrap" and left > 0

    def operand_tiles(self, tile: Box) -> list[Box]:
        around = self._around()
        if around is None:
            return super().operand_tiles(tile)
        return first_cut(self, tuple((row.first, row.count) for row in self._rows(tile, around)))

    def on_tile(self, tile: Box, operands: Sequence[SSAValue]) -> Operation:
        around = self._around()
        if around is None:
            return on_operands(self, operands)
        rows = self._rows(tile, around)
        given = iter(operands)
        data, _, *rest = (None if v is None else next(given) for v in self.by_slot())
        pads = vector(*(rows[axis].before for axis in around), *(rows[axis].after for axis in around))
        padded = self.rebuilt([data, pads, *rest])
        if shape_of(padded.output.type) == box_shape(tile):
            return padded
        skips = [row.skip for row in rows]
        ends = [skip + size for skip, (_, size) in zip(skips, tile, strict=True)]
        return SliceOp(padded.output, vector(*skips), vector(*ends))

    def _rows(self, tile: Box, around: Mapping[int, tuple[int, int]]) -> list[_Rows]:
        """What a tile is made of, along each axis."""
        found: list[_Rows] = []
        uncut = self.moved_axes() or ()
        for axis, ((begin, count), size) in enumerate(zip(tile, shape_of(self.data.type), strict=True)):
            before, after = around.get(axis, (0, 0))
            if axis in uncut:
                found.append(_Rows(0, size, before, after))
                continue
            dropped = max(-before, 0)
            left = size - dropped - max(-after, 0)
            at = begin - max(before, 0)
            if self.mode == "reflect":
                row = _reflected(at, at + count, left)
            else:
                row = _clipped(at, at + count, left, self.mode == "constant")
            found.append(replace(row, first=row.first + dropped))
        return found

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
