"""What every op has: its text, absent operands and results, attributes, names; declared with a few test ops."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from xdsl.dialects import test
from xdsl.utils.exceptions import ParseError, VerifyException

from gecc.dialects.ge.activation import ClipOp, LeakyReluOp
from gecc.dialects.ge.core import GeOp, PureOp, ge_op
from gecc.dialects.ge.declare import OnnxName, operand, result, var_operands
from gecc.dialects.ge.errors import InputError, node_name
from gecc.dialects.ge.movement import TransposeOp
from gecc.dialects.ge.slicing import SplitOp
from gecc.dialects.ge.types import tensor_type

from .movement_cases import value
from .text_cases import parsed, round_trip

X = '%x = "test.op"() : () -> tensor<4xf32>\n%s = "test.op"() : () -> tensor<f32>\n'


@pytest.mark.parametrize(
    "line",
    [
        "%y = ge.relu %x : tensor<4xf32> -> tensor<4xf32>",
        '%y = ge.relu %x : tensor<4xf32> -> tensor<4xf32> onnx "Relu_0" ["y"]',
        '%y = ge.relu %x : tensor<4xf32> -> tensor<4xf32> onnx ["y"]',
        '%y = ge.relu %x : tensor<4xf32> -> tensor<4xf32> onnx "Relu_0"',
        '%y = ge.relu %x : tensor<4xf32> -> tensor<4xf32> onnx "bl\\C3\\B6ck/\\22Relu\\22_0" ["\\E5\\87\\BA", "a b"]',
        '%y = ge.relu %x attributes {acme.note = "x"} : tensor<4xf32> -> tensor<4xf32> onnx "Relu_0" ["y"]',
        "%y = ge.clip %x : tensor<4xf32> -> tensor<4xf32>",
        "%y = ge.clip %x, %s : tensor<4xf32>, tensor<f32> -> tensor<4xf32>",
        "%y = ge.clip %x, none, %s : tensor<4xf32>, tensor<f32> -> tensor<4xf32>",
        "%y, %z = ge.split %x : tensor<4xf32> -> tensor<2xf32>, tensor<2xf32>",
        "%y = ge.max %x : tensor<4xf32> -> tensor<4xf32>",
        "%y = ge.max %x, %s, %x : tensor<4xf32>, tensor<f32>, tensor<4xf32> -> tensor<4xf32>",
        "%y = ge.leaky_relu %x alpha 1.0e+20 : tensor<4xf32> -> tensor<4xf32>",
        "%y = ge.leaky_relu %x alpha -1.0e-05 : tensor<4xf32> -> tensor<4xf32>",
        '%y = ge.leaky_relu %x alpha "inf" : tensor<4xf32> -> tensor<4xf32>',
        '%y = ge.leaky_relu %x alpha "nan" : tensor<4xf32> -> tensor<4xf32>',
        "%y = ge.transpose %x perm [0] : tensor<4xf32> -> tensor<4xf32>",
        "%y = ge.cast %x to f8E5M2 : tensor<4xf32> -> tensor<4xf8E5M2>",
    ],
)
def test_the_line_is_its_own_text(line: str):
    assert f"{line}\n" in round_trip(X + line)


def test_a_default_is_not_written():
    assert "alpha" not in round_trip(X + "%y = ge.leaky_relu %x alpha 0.01 : tensor<4xf32> -> tensor<4xf32>")


@given(st.floats(width=32))
def test_floats_of_attributes_come_back(alpha: float):
    text = str(LeakyReluOp(value("4xf32"), alpha=alpha))
    again = parsed(X + "%y = ge.leaky_relu %x " + text[text.find("alpha") if "alpha" in text else text.find(":") :])
    again = again.body.block.last_op
    assert isinstance(again, LeakyReluOp)
    assert np.float32(again.alpha).tobytes() == np.float32(alpha).tobytes() or math.isnan(alpha)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("%y = ge.relu %x, %x : tensor<4xf32> -> tensor<4xf32>", "2 operands need as many types, got 1"),
        ("%y = ge.relu %x alpha 1.0 : tensor<4xf32> -> tensor<4xf32>", "Expected ':'"),
        ("%y = ge.relu %x : tensor<4xf32> tensor<4xf32>", "Expected '->'"),
    ],
)
def test_what_does_not_parse(line: str, words: str):
    with pytest.raises(ParseError) as error:
        parsed(X + line)
    assert words in str(error.value)


def test_a_result_has_the_type_that_inference_gives():
    with pytest.raises(VerifyException, match=r"'ge.relu' result 0 must be tensor<4xf32>, got tensor<5xf32> \(T\)"):
        parsed(X + "%y = ge.relu %x : tensor<4xf32> -> tensor<5xf32>").verify()
    # One that says less is fine.
    parsed(X + "%y = ge.relu %x : tensor<4xf32> -> tensor<?xf32>").verify()


def test_an_attribute_that_must_be_given():
    with pytest.raises(VerifyException, match=r"attribute to must be given|property 'to'"):
        parsed(X + "%y = ge.cast %x : tensor<4xf32> -> tensor<4xf16>").verify()


def test_an_op_as_python_writes_it():
    x, low = value("2x?xf32"), value(np.array(-1, np.float32))
    clip = ClipOp(x, low)
    assert [v is not None for v in clip.by_slot()] == [True, True, False]
    assert clip.results[0].type == tensor_type(x.type.element_type, (2, -1))
    moved = TransposeOp(x, perm=(1, 0))
    moved.attributes["note"] = clip.results[0].type
    again = moved.rebuilt([clip.results[0]], perm=(0, 1))
    assert again.operands[0] is clip.results[0]
    assert again.perm == (0, 1)
    assert again.attributes == moved.attributes
    assert len(SplitOp(value("4xf32"), results=2).results) == 2


def test_an_op_that_is_refused_reads_nothing():
    x = value("2x3xf32")
    with pytest.raises(VerifyException, match="perm must be a permutation"):
        TransposeOp(x, perm=(0, 0))
    assert x.first_use is None


def test_a_declaration_in_which_a_variadic_operand_is_not_the_last():
    with pytest.raises(TypeError, match="only the last operand or result can be variadic"):

        @ge_op
        class WrongOp(PureOp):  # pyright: ignore[reportUnusedClass]
            name = "ge.wrong"
            onnx = OnnxName("Wrong")
            many = var_operands()
            one = operand()
            output = result()


def test_an_op_belongs_to_the_node_that_made_it():
    op = parsed(X + '%y = ge.relu %x : tensor<4xf32> -> tensor<4xf32> onnx ["y"]').body.block.last_op
    assert isinstance(op, GeOp)
    assert node_name(op) == "y"
    assert node_name(test.TestOp()) is None
    assert str(InputError("a\n  b", "m.onnx", "n")) == 'm.onnx: node "n": a b'
