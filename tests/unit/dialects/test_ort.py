"""The `ort` dialect: text, and a failing case for each constraint of its own."""

import pytest
from xdsl.utils.exceptions import VerifyException

from gecc.frontend import import_model

from ..frontend.graph_models import model
from .movement_cases import op_of, round_trip

X, S, B = "tensor<2x3x8xf32>", "tensor<f32>", "tensor<ui8>"
V, ROWS, IDS = "tensor<8xf32>", "tensor<3x8xf32>", "tensor<2x5xi32>"
Q, K, PAST = "tensor<2x4x6xf32>", "tensor<2x5x6xf32>", "tensor<2x2x3x3xf32>"
M, U = "tensor<4x5xf32>", "tensor<2x4xui8>"
CACHE, AT = "tensor<9x4xf32>", "tensor<2x3xi64>"
W, H = "tensor<8x18xf32>", "tensor<2x3x6xf32>"


@pytest.mark.parametrize(
    "line",
    [
        f"%y = ort.gelu %x : {X} -> {X}",
        f"%y = ort.fast_gelu %x : {X} -> {X}",
        f"%y, %s = ort.skip_layer_normalization %x, %r, %g, none, %b epsilon 1.0e-05 : {X}, {ROWS}, {V}, {V}"
        f" -> {X}, none, none, {X}",
        f"%y = ort.attention %x, %w num_heads 2 unidirectional 1 : {X}, {W} -> {H}",
        f"%y = ort.qlinear_add %a, %s, %z, %b, %t, %u, %v : {U}, {S}, {B}, {U}, {S}, {B}, {S} -> {U}",
        f"%y = ort.qlinear_concat %s, %z, %a, %t, %u axis 1 : {S}, {B}, {U}, {S}, {B} -> {U}",
    ],
)
def test_text(line: str) -> None:
    round_trip(line)


def qlinear(kind: str, x: str, scale: str = S, zero: str = B, attrs: str = "") -> str:
    return f"%y = ort.{kind} %x, %s, %z, %t, %u{attrs} : {x}, {scale}, {zero}, {S}, {B} -> {x}"


def attention(x: str = X, w: str = W, more: str = "", types: str = "", attrs: str = "num_heads 2") -> str:
    return f"%y = ort.attention %x, %w{more} {attrs} : {x}, {w}{types} -> {H}"


def heads(k: str = K, v: str = K, more: str = "", types: str = "", attrs: str = "num_heads 2") -> str:
    return f"%y = ort.multi_head_attention %q, %k, %v{more} {attrs} : {Q}, {k}, {v}{types} -> {Q}"


def rotary(x: str = X, ids: str = AT, cos: str = CACHE, attrs: str = "") -> str:
    return f"%y = ort.rotary_embedding %x, %i, %c, %s{attrs} : {x}, {ids}, {cos}, {CACHE} -> {x}"


def grouped(
    k: str = "tensor<2x1x16xf32>",
    past: str = "tensor<2x2x9x8xf32>",
    counts: str = "tensor<2xi32>",
    more: str = "",
    types: str = "",
    attrs: str = "kv_num_heads 2 num_heads 4",
) -> str:
    given = f"tensor<2x1x32xf32>, {k}, {k}, tensor<2x2x9x8xf32>, {past}, {counts}, tensor<i32>{types}"
    return f"%y = ort.group_query_attention %q, %k, %v, %p, %r, %n, %t{more} {attrs} : {given} -> tensor<2x1x32xf32>"


def embedded(kinds: str = "none, none", words: str = "tensor<9x8xf32>", ids: str = IDS, types: str = "") -> str:
    segments, table = kinds.split(", ")
    operands = f"%i, {segments}, %w, %p, {table}, %g, %b"
    return (
        f"%y = ort.embed_layer_normalization {operands} : {ids}, {types}{words}, {ROWS}, {V}, {V} -> tensor<2x5x8xf32>"
    )


def nbits(a: str = "tensor<4x64xf32>", b: str = "tensor<8x2x16xui8>", more: str = "", types: str = "") -> str:
    attrs = "K 64 N 8 block_size 32"
    return f"%y = ort.matmul_nbits %a, %b, %s{more} {attrs} : {a}, {b}, tensor<16xf32>{types} -> tensor<4x8xf32>"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("%y = ort.gelu %x : tensor<4xi32> -> tensor<4xi32>", r"must have floats.*\(C1\)"),
        (f"%y = ort.fast_gelu %x, %b : {X}, {ROWS} -> {X}", r"bias must be a vector.*\(C2\)"),
        (f"%y = ort.bias_gelu %x, %b : {X}, tensor<5xf32> -> {X}", r"equal or 1 to broadcast.*\(C2\)"),
        (f"%y = ort.layer_normalization %x, %s axis 3 : {X}, {V} -> {X}", r"axis must be in.*\(C1\)"),
        (f"%y = ort.layer_normalization %x, %s axis 1 : {X}, {V} -> {X}", r"scale must have.*\(C2\)"),
        (f"%y = ort.layer_normalization %x, %s stash_type 16 : {X}, {V} -> {X}", r"stash_type must be 1.*\(C3\)"),
        (f"%y = ort.skip_layer_normalization %x, %r, %g : {X}, {V}, {V} -> {X}", r"skip must be added.*\(C1\)"),
        (f"%y = ort.skip_layer_normalization %x, %r, %g : {X}, {X}, {ROWS} -> {X}", r"gamma must have.*\(C2\)"),
        (
            f"%y, %m = ort.skip_layer_normalization %x, %r, %g : {X}, {X}, {V} -> {X}, tensor<2x3x1xf32>",
            r"must be left out \(C4\)",
        ),
        (embedded(ids="tensor<2x5xi64>"), r"of i32.*\(C1\)"),
        (embedded(words="tensor<9x7xf32>"), r"one width.*\(C2\)"),
        (embedded("%s, none", types=f"{IDS}, "), r"given together \(C3\)"),
        (f"%y = ort.fused_matmul %a, %b transBatchA 1 : {M}, {M} -> {M}", r"must be 0 \(C5\)"),
        (f"%y = ort.fused_matmul %a, %b : {M}, {M} -> {M}", r"summed over must agree.*\(C2\)"),
        (f'%y = ort.fused_gemm %a, %b activation "Gelu" transB 1 : {M}, {M} -> tensor<4x4xf32>', r"got Gelu \(C5\)"),
        (
            '%y = ort.fused_conv %x, %w activation "Clip" : tensor<1x2x8x8xf32>, tensor<4x2x1x1xf32>'
            " -> tensor<1x4x8x8xf32>",
            r"with its numbers, got Clip \(C10\)",
        ),
        (
            "%y = ort.fused_conv %x, %w, none, %z : tensor<1x2x8x8xf32>, tensor<4x2x1x1xf32>, tensor<1x4x8x7xf32>"
            " -> tensor<1x4x8x8xf32>",
            r"z must have the result's shape.*\(C9\)",
        ),
        (nbits(a="tensor<4x63xf32>"), r"a must have 64.*\(C1\)"),
        (nbits(b="tensor<8x2x32xui8>"), r"b must be \[8, 2, 16\].*\(C3\)"),
        (nbits(more=", %z", types=", tensor<9xui8>"), r"zero points must be 8.*\(C4\)"),
        (nbits(more=", none, %g", types=", tensor<64xi32>"), r"g_idx must be left out \(C5\)"),
        (nbits(more=", none, none, %d", types=", tensor<9xf32>"), r"bias must be a vector of 8.*\(C6\)"),
        (attention(x="tensor<2x3x7xf32>"), r"w \[width, columns\].*\(C1\)"),
        (attention(attrs="num_heads 4"), r"three times 4 heads.*\(C2\)"),
        (attention(more=", none, %m", types=", tensor<2x4xi32>"), r"the mask must be.*\(C3\)"),
        (attention(more=", none, none, %p", types=", tensor<2x2x2x5x4xf32>"), r"past must be.*\(C4\)"),
        (attention(more=", none, none, none, %b", types=", tensor<2x2x3x4xf32>"), r"attention_bias must have.*\(C5\)"),
        (attention(attrs="do_rotary 1 num_heads 2"), r"must be left out \(C6\)"),
        (heads(attrs="num_heads 4"), r"query must be.*\(C1\)"),
        (heads(k="tensor<2x4x6xf32>"), r"must fit each other.*\(C2\)"),
        (heads(more=", %b", types=f", {V}"), r"bias must be a vector of 18.*\(C3\)"),
        (heads(more=", none, %m", types=", tensor<2x6xi32>"), r"the mask must be.*\(C4\)"),
        (heads(more=", none, none, %b", types=f", {PAST}"), r"attention_bias must have.*\(C5\)"),
        (heads(more=", none, none, none, %p", types=f", {PAST}"), r"given together \(C6\)"),
        (heads(more=", none, none, none, none, none, %n", types=", tensor<1xi32>"), r"must be left out \(C7\)"),
        (heads(attrs="num_heads 2 unidirectional 1"), r"there must be 4 keys, got 5 \(C8\)"),
        (grouped(k="tensor<2x1x17xf32>"), r"key and value must be.*\(C1\)"),
        (grouped(attrs="kv_num_heads 3 num_heads 4"), r"a multiple of kv_num_heads.*\(C2\)"),
        (grouped(past="tensor<2x2x8x8xf32>"), r"past keys and values must be.*\(C3\)"),
        (grouped(counts="tensor<3xi32>"), r"seqlens_k must be.*\(C4\)"),
        (grouped(attrs="do_rotary 1 kv_num_heads 2 num_heads 4"), r"matrices of one width \(C5\)"),
        (grouped(attrs="kv_num_heads 2 num_heads 4 smooth_softmax 1"), r"must be left out \(C6\)"),
        (rotary(x="tensor<8xf32>", ids="tensor<1xi64>"), r"x must be.*\(C1\)"),
        (rotary(ids="tensor<2x4xi64>"), r"position_ids must be.*\(C2\)"),
        (rotary(cos="tensor<9x3xf32>"), r"matrices of one width.*\(C3\)"),
        (rotary(attrs=" rotary_embedding_dim 4"), r"must be 0 or 8.*\(C4\)"),
        (rotary(attrs=" scale 2.0"), r"scale must be 1.*\(C5\)"),
        (qlinear("qlinear_sigmoid", "tensor<4xui16>"), r"of ui8 or i8.*\(C1\)"),
        (qlinear("qlinear_sigmoid", U, scale="tensor<2xf32>"), r"a scale must be one number.*\(C2\)"),
        (qlinear("qlinear_sigmoid", U, zero="tensor<i8>"), r"one element type.*\(C2\)"),
        (qlinear("qlinear_softmax", U, attrs=" axis 0 opset 11"), r"axis must be the last.*\(C3\)"),
        (qlinear("qlinear_global_average_pool", U), r"spatial axes.*\(C1\)"),
        (f"%y = ort.qlinear_concat %s, %z, %a axis 1 : {S}, {B}, {U} -> {U}", r"three operands.*\(C1\)"),
        (
            f"%y = ort.dynamic_quantize_matmul %a, %b, %s : {M}, tensor<5x2xi8>, tensor<3xf32> -> tensor<4x2xf32>",
            r"b_scale must be one number.*\(C5\)",
        ),
        (
            f"%y = ort.qgemm %a, %s, %z, %b, %t, %u : {U}, {S}, {B}, tensor<3x2xi8>, {S}, tensor<i8>"
            " -> tensor<2x2xf32>",
            r"columns of a' must be rows of b'.*\(C1\)",
        ),
    ],
)
def test_constraint(line: str, message: str) -> None:
    with pytest.raises(VerifyException, match=message):
        op_of(line).verify()


def test_a_node_that_the_dialect_does_not_cover_stays_opaque() -> None:
    source = model(
        "main (float[2,8] x, float[2,8] r, float[8] g) => (float[2,8] y, float[2] m)"
        " { y, m = com.microsoft.SkipLayerNormalization(x, r, g) }",
        imports=', "com.microsoft" : 1',
    )
    assert "ge.opaque" in str(import_model(source))


def test_an_operator_that_onnx_has_later_is_onnx_runtimes_before() -> None:
    text = "main (float[2,8] x, float[8] g) => (float[2,8] y) { y = LayerNormalization(x, g) }"
    assert "ort.layer_normalization" in str(import_model(model(text, 13, 8)))
    assert "ge.layer_normalization" in str(import_model(model(text, 17, 8)))
