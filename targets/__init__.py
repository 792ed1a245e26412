"""
Chips: how big a chip's L2 cache is, how fast its memory, and where each number comes from.

    l2-fusion --target=ascend910b1      ->      get("ascend910b1").l2_bytes == 192 MiB

Figures that follow from a target are modelled, never measured: reports say so next to the figure.
Files: target.py (the dataclass), ascend.py (the chips), generic.py (the brief's machine, a CPU), registry.py (names).
Knows neither the IR nor the planners; a `Target` has the shape that `planning.Machine` asks for.
"""

from .registry import get, names
from .target import MIB, Target

__all__ = ["MIB", "Target", "get", "names"]
