"""
Types as precise as the operands allow.

    %s = ge.constant dense<[2, -1]> : tensor<2xi64>
    %y = ge.reshape %x, %s : tensor<6x4xf32>, tensor<2xi64> -> tensor<?x?xf32>       ->       -> tensor<2x12xf32>

A node that was opaque because the rank of what it reads was not known becomes the op that it is. One in a branch or a
loop that can never run, since what it reads is now known to be what it does not take, becomes opaque. Needs nothing.
Leaves no free dim in a result that inference knows to be a number.
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, SSAValue

from ...dialects.ge.bodies import FusionOp
from ...dialects.ge.control import IfOp, Iteration
from ...dialects.ge.core import GeOp
from ...dialects.ge.errors import InputError
from ...dialects.ge.kinds import walk
from ...dialects.ge.types import is_static, is_tensor
from ..base import GePass
from ..report import count
from ..rewriting import functions, sync_type
from .analysis import Dims
from .recognise import make_opaque, recognise_opaque


class InferShape(GePass):
    name = "infer-shape"
    ge_name = "InferShapePass"
    level = 0
    summary = "Makes the types of values as precise as their operands allow"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in functions(op):
            count("types made more precise", infer_shapes(function))


def infer_shapes(function: FuncOp) -> int:
    """
    Refines the types of a function's values, and so what they are results of; returns how many changed.

    raises     InputError where an op that is no part of a branch or a loop contradicts what it reads
    """
    changed, loops = _refine(function)
    again = loops and changed > 0
    while (recognised := recognise_opaque(function)) or again:
        found, loops = _refine(function)
        changed += recognised + found
        again = loops and found > 0
    return changed


def _refine(function: FuncOp) -> tuple[int, bool]:
    """How many types changed, and whether there are loops: what they give follows from what their bodies now yield."""
    dims = Dims(function)
    changed, loops = 0, False
    for op in walk(function):
        loops = loops or isinstance(op, Iteration)
        values: list[SSAValue] = []
        if isinstance(op, GeOp | FusionOp | IfOp):
            values.extend(op.results)
        if isinstance(op, FusionOp):
            for argument, value in zip(op.body.block.args, op.ins, strict=True):
                changed += _set_type(argument, value.type)
        for value in values:
            if is_tensor(value.type) and not is_static(value.type):
                changed += _set_type(value, dims(value).type)
    for op, reason in dims.refused.items():
        if not _may_never_run(op):
            raise InputError(reason)
        if not op.regions:
            make_opaque(op)
            changed += 1
    sync_type(function)
    return changed, loops


def _may_never_run(op: Operation) -> bool:
    """Whether `op` is in a branch, or in the body of a loop."""
    parent = op.parent_op()
    while isinstance(parent, FusionOp):
        parent = parent.parent_op()
    return not isinstance(parent, FuncOp)


def _set_type(value: SSAValue, type_: Attribute) -> int:
    if value.type == type_:
        return 0
    value._type = type_  # pyright: ignore[reportPrivateUsage]
    return 1
