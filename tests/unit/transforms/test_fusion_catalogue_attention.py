"""
Attention as exporters write it becomes one fusion; what only looks alike does not.

Every case is run before and after by the reference, bit by bit, and opened again.
"""

import numpy as np
from xdsl.ir import SSAValue

from .fusion_builder import Builder, fused, names_of


def heads(b: Builder, x: SSAValue, weight: SSAValue | None = None) -> SSAValue:
    """Two heads of four out of (1, 3, 8)."""
    projected = x if weight is None else b.Add(b.MatMul(x, weight), b.weight(8))
    return b.Transpose(b.Reshape(projected, np.array([1, 3, 2, 4])), perm=(0, 2, 1, 3))


def transposed(b: Builder, x: SSAValue) -> SSAValue:
    return b.Transpose(x, perm=(0, 1, 3, 2))


def back(b: Builder, x: SSAValue) -> SSAValue:
    return b.Reshape(b.Transpose(x, perm=(0, 2, 1, 3)), np.array([1, 3, 8]))


def attended(b: Builder, scores: SSAValue, v: SSAValue) -> SSAValue:
    return back(b, b.MatMul(b.Softmax(scores, axis=-1), v))


def test_attention_with_separate_projections_and_a_mask():
    b = Builder()
    x = b.input(1, 3, 8)
    q, k, v = (heads(b, x, b.weight(8, 8)) for _ in range(3))
    scores = b.Add(b.Div(b.MatMul(q, transposed(b, k)), 2.0), b.input(1, 1, 3, 3))
    assert names_of(b.done(attended(b, scores, v))) == ["MatMulAdd"] * 3 + ["Attention"]


def test_attention_with_a_packed_projection_and_a_mask_that_chooses():
    b = Builder()
    packed = b.Add(b.MatMul(b.input(1, 3, 8), b.weight(8, 24)), b.weight(24))
    parts = b.Split(packed, np.array([8, 8, 8]), axis=2, results=[True] * 3)
    q, k, v = (heads(b, part) for part in parts)
    mask = b.known(np.tril(np.ones((1, 1, 3, 3), bool)))
    scores = b.Where(mask, b.Mul(b.MatMul(q, transposed(b, k)), 0.5), -1e4)
    assert names_of(b.done(attended(b, scores, v))) == ["MatMulAdd", "Attention"]


def test_attention_with_scaled_queries_and_keys_and_rows_that_are_masked_as_a_whole():
    """As the exporter writes scaled_dot_product_attention."""
    b = Builder()
    q, k, v = (heads(b, b.input(1, 3, 8)) for _ in range(3))
    scores = b.Add(b.MatMul(b.Mul(q, 0.7), b.Mul(transposed(b, k), 0.7)), b.input(1, 1, 3, 3))
    weights = b.Softmax(scores, axis=-1)
    weights = b.Where(b.IsNaN(weights), 0.0, weights)
    assert names_of(b.done(back(b, b.MatMul(weights, v)))) == ["Attention"]


def test_attention_over_past_keys_and_values_that_are_results():
    b = Builder()
    past_k, past_v = b.input(1, 2, 5, 4), b.input(1, 2, 5, 4)
    q, k, v = (heads(b, b.input(1, 3, 8)) for _ in range(3))
    keys, values = b.Concat(past_k, k, axis=2), b.Concat(past_v, v, axis=2)
    y = attended(b, b.MatMul(q, transposed(b, keys)), values)
    assert "Attention" in names_of(b.done(y, keys, values))


def test_attention_of_groups_with_rotary_embeddings():
    b = Builder()
    cos, sin = b.input(1, 1, 3, 4), b.input(1, 1, 3, 4)
    q = heads(b, b.input(1, 3, 8))
    k, v = (b.Transpose(b.Reshape(b.input(1, 3, 4), np.array([1, 3, 1, 4])), perm=(0, 2, 1, 3)) for _ in range(2))

    def rotated(x: SSAValue) -> SSAValue:
        left, right = (b.Slice(x, [a], [z], [3]) for a, z in ((0, 2), (2, 4)))
        return b.Add(b.Mul(x, cos), b.Mul(b.Concat(b.Neg(right), left, axis=-1), sin))

    def repeated(x: SSAValue) -> SSAValue:
        wide = b.Expand(b.Unsqueeze(x, np.array([2])), np.array([1, 1, 2, 3, 4]))
        return b.Reshape(wide, np.array([1, 2, 3, 4]))

    scores = b.Mul(b.MatMul(rotated(q), transposed(b, repeated(rotated(k)))), 0.5)
    assert names_of(b.done(attended(b, scores, repeated(v)))) == ["Attention"]


def test_attention_of_windows_each_with_a_mask():
    b = Builder()
    q, k, v = (b.input(4, 2, 3, 4) for _ in range(3))
    scores = b.Add(b.MatMul(q, transposed(b, k)), b.weight(1, 2, 3, 3))
    scores = b.Add(b.Reshape(scores, np.array([2, 2, 2, 3, 3])), b.weight(1, 2, 1, 3, 3))
    scores = b.Reshape(scores, np.array([4, 2, 3, 3]))
    assert names_of(b.done(b.MatMul(b.Softmax(scores, axis=-1), v))) == ["Attention"]


def test_attention_by_einsum():
    b = Builder()
    q, k, v = (b.input(1, 3, 2, 4) for _ in range(3))
    weights = b.Softmax(b.Mul(b.Einsum(q, k, equation="bqhd,bkhd->bhqk"), 0.5), axis=-1)
    assert names_of(b.done(b.Einsum(weights, v, equation="bhqk,bkhd->bqhd"))) == ["Attention"]


def test_attention_with_normalised_queries_and_keys():
    b = Builder()

    def normalised(x: SSAValue) -> SSAValue:
        root = b.Sqrt(b.Add(b.ReduceMean(b.Pow(x, 2.0), [-1]), 1e-3))
        return b.Mul(b.Div(x, root), b.weight(4))

    q, k, v = (heads(b, b.input(1, 3, 8)) for _ in range(3))
    scores = b.MatMul(normalised(q), transposed(b, normalised(k)))
    assert names_of(b.done(attended(b, scores, v))) == ["Attention"]


def test_attention_whose_weights_have_another_batch():
    b = Builder()
    q, k, v = (b.input(2, 3, 4) for _ in range(3))
    scores = b.Reshape(b.MatMul(q, b.Transpose(k, perm=(0, 2, 1))), np.array([1, 2, 3, 3]))
    weights = b.Reshape(b.Softmax(scores, axis=-1), np.array([2, 3, 3]))
    assert names_of(b.done(b.MatMul(weights, v))) == ["Attention"]


def test_another_shape_that_cuts_the_rows_of_scores_is_none():
    b = Builder()
    q, k, v = b.input(2, 4, 4), b.input(2, 4, 4), b.input(2, 2, 4)
    scores = b.MatMul(q, b.Transpose(k, perm=(0, 2, 1)))
    weights = b.Softmax(b.Reshape(scores, np.array([2, 8, 2])), axis=-1)
    names, report = fused(b.done(b.MatMul(weights, v)))
    assert "Attention" not in names
    assert any("cuts the rows" in remark for remark in report.remarks)


def test_a_mask_that_broadcasts_the_scores_is_none():
    b = Builder()
    q, k, v = (heads(b, b.input(1, 3, 8)) for _ in range(3))
    scores = b.Add(b.MatMul(q, transposed(b, k)), b.input(2, 1, 3, 3))
    names, report = fused(b.done(b.MatMul(b.Softmax(scores, axis=-1), v)))
    assert "Attention" not in names
    assert any("the mask broadcasts the scores" in remark for remark in report.remarks)


def test_a_softmax_along_another_axis_is_no_attention():
    b = Builder()
    q, k, v = (heads(b, b.input(1, 3, 8)) for _ in range(3))
    y = b.MatMul(b.Softmax(b.MatMul(q, transposed(b, k)), axis=1), v)
    names, report = fused(b.done(y))
    assert "Attention" not in names
    assert any("it does not go along the last axis" in remark for remark in report.remarks)


def test_scores_that_are_a_result_keep_attention_apart():
    b = Builder()
    q, k, v = (heads(b, b.input(1, 3, 8)) for _ in range(3))
    scores = b.MatMul(q, transposed(b, k))
    assert "Attention" not in names_of(b.done(attended(b, scores, v), scores))
