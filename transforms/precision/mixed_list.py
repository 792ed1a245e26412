"""
ATC's changes to the lists that mixed precision goes by:

    {"black-list": {"to-add": ["Softmax"], "to-remove": ["Exp"]}, "white-list": {"to-add": ["Gelu"]}}

    black    stays as it is: what loses or overflows in the narrow type by nature (nature.py)
    white    is converted whatever it reads: contractions
    gray     is converted with what it reads: everything else, and what is removed from one of the others
"""

from __future__ import annotations

from typing import Any

from ...dialects.ge.errors import UsageError
from ..config import check_json
from ..fusion.names import resolve
from .keep_list import Colour, read_text

_NAMES = {"type": "array", "items": {"type": "string", "minLength": 1}}
_LIST = {
    "type": "object",
    "additionalProperties": False,
    "properties": {"to-add": _NAMES, "to-remove": _NAMES},
}

SCHEMA: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "properties": {"black-list": _LIST, "white-list": _LIST, "gray-list": {**_LIST, "properties": {"to-add": _NAMES}}},
}

COLOURS: dict[tuple[str, str], Colour] = {
    ("black-list", "to-add"): "black",
    ("white-list", "to-add"): "white",
    ("gray-list", "to-add"): "gray",
    ("black-list", "to-remove"): "gray",
    ("white-list", "to-remove"): "gray",
}
"""Where a type stands -> the list that it comes to."""


def read_colours(path: str) -> dict[str, Colour]:
    """
    The list that each type named in the file comes to.

    raises  UsageError: file, line or key, what must stand there
    """
    content = check_json(read_text(path), SCHEMA, path)
    found: dict[str, Colour] = {}
    for (list_, change), colour in COLOURS.items():
        for name in content.get(list_, {}).get(change, ()):
            where = f"{path}: {list_}: {change}"
            try:
                kind = resolve(name)
            except ValueError as error:
                raise UsageError(f"{where}: {error}") from None
            if found.setdefault(kind, colour) != colour:
                raise UsageError(f"{where}: {name} stands there and in another list")
    return found
