"""
ge-opt: a module in, passes in the order typed, a module out.

    ge-opt --constant-folding --l2-fusion="l2-size=32" input.mlir
    ge-opt -O3 model.onnx -o smaller.onnx

IR goes to stdout, everything else to stderr. Exit codes: driver/diagnostics.py.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..dialects.ge.errors import UsageError
from ..driver.argv import Line, Splitter, Takes
from ..driver.diagnostics import OK, guarded, warn
from ..driver.files import Source, check_writable, open_sources, save_module, verify_input
from ..driver.registry import Registry, default_registry
from ..driver.shapes import Dim, parse_input_shapes

if TYPE_CHECKING:
    from xdsl.context import Context
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.passes import ModulePass

    from ..driver.instrument import Ledger
    from ..driver.pipeline import Pipeline, Rounds, Watcher

TOOL = "ge-opt"

FLAGS = {
    "-h": Takes.NOTHING,
    "--help": Takes.NOTHING,
    "--version": Takes.NOTHING,
    "--list-passes": Takes.NOTHING,
    "-o": Takes.VALUE,
    "--weights-out": Takes.VALUE,
    "--opset": Takes.VALUE,
    "--input-shape": Takes.VALUE,
    "--split-input-file": Takes.NOTHING,
    "--allow-unregistered-dialect": Takes.NOTHING,
    "--verify-each": Takes.NOTHING,
    "--verify-numerics": Takes.NOTHING,
    "--timing": Takes.NOTHING,
    "--statistics": Takes.NOTHING,
    "--remarks": Takes.NOTHING,
    "--dump-after-each": Takes.MAYBE,
    "--crash-reproducer": Takes.VALUE,
    "--print-op-generic": Takes.NOTHING,
    "--print-debuginfo": Takes.NOTHING,
}

HELP = """\
usage: ge-opt [--PASS[="option=value ..."]]... [-p PIPELINE] [-O0..-O3] [flags] [FILE]

Reads MLIR or ONNX (FILE, or stdin), runs the passes in the order typed, writes MLIR or ONNX (-o, or MLIR to stdout).

what runs
  --PASS[="a=1 b=2"]       one pass; --list-passes shows them
  -p "PASS,PASS{a=1 b=2}"  several, as xDSL writes pipelines; adds up with the rest, in the order typed
  -O0 .. -O3               what the level runs, at this place in the order
  --input-shape="x:1,3,224,224;y:1,77"   sizes for the free dims of inputs, before the passes
  --input-shape="x:1|2|4,3,224,224"      several (also 1..4): a function a shape, all in one arena

what goes out
  -o FILE                  instead of stdout; .onnx is written as ONNX
  --weights-out=FILE       where new weights go; needed on stdout when there are any
  --opset=N                of the ONNX model; by default the source's
  --print-op-generic       MLIR's generic form
  --print-debuginfo        with locations

what is checked and seen (on stderr)
  --verify-each            the IR after each pass
  --verify-numerics        the outputs before and after, by the reference; a difference is traced to its pass
  --timing, --statistics   seconds and counts by pass
  --remarks                why a near miss did not fire
  --dump-after-each[=DIR]  the IR after each pass, into DIR or to stderr
  --crash-reproducer=FILE  where a crash is written down

  --split-input-file       the parts between `// -----` one by one
  --allow-unregistered-dialect
  --list-passes, --version, --help
"""


def main(argv: Sequence[str] | None = None) -> int:
    words = list(sys.argv[1:] if argv is None else argv)
    return guarded(TOOL, functools.partial(_main, words))


def _main(words: list[str]) -> int:
    registry = default_registry(functools.partial(warn, TOOL))
    line = Splitter(FLAGS, registry.all_names(), registry.suggested()).split(words)
    if "-h" in line.flags or "--help" in line.flags:
        print(HELP, end="")
        return OK
    if "--version" in line.flags:
        print(_version())
        return OK
    if "--list-passes" in line.flags:
        _list_passes(registry)
        return OK

    if len(line.files) > 1:
        files = " ".join(line.files)
        raise UsageError(f'one input file at a time, got {files}; options are written --pass="option=value"')
    output = line.flags.get("-o")
    output = None if output == "-" else output
    pipeline = _pipeline(line, registry)
    if output is not None:
        check_writable(output)

    path = line.files[0] if line.files and line.files[0] != "-" else None
    sources = open_sources(path, split="--split-input-file" in line.flags)
    if len(sources) > 1 and output is not None:
        raise UsageError("--split-input-file writes to stdout; leave out -o")
    for at, source in enumerate(sources):
        if at:
            print("// -----")
        _process(source, line, registry, pipeline, output)
    return OK


def _process(source: Source, line: Line, registry: Registry, pipeline: Pipeline, output: str | None) -> None:
    context = registry.context()
    context.allow_unregistered = "--allow-unregistered-dialect" in line.flags
    shapes = parse_input_shapes(line.flags.get("--input-shape", ""))
    read = functools.partial(_read, source, context, shapes)
    module = read()
    if pipeline:
        _run(line, context, module, pipeline, read)
    save_module(
        module,
        output,
        line.flags.get("--weights-out"),
        generic="--print-op-generic" in line.flags,
        locations="--print-debuginfo" in line.flags,
        opset=_opset(line.flags.get("--opset")),
    )


def _run(line: Line, context: Context, module: ModuleOp, pipeline: Pipeline, read: functools.partial[ModuleOp]) -> None:
    from ..driver.instrument import Dumps, Ledger, Progress, Record, run_or_tell
    from .status import status

    ledger, record = Ledger(), Record()
    watchers: list[Watcher] = [ledger, record]
    if "--dump-after-each" in line.flags:
        folder = line.flags["--dump-after-each"]
        watchers.append(Dumps(Path(folder) if folder else None))
    reproducer = Path(line.flags["--crash-reproducer"]) if "--crash-reproducer" in line.flags else None
    try:
        with status() as show:
            watchers.append(Progress(show, names=False))
            run_or_tell(
                context,
                module,
                pipeline,
                read,
                watchers,
                verify_each="--verify-each" in line.flags,
                reproducer=reproducer,
            )
        if "--verify-numerics" in line.flags:
            from ..driver.numerics import verify_numerics

            verify_numerics(context, module, record.ran, read, reproducer)
    finally:
        _tell(line, ledger)


def _tell(line: Line, ledger: Ledger) -> None:
    """What the flags want to see, also of a run that failed."""
    if "--remarks" in line.flags:
        for name, remark in ledger.remarks:
            print(f"remark: {name}: {remark}", file=sys.stderr)
    if "--statistics" in line.flags:
        for text in ledger.statistics():
            print(text, file=sys.stderr)
    if "--timing" in line.flags:
        for text in ledger.timing():
            print(text, file=sys.stderr)


def _read(source: Source, context: Context, shapes: dict[str, tuple[Dim, ...]]) -> ModuleOp:
    module = source.read(context)
    verify_input(module, source.name)
    if shapes:
        from ..transforms.shape.gears import bind_gears

        bind_gears(module, shapes)
    return module


def _pipeline(line: Line, registry: Registry) -> Pipeline:
    from ..driver.options import PassRequest, build, parse_pipeline
    from ..driver.phases import parse_level, plan

    if sum(kind == "-O" for kind, _, _ in line.steps) > 1:
        raise UsageError("-O is given twice")
    steps: list[ModulePass | Rounds] = []
    for kind, name, text in line.steps:
        if kind == "pass":
            steps.append(build(PassRequest(name, text), registry))
        elif kind == "-O":
            steps.extend(plan(registry, parse_level(text)))
        else:
            steps.extend(build(p, registry) if isinstance(p, PassRequest) else p for p in parse_pipeline(text))
    return steps


def _list_passes(registry: Registry) -> None:
    for entry in registry.listed:
        when = "asked" if entry.level is None else f"O{entry.level}"
        print(f"{entry.name:<36} {when:<6} {entry.summary}")


def _opset(text: str | None) -> int | None:
    if text is not None and not text.isdecimal():
        raise UsageError(f"--opset must be a whole number, got '{text}'")
    return int(text) if text else None


def _version() -> str:
    from importlib.metadata import version

    from .. import __version__

    return f"{TOOL} {__version__} (xdsl {version('xdsl')})"


if __name__ == "__main__":
    sys.exit(main())
