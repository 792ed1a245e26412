"""Ops that carry a state (state.py), and those of signals (signal.py): text, constraints, dims under free ones."""

import pytest
from xdsl.utils.exceptions import VerifyException

from gecc.dialects.ge.signal import STFTOp
from gecc.dialects.ge.state import LinearAttentionOp, TensorScatterOp

from .movement_cases import N, built, free, ints, op_of, round_trip, scalar

CACHE, NEW, AT = "tensor<2x8x64x16xf32>", "tensor<2x8x1x16xf32>", "tensor<2xi64>"
X, W, PAST = "tensor<2x6x5xf32>", "tensor<6x1x4xf32>", "tensor<2x6x3xf32>"
Q, V, S = "tensor<2x5x8xf32>", "tensor<2x5x6xf32>", "tensor<2x2x4x3xf32>"


@pytest.mark.parametrize(
    "line",
    [
        f'%y = ge.tensor_scatter %c, %u, %i mode "circular" : {CACHE}, {NEW}, {AT} -> {CACHE}',
        f"%y, %s = ge.causal_conv_with_state %x, %w, none, %p : {X}, {W}, {PAST} -> {X}, {PAST}",
        f'%y, %s = ge.linear_attention %q, %k, %v kv_num_heads 2 q_num_heads 2 update_rule "linear" : {Q}, {Q}, {V}'
        f" -> {V}, {S}",
        "%y = ge.hann_window %n periodic 0 : tensor<i64> -> tensor<?xf32>",
        "%y = ge.bit_cast %x to i32 : tensor<?x4xf32> -> tensor<?x4xi32>",
        f"%y = ge.swi_glu %a, %b : {X}, {X} -> {X}",
    ],
)
def test_text(line: str) -> None:
    round_trip(line)


def scattered(update: str = NEW, at: str = AT, attrs: str = "") -> str:
    return f"%y = ge.tensor_scatter %c, %u, %i{attrs} : {CACHE}, {update}, {at} -> {CACHE}"


def convolved(w: str = W, past: str = PAST, attrs: str = "") -> str:
    return f"%y, %s = ge.causal_conv_with_state %x, %w, none, %p{attrs} : {X}, {w}, {past} -> {X}, {PAST}"


def attended(k: str = Q, past: str = S, attrs: str = 'kv_num_heads 2 q_num_heads 2 update_rule "linear"') -> str:
    return f"%y, %s = ge.linear_attention %q, %k, %v, %p {attrs} : {Q}, {k}, {V}, {past} -> {V}, {S}"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (scattered(attrs=" axis 0"), r"must not be the batch's \(C1\)"),
        (scattered(update="tensor<2x8x65x16xf32>"), r"update must be a part.*\(C2\)"),
        (scattered(at="tensor<3xi64>"), r"write_indices must be.*\(C3\)"),
        (scattered(attrs=' mode "wrap"'), r"linear or circular.*\(C4\)"),
        (convolved(w="tensor<5x1x4xf32>"), r"weight \[channels, 1, k\].*\(C1\)"),
        (convolved(past=X), r"past_state must be.*\(C2\)"),
        (convolved(attrs=' activation "relu"'), r"none, silu or swish.*\(C3\)"),
        (attended(k=V), r"must fit each other.*\(C1\)"),
        (attended(past="tensor<2x2x3x4xf32>"), r"past_state must be.*\(C2\)"),
        (attended(attrs="kv_num_heads 2 q_num_heads 2"), r"decay must be given.*\(C3\)"),
        (attended(attrs='kv_num_heads 2 q_num_heads 2 update_rule "x"'), r"update_rule must be.*\(C4\)"),
        (f"%y = ge.swi_glu %a, %b : {X}, {W} -> {X}", r"one shape.*\(C2\)"),
        ("%y = ge.bit_cast %x to f16 : tensor<4xf32> -> tensor<4xf16>", r"same width.*\(C1\)"),
        ("%y = ge.dft %x : tensor<4x3xf32> -> tensor<4x2xf32>", r"must be 1 or 2.*\(C1\)"),
        ("%y = ge.dft %x onesided 1 : tensor<4x2xf32> -> tensor<3x2xf32>", r"last dim must be 1.*\(C4\)"),
        ("%y = ge.stft %x, %s : tensor<1x99xf32>, tensor<i64> -> tensor<1x?x?x2xf32>", r"must be there \(C3\)"),
        ("%y = ge.hann_window %n : tensor<2xi64> -> tensor<?xf32>", r"one element.*\(C1\)"),
        (
            "%y = ge.center_crop_pad %x, %s axes [1] : tensor<4x4xf32>, tensor<2xi64> -> tensor<4x?xf32>",
            r"a vector of 1 integers.*\(C2\)",
        ),
    ],
)
def test_constraint(line: str, message: str) -> None:
    with pytest.raises(VerifyException, match=message):
        op_of(line).verify()


def test_a_cache_is_written_where_it_lies() -> None:
    assert built(TensorScatterOp, "2x8x64x16xf32", "2x8x1x16xf32").overwrites() == (0,)


def test_heads_of_a_free_batch() -> None:
    q, v = free(N, 5, 8), free(N, 5, 6)
    op = built(LinearAttentionOp, "?x5x8xf32", "?x5x8xf32", "?x5x6xf32", results=2, **RULE)
    y, state = op.infer(q, q, v, None, None, None)
    assert (y.dims, state.dims) == ((N, 5, 6), (N, 2, 4, 3))


RULE = {"kv_num_heads": 2, "q_num_heads": 2, "update_rule": "linear"}


def test_frames_of_a_free_length() -> None:
    op = built(STFTOp, "1x?xf32", ints(160).reshape(()), "400xf32")
    y = op.infer(free(1, N), scalar(160), free(400), None)
    assert [str(d) for d in y.dims] == ["1", "floordiv(N - 400, 160) + 1", "201", "2"]
