"""
Models in f16: what another engine and the reference make of them, within the accuracy policy of 2e-2. The reference
computes in f16 op by op; ONNX Runtime has few such kernels on a CPU, and casts around the rest.
"""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from onnx import ModelProto, TensorProto
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f16

from gecc.driver.numerics import HALF_TOLERANCE
from gecc.driver.phases import plan
from gecc.driver.pipeline import run
from gecc.driver.registry import Registry, default_registry
from gecc.frontend import export_model, import_model, materialise
from gecc.reference import make_inputs
from gecc.reference import run as evaluate
from gecc.transforms.precision.precision import Precision

from .graphs import programs
from .whole_models import names, whole

DIMS = {"batch": 2, "seq": 16}
ON_THE_REFERENCE = ("bert-dyn", "mobilenetv3", "vit")


@pytest.fixture(scope="module")
def registry() -> Registry:
    return default_registry(pytest.fail)


def lowered(proto: ModelProto, mode: str, registry: Registry) -> ModuleOp:
    module = import_model(proto)
    run(registry.context(), module, plan(registry, switches={"precision": True}, options={"precision": {"mode": mode}}))
    return module


def inputs_of(proto: ModelProto) -> dict[str, Any]:
    bound = ModelProto()
    bound.CopyFrom(proto)
    for info in bound.graph.input:
        for dim in info.type.tensor_type.shape.dim:
            if dim.dim_param:
                dim.dim_value = DIMS[dim.dim_param]
    inputs = make_inputs(import_model(bound))
    if "attention_mask" in inputs:
        inputs["attention_mask"][:, 0] = 1  # a row that is masked throughout means nothing, in f16 as in f32
    return inputs


def onnxruntime(proto: ModelProto, inputs: dict[str, Any]) -> list[np.ndarray]:
    ort = pytest.importorskip("onnxruntime")
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, inputs)


def far(expected: Any, got: Any) -> float:
    """Largest |a - b| / max |a|."""
    assert (expected.dtype, expected.shape) == (got.dtype, got.shape)
    return float(np.abs(expected - got).max() / np.abs(expected).max())


@pytest.mark.parametrize("mode", ["force_fp16", "allow_mix_precision", "allow_fp32_to_fp16"])
@pytest.mark.parametrize("name", names())
def test_onnx_runtime_runs_it_and_it_is_near(name: str, mode: str, registry: Registry):
    proto = whole(name)
    made = materialise(export_model(lowered(proto, mode, registry)))
    inputs = inputs_of(proto)
    for a, b in zip(onnxruntime(proto, inputs), onnxruntime(made, inputs), strict=True):
        assert far(a, b) <= HALF_TOLERANCE

    quantised = any(node.op_type == "QuantizeLinear" for node in proto.graph.node)
    weights = [t for t in made.graph.initializer if len(t.dims) > 1 and t.data_type == TensorProto.FLOAT16]
    assert bool(weights) != quantised


@pytest.mark.parametrize("mode", ["force_fp16", "allow_mix_precision"])
@pytest.mark.parametrize("name", ON_THE_REFERENCE)
def test_in_f16_throughout_it_is_near(name: str, mode: str, registry: Registry):
    proto = whole(name)
    inputs = inputs_of(proto)
    expected = evaluate(import_model(proto), inputs)
    got = evaluate(lowered(proto, mode, registry), inputs)
    assert max(far(a, b) for a, b in zip(expected.values(), got.values(), strict=True)) <= HALF_TOLERANCE


@pytest.mark.parametrize("mode", ["force_fp16", "allow_mix_precision", "allow_fp32_to_fp16", "force_fp32"])
@given(module=programs())
@settings(max_examples=25)
def test_random_programs(mode: Any, module: ModuleOp):
    inputs = make_inputs(module)
    before = {name: value.dtype for name, value in evaluate(module, inputs).items()}
    Precision(mode=mode).apply(Context(), module)
    module.verify()
    after = evaluate(import_model(materialise(export_model(module))), inputs)
    assert {name: value.dtype for name, value in after.items()} == before

    casts = [(op.operands[0], op.results[0].type) for op in module.walk() if op.name == "ge.cast"]
    ours = [cast for cast in casts if f16 in (cast[0].type.element_type, cast[1].element_type)]  # pyright: ignore
    assert len(ours) == len(set(ours)), "a value is cast twice"

    text = str(module)
    Precision(mode=mode).apply(Context(), module)
    assert str(module) == text
