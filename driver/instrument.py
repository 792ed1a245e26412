"""
What can be seen of a run: seconds, counts and remarks by pass, the IR after each, and a file that repeats a crash.

Everything is written to stderr or to files; stdout is the IR's.
"""

from __future__ import annotations

import contextlib
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING

from ..dialects.ge.kinds import walk
from .diagnostics import PassCrash
from .files import print_module, replacing, save_module, temporary_name
from .options import flag_of
from .pipeline import Pipeline, Watcher, run

if TYPE_CHECKING:
    from xdsl.context import Context
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.ir import Operation
    from xdsl.passes import ModulePass

    from ..transforms.report import Report


@dataclass
class Row:
    """One pass, all its runs together: wall seconds, nodes gained or lost, what it counted."""

    name: str
    runs: int = 0
    seconds: float = 0.0
    nodes: int = 0
    counts: Counter[str] = field(default_factory=Counter[str])


class Ledger(Watcher):
    """
    Adds up what each pass took and did.

    nodes  whether to count the module's nodes after each pass (a walk)
    """

    def __init__(self, nodes: bool = False) -> None:
        self.rows: dict[str, Row] = {}
        self.remarks: dict[tuple[str, str], None] = {}  # (pass, remark), each once: greedy drivers revisit ops
        self._count_nodes = nodes
        self._counted: ModuleOp | None = None
        self._nodes = 0

    def before(self, one: ModulePass, module: ModuleOp) -> None:
        if self._count_nodes and self._counted is not module:
            self._counted, self._nodes = module, node_count(module)

    def after(self, one: ModulePass, module: ModuleOp, report: Report, seconds: float) -> None:
        row = self.rows.setdefault(one.name, Row(one.name))
        row.runs += 1
        row.seconds += seconds
        row.counts.update(report.counts)
        if self._count_nodes and report.changed:
            before, self._nodes = self._nodes, node_count(module)
            row.nodes += self._nodes - before
        self.remarks.update(((one.name, remark), None) for remark in report.remarks)

    def timing(self) -> Iterator[str]:
        """A line a pass in the order of first runs, milliseconds and share, and the sum."""
        total = sum(row.seconds for row in self.rows.values())
        for row in self.rows.values():
            again = f"  ({row.runs} runs)" if row.runs > 1 else ""
            yield f"{row.seconds * 1e3:10.1f} ms {row.seconds / (total or 1):6.1%}  {row.name}{again}"
        yield f"{total * 1e3:10.1f} ms {1:6.1%}  in all"

    def statistics(self) -> Iterator[str]:
        """A line a pass and count; a pass that counted nothing has none."""
        for row in self.rows.values():
            for what, number in row.counts.items():
                yield f"{number:10}  {row.name}: {what}"


class Dumps(Watcher):
    """The IR before the first pass and after each: files in `folder`, numbered in order, or stderr when it is None."""

    def __init__(self, folder: Path | None) -> None:
        self._folder, self._number = folder, 0
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)

    def before(self, one: ModulePass, module: ModuleOp) -> None:
        if self._number == 0:
            self._dump("input", module)

    def after(self, one: ModulePass, module: ModuleOp, report: Report, seconds: float) -> None:
        self._dump(one.name, module)

    def _dump(self, what: str, module: ModuleOp) -> None:
        if self._folder is None:
            print(f"// ----- {what}", file=sys.stderr)
            print_module(module, sys.stderr)
        else:
            with replacing(self._folder / f"{self._number:02}-{what}.mlir") as fresh, fresh.open("w") as stream:
                print_module(module, stream)
        self._number += 1


class Progress(Watcher):
    """
    Calls `show` with a bar while a pass says how far it is.

    names   and with the name of each pass as it starts
    """

    WIDTH = 24

    def __init__(self, show: Callable[[str], None], names: bool = True) -> None:
        self._show, self._names = show, names

    def before(self, one: ModulePass, module: ModuleOp) -> None:
        if self._names:
            self._show(one.name)

    def during(self, one: ModulePass, share: float, text: str) -> None:
        done = round(share * self.WIDTH)
        self._show(f"{one.name} {'━' * done}{'╌' * (self.WIDTH - done)} {share:4.0%}  {text}")


def node_count(module: ModuleOp) -> int:
    """Ops that do work: everything but constants, functions, terminators and what holds the module together."""
    return sum(map(_is_node, walk(module)))


def run_or_tell(
    context: Context,
    module: ModuleOp,
    pipeline: Pipeline,
    read: Callable[[], ModuleOp],
    watchers: Sequence[Watcher] = (),
    *,
    verify_each: bool = False,
    reproducer: Path | None = None,
) -> None:
    """`run`, and a reproducer when a pass crashes: see `write_reproducer`."""
    try:
        run(context, module, pipeline, watchers, verify_each=verify_each)
    except PassCrash as crash:
        with contextlib.suppress(Exception):  # the crash itself is the news
            write_reproducer(crash, read, context, reproducer)
        raise


class Record(Watcher):
    """The passes that ran, in order, each time."""

    def __init__(self) -> None:
        self.ran: list[ModulePass] = []

    def after(self, one: ModulePass, module: ModuleOp, report: Report, seconds: float) -> None:
        self.ran.append(one)


def write_reproducer(
    crash: PassCrash, read: Callable[[], ModuleOp], context: Context, path: Path | None = None, check: str = ""
) -> None:
    """
    Writes the module as it was when `crash`'s pass began, with a RUN line first, and names the file in `crash`.

    Where the passes before it do not come to the same end again, the input and all of them.

    read  the module that the pipeline began with
    path  by default a new file in the system's folder for temporary ones
    check the flag that shows the fault, where the pass does not fail by itself
    """
    again: Sequence[ModulePass] = (crash.culprit,)
    module = read()
    try:
        run(context, module, crash.ran)
    except Exception:
        module, again = read(), (*crash.ran, crash.culprit)
    flags = " ".join([*(flag_of(one) for one in again), *filter(None, [check])])
    target = path or temporary_name("ge-opt-crash-", ".mlir")
    save_module(module, target)
    body = target.read_text(encoding="utf-8")
    with replacing(target) as fresh, fresh.open("w", encoding="utf-8") as stream:
        stream.write(f"// RUN: ge-opt {flags} %s\n")
        _write_traceback(crash, stream)
        stream.write(body)
    crash.reproducer, crash.command = target, flags


def _write_traceback(crash: PassCrash, stream: IO[str]) -> None:
    cause = crash.__cause__ or crash
    for line in "".join(traceback.format_exception(cause)).splitlines():
        stream.write(f"// {line}\n")


def _is_node(op: Operation) -> bool:
    name = op.name
    return not (name in _NO_NODES or name.startswith(("builtin.", "func.")) or name.endswith(".yield"))


_NO_NODES = frozenset({"ge.constant", "ge.weights", "ge.mapped", "ge.slot", "ge.fusion"})
