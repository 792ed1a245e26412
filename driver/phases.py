"""
What -O0 to -O3 run, in which order. A pass says itself from which level on it runs; this file says where.

    simplify   rounds until nothing changes   fold, prune, merge, algebra
    precision  asked for                      before the rules, which may ask for a dtype
    fuse       patterns and rules
    tile       asked for                      groups for the L2 cache
    memory     only for a module that is to stay MLIR: buffers, one arena
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..dialects.ge.errors import UsageError
from .options import PassRequest, build
from .pipeline import Pipeline, Rounds

if TYPE_CHECKING:
    from xdsl.passes import ModulePass

    from .registry import PassEntry, Registry

LEVELS = (0, 1, 2, 3)
DEFAULT_LEVEL = 3


@dataclass(frozen=True)
class Phase:
    """
    Passes that run one after the other, where they are registered and wanted.

    rounds    how often at most: again while a round changed something
    tensors   whether what it leaves is still on tensors and so can be written as ONNX
    """

    name: str
    passes: tuple[str, ...]
    rounds: int = 1
    tensors: bool = True


SIMPLIFY = Phase(
    "simplify",
    (
        "infer-shape",
        "cond-remove",
        "replace-with-empty-const",
        "sequence-to-split",
        "repeated-constant-folding",
        "initial-state-remove",
        "cast-remove",
        "constant-folding",
        "dimension-compute",
        "dimension-adjust",
        "identity",
        "drop-out",
        "add-n",
        "algebraic-simplification",
        "compose-transposes",
        "transpose-propagation",
        "dim1-transpose-to-squeeze",
        "no-use-reshape-remove",
        "cascade-reshape-remove",
        "redundant-slice-remove",
        "slice-forward-fusion",
        "concat-slice-simplification",
        "pad-slice-optimize",
        "gather-forward-fusion",
        "broadcast-reduce-elimination",
        "einsum-to-matmul",
        "constant-regrouping",
        "conv-batchnorm-fusion",
        "conv-scale-fusion",
        "pad-fusion",
        "matmul-bias-add-fusion",
        "gemm-fusion",
        "matmul-scale-fusion",
        "sibling-matmul-fusion",
        "split-sinking",
        "layer-norm-fusion",
        "rms-norm-fusion",
        "activation-fusion",
        "remove-same-const",
        "common-subexpression-elimination",
        "merge-shape-arithmetic",
        "prune",
    ),
    rounds=8,
)
PHASES = (
    Phase("open", ("fold-initializer-inputs", "inline-fusion", "decompose")),
    SIMPLIFY,
    Phase("precision", ("precision",)),
    Phase("fuse", ("op-fusion",)),
    Phase("tile", ("l2-fusion",)),
    Phase("memory", ("ge-bufferize", "memory-reuse"), tensors=False),
)

RULES, RULES_FILE = "op-fusion", "rules_file"
BEFORE_RULES = ("conv-scale-fusion", "matmul-bias-add-fusion", "sibling-matmul-fusion")
"""Passes that take apart what a user's rules may name: by themselves only where there are no such rules."""


def plan(
    registry: Registry,
    level: int = DEFAULT_LEVEL,
    switches: Mapping[str, bool] | None = None,
    options: Mapping[str, Mapping[str, object]] | None = None,
    *,
    memory: bool = False,
) -> Pipeline:
    """
    The passes of -O`level` with some switched on or off: those on tensors, or those of the memory that come after them.

    switches  on or off by name, in any spelling
    options   a pass's options by its name, in any spelling; they do not switch it on
    raises    UsageError: a name, option or value that means nothing
    cost      imports the passes of these phases, and plugins'
    """
    wanted = {registry.require(name).name: on for name, on in (switches or {}).items()}
    values = {registry.require(name).name: given for name, given in (options or {}).items()}

    ruled = values.get(RULES, {}).get(RULES_FILE) is not None

    def runs(entry: PassEntry) -> bool:
        by_itself = entry.level is not None and entry.level <= level and not (ruled and entry.name in BEFORE_RULES)
        return wanted.get(entry.name, by_itself)

    pipeline: list[ModulePass | Rounds] = []
    for phase in PHASES:
        if phase.tensors is memory:
            continue
        entries = [entry for name in _members(phase, registry) if (entry := registry.get(name)) and runs(entry)]
        made = tuple(build(PassRequest(entry.name, values=values.get(entry.name, {})), registry) for entry in entries)
        if phase.rounds > 1 and made:
            pipeline.append(Rounds(phase.name, made, phase.rounds))
        else:
            pipeline.extend(made)
    return tuple(pipeline)


def parse_level(text: str) -> int:
    """`3`, `O3` or `o3`; raises UsageError with what is allowed."""
    digits = text.removeprefix("O").removeprefix("o")
    if digits not in {str(level) for level in LEVELS}:
        raise UsageError(f"no optimisation level '{text}'; it is one of O0, O1, O2, O3")
    return int(digits)


def _members(phase: Phase, registry: Registry) -> Iterator[str]:
    """The names in `phase`; the simplifications end with the passes that no phase names (plugins'), in listed order."""
    yield from phase.passes
    if phase is SIMPLIFY:
        named = {name for each in PHASES for name in each.passes}
        yield from (name for name in registry.names() if name not in named and registry.loads(name))
