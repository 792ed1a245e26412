"""What the benches share: sizes for the free dims of a model, and calls in a process of their own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import onnx


def input_shapes(path: Path, dims: Mapping[str, int], other: int) -> dict[str, list[int]]:
    """Of the inputs that have free dims; `dims` by symbol, `other` for the rest."""
    graph = onnx.load(path, load_external_data=False).graph
    constants = {tensor.name for tensor in graph.initializer}
    shapes: dict[str, list[int]] = {}
    for info in graph.input:
        declared = info.type.tensor_type.shape.dim
        if info.name not in constants and any(not d.HasField("dim_value") for d in declared):
            sizes = (d.dim_value if d.HasField("dim_value") else dims.get(d.dim_param, other) for d in declared)
            shapes[info.name] = list(sizes)
    return shapes


def apart(function: Callable[..., Any], *args: Any) -> Any:
    """A call in a process of its own: what one model takes is gone before the next one."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(function, *args).result()
