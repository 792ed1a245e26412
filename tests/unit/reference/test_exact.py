"""Sums that are exact: the bits do not depend on order or shape, and the numbers are near those of `evaluate`."""

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.test import TestOp as Source

from gecc.dialects.ge import ONNX_OPS
from gecc.dialects.ge.constants import constant
from gecc.dialects.ge.types import element_of, tensor_type
from gecc.reference import evaluate, evaluate_exactly

MODULE = ModuleOp([])
RNG = np.random.default_rng(0)


def floats(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def made(kind, *arrays, **attrs):
    """An op; whole numbers are constants, as axes must be."""
    values = [
        constant(a, MODULE).output
        if a.dtype.kind == "i"
        else Source(result_types=[tensor_type(element_of(a.dtype).type, a.shape)]).results[0]
        for a in arrays
    ]
    return ONNX_OPS["", kind](*values, **attrs)


CASES = [
    ("MatMul", [floats(7, 300), floats(300, 5)], {}),
    ("Gemm", [floats(7, 300), floats(300, 5), floats(5)], {"alpha": 0.3}),
    ("Conv", [floats(1, 20, 9, 9), floats(6, 20, 3, 3), floats(6)], {"pads": (1, 1, 1, 1)}),
    ("ConvTranspose", [floats(1, 20, 5, 5), floats(20, 6, 3, 3)], {"strides": (2, 2)}),
    ("ReduceMean", [floats(7, 300), np.array([1])], {}),
    ("ReduceL2", [floats(7, 300), np.array([1])], {}),
    ("AveragePool", [floats(1, 3, 9, 9)], {"kernel_shape": (3, 3)}),
    ("Softmax", [floats(7, 300)], {}),
    ("LogSoftmax", [floats(7, 300)], {}),
    ("LayerNormalization", [floats(7, 300), floats(300), floats(300)], {}),
    ("InstanceNormalization", [floats(2, 3, 40, 5), floats(3), floats(3)], {}),
    ("GroupNormalization", [floats(2, 4, 40, 5), floats(4), floats(4)], {"num_groups": 2}),
    ("MeanVarianceNormalization", [floats(2, 3, 40, 5)], {}),
    ("LpNormalization", [floats(7, 300)], {}),
]


@pytest.mark.parametrize(("kind", "arrays", "attrs"), CASES, ids=[kind for kind, _, _ in CASES])
def test_it_is_near(kind, arrays, attrs):
    op = made(kind, *arrays, **attrs)
    [exact], [plain] = evaluate_exactly(op, arrays), evaluate(op, arrays)
    assert (exact.dtype, exact.shape) == (plain.dtype, plain.shape)
    np.testing.assert_allclose(exact, plain, rtol=2e-2, atol=2e-2)


ALONG = [
    ("Softmax", {}, []),
    ("LogSoftmax", {}, []),
    ("ReduceSum", {}, [np.array([1])]),
    ("ReduceSumSquare", {}, [np.array([1])]),
]


@pytest.mark.parametrize(("kind", "attrs", "more"), ALONG, ids=[kind for kind, _, _ in ALONG])
def test_summands_may_stand_in_any_order(kind, attrs, more):
    rows, order = floats(50, 1000), RNG.permutation(1000)
    op = made(kind, rows, *more, **attrs)
    [one], [other] = (evaluate_exactly(op, [x, *more]) for x in (rows, rows[:, order]))
    assert (one if more else one[:, order]).tobytes() == other.tobytes()


def test_a_product_may_be_cut_and_its_sums_turned():
    a, b = floats(50, 1000), floats(1000, 30)
    [whole] = evaluate_exactly(made("MatMul", a, b), [a, b])
    order = RNG.permutation(1000)
    part, turned = a[3:10, order], b[order]
    [found] = evaluate_exactly(made("MatMul", part, turned), [part, turned])
    assert found.tobytes() == whole[3:10].tobytes()
