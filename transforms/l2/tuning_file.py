"""
What tuning found, as a small file that is applied again.

    {"format": "gecc-tuning-2",
     "functions": {"main": {
       "structure": "5b0c...",                                                  what it was found for: ops, sizes,
       "machine": {"target": "brief-910b", "l2_bytes": 33554432, "cache": "hints", "page": 4096},
       "rules": {"fusion_threshold": 0.8, "l2_occupancy": 0.8, "blacklist": []},
       "groups": [{"begin": 0, "end": 3, "samples": 56, "outer": 6}],           ops [0, 3), 56 rows of six samples
       "kernels": [{"begin": 7, "end": 8, "samples": 56, "outer": 16}],         op 7 by itself, 16 samples at a time
       "trials": 200, "modelled": {"seconds": [2.5e-4, 2.3e-4], "bytes": [1.1e8, 1.0e8]}}}}     before and after

It holds no time and no place, so that the same study writes the same file. Files of the format before, which knew no
kernels, are read too.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast

from ...dialects.ge.errors import UsageError
from ...planning import Group
from ..config import check_json

FAMILY = "gecc-tuning-"
FORMAT = f"{FAMILY}2"
FORMATS = (FORMAT, f"{FAMILY}1")

_COUNT = {"type": "integer", "minimum": 0}
_SIZE = {"type": "integer", "minimum": 1}
_SHARE = {"type": "number", "minimum": 0, "maximum": 1}
_TWO = {"type": "array", "items": {"type": "number", "minimum": 0}, "minItems": 2, "maxItems": 2}


def _object(properties: Mapping[str, Any]) -> dict[str, Any]:
    """An object with just these keys."""
    return {
        "type": "object",
        "additionalProperties": False,
        "required": list(properties),
        "properties": dict(properties),
    }


_GROUP = _object({"begin": _COUNT, "end": _SIZE, "samples": _SIZE})
_GROUP["properties"] |= {"lines": {"type": "boolean"}, "outer": _SIZE}

_FOUND = _object(
    {
        "structure": {"type": "string"},
        "machine": _object(
            {
                "target": {"type": "string"},
                "l2_bytes": _SIZE,
                "cache": {"enum": ["hints", "plain", "write-allocate"]},
                "page": _SIZE,
            }
        ),
        "rules": _object(
            {
                "fusion_threshold": _SHARE,
                "l2_occupancy": _SHARE,
                "blacklist": {"type": "array", "items": {"type": "string"}},
            }
        ),
        "groups": {"type": "array", "items": _GROUP},
        "trials": _COUNT,
        "modelled": _object({"seconds": _TWO, "bytes": _TWO}),
    }
)
_FOUND["properties"]["kernels"] = {"type": "array", "items": _GROUP}
SCHEMA = _object({"format": {"enum": list(FORMATS)}, "functions": {"type": "object", "additionalProperties": _FOUND}})


@dataclass(frozen=True)
class Found:
    """
    The plan of one function, and what it was found for; the fields are the keys of the file.

    groups    of two and more ops
    kernels   of one op, that walks otherwise than the rule says
    """

    structure: str
    machine: Mapping[str, str | int]
    rules: Mapping[str, Any]
    groups: tuple[Group, ...]
    trials: int
    modelled: Mapping[str, tuple[float, float]]
    kernels: tuple[Group, ...] = ()


def read_tuning(path: Path) -> dict[str, Found]:
    """By function. Raises UsageError: file, line, key, what must stand there."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise UsageError(f"{path}: is not UTF-8 text") from None
    functions: dict[str, Any] = check_json(text, SCHEMA, path)["functions"]
    for found in functions.values():
        for key in ("groups", "kernels"):
            found[key] = tuple(Group(**group) for group in found.get(key, ()))
    return {name: Found(**found) for name, found in functions.items()}


def is_tuning(path: Path) -> bool:
    """Whether a file is one of tuning, of whatever format; raises OSError."""
    try:
        content: Any = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError):
        return False
    return isinstance(content, dict) and str(cast("dict[str, Any]", content).get("format")).startswith(FAMILY)


def write_tuning(path: Path, functions: Mapping[str, Found]) -> None:
    """Raises OSError; a file that stands there is replaced at once."""
    said = {
        name: {**asdict(found), **{key: [_said(g) for g in getattr(found, key)] for key in ("groups", "kernels")}}
        for name, found in functions.items()
    }
    content = {"format": FORMAT, "functions": said}
    fresh = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        fresh.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
        os.replace(fresh, path)
    finally:
        fresh.unlink(missing_ok=True)


def _said(group: Group) -> dict[str, int]:
    """What is as it is by default goes without saying."""
    defaults = Group._field_defaults
    return {name: value for name, value in group._asdict().items() if value != defaults.get(name)}
