"""
Numbers in a row are one number, and a product with a reciprocal is a quotient.

    %y = ge.mul (ge.mul %x, 2.0), 3.0          ->       %y = ge.mul %x, 6.0
    %y = ge.add (ge.add %x, 2.0), 3.0          ->       %y = ge.add %x, 5.0
    %y = ge.mul %x, (ge.div 1.0, %s)           ->       %y = ge.div %x, %s
    %y = ge.mul (ge.add (ge.mul %x, 2.0), %c), 8.0      ->       %y = ge.add (ge.mul %x, 16.0), (8 * %c)

Arithmetic is regrouped where that cannot hurt: factors of moderate size, addends of one sign (of two signs, what they
cancel would come back), sums scaled by a power of two, which is exact. Needs nobody else to read what is in between.
Leaves no such pair.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from ...dialects.ge.arithmetic import AddOp, DivOp, MulOp
from ...dialects.ge.data import Array
from ...dialects.ge.math import ReciprocalOp
from ..base import GePass
from ..operands import FEW, array_in, has_floats, number, split_constant, uniform
from ..report import count
from ..rewriting import apply_rules
from .chains import fits_one, merged_product, merged_sum, put_before

LOW, HIGH = 2.0**-12, 2.0**12
"""Factors between these, and their products, are of moderate size; in 16 bits, between their square roots."""


def factors(op: MulOp | DivOp) -> Operation | None:
    """(x * c) * d, (x / c) * d, (x * c) / d and (x / c) / d."""
    outer = split_constant(op)
    inner_op = outer[0].owner if outer else None
    if outer is None or not isinstance(inner_op, MulOp | DivOp) or not has_floats(op.y):
        return None
    inner = split_constant(inner_op)
    if inner is None or not (_is_moderate(inner[1]) and _is_moderate(outer[1])):
        return None
    if isinstance(op, MulOp) and isinstance(inner_op, MulOp):
        return _counted(merged_product(op))
    if any(isinstance(o, DivOp) and place == 0 for o, place in ((op, outer[2]), (inner_op, inner[2]))):
        return None
    if not outer[0].has_one_use() or not fits_one(inner[1], outer[1]):
        return None
    c, d = inner[1], outer[1]
    if isinstance(op, DivOp) and isinstance(inner_op, DivOp):
        return _counted(DivOp(inner[0], put_before(op, MulOp(c, d)), result_types=[op.y.type]))
    quotient = DivOp(d, c) if isinstance(op, MulOp) else DivOp(c, d)
    return _counted(MulOp(inner[0], put_before(op, quotient), result_types=[op.y.type]))


def addends(op: AddOp) -> Operation | None:
    """(x + c) + d."""
    outer = split_constant(op)
    inner_op = outer[0].owner if outer else None
    if outer is None or not isinstance(inner_op, AddOp) or not has_floats(op.y):
        return None
    inner = split_constant(inner_op)
    if inner is None or _sign(inner[1]) * _sign(outer[1]) <= 0:
        return None
    return _counted(merged_sum(op))


def reciprocal(op: MulOp) -> Operation | None:
    """x * (1 / s) is x / s."""
    for x, value in ((op.a, op.b), (op.b, op.a)):
        inner = value.owner
        if not value.has_one_use() or not has_floats(value):
            continue
        if isinstance(inner, ReciprocalOp):
            return _counted(DivOp(x, inner.x, result_types=[op.y.type]))
        if isinstance(inner, DivOp) and number(inner.a) == 1 and inner.b.type == inner.y.type:
            return _counted(DivOp(x, inner.b, result_types=[op.y.type]))
    return None


def scaled_sum(op: MulOp) -> Operation | None:
    """(x * c + d) * p with a power of two p: exact, and c * p is a constant."""
    outer = split_constant(op)
    total = outer[0].owner if outer else None
    if outer is None or not isinstance(total, AddOp) or not outer[0].has_one_use() or total.y.type != op.y.type:
        return None
    p, added = number(outer[1]), split_constant(total)
    product = added[0].owner if added else None
    if p is None or added is None or not isinstance(product, MulOp) or not added[0].has_one_use():
        return None
    factor = split_constant(product)
    if factor is None or not has_floats(op.y) or not LOW <= abs(p) <= HIGH or np.frexp(p)[0] not in (0.5, -0.5):
        return None
    constants = (factor[1], added[1])
    if not all(_is_small(v) and fits_one(v, outer[1]) and _stays_finite(v, p) for v in constants):
        return None
    c, d = (put_before(op, MulOp(v, outer[1])) for v in constants)
    inner = MulOp(factor[0], c, result_types=[product.y.type])
    return _counted(AddOp(put_before(op, inner), d, result_types=[op.y.type]))


def _counted(new: Operation | None) -> Operation | None:
    if new is not None:
        count("constants regrouped")
    return new


def _values(value: SSAValue) -> Array | None:
    """The elements of a constant that is small or one number, as f64."""
    one = uniform(value)
    if one is not None:
        return np.asarray(one).astype(np.float64)
    return np.asarray(array_in(value)).astype(np.float64) if _is_small(value) else None


def _is_small(value: SSAValue) -> bool:
    array = array_in(value)
    return array is not None and array.size <= FEW


def _is_moderate(value: SSAValue) -> bool:
    values = _values(value)
    if values is None or not values.size:
        return False
    wide = _width(value) >= 4
    low, high = (LOW, HIGH) if wide else (LOW**0.5, HIGH**0.5)
    size: Any = np.abs(values)
    return bool(((size >= low) & (size <= high)).all())


def _width(value: SSAValue) -> int:
    array = array_in(value)
    return 0 if array is None else array.dtype.itemsize


def _sign(value: SSAValue) -> int:
    """1 or -1 where all elements of a constant have that sign, else 0."""
    values = _values(value)
    if values is None or not values.size:
        return 0
    return 1 if (values > 0).all() else -1 if (values < 0).all() else 0


def _stays_finite(value: SSAValue, factor: float) -> bool:
    array = array_in(value)
    with np.errstate(all="ignore"):
        return array is not None and bool(np.isfinite(array * array.dtype.type(factor)).all())


class ConstantRegrouping(GePass):
    name = "constant-regrouping"
    ge_name = "ConstantRegroupingPass"
    level = 2
    summary = "Merges numbers that are multiplied or added one after the other"
    regroups = True

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        apply_rules(
            op,
            {MulOp: (factors, reciprocal, scaled_sum), DivOp: (factors,), AddOp: (addends,)},
        )
