"""
Constants in another float type.

A finite number beyond the new type's range becomes the largest that it has: made an infinity it would mean another
thing (0 * inf is no number, and so is the softmax of a row that is -inf throughout). An infinity stays one: every float
type has it, and where a mask is -inf the ops around it took it as such before. (A row of attention that is masked
throughout has no meaning: it is uniform in f32, and near that in f16.) Of a constant that is one number
throughout, what would vanish becomes the smallest that there is: such a number guards a division or a logarithm.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import ml_dtypes
import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute

from ...dialects.ge.attributes import SplatAttr
from ...dialects.ge.constants import ConstantOp, constant
from ...dialects.ge.data import Array, array_of
from ...dialects.ge.types import Element


@dataclass(frozen=True)
class Converted:
    """
    value, type   the data in the new type
    clipped       elements that were beyond its range
    guarded       whether it is one number that would have vanished
    """

    value: Attribute
    type: Attribute
    clipped: int
    guarded: bool


class Converter:
    """Converts each constant once, also where several ops hold the same data."""

    def __init__(self, module: ModuleOp, target: Element) -> None:
        self._module, self._target = module, target
        self._found: dict[tuple[Attribute, Attribute], Converted] = {}

    def of(self, op: ConstantOp) -> Converted:
        return self.of_data(op.value, op.output.type)

    def of_data(self, value: Attribute, type_: Attribute) -> Converted:
        """Of the data that a `ge.constant` would have; raises InputError where its file is missing or too short."""
        found = self._found.get((value, type_))
        if found is None:
            given = array_of(value, type_, self._module)
            array, clipped, guarded = converted(given, self._target, isinstance(value, SplatAttr))
            made = constant(array, self._module)
            found = self._found[value, type_] = Converted(made.value, made.output.type, clipped, guarded)
        return found


def converted(array: Array, target: Element, splat: bool = False) -> tuple[Array, int, bool]:
    """
    `array` in the type of `target`; how many finite elements were beyond its range; whether it is one number (which
    `splat` says, or its size) that would have vanished.
    """
    if splat and array.size:
        one, clipped, guarded = converted(array[(slice(0, 1),) * array.ndim], target)
        return np.broadcast_to(one, array.shape), clipped * array.size, guarded
    limits = cast(Any, ml_dtypes.finfo(target.dtype))
    with np.errstate(all="ignore"):
        out = np.array(array.astype(target.dtype))  # an array too where numpy gives a number
    infinite = np.isinf(out)
    clipped, guarded = 0, False
    if infinite.any():
        beyond = infinite & np.isfinite(array)
        clipped = int(np.count_nonzero(beyond))
        out[beyond] = np.copysign(limits.max, array[beyond])
    if out.size == 1 and not out.any() and array.any():
        out[...] = np.copysign(limits.smallest_subnormal, array)
        guarded = True
    return out, clipped, guarded
