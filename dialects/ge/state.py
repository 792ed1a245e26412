"""
Ops that carry a state from call to call: caches of keys and values, and what a recurrence has come to.

What is carried is an operand and a result, so that a planner may write the new over the old.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from .arithmetic import AddOp, MulOp
from .composed import Maker
from .convolution import ConvOp
from .core import PureOp, ge_op
from .declare import OnnxName, integer, operand, opt_operand, real, result, text
from .dims import Dim, exact_quotient, unknown_size
from .errors import fail
from .info import Info, axis_of, either, same_dim, same_element
from .interfaces import Box, Composed, Contraction, Movement, Overwrites, Tiles, Work, whole
from .movement import UnsqueezeOp
from .padding import PadOp
from .slicing import ConcatOp, SliceOp
from .smooth import SigmoidOp
from .types import shape_of


@ge_op
class TensorScatterOp(PureOp, Movement, Tiles, Overwrites):
    """
    The cache with the slices of `update` along `axis` in place of its own, from write_indices[batch] on (0 without);
    with mode "circular" what runs over the end goes on at the start.

    C1  axis is one of past_cache, and not the batch's
    C2  update has the cache's element type, and its dims apart from axis, where it is no longer
    C3  write_indices is a vector of i64, one a batch
    C4  mode is linear or circular

        %y = ge.tensor_scatter %c, %u, %i
               : tensor<1x8x1024x64xf16>, tensor<1x8x1x64xf16>, tensor<1xi64> -> tensor<1x8x1024x64xf16>

    Source: ONNX TensorScatter-24.
    """

    name = "ge.tensor_scatter"
    onnx = OnnxName("TensorScatter", since=24)
    past_cache = operand()
    update = operand()
    write_indices = opt_operand()
    axis = integer(-2)
    mode = text("linear")
    present_cache = result()

    def infer(self, *operands: Any) -> Info:
        cache, update, indices = operands
        axis = axis_of(self, self.axis, cache.rank, "C1")
        if not axis:
            fail(self, "axis must not be the batch's (C1)")
        same_element(self, "C2", cache, update)
        fits = update.rank == cache.rank and all(
            same_dim(u, d) for k, (u, d) in enumerate(zip(update.dims, cache.dims, strict=True)) if k != axis
        )
        longest, length = cache.dims[axis], update.dims[axis] if fits else 0
        if not fits or (isinstance(length, int) and isinstance(longest, int) and length > longest):
            fail(self, f"update must be a part of {cache.type} along axis {axis}, got {update.type} (C2)")
        if indices is not None and (
            indices.rank != 1 or indices.element != i64 or not same_dim(indices.dims[0], cache.dims[0])
        ):
            fail(self, f"write_indices must be a vector of {cache.dims[0]} i64, got {indices.type} (C3)")
        if self.mode not in ("linear", "circular"):
            fail(self, f"mode must be linear or circular, got {self.mode} (C4)")
        return cache.like(
            [d if k == axis else either(d, u) for k, (d, u) in enumerate(zip(cache.dims, update.dims, strict=True))]
        )

    def loops(self) -> tuple[str, ...]:
        rank = len(shape_of(self.past_cache.type))
        return tuple("whole" if k == self.axis % rank else "parallel" for k in range(rank))

    def operand_tiles(self, tile: Box) -> list[Box]:
        axis = self.axis % len(tile)
        update = (*tile[:axis], whole(self.update)[axis], *tile[axis + 1 :])
        return [tile, update, *([(tile[0],)] if self.write_indices is not None else [])]

    def overwrites(self) -> tuple[int, ...]:
        alone = self.past_cache not in (self.update, self.write_indices)
        return (0,) if alone and self.past_cache.type == self.present_cache.type else ()


@ge_op
class CausalConvWithStateOp(PureOp, Tiles, Work, Composed):
    """
    The convolution of each channel with a kernel of its own, over the state and then the input, so that a position sees
    itself and those before it; then, with activation, z / (1 + exp(-z)). The new state is the last positions that the
    next call sees. Without past_state it is 0.

    C1  input is [batch, channels, positions], weight [channels, 1, k]
    C2  bias is a vector of channels, past_state is [batch, channels, k - 1]; operands have one element type
    C3  activation is none, silu or swish

        %y, %s = ge.causal_conv_with_state %x, %w, %b, %p : tensor<1x64x?xf32>, tensor<64x1x4xf32>, tensor<64xf32>,
             tensor<1x64x3xf32> -> tensor<1x64x?xf32>, tensor<1x64x3xf32>

    Source: ONNX CausalConvWithState-27.
    """

    name = "ge.causal_conv_with_state"
    onnx = OnnxName("CausalConvWithState", since=27)
    input = operand()
    weight = operand()
    bias = opt_operand()
    past_state = opt_operand()
    activation = text("none")
    output = result()
    present_state = result()

    def infer(self, *operands: Any) -> list[Info]:
        x, w, b, past = operands
        if x.rank != 3 or w.rank != 3 or not same_dim(w.dims[0], x.dims[1]) or not same_dim(w.dims[1], 1):
            fail(self, f"input must be [batch, channels, n] and weight [channels, 1, k], got {x.type}, {w.type} (C1)")
        same_element(self, "C2", x, w, b, past)
        state = (x.dims[0], either(x.dims[1], w.dims[0]), w.dims[2] - 1)
        if b is not None and (b.rank != 1 or not same_dim(b.dims[0], state[1])):
            fail(self, f"bias must be a vector of {state[1]}, got {b.type} (C2)")
        if past is not None and (past.rank != 3 or not all(map(same_dim, past.dims, state))):
            fail(self, f"past_state must be {list(state)}, got {past.type} (C2)")
        if self.activation not in ("none", "silu", "swish"):
            fail(self, f"activation must be none, silu or swish, got {self.activation} (C3)")
        return [x.like((state[0], state[1], x.dims[2])), x.like(state)]

    def loops(self) -> tuple[str, ...]:
        return ("parallel", "parallel", "whole")

    def operand_tiles(self, tile: Box) -> list[Box]:
        batch, channels = tile[:2]
        boxes: list[Box] = []
        for slot, value in zip(self.slots, self.by_slot(), strict=True):
            if value is not None:
                own = {"weight": (channels,), "bias": (channels,)}.get(slot.name, (batch, channels))
                boxes.append((*own, *whole(value)[len(own) :]))
        return boxes

    def flops(self) -> int:
        batch, channels, positions = shape_of(self.output.type)
        return 2 * batch * channels * positions * shape_of(self.weight.type)[2]

    def expansion(self, make: Maker, *operands: Any) -> Sequence[SSAValue]:
        x, w, b, past = operands
        channels, _, k = shape_of(w.type)
        if channels < 0 or k < 0:
            fail(self, "the weight's shape must be known to be written otherwise")
        before = make(PadOp, x, make.ints(0, 0, k - 1, 0, 0, 0)) if past is None else make(ConcatOp, past, x, axis=2)
        y = make(ConvOp, before, w, b, group=channels)
        if self.activation != "none":
            y = make(MulOp, y, make(SigmoidOp, y))
        last = make.size(before, 2)
        start = make(AddOp, last, make.constant(np.int64(1 - k)))
        ends = [make(UnsqueezeOp, at, make.ints(0)) for at in (start, last)]
        return [y, make(SliceOp, before, *ends, make.ints(2))]


@ge_op
class LinearAttentionOp(PureOp, Tiles, Contraction):
    """
    A recurrence over positions whose state is a matrix for each key head. With update_rule "linear" the state gains
    k^T v at each position; "gated" first lets it decay by exp(decay); "delta" adds beta * k^T (v - k S) instead; and
    "gated_delta" does both. The output is scale * q S (1 / sqrt(width of a head) for scale 0).

    C1  query, key and value are [batch, positions, heads * width], of one element type; query heads are a multiple of
        key heads
    C2  past_state is [batch, key heads, key width, value width]
    C3  decay is there for the gated rules, beta for the delta rules
    C4  update_rule is linear, gated, delta or gated_delta

        %y, %s = ge.linear_attention %q, %k, %v kv_num_heads 2 q_num_heads 2 update_rule "linear"
               : tensor<1x5x8xf32>, tensor<1x5x8xf32>, tensor<1x5x6xf32> -> tensor<1x5x6xf32>, tensor<1x2x4x3xf32>

    Source: ONNX LinearAttention-27.
    """

    name = "ge.linear_attention"
    onnx = OnnxName("LinearAttention", since=27)
    query = operand()
    key = operand()
    value = operand()
    past_state = opt_operand()
    decay = opt_operand()
    beta = opt_operand()
    chunk_size = integer(64)
    kv_num_heads = integer()
    q_num_heads = integer()
    scale = real(0.0)
    update_rule = text("gated_delta")
    output = result()
    present_state = result()

    def infer(self, *operands: Any) -> list[Info]:
        q, k, v, past, decay, beta = operands
        heads, groups = self.q_num_heads, self.kv_num_heads
        if not q.rank == k.rank == v.rank == 3 or groups < 1 or heads < groups or heads % groups:
            fail(self, f"query, key and value must be [batch, positions, heads * width], got {q.type}, {k.type} (C1)")
        element = same_element(self, "C1", q, k, v)
        widths = [self._width(info, count) for info, count in ((q, heads), (k, groups), (v, groups))]
        pairs = [(q.dims[0], k.dims[0]), (q.dims[0], v.dims[0]), (q.dims[1], k.dims[1]), (k.dims[1], v.dims[1])]
        if not all(same_dim(*pair) for pair in [*pairs, (widths[0], widths[1])]):
            fail(self, f"query, key and value must fit each other, got {q.type}, {k.type} and {v.type} (C1)")
        state = (q.dims[0], groups, widths[1], widths[2])
        if past is not None and (past.rank != 4 or not all(map(same_dim, past.dims, state))):
            fail(self, f"past_state must be {list(state)}, got {past.type} (C2)")
        if self.update_rule not in ("linear", "gated", "delta", "gated_delta"):
            fail(self, f"update_rule must be linear, gated, delta or gated_delta, got {self.update_rule} (C4)")
        for what, info, word in (("decay", decay, "gated"), ("beta", beta, "delta")):
            if info is None and word in self.update_rule:
                fail(self, f"{what} must be given for update_rule {self.update_rule} (C3)")
        carried = past.element if past is not None else element
        return [q.like((*q.dims[:2], widths[2] * heads)), Info(carried, state)]

    def loops(self) -> tuple[str, ...]:
        return ("parallel", "whole", "whole")

    def operand_tiles(self, tile: Box) -> list[Box]:
        return [(tile[0], *whole(v)[1:]) for v in self.operands]

    def _width(self, info: Info, heads: int) -> Dim:
        width = exact_quotient(info.dims[2], heads)
        if width is None and isinstance(info.dims[2], int):
            fail(self, f"rows must be a multiple of {heads} heads, got {info.type} (C1)")
        return unknown_size() if width is None else width

    def flops(self) -> int:
        batch, positions, _ = shape_of(self.query.type)
        _, _, width, values = shape_of(self.present_state.type)
        return 4 * batch * positions * self.q_num_heads * width * values
