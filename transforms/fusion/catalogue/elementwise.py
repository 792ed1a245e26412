"""
What no other family takes: reductions with what comes before and after them, chains and trees of elementwise ops.

    reduction     [elementwise ...] ReduceMean, ReduceSum, GlobalAveragePool ... [elementwise ...]
    elementwise   one or more elementwise ops on floats, and what moves their operands or results about and is read by
                  them alone: cuts, joins, transposes
    movement      several of these

Arithmetic on shapes is none: its results are whole numbers.
"""

from __future__ import annotations

from xdsl.ir import Operation

from ....dialects.ge.elementwise import Pointwise
from ....dialects.ge.interfaces import Movement, Reduction, View
from ....dialects.ge.movement import TransposeOp
from ....dialects.ge.slicing import ConcatOp, ExpandOp, PadOp, SliceOp, SplitOp, TileOp
from ....dialects.ge.types import shape_of
from ...operands import has_floats
from ..pattern import Found, Pattern, Why, op
from ..rules import Rule
from .contraction import same_shape
from .parts import label


def reduction() -> Pattern:
    return op(Reduction, where=_floats)


def elementwise() -> Pattern:
    return op(Pointwise, where=_floats)


def movement() -> Pattern:
    return op((TransposeOp, ConcatOp, SliceOp, SplitOp, PadOp, ExpandOp, TileOp), where=_floats)


def _floats(one: Operation, found: Found) -> Why:
    del found
    return None if has_floats(one.results[0]) and not isinstance(one, View) else "it has no floats"


def on_elements(one: Operation, root: Operation) -> bool:
    """Elementwise on arrays: not the arithmetic of shapes."""
    del root
    return isinstance(one, Pointwise) and len(shape_of(one.results[0].type)) > 1


def moved(one: Operation, root: Operation) -> bool:
    """Elementwise or a movement of arrays: each element of the result comes from one place of each operand."""
    return on_elements(one, root) or (isinstance(one, Movement | View) and len(shape_of(one.results[0].type)) > 1)


RULES = (
    Rule("reduction", (reduction(),), label, after=same_shape, before=on_elements),
    Rule("elementwise", (elementwise(),), label, after=moved, before=moved, plain=True),
    Rule("movement", (movement(),), label, after=moved, before=moved, plain=True),
)
