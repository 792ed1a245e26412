"""
Activations as exporters write them become one fusion each; what only looks alike does not.

Every case is run before and after by the reference, bit by bit, and opened again.
"""

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import f16, f32
from xdsl.ir import SSAValue

from .catalogue_forms import ACTIVATIONS, erf_of
from .fusion_builder import Builder, fused, names_of


@pytest.mark.parametrize("form", ACTIVATIONS)
@settings(max_examples=6)
@given(shape=st.lists(st.integers(1, 5), min_size=1, max_size=4), element=st.sampled_from([f16, f32]))
def test_an_activation_is_one_op(form: str, shape: Sequence[int], element: Any):
    name, make = ACTIVATIONS[form]
    b = Builder(element)
    assert names_of(b.done(make(b, b.input(*shape)))) == [name]


@pytest.mark.parametrize("form", ACTIVATIONS)
def test_an_activation_goes_with_the_convolution_and_the_product_before_it(form: str):
    name, make = ACTIVATIONS[form]
    b = Builder()
    conv = b.Conv(b.input(1, 2, 4, 4), b.weight(3, 2, 3, 3), b.weight(3))
    dense = b.Add(b.MatMul(b.input(2, 4), b.weight(4, 3)), b.weight(3))
    gemm = b.Gemm(b.input(2, 4), b.weight(4, 3), b.weight(3))
    found = names_of(b.done(make(b, conv), make(b, dense), make(b, gemm)))
    assert found == [f"Conv{name}", f"MatMulAdd{name}", f"Gemm{name}"]


@pytest.mark.parametrize(
    "wrong",
    [
        lambda b, x: b.Mul(b.Mul(x, erf_of(b, x, 1.5)), 0.5),
        lambda b, x: b.Mul(b.Mul(x, erf_of(b, x)), 0.4),
        lambda b, x: b.Mul(b.Mul(x, b.Add(b.Erf(b.Div(x, 2**0.5)), 0.9)), 0.5),
    ],
)
def test_a_gelu_with_a_wrong_number_is_none(wrong: Callable[[Builder, SSAValue], SSAValue]):
    b = Builder()
    names, report = fused(b.done(wrong(b, b.input(2, 3))))
    assert names == ["DivErfAddMulMul"]
    assert any("activation" in remark and ", not " in remark for remark in report.remarks)

    b = Builder()
    names, report = fused(b.done(wrong(b, b.MatMul(b.input(2, 3), b.weight(3, 3)))))
    assert names == ["MatMulDivErfAddAnd2More"]
    (remark,) = report.remarks
    assert "is no Gelu: " in remark
    assert ", not " in remark


def test_a_gelu_whose_inner_value_is_a_result_is_none():
    b = Builder()
    x = b.input(2, 3)
    inner = erf_of(b, x)
    names, report = fused(b.done(inner, b.Mul(b.Mul(x, inner), 0.5)))
    assert "Gelu" not in "".join(names)
    assert any("the graph reads the result of" in remark for remark in report.remarks)
