"""What a tool is doing, on a terminal."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.status import Status


@contextlib.contextmanager
def status() -> Generator[Callable[[str], None]]:
    """A function that shows what is being done: on a terminal a spinner, from its first call on; in a pipe nothing."""
    if not sys.stderr.isatty():
        yield lambda what: None
        return
    with contextlib.ExitStack() as stack:
        shown: Status | None = None

        def show(what: str) -> None:
            nonlocal shown
            if shown is None:
                from rich.console import Console

                shown = stack.enter_context(Console(stderr=True).status(what))
            shown.update(what)

        yield show
