"""
Casts that change nothing, or that another cast undoes, are dropped.

    %a = ge.cast %x to f64 : tensor<4xf32> -> tensor<4xf64>
    %b = ge.cast %a to f32 : tensor<4xf64> -> tensor<4xf32>        ->        %x

The first of two casts goes only if every number of the operand's type is a number of the type between. A CastLike
whose type is known is a Cast. Needs nothing. Leaves no cast to the operand's own type.
"""

from __future__ import annotations

from typing import cast

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Attribute, Operation, SSAValue

from ...dialects.ge.conversion import CastLikeOp, CastOp
from ...dialects.ge.types import element_of, is_float
from ..base import GePass
from ..report import count
from ..rewriting import apply_rules


def without_same(op: CastOp) -> SSAValue | None:
    if op.input.type != op.output.type:
        return None

    count("casts dropped")
    return op.input


def past_exact(op: CastOp) -> Operation | None:
    inner = op.input.owner
    if not isinstance(inner, CastOp):
        return None
    source = element(inner.input)
    if not is_exact(source, inner.to):
        return None
    if is_float(source) and not is_float(op.to):
        return None  # what a float beyond an integer's range becomes is each engine's own
    if (op.attrs() | inner.attrs()).keys() != {"to"}:
        return None  # saturation and rounding of small floats

    count("casts composed")
    return CastOp(inner.input, to=op.to, result_types=[op.output.type])


def plain(op: CastLikeOp) -> Operation:
    count("casts made plain")
    return CastOp(op.input, **op.attrs(), to=element(op.output), result_types=[op.output.type])


def element(value: SSAValue) -> Attribute:
    return cast("TensorType[Attribute]", value.type).element_type


def is_exact(source: Attribute, target: Attribute) -> bool:
    """Whether every number of one element type is a number of the other, so that a cast loses nothing."""
    if source == target:
        return True
    try:
        a, b = element_of(source), element_of(target)
    except KeyError:
        return False
    if not a.bits or not b.bits:
        return False
    if a.dtype == np.bool_:
        return b.dtype != np.bool_ and b.dtype.kind in "iuf"
    if a.dtype.kind in "iu" and b.dtype.kind in "iuf":
        if b.dtype.kind == "f":
            return a.bits - (a.dtype.kind == "i") <= np.finfo(b.dtype.name).nmant + 1
        signed_ok = b.dtype.kind == "i" or a.dtype.kind == "u"
        return signed_ok and b.bits - (b.dtype.kind == "i") >= a.bits - (a.dtype.kind == "i")
    wider = {"float16": ("float32", "float64"), "bfloat16": ("float32", "float64"), "float32": ("float64",)}
    return b.dtype.name in wider.get(a.dtype.name, ())


class CastRemove(GePass):
    name = "cast-remove"
    ge_name = "CastRemovePass"
    level = 1
    summary = "Drops casts that change nothing or that another cast undoes"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        apply_rules(op, {CastLikeOp: (plain,), CastOp: (without_same, past_exact)}, in_fusions=True)
