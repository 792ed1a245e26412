"""
A convolution or a product, with what is computed from its result element by element.

    convolution   [Pad] Conv, ConvTranspose, ConvInteger ... + biases, scales, activations of any kind, a residual
    product       MatMul, Gemm, Einsum + biases, activations, a residual, and a normalisation of its rows

What comes after has as many elements as the result, in this or another shape or order; a normalisation of a product or
a softmax goes along the last axis, of which a product makes whole rows. Of several products that are added, the last
one takes the sum.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.ir import Operation, SSAValue

from ....dialects.ge.elementwise import Pointwise
from ....dialects.ge.interfaces import Contraction, View
from ....dialects.ge.movement import TransposeOp
from ....dialects.ge.normalization import LayerNormalizationOp, RMSNormalizationOp
from ....dialects.ge.padding import PadOp
from ....dialects.ge.reduction import ReduceMeanOp
from ....dialects.ge.softmax import LogSoftmaxOp, SoftmaxOp
from ....dialects.ge.types import is_tensor, shape_of
from ....dialects.ge.window import Windowed
from ...report import missed
from ..pattern import Found, Pattern, Why, op
from ..rules import Rule
from .parts import Nearly, goes_over_last, is_elementwise, label

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
    return is_elementwise(one) and shape_of(one.results[0].type) == shape_of(root.results[0].type)


def same_elements(one: Operation, root: Operation) -> bool:
    """`same_shape`, or in another shape or order: what is between two reshapes around a product, or transposes."""
    if same_shape(one, root):
        return True
    moves = isinstance(one, View | TransposeOp)
    return (moves or is_elementwise(one)) and follows(one, root, (View, TransposeOp))


def follows(one: Operation, root: Operation, moves: tuple[type, ...]) -> bool:
    """
    Whether an op gives as many elements as `root` does, told by what is between the two: movements of these classes,
    and elementwise ops that broadcast nothing of it.
    """
    todo, looked = [one], 0
    while todo and looked < BETWEEN:
        at, looked = todo.pop(0), looked + 1
        if at is root:
            return True
        if isinstance(at, moves):
            before = [at.operands[0]]
        elif is_elementwise(at):
            before = [v for v in at.operands if is_tensor(v.type) and shape_of(v.type) == shape_of(at.results[0].type)]
        else:
            continue
        todo.extend(value.owner for value in before if isinstance(value.owner, Operation))
    return False


def on_rows(one: Operation, root: Operation) -> bool:
    """`same_elements`, or a piece of a normalisation of the last axis, or a softmax along it."""
    if same_elements(one, root):
        return True
    if isinstance(one, LayerNormalizationOp | RMSNormalizationOp):
        return one.axis % len(shape_of(one.x.type)) == len(shape_of(one.x.type)) - 1 and _is_row(one.x, root)
    if isinstance(one, SoftmaxOp | LogSoftmaxOp):
        return one.axis % len(shape_of(one.input.type)) == len(shape_of(one.input.type)) - 1 and _is_row(
            one.input, root
        )
    if isinstance(one, ReduceMeanOp):
        return goes_over_last(one) and len(one.reduced_axes()) == 1 and _is_row(one.data, root)
    return isinstance(one, Pointwise) and _is_one_a_row(one, root)


def _is_row(value: SSAValue, root: Operation) -> bool:
    """Whether the last axis of a value is that of the root's result, in full, and fits one kernel."""
    row = shape_of(root.results[0].type)[-1:]
    rows = isinstance(value.owner, Operation) and shape_of(value.type)[-1:] == row and 0 < row[0] <= ROW
    return rows and isinstance(value.owner, Operation) and follows(value.owner, root, (View,))


def _is_one_a_row(one: Operation, root: Operation) -> bool:
    """Whether an op computes one element for each row of the root's result."""
    shape, wanted = shape_of(one.results[0].type), shape_of(root.results[0].type)
    if shape[-1:] != (1,) or not 0 < wanted[-1] <= ROW:
        return False
    known = min(shape) > 0 and min(wanted) > 0 and math.prod(shape) * wanted[-1] == math.prod(wanted)
    return known or shape[:-1] == wanted[:-1]


def pads(one: Operation, root: Operation) -> bool:
    del root
    return isinstance(one, PadOp) and one.mode == "constant"


def told(ops: Sequence[Operation]) -> str:
    """`label`, with a remark on what most of the ops nearly are: no other rule looks at them any more."""
    near: list[Nearly] = []
    found = label(ops, near)
    if near:
        name, miss = max(near, key=lambda one: one[1].ops)
        missed(miss.at, f"is no {name}: {miss.why}")
    return found


RULES = (
    Rule("convolution", (convolution(),), told, after=same_elements, before=pads),
    Rule("product", (product(),), told, after=on_rows),
)
