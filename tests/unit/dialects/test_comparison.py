"""Comparisons, logic and choice (comparison.py)."""

import itertools

import numpy as np
import pytest
from xdsl.dialects.builtin import f32, i1, i64
from xdsl.utils.exceptions import VerifyException

from gecc.dialects.ge.dims import symbol, unknown
from gecc.dialects.ge.info import Info

from .elementwise_cases import check_scalar, known, op_of, round_trip, shape_data

N = symbol("N")
COMPARISONS = ["equal", "less", "less_or_equal", "greater", "greater_or_equal"]
LOGIC = ["and", "or", "xor"]


@pytest.mark.parametrize(
    "line",
    [f"%y = ge.{name} %a, %b : tensor<?x64xf32>, tensor<64xf32> -> tensor<?x64xi1>" for name in COMPARISONS]
    + [f"%y = ge.{name} %a, %b : tensor<?x64xi1>, tensor<64xi1> -> tensor<?x64xi1>" for name in LOGIC]
    + ["%y = ge.where %c, %a, %b : tensor<?x64xi1>, tensor<64xf32>, tensor<f32> -> tensor<?x64xf32>"],
)
def test_text(line: str) -> None:
    round_trip(line)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("%y = ge.less %a, %b : tensor<4xf32>, tensor<4xf16> -> tensor<4xi1>", r"one element type.*\(C1\)"),
        ("%y = ge.less %a, %b : tensor<4xf32>, tensor<3xf32> -> tensor<4xi1>", r"to broadcast.*\(C2\)"),
        ("%y = ge.less %a, %b : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>", r"must be tensor<4xi1>.*\(T\)"),
        ("%y = ge.and %a, %b : tensor<4xi1>, tensor<4xi32> -> tensor<4xi1>", r"one element type.*\(C1\)"),
        ("%y = ge.and %a, %b : tensor<4xi1>, tensor<3xi1> -> tensor<4xi1>", r"to broadcast.*\(C2\)"),
        ("%y = ge.and %a, %b : tensor<4xi32>, tensor<4xi32> -> tensor<4xi1>", r"truth values, got i32 \(C3\)"),
        ("%y = ge.where %c, %a, %b : tensor<4xi8>, tensor<4xf32>, tensor<f32> -> tensor<4xf32>",
         r"condition must have truth values, got tensor<4xi8> \(C1\)"),
        ("%y = ge.where %c, %a, %b : tensor<4xi1>, tensor<4xf32>, tensor<f16> -> tensor<4xf32>", r"one.*\(C2\)"),
        ("%y = ge.where %c, %a, %b : tensor<4xi1>, tensor<3xf32>, tensor<f32> -> tensor<4xf32>", r"to broad.*\(C3\)"),
    ],
)  # fmt: skip
def test_constraint(line: str, message: str) -> None:
    with pytest.raises(VerifyException, match=message):
        op_of(line).verify()


@pytest.mark.parametrize("name", COMPARISONS)
def test_comparison(name: str) -> None:
    a = np.array([[-np.inf, -1, 0, 2, np.nan]], np.float32)
    check_scalar(f"%y = ge.{name} %a, %b : tensor<1x5xf32>, tensor<5x1xf32> -> tensor<5x5xi1>", a, a.T)
    check_scalar(f"%y = ge.{name} %a, %b : tensor<2xui8>, tensor<2xui8> -> tensor<2xi1>", *np.uint8([[3, 250], [3, 3]]))


def test_texts_are_equal_or_not() -> None:
    op = op_of("%y = ge.equal %a, %b : tensor<2x!ge.string>, tensor<!ge.string> -> tensor<2xi1>")
    assert op.scalar(np, np.array(["a", "b"], object), np.array("b", object)).tolist() == [False, True]


def test_logic_and_choice() -> None:
    a, b = np.array([[True, False]]), np.array([[True], [False]])
    for name in LOGIC:
        check_scalar(f"%y = ge.{name} %a, %b : tensor<1x2xi1>, tensor<2x1xi1> -> tensor<2x2xi1>", a, b)
    types = "tensor<2x1xi1>, tensor<2xf32>, tensor<f32> -> tensor<2x2xf32>"
    check_scalar(f"%y = ge.where %c, %a, %b : {types}", b, np.float32([1, np.nan]), np.array(3, np.float32))


def test_comparisons_of_dims() -> None:
    """A dim is at least 0: what that decides is known, for every pair of a few."""

    def of(name: str, a: object, b: object) -> object:
        line = f"%y = ge.{name} %a, %b : tensor<2xi64>, tensor<2xi64> -> tensor<2xi1>"
        found = known(line, shape_data(a, 0), shape_data(b, 0))  # pyright: ignore[reportArgumentType]
        assert found is not None
        return found[0] if isinstance(found[0], bool) else None

    holds = {
        "equal": lambda a, b: a == b,
        "less": lambda a, b: a < b,
        "less_or_equal": lambda a, b: a <= b,
        "greater": lambda a, b: a > b,
        "greater_or_equal": lambda a, b: a >= b,
    }
    dims = {-1: -1, 0: 0, 3: 3, "N": N, "N+1": N + 1}
    for (x, a), (y, b) in itertools.product(dims.items(), repeat=2):
        for name, compare in holds.items():
            values = {
                compare(*(eval(v, {"N": n}) if isinstance(v, str) else v for v in (x, y))) for n in (0, 1, 2, 3, 4, 9)
            }
            assert of(name, a, b) == (values.pop() if len(values) == 1 else None), (name, x, y)


def test_expand_as_exporters_write_it() -> None:
    """where(equal(shape, -1), ones, shape): a dim is never -1."""
    line = "%y = ge.equal %a, %b : tensor<3xi64>, tensor<i64> -> tensor<3xi1>"
    shape = shape_data(N, -1, 8)
    minus_one = Info(i64, (), np.array(-1))
    equal = op_of(line).infer(shape, minus_one)
    assert equal.data.tolist() == [False, True, False]
    where = "%y = ge.where %c, %a, %b : tensor<3xi1>, tensor<3xi64>, tensor<3xi64> -> tensor<3xi64>"
    assert known(where, equal, shape_data(1, 1, 1), shape) == [N, 1, 8]


def test_truth_that_is_not_known() -> None:
    less = op_of("%y = ge.less %a, %b : tensor<2xi64>, tensor<i64> -> tensor<2xi1>")
    open_, shut = Info(i64, (), np.array(5)), Info(i64, (), np.array(0))
    some = less.infer(shape_data(N, 3), open_)
    none = less.infer(shape_data(N, 3), shut)
    assert some.data[1] is True
    assert none.data.tolist() == [False, False]
    both = "tensor<2xi1>, tensor<2xi1> -> tensor<2xi1>"
    assert known(f"%y = ge.and %a, %b : {both}", some, none) == [False, False]
    assert known(f"%y = ge.or %a, %b : {both}", some, none)[1] is True
    assert known(f"%y = ge.xor %a, %b : {both}", some, none)[1] is True
    where = "%y = ge.where %c, %a, %b : tensor<2xi1>, tensor<2xi64>, tensor<2xi64> -> tensor<2xi64>"
    assert known(where, some, shape_data(7, 1), shape_data(7, 2)) == [7, 1]
    hidden = Info(i64, (1,), np.array([unknown()], dtype=object))
    assert known("%y = ge.equal %a, %b : tensor<1xi64>, tensor<1xi64> -> tensor<1xi1>", hidden, shape_data(1)) is None


def test_choice_of_known_floats() -> None:
    where = "%y = ge.where %c, %a, %b : tensor<2xi1>, tensor<2xf32>, tensor<f32> -> tensor<2xf32>"
    condition, a = Info(i1, (2,), np.array([True, False])), Info(f32, (2,), np.float32([1, 2]))
    assert known(where, condition, a, Info(f32, (), np.array(0.5, np.float32))) == [1.0, 0.5]


def test_free_dims() -> None:
    where = op_of("%y = ge.where %c, %a, %b : tensor<?x1xi1>, tensor<1x?xf32>, tensor<f32> -> tensor<?x?xf32>")
    info = where.infer(Info(i1, (N, 1)), Info(f32, (1, N + 1)), Info(f32, ()))
    assert info.dims == (N, N + 1)
