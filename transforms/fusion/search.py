"""
Finds the ops of a pattern (pattern.py) from the op that it ends at, backwards.

Every way of laying a pattern over the ops is tried, a choice after the other, until one fits; `STEPS` bounds how often
a pattern is laid on a value, so that a search takes constant time and a rule linear time. What nearly fitted is kept:
the way that took in most ops before a number or a condition was wrong.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.traits import Commutative

from ...dialects.ge.arithmetic import AddOp, DivOp, MaxOp, MeanOp, MinOp, MulOp, PowOp, SubOp, SumOp
from ...dialects.ge.attributes import SplatAttr
from ...dialects.ge.constants import ConstantOp
from ...dialects.ge.conversion import CastOp
from ...dialects.ge.math import NegOp
from ...dialects.ge.types import element_of, is_element, shape_of
from ..operands import element_type, has_floats, uniform
from .pattern import (
    AnyValue,
    Either,
    Graph,
    NumberPattern,
    Numbers,
    OpPattern,
    Pattern,
    Product,
    ResultPattern,
    Total,
    admits,
)

STEPS = 2000
"""How often patterns are laid on values for one op that a match may end at."""
LONG = 8
"""Ops of one product or sum, whose numbers are taken together: what is beyond is one factor or addend."""
EVEN = (MaxOp, MeanOp, MinOp, SumOp)
"""Ops of any number of operands in any order."""
READERS = 16
"""Readers of a value that are looked at for a further result."""
NEAR = 3
"""Ops that must fit before what does not fit is worth a remark."""


@dataclass(frozen=True)
class Miss:
    """Where a match failed, `ops` in: why, and at which op."""

    ops: int
    at: Operation
    why: str


class Search:
    """
    One search. After `find`, `ends` are the ops that give a match's results, and `miss` is what nearly fitted where
    nothing did.
    """

    def __init__(self, block: Block, inside: frozenset[Operation] | None = None) -> None:
        """`inside` are the only ops that may be taken in, where given; they may stand in any one block."""
        self.block, self.inside = block, inside
        self.values: dict[Pattern, SSAValue] = {}
        self.taken: list[Operation] = []
        self.ends: list[Operation] = []
        self.steps = 0
        self.miss: Miss | None = None

    def find(self, pattern: Pattern, root: Operation) -> list[Operation] | None:
        """The ops of a match that ends at `root`, each once, the last one first."""
        if not admits(pattern, root):
            return None
        self.ends = [root]
        for value in root.results:
            for _ in self._lay(pattern, value):
                return list(dict.fromkeys(self.taken))
        return None

    def found(self, pattern: Pattern) -> SSAValue:
        """What `pattern` stands for, in a condition or after `find`."""
        return self.values[pattern]

    # -------------------------------------------------------------- one pattern on one value

    def _lay(self, pattern: Pattern, value: SSAValue) -> Iterator[None]:
        self.steps += 1
        if self.steps > STEPS:
            return
        if isinstance(pattern, Graph):
            for _ in self._lay(pattern.result, value):
                yield from self._others(pattern.others)
            return
        known = self.values.get(pattern)
        if known is not None:
            yield from self._again(known, value)
            return
        kind = type(value.owner)
        if not pattern.ends_at(kind) and kind is not CastOp:  # casts are looked through
            return
        self.values[pattern] = value
        match pattern:
            case Either():
                for option in pattern.options:
                    yield from self._lay(option, value)
            case AnyValue():
                if pattern.where is None or pattern.where(value):
                    yield
            case NumberPattern():
                given = number_in(value)
                if given is not None and fits(given, pattern.wanted, value):
                    yield
                elif given is not None:
                    self._near(f"a constant is {given:.7g}, not {_words(pattern.wanted)}")
            case OpPattern():
                yield from self._op(pattern, value)
            case ResultPattern():
                op = value.owner
                if isinstance(op, Operation) and op.results.index(value) == pattern.index:
                    yield from self._lay(pattern.of, op.results[0])
            case Product():
                yield from self._factors([value], list(pattern.factors), 1.0, pattern, LONG)
            case Total():
                yield from self._terms([value], list(pattern.terms), 0.0, pattern, LONG)
            case _:
                raise AssertionError(pattern)
        del self.values[pattern]

    def _again(self, known: SSAValue, value: SSAValue) -> Iterator[None]:
        """A pattern that stands for a value already: the same, but for casts between floats."""
        if known is value:
            yield
            return
        casts: list[Operation] = []
        while (cast := self._float_cast(value)) is not None:
            casts.append(cast)
            value = cast.input
            if value is known:
                self.taken += casts
                yield
                del self.taken[-len(casts) :]
                return
        if (cast := self._float_cast(known)) is not None and cast.input is value:
            yield

    def _float_cast(self, value: SSAValue) -> CastOp | None:
        op = value.owner
        both = isinstance(op, CastOp) and has_floats(op.input) and has_floats(value) and self._may(op)
        return op if both and isinstance(op, CastOp) else None

    def _may(self, op: Operation) -> bool:
        return op.parent is self.block and (self.inside is None or op in self.inside)

    def _through_cast(self, pattern: Pattern, value: SSAValue) -> Iterator[None]:
        cast = self._float_cast(value)
        if cast is not None and self.taken and pattern not in self.values:
            self.taken.append(cast)
            yield from self._lay(pattern, cast.input)
            self.taken.pop()

    def _op(self, pattern: OpPattern, value: SSAValue) -> Iterator[None]:
        op = value.owner
        if not isinstance(op, Operation) or not isinstance(op, pattern.kinds) or not self._may(op):
            del self.values[pattern]
            yield from self._through_cast(pattern, value)
            self.values[pattern] = value
            return
        if len(op.operands) < len(pattern.operands):
            return
        self.taken.append(op)
        for operands in _orders(op, len(pattern.operands)):
            for _ in self._each(pattern.operands, operands):
                why = pattern.where(op, self.found) if pattern.where is not None else None
                if why is None:
                    yield
                else:
                    self._near(why)
        self.taken.pop()

    def _each(self, patterns: Sequence[Pattern], values: Sequence[SSAValue]) -> Iterator[None]:
        if not patterns:
            yield
            return
        for _ in self._lay(patterns[0], values[0]):
            yield from self._each(patterns[1:], values[1:])

    def _near(self, why: str) -> None:
        if len(self.taken) >= NEAR and (self.miss is None or len(self.taken) > self.miss.ops):
            self.miss = Miss(len(self.taken), self.taken[0], why)

    # -------------------------------------------------------------- products and sums

    def _too_many(self, todo: Sequence[SSAValue], left: Sequence[Pattern]) -> bool:
        """Whether there is no pattern left for each value, none of which is a number: powers have many factors."""
        self.steps += 1
        return self.steps > STEPS or len(todo) > len(left)

    def _leaf(self, value: SSAValue, left: list[Pattern]) -> Iterator[list[Pattern]]:
        """Lays one of `left` on a value; gives those that are left then."""
        for k, pattern in enumerate(left):
            if pattern in left[:k]:  # of equal ones any is as good as the first
                continue
            for _ in self._lay(pattern, value):
                yield left[:k] + left[k + 1 :]

    def _factors(
        self, todo: list[SSAValue], left: list[Pattern], scale: float, of: Product, room: int
    ) -> Iterator[None]:
        """What is still to be laid, the patterns for it, the numbers so far; `room` for more ops."""
        if not todo:
            if not left and fits(scale, of.scale, self.values[of]):
                yield
            elif not left:
                self._near(f"the factor is {scale:.7g}, not {_words(of.scale)}")
            return
        if self._too_many(todo, left):
            return
        value, *rest = todo
        if value is not self.values[of]:
            for others in self._leaf(value, left):
                yield from self._factors(rest, others, scale, of, room)
        op = value.owner
        if not isinstance(op, Operation) or not self._may(op) or not left or not room:
            return
        more: list[SSAValue]
        match op:
            case MulOp():
                more = [op.a, op.b]
            case DivOp() if divisor := number_in(op.b):
                more, scale = [op.a], scale / divisor
            case NegOp():
                more, scale = [op.x], -scale
            case PowOp() if number_in(op.y) in (2.0, 3.0):
                more = [op.x] * int(number_in(op.y) or 0)
            case CastOp() if self.taken and self._float_cast(value) is not None:
                more = [op.input]
            case _:
                return
        more, numbers = _parted(more)
        self.taken.append(op)
        yield from self._factors(more + rest, left, math.prod(numbers, start=scale), of, room - 1)
        self.taken.pop()

    def _terms(self, todo: list[SSAValue], left: list[Pattern], added: float, of: Total, room: int) -> Iterator[None]:
        """As `_factors`."""
        if not todo:
            if not left and fits(added, of.added, self.values[of]):
                yield
            elif not left:
                self._near(f"what is added is {added:.7g}, not {_words(of.added)}")
            return
        if self._too_many(todo, left):
            return
        value, *rest = todo
        if value is not self.values[of]:
            for others in self._leaf(value, left):
                yield from self._terms(rest, others, added, of, room)
        op = value.owner
        if not isinstance(op, Operation) or not self._may(op) or not left or not room:
            return
        more: list[SSAValue]
        match op:
            case AddOp():
                more = [op.a, op.b]
            case SubOp() if (less := number_in(op.b)) is not None:
                more, added = [op.a], added - less
            case CastOp() if self.taken and self._float_cast(value) is not None:
                more = [op.input]
            case _:
                return
        more, numbers = _parted(more)
        self.taken.append(op)
        yield from self._terms(more + rest, left, sum(numbers, start=added), of, room - 1)
        self.taken.pop()

    # -------------------------------------------------------------- further results

    def _others(self, patterns: Sequence[Pattern]) -> Iterator[None]:
        if not patterns:
            yield
            return
        first, rest = patterns[0], patterns[1:]
        for op in self._nearby():
            if op not in self.taken and admits(first, op):
                self.ends.append(op)
                for value in op.results:
                    for _ in self._lay(first, value):
                        yield from self._others(rest)
                self.ends.pop()

    def _nearby(self) -> list[Operation]:
        """Ops that read what the match has so far, and those that read these."""
        found: dict[Operation, None] = {}
        values = [*self.values.values(), *(r for op in self.taken for r in op.results)]
        for _ in range(2):
            readers: dict[Operation, None] = {}
            for value in dict.fromkeys(values):
                for k, use in enumerate(value.uses):
                    if k == READERS:
                        break
                    if self._may(use.operation) and use.operation not in found:
                        readers[use.operation] = None
            found |= readers
            values = [r for op in readers for r in op.results]
        return list(found)


def _orders(op: Operation, count: int) -> Iterator[Sequence[SSAValue]]:
    operands = tuple(op.operands)
    yield operands[:count]
    if (
        count == len(operands) == 2
        and operands[0] is not operands[1]
        and (op.has_trait(Commutative) or isinstance(op, EVEN))
    ):
        yield operands[::-1]


def _parted(values: Sequence[SSAValue]) -> tuple[list[SSAValue], list[float]]:
    """The values that are no numbers, and the numbers."""
    found = [(value, number_in(value)) for value in values]
    return [value for value, number in found if number is None], [number for _, number in found if number is not None]


def number_in(value: SSAValue) -> float | None:
    """The number that all elements of a constant are, where that is seen without reading many."""
    op = value.owner
    if not isinstance(op, ConstantOp):
        return None
    held = op.properties["value"]
    known = _NUMBERS.get(op)
    if known is None or known[0] is not held:
        known = _NUMBERS[op] = (held, _number(op))
    return known[1]


_NUMBERS: WeakKeyDictionary[ConstantOp, tuple[Attribute, float | None]] = WeakKeyDictionary()
"""Of constants that were asked for: the data, and the number in it."""


def _number(op: ConstantOp) -> float | None:
    if not is_element(element_type(op.output)):
        return None
    if not isinstance(op.value, SplatAttr) and math.prod(shape_of(op.output.type)) != 1:
        return None
    found = uniform(op.output)
    return None if found is None or isinstance(found, str | bytes) else float(found)


def fits(given: float, wanted: Numbers, value: SSAValue) -> bool:
    """Whether a number that was computed in the type of `value` is the one that is wanted, give or take rounding."""
    if wanted is None:
        return True
    if isinstance(wanted, tuple):
        return wanted[0] <= given <= wanted[1]
    narrow = has_floats(value) and element_of(element_type(value)).bits < 32
    return abs(given - wanted) <= max(abs(wanted), 1e-3) * (4e-3 if narrow else 1e-4)


def _words(wanted: Numbers) -> str:
    if isinstance(wanted, tuple):
        return f"from {wanted[0]:g} to {wanted[1]:g}"
    return f"{wanted:.7g}" if wanted is not None else "a number"
