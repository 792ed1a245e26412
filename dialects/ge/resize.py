"""
Resizing by interpolation.

`data_format` says where the channels of the data stand in memory: "NCHW" (ONNX's, for any number of spatial axes) or
"NHWC". Scales, sizes, roi and axes always speak of ONNX's order of axes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from xdsl.dialects.builtin import f32, i64
from xdsl.ir import Operation, SSAValue

from .core import ge_op, info_of
from .declare import Older, OnnxName, integer, operand, opt_ints, opt_operand, our_ints, our_text, real, result, text
from .dims import Dim, floordiv, unknown_size
from .errors import fail
from .info import Info, axes_of, same_dim
from .interfaces import Box, Tiles, on_operands, whole
from .resampling import Grid, grid_of
from .shapes import first_cut
from .types import is_float, shape_of
from .window import Layout

MODES = {
    "mode": ("nearest", "linear", "cubic"),
    "coordinate_transformation_mode": (
        "half_pixel",
        "half_pixel_symmetric",
        "pytorch_half_pixel",
        "align_corners",
        "asymmetric",
        "tf_crop_and_resize",
    ),
    "nearest_mode": ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil"),
    "keep_aspect_ratio_policy": ("stretch", "not_larger", "not_smaller"),
    "data_format": ("NCHW", "NHWC"),
}
"""What each of the attributes may say."""


BEFORE_11 = {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
"""What Resize-10 and Upsample did, and could not say."""


@ge_op
class ResizeOp(Layout, Tiles):
    """
    y at index i is x interpolated at the place that coordinate_transformation_mode gives for i, along each of `axes`
    (all, without): the nearest element by nearest_mode, linear, or cubic with coefficient cubic_coeff_a.

    The dims are floor(dim * scale), with tf_crop_and_resize floor(dim * (roi end - roi start) * scale), or sizes; by
    keep_aspect_ratio_policy not_larger (not_smaller) one scale for all, the smallest (largest) of size / dim.

    C1  mode, coordinate_transformation_mode, nearest_mode, keep_aspect_ratio_policy and data_format are one of MODES
    C2  axes differ and are axes of x
    C3  either scales, sizes or grid is there: an empty vector is none
    C4  scales is a vector of f32, sizes of i64, with a positive number for each of the axes
    C5  roi is a vector of floats, two for each of the axes, and is there for tf_crop_and_resize
    C6  grid is four numbers for each of the axes: n, a, b, d, with b not negative and d positive. Then there are no
        scales, no sizes, no roi and no antialias: along the axis the result has n elements, and index i lies at
        (a + i b) / d

        %y = ge.resize %x, none, %scales mode "linear"
               : tensor<?x3x8x8xf32>, tensor<4xf32> -> tensor<?x3x16x16xf32>

    `grid` says a tile of a resize; it has no form in ONNX. With antialias and tf_crop_and_resize tiles are along axes
    that are not resized.
    Source: ONNX Resize-19; before 11, and as Upsample from 7 on, where it makes nothing smaller.
    """

    name = "ge.resize"
    onnx = OnnxName(
        "Resize",
        since=11,
        older={
            7: Older("Upsample", ("x", "scales")),
            9: Older("Upsample", ("x", "scales")),
            10: Older("Resize", ("x", "scales")),
        },
        attributes_before={9: {"scales": "scales"}},
    )
    x = operand()
    roi = opt_operand()
    scales = opt_operand()
    sizes = opt_operand()
    antialias = integer(0)
    axes = opt_ints()
    coordinate_transformation_mode = text("half_pixel")
    cubic_coeff_a = real(-0.75)
    exclude_outside = integer(0)
    extrapolation_value = real(0.0)
    keep_aspect_ratio_policy = text("stretch")
    mode = text("nearest")
    nearest_mode = text("round_prefer_floor")
    data_format = our_text("NCHW")
    grid = our_ints()
    y = result()

    @classmethod
    def accepts(cls, attrs: dict[str, Any], operands: int, results: int) -> bool:
        # A mode of opset 11 alone.
        del operands, results
        return attrs.get("coordinate_transformation_mode") != "tf_half_pixel_for_nn"

    @classmethod
    def from_older(cls, version: int, attrs: dict[str, Any], operands: Sequence[Info | None]) -> dict[str, Any] | None:
        # Engines that shrink by these take other elements than those that the text names.
        known = attrs.get("scales")
        if version >= 9:
            known = operands[2].data if len(operands) > 2 and operands[2] is not None else None
        if known is None or any(scale < 1 for scale in known) or attrs.get("mode") not in (None, "nearest", "linear"):
            return None
        return attrs | BEFORE_11

    def to_older(self, version: int) -> dict[str, Any] | None:
        scales = None if self.scales is None else info_of(self.scales).data
        attrs = {name: value for name, value in self.attrs().items() if name not in ("data_format", "mode")}
        same = attrs == BEFORE_11 and self.mode in ("nearest", "linear") and self.roi is None and self.sizes is None
        same = same and scales is not None and all(scale >= 1 for scale in scales)
        return ({} if self.mode == "nearest" else {"mode": self.mode}) if same else None

    def format(self) -> str:
        return self.data_format

    def infer(self, *operands: Any) -> Info:
        x, roi, scales, sizes = operands
        for what, allowed in MODES.items():
            if getattr(self, what) not in allowed:
                fail(self, f"{what} must be one of {', '.join(allowed)}, got {getattr(self, what)} (C1)")
        if self.data_format == "NHWC" and x.rank < 3:
            fail(self, f"x must have a batch, channels and spatial axes for NHWC, got {x.type} (C1)")
        axes = axes_of(self, range(x.rank) if self.axes is None else self.axes, x.rank, "C2")
        scales, sizes = (None if i is None or i.dims == (0,) else i for i in (scales, sizes))
        dims = list(self.to_logical(x.dims))
        if self.grid:
            self._check_grid(len(axes), roi, scales, sizes)
            for axis, size in zip(axes, self.grid[::4], strict=True):
                dims[axis] = size
            return x.like(self.to_physical(dims))
        if (scales is None) == (sizes is None):
            fail(self, "either scales or sizes must be there, and not both (C3)")
        for what, info, element in (("scales", scales, f32), ("sizes", sizes, i64)):
            if info is None:
                continue
            if info.rank != 1 or info.element != element or not same_dim(info.dims[0], len(axes)):
                fail(self, f"{what} must be a vector of {len(axes)} {element}, got {info.type} (C4)")
            if info.data is not None and any(isinstance(n, int | float | np.number) and n <= 0 for n in info.data):
                fail(self, f"{what} must be positive, got {list(info.data)} (C4)")
        crops = self.coordinate_transformation_mode == "tf_crop_and_resize"
        if roi is not None and (roi.rank != 1 or not is_float(roi.element)):
            fail(self, f"roi must be a vector of floats, got {roi.type} (C5)")
        if crops and (roi is None or not same_dim(roi.dims[0], 2 * len(axes))):
            fail(self, f"roi must have {2 * len(axes)} elements, got {None if roi is None else roi.type} (C5)")
        own = [dims[a] for a in axes]
        new = self._sized(own, sizes) if scales is None else self._scaled(own, scales, roi if crops else None)
        for axis, d in zip(axes, new, strict=True):
            dims[axis] = d
        return x.like(self.to_physical(dims))

    def _scaled(self, own: list[Dim], scales: Info, roi: Info | None) -> list[Dim]:
        if scales.data is None or (roi is not None and roi.data is None):
            return [unknown_size() for _ in own]
        factors = [np.float32(s) for s in scales.data]
        if roi is not None and roi.data is not None:
            begins, ends = roi.data[: len(own)], roi.data[len(own) :]
            spans = [np.float32(e) - np.float32(b) for b, e in zip(begins, ends, strict=True)]
            return [
                math.floor(np.float32(d) * r * s) if isinstance(d, int) else unknown_size()
                for d, r, s in zip(own, spans, factors, strict=True)
            ]
        return [_scale(d, s) for d, s in zip(own, factors, strict=True)]

    def _sized(self, own: list[Dim], sizes: Info | None) -> list[Dim]:
        wanted = None if sizes is None else sizes.elements
        if wanted is None:
            return [unknown_size() for _ in own]
        if self.keep_aspect_ratio_policy == "stretch":
            return wanted
        ratio = self._one_ratio(own, wanted)
        if ratio is None:
            return [unknown_size() for _ in own]
        return [math.floor(d * ratio + Fraction(1, 2)) if isinstance(d, int) else d for d in own]

    def _one_ratio(self, own: Sequence[Dim], wanted: Sequence[Dim]) -> Fraction | None:
        """The scale for all axes that keeps the aspect ratio."""
        ratios = [
            Fraction(n, d) for n, d in zip(wanted, own, strict=True) if isinstance(n, int) and isinstance(d, int) and d
        ]
        if len(ratios) < len(own):
            return None
        return min(ratios) if self.keep_aspect_ratio_policy == "not_larger" else max(ratios)

    def _check_grid(self, count: int, *others: Info | None) -> None:
        said = list(self.grid)
        if len(said) != 4 * count or min(said[::4]) < 0 or min(said[2::4]) < 0 or min(said[3::4]) < 1:
            fail(self, f"grid must be a size, a start, a step and a divisor for each of {count} axes, got {said} (C6)")
        if self.antialias or any(info is not None for info in others):
            fail(self, "with a grid there are no scales, no sizes, no roi and no antialias (C6)")

    def grids(self) -> dict[int, Grid] | None:
        """`grids_for` what the operands are known to be."""
        x, _, scales, sizes = (None if v is None else info_of(v) for v in self.by_slot())
        assert x is not None
        return self.grids_for(x, scales, sizes)

    def grids_for(self, x: Info, scales: Info | None, sizes: Info | None) -> dict[int, Grid] | None:
        """
        Where the elements of the result lie along each of the axes, counted from the front in ONNX's order; None where
        it is not known, and where that alone is not what they are made of (antialias, tf_crop_and_resize).
        """
        if self.antialias or self.coordinate_transformation_mode == "tf_crop_and_resize":
            return None
        axes = [a % x.rank for a in (range(x.rank) if self.axes is None else self.axes)]
        if self.grid:
            said = zip(*(self.grid[k::4] for k in range(4)), strict=True)
            return {axis: Grid(*numbers) for axis, numbers in zip(axes, said, strict=True)}
        found: dict[int, Grid] = {}
        own, new = (self.to_logical(dims) for dims in (x.dims, self.infer(x, None, scales, sizes).dims))
        wanted = None if sizes is None else sizes.elements
        one = None if wanted is None else self._one_ratio([own[a] for a in axes], wanted)
        for k, axis in enumerate(axes):
            extent, size = own[axis], new[axis]
            if not isinstance(extent, int) or not isinstance(size, int) or min(extent, size) < 1:
                return None
            if scales is not None and scales.data is not None and scales.data.size:
                ratio = Fraction(float(scales.data[k]))
            else:
                ratio = Fraction(size, extent) if one is None or self.keep_aspect_ratio_policy == "stretch" else one
            found[axis] = grid_of(extent, size, ratio, self.coordinate_transformation_mode)
        return found

    def loops(self) -> tuple[str, ...]:
        rank = len(shape_of(self.y.type))
        words = ["parallel"] * rank
        if self.grids() is None:
            scales = None if self.scales is None else info_of(self.scales).data
            # Along an axis of scale 1 every place is an index. Sizes and roi would be those of the whole.
            fixed = self.coordinate_transformation_mode != "tf_crop_and_resize"
            for k, axis in enumerate(range(rank) if self.axes is None else self.axes):
                if not fixed or scales is None or not scales.size or scales[k] != 1:
                    words[axis] = "whole"
        return self.to_physical(words)

    def operand_tiles(self, tile: Box) -> list[Box]:
        grids = self.grids()
        if grids is None:
            cut = zip(tile, whole(self.x), self.loops(), strict=True)
            return first_cut(self, tuple(t if loop == "parallel" else b for t, b, loop in cut))
        return first_cut(self, self._read(tile, grids))

    def _read(self, tile: Box, grids: Mapping[int, Grid]) -> Box:
        """The box of x that a tile reads."""
        box, extents = list(self.to_logical(tile)), self.to_logical(shape_of(self.x.type))
        for axis, along in grids.items():
            if not along.keeps(extents[axis]):
                begin, count = box[axis]
                box[axis] = along.reads(begin, count, extents[axis], self.mode, self.nearest_mode)
        return self.to_physical(box)

    def on_tile(self, tile: Box, operands: Sequence[SSAValue]) -> Operation:
        grids = self.grids()
        if grids is None:
            return on_operands(self, operands)
        said: list[int] = []
        read, extents = (self.to_logical(v) for v in (self._read(tile, grids), shape_of(self.x.type)))
        axes = [a for a, along in grids.items() if not along.keeps(extents[a])] or list(grids)
        for axis in axes:
            (begin, count), (offset, _) = self.to_logical(tile)[axis], read[axis]
            own = grids[axis].tile(begin, count, offset)
            said += [own.size, own.start, own.step, own.per]
        unsaid = {"coordinate_transformation_mode": None, "keep_aspect_ratio_policy": None}
        return self.rebuilt([operands[0]], grid=said, axes=axes, **unsaid)


def _scale(size: Dim, factor: np.float32) -> Dim:
    """floor(size * factor) as ONNX computes it, in f32; exact for a free dim where the factor is a simple fraction."""
    if isinstance(size, int):
        return math.floor(np.float32(size) * factor)
    exact = Fraction(float(factor))
    simple = exact.denominator <= 64 and exact.numerator <= 64
    return floordiv(size * exact.numerator, exact.denominator) if simple else unknown_size()
