"""
Ops whose result has constants a channel: what is multiplied and added to a channel can be in their weights.

    y = W x + b        ->        s * y + t = (s * W) x + (s * b + t)

New weights are computed in f64 and rounded once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.ir import Operation, SSAValue

from ...dialects.ge.arithmetic import AddOp
from ...dialects.ge.constants import ConstantOp, constant
from ...dialects.ge.contraction import GemmOp, MatMulOp
from ...dialects.ge.convolution import ConvOp
from ...dialects.ge.core import GeOp
from ...dialects.ge.data import Array, find_module
from ...dialects.ge.normalization import BatchNormalizationOp
from ...dialects.ge.transposed_convolution import ConvTransposeOp
from ...dialects.ge.types import shape_of
from ..operands import array_in, has_floats, split_constant, take_names


@dataclass
class Linear:
    """
    An op that is linear in its first operand.

    axis      of the channels in its result
    channels  how many
    weight    the constant that a factor of the channels goes to
    bias      the constant that is added, if there is one
    adds      whether it can have one
    product   where the bias is an addition of its own: what it is added to
    """

    op: GeOp
    axis: int
    channels: int
    weight: SSAValue
    bias: SSAValue | None
    adds: bool = True
    product: GeOp | None = None


def linear_of(op: Any) -> Linear | None:
    """`op` as something linear with constant weights of floats; None for anything else."""
    found = _known(op)
    if found is None:
        return None
    constants = [found.weight, *([found.bias] if found.bias is not None else [])]
    return found if all(isinstance(v.owner, ConstantOp) and has_floats(v) for v in constants) else None


def _known(op: Any) -> Linear | None:
    match op:
        case ConvOp() | ConvTransposeOp():
            shape = shape_of(op.w.type)
            channels = shape[0] if isinstance(op, ConvOp) else shape[1] * op.group
            axis = 1 if op.format() == "NCHW" else len(shape) - 1
            return Linear(op, axis, channels, op.w, op.b)
        case GemmOp():
            columns = shape_of(op.b.type)[0 if op.transB else 1]
            if op.c is not None and shape_of(op.c.type) not in ((), (1,), (columns,), (1, 1), (1, columns)):
                return None
            return Linear(op, 1, columns, op.b, op.c)
        case MatMulOp():
            shape = shape_of(op.b.type)
            return (
                Linear(op, len(shape_of(op.y.type)) - 1, shape[1], op.b, None, adds=False) if _is_matrix(op) else None
            )
        case AddOp():
            return _with_bias(op)
        case BatchNormalizationOp():
            return Linear(op, 1, shape_of(op.scale.type)[0], op.scale, op.b) if len(shape_of(op.x.type)) > 1 else None
        case _:
            return None


def _is_matrix(op: MatMulOp) -> bool:
    return len(shape_of(op.b.type)) == 2 and len(shape_of(op.a.type)) > 1


def _with_bias(op: AddOp) -> Linear | None:
    split = split_constant(op)
    inner = split[0].owner if split else None
    if split is None or not isinstance(inner, MatMulOp) or not _is_matrix(inner) or not split[0].has_one_use():
        return None
    columns = shape_of(inner.b.type)[1]
    *outer, last = shape_of(split[1].type) or (1,)
    if any(d != 1 for d in outer) or last not in (1, columns) or op.y.type != inner.y.type:
        return None
    return Linear(op, len(shape_of(op.y.type)) - 1, columns, inner.b, split[1], product=inner)


def per_channel(value: SSAValue, linear: Linear) -> Array | None:
    """
    A constant that is combined with the result of `linear`, as an f64 scalar or vector of its channels; None where it
    is no constant, gives the result another shape, or differs along another axis.
    """
    array = array_in(value)
    result = linear.op.results[0]
    rank = len(shape_of(result.type))
    if array is None or array.ndim > rank or not has_floats(value):
        return None
    shape = (1,) * (rank - array.ndim) + array.shape
    if any(d != 1 for k, d in enumerate(shape) if k != linear.axis) or shape[linear.axis] not in (1, linear.channels):
        return None
    return array.astype(np.float64).reshape(-1)


@np.errstate(over="ignore", invalid="ignore")  # what leaves the range of a type is seen as an infinity
def rescaled(linear: Linear, scale: Array, shift: Array, replaced: Operation) -> GeOp | None:
    """
    The op that gives scale * y + shift in the place of what gives y; its constants, and a product of its own, are put
    before `replaced`. None where a weight would leave the range of its type, or cannot take the shift.

    scale, shift   f64, one element or one a channel
    """
    op, old = linear.op, array_in(linear.weight)
    assert old is not None
    if not linear.adds and shift.any():
        return None
    scales = not (scale == 1).all()
    weight = _scaled(linear, old, scale) if scales else old
    bias: Array | None = None
    if linear.bias is not None or shift.any():
        start = array_in(linear.bias)
        beta = op.beta if isinstance(op, GemmOp) else 1.0
        wide = np.zeros(1) if start is None else start.astype(np.float64).reshape(-1) * beta
        whole = wide * scale + shift
        bias = np.broadcast_to(whole, (linear.channels,)).astype(old.dtype)
    if (scales and not _is_faithful(old, weight)) or (bias is not None and not np.isfinite(bias).all()):
        return None
    new_weight = _put(weight, linear.weight, replaced) if scales else linear.weight
    new_bias = None if bias is None else _put(bias, linear.bias, replaced)
    return _on(linear, new_weight, new_bias, replaced)


def _scaled(linear: Linear, old: Array, scale: Array) -> Array:
    """The weight with each channel multiplied."""
    group = 1
    match linear.op:
        case ConvTransposeOp() as op:
            group, shape = op.group, (op.group, 1, -1, *([1] * (old.ndim - 2)))
        case ConvOp():
            shape = (-1, *([1] * (old.ndim - 1)))
        case GemmOp() as op:
            shape = (-1, 1) if op.transB else (1, -1)
        case BatchNormalizationOp():
            shape = (-1,)
        case _:
            shape = (1, -1)
    if scale.size == 1:
        factor = scale.reshape((1,) * old.ndim)
        return _multiplied(old, factor)
    if group > 1:
        grouped = old.reshape(group, old.shape[0] // group, *old.shape[1:])
        return _multiplied(grouped, scale.reshape(shape)).reshape(old.shape)
    if isinstance(linear.op, ConvTransposeOp):
        shape = shape[1:]
    return _multiplied(old, scale.reshape(shape))


def _multiplied(old: Array, factor: Array) -> Array:
    """old * factor, rounded once to the type of `old`."""
    with np.errstate(all="ignore"):
        if (np.frexp(factor)[0] == 0.5).all() and np.isfinite(factor.astype(old.dtype)).all():
            return old * factor.astype(old.dtype)  # a power of two rounds nothing
        # In parts that stay in the cache, which wide copies of the whole would not.
        new = np.empty(np.broadcast_shapes(old.shape, factor.shape), old.dtype)
        return np.multiply(old, factor, out=new, dtype=np.float64, casting="unsafe")


def _is_faithful(old: Array, new: Array) -> bool:
    """Whether the new weights have the precision of the old ones: no infinity, and no 16-bit float lost near zero."""
    if not np.isfinite(new).all():
        return False
    return old.dtype.itemsize > 2 or not ((new == 0) & (old != 0)).any()


def _put(array: Array, old: SSAValue | None, before: Operation) -> SSAValue:
    module, block = find_module(before), before.parent_block()
    assert module is not None
    assert block is not None
    new = constant(array, module)
    if old is not None and isinstance(old.owner, ConstantOp):
        take_names(new, old.owner)
    block.insert_op_before(new, before)
    return new.output


def _on(linear: Linear, weight: SSAValue, bias: SSAValue | None, replaced: Operation) -> GeOp:
    op: Any = linear.op
    match op:
        case ConvOp() | ConvTransposeOp():
            new = op.rebuilt([op.x, weight, bias])
        case GemmOp():
            new = op.rebuilt([op.a, weight, bias], beta=1.0)
        case MatMulOp():
            new = op.rebuilt([op.a, weight])
        case AddOp():
            inner: Any = linear.product
            product = inner.rebuilt([inner.a, weight])
            block = replaced.parent_block()
            assert block is not None
            block.insert_op_before(product, replaced)
            new = op.rebuilt([product.y, bias])
        case _:
            new = op.rebuilt([op.x, weight, bias, op.mean, op.var])
    return new
