"""The parser that knows types again by their text reads what xDSL's own reads."""

import pytest
from xdsl.parser import Parser
from xdsl.utils.exceptions import ParseError

from gecc.dialects.ge.text import ModuleParser
from gecc.driver.registry import default_registry

CONTEXT = default_registry(lambda text: None).context()

TYPES = """
func.func @main(%x: tensor<2x?xf32>, %y : tensor<f32>{onnx.name = "y"}, %z: memref<4xi8>) -> (tensor<2x?xf32>) {
  %a = "test.op"(%x) : (tensor<2x?xf32>)->tensor<2x?xf32>
  %b = "test.op"(%a, %y) {t = tensor<f32>, d = dense<[[1, 2]]> : tensor<1x2xi64>} : (tensor<2x?xf32>, tensor<f32>)
    -> tensor< 2x?xf32 >
  %c = "test.op"(%z) : (memref<4xi8>) -> memref<4xi8, strided<[1], offset: 2>>
  %d = ge.constant dense<[[3, 4]]> : tensor<1x2xi64>
  return %b : tensor<2x?xf32>
}
"""


def test_the_same_module_as_xdsl_reads():
    ours, theirs = (parser(CONTEXT, TYPES, "t").parse_module() for parser in (ModuleParser, Parser))
    assert str(ours) == str(theirs)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('%a, %b = "test.op"() : () -> (tensor<2xf33>, tensor<2xf33>)', "f33"),
        ("%a = ge.constant dense<[1, 2]> : tensor<?xi64>", "Dense literal attribute should have a static shape."),
        ("%a = ge.constant dense<[1, 2]> : i64", "Expected memref, vector or tensor type of"),
        ("%a = ge.constant dense<[1, 2]> : tensor<3xi64>", "Shape mismatch in dense literal."),
    ],
)
def test_the_same_errors_as_xdsl_says(text: str, problem: str):
    with pytest.raises(ParseError) as ours:
        ModuleParser(CONTEXT, text, "t").parse_module()
    with pytest.raises(ParseError) as theirs:
        Parser(CONTEXT, text, "t").parse_module()
    assert str(ours.value) == str(theirs.value)
    assert problem in str(ours.value)
