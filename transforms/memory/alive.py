"""
Bytes alive at each step, before anything is built: what a choice costs of the smallest arena that could be.

Values that share bytes are one class. It lives from its first step to its last, as the slot will that becomes of it;
what the caller holds counts nothing.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from xdsl.ir import SSAValue

from ...dialects.ge.types import nbytes
from ...planning import align_up
from .steps import COMPUTES, Steps

ALIGNMENT = 64
"""Bytes to which sizes are rounded up."""


@dataclass(slots=True, eq=False)
class Class:
    """`first` and `last` step that touches it, both included; `size` in bytes."""

    first: int
    last: int
    size: int


class Alive:
    """
    Classes of the values that launches compute.

    over    result -> the operand that it lies over
    homes   values that are computed into the caller's memory
    room    bytes alive that nobody minds, though there be fewer so far

    cost    linear in ops; `merge` linear in the steps that the classes live for
    """

    def __init__(
        self, steps: Steps, over: Mapping[SSAValue, SSAValue], homes: Container[SSAValue], room: int = 0
    ) -> None:
        self.classes: dict[SSAValue, Class] = {}
        found: list[Class] = []
        for at, step in enumerate(steps.list):
            if step.kind in COMPUTES or step.kind == "host":
                for base in map(steps.base, step.reads):
                    if base in self.classes:
                        self.classes[base].last = at
            if step.kind == "control":
                found.append(Class(at, at, steps.rules.workspace(step.op, steps)))
            if step.kind in COMPUTES:
                for result in [r for r in step.op.results if r.first_use is not None] or step.op.results:
                    if result in over:
                        self.classes[result] = self.classes[steps.base(over[result])]
                        continue
                    size = 0 if result in homes else align_up(nbytes(result.type), ALIGNMENT)
                    self.classes[result] = Class(at, at, size)
                    found.append(self.classes[result])
        for base in map(steps.base, steps.returned):
            if base in self.classes:
                self.classes[base].last = len(steps.list)
        change = np.zeros(len(steps.list) + 2, np.int64)
        for one in found:
            change[one.first] += one.size
            change[one.last + 1] -= one.size
        self._bytes: npt.NDArray[Any] = np.cumsum(change)
        self.peak = int(self._bytes.max())
        self._room = room

    def merge(self, whole: Class, parts: Iterable[Class]) -> bool:
        """Makes the parts bytes of the whole, if the peak does not rise by it, or no further than to the room."""
        old = [whole, *parts]
        first, last = min(c.first for c in old), max(c.last for c in old)
        window = self._bytes[first : last + 1]
        new = window + whole.size
        for one in old:
            new[one.first - first : one.last + 1 - first] -= one.size
        most = int(new.max())
        if most > max(self.peak, self._room):
            return False
        fell = window.max() == self.peak > most
        window[:] = new
        self.peak = int(self._bytes.max()) if fell else max(self.peak, most)
        whole.first, whole.last = first, last
        for one in old[1:]:
            one.first, one.last, one.size = first, last, 0
        return True
