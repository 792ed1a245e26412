"""
Dims as expressions over the symbols of free dimensions: `N`, `12*N + 1`, `floordiv(N + 3, 4)`.

A dim is an int or an `Expr`, a polynomial with integer coefficients over atoms; an atom is a symbol or a function of
expressions (floordiv, mod, max, min) that could not be simplified. Equal polynomials are equal objects, so `==` means
"the same for every value of the symbols"; unequal ones may still coincide.
"""

from __future__ import annotations

import itertools
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

Dim: TypeAlias = "int | Expr"


@dataclass(frozen=True)
class Atom:
    """A symbol (`args` empty) or a function of expressions."""

    name: str
    args: tuple[Dim, ...] = ()

    @cached_property
    def text(self) -> str:
        if self.args:
            return f"{self.name}({', '.join(map(str, self.args))})"
        # Models call dims what they like, also "N + 1": a name that is none must not read like an expression.
        return self.name if _PLAIN.fullmatch(self.name) else json.dumps(self.name, ensure_ascii=False)

    @cached_property
    def bounds(self) -> tuple[float, float]:
        if not self.args:
            return 0, math.inf
        (low, high), (low_b, high_b) = map(bounds, self.args)
        if self.name == "max":
            return max(low, low_b), max(high, high_b)
        if self.name == "min":
            return min(low, low_b), min(high, high_b)
        if low_b < 0:
            return -math.inf, math.inf
        least, most = max(low_b, 1), max(high_b, 1)
        return _floor(low, least if low < 0 else most), _floor(high, least if high >= 0 else most)


@dataclass(frozen=True)
class Fresh(Atom):
    """A number or a dim of which nothing is known; no symbol is equal to it."""

    is_dim: bool = True

    @cached_property
    def text(self) -> str:
        return self.name

    @cached_property
    def bounds(self) -> tuple[float, float]:
        return (0 if self.is_dim else -math.inf, math.inf)


_PLAIN = re.compile(r"[^\W\d]\w*")


Monomial: TypeAlias = "tuple[Atom, ...]"  # a product, sorted by text; () is 1


@dataclass(frozen=True, eq=False)
class Expr:
    """A polynomial that is no constant; made by arithmetic only, which keeps it in normal form."""

    terms: tuple[tuple[Monomial, int], ...]

    @cached_property
    def text(self) -> str:
        def term(m: Monomial, c: int) -> str:
            factors = [str(c)] if c != 1 or not m else []
            return "*".join(factors + [a.text for a in m])

        return " + ".join(term(m, c) for m, c in self.terms).replace("+ -", "- ")

    def __str__(self) -> str:
        return self.text

    __repr__ = __str__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Expr) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __add__(self, other: Dim) -> Dim:
        return _sum(_terms(self) + _terms(other))

    __radd__ = __add__

    def __neg__(self) -> Dim:
        return self * -1

    def __sub__(self, other: Dim) -> Dim:
        return self + other * -1

    def __rsub__(self, other: Dim) -> Dim:
        return other + self * -1

    def __mul__(self, other: Dim) -> Dim:
        return _sum([(_product(m, n), c * d) for m, c in _terms(self) for n, d in _terms(other)])

    __rmul__ = __mul__

    def __floordiv__(self, other: Dim) -> Dim:
        return floordiv(self, other)

    def __rfloordiv__(self, other: Dim) -> Dim:
        return floordiv(other, self)

    def __mod__(self, other: Dim) -> Dim:
        return self - floordiv(self, other) * other

    def __rmod__(self, other: Dim) -> Dim:
        return other - floordiv(other, self) * self

    @cached_property
    def bounds(self) -> tuple[float, float]:
        low = high = 0.0
        for monomial, coefficient in self.terms:
            part: tuple[float, float] = (coefficient, coefficient)
            for atom in monomial:
                part = _times(part, atom.bounds)
            low, high = low + part[0], high + part[1]
        return low, high

    @property
    def symbols(self) -> set[str]:
        found: set[str] = set()
        for atom in itertools.chain.from_iterable(m for m, _ in self.terms):
            found |= {atom.name} if not atom.args else set().union(*(symbols_of(a) for a in atom.args))
        return found


def symbols_of(dim: Dim) -> set[str]:
    return dim.symbols if isinstance(dim, Expr) else set()


def symbol(name: str) -> Expr:
    return Expr((((Atom(name),), 1),))


_fresh = itertools.count()


def unknown() -> Expr:
    """A number of which nothing is known: equal to itself only."""
    return Expr((((Fresh(f"?{next(_fresh)}", is_dim=False),), 1),))


def unknown_size() -> Expr:
    """A dim of which nothing is known: equal to itself only, and not negative."""
    return Expr((((Fresh(f"?dim{next(_fresh)}"),), 1),))


def is_unknown(dim: Dim) -> bool:
    """Whether `dim` is a number of which nothing is known (of a size, its sign is)."""
    atoms = [atom for monomial, _ in _terms(dim) for atom in monomial]
    return len(atoms) == 1 and isinstance(atoms[0], Fresh) and not atoms[0].is_dim


def is_size(dim: Dim) -> bool:
    """Whether `dim` is surely not negative, by the bounds of its parts: symbols are sizes, so N is and N - 1 is not."""
    return bounds(dim)[0] >= 0


def bounds(dim: Dim) -> tuple[float, float]:
    """
    What `dim` is never below and never above, both possibly infinite. Its parts are bounded by themselves, so it need
    not come near either. What `floordiv` divides by is taken not to be zero.
    """
    return dim.bounds if isinstance(dim, Expr) else (dim, dim)


def _floor(a: float, b: float) -> float:
    if math.isinf(a):
        return a
    return a // b if math.isfinite(b) else -float(a < 0)


def _times(a: tuple[float, float], b: tuple[float, float]) -> tuple[float, float]:
    ends = [x * y if x and y else 0 for x in a for y in b]  # 0 * inf: as many as there are of nothing
    return min(ends), max(ends)


def _terms(dim: Dim) -> list[tuple[Monomial, int]]:
    return list(dim.terms) if isinstance(dim, Expr) else [((), int(dim))] if dim else []


def _product(a: Monomial, b: Monomial) -> Monomial:
    return tuple(sorted(a + b, key=lambda atom: atom.text))


def _sum(terms: Sequence[tuple[Monomial, int]]) -> Dim:
    total: dict[Monomial, int] = {}
    for monomial, coefficient in terms:
        total[monomial] = total.get(monomial, 0) + coefficient
    kept = {m: c for m, c in total.items() if c}
    if not kept:
        return 0
    if set(kept) == {()}:
        return kept[()]
    # Constants last, the rest by text: one form for one polynomial.
    return Expr(tuple(sorted(kept.items(), key=lambda t: (not t[0], [a.text for a in t[0]]))))


def exact_quotient(a: Dim, b: Dim) -> Dim | None:
    """a / b where the division leaves nothing for any value of the symbols (b not zero), else None."""
    if isinstance(a, int) and isinstance(b, int):
        return a // b if b and a % b == 0 else None
    if a == b:
        return 1
    divisor = _terms(b)
    if not divisor:
        return None
    if len(divisor) == 1:
        (monomial, coefficient) = divisor[0]
        out: list[tuple[Monomial, int]] = []
        for m, c in _terms(a):
            left = list(m)
            for atom in monomial:
                if atom not in left:
                    return None
                left.remove(atom)
            if c % coefficient:
                return None
            out.append((tuple(left), c // coefficient))
        return _sum(out)
    # A sum divides only what is a multiple of it: try the quotient of the leading terms.
    lead_a, lead_b = _terms(a)[:1], divisor[:1]
    if not lead_a:
        return 0
    q = exact_quotient(_sum(lead_a), _sum(lead_b))
    return q if q is not None and q * b == a else None


def floordiv(a: Dim, b: Dim) -> Dim:
    """Division that rounds down. What divides exactly is taken out of the sum first: (4*N + 3) // 4 is N."""
    exact = exact_quotient(a, b)
    if exact is not None:
        return exact
    if isinstance(a, int) and isinstance(b, int) and b:
        return a // b
    if isinstance(b, int) and b > 0:
        whole = _sum([(m, c) for m, c in _terms(a) if c % b == 0])
        rest = _sum([(m, c) for m, c in _terms(a) if c % b])
        if whole != 0:
            return (exact_quotient(whole, b) or 0) + floordiv(rest, b)
    return Expr((((Atom("floordiv", (a, b)),), 1),))


def ceildiv(a: Dim, b: Dim) -> Dim:
    return -floordiv(-a, b)


def choose(name: str, a: Dim, b: Dim) -> Dim:
    """`max` or `min` of two dims."""
    if isinstance(a, int) and isinstance(b, int):
        return max(a, b) if name == "max" else min(a, b)
    if a == b:
        return a
    difference = a - b
    if isinstance(difference, int):
        return (a if difference > 0 else b) if name == "max" else (b if difference > 0 else a)
    first, second = sorted((a, b), key=str)
    return Expr((((Atom(name, (first, second)),), 1),))


def product(dims: Sequence[Dim]) -> Dim:
    total: Dim = 1
    for d in dims:
        total = total * d
    return total


def evaluate(dim: Dim, values: Mapping[str, int]) -> Dim:
    """`dim` with symbols replaced by numbers; an int once none is left."""
    if isinstance(dim, int):
        return dim
    total: Dim = 0
    for monomial, coefficient in dim.terms:
        value: Dim = coefficient
        for atom in monomial:
            if not atom.args:
                value = value * values.get(atom.name, Expr((((atom,), 1),)))
                continue
            first, second = (evaluate(a, values) for a in atom.args)
            value = value * (floordiv(first, second) if atom.name == "floordiv" else choose(atom.name, first, second))
        total = total + value
    return total
