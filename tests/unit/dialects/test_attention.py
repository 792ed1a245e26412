"""Attention and rotary embedding (attention.py)."""

import pytest
from xdsl.utils.exceptions import VerifyException

from gecc.dialects.ge.attention import AttentionOp

from .movement_cases import M, N, built, free, op_of, round_trip

Q, K = "tensor<1x8x5x16xf32>", "tensor<1x2x7x16xf32>"
V, PAST = "tensor<1x2x7x32xf32>", "tensor<1x2x3x16xf32>"
X, CACHE = "tensor<1x8x5x16xf32>", "tensor<1x5x8xf32>"


@pytest.mark.parametrize(
    "line",
    [
        f"%y = ge.attention %q, %k, %v is_causal 1 : {Q}, {K}, {V} -> tensor<1x8x5x32xf32>",
        f"%y, %p, %s = ge.attention %q, %k, %v, none, %a, %b scale 0.5 : {Q}, {K}, {K}, {PAST}, {PAST}"
        " -> tensor<1x8x5x16xf32>, tensor<1x2x10x16xf32>, tensor<1x2x10x16xf32>",
        "%y, %m = ge.attention %q, %k, %v kv_num_heads 2 q_num_heads 8 qk_matmul_output_mode 1 : tensor<1x5x128xf32>,"
        " tensor<1x7x32xf32>, tensor<1x7x64xf32> -> tensor<1x5x256xf32>, none, none, tensor<1x8x5x7xf32>",
        f"%y = ge.rotary_embedding %x, %c, %s interleaved 1 : {X}, {CACHE}, {CACHE} -> {X}",
        f"%y = ge.rotary_embedding %x, %c, %s, %i : {X}, tensor<99x8xf32>, tensor<99x8xf32>, tensor<1x5xi64> -> {X}",
    ],
)
def test_text(line: str) -> None:
    round_trip(line)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (f"%y = ge.attention %q, %k, %v : {Q}, {K}, tensor<1x7x64xf32> -> {Q}", r"must have one rank.*\(C1\)"),
        (
            "%y = ge.attention %q, %k, %v : tensor<1x5x8xf32>, tensor<1x5x8xf32>, tensor<1x5x8xf32>"
            " -> tensor<1x5x8xf32>",
            r"rank 3 and a number of heads.*\(C1\)",
        ),
        (
            "%y = ge.attention %q, %k, %v kv_num_heads 3 q_num_heads 2 : tensor<1x5x8xf32>, tensor<1x5x8xf32>,"
            " tensor<1x5x8xf32> -> tensor<1x5x8xf32>",
            r"k must have a multiple of 3.*\(C1\)",
        ),
        (f"%y = ge.attention %q, %k, %v : {Q}, {K}, tensor<1x2x6x32xf32> -> {Q}", r"must fit each other.*\(C2\)"),
        (
            f"%y = ge.attention %q, %k, %v : {Q}, tensor<1x3x7x16xf32>, tensor<1x3x7x16xf32> -> {Q}",
            r"must fit each other.*\(C2\)",
        ),
        (f"%y = ge.attention %q, %k, %v, none, %a : {Q}, {K}, {V}, {PAST} -> {Q}", r"given together \(C3\)"),
        (f"%y = ge.attention %q, %k, %v, none, %a, %b : {Q}, {K}, {V}, {PAST}, {PAST} -> {Q}", r"past keys.*\(C3\)"),
        (f"%y = ge.attention %q, %k, %v : {Q}, tensor<1x2x7x16xf16>, {V} -> {Q}", r"one element type.*\(C4\)"),
        (f"%y = ge.rotary_embedding %x, %c, %s : tensor<5xf32>, {CACHE}, {CACHE} -> tensor<5xf32>", r"x must.*\(C1\)"),
        (f"%y = ge.rotary_embedding %x, %c, %s : {X}, {CACHE}, tensor<1x5x9xf32> -> {X}", r"one shape of.*\(C2\)"),
        (f"%y = ge.rotary_embedding %x, %c, %s interleaved 2 : {X}, {CACHE}, {CACHE} -> {X}", r"0 or 1.*\(C3\)"),
    ],
)
def test_constraint(line: str, message: str) -> None:
    with pytest.raises(VerifyException, match=message):
        op_of(line).verify()


def test_present_keys_are_past_ones_and_new_ones() -> None:
    op = built(AttentionOp, "?x8x1x16xf32", *["?x2x1x16xf32"] * 2, None, *["?x2x?x16xf32"] * 2, results=3)
    q, k, v = (free(N, heads, 1, 16) for heads in (8, 2, 2))
    past = free(N, 2, M, 16)
    y, key, value = op.infer(q, k, v, None, past, past, None)
    assert y.dims == (N, 8, 1, 16)
    assert [str(d) for d in key.dims] == [str(d) for d in value.dims] == ["N", "2", "M + 1", "16"]


def test_work_is_the_same_in_both_forms() -> None:
    apart = built(AttentionOp, "1x8x5x16xf32", "1x2x7x16xf32", "1x2x7x32xf32")
    joined = built(AttentionOp, "1x5x128xf32", "1x7x32xf32", "1x7x64xf32", q_num_heads=8, kv_num_heads=2)
    assert apart.flops() == joined.flops() == 2 * 8 * 5 * 7 * (16 + 32)
