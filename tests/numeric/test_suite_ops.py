"""Operators whose every case of the onnx package's backend suite is read as an op, typed and computed as it says."""

import warnings
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import onnx
import pytest

from gecc.dialects.ge import ONNX_OPS
from gecc.dialects.ge.composed import expanded
from gecc.dialects.ge.core import GeOp
from gecc.dialects.ge.interfaces import Composed
from gecc.dialects.ge.opaque import OpaqueOp
from gecc.dialects.ge.types import shape_of
from gecc.frontend import import_model
from gecc.reference import evaluate, run

OPERATORS = (
    *("BitCast", "CausalConvWithState", "CenterCropPad", "LinearAttention", "SwiGLU", "TensorScatter"),
    *("BlackmanWindow", "DFT", "HammingWindow", "HannWindow", "MelWeightMatrix", "STFT"),
)
FEATURES = ("ArrayFeatureExtractor", "Binarizer", "LabelEncoder")
"""Of ai.onnx.ml."""
KNOWN = [*(name for name in OPERATORS if onnx.defs.has(name)), *FEATURES]
"""Of these, what the installed onnx has."""


class SuiteCase(NamedTuple):
    name: str
    model: onnx.ModelProto
    inputs: list[Any]
    outputs: list[Any]


@cache
def suite() -> dict[str, list[SuiteCase]]:
    """By operator."""
    from onnx.backend.test.case.node import collect_testcases

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of its own arithmetic
        collected = collect_testcases("")
    found: dict[str, list[SuiteCase]] = {}
    for case in collected:
        if case.model is not None and case.model.graph.node[0].op_type in KNOWN and len(case.model.graph.node) == 1:
            inputs, outputs = case.data_sets[0]
            made = SuiteCase(case.name, case.model, [*map(np.asarray, inputs)], [*map(np.asarray, outputs)])
            found.setdefault(case.model.graph.node[0].op_type, []).append(made)
    return found


@pytest.mark.parametrize("op_type", KNOWN)
def test_every_case_is_what_the_suite_says(op_type: str) -> None:
    assert suite()[op_type]
    for case in suite()[op_type]:
        module = import_model(case.model)
        module.verify()
        assert not [op for op in module.walk() if isinstance(op, OpaqueOp)], case.name
        (op,) = [
            op for op in module.walk() if isinstance(op, ONNX_OPS["ai.onnx.ml" if op_type in FEATURES else "", op_type])
        ]
        feeds = dict(zip([i.name for i in case.model.graph.input], case.inputs, strict=True))
        compare(case, list(run(module, feeds).values()))
        for value, array in zip(op.results, case.outputs, strict=True):
            assert all(d < 0 or d == s for d, s in zip(shape_of(value.type), array.shape, strict=True)), case.name
        if isinstance(op, Composed):
            compare(case, by_parts(op, [feeds[n] for n in case.model.graph.node[0].input if n]))


def by_parts(op: GeOp, operands: list[Any]) -> list[Any]:
    ops, results = expanded(op, op.by_slot())
    env = dict(zip(op.operands, operands, strict=True))
    for inner in ops:
        env.update(zip(inner.results, evaluate(inner, [env[v] for v in inner.operands]), strict=True))
    return [env[value] for value in results]


def compare(case: SuiteCase, found: list[Any]) -> None:
    for a, b in zip(found, case.outputs, strict=True):
        assert (a.shape, a.dtype) == (b.shape, b.dtype), case.name
        if b.dtype.kind in "fV":
            close = 1e-3 if b.dtype.itemsize >= 4 else 2e-2
            np.testing.assert_allclose(a.astype(np.float64), b.astype(np.float64), close, 1e-5, err_msg=case.name)
        else:
            np.testing.assert_array_equal(a, b, case.name)
