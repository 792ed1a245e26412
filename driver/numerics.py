"""
`--verify-numerics`: does the module still compute what it computed before the passes? If not, which pass is at fault?

Both are run by the reference on the same made-up inputs. A difference is traced by running the first half of the passes
that ran, and so on: log2(passes) further runs. Two more, before and after the pass at fault, tell the first value that
kept its ONNX name and not its elements.

A pass that keeps every bit keeps the order of arithmetic, and so does an L2 group in tiles; but the reference's
products add up in another order for another shape. Where bits of tiles differ, sums that are exact in any order decide.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ..dialects.ge.kinds import walk
from .diagnostics import PassCrash
from .instrument import write_reproducer
from .pipeline import run

if TYPE_CHECKING:
    from pathlib import Path

    from xdsl.context import Context
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.ir import Operation
    from xdsl.passes import ModulePass

TOLERANCE = 1e-4
"""Largest |a - b| / max |a| in fp32 and wider, where arithmetic is regrouped."""

HALF_TOLERANCE = 2e-2
"""The same in floats of 16 bits and fewer."""

STEP = 1
"""Of an integer output of 8 bits, where arithmetic is regrouped: a quantised one may differ by a step."""


def verify_numerics(
    context: Context,
    module: ModuleOp,
    ran: Sequence[ModulePass],
    read: Callable[[], ModuleOp],
    reproducer: Path | None = None,
) -> None:
    """
    Compares `module` with the one that `read` gives, before the passes that `ran`.

    raises  PassCrash that names the pass, the output and the first op that differs; InputError for a module that the
            reference cannot run
    """
    from ..dialects.ge.gears import gears
    from ..reference import make_inputs

    before = read()
    for program in gears(before) or (before,):
        inputs = make_inputs(program)
        wanted = _Wanted(before, inputs)
        problem = wanted.problem(module, _regroup(ran))
        if problem is not None:
            break
    else:
        return

    right, wrong = 0, len(ran)  # so many passes leave the outputs right, so many do not
    while wrong - right > 1:
        middle = (right + wrong) // 2
        again = read()
        run(context, again, ran[:middle])
        found = wanted.problem(again, _regroup(ran[:middle]))
        if found is None:
            right = middle
        else:
            wrong, problem = middle, found
    before, after = read(), read()
    run(context, before, ran[: wrong - 1])
    run(context, after, ran[:wrong])
    where = first_difference(before, after, inputs, _regroup(ran[wrong - 1 : wrong]))
    problem = f"the outputs change: {problem}" + (f"; first {where}" if where else "")
    crash = PassCrash(problem, ran[wrong - 1], tuple(ran[: wrong - 1]))
    write_reproducer(crash, read, context, reproducer, check="--verify-numerics")
    raise crash


@dataclass
class _Wanted:
    """What a module gives for inputs, and with sums that are exact in any order, each computed when it is asked for."""

    module: ModuleOp
    inputs: Mapping[str, Any]

    @cached_property
    def _outputs(self) -> dict[str, Any]:
        from ..reference import run as compute

        return compute(self.module, self.inputs)

    @cached_property
    def _exactly(self) -> dict[str, Any]:
        from ..reference import evaluate_exactly
        from ..reference import run as compute

        return compute(self.module, self.inputs, meaning=evaluate_exactly)

    def problem(self, other: ModuleOp, regrouped: bool) -> str | None:
        """What another module gives that differs more than it may, in words."""
        from ..reference import evaluate_exactly
        from ..reference import run as compute

        found = difference(self._outputs, self._in_order(other, compute(other, self.inputs)), regrouped)
        if found is None or regrouped or not _runs_in_tiles(other):
            return found
        exactly = compute(other, self.inputs, meaning=evaluate_exactly)
        return difference(self._exactly, self._in_order(other, exactly), regrouped)

    def _in_order(self, other: ModuleOp, outputs: Mapping[str, Any]) -> Mapping[str, Any]:
        """On buffers, outputs that have none come behind those that have: there the order is no fault."""
        from ..transforms.memory.arena import is_on_buffers
        from ..transforms.rewriting import functions

        if outputs.keys() != self._outputs.keys() or not any(map(is_on_buffers, functions(other))):
            return outputs
        return {name: outputs[name] for name in self._outputs}


def _runs_in_tiles(module: ModuleOp) -> bool:
    return any(op.name == "scf.for" for op in walk(module))


def _regroup(passes: Sequence[ModulePass]) -> bool:
    """Whether one of them may compute the same by other arithmetic; what is not ours does not say."""
    return any(getattr(one, "regroups", True) for one in passes)


def difference(expected: Mapping[str, Any], got: Mapping[str, Any], regrouped: bool = True) -> str | None:
    """
    What differs more than it may, in words; None when nothing does.

    regrouped  whether arithmetic may have been regrouped; else every bit is to be the same
    """
    if list(expected) != list(got):
        return f"they are {', '.join(got)}, not {', '.join(expected)}"
    for name, value in expected.items():
        problem = _differs(value, got[name], regrouped)
        if problem is not None:
            return f"output '{name}' {problem}"
    return None


def first_difference(
    before: ModuleOp, after: ModuleOp, inputs: Mapping[str, Any], regrouped: bool = True
) -> str | None:
    """
    The first value, in the order in which `after` computes them, that is other than the one of that name in `before`:
    what differs, and of which op. None where no value of a name that both have differs. Keeps all values of a run.
    """
    from ..dialects.ge.errors import node_name
    from ..frontend.nodes import names_of_outputs
    from ..reference import evaluate, evaluate_exactly
    from ..reference import run as compute

    known: dict[str, Any] = {}
    problems: list[str] = []

    def keep(op: Operation, results: Sequence[Any]) -> None:
        for name, value in zip(names_of_outputs(op), results, strict=False):
            if name:
                known.setdefault(name, value)

    def compare(op: Operation, results: Sequence[Any]) -> None:
        for name, value in zip(names_of_outputs(op), results, strict=False):
            other = known.pop(name, None)
            if other is None or problems or _kind(other) != _kind(value):
                continue  # a pass may give a value another layout or type
            problem = _differs(other, value, regrouped)
            if problem is not None:
                problems.append(f"node \"{node_name(op)}\": '{op.name}', value '{name}' {problem}")

    meaning = evaluate_exactly if not regrouped and _runs_in_tiles(after) else evaluate
    compute(before, inputs, keep, meaning=meaning)
    compute(after, inputs, compare, meaning=meaning)
    return problems[0] if problems else None


def _kind(value: Any) -> object:
    array = np.asarray(value) if not isinstance(value, Sequence) else None
    return array is not None and (array.dtype, array.shape)


def _differs(a: Any, b: Any, regrouped: bool) -> str | None:
    if isinstance(a, list | tuple):
        theirs, ours = cast("tuple[Sequence[Any], Any]", (a, b))
        if not isinstance(ours, list | tuple) or len(theirs) != len(cast("Sequence[Any]", ours)):
            return f"is a sequence of {len(theirs)} no more"
        problems = (_differs(x, y, regrouped) for x, y in zip(theirs, cast("Sequence[Any]", ours), strict=True))
        return next((problem for problem in problems if problem is not None), None)
    a, b = np.asarray(a), np.asarray(b)
    if (a.shape, a.dtype) != (b.shape, b.dtype):
        return f"is {b.dtype}{list(b.shape)}, not {a.dtype}{list(a.shape)}"
    if a.dtype.kind in "OUSb" or not a.size:
        return None if np.array_equal(a, b) else "has other elements"
    if a.dtype.kind in "iu":
        far = int(np.max(np.abs(a.astype(object) - b.astype(object))))
        allowed = STEP if regrouped and a.dtype.itemsize == 1 else 0
        return None if far <= allowed else f"differs by {far} (allowed: {allowed})"
    return _floats_differ(a, b, (TOLERANCE if a.dtype.itemsize >= 4 else HALF_TOLERANCE) if regrouped else 0)


def _floats_differ(a: Any, b: Any, allowed: float) -> str | None:
    wide = np.complex128 if a.dtype.kind == "c" else np.float64
    a, b = a.astype(wide), b.astype(wide)
    finite = np.isfinite(a)
    if not np.array_equal(a[~finite], b[~finite], equal_nan=True) or not np.isfinite(b[finite]).all():
        return "has other infinities or NaNs"
    if not finite.any():
        return None
    far, scale = np.max(np.abs(a[finite] - b[finite])), np.max(np.abs(a[finite]))
    share = float(far / scale) if scale else float(far)
    return None if share <= allowed else f"differs by {share:.3g} of its largest element (allowed: {allowed:g})"
