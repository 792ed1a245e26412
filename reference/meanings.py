"""
Our own meanings, as numpy on whole arrays, of ops for which the onnx package's evaluator is too slow to run a network,
or wrong. The backend suite of the onnx package holds them to its text. Files: nn.py (windows, quantised products,
normalisations), movement.py (indices, slices, resizing), plain.py (what is one numpy call),
elementwise.py (numbers).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .elementwise import ELEMENTWISE
from .movement import MOVEMENT
from .nn import NN
from .plain import PLAIN

MEANINGS: dict[type, Callable[[Any, Sequence[Any]], list[Any] | None]] = {**PLAIN, **ELEMENTWISE, **MOVEMENT, **NN}
"""Op -> its meaning, which may answer None to leave a case to ONNX's evaluator."""
