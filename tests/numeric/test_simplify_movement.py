"""Movement and shape arithmetic over free dims: every pass alone, and again and again, for every size, 0 included."""

import numpy as np
import pytest
from onnx import ModelProto
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from gecc.dialects.ge.errors import InputError
from gecc.frontend import export_model, import_model
from gecc.reference import run
from gecc.transforms.catalog import get_all_passes

from .free_programs import feeds, program

PASSES = [
    "repeated-constant-folding",
    "constant-folding",
    "dimension-compute",
    "dimension-adjust",
    "transpose-propagation",
    "dim1-transpose-to-squeeze",
    "no-use-reshape-remove",
    "cascade-reshape-remove",
    "redundant-slice-remove",
    "slice-forward-fusion",
    "concat-slice-simplification",
    "pad-slice-optimize",
    "gather-forward-fusion",
    "broadcast-reduce-elimination",
    "replace-with-empty-const",
    "remove-same-const",
    "common-subexpression-elimination",
    "merge-shape-arithmetic",
    "prune",
]
SIZES = [(2, 3), (1, 1), (0, 3), (3, 1)]


def outputs(module: ModuleOp) -> list[dict[str, np.ndarray] | None]:
    """By size; None where the program refuses it."""
    found: list[dict[str, np.ndarray] | None] = []
    for sizes in SIZES:
        try:
            found.append(run(module, feeds(*sizes)))
        except InputError:
            found.append(None)
    return found


def check(module: ModuleOp, wanted: list[dict[str, np.ndarray] | None], when: str) -> None:
    for sizes, before, after in zip(SIZES, wanted, outputs(module), strict=True):
        for name, value in (before or {}).items():
            assert after is not None, f"{when} {sizes}"
            assert after[name].shape == value.shape, f"{when} {sizes}: {name}"
            # Sums may be of elements in another order.
            assert np.allclose(after[name], value, rtol=1e-5, atol=1e-5, equal_nan=True), f"{when} {sizes}: {name}"


def applied(name: str, module: ModuleOp) -> None:
    get_all_passes()[name]()().apply(Context(), module)
    module.verify()


@pytest.mark.parametrize("seed", range(8))
def test_each_pass_alone_keeps_values(seed: int):
    model: ModelProto = program(seed)
    wanted = outputs(import_model(model))
    for name in PASSES:
        module = import_model(model)
        applied(name, module)
        check(module, wanted, f"{name} on program {seed}")


@pytest.mark.parametrize("seed", range(100, 130))
def test_all_of_them_keep_values_and_come_to_an_end(seed: int):
    model = program(seed, steps=16)
    module = import_model(model)
    wanted = outputs(module)
    for _ in range(4):
        for name in PASSES:
            applied(name, module)
    check(module, wanted, f"program {seed}")
    text = str(module)
    for name in PASSES:
        applied(name, module)
    assert str(module) == text
    assert len(export_model(module).graph.node) <= len(model.graph.node)
