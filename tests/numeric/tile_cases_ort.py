"""Tile cases of the operators that ONNX Runtime writes: their cases, as far as they tile."""

from collections.abc import Callable
from typing import Any

import numpy as np

from gecc.dialects.ge.interfaces import Tiles
from gecc.dialects.ort import ORT_OPS

from .ort_cases import CASES as NODES
from .ort_cases import Case

Rng = np.random.Generator


def tiled(cls: Any, case: Callable[[Rng], Case]) -> Callable[[Rng], Any]:
    def made(rng: Rng) -> Any:
        node = case(rng)
        attrs = {name: value for name, value in node.attrs.items() if name not in cls.onnx.implied}
        return cls, node.inputs, {**attrs, "results": list(node.outputs)}

    return made


CASES = {op.name: tiled(op, NODES[kind]) for (_, kind), op in ORT_OPS.items() if issubclass(op, Tiles)}
SUMS = {name for name in CASES if any(part in name for part in ("norm", "fused", "attention", "nbits"))}
"""Sums of what no float holds exactly."""
