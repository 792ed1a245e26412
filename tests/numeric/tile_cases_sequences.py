"""Tile cases of attention, recurrences, states, spectra, and of sampling at places that are data."""

from typing import Any

import numpy as np

from gecc.dialects.ge.attention import AttentionOp, RotaryEmbeddingOp
from gecc.dialects.ge.recurrent import GRUOp, LSTMOp, RNNOp
from gecc.dialects.ge.sampling import Col2ImOp, DeformConvOp, GridSampleOp, RoiAlignOp
from gecc.dialects.ge.signal import DFTOp, STFTOp
from gecc.dialects.ge.state import CausalConvWithStateOp, LinearAttentionOp, TensorScatterOp

from .tile_cases_nn import one_of, real, sizes, small

Rng = np.random.Generator


# ------------------------------------------------------------------ attention


def attention(rng: Rng) -> Any:
    batch, rows, keys, width = (int(n) for n in rng.integers(1, 5, 4))
    heads, shared = one_of(rng, (2, 1), (2, 2), (4, 2), (3, 3))
    attributes: dict[str, Any] = {"is_causal": one_of(rng, 0, 0, 1), "results": one_of(rng, 1, 1, 3)}
    if rng.integers(2):
        q, k, v = real(rng, batch, rows, heads * width), *(real(rng, batch, keys, shared * width) for _ in "kv")
        attributes |= {"q_num_heads": heads, "kv_num_heads": shared}
    else:
        q, k, v = real(rng, batch, heads, rows, width), *(real(rng, batch, shared, keys, width) for _ in "kv")
    past = one_of(rng, None, 3) if attributes["results"] > 1 else None
    before = [None if past is None else real(rng, batch, shared, past, width) for _ in "kv"]
    total = keys + (past or 0)
    shapes = ((rows, total), (1, total), (1, 1, rows, total), (batch, heads, rows, total), (batch, 1, 1, total))
    mask = one_of(rng, None, *(real(rng, *shape) for shape in shapes))
    return AttentionOp, [q, k, v, mask, *before], attributes


def rotary_embedding(rng: Rng) -> Any:
    batch, heads, rows, half = (int(n) for n in rng.integers(1, 4, 4))
    attributes: dict[str, Any] = {"interleaved": one_of(rng, 0, 1)}
    x = real(rng, batch, heads, rows, 2 * half)
    if rng.integers(2):
        x, attributes["num_heads"] = real(rng, batch, rows, heads * 2 * half), heads
    if rng.integers(2):
        caches, ids = [real(rng, 7, half) for _ in range(2)], rng.integers(0, 7, (batch, rows))
    else:
        caches, ids = [real(rng, batch, rows, half) for _ in range(2)], None
    return RotaryEmbeddingOp, [x, *caches, ids], attributes


def linear_attention(rng: Rng) -> Any:
    batch, rows, width, values = (int(n) for n in rng.integers(1, 4, 4))
    heads, shared = one_of(rng, (2, 1), (2, 2))
    rule = one_of(rng, "linear", "gated", "delta", "gated_delta")
    q, k = small(rng, batch, rows, heads * width), small(rng, batch, rows, shared * width)
    past = one_of(rng, None, small(rng, batch, shared, width, values))
    decay = real(rng, batch, rows, shared) if "gated" in rule else None
    beta = real(rng, batch, rows, shared) if "delta" in rule else None
    attributes = {"q_num_heads": heads, "kv_num_heads": shared, "update_rule": rule, "results": 2}
    return LinearAttentionOp, [q, k, small(rng, batch, rows, shared * values), past, decay, beta], attributes


# ------------------------------------------------------------------ recurrences and states


def recurrent(cls: Any, gates: int, states: int) -> Any:
    def case(rng: Rng) -> Any:
        steps, batch, inputs, hidden = (int(n) for n in rng.integers(1, 5, 4))
        layout, direction = one_of(rng, 0, 1), one_of(rng, "forward", "reverse", "bidirectional")
        ways = 2 if direction == "bidirectional" else 1
        x = small(rng, *((batch, steps) if layout else (steps, batch)), inputs)
        w, r = small(rng, ways, gates * hidden, inputs), small(rng, ways, gates * hidden, hidden)
        state = (batch, ways, hidden) if layout else (ways, batch, hidden)
        start = [one_of(rng, None, small(rng, *state)) for _ in range(states)]
        there = one_of(rng, *((True, False), (False, True), (True, True)))
        attributes = {"direction": direction, "layout": layout, "hidden_size": hidden, "results": there}
        return cls, [x, w, r, None, None, *start], attributes

    return case


def tensor_scatter(rng: Rng) -> Any:
    shape = sizes(rng, one_of(rng, 2, 3, 4), 1, 4)
    axis = int(rng.integers(1, len(shape)))
    update = list(shape)
    update[axis] = int(rng.integers(1, shape[axis] + 1))
    starts = one_of(rng, None, rng.integers(0, shape[axis] - update[axis] + 1, shape[0]))
    return (
        TensorScatterOp,
        [real(rng, *shape), real(rng, *update), starts],
        {"axis": one_of(rng, axis, axis - len(shape))},
    )


def causal_conv_with_state(rng: Rng) -> Any:
    batch, channels, rows, k = (int(n) for n in rng.integers(1, 5, 4))
    k += 1
    bias, past = one_of(rng, None, small(rng, channels)), one_of(rng, None, small(rng, batch, channels, k - 1))
    attributes = {"activation": one_of(rng, "none", "silu"), "results": 2}
    return (
        CausalConvWithStateOp,
        [small(rng, batch, channels, rows), small(rng, channels, 1, k), bias, past],
        attributes,
    )


# ------------------------------------------------------------------ spectra


def dft(rng: Rng) -> Any:
    shape = sizes(rng, one_of(rng, 1, 2, 3), 1, 6)
    axis = one_of(rng, None, np.array(int(rng.integers(len(shape))), np.int64))
    return DFTOp, [real(rng, *shape, one_of(rng, 1, 2)) if len(shape) > 1 else real(rng, *shape, 1), None, axis], {}


def stft(rng: Rng) -> Any:
    length, step = one_of(rng, 2, 4, 8), int(rng.integers(1, 4))
    x = real(rng, one_of(rng, 1, 3), length + int(rng.integers(0, 12)), 1)
    window = one_of(rng, None, real(rng, length))
    return STFTOp, [x, np.array(step, np.int64), window, np.array(length, np.int64)], {}


# ------------------------------------------------------------------ sampling


def grid_sample(rng: Rng) -> Any:
    batch, channels, h, w, rows, columns = sizes(rng, 6, 1, 4)
    attributes = {
        "mode": one_of(rng, "linear", "nearest", "cubic"),
        "padding_mode": one_of(rng, "zeros", "border", "reflection"),
        "align_corners": one_of(rng, 0, 1),
    }
    grid = rng.uniform(-1.3, 1.3, (batch, rows, columns, 2)).astype(np.float32)
    return GridSampleOp, [real(rng, batch, channels, h + 1, w + 1), grid], attributes


def roi_align(rng: Rng) -> Any:
    batch, channels, count = sizes(rng, 3, 1, 4)
    corners = np.sort(rng.integers(0, 8, (count, 2, 2)), 1).reshape(count, 4).astype(np.float32)
    x, of = real(rng, batch, channels, 8, 8), rng.integers(0, batch, count)
    attributes = {"output_height": 2, "output_width": 3, "mode": one_of(rng, "avg", "max"), "sampling_ratio": 2}
    return RoiAlignOp, [x, corners, of], attributes


def deform_conv(rng: Rng) -> Any:
    batch, inner, outs, size = sizes(rng, 4, 1, 3)
    group = one_of(rng, 1, 1, 2)
    x, w = small(rng, batch, inner * group, size + 2, size + 2), small(rng, outs * group, inner, 2, 2)
    offset = real(rng, batch, 8, size + 1, size + 1)
    bias, mask = one_of(rng, None, small(rng, outs * group)), one_of(rng, None, real(rng, batch, 4, size + 1, size + 1))
    return DeformConvOp, [x, w, offset, bias, mask], {"group": group}


def col2_im(rng: Rng) -> Any:
    batch, channels, h, w = sizes(rng, 4, 1, 3)
    picture, block = [h + 2, w + 2], [2, one_of(rng, 1, 3)]
    columns = (picture[0] - 1) * (picture[1] - block[1] + 1)
    x = small(rng, batch, channels * block[0] * block[1], columns)
    return Col2ImOp, [x, np.array(picture, np.int64), np.array(block, np.int64)], {}


CASES = {
    "ge.attention": attention,
    "ge.causal_conv_with_state": causal_conv_with_state,
    "ge.col2_im": col2_im,
    "ge.deform_conv": deform_conv,
    "ge.dft": dft,
    "ge.grid_sample": grid_sample,
    "ge.gru": recurrent(GRUOp, 3, 1),
    "ge.linear_attention": linear_attention,
    "ge.lstm": recurrent(LSTMOp, 4, 2),
    "ge.rnn": recurrent(RNNOp, 1, 1),
    "ge.roi_align": roi_align,
    "ge.rotary_embedding": rotary_embedding,
    "ge.stft": stft,
    "ge.tensor_scatter": tensor_scatter,
}

SUMS = {
    "ge.attention",
    "ge.deform_conv",
    "ge.dft",
    "ge.gru",
    "ge.linear_attention",
    "ge.lstm",
    "ge.rnn",
    "ge.stft",
}
"""Sums of products that no float holds exactly."""
