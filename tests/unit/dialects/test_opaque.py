"""ge.opaque: constraints, text, effects."""

import pytest
from xdsl.utils.exceptions import ParseError, VerifyException

from gecc.dialects.ge.interfaces import is_pure

from .text_cases import parsed, round_trip

X = '%x = "test.op"() : () -> tensor<4xf32>\n'


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('"ge.opaque"(%x) <{op_type = "A", version = 1 : i64, inputs = array<i64: 1, 1>}> : (tensor<4xf32>) -> ()',
         "inputs must name as many as there are, 1, got"),
        ('%y = "ge.opaque"(%x) <{op_type = "A", version = 1 : i64, outputs = array<i64: 0>}> : (tensor<4xf32>) -> i1',
         "outputs must name as many as there are, 1, got"),
        ('"ge.opaque"(%x) <{op_type = "A", version = 1 : i64}> ({ ge.yield }) : (tensor<4xf32>) -> ()',
         "each of the 1 bodies must have a name (C2)"),
    ],
)  # fmt: skip
def test_what_is_absent_is_counted_and_bodies_have_names(text: str, words: str):
    with pytest.raises(VerifyException) as error:
        parsed(X + text).verify()
    assert words in str(error.value)


@pytest.mark.parametrize(
    "line",
    [
        '%y = ge.opaque "NonZero" version 13 pure (%x) : (tensor<4xf32>) -> (tensor<1x?xi64>) onnx "N_7" ["y"]',
        '%y = ge.opaque "Foo" domain "acme.ops" version 1 (none, %x, none) : (tensor<4xf32>) -> (none, !ge.unknown)',
        '%y = ge.opaque "A" version 1 () attrs {a = 1 : i64, b = [1.000000e+00 : f32], s = "x"} : () -> (i1)',
        'ge.opaque "Print" domain "acme" version 1 (%x) : (tensor<4xf32>) -> () onnx "Print_1"',
        '%y = ge.opaque "A" version 1 (%x) attributes {note = 1 : i64} : (tensor<4xf32>) -> (tensor<4xf32>)',
        '%y = ge.opaque "F\\C3\\B6" domain "\\C3\\A4" version 1 (%x) attrs {s = "\\C3\\BC"} : (tensor<4xf32>) -> (i1)',
    ],
)  # fmt: skip
def test_the_line_is_its_own_text(line: str):
    assert f"{line}\n" in round_trip(X + line)


@pytest.mark.parametrize("suffix", ["", ' onnx "node"', ' onnx "node" ["y"]', " with body {\n    ge.yield\n  }"])
def test_an_op_without_results_may_follow(suffix: str):
    # Its name is an identifier, as a body's name is.
    text = round_trip(f"""
    func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {{
      %y = ge.opaque "Foo" domain "acme" version 1 (%x) : (tensor<4xf32>) -> (tensor<4xf32>){suffix}
      func.return %y : tensor<4xf32>
    }}""")
    assert "func.return %y" in text


def test_bodies_see_what_is_around_them():
    text = round_trip(
        X
        + """
    %n = ge.opaque "Loop" version 16 (none, %x) : (tensor<4xf32>) -> (tensor<4xf32>, none) onnx "L" with body {
    ^bb0(%i: tensor<i64>, %c: tensor<i1>, %v: tensor<4xf32>):
      %w = ge.add %v, %x : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
      ge.yield %c, %w : tensor<i1>, tensor<4xf32>
    }, "an other" {
      ge.yield
    }
    """
    )
    assert '}, "an other" {' in text


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('ge.opaque "A" version 1 (%x) : () -> ()', "expected 0 operand types but had 1"),
        ('ge.opaque "A" version 1 () : (tensor<f32>) -> ()', "expected 1 operand types but had 0"),
        (
            'ge.opaque "A" version 1 (%x) attrs "x" : (tensor<4xf32>) -> ()',
            "a dictionary of attributes must stand here",
        ),
        ('ge.opaque "A" (%x) : (tensor<4xf32>) -> ()', "version"),
        ('ge.opaque "A" version 1 (%x) : (tensor<4xf32>) -> () with body', "Expected region"),
    ],
)
def test_what_does_not_parse(text: str, words: str):
    with pytest.raises(ParseError) as error:
        parsed(X + text)
    assert words in str(error.value)


def test_it_is_pure_where_it_says_so_and_its_bodies_are():
    source = """
    func.func @f() {
      ge.opaque "A" version 1 () : () -> ()
      ge.opaque "A" version 1 pure () : () -> ()
      ge.opaque "A" version 1 pure () : () -> () with body { ge.opaque "B" version 1 pure () : () -> ()  ge.yield }
      ge.opaque "A" version 1 pure () : () -> () with body { ge.opaque "B" version 1 () : () -> ()  ge.yield }
      func.return
    }"""
    ops = [op for op in parsed(source).walk() if op.name == "ge.opaque" and op.parent_op().name == "func.func"]
    assert [is_pure(op) for op in ops] == [False, True, True, False]
