"""
ATC's three flags for models of several shapes. Each fills the -1 in --input_shape, one way a gear:

    --input_shape=x:-1,3,224,224 --dynamic_batch_size=1,2,4              x:1,3,224,224  x:2,3,224,224  x:4,3,224,224
    --input_shape=x:1,3,-1,-1 --dynamic_image_size="224,224;256,320"     x:1,3,224,224  x:1,3,256,320
    --input_shape="x:-1,-1;y:-1,8" --dynamic_dims="1,16,1;2,32,2"        x:1,16;y:1,8   x:2,32;y:2,8
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from ..dialects.ge.errors import UsageError
from .shapes import Dim, fixed

Shapes = Mapping[str, tuple[Dim, ...]]

FLAGS = {
    "dynamic_batch_size": "1,2,4: batch sizes that share one arena, for the -1 in --input_shape=x:-1,3,224,224",
    "dynamic_image_size": "224,224;256,320: heights and widths, for the -1 in --input_shape=x:1,3,-1,-1",
    "dynamic_dims": "1,16;2,32: a size for each -1 in --input_shape, in its order, and ; between gears",
}

MOST = 100
"""Gears that ATC allows."""

IMAGE = 4
"""The rank of a batch of images, whose last two dims are height and width."""


def dynamic_gears(given: Mapping[str, str], shapes: Shapes) -> list[dict[str, tuple[int, ...]]]:
    """
    The shapes of each gear; none where no flag of the three is given.

    raises  UsageError
    """
    flags = [name for name in FLAGS if name in given]
    if not flags:
        return []
    if len(flags) > 1:
        raise UsageError(f"--{flags[0]} and --{flags[1]} exclude each other")
    flag, text = flags[0], given[flags[0]]
    said = f"--{flag}={text}"
    known = fixed(shapes)
    if known != shapes:
        raise UsageError(f"{said}: --input_shape has several sizes for a dim already; write -1 there")
    free = [(name, axis) for name, dims in known.items() for axis, dim in enumerate(dims) if dim == -1]
    if not free:
        raise UsageError(f"{said} fills the -1 in --input_shape, and there is none")
    rows = list(_rows(text.replace(",", ";") if flag == "dynamic_batch_size" else text, said))
    places = _places(flag, said, free, shapes)
    for row in rows:
        if len(row) != max(places.values()) + 1:
            raise UsageError(f"{said}: a gear has {max(places.values()) + 1} sizes, got {','.join(map(str, row))}")
    if len(set(rows)) < len(rows):
        raise UsageError(f"{said}: a gear stands there twice")
    if len(rows) > MOST:
        raise UsageError(f"{said}: {len(rows)} gears, {MOST} at most")
    return [
        {
            name: tuple(row[places[name, axis]] if dim == -1 else dim for axis, dim in enumerate(dims))
            for name, dims in known.items()
        }
        for row in rows
    ]


def _rows(text: str, said: str) -> Iterator[tuple[int, ...]]:
    for part in text.rstrip(";").split(";"):
        sizes = [size.strip() for size in part.split(",")]
        wrong = next((size for size in sizes if not re.fullmatch(r"[1-9]\d*", size)), None)
        if wrong is not None:
            raise UsageError(f"{said}: '{wrong}' is no size; a size is a number from 1 on")
        yield tuple(map(int, sizes))


def _places(flag: str, said: str, free: list[tuple[str, int]], shapes: Shapes) -> dict[tuple[str, int], int]:
    """Which of a gear's sizes each free dim takes."""
    if flag == "dynamic_batch_size":
        allowed = {(name, 0): 0 for name in shapes}
        where = "the first dim"
    elif flag == "dynamic_image_size":
        images = [name for name, dims in shapes.items() if len(dims) == IMAGE]
        allowed = {(name, IMAGE - 2 + k): k for name in images for k in (0, 1)}
        where = "height and width of NCHW"
    else:
        return {place: k for k, place in enumerate(free)}
    for name, axis in free:
        if (name, axis) not in allowed:
            raise UsageError(f"{said} is for {where}; dim {axis} of '{name}' is -1 too: use --dynamic_dims")
    return allowed
