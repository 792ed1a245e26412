"""
Attention to a cache: several query heads share a head of keys and values, of which a buffer holds those that were seen.

Each row of a batch has as many keys as `seqlens_k` says, less one; the new ones are the last of them.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any, cast

import ml_dtypes
import numpy as np
from xdsl.dialects.builtin import i32, i64
from xdsl.ir import SSAValue

from ..ge.arithmetic import AddOp, DivOp, MaxOp, MinOp, MulOp, SubOp
from ..ge.comparison import AndOp, GreaterOp, LessOp, WhereOp
from ..ge.composed import Maker, element
from ..ge.contraction import MatMulOp
from ..ge.core import PureOp, ge_op
from ..ge.declare import OnnxName, integer, operand, opt_operand, opt_result, real, result, text
from ..ge.dims import Dim, unknown_size
from ..ge.elementwise import larger
from ..ge.errors import fail
from ..ge.gather import GatherNDOp, GatherOp
from ..ge.info import Info, same_dim, same_element
from ..ge.interfaces import Composed, Contraction
from ..ge.movement import ReshapeOp, UnsqueezeOp
from ..ge.padding import PadOp
from ..ge.slicing import ConcatOp
from ..ge.softmax import SoftmaxOp
from ..ge.trigonometry import TanhOp
from ..ge.types import element_of, is_float, shape_of
from .activation import MICROSOFT
from .rotary import rotated


@ge_op
class GroupQueryAttentionOp(PureOp, Contraction, Composed):
    """
    Attention of each position to those before it and itself, of its batch's past_key and of the new keys; with
    do_rotary queries and new keys are turned by their position first. Past keys of a batch are seqlens_k + 1 less the
    number of positions; new ones stand behind them in present_key, whose length is past_key's or total_sequence_length
    if that is more. With local_window_size a position sees so many keys at most. What stands in a row of positions, or
    of present_key, beyond the count of its batch is anything.

    C1  query is [batch, positions, num_heads * width], key and value have kv_num_heads for num_heads; without them
        query has all three side by side; of floats of one type
    C2  num_heads is a multiple of kv_num_heads
    C3  past_key and past_value are given together, [batch, kv_num_heads, length, width]
    C4  seqlens_k is [batch], total_sequence_length one number, of i32
    C5  with do_rotary the caches are matrices of one known width, which at most half a head has
    C6  what is beyond this is left out: position_ids, attention_bias, head_sink, scales and norms of keys, causal 0,
        smooth_softmax, the scores as a result

        %y, %k2, %v2 = ort.group_query_attention %q, %k, %v, %pk, %pv, %n, %t kv_num_heads 2 num_heads 4
               : tensor<1x1x32xf32>, tensor<1x1x16xf32>, tensor<1x1x16xf32>, tensor<1x2x9x8xf32>, tensor<1x2x9x8xf32>,
                 tensor<1xi32>, tensor<i32> -> tensor<1x1x32xf32>, tensor<1x2x?x8xf32>, tensor<1x2x?x8xf32>

    Source: com.microsoft GroupQueryAttention-1.
    """

    name = "ort.group_query_attention"
    onnx = OnnxName("GroupQueryAttention", domain=MICROSOFT)
    query = operand()
    key = opt_operand()
    value = opt_operand()
    past_key = opt_operand()
    past_value = opt_operand()
    seqlens_k = operand()
    total_sequence_length = operand()
    cos_cache = opt_operand()
    sin_cache = opt_operand()
    position_ids = opt_operand()
    attention_bias = opt_operand()
    head_sink = opt_operand()
    k_scale = opt_operand()
    v_scale = opt_operand()
    q_norm_weight = opt_operand()
    k_norm_weight = opt_operand()
    query_seqlens = opt_operand()
    causal = integer(1)
    do_rotary = integer(0)
    k_quant_type = text("NONE")
    kv_cache_bit_width = integer(0)
    kv_num_heads = integer()
    local_window_size = integer(-1)
    num_heads = integer()
    qk_output = integer(0)
    rotary_interleaved = integer(0)
    scale = real(0.0)
    sliding_window_cache = integer(0)
    smooth_softmax = integer(0)
    softcap = real(0.0)
    v_quant_type = text("NONE")
    output = result()
    present_key = opt_result()
    present_value = opt_result()
    output_qk = opt_result()

    def infer(self, *operands: Any) -> list[Info]:
        q, k, v, past_k, past_v, counts, total, cos, sin, *others = operands
        heads, groups = self.num_heads, self.kv_num_heads
        if groups < 1 or heads < groups or heads % groups:
            fail(self, f"num_heads must be a multiple of kv_num_heads, got {heads} and {groups} (C2)")
        if q.rank != 3 or (k is None) != (v is None) or not is_float(same_element(self, "C1", q, k, v, past_k, past_v)):
            fail(self, f"query must be [batch, positions, num_heads * width], got {q.type} (C1)")
        width = self._width(q.dims[2], heads if k is not None else heads + 2 * groups)
        for info in (k, v):
            if info is not None and not all(map(same_dim, info.dims, (*q.dims[:2], groups * width))):
                fail(self, f"key and value must be {[*q.dims[:2], groups * width]}, got {info.type} (C1)")
        if (past_k is None) != (past_v is None):
            fail(self, "past_key and past_value must be given together (C3)")
        for info in (past_k, past_v):
            if info is not None and not (
                info.rank == 4 and all(map(same_dim, info.dims, (q.dims[0], groups, past_k.dims[2], width)))
            ):
                fail(self, f"past keys and values must be [batch, {groups}, length, {width}], got {info.type} (C3)")
        batched = counts.rank in (1, 2) and same_dim(counts.count, q.dims[0])
        if not batched or counts.element != i32 or total.element != i32 or not same_dim(total.count, 1):
            fail(self, f"seqlens_k must be [batch] and the total one number, of i32, got {counts.type} (C4)")
        self._check_rotary(cos, sin, width)
        quantised = (self.k_quant_type, self.v_quant_type, self.kv_cache_bit_width) != ("NONE", "NONE", 0)
        more = self.smooth_softmax or self.sliding_window_cache or self.qk_output or not self.causal
        if any(info is not None for info in others) or quantised or more or self.output_qk is not None:
            fail(self, "what is beyond queries, keys, values, counts and rotary caches must be left out (C6)")
        given = total.elements
        length: Dim = unknown_size() if not given else given[0] if past_k is None else larger(past_k.dims[2], given[0])
        present = q.like((q.dims[0], groups, length, width))
        infos = [q.like((*q.dims[:2], heads * width)), present, present]
        return [info for info, found in zip(infos, self.results_by_slot(), strict=False) if found is not None]

    def _width(self, row: Dim, heads: int) -> int:
        if not isinstance(row, int) or row % heads:
            fail(self, f"query must have a known multiple of {heads} in its last dim, got {row} (C1)")
        return row // heads

    def _check_rotary(self, cos: Info | None, sin: Info | None, width: int) -> None:
        if not self.do_rotary:
            return
        fits = cos is not None and sin is not None and cos.rank == sin.rank == 2 and isinstance(cos.dims[1], int)
        if cos is None or sin is None or not fits or not same_dim(cos.dims[1], sin.dims[1]):
            fail(self, "with do_rotary the caches must be matrices of one width (C5)")
        if isinstance(cos.dims[1], int) and 2 * cos.dims[1] > width:
            fail(self, f"a head must have twice the caches' width, {cos.dims[1]}, got {width} (C5)")

    def flops(self) -> int:
        batch, rows, row = shape_of(self.output.type)
        keys = shape_of(self.past_key.type)[2] if self.past_key is not None else 0
        return 4 * batch * rows * max(keys, rows) * row

    # ------------------------------------------------------------------ what it means

    def expansion(self, make: Maker, *operands: Any) -> Sequence[SSAValue]:
        q, k, v, past_k, past_v, counts, total, cos, sin, *_ = operands
        heads, groups = self.num_heads, self.kv_num_heads
        width = shape_of(self.output.type)[2] // heads
        if k is None:
            at = (0, heads * width, (heads + groups) * width, (heads + 2 * groups) * width)
            q, k, v = (make.slice(q, a, b, 2) for a, b in itertools.pairwise(at))
        rows = make.size(q, 1)
        ends = make.cast(make.reshape(counts, -1), i64)
        before = make(SubOp, make(AddOp, ends, make.constant(np.int64(1))), rows)
        before = make(MaxOp, before, make.constant(np.int64(0)))  # of a prompt that is padded it would be less
        positions = make(AddOp, make(UnsqueezeOp, before, make.ints(1)), make.count(rows))
        q, k = make.reshape(q, 0, 0, heads, width), make.reshape(k, 0, 0, groups, width)
        if self.do_rotary:
            angles = [make(UnsqueezeOp, make(GatherOp, cache, positions), make.ints(2)) for cache in (cos, sin)]
            turned = 2 * shape_of(cos.type)[1]
            q, k = (rotated(make, x, angles[0], angles[1], turned, bool(self.rotary_interleaved)) for x in (q, k))
        length = make.cast(make(ReshapeOp, total, make.constant(np.empty(0, np.int64))), i64)
        if past_k is not None:
            length = make(MaxOp, length, make.size(past_k, 2))
        keys = self._present(make, make.reshape(k, 0, 0, groups * width), past_k, before, rows, length)
        values = self._present(make, v, past_v, before, rows, length)
        y = self._attended(make, q, keys, values, positions, make.count(length), width)
        found = zip([y, keys, values], self.results_by_slot(), strict=False)
        return [new for new, value in found if value is not None]

    def _present(
        self, make: Maker, new: SSAValue, past: SSAValue | None, before: SSAValue, rows: SSAValue, length: SSAValue
    ) -> SSAValue:
        """[batch, heads, length, width]: the past ones as far as they go, then the new ones, which are rows."""
        groups, width = self.kv_num_heads, shape_of(new.type)[2] // self.kv_num_heads
        at = make(SubOp, make.count(length), make(UnsqueezeOp, before, make.ints(1)))
        zero, one = make.constant(np.int64(0)), make.constant(np.int64(1))
        inside = make(AndOp, make(GreaterOp, at, make.constant(np.int64(-1))), make(LessOp, at, rows))
        index = make(MinOp, make(MaxOp, at, zero), make(SubOp, rows, one))
        picked = make(GatherNDOp, new, make(UnsqueezeOp, index, make.ints(2)), batch_dims=1)
        picked = make.transpose(make.reshape(picked, 0, 0, groups, width), 0, 2, 1, 3)
        old = make.number(0, new)
        if past is not None:
            more = make(UnsqueezeOp, make(SubOp, length, make.size(past, 2)), make.ints(0))
            nothing = [make.ints(0, 0, 0, 0, 0, 0), make.ints(0)]
            old = make(PadOp, past, make(ConcatOp, nothing[0], more, nothing[1], axis=0))
        return make(WhereOp, make(UnsqueezeOp, inside, make.ints(1, 3)), picked, old)

    def _attended(
        self, make: Maker, q: SSAValue, keys: SSAValue, values: SSAValue, at: SSAValue, count: SSAValue, width: int
    ) -> SSAValue:
        groups, shared = self.kv_num_heads, self.num_heads // self.kv_num_heads
        split = make.transpose(make.reshape(q, 0, 0, groups, shared, width), 0, 2, 3, 1, 4)
        one = make.ints(2)
        scores = make(MatMulOp, split, make(UnsqueezeOp, make.transpose(keys, 0, 1, 3, 2), one))
        scores = make(MulOp, scores, make.number(self.scale or 1 / math.sqrt(width), q))
        if self.softcap:
            cap = make.number(self.softcap, q)
            scores = make(MulOp, make(TanhOp, make(DivOp, scores, cap)), cap)
        position, next_ = make(UnsqueezeOp, at, make.ints(2)), make.constant(np.int64(1))
        seen = make(LessOp, count, make(AddOp, position, next_))
        if self.local_window_size > 0:
            first = make(SubOp, position, make.constant(np.int64(self.local_window_size)))
            seen = make(AndOp, seen, make(GreaterOp, count, first))
        lowest = make.number(float(cast(Any, ml_dtypes.finfo(element_of(element(q)).dtype)).min), q)
        scores = make(WhereOp, make(UnsqueezeOp, seen, make.ints(1, 2)), scores, lowest)
        y = make(MatMulOp, make(SoftmaxOp, scores), make(UnsqueezeOp, values, one))
        return make.reshape(make.transpose(y, 0, 3, 1, 2, 4), 0, 0, self.num_heads * width)
