"""
A LayerNormalization written as means, a difference, squares and a root is one op.

    %d = ge.sub %x, (ge.reduce_mean %x)
    %v = ge.reduce_mean (ge.mul %d, %d)
    %n = ge.div %d, (ge.sqrt (ge.add %v, 1.0e-5))
    %y = ge.add (ge.mul %n, %scale), %b              ->       %y = ge.layer_normalization %x, %scale, %b epsilon 1.0e-5

Means go over the last axes; the scale and the addend have their dims (others, which would broadcast the result or
differ from row to row, stay as ops of their own). Arithmetic is regrouped. Needs nobody else to read what is in
between, and an opset that has the operator (17). Leaves no such chain.
"""

from __future__ import annotations

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from ...dialects.ge.arithmetic import AddOp, DivOp, MulOp, SubOp
from ...dialects.ge.constants import ConstantOp, constant
from ...dialects.ge.core import GeOp
from ...dialects.ge.data import Array, find_module
from ...dialects.ge.names import OUTPUTS
from ...dialects.ge.normalization import LayerNormalizationOp
from ...dialects.ge.reduction import ReduceMeanOp
from ...dialects.ge.types import shape_of
from ..base import GePass
from ..operands import array_in, element_type, number, take_names
from ..opset import has_op
from ..report import count, missed
from ..rewriting import apply_rules
from .deviation import last_axes, ones_like_tail, over_deviation, read_only_by


def normalised(op: DivOp | MulOp) -> Operation | None:
    found = over_deviation(op)
    if found is None or not isinstance(found.x.owner, SubOp):
        return None
    less = found.x.owner
    mean = less.b.owner
    if not isinstance(mean, ReduceMeanOp) or mean.data is not less.a or last_axes(mean) != found.axis:
        return missed(op, "no LayerNormalization: what is squared is not less its own mean over the same axes")
    if less.a.type != op.y.type:
        return None
    if not read_only_by([*found.ops, less, mean], op):
        return missed(op, "no LayerNormalization: something else reads what is in between")
    scale = ones_like_tail(less.a, found.axis, op)
    if scale is None:
        return None
    count("layer normalisations recognised")
    axis = found.axis - len(shape_of(less.a.type))
    return LayerNormalizationOp(less.a, scale, axis=axis, epsilon=found.epsilon, result_types=[op.y.type])


def scaled(op: MulOp) -> Operation | None:
    """The scale of a normalisation that has none yet."""
    norm, other = _beside(op)
    if norm is None or norm.b is not None or number(norm.scale) != 1:
        return None
    scale = _as_tail(norm, other, op)
    return None if scale is None else _with(norm, op, scale, None)


def shifted(op: AddOp) -> Operation | None:
    """The addend of a normalisation that has none yet."""
    norm, other = _beside(op)
    if norm is None or norm.b is not None:
        return None
    b = _as_tail(norm, other, op)
    return None if b is None else _with(norm, op, norm.scale, b)


def _beside(op: MulOp | AddOp) -> tuple[LayerNormalizationOp | None, SSAValue]:
    for value, other in ((op.a, op.b), (op.b, op.a)):
        norm = value.owner
        if isinstance(norm, LayerNormalizationOp) and value.has_one_use() and len(norm.results) == 1:
            return (norm if value.type == op.y.type else None), other
    return None, op.a


def _as_tail(norm: LayerNormalizationOp, value: SSAValue, before: Operation) -> SSAValue | None:
    """`value` as scale or addend: of exactly the dims that are normalised; a constant may have fewer or more of 1."""
    shape = shape_of(norm.x.type)
    tail = shape[norm.axis % len(shape) :]
    if element_type(value) != element_type(norm.x) or any(d < 1 for d in tail):
        return None
    given = shape_of(value.type)
    if given == tail:
        return value
    array = array_in(value)
    if array is None:
        return None
    extra = max(0, len(given) - len(tail))
    if len(given) > len(shape) or any(d != 1 for d in given[:extra]):
        return None
    fits = all(g in (1, d) for g, d in zip(reversed(given[extra:]), reversed(tail), strict=False))
    return _put(np.broadcast_to(array.reshape(given[extra:]), tail), value, before) if fits else None


def _put(array: Array, old: SSAValue, before: Operation) -> SSAValue:
    block, module = before.parent_block(), find_module(before)
    assert block is not None
    assert module is not None
    new = constant(array, module)
    if isinstance(old.owner, ConstantOp):
        take_names(new, old.owner)
    block.insert_op_before(new, before)
    return new.output


def _with(norm: LayerNormalizationOp, op: GeOp, scale: SSAValue, b: SSAValue | None) -> Operation:
    new = norm.rebuilt([norm.x, scale, b])
    new.results[0]._type = op.results[0].type  # pyright: ignore[reportPrivateUsage]
    if OUTPUTS in op.attributes:
        new.attributes[OUTPUTS] = op.attributes[OUTPUTS]
    return new


class LayerNormFusion(GePass):
    name = "layer-norm-fusion"
    ge_name = "LayerNormFusionPass"
    level = 2
    summary = "Recognises LayerNormalization where it is written as primitives"
    regroups = True

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if has_op(op, LayerNormalizationOp):
            apply_rules(op, {DivOp: (normalised,), MulOp: (normalised, scaled), AddOp: (shifted,)})
