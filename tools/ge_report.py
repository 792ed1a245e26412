"""
ge-report: what a compiler's decisions look like.

    ge-report --memory model.onnx -o memory.html
    ge-report --l2 model.onnx -o l2.svg
    ge-report --memory --strategy=given,balanced planned.mlir -o memory.png

The drawing goes to the file, by its suffix, a few lines to stdout. Exit codes: driver/diagnostics.py.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..dialects.ge.errors import InputError, UsageError
from ..driver.argv import Line, Splitter, Takes
from ..driver.diagnostics import OK, guarded, warn
from ..driver.files import open_sources, verify_input
from ..driver.registry import Registry, default_registry
from ..driver.shapes import parse_one_shape
from .report import l2, memory
from .report.base import Report, Request
from .report.chart import SUFFIXES, check_output, write

if TYPE_CHECKING:
    from xdsl.context import Context
    from xdsl.dialects.builtin import ModuleOp

TOOL = "ge-report"
KINDS: dict[str, Any] = {"--memory": memory, "--l2": l2}
"""Modules with FLAGS, HELP and make: report/__init__.py."""

GEARS_SHOWN = 3
"""Of a model's gears, in a message."""

FLAGS = {
    "-h": Takes.NOTHING,
    "--help": Takes.NOTHING,
    "--version": Takes.NOTHING,
    "-o": Takes.VALUE,
    "--input-shape": Takes.VALUE,
    **dict.fromkeys(KINDS, Takes.NOTHING),
}

HELP = f"""\
usage: ge-report KIND MODEL -o FILE [flags]      (.onnx, or .mlir at any stage; FILE: {", ".join(SUFFIXES)})

what goes in
  -O0 .. -O3               passes before the report; by default -O3 for ONNX, none for MLIR
  --input-shape="x:1,3,224,224;y:1,77"   sizes for the free dims of inputs, before the passes; of a model in gears,
                           which one
"""


def main(argv: Sequence[str] | None = None) -> int:
    words = list(sys.argv[1:] if argv is None else argv)
    return guarded(TOOL, functools.partial(_main, words))


def _main(words: list[str]) -> int:
    own = {flag: takes for kind in KINDS.values() for flag, takes in kind.FLAGS.items()}
    line = Splitter(FLAGS | own, (), ()).split(words)
    if "-h" in line.flags or "--help" in line.flags:
        print("\n".join([HELP, *(kind.HELP for kind in KINDS.values())]), end="")
        return OK
    if "--version" in line.flags:
        from .. import __version__

        print(f"{TOOL} {__version__}")
        return OK
    name = _check(line)
    output = line.flags["-o"]
    check_output(output)
    registry = default_registry(functools.partial(warn, TOOL))
    context = registry.context()
    module = _module(line, context, registry)
    flags = {flag: line.flags[flag] for flag in KINDS[name].FLAGS if flag in line.flags}
    report: Report = KINDS[name].make(Request(line.files[0], module, context, registry, flags))
    write(report, output)
    for text in report.lines:
        print(text)
    return OK


def _check(line: Line) -> str:
    """The kind that is asked for; raises UsageError."""
    kinds = [kind for kind in KINDS if kind in line.flags]
    if len(kinds) != 1:
        raise UsageError(f"one kind of report is needed: {' or '.join(KINDS)}; got {' '.join(kinds) or 'none'}")
    if len(line.files) != 1:
        raise UsageError(f"one model is needed, got {' '.join(line.files) or 'none'}; - is stdin")
    if "-o" not in line.flags:
        raise UsageError(f"-o FILE is needed: {', '.join(SUFFIXES)}")
    for kind in KINDS:
        strange = next((flag for flag in KINDS[kind].FLAGS if flag in line.flags and kind not in kinds), None)
        if strange is not None and strange not in KINDS[kinds[0]].FLAGS:
            raise UsageError(f"{strange} is for {kind}, not for {kinds[0]}")
    if any(step[0] != "-O" for step in line.steps) or len(line.steps) > 1:
        raise UsageError("the passes are one of -O0, -O1, -O2, -O3; for others run ge-opt first")
    return kinds[0]


def _module(line: Line, context: Context, registry: Registry) -> ModuleOp:
    """The model, after the passes that are asked for."""
    from ..dialects.ge.gears import gears, written_inputs
    from ..driver.instrument import run_or_tell
    from ..driver.phases import DEFAULT_LEVEL, parse_level, plan
    from ..transforms.shape.bind import bind_shapes
    from ..transforms.shape.gears import keep_fitting

    shapes = parse_one_shape(line.flags.get("--input-shape", ""))
    [source] = open_sources(None if line.files[0] == "-" else line.files[0])

    def read() -> ModuleOp:
        module = source.read(context)
        verify_input(module, source.name)
        several = gears(module)
        if several and not shapes:
            flags = " or ".join(f"--input-shape={text}" for text in map(written_inputs, several[:GEARS_SHOWN]))
            raise InputError(f"{source.name}: is a model in {len(several)} gears; a report is on one: {flags}")
        if several:
            keep_fitting(module, shapes, {})
        elif shapes:
            bind_shapes(module, shapes)
        return module

    module = read()
    level = parse_level(line.steps[0][2]) if line.steps else DEFAULT_LEVEL if source.onnx is not None else None
    if level is not None:
        run_or_tell(context, module, plan(registry, level), read)
    return module


if __name__ == "__main__":
    sys.exit(main())
