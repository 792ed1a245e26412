"""The bytes that a program on buffers works in."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from xdsl.ir import Operation

POISON = 0xFF
"""NaN in every float, -1 in every signed integer."""


class Arena:
    """Poison at first. Given to a second run, it holds what the first one left there, as a session's memory does."""

    def __init__(self) -> None:
        self.bytes: npt.NDArray[Any] = np.zeros(0, np.uint8)

    def take(self, size: int) -> npt.NDArray[Any]:
        """`size` bytes, the same ones each time."""
        if len(self.bytes) != size:
            self.bytes = np.full(size, POISON, np.uint8)
        return self.bytes

    def before(self, op: Operation) -> None:
        """Hears of each op before it runs, those in bodies too."""
