"""What normalisations have in common: something over the root of the mean of its squares."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.ir import Operation, SSAValue

from ...dialects.ge.arithmetic import AddOp, DivOp, MulOp, PowOp
from ...dialects.ge.constants import constant
from ...dialects.ge.data import find_module
from ...dialects.ge.elementwise import Binary
from ...dialects.ge.math import ReciprocalOp, SqrtOp
from ...dialects.ge.reduction import ReduceMeanOp
from ...dialects.ge.shapes import numbers_in
from ...dialects.ge.types import element_of, shape_of
from ..operands import element_type, has_floats, number, split_constant


@dataclass
class OverDeviation:
    """
    x / sqrt(mean of x * x over the last axes + epsilon)

    axis   the first of the axes
    ops    that compute it, the last one not among them
    """

    x: SSAValue
    axis: int
    epsilon: float
    ops: list[Operation]


def over_deviation(op: DivOp | MulOp) -> OverDeviation | None:
    """What `op` normalises, if it does, by its last axes in f32 or less."""
    ops: list[Operation] = []
    for x, divisor in _quotients(op):
        ops.clear()
        under = _under_root(divisor, ops, inverse=isinstance(op, MulOp))
        found = _mean_square(x, under, ops) if under is not None else None
        if found is None:
            continue
        axis, epsilon = found
        if x.type == op.y.type and has_floats(x) and element_of(element_type(x)).bits <= 32:
            return OverDeviation(x, axis, epsilon, list(ops))
    return None


def _quotients(op: Binary) -> list[tuple[SSAValue, SSAValue]]:
    return [(op.a, op.b), (op.b, op.a)] if isinstance(op, MulOp) else [(op.a, op.b)]


def _under_root(value: SSAValue, ops: list[Operation], *, inverse: bool) -> SSAValue | None:
    """v where `value` is its root or, with `inverse`, one over it."""
    op = value.owner
    if inverse:
        match op:
            case ReciprocalOp():
                ops.append(op)
                return _under_root(op.x, ops, inverse=False)
            case DivOp() if number(op.a) == 1:
                ops.append(op)
                return _under_root(op.b, ops, inverse=False)
            case PowOp() if number(op.y) == -0.5:
                ops.append(op)
                return op.x
            case _:
                return None
    if isinstance(op, SqrtOp) or (isinstance(op, PowOp) and number(op.y) == 0.5):
        ops.append(op)
        return op.x
    return None


def _mean_square(x: SSAValue, value: SSAValue, ops: list[Operation]) -> tuple[int, float] | None:
    """The first axis and what is added, where `value` is the mean of x * x plus a small number."""
    epsilon = 0.0
    if isinstance(value.owner, AddOp):
        split = split_constant(value.owner)
        added = number(split[1]) if split else None
        if split is None or added is None or not 0 <= added < 1:
            return None
        ops.append(value.owner)
        value, epsilon = split[0], added
    mean = value.owner
    if not isinstance(mean, ReduceMeanOp) or (axis := last_axes(mean)) is None:
        return None
    square = mean.data.owner
    by_power = isinstance(square, PowOp) and square.x is x and number(square.y) == 2
    if not by_power and not (isinstance(square, MulOp) and square.a is x and square.b is x):
        return None
    assert isinstance(square, Operation)
    ops += [mean, square]
    return axis, epsilon


def last_axes(op: ReduceMeanOp) -> int | None:
    """The first of the axes that a mean goes over, where they are all from there on and stay as dims of 1."""
    if op.axes is not None and numbers_in(op.axes) is None:
        return None
    rank, axes = len(shape_of(op.data.type)), sorted(op.reduced_axes())
    if not op.keepdims or not axes or axes != list(range(axes[0], rank)):
        return None
    return axes[0]


def read_only_by(ops: list[Operation], last: Operation) -> bool:
    """Whether nothing but they themselves and `last` reads what `ops` compute."""
    inside = {*ops, last}
    return all(use.operation in inside for op in ops for result in op.results for use in result.uses)


def ones_like_tail(x: SSAValue, axis: int, before: Operation) -> SSAValue | None:
    """Ones of the dims of `x` from `axis` on, put before an op; None where one is free."""
    shape = shape_of(x.type)[axis:]
    module, block = find_module(before), before.parent_block()
    if any(d < 1 for d in shape) or module is None or block is None:
        return None
    ones: Any = constant(np.broadcast_to(np.ones((), element_of(element_type(x)).dtype), shape), module)
    block.insert_op_before(ones, before)
    return ones.output
