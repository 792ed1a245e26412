"""
ge-run: a model on inputs, its outputs, and how far they are from what they should be.

    ge-run model.onnx --input=x:photo.npy --outputs=out.npz
    ge-run buffers.mlir --compare=ort --with=model.onnx

The model, at any stage, is run by the reference interpreter, op by op: its times say nothing of compiled code. Exit
codes: driver/diagnostics.py; 1 also where a comparison fails.
"""

from __future__ import annotations

import functools
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..dialects.ge.errors import InputError, UsageError
from ..driver.diagnostics import OK, WRONG_INPUT, did_you_mean, guarded, warn
from ..driver.files import Source, check_writable, open_sources, verify_input
from ..driver.registry import default_registry
from ..driver.shapes import parse_one_shape

if TYPE_CHECKING:
    from xdsl.context import Context
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.ir import Operation

TOOL = "ge-run"
ENGINE = "reference interpreter"

VALUES = {
    "input": "NAME:FILE.npy, one input's values; may be given several times",
    "inputs": "FILE.npz with inputs by name",
    "input-shape": "x:1,3,224,224;y:1,77: sizes for free dims of made-up inputs (by default 1), or which gear runs",
    "seed": "of the made-up inputs: a whole number, by default 0",
    "outputs": "FILE.npz to save the outputs to",
    "compare": "reference or ort (ONNX Runtime): who runs the model to compare with",
    "with": "the model to compare with; by default MODEL itself (ort only)",
    "time": "N: run N times more and print seconds",
}
SWITCHES = {
    "exact": "with --compare: no difference is allowed",
    "profile": "seconds by op name",
    "help": "this text",
    "version": "the version",
}
ENGINES = ("reference", "ort")


def main(argv: Sequence[str] | None = None) -> int:
    words = list(sys.argv[1:] if argv is None else argv)
    return guarded(TOOL, functools.partial(_main, words))


@dataclass(frozen=True)
class Line:
    """The command line: values by flag in the order given, switches without one, models."""

    given: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    models: list[str] = field(default_factory=list[str])

    def __contains__(self, name: str) -> bool:
        return name in self.given

    def get(self, name: str) -> str | None:
        return self.given[name][0] if name in self.given else None


def parse(words: Sequence[str]) -> Line:
    """`--flag=value` and `--flag value`, with `_` for `-` too; raises UsageError."""
    line, rest = Line(), iter(words)
    for word in rest:
        if word == "-" or not word.startswith("-"):
            line.models.append(word)
            continue
        typed, equals, value = word.partition("=")
        name = {"-h": "help"}.get(typed, typed.removeprefix("--").replace("_", "-"))
        if name in SWITCHES:
            if equals:
                raise UsageError(f"--{name} takes no value, got '{value}'")
        elif name not in VALUES or not typed.startswith("--"):
            raise UsageError(f"no flag '{typed}'{did_you_mean(name, (*VALUES, *SWITCHES))}")
        elif not equals:
            value = next(rest, "")
        if name in VALUES and (not value or value.startswith("--")):
            raise UsageError(f"--{name} needs a value: {VALUES[name]}")
        values = line.given.setdefault(name, [])
        if values and name != "input" and values != [value]:
            raise UsageError(f"--{name} is given twice: {values[0]} and {value}")
        values.append(value)
    return line


@dataclass(frozen=True)
class _Model:
    source: Source
    module: ModuleOp

    @property
    def on_buffers(self) -> bool:
        from xdsl.dialects.builtin import MemRefType

        return any(isinstance(argument.type, MemRefType) for argument in _arguments(self.module))


def _main(words: list[str]) -> int:
    line = parse(words)
    if "help" in line:
        print(_help(), end="")
        return OK
    if "version" in line:
        from .. import __version__

        print(f"{TOOL} {__version__}")
        return OK
    _check(line)
    context = default_registry(functools.partial(warn, TOOL)).context()
    arrays = _given_arrays(line)
    shapes = parse_one_shape(line.get("input-shape") or "")
    model = _read(line.models[0], context, shapes, arrays)
    other = _other(line, model, context, shapes, arrays)
    inputs = _inputs(line, model, arrays)
    outputs = _run(line, model, inputs)
    for text in _table([(name, _described(value)) for name, value in outputs.items()]):
        print(text)
    if (path := line.get("outputs")) is not None:
        from .arrays import write_npz

        write_npz(outputs, path)
    return OK if other is None else _compare(line, outputs, other, inputs)


def _check(line: Line) -> None:
    """Raises UsageError for flags that contradict each other or mean nothing, and OSError before work is lost."""
    if len(line.models) != 1:
        given = f", got {' '.join(line.models)}" if line.models else "; - is stdin"
        raise UsageError(f"one model is needed{given}")
    for name in ("with", "exact"):
        if name in line and "compare" not in line:
            raise UsageError(f"--{name} says how to compare: give --compare=reference or --compare=ort too")
    engine = line.get("compare")
    if engine is not None and engine not in ENGINES:
        raise UsageError(f"--compare must be one of {', '.join(ENGINES)}; got '{engine}'")
    if engine == "reference" and "with" not in line:
        raise UsageError("--compare=reference needs --with=MODEL: the reference runs the model itself anyway")
    for name, least in (("seed", 0), ("time", 1)):
        text = line.get(name)
        if text is not None and (not text.isdecimal() or int(text) < least):
            raise UsageError(f"--{name} must be a whole number from {least} on, got '{text}'")
    if (path := line.get("outputs")) is not None:
        check_writable(path)


# ------------------------------------------------------------------ models and inputs


def _read(path: str, context: Context, shapes: dict[str, tuple[int, ...]], arrays: dict[str, Any]) -> _Model:
    [source] = open_sources(None if path == "-" else path)
    module = source.read(context)
    verify_input(module, source.name)
    shapes = _in_one_gear(module, shapes, arrays)
    model = _Model(source, module)
    if not model.on_buffers:
        _bind(model, shapes, arrays)
    elif shapes:
        raise UsageError("--input-shape: a module on buffers has no free dims")
    return model


def _in_one_gear(
    module: ModuleOp, shapes: dict[str, tuple[int, ...]], arrays: dict[str, Any]
) -> dict[str, tuple[int, ...]]:
    """Of a model in gears only the one stays that the shapes and the arrays fit; returns the shapes yet to be given."""
    from ..dialects.ge.gears import gears
    from ..transforms.shape.gears import keep_fitting

    if not gears(module):
        return shapes
    keep_fitting(module, shapes, {name: array.shape for name, array in arrays.items()})
    return {}


def _bind(model: _Model, shapes: dict[str, tuple[int, ...]], arrays: dict[str, Any]) -> None:
    """Free dims get the sizes that were named, and those that given values have: what is made up must fit them."""
    from ..dialects.ge.types import shape_of
    from ..transforms.shape.bind import bind_shapes

    if shapes:
        bind_shapes(model.module, shapes)
    types = _types(model.module)
    fitting = {
        name: array.shape
        for name, array in arrays.items()
        if name in types and len(shape_of(types[name])) == array.ndim
    }
    if fitting:
        try:
            bind_shapes(model.module, fitting)
        except UsageError as error:
            raise InputError(str(error)) from None


def _arguments(module: ModuleOp) -> Sequence[Any]:
    from xdsl.dialects.func import FuncOp

    function = next((op for op in module.body.block.ops if isinstance(op, FuncOp)), None)
    if function is None or function.body.blocks.first is None:
        raise InputError("the module has no function with a body")
    return function.body.block.args


def _types(module: ModuleOp) -> dict[str, Any]:
    """Types of the inputs that are tensors or buffers, by ONNX name."""
    from xdsl.dialects.builtin import MemRefType, TensorType

    from ..dialects.ge.errors import text_of
    from ..reference.interpreter import said_of

    types: dict[str, Any] = {}
    for k, argument in enumerate(_arguments(module)):
        said = said_of(argument.owner.parent_op(), k)
        if not said.keys() & {"ge.arena", "ge.result"} and isinstance(argument.type, TensorType | MemRefType):
            types[text_of(said.get("onnx.name")) or f"input_{k}"] = argument.type
    return types


def _given_arrays(line: Line) -> dict[str, Any]:
    from .arrays import read_npy, read_npz

    arrays: dict[str, Any] = read_npz(line.given["inputs"][0]) if "inputs" in line else {}
    for text in line.given.get("input", ()):
        # A name may hold colons (serving:0): the last one separates, as in --input-shape.
        name, colon, path = text.rpartition(":")
        if not colon or not name or not path:
            raise UsageError(f"--input={text}: write NAME:FILE.npy")
        arrays[name] = read_npy(path)
    return arrays


def _inputs(line: Line, model: _Model, arrays: dict[str, Any]) -> dict[str, Any]:
    """Given values, and made-up ones for the rest."""
    from ..dialects.ge.types import element_of, is_element
    from ..reference import make_inputs

    types = _types(model.module)
    unknown = [name for name in arrays if name not in types]
    if unknown:
        hint = did_you_mean(unknown[0], types) or f"; its inputs are {', '.join(types)}"
        raise UsageError(f"the model has no input '{unknown[0]}'{hint}")
    for name, array in arrays.items():
        element = types[name].element_type
        if array.dtype.kind == "V" and is_element(element) and element_of(element).dtype.itemsize == array.itemsize:
            arrays[name] = array.view(element_of(element).dtype)  # .npy has no name for bfloat16 and its like
    made = make_inputs(model.module, int(line.get("seed") or 0))
    fresh = {name: value for name, value in made.items() if name not in arrays}
    for name, value in fresh.items():
        print(f"{TOOL}: input {name} is made up: {value.dtype}{list(value.shape)}", file=sys.stderr)
    return fresh | arrays


def _other(
    line: Line, model: _Model, context: Context, shapes: dict[str, tuple[int, ...]], arrays: dict[str, Any]
) -> _Model | None:
    """The model to compare with, None where there is nothing to compare."""
    if "compare" not in line:
        return None
    path = line.get("with")
    if path is not None:
        model = _read(path, context, shapes, arrays)
    if line.get("compare") == "ort" and model.on_buffers:
        raise UsageError("a module on buffers cannot be run by ONNX Runtime: name the model it was with --with=MODEL")
    return model


# ------------------------------------------------------------------ running


def _run(line: Line, model: _Model, inputs: dict[str, Any]) -> dict[str, Any]:
    from ..reference import run

    profile = _Profile() if "profile" in line else None
    outputs = run(model.module, inputs, profile)
    if profile is not None:
        print(f"seconds by op, {ENGINE}")
        for text in profile.lines():
            print(text)
    if (count := line.get("time")) is not None:
        seconds: list[float] = []
        for _ in range(int(count)):
            start = time.perf_counter()
            run(model.module, inputs)
            seconds.append(time.perf_counter() - start)
        low, middle = min(seconds), statistics.median(seconds)
        print(f"{ENGINE}, {count} runs: least {low:.4f} s, median {middle:.4f} s, most {max(seconds):.4f} s")
    return outputs


class _Profile:
    """Seconds by op name. An op with a body counts what is left when the ops in it are counted."""

    def __init__(self) -> None:
        self._seconds: dict[str, float] = {}
        self._runs: dict[str, int] = {}
        self._last = time.perf_counter()

    def __call__(self, op: Operation, results: Sequence[Any]) -> None:
        now = time.perf_counter()
        name = op.op_type.data if op.name == "ge.opaque" else op.name
        self._seconds[name] = self._seconds.get(name, 0.0) + now - self._last
        self._runs[name] = self._runs.get(name, 0) + 1
        self._last = time.perf_counter()

    def lines(self) -> Iterator[str]:
        total = sum(self._seconds.values()) or 1.0
        for name, seconds in sorted(self._seconds.items(), key=lambda item: -item[1]):
            yield f"{seconds:10.4f} s {seconds / total:6.1%} {self._runs[name]:7}  {name}"


def _compare(line: Line, outputs: dict[str, Any], other: _Model, inputs: dict[str, Any]) -> int:
    from .comparison import compare
    from .peer import run_onnxruntime

    if line.get("compare") == "ort":
        expected, who = run_onnxruntime(other.source, other.module, inputs), "ONNX Runtime"
    else:
        from ..reference import run

        wanted = _types(other.module)
        expected, who = run(other.module, {name: v for name, v in inputs.items() if name in wanted}), "the reference"
    print(f"compared with {who} on {other.source.name}")
    passed, rows = True, list[tuple[str, str]]()
    for name, far in compare(outputs, expected, "exact" in line):
        passed = passed and far.passes
        measured = f"max |a-b| {far.absolute:.3g}  max |a-b| / max |b| {far.relative:.3g}  allowed: {far.allowed}"
        rows.append((name, f"{far.problem or measured}  {'PASS' if far.passes else 'FAIL'}"))
    for text in _table(rows):
        print(text)
    print("PASS" if passed else "FAIL")
    return OK if passed else WRONG_INPUT


# ------------------------------------------------------------------ text


def _described(value: Any) -> str:
    from .arrays import described

    return described(value)


def _table(rows: Sequence[tuple[str, str]]) -> Iterator[str]:
    width = max((len(name) for name, _ in rows), default=0)
    for name, text in rows:
        yield f"{name:<{width}}  {text}"


def _help() -> str:
    lines = [f"usage: {TOOL} MODEL [--flag=value]...      (.onnx, or .mlir at any stage; - is stdin)", ""]
    lines += [f"  --{name:<12} {text}" for name, text in (VALUES | SWITCHES).items()]
    lines += ["", f"MODEL is run by the {ENGINE}. Inputs that are not given are made up."]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
