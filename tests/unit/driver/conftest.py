"""Stand-in passes: what the driver does with passes must not depend on what ours do."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from gecc.driver.registry import Registry
from gecc.transforms.base import GePass


@dataclass(frozen=True)
class FoldPass(GePass):
    name = "constant-folding"
    ge_name = "ConstantFoldingPass"
    level = 1
    summary = "Computes what is constant."

    def apply(self, ctx: Context, op: ModuleOp) -> None: ...


@dataclass(frozen=True)
class PrunePass(GePass):
    name = "prune"
    ge_name = "PrunePass"
    aliases = ("DeadCodeEliminationPass",)
    level = 1
    summary = "Drops what nothing needs."

    def apply(self, ctx: Context, op: ModuleOp) -> None: ...


@dataclass(frozen=True)
class FusePass(GePass):
    name = "op-fusion"
    ge_name = "OpFusionPass"
    level = 2
    summary = "Makes several ops one."
    rules_file: str | None = None
    mode: Literal["conservative"] = "conservative"

    def apply(self, ctx: Context, op: ModuleOp) -> None: ...


@dataclass(frozen=True)
class TilePass(GePass):
    name = "l2-fusion"
    ge_name = "L2FusionPass"
    level = None
    summary = "Groups what meets in the cache."
    l2_size: float | None = None
    fusion_threshold: float = 0.0
    blacklist: tuple[str, ...] = ()
    target: str = "brief-910b"
    tune: Literal["GA"] | None = None
    tune_trials: int | None = None
    tuning: str | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None: ...


@dataclass(frozen=True)
class BufferPass(GePass):
    name = "ge-bufferize"
    ge_name = "BufferizePass"
    level = 0
    summary = "Tensors become buffers."
    in_place: bool = True
    views: bool = True

    def apply(self, ctx: Context, op: ModuleOp) -> None: ...


@dataclass(frozen=True)
class ReusePass(GePass):
    name = "memory-reuse"
    ge_name = "MemoryReusePass"
    level = 1
    summary = "Buffers share memory."
    reuse_policy: Literal["lifetime", "size"] = "lifetime"
    alignment: int = 64
    max_reuse_ratio: float = 1.0
    strategy: Literal["conservative", "balanced"] = "balanced"

    def apply(self, ctx: Context, op: ModuleOp) -> None: ...


@dataclass(frozen=True)
class PrecisionPass(GePass):
    name = "precision"
    ge_name = "PrecisionPass"
    level = None
    summary = "Makes floats narrower."
    mode: str = "keep"

    def apply(self, ctx: Context, op: ModuleOp) -> None: ...


PASSES: tuple[type[ModulePass], ...] = (FoldPass, PrunePass, FusePass, TilePass, BufferPass, ReusePass)


def registry_of(*passes: type[ModulePass]) -> Registry:
    loaders: dict[str, Callable[[], type[ModulePass]]] = {one.name: lambda one=one: one for one in passes}
    return Registry(loaders)


@pytest.fixture
def registry() -> Registry:
    return registry_of(*PASSES)


@pytest.fixture
def registry_with_precision() -> Registry:
    return registry_of(*PASSES, PrecisionPass)
