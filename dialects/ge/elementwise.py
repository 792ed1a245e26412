"""
What all elementwise families share: one function of one element, `scalar`, from which the rest follows.

`scalar` may compute in a wider type than the result's (numpy widens bfloat16 beside a Python float): who calls it
converts what it gives to the result's element type. Of its namespace it uses numpy's names, with numpy's meaning, and
`erf` from here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np
from xdsl.dialects.builtin import f16, f32, f64, i1, i32, i64
from xdsl.ir import Attribute

from .core import PureOp
from .data import Array
from .declare import operand, result, without_hints
from .dims import Dim, Expr, choose, is_size, is_unknown, unknown
from .errors import fail
from .info import Info, broadcast, same_element
from .interfaces import Elementwise
from .types import element_of, is_float

KNOWN = 64
"""Elements up to which those of an operand are carried along: more are no shape arithmetic."""


class Pointwise(PureOp, Elementwise):
    """Shared by all elementwise ops: which elements of the result are known."""

    EXACT: ClassVar[bool] = False
    """Whether every machine computes the same floats: IEEE's own operations, comparisons, choices."""

    def result_element(self, element: Attribute) -> Attribute:
        """The result's element type from the operands'."""
        return element

    def of_dims(self, *x: Any) -> Dim:
        """
        The function of one element for integers (truth values are 0 and 1), some of which are expressions; `unknown()`
        where it depends on their values.
        """
        del x
        return unknown()

    def elements_of(self, element: Attribute, *operands: Info) -> Array | None:
        """Elements of a result of type `element` where those of all operands are known."""
        if any(i.data is None or i.data.size > KNOWN for i in operands):
            return None
        if all(i.element in (i1, i32, i64) for i in operands):
            return in_range(by_element(self.of_dims, *(i.data for i in operands)), element)
        if not self.EXACT or any(i.element not in (i1, i32, i64, f16, f32, f64) or _symbolic(i.data) for i in operands):
            return None
        arrays = [np.asarray(i.data).astype(element_of(i.element).dtype) for i in operands]
        with np.errstate(all="ignore"):
            return np.asarray(self.scalar(np, *arrays)).astype(element_of(element).dtype)


def _symbolic(elements: Any) -> bool:
    return elements.dtype == object and any(isinstance(x, Expr) for x in elements.flat)


def by_element(function: Callable[..., Any], *arrays: Any) -> Array:
    """`function` of the elements, one by one, of arrays that broadcast."""
    mapped = np.frompyfunc(function, len(arrays), 1)(*(a.astype(object) for a in arrays))
    return np.asarray(mapped, dtype=object)


def in_range(elements: Array, element: Attribute) -> Array | None:
    """
    Integers in the array of their type, or in one of objects where there are expressions; None where nothing is known
    or one leaves the type's range (integers of a fixed width wrap, dims do not).
    """
    numbers = [x for x in elements.flat if not isinstance(x, Expr)]
    if len(numbers) < elements.size:
        known = bool(numbers) or not all(map(is_unknown, elements.flat))
        return elements if known and all(_fits(x, element) for x in numbers) else None
    return elements.astype(element_of(element).dtype) if all(_fits(x, element) for x in numbers) else None


def _fits(number: int, element: Attribute) -> bool:
    bits = element_of(element).bits - 1
    return element == i1 or -(1 << bits) <= number < (1 << bits)


class Unary(Pointwise):
    """Shared by y = f(x): the result has the operand's shape."""

    x = operand()
    y = result()

    def infer(self, *operands: Any) -> Info:
        x: Info = operands[0]
        self.check(x)
        element = self.result_element(x.element)
        return Info(element, x.dims, self.elements_of(element, x))

    @classmethod
    def from_older(cls, version: int, attrs: dict[str, Any], operands: Sequence[Info | None]) -> dict[str, Any] | None:
        return without_hints(attrs)

    def to_older(self, version: int) -> dict[str, Any] | None:
        return self.attrs()

    def check(self, x: Info) -> None:
        """The op's own constraints."""
        del x


class FloatUnary(Unary):
    """
    Shared by functions of floats.

    C1  x has floats
    """

    def check(self, x: Info) -> None:
        if not is_float(x.element):
            fail(self, f"x must have floats, got {x.type} (C1)")


class Binary(Pointwise):
    """
    Shared by y = f(a, b).

    C1  a and b have one element type
    C2  their shapes broadcast
    """

    a = operand()
    b = operand()
    y = result()

    def infer(self, *operands: Any) -> Info:
        a, b = operands
        given = same_element(self, "C1", a, b)
        dims = broadcast(self, "C2", a.dims, b.dims)
        self.check(given)
        element = self.result_element(given)
        return Info(element, dims, self.elements_of(element, a, b))

    def check(self, element: Attribute) -> None:
        """The op's own constraints on the operands' element type."""
        del element


class Arithmetic(Binary):
    """A binary op whose `scalar` is of operators that dims have too."""

    EXACT: ClassVar[bool] = True

    def of_dims(self, *x: Any) -> Dim:
        return self.scalar(None, *x)


def is_positive(dim: Dim) -> bool:
    """Whether `dim` is surely one or more."""
    return is_size(dim - 1)


def larger(a: Any, b: Any) -> Dim:
    """The larger of two dims."""
    return a if is_size(a - b) else b if is_size(b - a) else choose("max", a, b)


def smaller(a: Any, b: Any) -> Dim:
    """The smaller of two dims."""
    return a if is_size(b - a) else b if is_size(a - b) else choose("min", a, b)


def clipped(m: Any, x: Any, low: Any, high: Any) -> Any:
    """x kept in [low, high]; not a number stays so."""
    return m.minimum(m.maximum(x, low), high)


def erf(m: Any, x: Any) -> Any:
    """The error function of a namespace; numpy has none, there it goes through Python's, in double precision."""
    if hasattr(m, "erf"):
        return m.erf(x)
    return np.vectorize(math.erf, otypes=[np.float64])(x).astype(np.asarray(x).dtype)
