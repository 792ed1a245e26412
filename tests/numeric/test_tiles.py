"""
The tile contract: for every op that tiles, plugins included, tiles put together equal the whole.

Cases stand in tile_cases_<family>.py, a dict `CASES` of op name -> function(rng) -> (op class, operand arrays, keyword
arguments of the op), None for an absent operand; called several times, it gives shapes and attributes of its choice.
An op that tiles and has no case fails. What a tile computes must have the whole's bits. Sums of floats take numpy's
order, which depends on an array's layout, so cases of products and sums have small integers for elements, whose sums
are exact in any order; where that cannot be (a sum of exponentials), `SUMS` in the same module names the op, and it is
computed with sums that are exact all the same.
"""

import importlib
import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from xdsl.dialects import test
from xdsl.ir import Operation, SSAValue

from gecc.dialects.ge import Ge
from gecc.dialects.ge.constants import ConstantOp
from gecc.dialects.ge.data import INLINE, value_of
from gecc.dialects.ge.interfaces import Box, Elementwise, Tiles, box_shape, made_for
from gecc.dialects.ge.types import element_of, shape_of, tensor_type
from gecc.dialects.ort import Ort
from gecc.driver.plugins import find_plugins
from gecc.reference import evaluate, evaluate_exactly

FILES = sorted(Path(__file__).parent.glob("tile_cases_*.py"))
MODULES = [importlib.import_module(f".{file.stem}", __package__) for file in FILES]
CASES = {name: case for module in MODULES for name, case in module.CASES.items()}
SUMS = {name for module in MODULES for name in getattr(module, "SUMS", ())}
EXAMPLES = 30
"""Calls of a case's function."""


def tiling_ops() -> set[str]:
    dialects = [Ge, Ort, *(load() for plugin in find_plugins(pytest.fail) for load in plugin.dialects.values())]
    return {op.name for dialect in dialects for op in dialect.operations if issubclass(op, Tiles)}


def test_every_op_that_tiles_has_a_case() -> None:
    assert sorted(tiling_ops() ^ CASES.keys()) == []


@pytest.mark.parametrize("name", sorted(CASES))
def test_tiles_put_together_are_the_whole(name: str) -> None:
    for seed in range(EXAMPLES):
        rng = np.random.default_rng(seed)
        cls, arrays, attributes = CASES[name](rng)
        assert cls.name == name
        op = cls(*map(value, arrays), **attributes)
        op.verify()
        check(op, [a for a in arrays if a is not None], rng)


def value(array: np.ndarray | None) -> SSAValue | None:
    """A small vector is a constant, as operands that say shapes and axes must be; anything else is just a value."""
    if array is None:
        return None
    type_ = tensor_type(element_of(array.dtype).type, array.shape)
    if array.ndim <= 1 and array.nbytes <= INLINE:
        return ConstantOp(value_of(array), type_).output
    return test.TestOp(result_types=[type_]).results[0]


def check(op: Operation, arrays: list[np.ndarray], rng: np.random.Generator) -> None:
    assert isinstance(op, Tiles)
    whole = compute(op, arrays)
    shape = shape_of(op.results[0].type)
    words = op.loops()
    assert set(words[: len(shape)]) <= {"parallel", "whole"}
    assert set(words[len(shape) :]) <= {"reduction"}
    for tile in random_tiles(shape, words, rng):
        boxes = op.operand_tiles(tile)
        cut = [part(array, box) for array, box in zip(arrays, boxes, strict=True)]
        values = [value(array) for array in cut]
        tile_op = op.on_tile(tile, values)
        where = f"{op}\n{words}\ntile {tile} of operands {boxes}\n{tile_op}"
        assert shape_of(tile_op.results[0].type) == box_shape(tile), where
        for found, all_ in zip(computed(tile_op, dict(zip(values, cut, strict=True))), whole, strict=True):
            compare(found, all_[cut_of(tile, shape)], where)


def cut_of(tile: Box, shape: Sequence[int]) -> tuple[slice, ...]:
    """What a tile is of any result: they are cut alike, and may be of other sizes along the axes that are not cut."""
    index = [slice(o, o + s) if (o, s) != (0, d) else slice(None) for (o, s), d in zip(tile, shape, strict=True)]
    return tuple(index[: max((k + 1 for k, part in enumerate(index) if part != slice(None)), default=0)])


def compute(op: Operation, arrays: Sequence[np.ndarray]) -> list[Any]:
    if isinstance(op, Elementwise) and not op.name.startswith(("ge.", "ort.")):
        # An operator that the onnx package does not know: its meaning is its function.
        with np.errstate(all="ignore"):
            return [np.asarray(op.scalar(np, *arrays), dtype=arrays[0].dtype)]
    return (evaluate_exactly if op.name in SUMS else evaluate)(op, arrays)


def computed(tile_op: Operation, known: dict[SSAValue, np.ndarray]) -> list[Any]:
    """The results of what `on_tile` made of values that are known."""
    for op in made_for(tile_op):
        if op.results[0] not in known:
            op.verify()
            known.update(zip(op.results, compute(op, [known[v] for v in op.operands]), strict=True))
    return [known[r] for r in tile_op.results]


def random_tiles(shape: Sequence[int], words: Sequence[str], rng: np.random.Generator) -> list[Box]:
    """A grid of uneven tiles over the result; axes that must be whole are."""
    axes: list[list[tuple[int, int]]] = []
    tiles = 1
    for size, word in zip(shape, words, strict=False):
        most = min(size, 3, 12 // tiles) if word == "parallel" else 1
        parts = int(rng.integers(1, most + 1)) if most > 1 else 1
        tiles *= parts
        cuts = [0, *sorted(rng.choice(np.arange(1, size), parts - 1, replace=False).tolist()), size] if size else [0, 0]
        axes.append([(a, b - a) for a, b in itertools.pairwise(cuts)])
    return list(itertools.product(*axes))


def part(array: np.ndarray, box: Box) -> np.ndarray:
    assert len(box) == array.ndim
    assert all(o >= 0 and s >= 0 and o + s <= d for (o, s), d in zip(box, array.shape, strict=True)), (box, array.shape)
    return np.ascontiguousarray(array[tuple(slice(o, o + s) for o, s in box)]).reshape(box_shape(box))


def compare(found: np.ndarray, expected: np.ndarray, where: str) -> None:
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype), where
    if found.tobytes() != expected.tobytes():
        pytest.fail(f"{where}\n{found.ravel()[:20]}\nmust be\n{expected.ravel()[:20]}")
