"""ge.if: constraints and text."""

import pytest
from xdsl.utils.exceptions import VerifyException

from gecc.dialects.ge.interfaces import is_pure

from .text_cases import parsed, round_trip

VALUES = """
%c = "test.op"() : () -> {condition}
%a = "test.op"() : () -> tensor<4xf32>
%b = "test.op"() : () -> tensor<?xf32>
%i = "test.op"() : () -> tensor<4xi64>
"""


def conditional(then: str, other: str, condition: str = "tensor<i1>") -> str:
    op = f'%y = ge.if %c : {condition} -> (tensor<?xf32>) onnx "If_3" ["y"] {{ {then} }} else {{ {other} }}'
    return VALUES.format(condition=condition) + op


A, B, C = "ge.yield %a : tensor<4xf32>", "ge.yield %b : tensor<?xf32>", "ge.yield %i : tensor<4xi64>"


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (conditional(A, B, "tensor<i8>"), "the condition must be one element of i1, got tensor<i8> (C1)"),
        (conditional(A, B, "tensor<2xi1>"), "got tensor<2xi1> (C1)"),
        (conditional(A, "ge.yield"), "each body must end in ge.yield of 1 values (C2)"),
        (conditional('"test.termop"() : () -> ()', B), "(C2)"),
        (conditional(A, C), "a body must yield tensor<?xf32>, got tensor<4xi64> (C3)"),
        (conditional(C, B), "(C3)"),
    ],
)
def test_both_branches_give_the_results(source: str, words: str):
    with pytest.raises(VerifyException) as error:
        parsed(source).verify()
    assert words in str(error.value)
    assert 'node "If_3"' in str(error.value)


@pytest.mark.parametrize("condition", ["tensor<i1>", "tensor<1xi1>", "tensor<1x1xi1>", "tensor<?xi1>"])
def test_text(condition: str):
    text = round_trip(conditional(A, B, condition))
    assert f'ge.if %c : {condition} -> (tensor<?xf32>) onnx "If_3" ["y"] {{' in text


def test_no_results_and_attributes():
    source = VALUES.format(condition="tensor<i1>")
    text = round_trip(source + "ge.if %c attributes {note = 1 : i64} : tensor<i1> -> () { ge.yield } else { ge.yield }")
    assert "ge.if %c attributes {note = 1 : i64} : tensor<i1> -> () {" in text


def test_it_is_as_pure_as_its_branches():
    impure = 'ge.opaque "Print" domain "acme" version 1 (%a) : (tensor<4xf32>) -> () '
    for then, pure in ((A, True), (impure + A, False)):
        assert is_pure(parsed(conditional(then, B)).body.block.last_op) is pure
