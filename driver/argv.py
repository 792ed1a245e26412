"""
Splits ge-opt's command line: pass flags in the order typed, the tool's own flags, files.

argparse cannot do this: its abbreviations would turn a mistyped pass into another flag, its options with an optional
value eat the file name, and it forgets the order of different flags.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from ..dialects.ge.errors import UsageError
from .diagnostics import did_you_mean


class Takes(Enum):
    """What stands after a flag's name."""

    NOTHING = "nothing"
    VALUE = "a value, after = or as the next word"
    MAYBE = "a value after =, or nothing"


@dataclass(frozen=True)
class Line:
    """
    A command line, taken apart.

    steps   what makes the pipeline, in the order typed: ("pass", "l2-fusion", options), ("-p", "", pipeline) or
            ("-O", "", level)
    flags   the tool's own flags: name -> value, "" where there is none
    files   the rest; `-` is stdin
    """

    steps: list[tuple[str, str, str]] = field(default_factory=list[tuple[str, str, str]])
    flags: dict[str, str] = field(default_factory=dict[str, str])
    files: list[str] = field(default_factory=list[str])


def split(argv: Sequence[str], flags: Mapping[str, Takes], passes: Collection[str], near: Sequence[str]) -> Line:
    """
    flags   the tool's own, as typed (`--timing`, `-o`); a long one is known with `_` for `-` too
    passes  the names that are pass flags
    near    names to suggest in place of an unknown one
    raises  UsageError
    """
    line = Line()
    words = iter(argv)
    for word in words:
        if word == "--":
            line.files.extend(words)
        elif word == "-" or not word.startswith("-"):
            line.files.append(word)
        elif word.startswith("--"):
            _long(word, words, line, flags, passes, near)
        else:
            _short(word, words, line, flags)
    return line


def _long(
    word: str, words: Iterator[str], line: Line, flags: Mapping[str, Takes], passes: Collection[str], near: Sequence[str]
) -> None:
    name, equals, value = word.partition("=")
    if name[2:] in passes:
        line.steps.append(("pass", name[2:], value))
        return
    flag = "--" + name[2:].replace("_", "-")
    if flag not in flags:
        known = [*near, *(each[2:] for each in flags if each.startswith("--"))]
        raise UsageError(f"no pass '{name[2:]}'{did_you_mean(name[2:], known)}")
    if flags[flag] is Takes.NOTHING and equals:
        raise UsageError(f"{flag} takes no value, got '{value}'")
    if flags[flag] is Takes.VALUE and not equals:
        value = _next(flag, words)
    _set(line, flag, value)


def _short(word: str, words: Iterator[str], line: Line, flags: Mapping[str, Takes]) -> None:
    flag, value = word[:2], word[2:].removeprefix("=")
    if flag == "-p":
        line.steps.append(("-p", "", value or _next(flag, words)))
    elif flag == "-O":
        line.steps.append(("-O", "", value or _next(flag, words)))
    elif flag not in flags or (flags[flag] is Takes.NOTHING and value):
        known = ", ".join(sorted([each for each in flags if not each.startswith("--")] + ["-p", "-O"]))
        raise UsageError(f"no flag '{word}'; the short ones are {known}")
    else:
        _set(line, flag, value or (_next(flag, words) if flags[flag] is Takes.VALUE else ""))


def _set(line: Line, flag: str, value: str) -> None:
    if flag in line.flags and line.flags[flag] != value:
        raise UsageError(f"{flag} is given twice")
    line.flags[flag] = value


def _next(flag: str, words: Iterator[str]) -> str:
    value = next(words, None)
    if value is None:
        raise UsageError(f"{flag} needs a value")
    return value
