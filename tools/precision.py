"""
`ge --precision_report=` and `--precision_keep=`: the pipeline stops at the precision pass, to look at what it does.

Both run the model by the reference, on the inputs of `--precision_inputs` or on made-up ones.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..dialects.ge.errors import UsageError
from ..driver.files import check_writable
from ..driver.precision import Exact, Goal, parse_goal, search, write_keep_list, write_report

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from ..driver.pipeline import Pipeline

FREE = 8
"""Size of free dims of made-up inputs."""

SHOWN = 8
"""Names of nodes that a summary lists."""

Run = Callable[["ModuleOp", "Pipeline", Callable[[], "ModuleOp"]], None]


@dataclass(frozen=True)
class Study:
    """
    What is asked of the precision pass.

    report     where a table of each layer's error is to be written
    goal       what its keep list is to reach
    keep_file  where that list is to be written
    inputs     the .npz to try both on
    """

    report: Path | None = None
    goal: Goal | None = None
    keep_file: Path | None = None
    inputs: str | None = None

    def run(self, module: ModuleOp, pipeline: Pipeline, run: Run, show: Callable[[str], None]) -> Sequence[str]:
        """
        Runs `pipeline` on `module` by `run`, and what is asked for on the way.

        returns  lines that say what was kept
        raises   UsageError without a precision pass, or where the goal is not met; InputError for a model that the
                 reference cannot run
        """
        from ..transforms.precision.precision import Precision

        at = next((k for k, one in enumerate(pipeline) if isinstance(one, Precision)), None)
        if at is None:
            raise UsageError("--precision_report and --precision_keep need a mode: give --precision_mode too")
        one = pipeline[at]
        assert isinstance(one, Precision)
        run(module, pipeline[:at], module.clone)
        show("precision: the exact outputs")
        before = module.clone()
        exact = Exact(before, self._inputs(before))
        said: list[str] = []
        if self.goal is not None:
            kept = search(module.clone(), one, exact, self.goal, show)
            one = dataclasses.replace(one, keep_nodes=(*one.keep_nodes, *kept))
            said = [f"precision  within the goal with {len(kept)} nodes kept"]
            if self.keep_file is not None:
                write_keep_list(kept, self.keep_file)
            elif kept:
                said += [f"  {name}" for name in kept[:SHOWN]]
                said += [f"  and {len(kept) - SHOWN} more: file=keep.ini writes all"] * (len(kept) > SHOWN)
        run(module, [one], before.clone)
        if self.report is not None:
            show("precision: each layer")
            write_report(exact.layers(module.clone()), self.report)
        run(module, pipeline[at + 1 :], module.clone)
        return said

    def _inputs(self, module: ModuleOp) -> Mapping[str, Any]:
        from ..reference import make_inputs
        from .arrays import read_npz

        given = read_npz(self.inputs) if self.inputs is not None else {}
        made = make_inputs(module, free=FREE) if not given else {}
        return made | given


def study_of(given: Mapping[str, str]) -> Study | None:
    """What the flags ask for, None without them. Raises UsageError and OSError."""
    report, keep, inputs = (given.get(f"precision_{name}") for name in ("report", "keep", "inputs"))
    if report is None and keep is None:
        if inputs is not None:
            raise UsageError("--precision_inputs is for --precision_report and --precision_keep")
        return None
    goal, file = parse_goal(keep) if keep is not None else (None, None)
    table = Path(report) if report is not None else None
    for path in filter(None, (table, file)):
        check_writable(path)
    return Study(table, goal, file, inputs)
