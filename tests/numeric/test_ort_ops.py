"""The operators that ONNX Runtime writes, held to ONNX Runtime: as they are read, and as `decompose` writes them."""

from dataclasses import replace
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import ModelProto, helper
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from gecc.dialects.ge.opaque import OpaqueOp
from gecc.dialects.ge.types import shape_of
from gecc.dialects.ort import ORT_OPS
from gecc.frontend import export_model, import_model, materialise
from gecc.reference import run
from gecc.transforms.simplify.decompose import Decompose

from .ort_cases import CASES, MICROSOFT, Case

ort = pytest.importorskip("onnxruntime")
EXAMPLES = 12
"""Calls of a case's function."""
OPSETS = (13, 16, 21)
"""Before anything of the kind was ONNX's, in between, and after."""

SEEDS = [(name, seed) for name in CASES for seed in range(EXAMPLES)]


def info(name: str, array: Any, free: tuple[int, ...]) -> onnx.ValueInfoProto:
    dims = [f"{name}{k}" if k in free else d for k, d in enumerate(array.shape)]
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), dims)


def model(op_type: str, case: Case, opset: int) -> ModelProto:
    names = ["" if x is None else f"x{k}" for k, x in enumerate(case.inputs)]
    outputs = [f"y{k}" if there else "" for k, there in enumerate(case.outputs)]
    node = helper.make_node(op_type, names, outputs, name="it", domain=case.domain, **case.attrs)
    inputs = [
        info(name, x, case.frees.get(k, ()))
        for k, (name, x) in enumerate(zip(names, case.inputs, strict=True))
        if x is not None
    ]
    graph = helper.make_graph([node], "g", inputs, [onnx.ValueInfoProto(name=name) for name in outputs if name])
    imports = [helper.make_opsetid("", opset), helper.make_opsetid(MICROSOFT, 1)]
    made = helper.make_model(graph, opset_imports=imports, ir_version=8)
    for output, array in zip(made.graph.output, in_ort(made, case), strict=True):
        output.CopyFrom(info(output.name, array, ()))
    return made


def in_ort(proto: ModelProto, case: Case) -> list[Any]:
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])
    feeds = {f"x{k}": x for k, x in enumerate(case.inputs) if x is not None}
    return session.run(None, {i.name: feeds[i.name] for i in session.get_inputs()})


def check(found: list[Any], wanted: list[Any], case: Case) -> None:
    assert len(found) == len(wanted)
    for a, b in zip(found, wanted, strict=True):
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        off = np.abs(a.astype(np.float64) - b.astype(np.float64)).max(initial=0)
        whole = b.dtype.kind in "iu"
        assert off <= (round(case.close) if whole else case.close * max(np.abs(b).max(initial=0), 1)), off


def case_of(name: str, seed: int) -> tuple[Case, int]:
    case = CASES[name](np.random.default_rng(seed))
    return case, case.opset or OPSETS[seed % len(OPSETS)]


def test_every_op_has_a_case() -> None:
    assert {kind for _, kind in ORT_OPS} == set(CASES)


@pytest.mark.parametrize(("name", "seed"), SEEDS)
def test_it_is_read_and_means_what_the_runtime_does(name: str, seed: int) -> None:
    case, opset = case_of(name, seed)
    source = model(name, case, opset)
    module = import_model(source)
    module.verify()
    assert not [op for op in module.walk() if isinstance(op, OpaqueOp)]

    exported = materialise(export_model(module))
    [node], [was] = exported.graph.node, source.graph.node
    assert (node.op_type, node.domain, node.name, node.output) == (was.op_type, was.domain, was.name, was.output)
    check(in_ort(exported, case), in_ort(source, case), replace(case, close=0))
    found = run(module, {f"x{k}": x for k, x in enumerate(case.inputs) if x is not None})
    check(list(found.values()), in_ort(source, case), case)
    for value, array in zip(module.body.block.last_op.body.block.last_op.operands, found.values(), strict=True):
        assert all(d < 0 or d == s for d, s in zip(shape_of(value.type), array.shape, strict=True)), value.type


@pytest.mark.parametrize(("name", "seed"), SEEDS)
def test_decomposed_it_is_ONNXs_own(name: str, seed: int) -> None:
    case, opset = case_of(name, seed)
    source = model(name, case, opset)
    exported = materialise(export_model(without_it(import_model(source))))
    assert not [n.op_type for n in exported.graph.node if n.domain]
    assert [o.domain for o in exported.opset_import] == [""]
    assert [o.name for o in exported.graph.output] == [o.name for o in source.graph.output]
    onnx.checker.check_model(exported, full_check=True)
    check(in_ort(exported, case), in_ort(source, case), case)


# Quantised arithmetic the runtime has in f32 alone.
F32_ALONE = {"DynamicQuantizeMatMul", "MatMulIntegerToFloat", "QGemm", *(n for n in CASES if n.startswith("QLinear"))}
HALVES = sorted(CASES.keys() - F32_ALONE)


@pytest.mark.parametrize("name", HALVES)
def test_halves(name: str) -> None:
    for seed in range(3):
        case, opset = case_of(name, seed)
        inputs = [x.astype(np.float16) if x is not None and x.dtype == np.float32 else x for x in case.inputs]
        case = replace(case, inputs=inputs, close=1e-2)
        source = model(name, case, opset)
        module = import_model(source)
        wanted = in_ort(source, case)
        check(list(run(module, {f"x{k}": x for k, x in enumerate(inputs) if x is not None}).values()), wanted, case)
        check(in_ort(materialise(export_model(without_it(module))), case), wanted, case)


def without_it(module: ModuleOp) -> ModuleOp:
    Decompose().apply(Context(), module)
    module.verify()
    return module
