"""
Random graphs, 2,000 in all: the referee finds nothing in the plan, and the module computes in an arena that forgets
what it does on tensors, twice with other inputs. test_bufferize.py has the cases by hand.
"""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp

from gecc.driver.phases import plan
from gecc.driver.pipeline import run as run_passes
from gecc.driver.registry import default_registry
from gecc.reference import make_inputs, run
from gecc.transforms.memory.ge_bufferize import GeBufferize
from gecc.transforms.memory.memory_order import MemoryOrder
from gecc.transforms.memory.memory_reuse import MemoryReuse

from .graphs import programs
from .memory_graphs import modules
from .poisoned import CONTEXT, NothingInPlace, check_in_one_arena

PIPELINES: list[list[Any]] = [
    [GeBufferize()],
    [GeBufferize(), MemoryOrder()],
    [GeBufferize(in_place=False), MemoryReuse()],
    [GeBufferize(in_place=False, views=False), MemoryReuse()],
    *([GeBufferize(), MemoryReuse(strategy=name)] for name in ("conservative", "balanced", "aggressive")),
    *([GeBufferize(), MemoryReuse(algorithm=name)] for name in ("ge-binary-block", "ge-max-block", "search")),
    [GeBufferize(), MemoryReuse(max_reuse_ratio=0.6, alignment=32)],
    [GeBufferize(), MemoryReuse(reuse_policy="size"), MemoryReuse()],
]
REGISTRY = default_registry(lambda text: None)
pipelines = st.sampled_from(PIPELINES)


def check(module: ModuleOp, passes: list[Any]) -> None:
    module.verify()
    inputs = [make_inputs(module, seed) for seed in (0, 1)]
    bufferized = check_in_one_arena(module, inputs, passes)
    if not passes[0].in_place or getattr(passes[-1], "strategy", None) == "conservative":
        run(bufferized, inputs[0], arena=NothingInPlace())


@given(modules(), pipelines)
@settings(max_examples=500)
def test_graphs(module: ModuleOp, passes: list[Any]):
    check(module, passes)


@given(modules(most=30), pipelines)
@settings(max_examples=300)
def test_long_graphs(module: ModuleOp, passes: list[Any]):
    check(module, passes)


@given(modules(control=True), pipelines)
@settings(max_examples=600)
def test_branches_and_loops(module: ModuleOp, passes: list[Any]):
    check(module, passes)


@given(st.one_of(programs(steps=14), modules(control=True)), pipelines)
@settings(max_examples=200)
def test_what_passes_made_of_them(module: ModuleOp, passes: list[Any]):
    """Fusions, above all."""
    run_passes(CONTEXT, module, plan(REGISTRY))
    check(module, passes)


@given(programs(steps=14), pipelines)
@settings(max_examples=400)
def test_programs_of_many_ops(module: ModuleOp, passes: list[Any]):
    check(module, passes)
