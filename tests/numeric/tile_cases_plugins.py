"""Tile cases of the plugin that the tests have, where it is installed."""

from importlib.util import find_spec
from typing import Any

import numpy as np


def swish(rng: np.random.Generator) -> Any:
    from acme_ge.dialect import SwishOp

    return SwishOp, [rng.standard_normal(rng.integers(1, 6, 3)).astype(np.float32)], {"alpha": 1.5}


CASES = {} if find_spec("acme_ge") is None else {"acme.swish": swish}
