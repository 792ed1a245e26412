"""
What a pass has to say about its run: counts, and remarks on what nearly happened.

Both go to the `Report` that the driver installs for each pass; where none is installed they do nothing.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Generator
from contextvars import ContextVar
from dataclasses import dataclass, field

from xdsl.ir import Operation

from ..dialects.ge.errors import node_name


@dataclass
class Report:
    """One pass's run: how often what happened, and each remark once, in order."""

    counts: Counter[str] = field(default_factory=Counter[str])
    remarks: dict[str, None] = field(default_factory=dict[str, None])


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


def missed(op: Operation, reason: str) -> None:
    """Why a rewrite did not happen at `op`, though it nearly did."""
    report = _current.get()
    if report is not None:
        name = node_name(op)
        report.remarks[f'node "{name}": {op.name} {reason}' if name else f"{op.name} {reason}"] = None
