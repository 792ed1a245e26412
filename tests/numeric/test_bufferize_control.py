"""Bodies of conditionals and loops on buffers compute what they do on tensors, for every way through them."""

from itertools import product
from typing import Any

import numpy as np
import pytest

from gecc.dialects.ge.text import module_text
from gecc.reference import make_inputs, run
from gecc.transforms.memory.ge_bufferize import GeBufferize
from gecc.transforms.memory.memory_reuse import MemoryReuse

from .control_cases import CASES
from .poisoned import NothingInPlace, assert_same
from .test_bufferize import CONTEXT, PASSES, check_plan, parse

WAYS: dict[str, list[Any]] = {"m": [0, 1, 3], "c": [False, True]}


@pytest.mark.parametrize("case", CASES)
def test_each_way_through(case: str):
    module = parse(CASES[case])
    module.verify()
    made = make_inputs(module)
    named = [name for name in WAYS if name in made]
    for number, passes in enumerate(PASSES):
        bufferized = module.clone()
        for one in passes:
            one.apply(CONTEXT, bufferized)
            bufferized.verify()
        if number == len(PASSES) - 1:
            bufferized = parse(module_text(bufferized))
        check_plan(bufferized)
        for seed, way in enumerate(product(*(WAYS[name] for name in named))):
            inputs = make_inputs(module, seed=seed)
            inputs.update({n: np.full_like(inputs[n], value) for n, value in zip(named, way, strict=True)})
            for name, want in run(module, inputs).items():
                got = run(bufferized, inputs)[name]
                assert np.asarray(got).tobytes() == np.asarray(want).tobytes(), (name, way)


@pytest.mark.parametrize("case", sorted(set(CASES) - {"on_the_host_inside"}))
def test_no_body_is_left_on_tensors(case: str):
    module = parse(CASES[case])
    for one in (GeBufferize(), MemoryReuse()):
        one.apply(CONTEXT, module)
    assert not {"ge.if", "ge.loop", "ge.scan"} & {op.name for op in module.walk()}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize(
    "passes",
    [
        pytest.param([GeBufferize(in_place=False, views=False)], id="never put in place"),
        pytest.param([GeBufferize(), MemoryReuse(strategy="conservative")], id="taken apart again"),
    ],
)
def test_conservative_holds_in_bodies(case: str, passes: list[Any]):
    module = parse(CASES[case])
    inputs = make_inputs(module)
    expected = run(module, inputs)
    for one in passes:
        one.apply(CONTEXT, module)
    module.verify()
    check_plan(module)
    assert_same(run(module, inputs, arena=NothingInPlace()), expected)
