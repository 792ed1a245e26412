"""What readers of JSON files have in common: keys, kinds of values, where something stands; errors are ValueErrors."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar, cast

from .names import did_you_mean

T = TypeVar("T")


def check_keys(given: Mapping[str, Any], allowed: Sequence[str], needed: Sequence[str]) -> None:
    for key in given:
        if key not in allowed:
            raise ValueError(f"unknown key '{key}'; allowed: {', '.join(allowed)}{did_you_mean(key, allowed)}")
    for key in needed:
        if key not in given:
            raise ValueError(f"the key '{key}' is missing")


def keyed(key: str, read: Callable[[], T]) -> T:
    """What `read` gives; its error says the key too."""
    try:
        return read()
    except ValueError as error:
        raise ValueError(f"{key}: {error}") from None


def a_list(value: object, what: str = "a list [...]") -> list[Any]:
    if not isinstance(value, list):
        raise ValueError(f"must be {what}, got {shown(value)}")
    return cast("list[Any]", value)


def an_object(value: object, what: str = "an object {...}") -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(f"must be {what}, got {shown(value)}")
    return cast("dict[str, Any]", value)


def a_text(value: object, what: str = "text") -> str:
    if not isinstance(value, str):
        raise ValueError(f"must be {what}, got {shown(value)}")
    return value


def shown(value: object) -> str:
    return json.dumps(value)[:60]


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of JSON, no key of which stands there twice."""
    content = dict(pairs)
    if len(content) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"the key '{next(n for n in names if names.count(n) > 1)}' stands there twice")
    return content


def lines_of_items(text: str) -> list[int]:
    """The lines on which the items of the lists begin that the object in `text` holds; `text` is JSON."""
    lines: list[int] = []
    open_: list[str] = []
    line, at, in_text = 1, 0, False
    fresh = False
    while at < len(text):
        sign = text[at]
        line += sign == "\n"
        if in_text:
            at += sign == "\\"
            in_text = sign != '"'
        elif sign.isspace():
            pass
        else:
            if fresh and sign != "]":
                lines.append(line)
            fresh = (sign == "," and open_ == ["{", "["]) or (sign == "[" and open_ == ["{"])
            if sign in "{[":
                open_.append(sign)
            elif sign in "}]":
                open_.pop()
            in_text = sign == '"'
        at += 1
    return lines
