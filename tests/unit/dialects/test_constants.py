"""Constants: every constraint, and data that comes back bit for bit from the text."""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import ParseError, VerifyException

from gecc.dialects.ge import data
from gecc.dialects.ge.constants import ConstantOp, constant
from gecc.dialects.ge.data import array_of, value_of
from gecc.dialects.ge.errors import InputError
from gecc.dialects.ge.text import module_text
from gecc.dialects.ge.types import ELEMENTS, StringType, element_of, tensor_type

from .text_cases import parsed, round_trip

# ------------------------------------------------------------------ constraints


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("#ge.splat<1.0> : tensor<?xf32>", "must be static, got tensor<?xf32> (C1)"),
        ("#ge.weight<@v, 0> : tensor<4xf32>", "no ge.weights @v in the module (C2)"),
        ('#ge.bytes<"0000"> : tensor<f32>', "needs 4 bytes, got 2 (C3)"),
        ('#ge.bytes<"000000"> : tensor<3xi4>', "needs 2 bytes, got 3 (C3)"),
        ('#ge.strings<["a"]> : tensor<2x!ge.string>', "needs 2 strings, got 1 (C3)"),
        ("dense<1.0> : tensor<2xf32> attributes {a = 1 : i64} : tensor<3xf32>", "the data is tensor<2xf32>"),
        ('"a" : tensor<f32>', "must be dense, #ge.splat, .bytes, .strings or .weight"),
        ("#ge.splat<0.5> : tensor<4xi64>", "#ge.splat<0.5> is no i64 (C3)"),
        ("#ge.splat<300> : tensor<4xi8>", "#ge.splat<300> is no i8 (C3)"),
        ("#ge.splat<-1> : tensor<4xui8>", "#ge.splat<-1> is no ui8 (C3)"),
        ("#ge.splat<8> : tensor<4xi4>", "#ge.splat<8> is no i4 (C3)"),
        ("#ge.splat<2> : tensor<4xi1>", "#ge.splat<2> is no i1 (C3)"),
        ('#ge.splat<"00"> : tensor<4xf32>', "is no f32 (C3)"),
        ("#ge.splat<1.0> : tensor<4x!ge.string>", "a constant of !ge.string cannot be #ge.splat<1.0> (C3)"),
        ('#ge.bytes<"00"> : tensor<1x!ge.unknown>', "a constant of !ge.unknown cannot be"),
        ('#ge.strings<["a"]> : tensor<1xf32>', "a constant of f32 cannot be"),
    ],
)
def test_a_constant_is_of_its_type(line: str, words: str):
    with pytest.raises(VerifyException) as error:
        parsed(f'%w = ge.constant {line} onnx "Constant_1" ["w"]').verify()
    assert words in str(error.value)
    assert 'node "Constant_1"' in str(error.value)


def test_a_mapped_weight_has_the_same_constraints():
    for line, code in (("#ge.splat<0.0> : memref<?xf32>", "(C1)"), ("#ge.weight<@w, 0> : memref<4xf32>", "(C2)")):
        with pytest.raises(VerifyException) as error:
            parsed(f"%w = ge.mapped {line}").verify()
        assert code in str(error.value)
    with pytest.raises(VerifyException, match=r"\(C3\)"):
        parsed('%w = ge.mapped #ge.bytes<"00"> : memref<4xf32>').verify()


def test_weights_stand_in_a_module():
    with pytest.raises(VerifyException, match=r"builtin\.module"):
        parsed('func.func @f() { ge.weights @w {path = "m.onnx", bytes = 4 : i64}  func.return }').verify()


@pytest.mark.parametrize(
    "text", ["#ge.strings<[1]>", "#ge.strings<7>", '#ge.bytes<"0">', '#ge.splat<"xy">', "#ge.weight<4, 0>"]
)
def test_data_in_a_wrong_form_does_not_parse(text: str):
    with pytest.raises(ParseError):
        parsed(f"%w = ge.constant {text} : tensor<1x!ge.string>")


# ------------------------------------------------------------------ text


@pytest.mark.parametrize(
    "line",
    [
        "ge.constant dense<[1, -1]> : tensor<2xi64>",
        "ge.constant #ge.splat<0.5> : tensor<1000x1000xf32>",
        "ge.constant #ge.splat<1.0e+20> : tensor<4xf32>",
        'ge.constant #ge.splat<"00000080"> : tensor<4xf32>',
        "ge.constant #ge.splat<18446744073709551615> : tensor<4xui64>",
        'ge.constant #ge.bytes<"0000C07F"> : tensor<f32> onnx "nan" ["n"]',
        'ge.constant #ge.strings<["a", "\\C3\\BC", ""]> : tensor<3x!ge.string>',
        "ge.constant dense<> : tensor<0x3xf32>",
        'ge.constant dense<[1, 2]> : tensor<2xi64> attributes {note = 1 : i64} : tensor<2xi64> onnx ["w"]',
    ],
)
def test_the_line_is_its_own_text(line: str):
    assert f"%w = {line}\n" in round_trip(f"%w = {line}")


def test_weights_and_mapped_weights():
    text = round_trip("""
    ge.weights @w {path = "models/ü/m.onnx", bytes = 64 : i64, digest = "ab"}
    ge.weights @w0 {path = "n.onnx", bytes = 5000000000 : i64}
    %a = ge.constant #ge.weight<@w, 16> : tensor<4xf32> onnx ["é"]
    %b = ge.mapped #ge.weight<@w0, 4000000000> : memref<4xf32>
    """)
    assert '{path = "models/\\C3\\BC/m.onnx", bytes = 64 : i64, digest = "ab"}' in text
    assert "ge.mapped #ge.weight<@w0, 4000000000> : memref<4xf32>" in text


NUMBERS = [e for e in ELEMENTS if e.type != StringType()]


@st.composite
def data_of_any_type(draw: st.DrawFn) -> np.ndarray:
    """Any bit pattern of any element type, also NaNs with payloads, in a small shape."""
    element = draw(st.sampled_from(NUMBERS))
    shape = draw(arrays.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4))
    count = int(np.prod(shape))
    if element.dtype.kind == "b" or element.bits < 8:
        row = draw(st.lists(st.integers(0, (1 << min(element.bits, 4)) - 1), min_size=count, max_size=count))
        small = np.array([x % 2 if element.dtype.kind == "b" else x for x in row], np.uint8)
        return data.from_raw(_packed(small, element.bits), element.type, shape)
    raw = draw(st.binary(min_size=count * element.dtype.itemsize, max_size=count * element.dtype.itemsize))
    return np.frombuffer(raw, element.dtype).reshape(shape)


def _packed(elements: np.ndarray, bits: int) -> bytes:
    if bits >= 8:
        return elements.tobytes()
    out = bytearray(-(-len(elements) * bits // 8))
    for k, x in enumerate(elements):
        out[k * bits // 8] |= int(x) << (k * bits % 8)
    return bytes(out)


def _bits(array: np.ndarray) -> bytes:
    return data.raw_bytes(array)


@given(data_of_any_type())
def test_every_bit_pattern_comes_back_from_the_text(array: np.ndarray):
    type_ = tensor_type(element_of(array.dtype).type, array.shape)
    module = parsed(module_text(ModuleOp([ConstantOp(value_of(array), type_)])))
    module.verify()
    op = module.body.block.first_op
    assert isinstance(op, ConstantOp)
    assert op.array().dtype == array.dtype
    assert op.array().shape == array.shape
    assert _bits(op.array()) == _bits(array)


@given(st.floats(width=32), st.sampled_from([np.float16, np.float32, np.float64, ml_dtypes.bfloat16]))
def test_splats_keep_minus_zero_and_payloads(x: float, dtype: type):
    with np.errstate(over="ignore"):
        array = np.full((700,), x).astype(dtype)
    value = value_of(array)
    type_ = tensor_type(element_of(array.dtype).type, array.shape)
    assert _bits(array_of(value, type_, None)) == _bits(array)
    assert value_of(array) == value


def test_minus_zero_is_another_splat_than_zero():
    assert value_of(np.zeros(9, np.float32)) != value_of(-np.zeros(9, np.float32))


def test_plain_numbers_read_as_numbers():
    assert str(value_of(np.array([0.1, -2.5, 1e-7, 3e30], np.float32))).startswith("dense<[1.000000e-01, -2.500000e+00")


# ------------------------------------------------------------------ files


def test_what_is_too_large_for_the_text_goes_to_one_file():
    module = ModuleOp([])
    ramp = np.arange(1000, dtype=np.float32)
    first, second = constant(ramp, module), constant(-ramp, module)
    module.body.block.add_ops([first, second])
    module.verify()
    assert [op.name for op in module.body.block.ops] == ["ge.weights", "ge.constant", "ge.constant"]
    np.testing.assert_array_equal(first.array(), ramp)
    np.testing.assert_array_equal(second.array(), -ramp)


def test_a_file_that_is_gone_or_too_short_is_named(tmp_path):
    path = tmp_path / "w.bin"
    path.write_bytes(b"1234")
    source = 'ge.weights @w {{path = "{}", bytes = 4 : i64}}  %w = ge.constant #ge.weight<@w, 2> : tensor<1xf32>'
    module = parsed(source.format(path))
    with pytest.raises(InputError, match="ends past the file's 4"):
        module.body.block.last_op.array()
    path.unlink()
    with pytest.raises(InputError, match=r"w\.bin: weights cannot be read: No such file"):
        parsed(source.format(path)).body.block.last_op.array()
