"""
Quantised ops as exporters write them: in floats, between what makes floats of integers and integers of floats.

    %y = ge.quantize_linear (ge.relu (ge.conv (ge.dequantize_linear %x ..), (ge.dequantize_linear %w ..)))

The whole is one op; its body says how it rounds. Of a value that several ops read as floats each takes the floats in
only where it is alone to read them.
"""

from __future__ import annotations

from xdsl.ir import Operation

from ....dialects.ge.arithmetic import AddOp, MulOp
from ....dialects.ge.interfaces import Contraction, Reduction, View
from ....dialects.ge.movement import TransposeOp
from ....dialects.ge.pooling import AveragePoolOp, MaxPoolOp
from ....dialects.ge.quantization import DequantizeLinearOp, QuantizeLinearOp
from ....dialects.ge.slicing import ConcatOp
from ....dialects.ge.types import shape_of
from ..pattern import Found, Kind, Pattern, Why, op
from ..rules import Rule
from .contraction import same_shape
from .parts import label

POOLS = (AveragePoolOp, MaxPoolOp, Reduction, ConcatOp)


def of_integers(*kinds: Kind) -> Pattern:
    """An op of which an operand is made of integers."""
    return op(kinds, where=_reads_integers)


def _reads_integers(one: Operation, found: Found) -> Why:
    del found
    return None if any(isinstance(v.owner, DequantizeLinearOp) for v in one.operands) else "it reads no integers"


def comes_after(one: Operation, root: Operation) -> bool:
    """What has the result's shape, up to the integers."""
    if isinstance(one, QuantizeLinearOp):
        return shape_of(one.results[0].type) == shape_of(root.results[0].type)
    return same_shape(one, root)


def comes_before(one: Operation, root: Operation) -> bool:
    del root
    return isinstance(one, DequantizeLinearOp | View | TransposeOp)


RULES = (
    Rule("quantised product", (of_integers(Contraction),), label, after=comes_after, before=comes_before),
    Rule("quantised sum", (of_integers(AddOp, MulOp),), label, after=comes_after, before=comes_before),
    Rule("quantised pooling", (of_integers(*POOLS),), label, after=comes_after, before=comes_before),
)
