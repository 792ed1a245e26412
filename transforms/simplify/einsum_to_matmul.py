"""
An Einsum that is a matrix product, a product of elements, a sum or a transpose is that.

    ge.einsum %a, %b equation "bhid,bhdj->bhij"       ->       ge.matmul %a, %b
    ge.einsum %a, %b equation "bhid,bhjd->bhij"       ->       ge.matmul %a, (ge.transpose %b perm [0, 1, 3, 2])
    ge.einsum %a, %b equation "ij,j->ij"              ->       ge.mul %a, %b
    ge.einsum %a equation "bij->bj"                   ->       ge.reduce_sum %a, [1]

One op, or a product with one transpose: what takes more is left to the engine. Needs the axis that is summed over to
have one known size in both. Leaves none of these forms.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from ...dialects.ge.arithmetic import MulOp
from ...dialects.ge.constants import constant
from ...dialects.ge.contraction import MatMulOp
from ...dialects.ge.data import find_module
from ...dialects.ge.einsum import EinsumOp
from ...dialects.ge.movement import TransposeOp
from ...dialects.ge.reduction import ReduceSumOp
from ...dialects.ge.types import shape_of
from ..base import GePass
from ..operands import has_floats
from ..report import count, missed
from ..rewriting import apply_rules
from .chains import put_before


def lowered(op: EinsumOp) -> SSAValue | Operation | None:
    left, arrow, right = op.equation.replace(" ", "").partition("->")
    terms = left.split(",")
    if "." in op.equation or not arrow or any(len(set(t)) != len(t) for t in terms) or not has_floats(op.output):
        return missed(op, "stays: its equation has an ellipsis, a letter twice in one term, or no result")
    if len(terms) == 1:
        new = _of_one(op, terms[0], right)
    elif len(terms) == 2:
        new = _product_of_elements(op, terms, right) or _matrix_product(op, terms, right)
    else:
        new = None
    if new is None:
        return missed(op, f"stays: {op.equation} is no one product, sum or transpose")
    count("equations lowered")
    return new


def _of_one(op: EinsumOp, term: str, right: str) -> SSAValue | Operation | None:
    x, result = op.inputs[0], [op.output.type]
    if term == right:
        return x if x.type == op.output.type else None
    if sorted(term) == sorted(right):
        return TransposeOp(x, perm=[term.index(letter) for letter in right], result_types=result)
    if "".join(letter for letter in term if letter in right) != right:
        return None
    axes = np.array([k for k, letter in enumerate(term) if letter not in right], np.int64)
    module = find_module(op)
    assert module is not None
    return ReduceSumOp(x, put_before(op, constant(axes, module)), keepdims=0, result_types=result)


def _product_of_elements(op: EinsumOp, terms: Sequence[str], right: str) -> Operation | None:
    """All letters stay, and either operand has the last of the result's in its order: that is how shapes broadcast."""
    if not all(right.endswith(term) for term in terms) or right not in terms:
        return None
    return MulOp(op.inputs[0], op.inputs[1], result_types=[op.output.type])


def _matrix_product(op: EinsumOp, terms: Sequence[str], right: str) -> Operation | None:
    for first, second in ((0, 1), (1, 0)):
        found = _as_matmul(op, (op.inputs[first], terms[first]), (op.inputs[second], terms[second]), right)
        if found is not None:
            return found
    return None


def _as_matmul(op: EinsumOp, a: tuple[SSAValue, str], b: tuple[SSAValue, str], right: str) -> Operation | None:
    """A product whose rows are axes of `a` and whose columns are one of `b`, with at most one transpose."""
    summed = [x for x in a[1] if x in b[1] and x not in right]
    batch = "".join(x for x in right if x in a[1] and x in b[1])
    rows = "".join(x for x in right if x in a[1] and x not in b[1])
    columns = "".join(x for x in right if x in b[1] and x not in a[1])
    if len(summed) != 1 or right != batch + rows + columns or len(columns) > 1:
        return None
    inner = summed[0]
    if sorted(a[1]) != sorted(batch + rows + inner) or sorted(b[1]) != sorted(batch + inner + columns):
        return None  # a letter that one operand alone has is summed over
    # A stack of matrices needs one axis of rows and one of columns; without a stack, a may have any axes of rows.
    if batch and (len(rows) != 1 or len(columns) != 1):
        return None
    sizes = [shape_of(value.type)[term.index(inner)] for value, term in (a, b)]
    if sizes[0] != sizes[1] or sizes[0] < 0:
        return None
    wanted = (batch + rows + inner, batch + inner + columns)
    turned = [term != order for (_, term), order in zip((a, b), wanted, strict=True)]
    if sum(turned) > 1:
        return None
    values: list[SSAValue] = []
    for (value, term), order, turn in zip((a, b), wanted, turned, strict=True):
        perm = [term.index(letter) for letter in order]
        values.append(put_before(op, TransposeOp(value, perm=perm)) if turn else value)
    return MatMulOp(*values, result_types=[op.output.type])


class EinsumToMatMul(GePass):
    name = "einsum-to-matmul"
    ge_name = "EinsumPass"
    level = 2
    summary = "Lowers Einsum to the product, sum or transpose that it is"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        apply_rules(op, {EinsumOp: (lowered,)})
