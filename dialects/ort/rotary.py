"""Rotary positions: angles from a cache, by position."""

from __future__ import annotations

import math
from typing import Any

from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from ..ge.arithmetic import AddOp, MulOp, SubOp
from ..ge.composed import Maker
from ..ge.core import PureOp, ge_op
from ..ge.declare import OnnxName, integer, operand, real, result
from ..ge.dims import Dim
from ..ge.errors import fail
from ..ge.gather import GatherOp
from ..ge.info import Info, info_of_type, same_dim, same_element
from ..ge.interfaces import Box, Composed, Tiles, whole
from ..ge.movement import SqueezeOp, UnsqueezeOp
from ..ge.slicing import ConcatOp
from ..ge.types import shape_of
from .activation import MICROSOFT
from .attention import quotient


@ge_op
class RotaryEmbeddingOp(PureOp, Tiles, Composed):
    """
    Turns pairs of elements of each position by its angle: (a, b) -> (a cos - b sin, a sin + b cos); the pairs are the
    two halves of a head's first elements, or with interleaved 1 neighbours. The rest of a head stays.

    C1  x is [batch, positions, heads * width] or [batch, heads, positions, width]
    C2  position_ids are [batch, positions] of i64, or one number at which positions start
    C3  the caches are matrices of one known width, half of what is turned, of x's element type
    C4  rotary_embedding_dim is 0 or that, with num_heads; else a head is what is turned
    C5  scale is 1, is_packed_batching is 0

        %y = ort.rotary_embedding %x, %i, %c, %s : tensor<1x4x512xf32>, tensor<1x4xi64>, tensor<99x32xf32>,
             tensor<99x32xf32> -> tensor<1x4x512xf32>

    Source: com.microsoft RotaryEmbedding-1.
    """

    name = "ort.rotary_embedding"
    onnx = OnnxName("RotaryEmbedding", domain=MICROSOFT)
    input = operand()
    position_ids = operand()
    cos_cache = operand()
    sin_cache = operand()
    interleaved = integer(0)
    is_packed_batching = integer(0)
    num_heads = integer(0)
    rotary_embedding_dim = integer(0)
    scale = real(1.0)
    output = result()

    def infer(self, *operands: Any) -> Info:
        x, ids, cos, sin = operands
        if x.rank not in (3, 4):
            fail(self, f"x must be [batch, positions, row] or [batch, heads, positions, width], got {x.type} (C1)")
        dims = (x.dims[0], x.dims[1] if x.rank == 3 else x.dims[2])
        one = ids.rank == 1 and ids.dims[0] == 1
        if ids.element != i64 or not (one or (ids.rank == 2 and all(map(same_dim, ids.dims, dims)))):
            fail(self, f"position_ids must be {list(dims)} or one number, of i64, got {ids.type} (C2)")
        fits = cos.rank == sin.rank == 2 and all(map(same_dim, cos.dims, sin.dims)) and isinstance(cos.dims[1], int)
        if not fits or same_element(self, "C3", x, cos, sin) != x.element:
            fail(self, f"the caches must be matrices of one width, got {cos.type} and {sin.type} (C3)")
        turned = 2 * cos.dims[1]
        if self.rotary_embedding_dim not in (0, turned) or (self.rotary_embedding_dim and self.num_heads < 1):
            fail(self, f"rotary_embedding_dim must be 0 or {turned}, with num_heads (C4)")
        width = self.width(x, turned)
        if isinstance(width, int) and (width < turned or (isinstance(x.dims[-1], int) and x.dims[-1] % width)):
            fail(self, f"a head must have {turned} elements, or more with rotary_embedding_dim, got {x.type} (C4)")
        if self.scale != 1 or self.is_packed_batching:
            fail(self, "scale must be 1 and is_packed_batching 0 (C5)")
        return x.like(x.dims)

    def width(self, x: Info, turned: int) -> Dim:
        """Elements of a head."""
        if x.rank == 4:
            return x.dims[3]
        return quotient(x.dims[2], self.num_heads) if self.rotary_embedding_dim else turned

    def flops(self) -> int:
        return 3 * math.prod(shape_of(self.input.type))

    def loops(self) -> tuple[str, ...]:
        words = ["parallel"] * (len(shape_of(self.input.type)) - 1)
        if len(shape_of(self.position_ids.type)) == 1:
            words[-1] = "whole"  # positions are counted on from one number
        return (*words, "whole")

    def operand_tiles(self, tile: Box) -> list[Box]:
        ids = whole(self.position_ids)
        places = ids if len(ids) == 1 else (tile[0], tile[-2])
        return [tile, places, whole(self.cos_cache), whole(self.sin_cache)]

    def expansion(self, make: Maker, *operands: Any) -> SSAValue:
        x, ids, cos, sin = operands
        info = info_of_type(x.type)
        turned = 2 * shape_of(cos.type)[1]
        width = self.width(info, turned)
        if not isinstance(width, int):
            fail(self, "the width of a head must be known to be written otherwise")
        data = make.reshape(x, 0, 0, -1, width) if info.rank == 3 else x
        positions, heads = (1, 2) if info.rank == 3 else (2, 1)
        if info_of_type(ids.type).rank == 1:
            ids = make(UnsqueezeOp, make(AddOp, make.count(make.size(x, positions)), ids), make.ints(0))
        angles = [make(UnsqueezeOp, make(GatherOp, cache, ids), make.ints(heads)) for cache in (cos, sin)]
        y = rotated(make, data, angles[0], angles[1], turned, bool(self.interleaved))
        if info.rank == 4:
            return y
        row = info.dims[2]
        return make.reshape(y, 0, 0, row if isinstance(row, int) else -1)


def rotated(make: Maker, x: SSAValue, cos: SSAValue, sin: SSAValue, turned: int, interleaved: bool) -> SSAValue:
    """
    `x` with pairs of the first `turned` elements of its last axis turned.

    cos, sin   of the angles, one for each pair; they broadcast against the pairs
    """
    width, half = shape_of(x.type)[3], turned // 2
    first = make.slice(x, 0, turned, 3) if turned < width else x
    if interleaved:
        pairs = make.reshape(first, 0, 0, 0, half, 2)
        a, b = (make(SqueezeOp, make.slice(pairs, k, k + 1, 4), make.ints(4)) for k in (0, 1))
    else:
        a, b = make.slice(first, 0, half, 3), make.slice(first, half, turned, 3)
    new = [
        make(SubOp, make(MulOp, a, cos), make(MulOp, b, sin)),
        make(AddOp, make(MulOp, a, sin), make(MulOp, b, cos)),
    ]
    if interleaved:
        pairs = make(ConcatOp, *(make(UnsqueezeOp, part, make.ints(4)) for part in new), axis=4)
        y = make.reshape(pairs, 0, 0, 0, turned)
    else:
        y = make(ConcatOp, *new, axis=3)
    return y if turned == width else make(ConcatOp, y, make.slice(x, turned, width, 3), axis=3)
