"""
Runs passes over a module, one after the other, and tells watchers of each.

A pass may end in three ways: well; with an error that a person can act on (InputError, UsageError, a refused lowering,
a full disk), which goes on as it is; or with anything else, which is our fault and becomes a PassCrash.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriterListener, PatternRewriteWalker
from xdsl.utils.exceptions import DiagnosticException

from ..dialects.ge.errors import InputError, UsageError
from ..dialects.ge.kinds import walk
from ..transforms.base import GePass, carry_names
from ..transforms.report import Report, collecting
from .diagnostics import PassCrash, one_line

if TYPE_CHECKING:
    from xdsl.context import Context
    from xdsl.dialects.builtin import ModuleOp


@dataclass(frozen=True)
class Rounds:
    """Passes that run again until each has run since the last change, `limit` times at most."""

    name: str
    passes: tuple[ModulePass, ...]
    limit: int


Pipeline: TypeAlias = Sequence[ModulePass | Rounds]


class Watcher:
    """Hears of each pass; what a pass reported (counts, remarks) and its wall seconds come with its end."""

    def before(self, one: ModulePass, module: ModuleOp) -> None: ...

    def during(self, one: ModulePass, share: float, text: str) -> None:
        """A pass that takes long says what share of it is done, 0 .. 1, and what came of it so far."""

    def after(self, one: ModulePass, module: ModuleOp, report: Report, seconds: float) -> None: ...


def run(
    context: Context,
    module: ModuleOp,
    pipeline: Pipeline,
    watchers: Sequence[Watcher] = (),
    *,
    verify_each: bool = False,
) -> None:
    """
    Runs `pipeline` over `module`, in place.

    verify_each  whether each pass's result is verified; otherwise only the last one's is
    raises       PassCrash with the passes that ran before; what passes raise on purpose
    """
    ran: list[ModulePass] = []

    def tell(one: ModulePass, share: float, text: str) -> None:
        for watcher in watchers:
            watcher.during(one, share, text)

    def run_one(one: ModulePass) -> Report:
        for watcher in watchers:
            watcher.before(one, module)
        # Ours say whether they changed anything; of others the module tells.
        before = None if isinstance(one, GePass) else state_of(module)
        report, start = Report(tell=lambda share, text: tell(one, share, text)), time.perf_counter()
        with _crashes(one, ran), collecting(report), _names_carried(one):
            one.apply(context, module)
        seconds = time.perf_counter() - start
        report.changed = report.changed or (before is not None and before != state_of(module))
        if verify_each:
            _verify(module, one, ran)
        ran.append(one)
        for watcher in watchers:
            watcher.after(one, module, report, seconds)
        return report

    for step in pipeline:
        if isinstance(step, ModulePass):
            run_one(step)
            continue
        idle = 0
        for one in step.passes * step.limit:
            idle = 0 if run_one(one).changed else idle + 1
            if idle == len(step.passes):
                break
    if ran and not verify_each:
        _verify(module, ran[-1], ran[:-1])


def flat(pipeline: Pipeline) -> list[ModulePass]:
    """Each pass of `pipeline` once, in order."""
    return [one for step in pipeline for one in (step.passes if isinstance(step, Rounds) else (step,))]


@contextlib.contextmanager
def _crashes(one: ModulePass, ran: list[ModulePass]) -> Generator[None]:
    try:
        yield
    except (InputError, UsageError, DiagnosticException, OSError, MemoryError):
        raise
    except Exception as error:
        raise PassCrash(repr(one_line(error)), one, tuple(ran)) from error


def _verify(module: ModuleOp, one: ModulePass, ran: list[ModulePass]) -> None:
    try:
        module.verify()
    except Exception as error:
        problem = f"the result does not verify: {one_line(error)}"
        raise PassCrash(problem, one, tuple(ran)) from error


@contextlib.contextmanager
def _names_carried(one: ModulePass) -> Generator[None]:
    """
    While a pass runs that is not ours, what its patterns replace hands its ONNX names on, as our own driver does.

    xDSL offers no hook for all walkers, so the method that makes their listeners is wrapped (xdsl is pinned).
    """
    if isinstance(one, GePass):
        yield
        return
    original = PatternRewriteWalker._get_rewriter_listener  # pyright: ignore[reportPrivateUsage]

    def with_names(self: PatternRewriteWalker) -> PatternRewriterListener:
        listener = original(self)
        listener.operation_replacement_handler = [carry_names, *listener.operation_replacement_handler]
        return listener

    PatternRewriteWalker._get_rewriter_listener = with_names  # pyright: ignore[reportPrivateUsage]
    try:
        yield
    finally:
        PatternRewriteWalker._get_rewriter_listener = original  # pyright: ignore[reportPrivateUsage]


def state_of(module: ModuleOp) -> list[Any]:
    """
    What a pass may change. Two states are equal when nothing did; the old state keeps its ops alive, so that a new op
    is never taken for one whose place in memory it got.

    cost  about 1 us an op
    """
    state: list[Any] = []
    for op in walk(module):
        state += (op, op._operands, op.properties.copy(), op.attributes.copy())  # pyright: ignore[reportPrivateUsage]
        state += [result._type for result in op.results]  # pyright: ignore[reportPrivateUsage]
        for region in op.regions:
            for block in region.blocks:
                state += [argument._type for argument in block.args]  # pyright: ignore[reportPrivateUsage]
    return state
