"""
What has no elements is a constant without elements.

    %y = ge.exp %x : tensor<0x8xf32> -> tensor<0x8xf32>       ->       %y = ge.constant dense<[]> : tensor<0x8xf32>

For pure ops all of whose results are known to be empty. Needs nothing. Leaves no such op.
"""

from __future__ import annotations

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation
from xdsl.rewriter import Rewriter

from ...dialects.ge.constants import constant
from ...dialects.ge.core import GeOp
from ...dialects.ge.interfaces import is_pure
from ...dialects.ge.types import element_of, is_element, is_static, is_tensor, shape_of
from ..base import GePass
from ..report import count
from ..rewriting import functions, replace_uses, walk_outside


class ReplaceWithEmptyConst(GePass):
    name = "replace-with-empty-const"
    ge_name = "ReplaceWithEmptyConstPass"
    level = 1
    summary = "Replaces ops whose results have no elements by constants"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in functions(op):
            for inner in walk_outside(function):
                if isinstance(inner, GeOp) and inner.results and is_pure(inner):
                    _replace(inner, op)


def _replace(op: Operation, module: ModuleOp) -> None:
    if not all(_is_empty(r.type) for r in op.results):
        return
    block = op.parent_block()
    assert block is not None
    for result in op.results:
        type_ = result.type
        assert is_tensor(type_)
        known = constant(np.zeros(shape_of(type_), element_of(type_.get_element_type()).dtype), module)
        block.insert_op_before(known, op)
        replace_uses(result, known.output)
    Rewriter.erase_op(op)
    count("ops without elements replaced")


def _is_empty(type_: Attribute) -> bool:
    if not is_tensor(type_) or not is_static(type_) or 0 not in shape_of(type_):
        return False
    element = type_.get_element_type()
    # Elements narrower than a byte, and strings, have no numpy type of their own.
    return is_element(element) and element_of(element).dtype.kind in "biuf" and element_of(element).bits >= 8
