"""The configuration files: JSON, checked against a schema (transforms/config.py)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..dialects.ge.errors import UsageError
from ..transforms.config import check_json
from .diagnostics import one_line

_SWITCH = {"enum": [0, 1, True, False]}

CONFIG: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["ge"],
    "properties": {
        "ge": {
            "type": "object",
            "additionalProperties": False,
            "properties": {"opt_passes": {"type": "object", "additionalProperties": _SWITCH}},
        }
    },
}

MEMORY: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "reuse_policy": {"enum": ["lifetime", "size"]},
        "alignment": {"type": "integer", "minimum": 1},
        "max_reuse_ratio": {"type": "number", "minimum": 0, "maximum": 1},
    },
}

L2: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "l2_size": {"type": "number", "exclusiveMinimum": 0},
        "fusion_threshold": {"type": "number", "minimum": 0, "maximum": 1},
        "blacklist": {"type": "array", "items": {"type": "string", "minLength": 1}},
    },
}


def read_config(path: str | Path, schema: Mapping[str, Any], said_by: str) -> dict[str, Any]:
    """
    The content of a configuration file that fits `schema`.

    said_by  the flag or variable that names the file
    raises   UsageError
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{said_by}: {one_line(error)}") from None
    except UnicodeDecodeError:
        raise UsageError(f"{said_by}: {path}: is not UTF-8 text") from None
    return check_json(text, schema, path)
