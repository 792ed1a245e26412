"""Every model at hand: the onnx package's backend suite, small models that optimisers got wrong, networks."""

import functools
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import onnx
from onnx import ModelProto

from .whole_models import names as network_names
from .whole_models import whole

KINDS = ("node", "simple", "pytorch-operator", "pytorch-converted")
CASES = Path(__file__).parents[1] / "data" / "cases"
PARTS = 8
"""Into which tests cut the suite, for several processes."""


@functools.cache
def backend_cases() -> list[tuple[str, Any]]:
    """The suite's cases by name; making them takes 6 seconds of the processor."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from onnx.backend.test.loader import load_model_tests

        found = {f"{kind}/{case.name}": case for kind in KINDS for case in load_model_tests(kind=kind)}
    return sorted(found.items())


def backend_models(part: int = 0, parts: int = 1) -> Iterator[tuple[str, ModelProto]]:
    """Every `parts`-th model of the suite, from number `part` on."""
    for name, case in backend_cases()[part::parts]:
        model = case.model
        yield name, onnx.load(Path(case.model_dir) / "model.onnx") if model is None else model


def small_models() -> Iterator[tuple[str, Path]]:
    for path in sorted(CASES.glob("*.onnx")):
        yield path.stem, path


def networks() -> Iterator[tuple[str, ModelProto]]:
    """Graphs of real models with fewer channels."""
    for name in network_names():
        yield name, whole(name)


def sources(part: int, parts: int = PARTS) -> Iterator[tuple[str, ModelProto | Path]]:
    """All of them, a part of each kind."""
    yield from backend_models(part, parts)
    for kind in (small_models, networks):
        yield from list(kind())[part::parts]
