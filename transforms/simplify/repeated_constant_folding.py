"""
What moves one element that is repeated gives it repeated, and is a constant of a few bytes, however large.

    %a = ge.constant_of_shape [1024, 1024] value 0.0
    %b = ge.transpose %a perm [1, 0]
    %c = ge.slice %b, ...                          ->       %c = ge.constant #ge.splat<0.0> : tensor<16x1024xf32>

constant-folding would have to write such results out, and leaves them for their size. Needs nothing. Leaves no op of
known dims that moves elements (repeated.py says which) of one value.
"""

from __future__ import annotations

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from ...dialects.ge.constants import constant
from ...dialects.ge.core import GeOp
from ...dialects.ge.interfaces import is_pure
from ...dialects.ge.types import is_static, is_tensor, shape_of
from ..base import GePass
from ..opset import opset_of
from ..report import count
from ..rewriting import functions, replace_uses, walk_outside
from .repeated import repeated


class RepeatedConstantFolding(GePass):
    name = "repeated-constant-folding"
    ge_name = "RepeatedConstantFoldingPass"
    level = 1
    summary = "Makes what moves one repeated element a constant that is not written out"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if opset_of(op) < 9:
            return  # no ConstantOfShape: the constants would be written out
        for function in functions(op):
            for inner in walk_outside(function):
                if isinstance(inner, GeOp) and inner.results and is_pure(inner):
                    _fold(inner, op)


def _fold(op: Operation, module: ModuleOp) -> None:
    block = op.parent_block()
    assert block is not None
    for result in op.results:
        if result.first_use is None or not is_tensor(result.type) or not is_static(result.type):
            continue
        element = repeated(result)
        if element is None:
            continue
        known = constant(np.broadcast_to(element, shape_of(result.type)), module)
        block.insert_op_before(known, op)
        replace_uses(result, known.output)
        count("repeated elements known")
