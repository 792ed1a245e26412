"""
Graphs of real models, with fewer channels: the same outputs after -O3 by another engine, and on buffers by the
reference. `bench/models.py` does the same with the models at their full size.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from gecc.dialects.ge.bodies import FusionOp
from gecc.driver.numerics import difference
from gecc.driver.phases import plan
from gecc.driver.pipeline import Rounds, run
from gecc.driver.registry import Registry, default_registry
from gecc.frontend import export_model, import_model, materialise
from gecc.reference import make_inputs
from gecc.reference import run as evaluate
from gecc.tools.comparison import compare
from gecc.transforms.fusion.op_fusion import OpFusion
from gecc.transforms.shape.bind import bind_shapes

from .whole_models import names, whole

DIMS = {"batch": 2, "seq": 16}


@pytest.fixture(scope="module", params=names())
def model(request: pytest.FixtureRequest) -> tuple[str, ModelProto]:
    return request.param, whole(request.param)


@pytest.fixture(scope="module")
def registry() -> Registry:
    return default_registry(pytest.fail)


def optimised(module: ModuleOp, registry: Registry, *pipelines: Sequence[ModulePass | Rounds]) -> ModuleOp:
    for pipeline in pipelines:
        run(registry.context(), module, pipeline)
    return module


def bound(proto: ModelProto) -> ModuleOp:
    """The model with numbers for its free dims."""
    module = import_model(proto)
    free = {
        info.name: [d.dim_value or DIMS[d.dim_param] for d in info.type.tensor_type.shape.dim]
        for info in proto.graph.input
    }
    bind_shapes(module, free)
    return module


def onnxruntime(proto: ModelProto, inputs: dict[str, Any]) -> dict[str, np.ndarray]:
    ort = pytest.importorskip("onnxruntime")
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return dict(zip((o.name for o in session.get_outputs()), session.run(None, inputs), strict=True))


def assert_equal(got: dict[str, Any], expected: dict[str, Any]) -> None:
    assert list(got) == list(expected)
    assert [(name, far) for name, far in compare(got, expected) if not far.passes] == []


def test_after_o3_onnx_runtime_gives_the_same(model: tuple[str, ModelProto], registry: Registry):
    _, proto = model
    module = optimised(import_model(proto), registry, plan(registry))
    assert [op for op in module.walk() if op.name == "ge.opaque"] == []
    exported = materialise(export_model(module))
    assert len(exported.graph.node) <= len(proto.graph.node)
    inputs = make_inputs(bound(proto))
    assert_equal(onnxruntime(exported, inputs), onnxruntime(proto, inputs))


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["conservative", "aggressive"])
def test_fusion_alone_changes_no_bit(mode: Any, model: tuple[str, ModelProto], registry: Registry):
    """On the graph as it was exported and after the simplifications: ops move into bodies, no arithmetic changes."""
    _, proto = model
    simplified = optimised(bound(proto), registry, plan(registry, switches={"op-fusion": False}))
    for before in (bound(proto), simplified):
        after = before.clone()
        run(registry.context(), after, [OpFusion(mode=mode)])
        assert any(isinstance(op, FusionOp) for op in after.walk())
        inputs = make_inputs(before)
        assert difference(evaluate(before, inputs), evaluate(after, inputs), regrouped=False) is None


def test_on_buffers_the_reference_gives_the_same(model: tuple[str, ModelProto], registry: Registry):
    _, proto = model
    before = bound(proto)
    inputs = make_inputs(before)
    after = optimised(bound(proto), registry, plan(registry), plan(registry, memory=True))
    assert any(op.name == "ge.launch" for op in after.walk())
    assert not any(op.name == "ge.host" for op in after.walk())
    assert_equal(evaluate(after, inputs), evaluate(before, inputs))
