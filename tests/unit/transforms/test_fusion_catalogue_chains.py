"""
What no pattern names: chains, trees and movements are fused too, in bounded time; what is somebody's is left alone.

Every case is run before and after by the reference, bit by bit, and opened again.
"""

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation

from gecc.dialects.ge.bodies import FusionOp
from gecc.dialects.ge.text import module_text
from gecc.transforms.fusion.catalogue.parts import parts_of
from gecc.transforms.fusion.op_fusion import OpFusion
from gecc.transforms.fusion.pattern import product, value
from gecc.transforms.fusion.search import Search

from .fusion_builder import Builder, names_of


def test_chains_and_trees_and_reductions_with_what_is_around_them():
    b = Builder()
    x, y = b.input(2, 3), b.input(2, 3)
    tree = b.Mul(b.Exp(x), b.Sqrt(b.Abs(y)))
    mean = b.Sqrt(b.ReduceMean(b.Mul(x, y), [1]))
    assert names_of(b.done(tree, mean)) == ["ExpAbsSqrtMul", "MulReduceMeanSqrt"]


def test_arithmetic_on_shapes_is_left_alone():
    b = Builder()
    shape = b.Shape(b.input(2, 3))
    assert names_of(b.done(b.Mul(b.Add(shape, np.array([1])), np.array([2])))) == []


def test_a_user_s_fusion_is_left_alone_whatever_its_name():
    b = Builder()
    x = b.input(2, 4)
    module = b.done(b.Relu(b.Exp(x)))
    OpFusion().apply(Context(), module)
    (fusion,) = [op for op in module.walk() if isinstance(op, FusionOp)]
    for name in ("ExpRelu", "FusedDense", "Gelu"):
        fusion.label = StringAttr(name)
        text = module_text(module)
        OpFusion().apply(Context(), module)
        assert module_text(module) == text
        assert "Gelu" not in {part for part, _ in parts_of(list(fusion.body.block.ops)[:-1])}


def test_powers_of_powers_are_looked_at_in_bounded_time():
    b = Builder()
    y = b.input(2, 2)
    for _ in range(100):
        y = b.Mul(y, y)
    module = b.done(b.Mul(b.Sigmoid(y), y))
    OpFusion().apply(Context(), module)
    assert any(isinstance(op, FusionOp) for op in module.walk())


def test_a_product_of_many_numbers_is_looked_at_in_bounded_time():
    """Each number is a factor of its own only up to a bound: a chain of scalings is linear, and not deep."""
    b = Builder()
    y = b.input(2, 2)
    for _ in range(200):
        y = b.Mul(y, 0.5)
    assert isinstance(y.owner, Operation)
    search = Search(b.block)
    assert search.find(product(value(), value(), scale=0.5), y.owner) is None
    assert search.steps < 50


def test_movements_of_one_value_are_one_op_with_several_results_too():
    b = Builder()
    parts = b.Split(b.Transpose(b.input(4, 6), perm=(1, 0)), np.array([2, 4]), axis=0, results=[True] * 2)
    joined = b.Concat(b.input(1, 3), b.Transpose(b.input(3, 2), perm=(1, 0)), axis=0)
    assert names_of(b.done(*parts, joined)) == ["TransposeSplit", "TransposeConcat"]
