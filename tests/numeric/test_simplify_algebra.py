"""Algebra keeps every bit: NaN, infinities, signed zeros and integers that wrap."""

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, ModuleOp
from xdsl.dialects.func import Func

from gecc.dialects.ge import Ge
from gecc.dialects.ge.text import parse_module
from gecc.reference import run
from gecc.transforms.simplify.algebraic_simplification import AlgebraicSimplification

FLOATS = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.5, -1.5, 3e38], np.float32)
INTEGERS = np.array([0, 1, -1, 5, -7, 2**31 - 1, -(2**31), 3], np.int32)

PROGRAMS = {
    "neutral": """
      %c1 = ge.constant dense<1.0> : tensor<f32>
      %c0 = ge.constant dense<0.0> : tensor<f32>
      %m0 = ge.constant dense<-0.0> : tensor<f32>
      %0 = ge.mul %x, %c1 : tensor<8xf32>, tensor<f32> -> tensor<8xf32>
      %1 = ge.add %0, %m0 : tensor<8xf32>, tensor<f32> -> tensor<8xf32>
      %2 = ge.sub %1, %c0 : tensor<8xf32>, tensor<f32> -> tensor<8xf32>
      %y = ge.add %2, %c0 : tensor<8xf32>, tensor<f32> -> tensor<8xf32>""",
    "negated": """
      %0 = ge.neg %x : tensor<8xf32> -> tensor<8xf32>
      %1 = ge.abs %0 : tensor<8xf32> -> tensor<8xf32>
      %2 = ge.add %0, %1 : tensor<8xf32>, tensor<8xf32> -> tensor<8xf32>
      %y = ge.sub %2, %0 : tensor<8xf32>, tensor<8xf32> -> tensor<8xf32>""",
    "bounded": """
      %lo = ge.constant dense<-1.0> : tensor<1xf32>
      %hi = ge.constant dense<2.0> : tensor<1xf32>
      %0 = ge.max %x, %lo : tensor<8xf32>, tensor<1xf32> -> tensor<8xf32>
      %1 = ge.min %hi, %0 : tensor<1xf32>, tensor<8xf32> -> tensor<8xf32>
      %y = ge.relu %1 : tensor<8xf32> -> tensor<8xf32>""",
    "wrapping": """
      %c = ge.constant dense<2147483647> : tensor<i32>
      %d = ge.constant dense<-5> : tensor<i32>
      %0 = ge.mul %i, %c : tensor<8xi32>, tensor<i32> -> tensor<8xi32>
      %1 = ge.mul %0, %d : tensor<8xi32>, tensor<i32> -> tensor<8xi32>
      %2 = ge.sub %c, %1 : tensor<i32>, tensor<8xi32> -> tensor<8xi32>
      %3 = ge.sub %2, %d : tensor<8xi32>, tensor<i32> -> tensor<8xi32>
      %4 = ge.sub %c, %3 : tensor<i32>, tensor<8xi32> -> tensor<8xi32>
      %z = ge.add %d, %4 : tensor<i32>, tensor<8xi32> -> tensor<8xi32>
      %y = ge.cast %z to f32 : tensor<8xi32> -> tensor<8xf32>""",
    "compared": """
      %0 = ge.greater %i, %j : tensor<8xi32>, tensor<8xi32> -> tensor<8xi1>
      %1 = ge.not %0 : tensor<8xi1> -> tensor<8xi1>
      %2 = ge.not %1 : tensor<8xi1> -> tensor<8xi1>
      %3 = ge.not %2 : tensor<8xi1> -> tensor<8xi1>
      %n = ge.neg %x : tensor<8xf32> -> tensor<8xf32>
      %y = ge.where %3, %x, %n : tensor<8xi1>, tensor<8xf32>, tensor<8xf32> -> tensor<8xf32>""",
}


HEAD = """func.func @main(%x: tensor<8xf32> {onnx.name = "x"}, %i: tensor<8xi32> {onnx.name = "i"},
  %j: tensor<8xi32> {onnx.name = "j"}) -> (tensor<8xf32> {onnx.name = "y"}) {"""


def parsed(text: str) -> ModuleOp:
    context = Context()
    for dialect in (Builtin, Func, Ge):
        context.load_dialect(dialect)
    module = parse_module(context, text, "test")
    module.verify()
    return module


def simplified(text: str) -> tuple[ModuleOp, np.ndarray, np.ndarray]:
    """The module after the pass, and its result before and after."""
    module = parsed(f"{HEAD}{text}\nfunc.return %y : tensor<8xf32>\n}}")
    inputs = {"x": FLOATS, "i": INTEGERS, "j": INTEGERS[::-1].copy()}
    with np.errstate(all="ignore"):
        before = run(module, inputs)["y"]
        AlgebraicSimplification().apply(Context(), module)
        module.verify()
        return module, before, run(module, inputs)["y"]


def same_bits(a: np.ndarray, b: np.ndarray) -> bool:
    number = ~np.isnan(a)
    return np.array_equal(number, ~np.isnan(b)) and a[number].tobytes() == b[number].tobytes()


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_bit_is_kept(name: str):
    ops = len(list(parsed(f"{HEAD}{PROGRAMS[name]}\nfunc.return %y : tensor<8xf32>\n}}").walk()))
    module, before, after = simplified(PROGRAMS[name])
    assert name == "wrapping" or len(list(module.walk())) < ops  # sums of constants are left to folding
    assert same_bits(before, after)


@pytest.mark.parametrize("low", ["-2.0", "0.0", "-0.0"])
@pytest.mark.parametrize("high", ["2.0", "0.0", "-0.0"])
@pytest.mark.parametrize("first", ["%x, %lo", "%lo, %x"])
@pytest.mark.parametrize("then", ["%0, %hi", "%hi, %0"])
def test_bounds_of_zero_give_the_same_of_two_zeros(low: str, high: str, first: str, then: str):
    _, before, after = simplified(f"""
      %lo = ge.constant dense<{low}> : tensor<8xf32>
      %hi = ge.constant dense<{high}> : tensor<8xf32>
      %0 = ge.max {first} : tensor<8xf32>, tensor<8xf32> -> tensor<8xf32>
      %1 = ge.min {then} : tensor<8xf32>, tensor<8xf32> -> tensor<8xf32>
      %y = ge.relu %1 : tensor<8xf32> -> tensor<8xf32>""")
    assert same_bits(before, after)


def test_a_zero_behind_the_value_is_a_bound_of_a_clip():
    module, _, _ = simplified("""
      %lo = ge.constant dense<0.0> : tensor<f32>
      %hi = ge.constant dense<6.0> : tensor<f32>
      %0 = ge.max %x, %lo : tensor<8xf32>, tensor<f32> -> tensor<8xf32>
      %y = ge.min %0, %hi : tensor<8xf32>, tensor<f32> -> tensor<8xf32>""")
    assert [op.name for op in module.walk() if op.name in ("ge.max", "ge.min", "ge.clip")] == ["ge.clip"]


def test_an_added_zero_goes_where_its_sign_is_lost_behind_a_negation():
    module, before, after = simplified("""
      %z = ge.constant dense<0.0> : tensor<f32>
      %0 = ge.add %x, %z : tensor<8xf32>, tensor<f32> -> tensor<8xf32>
      %1 = ge.neg %0 : tensor<8xf32> -> tensor<8xf32>
      %y = ge.abs %1 : tensor<8xf32> -> tensor<8xf32>""")
    assert "ge.add" not in {op.name for op in module.walk()}
    assert same_bits(before, after)
