"""
What a pass has to say about its run: counts, remarks on what nearly happened, and how far a long one is.

All go to the `Report` that the driver installs for each pass; where none is installed they do nothing.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Generator
from contextvars import ContextVar
from dataclasses import dataclass, field

from xdsl.ir import Operation

from ..dialects.ge.errors import node_name


@dataclass
class Report:
    """
    One pass's run: how often what happened, each remark once, in order, and whether the module is another one.

    A pass of ours that changed nothing counts nothing, and one that counts nothing, or whose changes are not counted,
    says so with `changed`: rounds end, and figures of the module are kept, by that alone.

    tell    hears while it runs what share is done, 0 .. 1, and what came of it so far
    """

    counts: Counter[str] = field(default_factory=Counter[str])
    remarks: dict[str, None] = field(default_factory=dict[str, None])
    changed: bool = False
    tell: Callable[[float, str], None] | None = None


_current: ContextVar[Report | None] = ContextVar("report", default=None)


@contextlib.contextmanager
def collecting(report: Report) -> Generator[Report]:
    """While it lasts, `count` and `missed` write to `report`."""
    token = _current.set(report)
    try:
        yield report
    finally:
        _current.reset(token)


def count(what: str, n: int = 1) -> None:
    report = _current.get()
    if report is not None and n:
        report.counts[what] += n
        report.changed = True


def figure(what: str, n: int) -> None:
    """A number to know, 0 too, which is no change of the module."""
    report = _current.get()
    if report is not None:
        report.counts[what] += n


def changed() -> None:
    """The module is another one, though in nothing that is counted."""
    report = _current.get()
    if report is not None:
        report.changed = True


def missed(op: Operation, reason: str) -> None:
    """Why a rewrite did not happen at `op`, though it nearly did."""
    report = _current.get()
    if report is not None:
        name = node_name(op)
        report.remarks[f'node "{name}": {op.name} {reason}' if name else f"{op.name} {reason}"] = None


def progress(share: float, text: str) -> None:
    """How far a pass is that takes long."""
    report = _current.get()
    if report is not None and report.tell is not None:
        report.tell(share, text)
