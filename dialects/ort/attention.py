"""
Attention as ONNX Runtime fuses it. rotary.py has the rotation of positions.

Masked scores are not left out but lowered by mask_filter_value: a row that is masked throughout is the softmax of its
scores. Keys and values that were computed before stand before the new ones.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from xdsl.dialects.builtin import i32, i64
from xdsl.ir import SSAValue

from ..ge.arithmetic import AddOp, MulOp, SubOp
from ..ge.comparison import GreaterOp, LessOp, WhereOp
from ..ge.composed import Maker, element
from ..ge.contraction import MatMulOp
from ..ge.core import PureOp, ge_op
from ..ge.declare import OnnxName, integer, operand, opt_ints, opt_operand, opt_result, real, result
from ..ge.dims import Dim, exact_quotient, unknown_size
from ..ge.errors import fail
from ..ge.info import Info, either, info_of_type, same_dim, same_element
from ..ge.interfaces import Box, Composed, Contraction, Tiles, broadcast_box, whole
from ..ge.movement import SqueezeOp, UnsqueezeOp
from ..ge.slicing import ConcatOp
from ..ge.softmax import SoftmaxOp
from ..ge.types import is_float, shape_of
from .activation import MICROSOFT


def check_mask(op: PureOp, mask: Info | None, batch: Dim, rows: Dim, keys: Dim, code: str) -> None:
    """A mask has 1 for each key that is seen ([batch, keys] or [batch, rows, keys]), or a number of keys a batch."""
    if mask is None:
        return
    forms = {1: (batch,), 2: (batch, keys), 3: (batch, rows, keys)}
    counts = mask.rank != 1 or mask.dims[0] == batch
    if (
        mask.element != i32
        or mask.rank not in forms
        or not counts
        or not all(map(same_dim, mask.dims, forms[mask.rank]))
    ):
        fail(op, f"the mask must be [batch], [batch, keys] or [batch, rows, keys] of i32, got {mask.type} ({code})")


def check_bias(op: PureOp, bias: Info | None, dims: Sequence[Dim], code: str) -> None:
    """What is added to the scores has their dims, or 1 for batch or heads."""
    if bias is None:
        return
    pairs = enumerate(zip(bias.dims, dims, strict=False))
    if bias.rank != 4 or not all(same_dim(b, d) or (k < 2 and b == 1) for k, (b, d) in pairs):
        fail(op, f"attention_bias must have the dims {list(dims)}, got {bias.type} ({code})")


def attended(
    make: Maker,
    q: SSAValue,
    k: SSAValue,
    v: SSAValue,
    scale: float,
    mask: SSAValue | None,
    bias: SSAValue | None,
    causal: bool,
    before: SSAValue | None,
    hidden: float,
) -> SSAValue:
    """
    softmax(scale * q k^T + bias + what hides masked keys) v, of [batch, heads, positions, width].

    hidden     what is added to the scores of masked keys
    causal     whether a row sees no key after its own position
    before     the position of the first row, a scalar of i64: 0 without
    """
    scores = make(MatMulOp, q, make.transpose(k, 0, 1, 3, 2))
    scores = make(MulOp, scores, make.number(scale, q))
    scores = scores if bias is None else make(AddOp, scores, bias)
    nothing, lower = make.number(0, q), make.number(hidden, q)
    if mask is not None:
        seen = _seen(make, mask, k)
        scores = make(AddOp, scores, make(MulOp, make(SubOp, make.number(1, q), make.cast(seen, element(q))), lower))
    if causal:
        at = make.count(make.size(q, 2))
        at = at if before is None else make(AddOp, at, before)
        later = make(GreaterOp, make.count(make.size(k, 2)), make(UnsqueezeOp, at, make.ints(1)))
        scores = make(AddOp, scores, make(WhereOp, later, lower, nothing))
    return make(MatMulOp, make(SoftmaxOp, scores), v)


def _seen(make: Maker, mask: SSAValue, k: SSAValue) -> SSAValue:
    """1 for each key that is seen, as i32 against scores."""
    rank = info_of_type(mask.type).rank
    if rank == 3:
        return make(UnsqueezeOp, mask, make.ints(1))
    if rank == 1:
        counts = make.cast(make(UnsqueezeOp, mask, make.ints(1)), i64)
        mask = make.cast(make(LessOp, make.count(make.size(k, 2)), counts), i32)
    return make(UnsqueezeOp, mask, make.ints(1, 2))


def headed(make: Maker, x: SSAValue, heads: int) -> SSAValue:
    """[batch, positions, heads * width] as [batch, heads, positions, width]."""
    width = quotient(info_of_type(x.type).dims[2], heads)
    split = make.reshape(x, 0, 0, heads, width if isinstance(width, int) else -1)
    return make.transpose(split, 0, 2, 1, 3)


def joined(make: Maker, x: SSAValue) -> SSAValue:
    """The inverse of `headed`."""
    heads, _, width = info_of_type(x.type).dims[1:]
    row = heads * width
    return make.reshape(make.transpose(x, 0, 2, 1, 3), 0, 0, row if isinstance(row, int) else -1)


def quotient(row: Dim, heads: int) -> Dim:
    """The width of a head; of a row that is not known to be so many heads, one of which nothing is known."""
    found = exact_quotient(row, heads)
    return unknown_size() if found is None else found


# ------------------------------------------------------------------ attention


@ge_op
class AttentionOp(PureOp, Tiles, Contraction, Composed):
    """
    The attention of x w + b to itself, where w has the columns of queries, keys and values side by side; `present` is
    past keys and values, and the new ones.

    C1  x is [batch, positions, width], w is [width, columns], b a vector of columns; of floats of one type
    C2  columns are those of qkv_hidden_sizes, or three times as many; all multiples of num_heads, and those of queries
        and keys as many
    C3  the mask is [batch], [batch, keys] or [batch, rows, keys] of i32
    C4  past is [2, batch, heads, positions, head width], and keys and values have one width then
    C5  attention_bias has the scores' dims
    C6  past_sequence_length is not there, do_rotary and past_present_share_buffer are 0

        %y = ort.attention %x, %w, %b num_heads 12
               : tensor<1x128x768xf32>, tensor<768x2304xf32>, tensor<2304xf32> -> tensor<1x128x768xf32>

    Source: com.microsoft Attention-1.
    """

    name = "ort.attention"
    onnx = OnnxName("Attention", domain=MICROSOFT)
    input = operand()
    weights = operand()
    bias = opt_operand()
    mask_index = opt_operand()
    past = opt_operand()
    attention_bias = opt_operand()
    past_sequence_length = opt_operand()
    do_rotary = integer(0)
    mask_filter_value = real(-10000.0)
    num_heads = integer()
    past_present_share_buffer = integer(0)
    qkv_hidden_sizes = opt_ints()
    rotary_embedding_dim = integer(0)
    scale = real(0.0)
    unidirectional = integer(0)
    output = result()
    present = opt_result()

    def columns(self, w: Info) -> tuple[int, ...]:
        """Columns of queries, keys and values. Checks C2."""
        total = w.dims[1]
        given = self.qkv_hidden_sizes or ((total // 3,) * 3 if isinstance(total, int) and total % 3 == 0 else ())
        fits = len(given) == 3 and same_dim(sum(given), total) and given[0] == given[1]
        if not fits or self.num_heads < 1 or any(n < 1 or n % self.num_heads for n in given):
            fail(self, f"columns must be those of three times {self.num_heads} heads, got {total} (C2)")
        return given

    def infer(self, *operands: Any) -> list[Info]:
        x, w, b, mask, past, bias, length = operands
        fits = x.rank == 3 and w.rank == 2 and same_dim(x.dims[-1], w.dims[0])
        if not fits or not is_float(same_element(self, "C1", x, w, b, past, bias)):
            fail(self, f"x must be [batch, positions, width] and w [width, columns], got {x.type} and {w.type} (C1)")
        if b is not None and (b.rank != 1 or not same_dim(b.dims[0], w.dims[1])):
            fail(self, f"b must be a vector of {w.dims[1]}, got {b.type} (C1)")
        _, keys, values = self.columns(w)
        batch, rows, _ = x.dims
        heads, total = self.num_heads, rows
        if (past is not None or self.present is not None) and keys != values:
            fail(self, f"keys and values must have one width, got {keys} and {values} (C4)")
        if past is not None:
            wanted = (2, batch, heads, past.dims[3] if past.rank == 5 else 0, keys // heads)
            if past.rank != 5 or not all(map(same_dim, past.dims, wanted)):
                fail(self, f"past must be [2, batch, heads, positions, {keys // heads}], got {past.type} (C4)")
            total = total + past.dims[3]
        check_mask(self, mask, batch, rows, total, "C3")
        check_bias(self, bias, (batch, heads, rows, total), "C5")
        if length is not None or self.do_rotary or self.past_present_share_buffer:
            fail(self, "past_sequence_length, do_rotary and a shared buffer must be left out (C6)")
        infos = [x.like((batch, rows, values)), x.like((2, batch, heads, total, values // heads))]
        return infos[: len(self.results)]

    def flops(self) -> int:
        batch, rows, width = shape_of(self.input.type)
        columns = shape_of(self.weights.type)[1]
        keys = rows + (shape_of(self.past.type)[3] if self.past is not None else 0)
        return 2 * batch * rows * (width * columns + keys * columns * 2 // 3)

    def loops(self) -> tuple[str, ...]:
        # Every row is a key too; the keys and values that are present have the batch on another axis.
        return ("parallel" if self.present is None else "whole", "whole", "whole", "reduction")

    def operand_tiles(self, tile: Box) -> list[Box]:
        batch = tile[0]
        boxes: list[Box] = []
        for slot, value in zip(self.slots, self.by_slot(), strict=True):
            if value is None:
                continue
            box = whole(value)
            match slot.name:
                case "input" | "mask_index":
                    box = (batch, *box[1:])
                case "past":
                    box = (box[0], batch, *box[2:])
                case "attention_bias":
                    box = (*broadcast_box((batch,), shape_of(value.type)[:1]), *box[1:])
                case _:
                    pass
            boxes.append(box)
        return boxes

    def expansion(self, make: Maker, *operands: Any) -> Sequence[SSAValue]:
        x, w, b, mask, past, bias, _ = operands
        widths = self.columns(info_of_type(w.type))
        rows = make(MatMulOp, x, w)
        rows = rows if b is None else make(AddOp, rows, b)
        starts = (0, widths[0], widths[0] + widths[1])
        parts = [make.slice(rows, at, at + n, 2) for at, n in zip(starts, widths, strict=True)]
        q, k, v = (headed(make, part, self.num_heads) for part in parts)
        if past is not None:
            one = make.ints(0)
            k, v = (
                make(ConcatOp, make(SqueezeOp, make.slice(past, at, at + 1, 0), one), now, axis=2)
                for at, now in enumerate((k, v))
            )
        scale = self.scale or 1 / math.sqrt(widths[0] // self.num_heads)
        before = None if past is None else make.size(past, 3)
        y = attended(make, q, k, v, scale, mask, bias, bool(self.unidirectional), before, self.mask_filter_value)
        found = [joined(make, y)]
        if self.present is not None:
            found.append(make(ConcatOp, *(make(UnsqueezeOp, now, make.ints(0)) for now in (k, v)), axis=0))
        return found


@ge_op
class MultiHeadAttentionOp(PureOp, Tiles, Contraction, Composed):
    """
    The attention of query + its bias to key and value + theirs; the bias has those of all three side by side.
    `present_key` and `present_value` are past ones and new ones.

    C1  query, key and value are [batch, positions, num_heads * width]; key and value may be [batch, heads, positions,
        width], and have no bias then
    C2  they agree in batch, key and value in positions, query and key in width; of floats of one type
    C3  bias is a vector of the widths of all three
    C4  the mask is [batch], [batch, keys] or [batch, rows, keys] of i32
    C5  attention_bias has the scores' dims
    C6  past_key and past_value are given together, [batch, heads, positions, width]
    C7  past_sequence_length, cache_indirection and the scores as a result are not there
    C8  with unidirectional 1 there is a new key for each row (else the runtime lets the last row see them all)

        %y = ort.multi_head_attention %q, %k, %v num_heads 8
               : tensor<1x4x512xf32>, tensor<1x9x512xf32>, tensor<1x9x512xf32> -> tensor<1x4x512xf32>

    Source: com.microsoft MultiHeadAttention-1.
    """

    name = "ort.multi_head_attention"
    onnx = OnnxName("MultiHeadAttention", domain=MICROSOFT)
    query = operand()
    key = operand()
    value = operand()
    bias = opt_operand()
    key_padding_mask = opt_operand()
    attention_bias = opt_operand()
    past_key = opt_operand()
    past_value = opt_operand()
    past_sequence_length = opt_operand()
    cache_indirection = opt_operand()
    mask_filter_value = real(-10000.0)
    num_heads = integer()
    scale = real(0.0)
    unidirectional = integer(0)
    output = result()
    present_key = opt_result()
    present_value = opt_result()
    qk = opt_result()

    def _apart(self, what: str, info: Info) -> tuple[Dim, Dim, Dim]:
        """(batch, positions, width of a head). Checks C1."""
        if info.rank == 4 and what != "query" and same_dim(info.dims[1], self.num_heads):
            return info.dims[0], info.dims[2], info.dims[3]
        whole = info.rank == 3 and self.num_heads >= 1
        if not whole or (isinstance(info.dims[2], int) and info.dims[2] % self.num_heads):
            fail(self, f"{what} must be [batch, positions, {self.num_heads} * width], got {info.type} (C1)")
        return info.dims[0], info.dims[1], quotient(info.dims[2], self.num_heads)

    def infer(self, *operands: Any) -> list[Info]:
        q, k, v, b, mask, bias, past_key, past_value, length, indirection = operands
        batch, rows, width = self._apart("query", q)
        k_batch, keys, k_width = self._apart("key", k)
        v_batch, v_keys, v_width = self._apart("value", v)
        agree = [(batch, k_batch), (batch, v_batch), (keys, v_keys), (width, k_width)]
        element_type = same_element(self, "C2", q, k, v, b, bias, past_key, past_value)
        if not all(same_dim(*pair) for pair in agree) or k.rank != v.rank or not is_float(element_type):
            fail(self, f"query, key and value must fit each other, got {q.type}, {k.type} and {v.type} (C2)")
        heads, total = self.num_heads, either(keys, v_keys)
        widths = [heads * w for w in (width, k_width, v_width)]
        if b is not None and (k.rank == 4 or b.rank != 1 or not same_dim(b.dims[0], sum(widths))):
            fail(self, f"bias must be a vector of {sum(widths)}, got {b.type} (C3)")
        if (past_key is None) != (past_value is None):
            fail(self, "past_key and past_value must be given together (C6)")
        if past_key is not None:
            for past, own in ((past_key, k_width), (past_value, v_width)):
                if past.rank != 4 or not all(map(same_dim, past.dims, (batch, heads, past.dims[2], own))):
                    fail(self, f"past keys and values must be [batch, heads, positions, width], got {past.type} (C6)")
            total = total + either(past_key.dims[2], past_value.dims[2])
        check_mask(self, mask, batch, rows, total, "C4")
        check_bias(self, bias, (batch, heads, rows, total), "C5")
        if length is not None or indirection is not None or self.qk is not None:
            fail(self, "past_sequence_length, cache_indirection and the scores must be left out (C7)")
        if self.unidirectional and not same_dim(rows, keys):
            fail(self, f"with unidirectional there must be {rows} keys, got {keys} (C8)")
        infos = [
            q.like((batch, rows, widths[2])),
            q.like((batch, heads, total, k_width)),
            q.like((batch, heads, total, v_width)),
        ]
        return [info for info, found in zip(infos, self.results_by_slot(), strict=False) if found is not None]

    def flops(self) -> int:
        batch, rows, width = shape_of(self.query.type)
        keys = shape_of(self.key.type)[-2] + (shape_of(self.past_key.type)[2] if self.past_key is not None else 0)
        return 4 * batch * rows * keys * width

    def loops(self) -> tuple[str, ...]:
        # Where a row sees those before it alone, its place counts.
        rows = "whole" if self.unidirectional or len(self.results) > 1 else "parallel"
        return ("parallel", rows, "whole", "reduction")

    def operand_tiles(self, tile: Box) -> list[Box]:
        batch, rows, _ = tile
        boxes: list[Box] = []
        for slot, value in zip(self.slots, self.by_slot(), strict=True):
            if value is None:
                continue
            box = whole(value)
            match slot.name:
                case "query":
                    box = (batch, rows, box[2])
                case "key_padding_mask" if len(box) == 3:
                    box = (batch, rows, box[2])
                case "attention_bias":
                    box = (*broadcast_box((batch, box[1], rows), shape_of(value.type)[:3]), box[3])
                case "bias":
                    pass
                case _:
                    box = (batch, *box[1:])
            boxes.append(box)
        return boxes

    def expansion(self, make: Maker, *operands: Any) -> Sequence[SSAValue]:
        q, k, v, b, mask, bias, past_key, past_value, _, _ = operands
        heads = self.num_heads
        if b is not None:
            q, k, v = self._biased(make, b, q, k, v)
        q, k, v = (x if info_of_type(x.type).rank == 4 else headed(make, x, heads) for x in (q, k, v))
        if past_key is not None:
            k, v = make(ConcatOp, past_key, k, axis=2), make(ConcatOp, past_value, v, axis=2)
        width = info_of_type(q.type).dims[3]
        if not isinstance(width, int):
            fail(self, "the width of a head must be known to be written otherwise")
        scale = self.scale or 1 / math.sqrt(width)
        before = None if past_key is None else make.size(past_key, 2)
        y = attended(make, q, k, v, scale, mask, bias, bool(self.unidirectional), before, self.mask_filter_value)
        found = zip([joined(make, y), k, v], self.results_by_slot(), strict=False)
        return [new for new, value in found if value is not None]

    @staticmethod
    def _biased(make: Maker, b: SSAValue, *parts: SSAValue) -> list[SSAValue]:
        found: list[SSAValue] = []
        at = 0
        for part in parts:
            width = shape_of(part.type)[2]
            found.append(make(AddOp, part, make.slice(b, at, at + width, 0)))
            at += width
        return found
