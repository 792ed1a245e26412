"""Modules as text: names that are not ASCII, and what the driver and a person read back."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, StringAttr

from gecc.dialects.ge.constants import ConstantOp
from gecc.dialects.ge.data import value_of
from gecc.dialects.ge.names import set_names
from gecc.dialects.ge.text import module_text, value_name
from gecc.dialects.ge.types import StringType, tensor_type

from .text_cases import parsed, round_trip

TEXTS = st.text(st.characters(codec="utf-8"), max_size=12)


@given(TEXTS, TEXTS, TEXTS)
def test_any_text_comes_back(node: str, output: str, element: str):
    data = np.array([element, ""], object)
    op = ConstantOp(value_of(data), tensor_type(StringType(), (2,)))
    set_names(op, node or "n", [output or "o"])
    module = ModuleOp([op], {"onnx.doc": StringAttr(node), "list": ArrayAttr([StringAttr(output)])})
    for generic in (False, True):
        again = parsed(module_text(module, generic=generic))
        again.verify()
        assert module.is_structurally_equivalent(again)
        first = again.body.block.first_op
        assert isinstance(first, ConstantOp)
        assert list(first.array()) == [element, ""]


def test_names_of_arguments_and_what_is_inside_dictionaries():
    text = round_trip("""
    module attributes {onnx.metadata = {author = "\\C3\\A4", "gr\\C3\\B6\\C3\\9Fe" = "1", list = ["\\C3\\B6", "o"]}} {
      func.func @main(%x: tensor<?xf32> {onnx.name = "\\C3\\BC", ge.dims = ["b\\C3\\A4tch"]}) -> tensor<?xf32> {
        func.return %x : tensor<?xf32>
      }
    }""")
    function = parsed(text).body.block.first_op
    if isinstance(function, ModuleOp):
        function = function.body.block.first_op
    said = function.properties["arg_attrs"].data[0]
    assert said == DictionaryAttr({"onnx.name": StringAttr("ü"), "ge.dims": ArrayAttr([StringAttr("bätch")])})


def test_names_of_values_are_help_for_readers_only():
    text = round_trip("""
    %0 = "test.op"() : () -> tensor<4xf32>
    %a_b.c = ge.relu %0 : tensor<4xf32> -> tensor<4xf32>
    %a_b.c_1 = ge.relu %a_b.c : tensor<4xf32> -> tensor<4xf32>
    """)
    assert "ge.relu %a_b.c :" in text


@given(TEXTS)
def test_a_name_made_for_a_value_is_the_same_after_print_and_parse(name: str):
    found = value_name(f"{name}_2:0")
    assert found is not None
    text = module_text(parsed(f'%{found} = "test.op"() : () -> i1\n"test.op"(%{found}) : (i1) -> ()\n'))
    assert f"%{found} = " in text
    assert module_text(parsed(text)) == text


def test_names_of_values_are_made_of_what_the_text_allows():
    assert [value_name(n) for n in ("serving_default_input_2:0", "0", "täg", "", None)] == [
        "serving_default_input",
        "v0",
        "t_g",
        None,
        None,
    ]
