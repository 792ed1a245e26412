"""
Slices that take all of their operand are dropped.

    %y = ge.slice %x, [0], [9223372036854775807], [1] : tensor<?x8xf32> -> tensor<?x8xf32>   ->   every reader reads %x

With steps of 1, equal dims are all it takes; free dims are equal where their expressions are. Needs nothing. Leaves no
such slice.
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from ...dialects.ge.slicing import SliceOp
from ..base import GePass
from ..report import count
from ..rewriting import functions, sync_type, walk_outside
from ..shape.analysis import Dims
from ..shape.views import put, same_dims


class RedundantSliceRemove(GePass):
    name = "redundant-slice-remove"
    ge_name = "RedundantSliceRemovePass"
    level = 1
    summary = "Drops slices that take all of their operand"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in functions(op):
            dims = Dims(function)
            for inner in walk_outside(function, SliceOp):
                if _steps_by_one(inner, dims) and same_dims(dims, inner.data, inner.output):
                    put(dims, inner, [], inner.data)
                    count("slices dropped")
            sync_type(function)


def _steps_by_one(op: SliceOp, dims: Dims) -> bool:
    if op.steps is None:
        return True
    steps = dims(op.steps).numbers
    return steps is not None and all(s == 1 for s in steps)
