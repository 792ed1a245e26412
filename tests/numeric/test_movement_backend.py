"""Movement and shape ops on the onnx package's own cases: the reference gives their outputs, inference their shapes."""

import warnings
from typing import Any

import numpy as np
import pytest
from onnx import numpy_helper

from gecc.dialects.ge import FAMILIES, GeOp, gather, movement, rearrange, resize, shape, slicing
from gecc.frontend import export_model, import_model
from gecc.reference import run

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from onnx.backend.test.case.node import collect_testcases

OURS = (gather, movement, rearrange, resize, shape, slicing)


def cases() -> list[Any]:
    assert set(OURS) <= set(FAMILIES)
    ops = {op for m in OURS for op in vars(m).values() if isinstance(op, type) and issubclass(op, GeOp)}
    types = {op.onnx.type for op in ops if hasattr(op, "onnx")}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = [case for case in collect_testcases() if [n.op_type for n in case.model.graph.node][1:] == []]
    return [pytest.param(case, id=case.name) for case in found if case.model.graph.node[0].op_type in types]


@pytest.mark.parametrize("case", cases())
def test_case(case: Any) -> None:
    inputs, outputs = case.data_sets[0]
    named = {i.name: np.asarray(x) for i, x in zip(case.model.graph.input, inputs, strict=True)}
    module = import_model(case.model)
    assert any(isinstance(op, GeOp) for op in module.walk())
    for found, expected in zip(run(module, named).values(), map(np.asarray, outputs), strict=True):
        assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
        if expected.dtype.kind == "f":
            np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
        else:
            np.testing.assert_array_equal(found, expected)
    assert [n.op_type for n in export_model(module).graph.node] == [n.op_type for n in case.model.graph.node]


@pytest.mark.parametrize("case", cases())
def test_shapes_are_known_once_the_operands_that_say_them_are(case: Any) -> None:
    inputs, outputs = case.data_sets[0]
    model = type(case.model)()
    model.CopyFrom(case.model)
    # All operands but the data, which ConstantOfShape and Range do not have.
    first = 0 if model.graph.node[0].op_type in ("ConstantOfShape", "Range") else 1
    for info, array in list(zip(model.graph.input, inputs, strict=True))[first:]:
        model.graph.initializer.append(numpy_helper.from_array(np.asarray(array), info.name))
        model.graph.input.remove(info)
    op = next(op for op in import_model(model).walk() if isinstance(op, GeOp))
    for info, expected in zip(op.inferred(), outputs, strict=True):
        assert info.dims == np.shape(expected)
