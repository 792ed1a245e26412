"""
Conditions of rules: a small language, parsed and checked when the rule is read, never handed to Python.

    input_dtype == float16 and weights_shape[0] % 16 == 0
    not (batch > 8 or LayerNorm.axis != -1)

    condition := all ("or" all)*            all := one ("and" one)*           one := "not" one | sum (compare sum)?
    sum       := term (("+" | "-") term)*   term := factor (("*" | "/" | "//" | "%") factor)*
    factor    := "-" factor | number | "text" | name | name "[" index "]" | "(" condition ")"
    name      := input_dtype, ... | Operator.attribute | an element type

    input_dtype      element type of the first operand from outside that has floats, constants included; without one,
                     of the first operand from outside
    output_dtype     element type of the last op's first result
    input_shape      shape of the first operand from outside that is no constant; batch is its first dim
    weights_shape    shape of the first constant operand of the first op
    Conv.group       attribute of the first op of that type

A value that does not exist (a free dim, an absent attribute) is `Missing` when it is asked for.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NoReturn, TypeAlias, cast

import numpy as np

from ...dialects.ge.types import ELEMENTS
from .names import did_you_mean

Kind: TypeAlias = Literal["dtype", "number", "text", "list", "truth", "anything"]
Value: TypeAlias = "int | float | str | bool | tuple[Any, ...]"
Look: TypeAlias = Callable[[str], Value]
Run: TypeAlias = Callable[[Look], Any]
AttributeKind: TypeAlias = Callable[[str, str], "tuple[str, Kind]"]

NAMES: Mapping[str, Kind] = {
    "input_dtype": "dtype",
    "output_dtype": "dtype",
    "input_shape": "list",
    "weights_shape": "list",
    "batch": "number",
}
DTYPES = {e.dtype.name if e.dtype.name != "object" else "string" for e in ELEMENTS}
SHORT_DTYPES = {"float": "float32", "double": "float64", "fp16": "float16", "fp32": "float32", "bf16": "bfloat16"}

MAX_LENGTH = 1000
MAX_DEPTH = 50


class Missing(Exception):
    """A condition asks for what a match does not have; the text says what."""


@dataclass(frozen=True)
class Condition:
    """A condition that was read; `text` is how it was written."""

    text: str
    run: Run

    def holds(self, look: Look) -> bool:
        """
        Whether the condition holds.

        look       gives a value by its name: "batch", "Conv.group"
        raises     Missing
        """
        return bool(self.run(look))


@dataclass(frozen=True)
class _Part:
    """A piece of a condition that was read: what kind of value it gives, and how."""

    kind: Kind
    run: Run
    at: int


_TOKEN = re.compile(
    r"""\s*(?:(?P<number>(?:\d+\.\d*|\.\d+|\d+)(?:[eE][+-]?\d+)?)|(?P<name>(?:[A-Za-z_][\w.]*::)?[A-Za-z_]\w*)"""
    r"""|(?P<text>"[^"]*"|'[^']*')|(?P<sign>==|!=|<=|>=|//|[<>()\[\].+\-*/%]))"""
)
_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_SUMS: dict[str, Callable[[Any, Any], Any]] = {"+": operator.add, "-": operator.sub}
_TERMS: dict[str, Callable[[Any, Any], Any]] = {
    "*": operator.mul,
    "/": lambda a, b: a / b,
    "//": lambda a, b: a // b,
    "%": operator.mod,
}
_WORDS: dict[Kind, str] = {
    "dtype": "an element type",
    "number": "a number",
    "text": "a text",
    "list": "a list (write [0] for its first element)",
    "truth": "true or false",
    "anything": "a value",
}


def parse_condition(text: str, attribute: AttributeKind) -> Condition:
    """
    Reads a condition.

    attribute  of an operator's name and an attribute's: the name to look it up by, and the kind of its values; raises
               ValueError where a match can have no such attribute
    raises     ValueError: `column 5: what must stand there, what does`
    """
    if len(text) > MAX_LENGTH:
        raise ValueError(f"must be at most {MAX_LENGTH} characters long, got {len(text)}")
    return Condition(text, _Reader(text, attribute).whole())


class _Reader:
    def __init__(self, text: str, attribute: AttributeKind) -> None:
        self.text, self.attribute = text, attribute
        self.tokens = self._tokens()
        self.next, self.depth = 0, 0

    def _tokens(self) -> list[tuple[str, str, int]]:
        """(kind, text, where it begins), an "end" last."""
        found: list[tuple[str, str, int]] = []
        at, end = 0, len(self.text.rstrip())
        while at < end:
            token = _TOKEN.match(self.text, at)
            if token is None or token.lastgroup is None:
                at += len(self.text[at:]) - len(self.text[at:].lstrip())
                self._fail(at, f"'{self.text[at]}' means nothing here")
            found.append((token.lastgroup, token[token.lastgroup], token.start(token.lastgroup)))
            at = token.end()
        return [*found, ("end", "", end)]

    def _fail(self, at: int, what: str) -> NoReturn:
        raise ValueError(f"column {at + 1}: {what}")

    def _take(self, *texts: str) -> str | None:
        """The next token where it is one of these words or signs."""
        kind, text, _ = self.tokens[self.next]
        if kind not in ("name", "sign") or text not in texts:
            return None
        self.next += 1
        return text

    def _expected(self, what: str) -> NoReturn:
        _, text, at = self.tokens[self.next]
        self._fail(at, f"{what} must stand here, got {repr(text) if text else 'the end'}")

    def whole(self) -> Run:
        part = self.truth(self.any_of())
        if self.tokens[self.next][0] != "end":
            self._expected("a comparison, and, or, or the end")
        return part.run

    def _need(self, part: _Part, *kinds: Kind) -> _Part:
        if part.kind not in (*kinds, "anything"):
            self._fail(part.at, f"{_WORDS[kinds[0]]} must stand here, this is {_WORDS[part.kind]}")
        return part

    def truth(self, part: _Part) -> _Part:
        return self._need(part, "truth")

    def any_of(self) -> _Part:
        return self._joined("or", self.all_of, lambda a, b: lambda look: bool(a(look)) or bool(b(look)))

    def all_of(self) -> _Part:
        return self._joined("and", self.one, lambda a, b: lambda look: bool(a(look)) and bool(b(look)))

    def _joined(self, word: str, inner: Callable[[], _Part], join: Callable[[Run, Run], Run]) -> _Part:
        left = inner()
        while self._take(word):
            right = self.truth(inner())
            left = _Part("truth", join(self.truth(left).run, right.run), left.at)
        return left

    def one(self) -> _Part:
        at = self.tokens[self.next][2]
        if self._take("not"):
            self._deeper(at)
            run = self.truth(self.one()).run
            self.depth -= 1
            return _Part("truth", lambda look: not run(look), at)
        left = self.sum()
        sign = self._take(*_COMPARE)
        if sign is None:
            return left
        right = self.sum()
        self._comparable(left, right, sign)
        if self._take(*_COMPARE):
            self.next -= 1
            self._expected("and, or, or the end")
        compare, a, b = _COMPARE[sign], left.run, right.run
        return _Part("truth", lambda look: _compared(compare, a(look), b(look)), at)

    def _comparable(self, left: _Part, right: _Part, sign: str) -> None:
        if sign not in ("==", "!="):
            self._need(left, "number")
            self._need(right, "number")
            return
        if "list" in (left.kind, right.kind):
            self._need(left if left.kind == "list" else right, "number", "dtype", "text", "truth")
        for one, other in ((left, right), (right, left)):
            if one.kind == "dtype" and other.kind == "text":
                self._dtype(str(other.run(_nothing)), other.at)
                return
        if left.kind != "anything":
            self._need(right, left.kind)

    def _dtype(self, name: str, at: int) -> None:
        if name not in DTYPES:
            self._fail(at, f"no element type '{name}'{did_you_mean(name, DTYPES)}")

    def sum(self) -> _Part:
        return self._arithmetic(_SUMS, self.term)

    def term(self) -> _Part:
        return self._arithmetic(_TERMS, self.factor)

    def _arithmetic(self, signs: Mapping[str, Callable[[Any, Any], Any]], inner: Callable[[], _Part]) -> _Part:
        left = inner()
        while sign := self._take(*signs):
            a, b = self._need(left, "number").run, self._need(inner(), "number").run
            left = _Part("number", _calculation(signs[sign], a, b), left.at)
        return left

    def factor(self) -> _Part:
        kind, text, at = self.tokens[self.next]
        if self._take("-"):
            self._deeper(at)
            run = self._need(self.factor(), "number").run
            self.depth -= 1
            return _Part("number", lambda look: -_number(run(look)), at)
        if self._take("("):
            self._deeper(at)
            part = self.any_of()
            if not self._take(")"):
                self._expected("')'")
            self.depth -= 1
            return part
        if kind == "number":
            self.next += 1
            number = int(text) if text.isdigit() else float(text)
            return _Part("number", lambda look: number, at)
        if kind == "text":
            self.next += 1
            return _Part("text", lambda look: text[1:-1], at)
        if kind != "name" or text in ("and", "or", "not"):
            self._expected("a name, a number or '('")
        return self._indexed(self.name())

    def _deeper(self, at: int) -> None:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            self._fail(at, f"nested deeper than {MAX_DEPTH}")

    def name(self) -> _Part:
        _, name, at = self.tokens[self.next]
        self.next += 1
        if self._take("."):
            return self._attribute(name, at)
        if name in NAMES:
            return _Part(NAMES[name], lambda look: look(name), at)
        dtype = SHORT_DTYPES.get(name, name)
        if dtype not in DTYPES:
            near = did_you_mean(name, [*NAMES, *DTYPES])
            self._fail(at, f"no '{name}'; allowed: {', '.join(NAMES)}, Operator.attribute, an element type{near}")
        return _Part("dtype", lambda look: dtype, at)

    def _attribute(self, operator_name: str, at: int) -> _Part:
        kind, name, where = self.tokens[self.next]
        if kind != "name":
            self._expected("an attribute's name")
        self.next += 1
        try:
            key, of = self.attribute(operator_name, name)
        except ValueError as error:
            self._fail(where, str(error))
        return _Part(of, lambda look: look(key), at)

    def _indexed(self, part: _Part) -> _Part:
        if not self._take("["):
            return part
        self._need(part, "list")
        negative = self._take("-") is not None
        token, text, _ = self.tokens[self.next]
        if token != "number" or not text.isdigit():
            self._expected("an index, a whole number,")
        self.next += 1
        if not self._take("]"):
            self._expected("']'")
        index = -int(text) if negative else int(text)
        start, end = part.at, self.tokens[self.next - 1][2] + 1
        what = self.text[start:end]
        kind = "number" if part.kind == "list" else "anything"
        return _Part(kind, lambda look: _element(part.run(look), index, what), start)


def _nothing(name: str) -> Value:
    raise Missing(name)


def _calculation(calculate: Callable[[Any, Any], Any], a: Run, b: Run) -> Run:
    def run(look: Look) -> int | float:
        try:
            return calculate(_number(a(look)), _number(b(look)))
        except ZeroDivisionError:
            raise Missing("a quotient by 0") from None
        except OverflowError:
            raise Missing("a number so large") from None

    return run


def _number(value: object) -> int | float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Missing(f"a number where {value!r} stands")
    return value


def _compared(compare: Callable[[Any, Any], bool], a: object, b: object) -> bool:
    numbers = [x for x in (a, b) if isinstance(x, int | float)]
    if len(numbers) == 1:
        raise Missing(f"a comparison of {a!r} with {b!r}")
    if any(isinstance(x, float) for x in numbers):
        # ONNX's floats are of 32 bits: an attribute that was written 1e-05 equals 1e-05.
        return compare(*map(_rounded, numbers))
    return compare(a, b)


def _rounded(number: float) -> float:
    try:
        with np.errstate(over="ignore"):
            return float(np.float32(float(number)))
    except OverflowError:
        raise Missing("a number so large") from None


def _element(value: object, index: int, what: str) -> Value:
    if not isinstance(value, tuple):
        raise Missing(what)
    values = cast("tuple[Any, ...]", value)
    if not -len(values) <= index < len(values) or values[index] is None:
        raise Missing(what)
    return values[index]
