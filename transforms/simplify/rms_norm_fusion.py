"""
An RMSNormalization written as squares, a mean and a root is one op.

    %v = ge.reduce_mean (ge.pow %x, 2.0)
    %n = ge.div %x, (ge.sqrt (ge.add %v, 1.0e-6))
    %y = ge.mul %n, %scale                           ->       %y = ge.rms_normalization %x, %scale epsilon 1.0e-6

The mean goes over the last axes, of which the scale has the dims: one that broadcasts the result is none. Arithmetic is
regrouped. Needs nobody else to read what is in between, and an opset that has the operator (23). Leaves no such chain.
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from ...dialects.ge.arithmetic import DivOp, MulOp
from ...dialects.ge.normalization import RMSNormalizationOp
from ...dialects.ge.types import shape_of
from ..base import GePass
from ..operands import element_type
from ..opset import has_op
from ..report import count, missed
from ..rewriting import apply_rules
from .deviation import over_deviation, read_only_by


def normalised(op: MulOp) -> Operation | None:
    for value, scale in ((op.a, op.b), (op.b, op.a)):
        quotient = value.owner
        found = over_deviation(quotient) if isinstance(quotient, DivOp | MulOp) else None
        if found is None:
            continue
        assert isinstance(quotient, Operation)
        tail = shape_of(found.x.type)[found.axis :]
        if shape_of(scale.type) != tail or min(tail) < 1 or element_type(scale) != element_type(found.x):
            return missed(op, "no RMSNormalization: the scale has other dims than what is normalised")
        if not value.has_one_use() or not read_only_by(found.ops, quotient):
            return missed(op, "no RMSNormalization: something else reads what is in between")
        count("root mean square normalisations recognised")
        axis = found.axis - len(shape_of(found.x.type))
        return RMSNormalizationOp(found.x, scale, axis=axis, epsilon=found.epsilon, result_types=[op.y.type])
    return None


class RMSNormFusion(GePass):
    name = "rms-norm-fusion"
    ge_name = "RmsNormFusionPass"
    level = 2
    summary = "Recognises RMSNormalization where it is written as primitives"
    regroups = True

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if has_op(op, RMSNormalizationOp):
            apply_rules(op, {MulOp: (normalised,)})
