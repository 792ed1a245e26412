"""
What `ge` is to do, out of its command line, the environment and the files that either names.

    a value on the command line            --opt_passes=ConstantFoldingPass:1     first
    a file named on the command line       --config=ge.json
    an environment variable                GE_OPTIMIZATION_PASSES
    a file named by the environment        GE_CONFIG
    the default                                                                   last

Nothing is ignored silently: what means nothing is an error that lists what is allowed, two that contradict each other
from the same place are an error that names both, and what has no effect is a note.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path
from typing import TYPE_CHECKING

from ..dialects.ge.errors import UsageError
from .diagnostics import did_you_mean
from .options import convert, option_types, written
from .phases import DEFAULT_LEVEL, parse_level
from .schemas import CONFIG, L2, MEMORY, read_config

if TYPE_CHECKING:
    from .registry import Registry

FOLD, FUSE, TILE, BUFFERS, REUSE = "constant-folding", "op-fusion", "l2-fusion", "ge-bufferize", "memory-reuse"
PRECISION = "precision"
RESULT_FILE = "fusion_result.json"

VARIABLES = {
    "GE_OPTIMIZATION_PASSES": "passes on and off: ConstantFoldingPass:1,OpFusionPass:0",
    "GE_CONFIG": "a file as --config takes it",
    "GE_FUSION_RULE": "1 conservative (default), 2 aggressive",
    "GE_MEMORY_STRATEGY": "conservative, balanced (default) or aggressive",
    "GE_L2_FUSION": "1 on, 0 off (default)",
}
PRECISION_MODES = (
    "force_fp16",
    "force_fp32",
    "cube_fp16in_fp32out",
    "allow_fp32_to_fp16",
    "allow_fp32_to_bf16",
    "must_keep_origin_dtype",
    "allow_mix_precision",
    "allow_mix_precision_fp16",
    "allow_mix_precision_bf16",
    "fp16",
    "origin",
    "mixed_float16",
    "mixed_bfloat16",
    "cube_hif8",
    "mixed_hif8",
)
KEEP_DTYPE = ("must_keep_origin_dtype", "origin")
TUNE_MODES = ("GA", "RL", "GA,RL", "RL,GA")
TUNE_NUMBERS: Mapping[str, type] = {"tune_seconds": float, "tune_trials": int, "tune_seed": int}
BUFFER_MODES = {"l2_optimize": True, "off_optimize": False, "l1_optimize": False}  # ATC: l1 is the same as off


class Place(IntEnum):
    """Where a word comes from; the smaller one is heard first."""

    LINE = 0
    LINE_FILE = 1
    ENVIRONMENT = 2
    ENVIRONMENT_FILE = 3


@dataclass(frozen=True)
class Settings:
    """
    level     of optimisation, 0 to 3
    switches  passes on and off, by kebab name, over what the level says
    options   of passes, by kebab name, then by option
    sources   what switched each of those passes, for messages
    asides    what was said that is about nothing here
    """

    level: int = DEFAULT_LEVEL
    switches: Mapping[str, bool] = field(default_factory=dict[str, bool])
    options: Mapping[str, Mapping[str, object]] = field(default_factory=dict[str, dict[str, object]])
    sources: Mapping[str, str] = field(default_factory=dict[str, str])
    asides: tuple[str, ...] = ()

    def notes(self, running: Iterable[str]) -> list[str]:
        """What was set and has no effect, most often since its pass is not among `running`."""
        names = set(running)
        return [
            *self.asides,
            *(
                f"{self.sources[name]} has no effect: {name} does not run"
                for name, options in self.options.items()
                if options and name not in names and name in self.sources
            ),
        ]


@dataclass(frozen=True)
class _Word:
    """That a pass is to run or not, and who says so; `meant` where it is a file of options for that very pass."""

    place: Place
    on: bool
    said_by: str
    meant: bool = False


class _Collector:
    def __init__(self, registry: Registry) -> None:
        self.registry = registry
        self.words: dict[str, list[_Word]] = {}
        self.options: dict[str, dict[str, object]] = {}
        self.sources: dict[str, str] = {}
        self.asides: list[str] = []

    def switch(self, name: str, place: Place, on: bool, said_by: str, meant: bool = False) -> None:
        self.words.setdefault(name, []).append(_Word(place, on, said_by, meant))

    def need(self, name: str, what: str) -> None:
        """Raises UsageError unless there is a pass `name`: what is still to come is refused, never skipped."""
        if self.registry.get(name) is None:
            raise UsageError(f"not available in this version: {what}")

    def option(self, name: str, option: str, value: object, said_by: str, *, default: bool = False) -> None:
        """
        Hands `value` to a pass. Where the pass has no such option or value, `default` says that it does that anyway.
        """
        self.need(name, said_by)
        entry = self.registry.require(name)
        kind = option_types(entry.load()).get(option)
        if kind is not None and _takes(kind, value):
            self.options.setdefault(name, {})[option] = value
            self.sources.setdefault(name, said_by)
        elif not default:
            raise UsageError(f"not available in this version: {said_by}")

    def decided(self) -> dict[str, bool]:
        """The first word on each pass; raises UsageError where two from one place contradict each other."""
        switches: dict[str, bool] = {}
        for name, words in self.words.items():
            first = min(words, key=lambda word: word.place)
            # Options for a pass that the same line switches off are a slip, not a precedence.
            slips = [word for word in words if word.meant and first.place is Place.LINE]
            against = [word for word in words if word.on != first.on and word.place == first.place]
            against += [word for word in slips if word.on != first.on]
            if against:
                off, on = (against[0], first) if first.on else (first, against[0])
                raise UsageError(f"{off.said_by} switches {name} off, but {on.said_by} asks for it")
            if self.registry.get(name) is not None:  # what is not there is off already
                switches[name] = first.on
        return switches


def resolve(given: Mapping[str, str], environment: Mapping[str, str], registry: Registry) -> Settings:
    """
    The settings out of the flags that were `given` (names without dashes) and the environment.

    raises  UsageError
    """
    found = _Collector(registry)
    variables = {name: environment[name] for name in VARIABLES if environment.get(name)}
    _passes(found, given, variables)
    _fusion(found, given, variables)
    _memory(found, given, variables)
    _l2(found, given, variables)
    _precision(found, given)
    _tuning(found, given)
    if "soc_version" in given:
        found.option(TILE, "target", target_name(given["soc_version"]), _flag("soc_version", given), default=True)
        if found.options.get(TILE, {}).keys() == {"target"}:
            found.sources.pop(TILE, None)  # ATC users always name their chip: no note when nothing asks for it
    level = parse_level(given["oo_level"]) if "oo_level" in given else DEFAULT_LEVEL
    return Settings(level, found.decided(), found.options, found.sources, tuple(found.asides))


def parse_switches(text: str, said_by: str, registry: Registry) -> dict[str, bool]:
    """`ConstantFoldingPass:1,OpFusionPass:0` by kebab name. Raises UsageError."""
    switches: dict[str, bool] = {}
    for part in filter(None, (part.strip() for part in re.split(r"[,;]", text))):
        name, colon, state = (piece.strip() for piece in part.partition(":"))
        if not colon or state not in _STATES:
            raise UsageError(f"{said_by}: '{part}' is no switch; write {name or 'Pass'}:1 or {name or 'Pass'}:0")
        _note(switches, name, _STATES[state], said_by, registry)
    return switches


def mistyped(environment: Mapping[str, str]) -> list[str]:
    """A warning for each variable that is almost one of ours."""
    near = {name: did_you_mean(name, VARIABLES) for name in environment if name.startswith("GE_")}
    return [f"{name} is not a variable of ge{hint}" for name, hint in near.items() if hint and name not in VARIABLES]


def target_name(text: str) -> str:
    """The chip's name as `targets` has it; raises UsageError with what is allowed."""
    from .. import targets

    try:
        return targets.get(text).name
    except ValueError as error:
        raise UsageError(f"--soc_version: {error}") from None


_STATES = {"1": True, "0": False, "on": True, "off": False}


def _passes(found: _Collector, given: Mapping[str, str], variables: Mapping[str, str]) -> None:
    def switch_all(switches: Mapping[str, bool], place: Place, said_by: str) -> None:
        for name, on in switches.items():
            found.switch(name, place, on, said_by)

    if "opt_passes" in given:
        said_by = _flag("opt_passes", given)
        switch_all(parse_switches(given["opt_passes"], "--opt_passes", found.registry), Place.LINE, said_by)
    if "config" in given:
        said_by = _flag("config", given)
        switch_all(_config(given["config"], said_by, found.registry), Place.LINE_FILE, said_by)
    if name := variables.get("GE_OPTIMIZATION_PASSES"):
        said_by = f"GE_OPTIMIZATION_PASSES={name}"
        switch_all(parse_switches(name, "GE_OPTIMIZATION_PASSES", found.registry), Place.ENVIRONMENT, said_by)
    if path := variables.get("GE_CONFIG"):
        said_by = f"GE_CONFIG={path}"
        switch_all(_config(path, said_by, found.registry), Place.ENVIRONMENT_FILE, said_by)


def _config(path: str, said_by: str, registry: Registry) -> dict[str, bool]:
    content = read_config(path, CONFIG, said_by)
    switches: dict[str, bool] = {}
    for name, state in content["ge"].get("opt_passes", {}).items():
        _note(switches, name, bool(state), path, registry)
    return switches


def _note(switches: dict[str, bool], name: str, on: bool, said_by: str, registry: Registry) -> None:
    entry = registry.find(name)
    if entry is None or entry.hidden:
        raise UsageError(f"{said_by}: no pass '{name}'{registry.near(name)}")
    if switches.get(entry.name, on) != on:
        raise UsageError(f"{said_by}: {entry.name} is switched both on and off")
    switches[entry.name] = on


def _fusion(found: _Collector, given: Mapping[str, str], variables: Mapping[str, str]) -> None:
    if "fusion_rules_file" in given:
        said_by = _flag("fusion_rules_file", given)
        path = Path(given["fusion_rules_file"])
        if not path.is_file():
            raise UsageError(f"{said_by}: no such file")
        found.option(FUSE, "rules_file", str(path), said_by)
        found.switch(FUSE, Place.LINE_FILE, True, said_by, meant=True)
    if "fusion_switch_file" in given:
        _fusion_switches(found, given["fusion_switch_file"], _flag("fusion_switch_file", given))
    if "export_compile_stat" in given:
        said_by = _flag("export_compile_stat", given)
        if _one_of("--export_compile_stat", given["export_compile_stat"], ("0", "1", "2")) != "0":
            found.option(FUSE, "result_file", RESULT_FILE, said_by)
    if rule := variables.get("GE_FUSION_RULE"):
        levels = {"1": "conservative", "2": "aggressive"}
        word = levels[_one_of("GE_FUSION_RULE", rule, levels)]
        found.option(FUSE, "mode", word, f"GE_FUSION_RULE={rule}", default=rule == "1")


def _fusion_switches(found: _Collector, path: str, said_by: str) -> None:
    """GE's switch file: names of rules are op-fusion's, names of passes are passes; its other names we do not have."""
    from ..transforms.fusion.catalogue import CATALOGUE
    from ..transforms.fusion.rules_file import read_rules
    from ..transforms.fusion.switches import ALL, ge_name, read_switches

    if not Path(path).is_file():
        raise UsageError(f"{said_by}: no such file")
    rules_file = found.options.get(FUSE, {}).get("rules_file")
    rules = [*CATALOGUE, *(read_rules(str(rules_file)) if rules_file else ())]
    known = {ALL, *(name for rule in rules for name in (rule.name, ge_name(rule.name)))}
    for name, on in read_switches(path).items():
        entry = found.registry.find(name)
        if entry is not None and not entry.hidden:
            found.switch(entry.name, Place.LINE_FILE, on, said_by)
        elif name not in known:
            found.asides.append(f"{said_by}: {name} has no effect: there is no such pass and no such rule")
    found.option(FUSE, "switch_file", path, said_by)


def _memory(found: _Collector, given: Mapping[str, str], variables: Mapping[str, str]) -> None:
    if "memory_config_file" in given:
        said_by = _flag("memory_config_file", given)
        for key, value in read_config(given["memory_config_file"], MEMORY, said_by).items():
            found.option(REUSE, key, value, f"{given['memory_config_file']}: {key}")
        found.switch(REUSE, Place.LINE_FILE, True, said_by, meant=True)
    if strategy := variables.get("GE_MEMORY_STRATEGY"):
        _one_of("GE_MEMORY_STRATEGY", strategy, ("conservative", "balanced", "aggressive"))
        said_by = f"GE_MEMORY_STRATEGY={strategy}"
        found.option(REUSE, "strategy", strategy, said_by, default=strategy == "balanced")
        for option in ("in_place", "views") if strategy == "conservative" else ():
            found.option(BUFFERS, option, False, said_by)


def _l2(found: _Collector, given: Mapping[str, str], variables: Mapping[str, str]) -> None:
    if "enable_l2_fusion" in given:
        on = _one_of("--enable_l2_fusion", given["enable_l2_fusion"], ("0", "1")) == "1"
        _l2_switch(found, Place.LINE, on, _flag("enable_l2_fusion", given))
    if "buffer_optimize" in given:
        on = BUFFER_MODES[_one_of("--buffer_optimize", given["buffer_optimize"], BUFFER_MODES)]
        _l2_switch(found, Place.LINE, on, _flag("buffer_optimize", given))
    if "l2_fusion_config" in given:
        said_by = _flag("l2_fusion_config", given)
        for key, value in read_config(given["l2_fusion_config"], L2, said_by).items():
            found.option(TILE, key, value, f"{given['l2_fusion_config']}: {key}")
        _l2_switch(found, Place.LINE_FILE, True, said_by, meant=True)
    if state := variables.get("GE_L2_FUSION"):
        on = _one_of("GE_L2_FUSION", state, ("0", "1")) == "1"
        _l2_switch(found, Place.ENVIRONMENT, on, f"GE_L2_FUSION={state}")


def _l2_switch(found: _Collector, place: Place, on: bool, said_by: str, meant: bool = False) -> None:
    if on:
        found.need(TILE, said_by)
    found.switch(TILE, place, on, said_by, meant)


def _precision(found: _Collector, given: Mapping[str, str]) -> None:
    """
    `--op_precision_mode` takes the words of `--precision_mode`, or ATC's .ini file with the modes of single ops. The
    other lists change what a mode does and ask for none.
    """
    modes: dict[str, str] = {}
    listed = False
    for name in ("precision_mode", "precision_mode_v2", "op_precision_mode"):
        if name not in given:
            continue
        text, said_by = given[name], _flag(name, given)
        if name == "op_precision_mode" and (text.endswith(".ini") or Path(text).is_file()):
            if not Path(text).is_file():
                raise UsageError(f"{said_by}: no such file")
            found.option(PRECISION, "ops_file", text, said_by)
            found.switch(PRECISION, Place.LINE_FILE, True, said_by, meant=True)
            listed = True
            continue
        allowed = (*PRECISION_MODES, "the path of an .ini file") if name == "op_precision_mode" else PRECISION_MODES
        modes[said_by] = _one_of(f"--{name}", text, allowed)
    for name, option in (("keep_dtype", "keep_file"), ("modify_mixlist", "mix_file")):
        if name in given:
            if not Path(given[name]).is_file():
                raise UsageError(f"{_flag(name, given)}: no such file")
            found.option(PRECISION, option, given[name], _flag(name, given))
    if len(set(modes.values())) > 1:
        raise UsageError(f"{' and '.join(modes)} contradict each other")
    for said_by, mode in modes.items():
        if mode in KEEP_DTYPE and not listed:  # what happens anyway
            found.switch(PRECISION, Place.LINE, False, said_by)
        else:
            found.option(PRECISION, "mode", mode, said_by)
            found.switch(PRECISION, Place.LINE, True, said_by)


def _tuning(found: _Collector, given: Mapping[str, str]) -> None:
    """`--auto_tune_mode` looks for better L2 groups and writes `--tuning`; without it that file is applied."""
    if "auto_tune_mode" in given:
        said_by = _flag("auto_tune_mode", given)
        mode = _one_of("--auto_tune_mode", given["auto_tune_mode"], TUNE_MODES)
        found.option(TILE, "tune", mode, said_by)
        if "output" in given:
            stem = re.sub(r"\.(onnx|mlir|gex)$", "", given["output"])
            found.option(TILE, "tuning", f"{stem}.tuning.json", said_by)
    elif "tuning" in given:
        _l2_switch(found, Place.LINE_FILE, True, _flag("tuning", given), meant=True)
    for name in ("tuning", "tune_seconds", "tune_trials", "tune_seed"):
        if name not in given:
            continue
        if name != "tuning" and "auto_tune_mode" not in given:
            raise UsageError(f"{_flag(name, given)} is about tuning: add --auto_tune_mode=GA")
        if name in TUNE_NUMBERS:
            try:
                convert(given[name], TUNE_NUMBERS[name])
            except ValueError as error:
                raise UsageError(f"--{name} {error}") from None
        found.option(TILE, name, given[name], _flag(name, given))


def _one_of(what: str, text: str, allowed: Iterable[str]) -> str:
    if text not in (words := list(allowed)):
        raise UsageError(f"{what} must be one of {', '.join(words)}; got '{text}'")
    return text


def _takes(kind: object, value: object) -> bool:
    try:
        convert(written(value), kind)
    except ValueError:
        return False
    return True


def _flag(name: str, given: Mapping[str, str]) -> str:
    return f"--{name}={given[name]}"
