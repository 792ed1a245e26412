"""
Scaled-dot-product attention is one op.

    %s = ge.matmul %q, %kT                      scores; scaled, capped, masked, in up to `MASKS` ops
    %m = ge.add (ge.div %s, 8.0), %mask
    %p = ge.softmax %m                          the op or its arithmetic
    %y = ge.matmul %p, %v

With it go what brings queries, keys and values into place and is read by it alone (heads cut out and moved, scales,
rotary embeddings, keys and values repeated for groups of queries, the cut of a packed projection), and what puts its
result back. Projections, and past keys and values that the graph returns too, stay outside.
"""

from __future__ import annotations

from math import prod
from typing import Any

from xdsl.ir import Operation, SSAValue

from ....dialects.ge.arithmetic import AddOp, DivOp, MaxOp, MinOp, MulOp, SubOp
from ....dialects.ge.comparison import WhereOp
from ....dialects.ge.contraction import MatMulOp
from ....dialects.ge.einsum import EinsumOp
from ....dialects.ge.elementwise import Pointwise
from ....dialects.ge.gather import GatherOp
from ....dialects.ge.interfaces import Movement, View
from ....dialects.ge.math import IsNaNOp
from ....dialects.ge.movement import ReshapeOp
from ....dialects.ge.normalization import LayerNormalizationOp, RMSNormalizationOp
from ....dialects.ge.reduction import ReduceMeanOp
from ....dialects.ge.trigonometry import TanhOp
from ....dialects.ge.types import shape_of
from ..fusion import is_constant
from ..pattern import Found, Pattern, Why, either, many, number, op, value
from ..rules import Rule
from .contraction import same_elements
from .parts import goes_over_last, softmax

MASKS = 6


def _keeps_shape(scores: Pattern) -> Any:
    def where(step: Operation, found: Found) -> Why:
        kept = shape_of(step.results[0].type) == shape_of(found(scores).type)
        return None if kept else "the mask broadcasts the scores"

    return where


def _keeps_rows(reshape: ReshapeOp, found: Found) -> Why:
    del found
    kept = shape_of(reshape.data.type)[-1:] == shape_of(reshape.reshaped.type)[-1:]
    return None if kept else "another shape cuts the rows of the scores"


def _masked(scores: Pattern) -> Pattern:
    """One step on scores: a scale, a mask added or chosen by, a cap, another shape for windows of one mask each."""
    keeps = _keeps_shape(scores)
    return either(
        op((AddOp, MulOp), scores, value(), where=keeps),
        op((DivOp, SubOp), scores, value(), where=keeps),
        op(WhereOp, value(), scores, value(), where=keeps),
        op(WhereOp, value(), value(), scores, where=keeps),
        op((MaxOp, MinOp), scores, value(), where=keeps),
        op(TanhOp, scores),
        op(ReshapeOp, scores, where=_keeps_rows),
    )


def _cleared(weights: Pattern) -> Pattern:
    """What is done to a row that is masked as a whole, or to weights that are dropped; another shape for the batch."""
    keeps = _keeps_shape(weights)
    return either(
        op(ReshapeOp, weights, where=_keeps_rows),
        op(WhereOp, op(IsNaNOp, weights), number(0.0), weights),
        op(WhereOp, value(), number(0.0), weights, where=keeps),
        op(WhereOp, value(), weights, number(0.0), where=keeps),
        op(MulOp, weights, value(), where=keeps),
    )


def attention() -> Pattern:
    scores = op((MatMulOp, EinsumOp), value(), value(), where=_of_two_values)
    weights = softmax(many(_masked, scores, MASKS))
    return op((MatMulOp, EinsumOp), many(_cleared, weights, 2), value(), where=_of_two_values)


def _of_two_values(matmul: Any, found: Found) -> Why:
    del found
    return "one of what is multiplied is a weight" if any(map(is_constant, matmul.operands)) else None


def comes_before(one: Operation, root: Operation) -> bool:
    """
    What brings queries, keys and values into place, normalisations of each head's rows too: no sum with a bias, which
    is the projection's.
    """
    if isinstance(one, Movement | View):
        return not isinstance(one, GatherOp)
    if isinstance(one, LayerNormalizationOp | RMSNormalizationOp | ReduceMeanOp):
        return _of_heads(one, root)
    return isinstance(one, Pointwise) and not (isinstance(one, AddOp) and any(map(_is_bias, one.operands)))


def _is_bias(value: SSAValue) -> bool:
    return is_constant(value) and prod(shape_of(value.type)) != 1


def _of_heads(one: LayerNormalizationOp | RMSNormalizationOp | ReduceMeanOp, root: Operation) -> bool:
    """Whether rows are normalised that are no longer than a head's."""
    if isinstance(one, ReduceMeanOp):
        x, last = one.data, goes_over_last(one)
    else:
        x, last = one.x, one.axis in (-1, len(shape_of(one.x.type)) - 1)
    return last and 0 < shape_of(x.type)[-1] == shape_of(root.results[0].type)[-1]


def comes_after(one: Operation, root: Operation) -> bool:
    """What puts the result back, and an activation of it."""
    if isinstance(one, Movement | View):
        return len(one.results) == 1
    return same_elements(one, root)


RULES = (Rule("attention", (attention(),), "Attention", after=comes_after, before=comes_before),)
