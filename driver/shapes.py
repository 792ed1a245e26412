"""
`--input-shape=x:1,3,224,224;y:1,77`: what the free dims of a model's inputs are to be.

    x:1|2|4,3,224,224      a dim of several sizes: the model becomes one function a shape (transforms/shape/gears.py)
    x:1..4,3,224,224       the same for all sizes between two bounds, which are sizes too; ATC's 1~4
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TypeAlias

from ..dialects.ge.errors import UsageError

Dim: TypeAlias = "int | tuple[int, ...]"
"""A size, -1 for one that stays free, or several."""

LONGEST_RANGE = 16
"""Sizes that two bounds may stand for: each is a function of its own."""


def parse_input_shapes(text: str) -> dict[str, tuple[Dim, ...]]:
    """
    Dims by input; `x:` is a scalar.

    A name may hold colons (`serving:0`): the last one separates.
    raises  UsageError
    """
    shapes: dict[str, tuple[Dim, ...]] = {}
    for part in filter(None, (part.strip() for part in text.split(";"))):
        name, colon, dims = part.rpartition(":")
        if not colon or not name:
            raise UsageError(f"input shape '{part}' has no name; write name:1,3,224,224 and ; between inputs")
        if name in shapes:
            raise UsageError(f"input shape of '{name}' is given twice")
        shapes[name] = tuple(_dim(dim.strip(), part) for dim in dims.split(",")) if dims.strip() else ()
    return shapes


def _dim(text: str, part: str) -> Dim:
    if text in ("?", "-1"):
        return -1
    if re.fullmatch(r"\d+", text):
        return int(text)
    if re.fullmatch(r"\d+(\s*\|\s*\d+)+", text):
        sizes = tuple(map(int, text.split("|")))
        if len(set(sizes)) < len(sizes):
            raise UsageError(f"input shape '{part}': a size stands twice in '{text}'")
        return sizes
    if bounds := re.fullmatch(r"(\d+)(?:\.\.|~)(\d+)", text):
        return _between(int(bounds[1]), int(bounds[2]), f"input shape '{part}': '{text}'")
    if re.fullmatch(r"\d*(\.\.|~)\d*|\d+~-1", text):
        raise UsageError(f"input shape '{part}': '{text}' lacks a bound; memory is planned for sizes that are known")
    raise UsageError(f"input shape '{part}': '{text}' is no dim; a dim is a number, 1|2|4, 1..4, or -1 to stay free")


def _between(least: int, most: int, what: str) -> Dim:
    if least > most:
        raise UsageError(f"{what} holds no size; the smaller bound comes first")
    count = most - least + 1
    if count > LONGEST_RANGE:
        raise UsageError(
            f"{what} is {count} sizes, and each is planned for itself, {LONGEST_RANGE} at most; "
            f"list those that are run: {least}|{most}"
        )
    return tuple(range(least, most + 1)) if count > 1 else least


def fixed(shapes: Mapping[str, tuple[Dim, ...]]) -> dict[str, tuple[int, ...]]:
    """The dims that have one size; those of several stay free."""
    return {name: tuple(dim if isinstance(dim, int) else -1 for dim in dims) for name, dims in shapes.items()}


def parse_one_shape(text: str) -> dict[str, tuple[int, ...]]:
    """What `parse_input_shapes` reads, for who works on one shape at a time; raises UsageError for several sizes."""
    shapes = parse_input_shapes(text)
    for name, dims in shapes.items():
        several = next((dim for dim in dims if not isinstance(dim, int)), None)
        if several is not None:
            raise UsageError(f"input shape of '{name}': {'|'.join(map(str, several))} are several sizes; give one")
    return fixed(shapes)
