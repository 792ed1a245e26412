"""
Ops in terms of other ops: what an op that is `Composed` (interfaces.py) is made of.

    def expansion(self, make, x):
        return make(MulOp, x, make(SigmoidOp, x))
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.ir import Attribute, Operation, SSAValue

from .arithmetic import AddOp, MulOp, SubOp
from .constants import ConstantOp
from .conversion import CastOp
from .core import GeOp
from .data import value_of
from .gather import GatherOp
from .info import info_of_type
from .interfaces import Composed
from .math import ReciprocalOp, SqrtOp
from .movement import ReshapeOp, TransposeOp
from .reduction import ReduceMeanOp
from .shape import RangeOp, ShapeOp
from .slicing import SliceOp
from .types import element_of, tensor_type


class Maker:
    """Makes ops one after the other; `ops` has them in order."""

    def __init__(self) -> None:
        self.ops: list[Operation] = []

    def __call__(self, kind: type[GeOp], *operands: SSAValue | None, **attrs: Any) -> SSAValue:
        """The first result of a new op."""
        return self.all(kind, *operands, **attrs)[0]

    def all(self, kind: type[GeOp], *operands: SSAValue | None, **attrs: Any) -> Sequence[SSAValue]:
        self.ops.append(kind(*operands, **attrs))
        return self.ops[-1].results

    def constant(self, array: Any) -> SSAValue:
        """A small constant, or one of a single number."""
        array = np.asarray(array)
        op = ConstantOp(value_of(array), tensor_type(element_of(array.dtype).type, array.shape))
        self.ops.append(op)
        return op.output

    def ints(self, *values: int) -> SSAValue:
        """A vector of i64."""
        return self.constant(np.array(values, np.int64))

    def number(self, value: float, like: SSAValue) -> SSAValue:
        """A scalar of the element type of `like`."""
        return self.constant(np.asarray(value).astype(element_of(element(like)).dtype))

    def cast(self, x: SSAValue, to: Attribute) -> SSAValue:
        return x if element(x) == to else self(CastOp, x, to=to)

    def reshape(self, x: SSAValue, *dims: int) -> SSAValue:
        """0 is the dim of `x` that stands there, -1 what is left."""
        return self(ReshapeOp, x, self.ints(*dims))

    def slice(self, x: SSAValue, start: int, end: int, axis: int) -> SSAValue:
        return self(SliceOp, x, self.ints(start), self.ints(end), self.ints(axis))

    def size(self, x: SSAValue, axis: int) -> SSAValue:
        """How long an axis is, a scalar of i64."""
        return self(GatherOp, self(ShapeOp, x), self.constant(np.int64(axis)))

    def count(self, stop: SSAValue) -> SSAValue:
        """0, 1, ... below a scalar of i64."""
        return self(RangeOp, self.constant(np.int64(0)), stop, self.constant(np.int64(1)))

    def transpose(self, x: SSAValue, *perm: int) -> SSAValue:
        return self(TransposeOp, x, perm=perm)


def element(value: SSAValue) -> Attribute:
    return info_of_type(value.type).element


def expanded(op: GeOp, operands: Sequence[SSAValue | None]) -> tuple[list[Operation], list[SSAValue]]:
    """The ops that `op`, which is `Composed`, means on `operands` (by slot), and their values that are its results."""
    assert isinstance(op, Composed)
    make = Maker()
    results = op.expansion(make, *operands)
    return make.ops, [results] if isinstance(results, SSAValue) else list(results)


def normalised(
    make: Maker, x: SSAValue, axis: int, epsilon: float, stash: Attribute
) -> tuple[SSAValue, SSAValue, SSAValue]:
    """
    x less its mean, over its deviation, both over `axis` and all after it and computed in elements of `stash`; then the
    mean and 1 / deviation, in `stash`.
    """
    wide = make.cast(x, stash)
    mean = make(ReduceMeanOp, wide, _tail(make, x, axis))
    y, inverse = deviated(make, make(SubOp, wide, mean), axis, epsilon, stash)
    return make.cast(y, element(x)), mean, inverse


def deviated(make: Maker, x: SSAValue, axis: int, epsilon: float, stash: Attribute) -> tuple[SSAValue, SSAValue]:
    """x over its deviation from 0, in x's element type, and 1 / deviation; as `normalised`."""
    wide = make.cast(x, stash)
    variance = make(ReduceMeanOp, make(MulOp, wide, wide), _tail(make, x, axis))
    inverse = make(ReciprocalOp, make(SqrtOp, make(AddOp, variance, make.number(epsilon, variance))))
    return make.cast(make(MulOp, wide, inverse), element(x)), inverse


def _tail(make: Maker, x: SSAValue, axis: int) -> SSAValue:
    rank = info_of_type(x.type).rank
    return make.ints(*range(axis % rank, rank))
