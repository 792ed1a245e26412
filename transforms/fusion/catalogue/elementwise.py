"""
What no other family takes: reductions with what comes before and after them, chains and trees of elementwise ops.

    reduction     [elementwise ...] ReduceMean, ReduceSum, GlobalAveragePool ... [elementwise ...], and back to what was
                  reduced: normalisations of any kind, with several reductions along the same axes
    elementwise   one or more elementwise ops on floats, and what moves their operands or results about and is read by
                  them alone: cuts, joins, transposes
    movement      several of these

Arithmetic on shapes is none: its results are whole numbers.
"""

from __future__ import annotations

import math

from xdsl.ir import Operation

from ....dialects.ge.elementwise import Pointwise
from ....dialects.ge.interfaces import Movement, Reduction, View
from ....dialects.ge.movement import TransposeOp
from ....dialects.ge.normalization import BatchNormalizationOp
from ....dialects.ge.padding import PadOp
from ....dialects.ge.slicing import ConcatOp, ExpandOp, SliceOp, SplitOp, TileOp
from ....dialects.ge.types import shape_of
from ...operands import has_floats
from ..pattern import Found, Pattern, Why, op
from ..rules import Rule
from .contraction import ROW
from .parts import is_elementwise, label


def reduction() -> Pattern:
    return op(Reduction, where=_floats)


def elementwise() -> Pattern:
    return op((Pointwise, BatchNormalizationOp), where=_floats)


def movement() -> Pattern:
    return op((TransposeOp, ConcatOp, SliceOp, SplitOp, PadOp, ExpandOp, TileOp), where=_floats)


def _floats(one: Operation, found: Found) -> Why:
    del found
    if isinstance(one, BatchNormalizationOp) and not is_elementwise(one):
        return "it is being trained"
    return None if has_floats(one.results[0]) and not isinstance(one, View) else "it has no floats"


def on_elements(one: Operation, root: Operation) -> bool:
    """Elementwise on arrays: not the arithmetic of shapes."""
    del root
    return is_elementwise(one) and len(shape_of(one.results[0].type)) > 1


def around(one: Operation, root: Operation) -> bool:
    """
    Elementwise in the shape of a reduction or of what it reduces, or another reduction between these shapes, where what
    becomes one element is no more than one kernel holds.
    """
    given, reduced = shape_of(root.operands[0].type), shape_of(root.results[0].type)
    shape = shape_of(one.results[0].type)
    if isinstance(one, Pointwise) and shape == reduced:
        return True
    if len(given) != len(reduced) or not _in_one(given, reduced):
        return False
    if isinstance(one, Reduction):
        return has_floats(one.results[0]) and (shape_of(one.operands[0].type), shape) == (given, reduced)
    return isinstance(one, Pointwise | ExpandOp) and shape == given


def _in_one(given: tuple[int, ...], reduced: tuple[int, ...]) -> bool:
    along = [d for d, r in zip(given, reduced, strict=True) if d != r]
    return min(along, default=1) > 0 and math.prod(along) <= ROW


def before_reduction(one: Operation, root: Operation) -> bool:
    return on_elements(one, root) or (isinstance(one, Reduction) and around(one, root))


def moved(one: Operation, root: Operation) -> bool:
    """Elementwise or a movement of arrays: each element of the result comes from one place of each operand."""
    return on_elements(one, root) or (isinstance(one, Movement | View) and len(shape_of(one.results[0].type)) > 1)


RULES = (
    Rule("reduction", (reduction(),), label, after=around, before=before_reduction, plain=True),
    Rule("elementwise", (elementwise(),), label, after=moved, before=moved, plain=True),
    Rule("movement", (movement(),), label, after=moved, before=moved, plain=True),
)
