"""The bytes that a program on buffers works in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from xdsl.ir import Operation

from ..dialects.ge.errors import InputError
from ..dialects.ge.memory import LaunchOp

Array: TypeAlias = "npt.NDArray[Any]"
Compute: TypeAlias = "Callable[[Sequence[Array]], Sequence[Array]]"

POISON = 0xFF
"""NaN in every float, -1 in every signed integer."""


MOST_WORK = 100_000
"""Candidates for a common byte that are looked at: whether strides meet is a hard problem where there are many."""


class Arena:
    """Poison at first. Given to a second run, it holds what the first one left there, as a session's memory does."""

    def __init__(self) -> None:
        self.bytes: Array = np.zeros(0, np.uint8)

    def take(self, size: int) -> Array:
        """`size` bytes, the same ones each time."""
        if len(self.bytes) != size:
            self.bytes = np.full(size, POISON, np.uint8)
        return self.bytes

    def before(self, op: Operation) -> None:
        """Hears of each op before it runs, those in bodies too."""

    def launch(self, op: LaunchOp, ins: Sequence[Array], outs: Sequence[Array], compute: Compute) -> None:
        """
        Runs a launch. What its body sees is the contents at the start: a result may lie over an operand.

        compute   what the body yields
        raises    InputError where a result overlaps an operand otherwise than index over index, or another result
        """
        _refuse_overlaps(ins, outs)
        for buffer, value in zip(outs, compute([np.array(x) for x in ins]), strict=True):
            if buffer.shape != np.shape(value):
                raise InputError(f"a launch gives {np.shape(value)} for a buffer of {buffer.shape}")
            buffer[...] = value


def lies_over(result: Array, operand: Array) -> bool:
    """Whether each index of two buffers is the same bytes."""
    places = [(x.ctypes.data, x.shape, x.strides, x.itemsize) for x in (result, operand)]
    return places[0] == places[1]


def overlaps(one: Array, other: Array) -> bool:
    """Whether two buffers have a byte in common, as far as that is found out in a few milliseconds."""
    try:
        return np.shares_memory(one, other, max_work=MOST_WORK)
    except np.exceptions.TooHardError:
        return False


def _refuse_overlaps(ins: Sequence[Array], outs: Sequence[Array]) -> None:
    for k, out in enumerate(outs):
        if any(not lies_over(out, x) and overlaps(out, x) for x in ins):
            raise InputError("a launch writes a result over an operand, but not index over index")
        if any(overlaps(out, other) for other in outs[:k]):
            raise InputError("a launch writes two results to the same bytes")
