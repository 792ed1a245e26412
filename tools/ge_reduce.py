"""
ge-reduce: the smallest module that still fails, as a FileCheck test.

    ge-reduce model.onnx --passes="constant-folding,l2-fusion{l2-size=32}"     # a pass that crashes or breaks the IR
    ge-reduce model.onnx -- ge-opt -O3 --verify-numerics                       # any command; it gets a file's name
    ge-reduce model.onnx --error="out of range" -- python compare.py {}        # {} is where the name goes

The result's first line is a RUN line: a test in waiting. How it is found: tools/reducing.py.
"""

from __future__ import annotations

import contextlib
import functools
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from xdsl.utils.exceptions import DiagnosticException

from ..dialects.ge.errors import InputError, UsageError
from ..driver.diagnostics import OK, PassCrash, did_you_mean, guarded, one_line, warn
from ..driver.files import check_writable, open_sources, replacing, save_module, verify_input
from ..driver.registry import Registry, default_registry

if TYPE_CHECKING:
    from xdsl.context import Context
    from xdsl.dialects.builtin import ModuleOp

    from .reducing import Fails, Tell

TOOL = "ge-reduce"
VALUES = {
    "passes": 'the pipeline that fails: "a,b{option=value}", or O3',
    "error": "a text that the failure must have",
    "output": "the test to write; by default MODEL.reduced.mlir",
    "timeout": "seconds for one run of the command; by default 60",
}
SWITCHES = {"onnx": "hand the command .onnx files, not .mlir", "help": "this text", "version": "the version"}
ALIASES = {"o": "output", "h": "help"}
SHOWN = 200
"""Characters of a message that a CHECK line repeats, at most."""


@dataclass(frozen=True)
class Line:
    """A command line taken apart: flags by name, models, and the command after `--`."""

    given: dict[str, str] = field(default_factory=dict[str, str])
    models: list[str] = field(default_factory=list[str])
    command: list[str] = field(default_factory=list[str])


@dataclass(frozen=True)
class Failure:
    """
    What fails, as it did at first.

    fails   whether a module fails in that way; it may be changed
    run     what stands after `RUN: ` in the test
    check   what stands after `CHECK: `
    """

    fails: Fails
    run: str
    check: str


def main(argv: Sequence[str] | None = None) -> int:
    words = list(sys.argv[1:] if argv is None else argv)
    return guarded(TOOL, functools.partial(_main, words))


def _main(words: list[str]) -> int:
    line = parse(words)
    if "help" in line.given:
        print(_help(), end="")
        return OK
    if "version" in line.given:
        from .. import __version__

        print(f"{TOOL} {__version__}")
        return OK
    model = _check(line)
    output = Path(line.given.get("output") or f"{Path(model).with_suffix('')}.reduced.mlir")
    check_writable(output)
    registry = default_registry(functools.partial(warn, TOOL))
    context = registry.context()
    [source] = open_sources(model)
    module = source.read(context)
    verify_input(module, source.name)
    _refuse_what_stays(module, source.name)
    with tempfile.TemporaryDirectory(prefix="gecc-reduce-") as folder:
        if line.command:
            failure = _of_command(line, module, Path(folder))
        else:
            failure = _of_passes(line, module, context, registry)
        _reduce(module, failure, output)
    return OK


def _refuse_what_stays(module: ModuleOp, name: str) -> None:
    """Raises InputError for a module that nothing could be taken from."""
    from ..transforms.memory.arena import arena_of
    from ..transforms.rewriting import functions

    there = list(functions(module))
    if not there:
        raise InputError(f"{name}: has no function")
    if any(arena_of(function) is not None for function in there):
        raise InputError(f"{name}: is on buffers; give what it was made from, with ge-bufferize first in --passes")


def _reduce(module: ModuleOp, failure: Failure, output: Path) -> None:
    from ..driver.instrument import node_count
    from .reducing import Reducer

    with _progress(node_count(module)) as tell:
        reducer = Reducer(module, failure.fails, tell)
        smallest = reducer.run()
    save_module(smallest, output)
    body = output.read_text(encoding="utf-8")
    with replacing(output) as fresh, fresh.open("w", encoding="utf-8") as stream:
        stream.write(f"// RUN: {failure.run}\n// CHECK: {failure.check}\n\n{body}")
    before, after = node_count(module), node_count(smallest)
    print(f"{TOOL}: {output}: {before} -> {after} nodes, {reducer.tried} tries", file=sys.stderr)


# ------------------------------------------------------------------ the failure


def _of_passes(line: Line, module: ModuleOp, context: Context, registry: Registry) -> Failure:
    from ..driver.options import PassRequest, build, flag_of, parse_pipeline
    from ..driver.phases import LEVELS, plan
    from ..driver.pipeline import Pipeline, run

    text, wanted = line.given["passes"], line.given.get("error")
    if text.removeprefix("O") in map(str, LEVELS):
        pipeline: Pipeline = plan(registry, int(text.removeprefix("O")))
        flags = f"-{text if text.startswith('O') else f'O{text}'}"
    else:
        pipeline = [build(p, registry) if isinstance(p, PassRequest) else p for p in parse_pipeline(text)]
        flags = " ".join(flag_of(one) for one in pipeline)

    def error_of(candidate: ModuleOp) -> Exception | None:
        try:
            run(context, candidate, pipeline, verify_each=True)
        except (PassCrash, InputError, UsageError, DiagnosticException) as error:
            return error
        return None

    first = error_of(module.clone())
    if first is None:
        raise UsageError(f"--passes={text}: nothing fails on this model")
    if wanted is not None and wanted not in str(first):
        raise UsageError(f"--error={wanted}: the passes fail otherwise: {one_line(first)[:SHOWN]}")

    def fails(candidate: ModuleOp) -> bool:
        error = error_of(candidate)
        return error is not None and _alike(error, first) and (wanted is None or wanted in str(error))

    return Failure(fails, f"not ge-opt {flags} --verify-each %s 2>&1 | filecheck %s", wanted or _first_words(first))


def _alike(error: Exception, first: Exception) -> bool:
    """Whether two failures are one: the same pass, stopped by the same kind of error."""
    if isinstance(error, PassCrash) and isinstance(first, PassCrash):
        return error.culprit.name == first.culprit.name and type(error.__cause__) is type(first.__cause__)
    return type(error) is type(first)


def _first_words(error: Exception) -> str:
    """What a CHECK line can hold on to: without values that change with the module."""
    if isinstance(error, PassCrash):
        return f"internal error in '{error.culprit.name}'"
    return one_line(error)[:SHOWN].replace("[[", "{{\\[\\[}}")


def _of_command(line: Line, module: ModuleOp, folder: Path) -> Failure:
    wanted = line.given.get("error")
    timeout = float(line.given.get("timeout", "60"))
    candidate_file = folder / ("candidate.onnx" if "onnx" in line.given else "candidate.mlir")

    def outcome(candidate: ModuleOp) -> tuple[int | None, str]:
        try:
            save_module(candidate, candidate_file)
        except InputError:  # what ONNX cannot say
            return 0, ""
        words = [word.replace("{}", str(candidate_file)) for word in line.command]
        if words == line.command:
            words.append(str(candidate_file))
        try:
            run = subprocess.run(words, capture_output=True, text=True, errors="replace", timeout=timeout)
        except subprocess.TimeoutExpired:
            return None, ""
        return run.returncode, run.stdout + run.stderr

    try:
        code, said = outcome(module.clone())
    except OSError as error:
        raise UsageError(f"{line.command[0]}: cannot be run: {error.strerror or error}") from None
    if code == 0:
        raise UsageError(f"{shlex.join(line.command)}: does not fail on this model")
    if wanted is not None and wanted not in said:
        raise UsageError(f"--error={wanted}: the command does not say that")

    def fails(candidate: ModuleOp) -> bool:
        now, text = outcome(candidate)
        return now == code and (wanted is None or wanted in text)

    placed = [word.replace("{}", "%s") for word in line.command]
    typed = shlex.join(placed if placed != line.command else [*placed, "%s"]).replace("'%s'", "%s")
    last = next((text.strip() for text in reversed(said.split("\n")) if text.strip()), "")
    check = wanted or (_without_paths(last, folder) if last else "{{.*}}")
    return Failure(fails, f"not {typed} 2>&1 | filecheck %s", check)


def _without_paths(text: str, folder: Path) -> str:
    """The words up to the first that names the candidate: the test has another name."""
    head = text.partition(str(folder))[0].strip()
    return (head or text)[:SHOWN] if head else "{{.*}}"


# ------------------------------------------------------------------ the command line


def parse(words: Sequence[str]) -> Line:
    """Raises UsageError."""
    line = Line()
    rest = iter(words)
    for word in rest:
        if word == "--":
            line.command.extend(rest)
            break
        if not word.startswith("-"):
            line.models.append(word)
            continue
        name, equals, value = word.lstrip("-").partition("=")
        name = ALIASES.get(name, name)
        if name in SWITCHES:
            if equals:
                raise UsageError(f"--{name} takes no value, got '{value}'")
        elif name not in VALUES:
            raise UsageError(f"no flag '{word.partition('=')[0]}'{did_you_mean(name, (*VALUES, *SWITCHES))}")
        elif not equals:
            value = next(rest, "")
        if name in VALUES and not value:
            raise UsageError(f"--{name} needs a value: {VALUES[name]}")
        line.given[name] = value
    return line


def _check(line: Line) -> str:
    """The model; raises UsageError."""
    if len(line.models) != 1:
        raise UsageError(f"one model is needed{', got ' + ' '.join(line.models) if line.models else ''}")
    if bool(line.command) == ("passes" in line.given):
        raise UsageError("give what fails: either --passes=... or -- COMMAND")
    with contextlib.suppress(ValueError):
        if float(line.given.get("timeout", "60")) > 0:
            return line.models[0]
    raise UsageError(f"--timeout must be a number of seconds, got '{line.given['timeout']}'")


@contextlib.contextmanager
def _progress(nodes: int) -> Generator[Tell]:
    """On a terminal, a bar that fills as nodes go; in a pipe nothing."""
    if not sys.stderr.isatty():
        yield lambda step, module: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    from ..driver.instrument import node_count

    columns = (TextColumn("{task.description:<10}"), BarColumn(), TextColumn("{task.fields[left]} nodes left"))
    with Progress(*columns, TimeElapsedColumn(), console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("reading", total=nodes, left=nodes)

        def tell(step: str, module: ModuleOp) -> None:
            left = node_count(module)
            progress.update(task, description=step, completed=nodes - left, left=left)

        yield tell


def _help() -> str:
    lines = [f"usage: {TOOL} MODEL --passes=PIPELINE [--error=TEXT] [-o FILE.mlir]"]
    lines += [f"       {TOOL} MODEL [--error=TEXT] [-o FILE.mlir] -- COMMAND...", ""]
    lines += [f"  --{name:<10} {text}" for name, text in (VALUES | SWITCHES).items()]
    lines += ["", "COMMAND gets the file's name as its last word, or where {} stands; it fails with an exit code."]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
