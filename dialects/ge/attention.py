"""
Attention as one op, and the rotation of its positions.

Data is [batch, heads, positions, width] or, with the numbers of heads as attributes, [batch, positions, heads * width].
"""

from __future__ import annotations

import math
from typing import Any

from .core import PureOp, ge_op
from .declare import OnnxName, integer, operand, opt_integer, opt_operand, opt_real, opt_result, real, result
from .dims import Dim, exact_quotient, unknown_size
from .errors import fail
from .info import Info, either, same_dim, same_element
from .interfaces import Box, Contraction, Tiles, broadcast_box, whole
from .types import shape_of


def _heads(op: PureOp, what: str, info: Info, heads: int | None, code: str) -> tuple[Dim, Dim, Dim, Dim]:
    """(batch, heads, positions, width) of data in either form."""
    if info.rank == 4:
        return info.dims[0], info.dims[1], info.dims[2], info.dims[3]
    if info.rank != 3 or not heads or heads < 1:
        fail(op, f"{what} must have rank 4, or rank 3 and a number of heads, got {info.type} and {heads} ({code})")
    batch, positions, row = info.dims
    width = exact_quotient(row, heads)
    if width is None and isinstance(row, int):
        fail(op, f"{what} must have a multiple of {heads} in its last dim, got {row} ({code})")
    return batch, heads, positions, unknown_size() if width is None else width


@ge_op
class AttentionOp(PureOp, Tiles, Contraction):
    """
    y = softmax(scale * q * k^T + mask) * v for each head; past keys and values stand before k and v, and the present
    ones are results. A key head serves q_heads / kv_heads query heads.

    C1  q, k and v have rank 4, or all rank 3 with q_num_heads and kv_num_heads
    C2  they agree in batch, k and v in positions and heads, q and k in width; query heads are a multiple of key heads
    C3  past_key and past_value are given together, and have the heads and widths of k and v
    C4  q and k have one element type, and past_key too; v and past_value have one

        %y = ge.attention %q, %k, %v is_causal 1 : tensor<1x8x?x64xf32>, tensor<1x2x?x64xf32>, tensor<1x2x?x64xf32>
             -> tensor<1x8x?x64xf32>

    Source: ONNX Attention-25.
    """

    name = "ge.attention"
    onnx = OnnxName("Attention", since=23)
    is_causal = integer(0)
    kv_num_heads = opt_integer()
    left_window_size = integer(-1)
    q_num_heads = opt_integer()
    qk_matmul_output_mode = integer(0)
    right_window_size = integer(-1)
    scale = opt_real()
    softcap = real(0.0)
    softmax_precision = opt_integer()
    q = operand()
    k = operand()
    v = operand()
    attn_mask = opt_operand()
    past_key = opt_operand()
    past_value = opt_operand()
    nonpad_kv_seqlen = opt_operand()
    y = result()
    present_key = opt_result()
    present_value = opt_result()
    qk_matmul_output = opt_result()

    def infer(self, *operands: Any) -> list[Info]:
        q, k, v, _, past_key, past_value, _ = operands
        if not q.rank == k.rank == v.rank:
            fail(self, f"q, k and v must have one rank, got {q.type}, {k.type} and {v.type} (C1)")
        batch, heads, positions, width = _heads(self, "q", q, self.q_num_heads, "C1")
        k_dims = _heads(self, "k", k, self.kv_num_heads, "C1")
        v_dims = _heads(self, "v", v, self.kv_num_heads, "C1")
        agree = [(batch, k_dims[0]), (batch, v_dims[0]), (k_dims[1], v_dims[1]), (k_dims[2], v_dims[2])]
        multiple = not (isinstance(heads, int) and isinstance(k_dims[1], int)) or heads % max(k_dims[1], 1) == 0
        if not multiple or not all(same_dim(a, b) for a, b in [*agree, (width, k_dims[3])]):
            fail(self, f"q, k and v must fit each other, got {q.type}, {k.type} and {v.type} (C2)")
        batch = either(either(batch, k_dims[0]), v_dims[0])
        key_element, value_element = same_element(self, "C4", q, k, past_key), same_element(self, "C4", v, past_value)
        total = either(k_dims[2], v_dims[2])
        if (past_key is None) != (past_value is None):
            fail(self, "past_key and past_value must be given together (C3)")
        if past_key is not None:
            for past, now in ((past_key, k_dims), (past_value, v_dims)):
                fits = past.rank == 4 and all(same_dim(past.dims[i], now[i]) for i in (0, 1, 3))
                if not fits:
                    fail(self, f"past keys and values must be [batch, heads, positions, width], got {past.type} (C3)")
            total = total + either(past_key.dims[2], past_value.dims[2])
        y = (batch, heads, positions, v_dims[3]) if q.rank == 4 else (batch, positions, heads * v_dims[3])
        infos = [
            q.like(y),
            Info(key_element, (batch, k_dims[1], total, k_dims[3])),
            Info(value_element, (batch, v_dims[1], total, v_dims[3])),
            q.like((batch, heads, positions, total)),
        ]
        return [info for info, value in zip(infos, self.results_by_slot(), strict=False) if value is not None]

    def loops(self) -> tuple[str, ...]:
        # A query's place among the keys counts where not all of them are seen.
        alone = len(self.results) == 1
        all_seen = not self.is_causal and self.left_window_size < 0 and self.right_window_size < 0
        rows = "parallel" if alone and all_seen else "whole"
        if len(shape_of(self.q.type)) == 3:
            return ("parallel", rows, "whole", "reduction")
        own = alone and shape_of(self.q.type)[1] == shape_of(self.k.type)[1]
        return ("parallel", "parallel" if own else "whole", rows, "whole", "reduction")

    def operand_tiles(self, tile: Box) -> list[Box]:
        batch, rows = tile[0], tile[-2]
        boxes: list[Box] = []
        for slot, value in zip(self.slots, self.by_slot(), strict=True):
            if value is None:
                continue
            own, box = shape_of(value.type), whole(value)
            if slot.name == "q":
                boxes.append((*tile[:-1], box[-1]))
            elif slot.name == "attn_mask":
                heads = tile[1] if len(tile) == 4 else (0, self.q_num_heads or 1)
                boxes.append((*broadcast_box((batch, heads, rows), own[:-1]), box[-1]))
            elif slot.name == "nonpad_kv_seqlen":
                boxes.append((batch,))
            else:
                cut = len(own) == 4 and self.loops()[1] == "parallel" and len(tile) == 4
                boxes.append((batch, tile[1], *box[2:]) if cut else (batch, *box[1:]))
        return boxes

    def flops(self) -> int:
        q, k, v = (shape_of(value.type) for value in (self.q, self.k, self.v))
        keys = k[-2] + (shape_of(self.past_key.type)[2] if self.past_key is not None else 0)
        # Each query meets each key over q's width, and each weight then v's: heads are within the last dim, or before.
        heads = q[1] if len(q) == 4 else 1
        served = heads if len(q) == 4 else (self.q_num_heads or 1) // max(self.kv_num_heads or 1, 1)
        return 2 * q[0] * q[-2] * keys * (heads * q[-1] + served * v[-1])


@ge_op
class RotaryEmbeddingOp(PureOp, Tiles):
    """
    Turns pairs of elements of each position by its angle: (a, b) -> (a cos - b sin, a sin + b cos); the pairs are the
    two halves of a head, or with interleaved 1 neighbours.

    C1  x has rank 4, or rank 3 and num_heads
    C2  the caches have one shape, x's element type, rank 2 with position_ids [batch, positions], else rank 3
    C3  interleaved is 0 or 1

        %y = ge.rotary_embedding %x, %c, %s : tensor<1x8x?x64xf32>, tensor<1x?x32xf32>, tensor<1x?x32xf32>
             -> tensor<1x8x?x64xf32>

    Source: ONNX RotaryEmbedding-23.
    """

    name = "ge.rotary_embedding"
    onnx = OnnxName("RotaryEmbedding", since=23)
    interleaved = integer(0)
    num_heads = opt_integer()
    rotary_embedding_dim = integer(0)
    x = operand()
    cos_cache = operand()
    sin_cache = operand()
    position_ids = opt_operand()
    y = result()

    def infer(self, *operands: Any) -> Info:
        x, cos, sin, ids = operands
        _heads(self, "x", x, self.num_heads, "C1")
        rank = 3 if ids is None else 2
        fits = cos.rank == sin.rank == rank and all(map(same_dim, cos.dims, sin.dims))
        fits = fits and cos.element == sin.element == x.element and (ids is None or ids.rank == 2)
        if not fits:
            got = " and ".join(str(info.type) for info in (cos, sin, ids) if info is not None)
            fail(self, f"the caches must have one shape of rank {rank} and x's element type, got {got} (C2)")
        if self.interleaved not in (0, 1):
            fail(self, f"interleaved must be 0 or 1, got {self.interleaved} (C3)")
        return x

    def loops(self) -> tuple[str, ...]:
        return ("parallel",) * (len(shape_of(self.x.type)) - 1) + ("whole",)

    def operand_tiles(self, tile: Box) -> list[Box]:
        places = (tile[0], tile[-2])
        caches = whole(self.cos_cache)
        if self.position_ids is not None:
            return [tile, caches, caches, broadcast_box(places, shape_of(self.position_ids.type))]
        box = (*broadcast_box(places, shape_of(self.cos_cache.type)[:2]), caches[2])
        return [tile, box, box]

    def flops(self) -> int:
        return 3 * math.prod(shape_of(self.x.type))
