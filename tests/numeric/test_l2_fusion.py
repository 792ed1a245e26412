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
from gecc.driver.poison import PoisonedArena
from gecc.driver.registry import default_registry
from gecc.planning import Group
from gecc.planning.runs import Run, Way
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
        plan, k = [], 0
        while k < len(task.piece.ops):
            run = Run(task.piece, k)
            group = task.singles[k]
            while run.end < len(task.piece.ops) and run.grow():
                ways = [way for way in run.ways if run.slices(way) > 1]
                if run.end - k > 1 and ways:
                    group = self.group(run, self.random.choice(ways))
                if self.random.random() < 0.2:
                    break
            plan.append(group)
            k = group.end
        return plan

    def group(self, run: Run, way: Way) -> Group:
        group = run.group(way, self.random.randrange(1, run.slices(way)))
        return group if way.of_samples else group._replace(lines=self.random.random() < 0.5)

    def end(self) -> None:
        pass


@dataclass(frozen=True)
class AnyGroups(L2Fusion):
    """Whatever its planner says, whoever judges it."""

    seed: int = 0

    def _planner(self) -> AnyPlan:
        return AnyPlan(Random(self.seed))

    def _keep_judged(self, function, formed, without, machine):
        return list(formed), self._judged_in_blocks(function, machine)


def check(module: ModuleOp, seed: int) -> None:
    inputs = {k: np.round(2 * x) if x.dtype.kind == "f" else x for k, x in make_inputs(module).items()}
    want = run(module, inputs)
    grouped = module.clone()
    AnyGroups(seed=seed).apply(CONTEXT, grouped)
    grouped.verify()
    for one in (GeBufferize(), MemoryReuse()):
        one.apply(CONTEXT, grouped)
        grouped = parse_module(CONTEXT, module_text(grouped), "test.mlir")
    got = run(grouped, inputs, arena=PoisonedArena(grouped))
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
