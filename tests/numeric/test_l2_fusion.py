"""
L2 fusion on random graphs: groups at random, which the model would never choose, cut and run in loops, give what the
graph gives op by op.
"""

from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp

from gecc.dialects.ge.text import module_text, parse_module
from gecc.driver.poison import PoisonedArena
from gecc.driver.registry import default_registry
from gecc.reference import evaluate_exactly, make_inputs, run
from gecc.tools.comparison import same_bits
from gecc.transforms.l2.at_random import AnyGroups
from gecc.transforms.memory.ge_bufferize import GeBufferize
from gecc.transforms.memory.memory_reuse import MemoryReuse

from .graphs import programs
from .memory_graphs import modules
from .net_graphs import images, sequences

CONTEXT = default_registry(lambda text: None).context()


def check(module: ModuleOp, seed: int) -> None:
    inputs = make_inputs(module)
    want = run(module, inputs, meaning=evaluate_exactly)
    grouped = module.clone()
    AnyGroups(seed=seed).apply(CONTEXT, grouped)
    grouped.verify()
    for one in (GeBufferize(), MemoryReuse()):
        one.apply(CONTEXT, grouped)
        grouped = parse_module(CONTEXT, module_text(grouped), "test.mlir")
    got = run(grouped, inputs, arena=PoisonedArena(grouped), meaning=evaluate_exactly)
    for name, array in want.items():
        assert same_bits(got[name], array), name


@settings(deadline=None, max_examples=30)
@given(programs(), st.integers(0, 1 << 16))
def test_random_graphs(module: ModuleOp, seed: int):
    check(module, seed)


@settings(deadline=None, max_examples=30)
@given(modules(), st.integers(0, 1 << 16))
def test_random_graphs_of_joins_and_views(module: ModuleOp, seed: int):
    check(module, seed)


@settings(deadline=None, max_examples=60)
@given(images(), st.integers(0, 1 << 16))
def test_random_networks_on_images(module: ModuleOp, seed: int):
    check(module, seed)


@settings(deadline=None, max_examples=30)
@given(sequences(), st.integers(0, 1 << 16))
def test_random_networks_on_sequences(module: ModuleOp, seed: int):
    check(module, seed)
