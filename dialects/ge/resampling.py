"""
Where along an axis the elements of a resize come from, in exact numbers: a tile counts from its own first element, and
has to find the same places and the same weights as the whole.

    8 rows from 4, half_pixel          index 0    1   2   3   4   5   6   7
    Grid(8, -1, 2, 4)                  at   -1/4 1/4 3/4 5/4 7/4 9/4 ...          (2 i - 1) / 4
    its indices 2 to 5, of rows 0 to 2      Grid(4, 3, 2, 4)
    the same one tile further on, of rows 2 to 4                                   no other op
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

TAPS = {"nearest": (0, 1), "linear": (0, 2), "cubic": (-1, 3)}
"""Mode -> elements that an index reads, counted from the one at or before its place: [first, end)."""


@dataclass(frozen=True)
class Grid:
    """Along one axis of a resize the result has `size` elements, and index i lies at (start + i * step) / per."""

    size: int
    start: int
    step: int
    per: int

    @staticmethod
    def of(size: int, start: Fraction, step: Fraction) -> Grid:
        per = math.lcm(start.denominator, step.denominator)
        return Grid(size, int(start * per), int(step * per), per)

    def keeps(self, extent: int) -> bool:
        """Whether this is an axis of `extent` as it is."""
        return (self.size, self.start, self.step) == (extent, 0, self.per)

    def place(self, index: int) -> tuple[int, int]:
        """The element at or before an index' place, and how many `per`-ths the place lies behind it."""
        return divmod(self.start + index * self.step, self.per)

    def nearest(self, index: int, rule: str) -> int:
        """The element nearest to an index' place, by one of ONNX's nearest_mode."""
        floor, rest = self.place(index)
        match rule:
            case "floor":
                return floor
            case "ceil":
                return floor + (rest > 0)
            case "round_prefer_ceil":
                return floor + (2 * rest >= self.per)
            case _:
                return floor + (2 * rest > self.per)

    def reads(self, begin: int, count: int, extent: int, mode: str, rule: str) -> tuple[int, int]:
        """Which of `extent` elements the indices [begin, begin + count) read, by mode and nearest_mode."""
        first, end = TAPS[mode]
        place: Callable[[int], int] = (
            (lambda k: self.nearest(k, rule)) if mode == "nearest" else lambda k: self.place(k)[0]
        )
        low = min(max(place(begin) + first, 0), extent - 1)
        high = min(max(place(begin + count - 1) + end - 1, 0), extent - 1)
        return low, high + 1 - low

    def tile(self, begin: int, count: int, offset: int) -> Grid:
        """The same places for the indices [begin, begin + count), counted from the element at `offset`."""
        start = self.start + begin * self.step - offset * self.per
        return Grid.of(count, Fraction(start, self.per), Fraction(self.step, self.per))


def grid_of(extent: int, size: int, scale: Fraction, transformation: str) -> Grid:
    """
    By one of ONNX's coordinate_transformation_mode other than tf_crop_and_resize.

    extent, size   elements of the axis and of the result's
    """
    width, step = scale * extent, 1 / scale
    center = (step - 1) / 2
    match transformation:
        case "align_corners":
            return Grid.of(size, Fraction(0), (extent - 1) / (width - 1) if width != 1 else Fraction(0))
        case "asymmetric":
            return Grid.of(size, Fraction(0), step)
        case "pytorch_half_pixel" if width == 1:
            return Grid.of(size, Fraction(-1, 2), Fraction(0))
        case "half_pixel_symmetric":
            return Grid.of(size, center + Fraction(extent, 2) * (1 - size / width), step)
        case _:
            return Grid.of(size, center, step)
