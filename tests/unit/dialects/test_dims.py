"""Dims as expressions: for every value of the symbols they are what Python's integers are."""

import math
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gecc.dialects.ge.dims import (
    Dim,
    bounds,
    ceildiv,
    choose,
    evaluate,
    exact_quotient,
    floordiv,
    is_size,
    product,
    symbol,
    symbols_of,
    unknown,
    unknown_size,
)

N, M, K = symbol("N"), symbol("M"), symbol("K")
Value = Callable[[dict[str, int]], int]
VALUES = st.fixed_dictionaries({"N": st.integers(1, 9), "M": st.integers(1, 9), "K": st.integers(1, 9)})


@st.composite
def pairs(draw: st.DrawFn, depth: int = 3) -> tuple[Dim, Value]:
    """An expression, and the same as a function of the symbols."""
    if depth == 0 or draw(st.booleans()):
        if draw(st.booleans()):
            number = draw(st.integers(-5, 20))
            return number, lambda v: number
        name = draw(st.sampled_from("NMK"))
        return symbol(name), lambda v: v[name]
    (a, f), (b, g) = draw(pairs(depth - 1)), draw(pairs(depth - 1))
    match draw(st.sampled_from(["+", "-", "*", "//", "%", "ceil", "max", "min", "neg"])):
        case "+":
            return a + b, lambda v: f(v) + g(v)
        case "-":
            return a - b, lambda v: f(v) - g(v)
        case "*":
            return a * b, lambda v: f(v) * g(v)
        case "//" | "%" | "ceil" as kind:
            divisor = draw(st.sampled_from([1, 2, 3, 7, N, 2 * M]))

            def by(v: dict[str, int]) -> int:
                found = evaluate(divisor, v)
                assert isinstance(found, int)
                return found

            if kind == "//":
                return a // divisor, lambda v: f(v) // by(v)
            if kind == "%":
                return a % divisor, lambda v: f(v) % by(v)
            return ceildiv(a, divisor), lambda v: -(-f(v) // by(v))
        case "max":
            return choose("max", a, b), lambda v: max(f(v), g(v))
        case "min":
            return choose("min", a, b), lambda v: min(f(v), g(v))
        case _:
            return -a, lambda v: -f(v)


@given(pairs(), VALUES)
def test_an_expression_is_what_integers_are(pair: tuple[Dim, Value], values: dict[str, int]):
    dim, function = pair
    assert evaluate(dim, values) == function(values)


@given(pairs(), pairs(), st.lists(VALUES, min_size=1, max_size=5))
def test_equal_expressions_are_equal_everywhere(
    a: tuple[Dim, Value], b: tuple[Dim, Value], values: list[dict[str, int]]
):
    if a[0] == b[0]:
        assert hash(a[0]) == hash(b[0])
        assert all(a[1](v) == b[1](v) for v in values)


@given(pairs(), VALUES)
def test_a_size_is_not_negative(pair: tuple[Dim, Value], values: dict[str, int]):
    dim, function = pair
    if is_size(dim):
        assert function(values) >= 0


@given(pairs(), pairs(), VALUES)
def test_an_exact_quotient_leaves_nothing(a: tuple[Dim, Value], b: tuple[Dim, Value], values: dict[str, int]):
    quotient = exact_quotient(a[0], b[0])
    if quotient is not None and b[1](values):
        found = evaluate(quotient, values)
        assert isinstance(found, int)
        assert found * b[1](values) == a[1](values)


@given(pairs(), VALUES)
def test_a_value_lies_within_its_bounds(pair: tuple[Dim, Value], values: dict[str, int]):
    low, high = bounds(pair[0])
    assert low <= pair[1](values) <= high


@pytest.mark.parametrize(
    ("dim", "low", "high"),
    [
        (floordiv(floordiv(N - 1, 2), 2) + 1, 0, math.inf),  # convolutions of stride 2, one after the other
        (floordiv(7, N), 0, 7),
        (floordiv(-7, N + 2), -4, -1),
        (choose("min", N, 3) * choose("max", M, 2) + 1, 1, math.inf),
        (2 - choose("min", N, 3), -1, 2),
        (N - floordiv(N, 2), -math.inf, math.inf),  # never negative, but the parts are bounded by themselves
    ],
)
def test_bounds(dim: Dim, low: float, high: float):
    assert bounds(dim) == (low, high)


@given(pairs(), VALUES, VALUES)
def test_symbols_can_be_bound_one_after_the_other(
    pair: tuple[Dim, Value], values: dict[str, int], others: dict[str, int]
):
    dim, function = pair
    half = evaluate(dim, {"N": values["N"]})
    assert "N" not in symbols_of(half)
    assert evaluate(half, {"M": others["M"], "K": others["K"]}) == function({**others, "N": values["N"]})


@pytest.mark.parametrize(
    ("dim", "text"),
    [
        (12 * N + 1, "12*N + 1"),
        (N * M - M * N + 3, "3"),
        ((N + M) * (N - M), "-1*M*M + N*N"),
        ((4 * N + 3) // 4, "N"),
        ((N + 3) // 4, "floordiv(N + 3, 4)"),
        (floordiv(N * M * 6, 3 * M), "2*N"),
        (ceildiv(N, 2), "-1*floordiv(-1*N, 2)"),
        (choose("max", N, N + 2), "N + 2"),
        (choose("min", N, M), "min(M, N)"),
        (choose("min", M, N), "min(M, N)"),
        (choose("max", N, N), "N"),
        (product([N, 3, M]), "3*M*N"),
        (7 // N, "floordiv(7, N)"),
        (N % N, "0"),
    ],
)
def test_one_form(dim: Dim, text: str):
    assert str(dim) == text


def test_exact_quotients():
    assert exact_quotient(6, 4) is None
    assert exact_quotient(6, 0) is None
    assert exact_quotient(N, 0) is None
    assert exact_quotient(0, N) == 0
    assert exact_quotient(N + 1, N) is None
    assert exact_quotient(4 * N * M + 2 * M, 2 * M) == 2 * N + 1


@pytest.mark.parametrize(
    "name", ["N + 1", "2*N", "max(1, N)", "floordiv", "max", "min", "?0", "?dim0", "", '"', "bätch", "批"]
)
def test_a_symbol_is_called_as_the_model_has_it(name: str):
    dim = symbol(name)
    assert symbols_of(dim) == {name}
    assert evaluate(dim * 2 + 1, {name: 5}) == 11
    assert evaluate(dim, {}) == dim
    assert dim == symbol(name)


def test_a_symbol_that_reads_like_an_expression_is_none():
    assert symbol("N + 1") != N + 1
    assert symbol("2*N") != 2 * N
    assert symbol("max(1, N)") != choose("max", 1, N)


def test_what_is_unknown_is_equal_to_itself_only():
    a, b, size = unknown(), unknown(), unknown_size()
    assert a == a + 0
    assert a != b
    assert a - a == 0
    assert symbol(str(a)) != a
    assert symbol(str(size)) != size
    assert evaluate(a * 2, {}) == a * 2
    assert not is_size(a + N)
    assert is_size(size * N + 1)
    assert not is_size(a)
    assert not is_size(N - 1)
    assert is_size(choose("max", N - M, 0))
    assert not is_size(choose("min", N - M, 0))
