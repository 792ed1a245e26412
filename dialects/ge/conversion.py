"""Elementwise conversion between element types; quantization.py has what also scales."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import ml_dtypes
import numpy as np
from xdsl.dialects.builtin import Float8E8M0FNUType, f16, f32, f64, i1, i32, i64
from xdsl.ir import Attribute, Operation, SSAValue

from .core import PureOp, ge_op
from .data import Array
from .declare import OnnxName, element_type, integer, operand, result, text
from .dims import Dim, Expr, unknown
from .elementwise import KNOWN, Pointwise, by_element, clipped, in_range, is_positive
from .errors import fail
from .info import Info
from .interfaces import Box, Overwrites, SameBytes, Tiles, on_operands, whole
from .types import element_of, is_as_wide, shape_of

ROUND_MODES = ("up", "down", "nearest")


@ge_op
class CastOp(Pointwise):
    """
    The elements of input in another type. Floats become integers by rounding toward zero, integers keep their low bits,
    truth is what is not zero. For float8 types `saturate` turns what is too large into the largest number, and
    `round_mode` says which power of two a float8e8m0 becomes.

    C1  round_mode is up, down or nearest

        %y = ge.cast %x to f16 : tensor<?x64xf32> -> tensor<?x64xf16>

    Source: ONNX Cast-28.
    """

    name = "ge.cast"
    onnx = OnnxName("Cast", since=6)
    input = operand()
    to = element_type()
    saturate = integer(1)
    round_mode = text("up")
    output = result()

    def infer(self, *operands: Any) -> Info:
        x: Info = operands[0]
        if self.round_mode not in ROUND_MODES:
            fail(self, f"round_mode must be one of {', '.join(ROUND_MODES)}, got {self.round_mode} (C1)")
        return Info(self.to, x.dims, cast_elements(x, self.to))

    def scalar(self, m: Any, *x: Any) -> Any:
        dtype = element_of(self.to).dtype
        if isinstance(self.to, Float8E8M0FNUType):
            return m.astype(_power_of_two(m, x[0], bool(self.saturate), self.round_mode), dtype)
        if self.saturate and dtype.name.startswith("float8"):
            largest = float(cast(Any, ml_dtypes.finfo(dtype)).max)
            return m.astype(clipped(m, x[0], -largest, largest), dtype)
        return m.astype(x[0], dtype)


def _power_of_two(m: Any, x: Any, saturate: bool, round_mode: str) -> Any:
    fraction, exponent = m.frexp(m.astype(x, np.dtype(np.float32)))  # x = fraction * 2^exponent, fraction in [1/2, 1)
    if round_mode != "down":
        exponent = exponent + (fraction > 0.5 if round_mode == "up" else fraction >= 0.75)
    power = m.where(x == 0, -128, m.where(m.isinf(x), 128, exponent - 1))
    lost = m.isnan(x) if saturate else m.logical_or(m.isnan(x), m.abs(power) > 127)
    return m.where(lost, np.nan, m.ldexp(1.0, clipped(m, power, -127, 127)))


def cast_elements(x: Info, to: Attribute) -> Array | None:
    """
    The elements of `x` in type `to` where they are known; those that a type cannot hold exactly are not, apart from
    floats that lose their fraction on the way to integers.
    """
    if x.data is None or x.data.size > KNOWN:
        return None
    integers, floats = (i1, i32, i64), (f16, f32, f64)
    if x.element in integers and to in integers:
        return in_range(by_element(_truth if to == i1 else _number, x.data), to)
    if not {x.element, to} <= {*integers, *floats} or any(isinstance(e, Expr) for e in x.data.flat):
        return None
    given = x.data.astype(element_of(x.element).dtype)
    with np.errstate(all="ignore"):
        found = given.astype(element_of(to).dtype)
        kept = np.trunc(given) if to in (i32, i64) else given.astype(bool) if to == i1 else given
        return found if np.array_equal(found.astype(kept.dtype), kept) else None


def _truth(x: Dim) -> Dim:
    if isinstance(x, Expr):
        return True if is_positive(x) or is_positive(-x) else unknown()
    return bool(x)


def _number(x: Dim) -> Dim:
    return x if isinstance(x, Expr) else int(x)


@ge_op
class CastLikeOp(PureOp, Tiles, Overwrites):
    """
    The elements of input in the type of target_type's, whose own elements mean nothing; the rest as for ge.cast.

    C1  round_mode is up, down or nearest

        %y = ge.cast_like %x, %t : tensor<?x64xf32>, tensor<3xf16> -> tensor<?x64xf16>

    Source: ONNX CastLike-25.
    """

    name = "ge.cast_like"
    onnx = OnnxName("CastLike", since=15)
    input = operand()
    target_type = operand()
    saturate = integer(1)
    round_mode = text("up")
    output = result()

    def infer(self, *operands: Any) -> Info:
        x, target = operands
        if self.round_mode not in ROUND_MODES:
            fail(self, f"round_mode must be one of {', '.join(ROUND_MODES)}, got {self.round_mode} (C1)")
        return Info(target.element, x.dims, cast_elements(x, target.element))

    def loops(self) -> tuple[str, ...]:
        return ("parallel",) * len(shape_of(self.output.type))

    def operand_tiles(self, tile: Box) -> list[Box]:
        return [tile, whole(self.target_type)]

    def overwrites(self) -> tuple[int, ...]:
        return (0,) if is_as_wide(self.input.type, self.output.type) else ()

    def on_tile(self, tile: Box, operands: Sequence[SSAValue]) -> Operation:
        return on_operands(self, operands)


@ge_op
class BitCastOp(PureOp, Tiles, SameBytes):
    """
    The bits of the input as elements of another type of the same width.

    C1  the types have the same width in bits, and are not strings

        %y = ge.bit_cast %x to i32 : tensor<?x64xf32> -> tensor<?x64xi32>

    Source: ONNX BitCast-26.
    """

    name = "ge.bit_cast"
    onnx = OnnxName("BitCast", since=26)
    input = operand()
    to = element_type()
    output = result()

    def infer(self, *operands: Any) -> Info:
        x: Info = operands[0]
        bits, wanted = element_of(x.element).bits, element_of(self.to).bits
        if not bits or bits != wanted:
            fail(self, f"the types must have the same width, got {x.element} and {self.to} (C1)")
        return Info(self.to, x.dims)

    def loops(self) -> tuple[str, ...]:
        return ("parallel",) * len(shape_of(self.output.type))

    def operand_tiles(self, tile: Box) -> list[Box]:
        return [tile]

    def on_tile(self, tile: Box, operands: Sequence[SSAValue]) -> Operation:
        return on_operands(self, operands)
