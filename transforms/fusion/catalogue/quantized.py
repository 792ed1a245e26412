"""
Quantised ops as exporters write them: in floats, between what makes floats of integers and integers of floats.

    %y = ge.quantize_linear (ge.relu (ge.conv (ge.dequantize_linear %x ..), (ge.dequantize_linear %w ..)))

The whole is one op, with the sums of residuals between further integers; its body says how it rounds. Where several
ops read the same integers as floats, each reads the integers, a quarter of the bytes, and makes the floats for itself:
the same floats, so the values are those of the model.
"""

from __future__ import annotations

from collections.abc import Sequence

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
from .parts import parts_of

POOLS = (AveragePoolOp, MaxPoolOp, Reduction, ConcatOp)


def of_integers(*kinds: Kind) -> Pattern:
    """An op of which an operand is made of integers."""
    return op(kinds, where=_reads_integers)


def _reads_integers(one: Operation, found: Found) -> Why:
    del found
    return None if any(isinstance(v.owner, DequantizeLinearOp) for v in one.operands) else "it reads no integers"


def comes_after(one: Operation, root: Operation) -> bool:
    """What has the result's shape, by way of integers too."""
    if isinstance(one, QuantizeLinearOp | DequantizeLinearOp):
        return shape_of(one.results[0].type) == shape_of(root.results[0].type)
    return same_shape(one, root)


def comes_before(one: Operation, root: Operation) -> bool:
    del root
    return isinstance(one, DequantizeLinearOp | View | TransposeOp)


def label(ops: Sequence[Operation]) -> str:
    """What is computed in floats."""
    edges = ("DequantizeLinear", "QuantizeLinear")
    return "Quantized" + "".join(name for name, _ in parts_of(ops) if name not in edges)


def made_again(one: Operation, root: Operation) -> bool:
    del root
    return isinstance(one, DequantizeLinearOp)


def _rule(name: str, *kinds: Kind) -> Rule:
    form = of_integers(*kinds)
    return Rule(name, (form,), label, after=comes_after, before=comes_before, again=made_again)


RULES = (
    _rule("quantised product", Contraction),
    _rule("quantised sum", AddOp, MulOp),
    _rule("quantised pooling", *POOLS),
)
