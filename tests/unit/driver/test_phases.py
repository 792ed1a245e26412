"""What each -O runs, and in which order."""

from dataclasses import dataclass
from typing import cast

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from gecc.dialects.ge.errors import UsageError
from gecc.driver.phases import PHASES, parse_level, plan
from gecc.driver.pipeline import Pipeline, Rounds, flat
from gecc.driver.plugins import Plugin
from gecc.driver.registry import Registry, default_registry
from gecc.transforms.base import GePass
from gecc.transforms.catalog import ASKED_FOR, get_all_passes

from .conftest import FoldPass, FusePass, PrunePass, TilePass


def names(pipeline: Pipeline) -> list[str]:
    return [one.name for one in flat(pipeline)]


@pytest.mark.parametrize(
    ("level", "running"),
    [
        (0, []),
        (1, ["constant-folding", "prune"]),
        (2, ["constant-folding", "prune", "op-fusion"]),
        (3, ["constant-folding", "prune", "op-fusion"]),
    ],
)
def test_a_level_runs_the_passes_up_to_it(level: int, running: list[str], registry: Registry):
    assert names(plan(registry, level)) == running


def test_simplification_is_repeated_and_fusion_is_not(registry: Registry):
    simplify, fuse = plan(registry)
    assert isinstance(simplify, Rounds)
    assert simplify.limit > 1
    assert fuse == FusePass()


def test_switches_go_over_the_level_in_any_spelling(registry: Registry):
    switches = {"L2FusionPass": True, "DeadCodeEliminationPass": False, "constant-folding": True}
    assert names(plan(registry, 0, switches)) == ["constant-folding", "l2-fusion"]


def test_options_reach_their_pass_and_do_not_switch_it_on(registry: Registry):
    options = {"l2-fusion": {"l2_size": 32}}
    assert flat(plan(registry, 0, {"l2-fusion": True}, options)) == [TilePass(l2_size=32.0)]
    assert plan(registry, 0, {}, options) == ()


def test_rules_of_the_user_see_products_and_biases_as_they_are():
    registry, rules = default_registry(pytest.fail), {"op-fusion": {"rules_file": "rules.json"}}
    assert "matmul-bias-add-fusion" in names(plan(registry))
    assert "matmul-bias-add-fusion" not in names(plan(registry, options=rules))
    assert "matmul-bias-add-fusion" in names(plan(registry, switches={"MatMulBiasAddFusionPass": True}, options=rules))


def test_memory_is_planned_apart(registry: Registry):
    assert names(plan(registry, 0, memory=True)) == ["ge-bufferize"]
    assert names(plan(registry, 1, memory=True)) == ["ge-bufferize", "memory-reuse"]


@dataclass(frozen=True)
class SwishPass(GePass):
    name = "acme-swish"
    level = 2
    summary = "Finds swish."

    def apply(self, ctx: Context, op: ModuleOp) -> None: ...


def test_a_plugin_s_pass_ends_the_simplification():
    ours = {"op-fusion": lambda: FusePass, "prune": lambda: PrunePass, "constant-folding": lambda: FoldPass}
    registry = Registry(ours, [Plugin("acme", {}, {"acme-swish": lambda: SwishPass})])
    assert names(plan(registry)) == ["constant-folding", "prune", "acme-swish", "op-fusion"]


def test_what_is_only_asked_for_is_known_without_loading_it():
    for name, load in get_all_passes().items():
        assert (name in ASKED_FOR) == (cast(type[GePass], load()).level is None), name


def test_each_pass_of_a_level_has_its_place():
    registry = default_registry(lambda text: None)
    placed = {name for phase in PHASES for name in phase.passes}
    ours = [entry for entry in registry.listed if entry.origin == "gecc"]
    assert [entry.name for entry in ours if entry.level is not None and entry.name not in placed] == []


@pytest.mark.parametrize("text", ["3", "O3", "o3"])
def test_levels_read(text: str):
    assert parse_level(text) == 3


@pytest.mark.parametrize("text", ["4", "", "O", "-1", "fast"])
def test_levels_refused(text: str):
    with pytest.raises(UsageError, match=f"no optimisation level '{text}'; it is one of O0, O1, O2, O3"):
        parse_level(text)
