"""
L2 fusion on random graphs: groups at random, which the model would never choose, cut and run in loops, give what the
graph gives op by op.
"""

from dataclasses import dataclass
from random import Random

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp

from gecc.dialects.ge.text import module_text, parse_module
from gecc.driver.registry import default_registry
from gecc.planning import Group
from gecc.planning.rows import can_be_cut
from gecc.reference import make_inputs, run
from gecc.transforms.l2.l2_fusion import L2Fusion
from gecc.transforms.l2.tune import Task
from gecc.transforms.memory.ge_bufferize import GeBufferize
from gecc.transforms.memory.memory_reuse import MemoryReuse

from .graphs import programs
from .memory_graphs import modules

CONTEXT = default_registry(lambda text: None).context()


@dataclass
class AnyPlan:
    """Groups at random of ops that can be cut."""

    random: Random

    def plan(self, task: Task, search) -> list[Group]:
        del search
        piece, plan, k = task.piece, [], 0
        while k < len(piece.ops):
            end = k + 1
            while end < len(piece.ops) and self.random.random() < 0.8 and self.fits(task, k, end + 1):
                end += 1
            extent = piece.extent(end - 1)
            plan.append(task.singles[k] if end - k == 1 or extent < 2 else self.group(k, end, extent))
            k = plan[-1].end
        return plan

    def fits(self, task: Task, begin: int, end: int) -> bool:
        ops = task.piece.ops[begin:end]
        return all(op.tileable for op in ops) and can_be_cut(task.piece, begin, end)

    def group(self, begin: int, end: int, extent: int) -> Group:
        return Group(begin, end, self.random.randrange(1, extent), self.random.random() < 0.5)

    def end(self) -> None:
        pass


@dataclass(frozen=True)
class AnyGroups(L2Fusion):
    """Whatever its planner says, whoever judges it."""

    seed: int = 0

    def _planner(self) -> AnyPlan:
        return AnyPlan(Random(self.seed))

    def _keep_judged(self, function, formed, without, machine):
        return [fusion for _, fusion in formed], without


def check(module: ModuleOp, seed: int) -> None:
    inputs = {k: np.round(2 * x) if x.dtype.kind == "f" else x for k, x in make_inputs(module).items()}
    want = run(module, inputs)
    grouped = module.clone()
    AnyGroups(seed=seed).apply(CONTEXT, grouped)
    grouped.verify()
    for one in (GeBufferize(), MemoryReuse()):
        one.apply(CONTEXT, grouped)
        grouped = parse_module(CONTEXT, module_text(grouped), "test.mlir")
    got = run(grouped, inputs)
    for name, array in want.items():
        np.testing.assert_allclose(got[name], array, rtol=1e-5, atol=1e-6)


@settings(deadline=None, max_examples=50)
@given(programs(), st.integers(0, 1 << 16))
def test_random_graphs(module: ModuleOp, seed: int):
    check(module, seed)


@settings(deadline=None, max_examples=50)
@given(modules(), st.integers(0, 1 << 16))
def test_random_graphs_of_joins_and_views(module: ModuleOp, seed: int):
    check(module, seed)
