"""
Products of one value with several weights are one product, cut.

    %q = ge.add (ge.matmul %x, %wq), %bq
    %k = ge.add (ge.matmul %x, %wk), %bk        ->   %a = ge.add (ge.matmul %x, [%wq | %wk | %wv]), [%bq | %bk | %bv]
    %v = ge.add (ge.matmul %x, %wv), %bv             %q, %k, %v = ge.split %a

One large product instead of three small ones, each of whose elements is the same sum. Only where fewer ops are left:
two products with a bias, three without. Needs constant matrices. Leaves no such siblings.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, ModuleOp
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ...dialects.ge.arithmetic import AddOp
from ...dialects.ge.constants import constant
from ...dialects.ge.contraction import MatMulOp
from ...dialects.ge.core import GeOp
from ...dialects.ge.data import Array
from ...dialects.ge.names import OUTPUTS
from ...dialects.ge.slicing import SplitOp
from ...dialects.ge.types import shape_of
from ..base import GePass
from ..operands import array_in, element_type
from ..opset import has_op
from ..report import count
from ..rewriting import drop_unread, functions, walk_outside
from .linear import linear_of


@dataclass
class Branch:
    """A product, or its sum with a bias."""

    last: GeOp
    product: MatMulOp
    weight: SSAValue
    bias: SSAValue | None


class SiblingMatMulFusion(GePass):
    name = "sibling-matmul-fusion"
    ge_name = "SiblingMatMulFusionPass"
    level = 3
    summary = "Makes one product of the products of a value with several weights"
    regroups = True

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if not has_op(op, SplitOp):
            return
        for function in functions(op):
            for group in _groups(function):
                _fuse(group, op)


def _groups(top: Operation) -> list[list[Branch]]:
    """Branches of one value in one block, those with a bias and those without apart."""
    found: dict[tuple[SSAValue, Block | None, bool, Attribute], list[Branch]] = {}
    for op in walk_outside(top):
        if isinstance(op, MatMulOp) and (branch := _branch(op)) is not None:
            key = (op.a, op.parent, branch.bias is not None, element_type(op.y))
            found.setdefault(key, []).append(branch)
    return [group for (_, _, biased, _), group in found.items() if len(group) >= (2 if biased else 3)]


def _branch(op: MatMulOp) -> Branch | None:
    if linear_of(op) is None or len(shape_of(op.a.type)) < 2:
        return None
    reader = op.y.get_user_of_unique_use()
    with_bias = linear_of(reader) if isinstance(reader, AddOp) and reader.parent is op.parent else None
    if with_bias is not None and with_bias.product is op:
        return Branch(with_bias.op, op, op.b, with_bias.bias)
    return Branch(op, op, op.b, None)


def _fuse(group: Sequence[Branch], module: ModuleOp) -> None:
    first = group[0].product
    block = first.parent
    assert block is not None
    widths = [shape_of(b.weight.type)[1] for b in group]

    def put(op: Any) -> SSAValue:
        block.insert_op_before(op, first)
        return op.results[0]

    weight = put(constant(np.concatenate([_array(b.weight) for b in group], axis=1), module))
    value = put(MatMulOp(first.a, weight))
    if group[0].bias is not None:
        vectors = [np.broadcast_to(_array(b.bias).reshape(-1), (n,)) for b, n in zip(group, widths, strict=True)]
        value = put(AddOp(value, put(constant(np.concatenate(vectors), module))))
    sizes = put(constant(np.array(widths, np.int64), module))
    types = [b.last.results[0].type for b in group]
    cut = SplitOp(value, sizes, axis=len(shape_of(value.type)) - 1, result_types=types)
    block.insert_op_before(cut, first)
    names = [b.last.attributes.get(OUTPUTS) for b in group]
    if all(names):
        cut.attributes[OUTPUTS] = ArrayAttr([cast("ArrayAttr[Attribute]", n).data[0] for n in names])
    for branch, part in zip(group, cut.outputs, strict=True):
        branch.last.results[0].replace_all_uses_with(part)
        drop_unread(branch.last)
    count("products merged", len(group))


def _array(value: SSAValue | None) -> Array:
    array = array_in(value)
    assert array is not None
    return array
