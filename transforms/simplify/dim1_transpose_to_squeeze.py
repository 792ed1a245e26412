"""
A transpose that only moves axes of dim 1 is a view: no element changes its place.

    %y = ge.transpose %x perm [0, 2, 1, 3] : tensor<2x1x8x4xf32> -> tensor<2x8x1x4xf32>
        ->   %y = ge.reshape %x, dense<[0, 8, 1, 4]>

Where dims are free, only if the numbers of the Reshape are right for every size. Needs nothing. Leaves no such
transpose.
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from ...dialects.ge.movement import ReshapeOp, TransposeOp
from ..base import GePass
from ..opset import has_op
from ..report import count, missed
from ..rewriting import functions, walk_outside
from ..shape.analysis import Dims
from ..shape.views import put
from .cascade_reshape_remove import reshaped


class Dim1TransposeToSqueeze(GePass):
    name = "dim1-transpose-to-squeeze"
    ge_name = "Dim1TransposeToSqueezePass"
    level = 2
    summary = "Makes transposes that only move axes of dim 1 views"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if not has_op(op, ReshapeOp):
            return
        for function in functions(op):
            dims = Dims(function)
            for inner in walk_outside(function, TransposeOp):
                _view(inner, dims)


def _view(op: TransposeOp, dims: Dims) -> None:
    sizes = dims(op.input).dims
    long = [k for k in op.order if sizes[k] != 1]
    if long != sorted(long):
        return None
    made = reshaped(op, op.input, op.output, dims)
    if made is None:
        return missed(op, "not made a view: no constant shape is right for every size")
    put(dims, op, made, made[-1].results[0])
    count("transposes made views")
    return None
