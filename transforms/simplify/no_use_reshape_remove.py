"""
Views that give their operand's own dims are dropped.

    %y = ge.reshape %x, %s : tensor<?x8xf32>, tensor<2xi64> -> tensor<?x8xf32>       ->       every reader reads %x

Whatever the op (Reshape, Flatten, Squeeze, Unsqueeze): its elements are the operand's in order, so equal dims are all
it takes. Free dims are equal where their expressions are. Needs nothing. Leaves no such view.
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from ...dialects.ge.core import GeOp
from ...dialects.ge.interfaces import View, is_pure
from ..base import GePass
from ..report import count
from ..rewriting import functions, sync_type, walk_outside
from ..shape.analysis import Dims
from ..shape.views import put, same_dims


class NoUseReshapeRemove(GePass):
    name = "no-use-reshape-remove"
    ge_name = "NoUseReshapeRemovePass"
    aliases = ("ReshapeRemovePass",)
    level = 1
    summary = "Drops reshapes to the dims that the operand has"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in functions(op):
            dims = Dims(function)
            for inner in walk_outside(function, View):
                if isinstance(inner, GeOp) and is_pure(inner) and len(inner.results) == 1:
                    source = inner.operands[inner.view_of()]
                    if same_dims(dims, source, inner.results[0]):
                        put(dims, inner, [], source)
                        count("views dropped")
            sync_type(function)
