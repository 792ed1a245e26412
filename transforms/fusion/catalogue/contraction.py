"""
A convolution or a product, with what is computed from its result element by element.

    convolution   [Pad] Conv, ConvTranspose, ConvInteger ... + biases, scales, activations of any kind, a residual
    product       MatMul, Gemm, Einsum + biases, activations, a residual, and a normalisation of its rows

What comes after has the result's shape, or one of as many rows; a normalisation goes over the last axis, of which a
product makes whole rows. Of several products that are added, the last one takes the sum.
"""

from __future__ import annotations

import math

from xdsl.ir import Operation

from ....dialects.ge.elementwise import Pointwise
from ....dialects.ge.interfaces import Contraction, View
from ....dialects.ge.normalization import LayerNormalizationOp, RMSNormalizationOp
from ....dialects.ge.reduction import ReduceMeanOp
from ....dialects.ge.slicing import PadOp
from ....dialects.ge.types import is_tensor, shape_of
from ....dialects.ge.window import Windowed
from ..pattern import Found, Pattern, Why, op
from ..rules import Rule
from .parts import goes_over_last, label

ROW = 16384
"""Elements of a row that one kernel normalises."""
BETWEEN = 16
"""Ops that are looked at to tell how many elements a value has where its dims are free."""


def convolution() -> Pattern:
    return op(Contraction, where=_is_convolution)


def product() -> Pattern:
    return op(Contraction, where=_is_product)


def _is_convolution(contraction: Operation, found: Found) -> Why:
    del found
    return None if isinstance(contraction, Windowed) else "it is no convolution"


def _is_product(contraction: Operation, found: Found) -> Why:
    del found
    return "it is a convolution" if isinstance(contraction, Windowed) else None


def same_shape(one: Operation, root: Operation) -> bool:
    """Whether an op computes each element of a result of the root's shape from one place of each operand."""
    return isinstance(one, Pointwise) and shape_of(one.results[0].type) == shape_of(root.results[0].type)


def same_rows(one: Operation, root: Operation) -> bool:
    """`same_shape`, where rows may be counted otherwise: what is between two reshapes around a product of matrices."""
    if same_shape(one, root):
        return True
    if not isinstance(one, Pointwise | View) or not is_tensor(root.results[0].type):
        return False
    shape, wanted = shape_of(one.results[0].type), shape_of(root.results[0].type)
    return _as_many(shape, wanted) or (0 < shape[-1] == wanted[-1] and follows(one, root))


def _as_many(shape: tuple[int, ...], wanted: tuple[int, ...]) -> bool:
    """Whether two shapes are the same, or known to have as many rows of the same length."""
    if shape == wanted:
        return True
    return min(shape, default=0) > 0 and math.prod(shape) == math.prod(wanted) and shape[-1:] == wanted[-1:]


def follows(one: Operation, root: Operation) -> bool:
    """
    Whether an op gives as many elements as `root` does, told by what is between the two: views, and elementwise ops
    that broadcast nothing of it.
    """
    todo = [one]
    for _ in range(BETWEEN):
        if not todo:
            break
        at = todo.pop()
        if at is root:
            return True
        if isinstance(at, View):
            before = [at.operands[0]]
        elif isinstance(at, Pointwise):
            before = [v for v in at.operands if is_tensor(v.type) and shape_of(v.type) == shape_of(at.results[0].type)]
        else:
            continue
        todo.extend(value.owner for value in before if isinstance(value.owner, Operation))
    return False


def on_rows(one: Operation, root: Operation) -> bool:
    """`same_rows`, or a piece of a normalisation of the last axis."""
    shape = shape_of(root.results[0].type)
    if same_rows(one, root):
        return True
    if not shape or not 0 < shape[-1] <= ROW:
        return False
    if isinstance(one, LayerNormalizationOp | RMSNormalizationOp):
        given = shape_of(one.x.type)
        return _as_many(given, shape) and one.axis % len(given) == len(given) - 1
    if isinstance(one, ReduceMeanOp):
        given = shape_of(one.data.type)
        return goes_over_last(one) and _as_many(given, shape) and shape_of(one.reduced.type) == (*given[:-1], 1)
    row = shape_of(one.results[0].type)
    return isinstance(one, Pointwise) and row[-1:] == (1,) and _as_many((*row[:-1], shape[-1]), shape)


def pads(one: Operation, root: Operation) -> bool:
    del root
    return isinstance(one, PadOp) and one.mode == "constant"


RULES = (
    Rule("convolution", (convolution(),), label, after=same_shape, before=pads),
    Rule("product", (product(),), label, after=on_rows),
)
