"""
A matrix product and a bias are one Gemm.

    %a = ge.matmul %x, %w
    %y = ge.add %a, %b            ->       %y = ge.gemm %x, %w, %b

Matrices alone, and a constant vector as long as a row of the product: any other addend could give the result another
shape. Needs nobody else to read the product. Leaves no such pair.
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from ...dialects.ge.arithmetic import AddOp
from ...dialects.ge.contraction import GemmOp, MatMulOp
from ...dialects.ge.types import shape_of
from ..base import GePass
from ..operands import can_write, has_floats, split_constant
from ..report import count, missed
from ..rewriting import apply_rules


def with_bias(op: AddOp) -> Operation | None:
    split = split_constant(op)
    product = split[0].owner if split else None
    if split is None or not isinstance(product, MatMulOp) or not has_floats(op.y):
        return None
    if any(len(shape_of(v.type)) != 2 for v in product.operands) or op.y.type != product.y.type:
        return None
    columns = shape_of(product.y.type)[-1]
    if columns < 1 or shape_of(split[1].type) not in ((columns,), (1, columns)):
        return None
    if not product.y.has_one_use():
        return missed(op, "no Gemm: something else reads the product")
    if not can_write(op, GemmOp):
        return None
    count("products with a bias")
    return GemmOp(product.a, product.b, split[1], result_types=[op.y.type])


class MatMulBiasAddFusion(GePass):
    name = "matmul-bias-add-fusion"
    ge_name = "MatMulBiasAddFusionPass"
    level = 1
    summary = "Makes one Gemm of a matrix product and a bias"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        apply_rules(op, {AddOp: (with_bias,)})
