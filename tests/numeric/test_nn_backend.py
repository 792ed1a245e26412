"""Convolution, pooling, products, normalisation and reductions on the onnx package's own cases."""

import warnings
from typing import Any

import numpy as np
import pytest
from onnx import numpy_helper

from gecc.dialects.ge import (
    GeOp,
    contraction,
    convolution,
    einsum,
    normalization,
    pooling,
    quantized,
    reduction,
    selection,
    softmax,
    transposed_convolution,
)
from gecc.frontend import export_model, import_model
from gecc.reference import run

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from onnx.backend.test.case.node import collect_testcases

OURS = (
    *(contraction, convolution, einsum, normalization, pooling, quantized),
    *(reduction, selection, softmax, transposed_convolution),
)
ROUNDED = {"test_averagepool_2d_ceil_last_window_starts_on_pad"}
"""Cases whose outputs are given with four digits."""

OPAQUE = {"test_batchnorm_epsilon_training_mode", "test_batchnorm_example_training_mode"}


def cases() -> list[Any]:
    ops = {op for m in OURS for op in vars(m).values() if isinstance(op, type) and issubclass(op, GeOp)}
    types = {op.onnx.type for op in ops if hasattr(op, "onnx")}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = [case for case in collect_testcases() if len(case.model.graph.node) == 1]
    return [
        pytest.param(c, id=c.name) for c in found if c.model.graph.node[0].op_type in types and c.name not in OPAQUE
    ]


@pytest.mark.parametrize("case", cases())
def test_case(case: Any) -> None:
    inputs, outputs = case.data_sets[0]
    named = {i.name: np.asarray(x) for i, x in zip(case.model.graph.input, inputs, strict=True)}
    module = import_model(case.model)
    assert any(isinstance(op, GeOp) for op in module.walk())
    for found, expected in zip(run(module, named).values(), map(np.asarray, outputs), strict=True):
        assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
        if expected.dtype.kind == "f":
            few = expected.itemsize == 2 or case.name in ROUNDED
            np.testing.assert_allclose(found, expected, rtol=1e-3 if few else 1e-5, atol=1e-5)
        else:
            np.testing.assert_array_equal(found, expected)
    (back,), (node,) = export_model(module).graph.node, case.model.graph.node
    assert (back.op_type, back.input, back.output) == (node.op_type, node.input, node.output)


@pytest.mark.parametrize("case", cases())
def test_shapes_are_known_once_the_operands_that_say_them_are(case: Any) -> None:
    inputs, outputs = case.data_sets[0]
    model = type(case.model)()
    model.CopyFrom(case.model)
    for info, array in list(zip(model.graph.input, inputs, strict=True))[1:]:
        model.graph.initializer.append(numpy_helper.from_array(np.asarray(array), info.name))
        model.graph.input.remove(info)
    op = next(op for op in import_model(model).walk() if isinstance(op, GeOp))
    for info, expected in zip(op.inferred(), outputs, strict=True):
        assert info.dims == np.shape(expected)
