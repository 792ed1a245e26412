"""`--input-shape=x:1,3,224,224;y:1,77`: what the free dims of a model's inputs are to be."""

from __future__ import annotations

import re

from ..dialects.ge.errors import UsageError


def parse_input_shapes(text: str) -> dict[str, tuple[int, ...]]:
    """
    Dims by input, -1 for one that stays free; `x:` is a scalar.

    A name may hold colons (`serving:0`): the last one separates.
    raises  UsageError
    """
    shapes: dict[str, tuple[int, ...]] = {}
    for part in filter(None, (part.strip() for part in text.split(";"))):
        name, colon, dims = part.rpartition(":")
        if not colon or not name:
            raise UsageError(f"input shape '{part}' has no name; write name:1,3,224,224 and ; between inputs")
        if "~" in dims:
            raise UsageError(f"not available in this version: ranges such as '{part}'; give numbers")
        found = [dim.strip() for dim in dims.split(",")] if dims.strip() else []
        wrong = [dim for dim in found if not re.fullmatch(r"\d+|-1|\?", dim)]
        if wrong:
            raise UsageError(f"input shape '{part}': '{wrong[0]}' is no dim; a dim is a number, or -1 to stay free")
        if name in shapes:
            raise UsageError(f"input shape of '{name}' is given twice")
        shapes[name] = tuple(-1 if dim == "?" else int(dim) for dim in found)
    return shapes
