"""
What a rule looks for: a graph of ops, written from its result back to what it reads.

    x = value()
    erf = op(ErfOp, product(x, scale=0.70710678))
    gelu = product(x, total(erf, added=1), scale=0.5)        x * (1 + erf(x / sqrt(2))) / 2, however it is written

    value()                  any value; the same object is the same value wherever it stands
    number(0.5)              a constant whose elements are all that number, or one of a range
    op(kinds, *operands)     an op of one of these classes (interfaces too) and its first operands, in either order
                             where it is commutative; `where` gives why an op is not meant, or None
    result(op(...), 1)       the second result of an op
    either(*options)         the first that fits
    maybe(step, of)          `step(of)`, or `of` alone
    many(step, of, most)     `step(step(...(of)))`, the longest first
    product, total           factors and addends in any order and grouping, constants among them taken together
    graph(result, *others)   several results: the others are looked for among what reads the values of those before

A pattern object that stands in two places is one value. Casts between floats are seen through, and taken in. Matching
is search.py's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

from xdsl.ir import Operation, SSAValue

from ...dialects.ge.arithmetic import AddOp, DivOp, MulOp, PowOp, SubOp
from ...dialects.ge.math import NegOp

Kind: TypeAlias = type[Any]
Found: TypeAlias = Callable[["Pattern"], SSAValue]
"""The value that a pattern stands for in a match."""
Why: TypeAlias = "str | None"
Numbers: TypeAlias = "float | tuple[float, float] | None"
"""A number, within rounding; the ends of a range; or any number."""


class Pattern:
    """Compared by identity."""

    @cached_property
    def heads(self) -> frozenset[Kind]:
        """The classes of ops that the pattern's value may come from; of none where it may come from any."""
        return frozenset()

    @cached_property
    def _ends(self) -> dict[type, bool]:
        return {}

    def ends_at(self, kind: type) -> bool:
        """Whether what gives the pattern's value may be of a class."""
        known = self._ends.get(kind)
        if known is None:
            known = self._ends[kind] = not self.heads or issubclass(kind, tuple(self.heads))
        return known


@dataclass(frozen=True, eq=False, repr=False)
class AnyValue(Pattern):
    """`where` says whether a value is meant."""

    where: Callable[[SSAValue], bool] | None = None


@dataclass(frozen=True, eq=False, repr=False)
class NumberPattern(Pattern):
    wanted: Numbers


@dataclass(frozen=True, eq=False, repr=False)
class OpPattern(Pattern):
    """`where` is asked when the operands have been found."""

    kinds: tuple[Kind, ...]
    operands: tuple[Pattern, ...]
    where: Callable[[Any, Found], Why] | None = None

    @cached_property
    def heads(self) -> frozenset[Kind]:
        return frozenset(self.kinds)


@dataclass(frozen=True, eq=False, repr=False)
class ResultPattern(Pattern):
    of: OpPattern
    index: int

    @cached_property
    def heads(self) -> frozenset[Kind]:
        return self.of.heads


@dataclass(frozen=True, eq=False, repr=False)
class Either(Pattern):
    options: tuple[Pattern, ...]

    @cached_property
    def heads(self) -> frozenset[Kind]:
        heads = [option.heads for option in self.options]
        return frozenset[Kind]().union(*heads) if all(heads) else frozenset()


@dataclass(frozen=True, eq=False, repr=False)
class Product(Pattern):
    """x * y * ... * scale: of Mul, Div by a number, Neg and Pow 2 or 3."""

    factors: tuple[Pattern, ...]
    scale: Numbers

    @cached_property
    def heads(self) -> frozenset[Kind]:
        return frozenset({MulOp, DivOp, NegOp, PowOp})


@dataclass(frozen=True, eq=False, repr=False)
class Total(Pattern):
    """x + y + ... + added: of Add, and Sub of a number."""

    terms: tuple[Pattern, ...]
    added: Numbers

    @cached_property
    def heads(self) -> frozenset[Kind]:
        return frozenset({AddOp, SubOp})


@dataclass(frozen=True, eq=False, repr=False)
class Graph(Pattern):
    result: Pattern
    others: tuple[Pattern, ...]

    @cached_property
    def heads(self) -> frozenset[Kind]:
        return self.result.heads


def value(where: Callable[[SSAValue], bool] | None = None) -> Pattern:
    return AnyValue(where)


def number(wanted: Numbers) -> Pattern:
    return NumberPattern(wanted)


def op(kinds: Kind | Iterable[Kind], *operands: Pattern, where: Callable[[Any, Found], Why] | None = None) -> OpPattern:
    return OpPattern((kinds,) if isinstance(kinds, type) else tuple(kinds), operands, where)


def result(of: OpPattern, index: int) -> Pattern:
    return ResultPattern(of, index)


def either(*options: Pattern) -> Pattern:
    return options[0] if len(options) == 1 else Either(options)


def maybe(step: Callable[[Pattern], Pattern], of: Pattern) -> Pattern:
    return either(step(of), of)


def many(step: Callable[[Pattern], Pattern], of: Pattern, most: int) -> Pattern:
    """`most` bounds the pattern, not what may stand in the graph: what is beyond stays outside of a match."""
    found = of
    for _ in range(most):
        found = either(step(found), of)
    return found


def product(*factors: Pattern, scale: Numbers = 1.0) -> Pattern:
    return Product(_told_first(factors), scale)


def total(*terms: Pattern, added: Numbers = 0.0) -> Pattern:
    return Total(_told_first(terms), added)


def graph(result: Pattern, *others: Pattern) -> Pattern:
    return Graph(result, others) if others else result


def _told_first(patterns: tuple[Pattern, ...]) -> tuple[Pattern, ...]:
    """What says most first: a value that may be any is tried last."""
    return tuple(sorted(patterns, key=lambda p: isinstance(p, AnyValue)))


def walk(pattern: Pattern) -> list[Pattern]:
    """Every pattern in one, each once."""
    found: dict[Pattern, None] = {}
    todo: list[Pattern] = [pattern]
    while todo:
        one = todo.pop()
        if one in found:
            continue
        found[one] = None
        match one:
            case OpPattern():
                todo.extend(one.operands)
            case ResultPattern():
                todo.append(one.of)
            case Either():
                todo.extend(one.options)
            case Product():
                todo.extend(one.factors)
            case Total():
                todo.extend(one.terms)
            case Graph():
                todo.extend([one.result, *one.others])
            case _:
                pass
    return list(found)


def admits(pattern: Pattern, op: Operation) -> bool:
    """Whether a match may end at `op`, by its class alone."""
    return pattern.ends_at(type(op))
