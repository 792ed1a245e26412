"""Tile cases of the plugin that the tests install."""

from typing import Any

import numpy as np
from acme_ge.dialect import SwishOp


def swish(rng: np.random.Generator) -> Any:
    return SwishOp, [rng.standard_normal(rng.integers(1, 6, 3)).astype(np.float32)], {"alpha": 1.5}


CASES = {"acme.swish": swish}
