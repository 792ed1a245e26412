"""
ge: the converter, with the flags that ATC users type.

    ge --model=m.onnx --framework=5 --output=m --opt_passes=ConstantFoldingPass:1

Writes m.onnx. What switches what, and which word comes first: driver/settings.py. A summary of what was gained goes to
stderr, progress to a terminal only.
"""

from __future__ import annotations

import functools
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from xdsl.utils.exceptions import DiagnosticException

from ..dialects.ge.errors import InputError, UsageError
from ..driver.diagnostics import OK, did_you_mean, guarded, one_line, warn
from ..driver.gears import FLAGS as DYNAMIC
from ..driver.gears import Shapes, dynamic_gears
from ..driver.registry import Registry, default_registry
from ..driver.settings import FUSE, TILE, VARIABLES, Settings, mistyped, resolve

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from ..driver.pipeline import Pipeline, Watcher

TOOL = "ge"

FLAGS = {
    "model": "the .onnx file to convert (also .mlir)",
    "framework": "5, ONNX: the only one",
    "output": "what to write: m is m.onnx; a suffix .onnx or .mlir chooses",
    "input_shape": "sizes for free dims: x:1,3,224,224;y:1,77 (-1 stays free; 1|2|4 or 1..4: gears in one arena)",
    **DYNAMIC,
    "input_format": "NCHW, NCDHW or ND: what ONNX has anyway",
    "opset": "of the ONNX model; by default the source's",
    "soc_version": "the chip that l2-fusion plans for",
    "oo_level": "O0, O1, O2 or O3 (default); also -O2",
    "opt_passes": "passes on and off: ConstantFoldingPass:1,OpFusionPass:0",
    "config": 'a file with {"ge": {"opt_passes": {"ConstantFoldingPass": 1}}}',
    "fusion_rules_file": 'a file with {"rules": [{"pattern": [...], "replacement": "...", "condition": "..."}]}',
    "fusion_switch_file": 'rules and passes on and off: {"Switch": {"GraphFusion": {"ALL": "off"}}}, or lines Name:off',
    "export_compile_stat": "1 or 2: fusion_result.json says how often each fusion rule matched; 0 not (default)",
    "memory_config_file": 'a file with {"reuse_policy": "lifetime", "alignment": 32, "max_reuse_ratio": 0.8}',
    "enable_l2_fusion": "1 on, 0 off (default)",
    "l2_fusion_config": 'a file with {"l2_size": 32, "fusion_threshold": 0.8, "blacklist": [...]}; switches it on',
    "buffer_optimize": "l2_optimize (on), off_optimize or l1_optimize (off)",
    "op_precision_mode": "force_fp16 and the like, or the path of ATC's .ini",
    "precision_mode": "force_fp16 and the like",
    "precision_mode_v2": "the same under ATC's newer names: fp16, origin, mixed_float16",
    "keep_dtype": "a file with what stays as it is: a node's name or OpType::Softmax a line",
    "modify_mixlist": 'for mixed precision: {"black-list": {"to-add": ["Softmax"], "to-remove": []}, "white-list": {}}',
    "precision_report": "a .csv to write: each layer's error against the model as it was, by the reference",
    "precision_keep": "auto,atol=1e-2,rtol=1e-2,trials=16,file=keep.ini: keeps as many of the worst as that takes",
    "precision_inputs": "FILE.npz, the inputs by name that these two try",
    "auto_tune_mode": "GA: looks for better L2 groups, by a genetic search (RL is still to come)",
    "tuning": "the file that tuning writes (m.tuning.json; trials in m.tuning.journal); else one to apply",
    "tune_seconds": "how long; 60 where neither this nor --tune_trials is given",
    "tune_trials": "how many plans, over all runs that go on from the same file",
    "tune_seed": "of the search; 0",
}
SWITCHES = {"list_passes": "the passes, a line each", "help": "this text", "version": "the version"}
ALIASES = {"O": "oo_level", "h": "help"}
FORMATS = ("NCHW", "NCDHW", "ND")
ONNX_FRAMEWORK = "5"
TUNING = ("auto_tune_mode", "tuning")
AT_EACH_SHAPE = {"precision": False, "inline-fusion": True}
"""Over the switches, where passes that ran on free dims run again on known sizes: dtypes are as they are to be; what
was fused is looked at anew, since more of it may fold now."""


def main(argv: Sequence[str] | None = None) -> int:
    words = list(sys.argv[1:] if argv is None else argv)
    return guarded(TOOL, functools.partial(_main, words, os.environ))


def _main(words: list[str], environment: Mapping[str, str]) -> int:
    given = parse(words)
    if "help" in given:
        print(_help(), end="")
        return OK
    if "version" in given:
        from .. import __version__

        print(f"{TOOL} {__version__}")
        return OK
    registry = default_registry(functools.partial(warn, TOOL))
    if "list_passes" in given:
        for text in _pass_lines(registry):
            print(text)
        return OK

    for text in mistyped(environment):
        warn(TOOL, text)
    _check(given)
    settings = resolve(given, environment, registry)
    _convert(given, settings, registry)
    return OK


def parse(words: Sequence[str]) -> dict[str, str]:
    """
    `--flag=value` and `--flag value` by name; dashes inside a name are underscores.

    raises  UsageError
    """
    given: dict[str, str] = {}
    rest = iter(words)
    for word in rest:
        if word.startswith("-O") and word != "-O":
            word = f"-O={word[2:].removeprefix('=')}"
        name, equals, value = word.lstrip("-").partition("=")
        name = name.replace("-", "_")
        name = ALIASES.get(name, name)
        if not word.startswith("-"):
            raise UsageError(f"'{word}' belongs to no flag; the model is given as --model={word}")
        if name in SWITCHES:
            if equals:
                raise UsageError(f"--{name} takes no value, got '{value}'")
        elif name not in FLAGS:
            raise UsageError(f"no flag '{word.partition('=')[0]}'{did_you_mean(name, (*FLAGS, *SWITCHES))}")
        elif not equals:
            value = next(rest, "")
        if name in FLAGS and (not value or value.startswith("--")):
            raise UsageError(f"--{name} needs a value: {FLAGS[name]}")
        if given.get(name, value) != value:
            raise UsageError(f"--{name} is given twice: {given[name]} and {value}")
        given[name] = value
    return given


def output_path(text: str) -> Path:
    """`m` is m.onnx; raises UsageError for the forms that cannot be written."""
    path = Path(text)
    if path.suffix in (".onnx", ".mlir"):
        return path
    if path.suffix == ".gex":
        raise UsageError(f"not available in this version: --output={text} (a compiled model); write .onnx or .mlir")
    if path.suffix in (".om", ".air"):
        raise UsageError(f"--output={text}: {path.suffix} is Huawei's; this writes .onnx or .mlir")
    if text.endswith(("/", os.sep)) or path.is_dir():
        raise UsageError(f"--output={text} is a folder; name a file in it")
    return Path(f"{text}.onnx")


def _check(given: Mapping[str, str]) -> None:
    for name in ("model", "output"):
        if name not in given:
            raise UsageError(f"--{name} is missing: {FLAGS[name]}")
    if given.get("framework", ONNX_FRAMEWORK) != ONNX_FRAMEWORK:
        raise UsageError(f"--framework={given['framework']}: only 5 (ONNX) can be read")
    if given.get("input_format", "NCHW") not in FORMATS:
        raise UsageError(f"--input_format must be one of {', '.join(FORMATS)}; got '{given['input_format']}'")
    if not given.get("opset", "1").isdecimal():
        raise UsageError(f"--opset must be a whole number, got '{given['opset']}'")


def _convert(given: Mapping[str, str], settings: Settings, registry: Registry) -> None:
    from ..driver.files import check_writable, open_sources, save_module, verify_input
    from ..driver.instrument import Ledger, Progress, run_or_tell
    from ..driver.phases import plan
    from ..driver.pipeline import flat
    from ..driver.shapes import fixed, parse_input_shapes
    from ..transforms.memory.free_dims import refuse_free_dims
    from ..transforms.rewriting import functions
    from .precision import study_of
    from .status import status
    from .summary import Summary

    target = output_path(given["output"])
    shapes = parse_input_shapes(given.get("input_shape", ""))
    study = study_of(given)
    tensors = plan(registry, settings.level, settings.switches, settings.options)
    # The passes that plan memory bring dialects of their own: they are loaded when they have something to do.
    memory = functools.cache(lambda: plan(registry, settings.level, settings.switches, settings.options, memory=True))
    if settings.options:
        for text in settings.notes(one.name for one in (*flat(tensors), *flat(memory()))):
            warn(TOOL, text)
    check_writable(target)
    [source] = open_sources(given["model"])
    context = registry.context()

    def read() -> ModuleOp:
        module = source.read(context)
        verify_input(module, source.name)
        if shapes:
            from ..transforms.shape.bind import bind_shapes

            bind_shapes(module, fixed(shapes))
        return module

    with status() as show:
        start = time.perf_counter()
        show("reading")
        module = read()
        gears = _gears(given, module, shapes)
        if gears:  # tiles are planned at each shape
            tensors = plan(registry, settings.level, {**settings.switches, TILE: False}, settings.options)
        summary = Summary(source.name, str(target), module)
        ledger = Ledger(nodes=True)
        watchers: list[Watcher] = [ledger, Progress(show)]

        def optimise(module: ModuleOp, pipeline: Pipeline, read: Callable[[], ModuleOp]) -> None:
            run_or_tell(context, module, pipeline, read, watchers)

        if study is None:
            optimise(module, tensors, read)
        else:
            summary.said.extend(study.run(module, tensors, optimise, show))
        summary.optimised(module)

        shaped = module
        if gears:
            from ..transforms.shape.gears import in_gears

            shaped = in_gears(module, gears)
            options = {name: dict(values) for name, values in settings.options.items()}
            options.get(FUSE, {}).pop("result_file", None)  # it tells of the model as it is written
            again = plan(registry, settings.level, {**settings.switches, **AT_EACH_SHAPE}, options)
            at_shapes = Ledger(nodes=True)
            run_or_tell(context, shaped, again, lambda: in_gears(module, gears), [at_shapes, *watchers[1:]])
            ledger.rows.update((name, row) for name, row in at_shapes.rows.items() if name == TILE)
        try:
            for function in functions(shaped):
                refuse_free_dims(function)
            buffers = shaped.clone()
            run_or_tell(context, buffers, memory(), shaped.clone, watchers)
            summary.planned(buffers)
        except (InputError, DiagnosticException) as error:
            buffers = shaped
            summary.not_planned(one_line(error))

        show("writing")
        opset = int(given["opset"]) if "opset" in given else None
        save_module(buffers if target.suffix == ".mlir" else module, target, opset=opset)
        seconds = time.perf_counter() - start
    for text in summary.lines(ledger, registry, seconds):
        print(text, file=sys.stderr)


def _gears(given: Mapping[str, str], module: ModuleOp, shapes: Shapes) -> list[dict[str, tuple[int, ...]]]:
    """The shapes that the model is planned for, where it is more than one; raises UsageError."""
    from ..transforms.shape.gears import combinations

    gears = dynamic_gears(given, shapes)
    if not gears and len(gears := combinations(module, shapes)) == 1:
        return []
    for name in TUNING:
        if name in given:
            raise UsageError(f"--{name} is about one shape, and {len(gears)} are given")
    return gears


def _pass_lines(registry: Registry) -> Iterator[str]:
    """`Name: description`, aliases on lines of their own; read with ^(\\w+):\\s*(.*)$ ."""
    for entry in registry.listed:
        yield f"{entry.ge_name}: {entry.summary}"
        for alias in entry.aliases:
            yield f"{alias}: another name of {entry.ge_name}. {entry.summary}"


def _help() -> str:
    lines = ["usage: ge --model=m.onnx --framework=5 --output=m [--flag=value]...", ""]
    lines += [f"  --{name:<20} {text}" for name, text in (FLAGS | SWITCHES).items()]
    lines += ["", "environment (a value on the command line comes first, then a file that it names):"]
    lines += [f"  {name:<22} {text}" for name, text in VARIABLES.items()]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
