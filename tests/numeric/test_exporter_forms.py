"""What exporters write, at every opset, through -O3: recognised, and the same values."""

from collections.abc import Callable

import pytest
from xdsl.dialects.func import FuncOp

from gecc.dialects.ge.bodies import FusionOp
from gecc.driver.numerics import difference
from gecc.driver.phases import plan
from gecc.driver.pipeline import run
from gecc.driver.registry import Registry, default_registry
from gecc.frontend import import_model
from gecc.reference import make_inputs
from gecc.reference import run as evaluate

from .exporter_forms import FORMS, Writer


@pytest.fixture(scope="module")
def registry() -> Registry:
    return default_registry(pytest.fail)


@pytest.mark.parametrize("opset", [9, 11, 13, 17, 18, 20, 23])
@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__)
def test_it_is_recognised(form: Callable[[Writer], str], opset: int, registry: Registry):
    writer = Writer(opset, nodes=opset % 2 == 0, swap=opset in (11, 18, 23))
    model = writer.model(form(writer))
    before, after = import_model(model), import_model(model)
    inputs = make_inputs(before)
    run(registry.context(), after, plan(registry))

    assert difference(evaluate(before, inputs), evaluate(after, inputs)) is None
    function = next(op for op in after.walk() if isinstance(op, FuncOp))
    kernels = [op.label.data if isinstance(op, FusionOp) else _plain(op.name) for op in function.body.block.ops]
    assert any(FORMS[form].lower() in kernel.lower() for kernel in kernels), kernels


def _plain(name: str) -> str:
    return name.removeprefix("ge.").replace("_", "")
