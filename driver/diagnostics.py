"""
Every failure as one line and an exit code; nothing ends in a Python traceback.

    0   fine
    1   the input is wrong: InputError, a parse or verifier error, a file that cannot be read or written
    2   the command line or a configuration is wrong: UsageError
    70  we are wrong: anything else, with a reproducer where a pass was running (PassCrash)
"""

from __future__ import annotations

import errno
import gc
import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from xdsl.utils.exceptions import DiagnosticException, ParseError

from ..dialects.ge.errors import InputError, UsageError
from ..dialects.ge.errors import did_you_mean as did_you_mean

if TYPE_CHECKING:
    from pathlib import Path

    from xdsl.passes import ModulePass

OK, WRONG_INPUT, WRONG_USAGE, OUR_FAULT = 0, 1, 2, 70
INTERRUPTED = 130

COLLECT = (100_000, 50, 100)
"""Objects made, then young collections, then middle ones, between two looks for garbage cycles."""


class PassCrash(Exception):
    """
    A pass raised what no pass may raise, or left IR that does not verify.

    problem     what it said, one line
    culprit     the pass that was running
    ran         the passes that ran before it, in order
    reproducer  the file to start from again, once one is written; `command` has the pass flags that it needs
    """

    def __init__(self, problem: str, culprit: ModulePass, ran: tuple[ModulePass, ...] = ()) -> None:
        self.problem, self.culprit, self.ran = problem, culprit, ran
        self.reproducer: Path | None = None
        self.command = ""
        super().__init__(f"internal error in '{culprit.name}': {problem}")


def one_line(error: BaseException) -> str:
    """What `error` says, on one line: where first, then what."""
    match error:
        case ParseError():
            # Its str() is a drawing over several lines; the place and the message say it all.
            place = error.span.get_location()
            return f"{place.file}:{place.line}:{place.col}: {_joined(error.msg)}"
        case OSError():
            return _os_error(error)
        case KeyError():
            return _joined(f"no such key: {error}")
        case MemoryError():
            return "out of memory"
        case RecursionError():
            return "nested too deeply"
        case _:
            return _joined(str(error)) or type(error).__name__


def exit_code(error: BaseException) -> int:
    match error:
        case UsageError():
            return WRONG_USAGE
        case InputError() | ParseError() | DiagnosticException() | OSError():
            return WRONG_INPUT
        case _:
            return OUR_FAULT


def complain(tool: str, error: BaseException) -> int:
    """Prints `error` on stderr as `tool` and returns the exit code it calls for."""
    code = exit_code(error)
    if isinstance(error, PassCrash):
        _say(f"{tool}: {error}")
        if error.reproducer is not None:
            command = f"ge-opt {error.command} {error.reproducer}"
            _say(f"  reproduce: {command:<40}  # its first line is a RUN line: a test in waiting")
    elif code == OUR_FAULT:
        _say(f"{tool}: internal error: {type(error).__name__}: {one_line(error)}")
    elif isinstance(error, ParseError) or (isinstance(error, InputError) and error.file is not None):
        _say(one_line(error))  # starts with the file, as editors want it
    else:
        _say(f"{tool}: error: {one_line(error)}")
    return code


def warn(tool: str, text: str) -> None:
    _say(f"{tool}: warning: {_joined(text)}")


def guarded(tool: str, body: Callable[[], int]) -> int:
    """Runs a tool's `body` and turns whatever it raises into a line on stderr and an exit code."""
    # A module is one great heap without garbage cycles: looking for them as often as Python does by default takes a
    # fifth of the time, and more than its share on large modules.
    gc.set_threshold(*COLLECT)
    try:
        code = body()
        sys.stdout.flush()
    except BrokenPipeError:
        # `ge-opt ... | head`: the reader has what it wanted. The interpreter flushes stdout once more at
        # its end, so that end has to lead somewhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OK
    except KeyboardInterrupt as stop:
        if stop.args:  # who was at work says what is kept
            _say(f"{tool}: {stop}")
        return INTERRUPTED
    except Exception as error:
        return complain(tool, error)
    return code


def _os_error(error: OSError) -> str:
    what = error.strerror or _joined(str(error)) or type(error).__name__
    if error.errno == errno.ENOSPC:
        what = "no space left on the disk; nothing was written"
    elif error.errno == errno.EISDIR:
        what = "is a folder, not a file"
    elif error.errno == errno.ENOENT:
        what = "no such file or folder"
    where = error.filename2 or error.filename
    return f"{os.fsdecode(where)}: {what}" if isinstance(where, str | bytes) else what


def _joined(text: str) -> str:
    return " ".join(text.split())


def _say(line: str) -> None:
    try:
        print(line, file=sys.stderr)
    except UnicodeEncodeError:  # a name in a script that the terminal's encoding has not
        print(line.encode("ascii", "backslashreplace").decode(), file=sys.stderr)
