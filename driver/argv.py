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


class Splitter:
    """
    flags   the tool's own, as typed (`--timing`, `-o`); a long one is known with `_` for `-` too
    passes  the names that are pass flags
    near    the names of passes to suggest in place of an unknown one
    """

    def __init__(self, flags: Mapping[str, Takes], passes: Collection[str], near: Collection[str]) -> None:
        self._flags, self._passes, self._near = flags, passes, near

    def split(self, argv: Sequence[str]) -> Line:
        """Takes `argv` apart; raises UsageError."""
        line = Line()
        words = iter(argv)
        for word in words:
            if word == "--":
                line.files.extend(words)
            elif word == "-" or not word.startswith("-"):
                line.files.append(word)
            elif word.startswith("--"):
                self._long(word, words, line)
            else:
                self._short(word, words, line)
        return line

    def _long(self, word: str, words: Iterator[str], line: Line) -> None:
        name, equals, value = word.removeprefix("--").partition("=")
        if name in self._passes:
            line.steps.append(("pass", name, value))
            return
        flag = "--" + name.replace("_", "-")
        if flag not in self._flags:
            known = [*self._near, *(each[2:] for each in self._flags if each.startswith("--"))]
            what = f"pass '{name}'" if self._passes else f"flag '{flag}'"
            raise UsageError(f"no {what}{did_you_mean(name, known)}")
        if self._flags[flag] is Takes.NOTHING and equals:
            raise UsageError(f"{flag} takes no value, got '{value}'")
        if self._flags[flag] is Takes.VALUE and not equals:
            value = _next(flag, words)
        _set(line, flag, value)

    def _short(self, word: str, words: Iterator[str], line: Line) -> None:
        flag, value = word[:2], word[2:].removeprefix("=")
        if flag in ("-p", "-O"):
            line.steps.append((flag, "", value or _next(flag, words)))
        elif flag not in self._flags or (self._flags[flag] is Takes.NOTHING and value):
            short = sorted({each for each in self._flags if not each.startswith("--")} | {"-p", "-O"})
            raise UsageError(f"no flag '{word}'; the short ones are {', '.join(short)}")
        else:
            _set(line, flag, value or (_next(flag, words) if self._flags[flag] is Takes.VALUE else ""))


def _set(line: Line, flag: str, value: str) -> None:
    if flag in line.flags and line.flags[flag] != value:
        raise UsageError(f"{flag} is given twice")
    line.flags[flag] = value


def _next(flag: str, words: Iterator[str]) -> str:
    value = next(words, None)
    if value is None:
        raise UsageError(f"{flag} needs a value")
    return value
