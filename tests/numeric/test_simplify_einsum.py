"""Equations as the ops that they are: the same numbers, and no more ops than a product and a transpose."""

import numpy as np
import pytest
from onnx import TensorProto, helper
from xdsl.context import Context

from gecc.frontend import import_model
from gecc.reference import run
from gecc.transforms.simplify.einsum_to_matmul import EinsumToMatMul

SIZES = {"a": 2, "b": 3, "i": 4, "j": 5, "k": 6, "d": 7}
CASES = {
    "abik,abkj->abij": ["matmul"],
    "abik,abjk->abij": ["transpose", "matmul"],
    "abki,abkj->abij": ["transpose", "matmul"],
    "abkj,abik->abij": ["matmul"],
    "ik,kj->ij": ["matmul"],
    "abik,kj->abij": ["matmul"],
    "abk,k->ab": ["matmul"],
    "k,k->": ["matmul"],
    "k,ki->i": ["matmul"],
    "ij,ij->ij": ["mul"],
    "abij,ij->abij": ["mul"],
    "abi->iab": ["transpose"],
    "abi->ab": ["reduce_sum"],
    "abi->": ["reduce_sum"],
    "abi -> abi": [],
    # Left: two axes summed, two transposes, an outer product, a diagonal, a sum of one operand alone, a result in
    # another order, none given.
    "akd,kdj->aj": ["einsum"],
    "aki,ajk->aij": ["einsum"],
    "i,j->ij": ["einsum"],
    "ii->i": ["einsum"],
    "aik,kj->ij": ["einsum"],
    "ik,kj->ji": ["einsum"],
    "ik,kj": ["einsum"],
    "...ik,kj->...ij": ["einsum"],
}


@pytest.mark.parametrize("equation", CASES)
def test_equations(equation: str):
    random = np.random.default_rng(0)
    terms = equation.replace(" ", "").split("->")[0].split(",")
    shapes = [[SIZES[letter] for letter in term.replace("...", "")] for term in terms]
    inputs = {f"x{k}": random.standard_normal(shape).astype(np.float32) for k, shape in enumerate(shapes)}
    graph = helper.make_graph(
        [helper.make_node("Einsum", list(inputs), ["y"], equation=equation)],
        "g",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, x.shape) for name, x in inputs.items()],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
    )
    module = import_model(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8))
    before = run(module, inputs)["y"]
    EinsumToMatMul().apply(Context(), module)
    module.verify()
    after = run(module, inputs)["y"]

    ops = [op.name.removeprefix("ge.") for op in module.walk() if op.name.startswith("ge.")]
    assert [name for name in ops if name != "constant"] == CASES[equation]
    np.testing.assert_allclose(after, before, rtol=1e-5, atol=1e-5)
