"""Sums and products with one constant after another: (x + c) + d as x + (c + d), for those who may regroup."""

from __future__ import annotations

import math
from typing import Any

from xdsl.ir import Operation, SSAValue

from ...dialects.ge.arithmetic import AddOp, MulOp, SubOp
from ...dialects.ge.types import shape_of
from ..operands import split_constant


def merged_product(op: MulOp) -> Operation | None:
    """(x * c) * d as x * (c * d), where nothing else reads x * c and no constant grows; c * d is put before `op`."""
    outer = split_constant(op)
    inner_op = outer[0].owner if outer else None
    if outer is None or not isinstance(inner_op, MulOp) or not outer[0].has_one_use():
        return None
    inner = split_constant(inner_op)
    if inner is None or not fits_one(inner[1], outer[1]):
        return None
    factor = put_before(op, MulOp(inner[1], outer[1]))
    return MulOp(inner[0], factor, result_types=[op.y.type])


def merged_sum(op: AddOp | SubOp) -> Operation | None:
    """The same of additions and subtractions: s * x + c with a sign s."""
    outer = split_constant(op)
    inner_op = outer[0].owner if outer else None
    if outer is None or not isinstance(inner_op, AddOp | SubOp) or not outer[0].has_one_use():
        return None
    inner = split_constant(inner_op)
    if inner is None or not fits_one(inner[1], outer[1]):
        return None
    outer_sign, outer_plus = _signs(op, outer[2])
    inner_sign, inner_plus = _signs(inner_op, inner[2])
    inner_plus *= outer_sign
    c, d, x = inner[1], outer[1], inner[0]
    result = [op.y.type]
    if inner_plus < 0 and outer_plus < 0:
        # Only x - c - d: of the constant's signs in c - x, one is a plus.
        return SubOp(x, put_before(op, AddOp(c, d)), result_types=result) if outer_sign * inner_sign > 0 else None
    if inner_plus > 0 and outer_plus > 0:
        total = put_before(op, AddOp(c, d))
    else:
        total = put_before(op, SubOp(c, d) if inner_plus > 0 else SubOp(d, c))
    if outer_sign * inner_sign > 0:
        return AddOp(x, total, result_types=result)
    return SubOp(total, x, result_types=result)


def _signs(op: AddOp | SubOp, place: int) -> tuple[int, int]:
    """Of what is no constant, and of the constant that stands in that place."""
    if isinstance(op, AddOp):
        return 1, 1
    return (1, -1) if place == 1 else (-1, 1)


def fits_one(c: SSAValue, d: SSAValue) -> bool:
    """Whether two constants that broadcast make one no larger than the larger of them."""
    a, b = shape_of(c.type), shape_of(d.type)
    rank = max(len(a), len(b))
    a, b = (1,) * (rank - len(a)) + a, (1,) * (rank - len(b)) + b
    return math.prod(map(max, a, b)) <= max(math.prod(a), math.prod(b))


def put_before(op: Operation, new: Any) -> SSAValue:
    """The result of a new op, put before another."""
    block = op.parent_block()
    assert block is not None
    block.insert_op_before(new, op)
    return new.results[0]
