"""
The configuration files: JSON, checked against a schema; an error names the file, the line, the key, what is allowed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..dialects.ge.errors import UsageError
from .diagnostics import did_you_mean, one_line

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
    try:
        content: Any = json.loads(text, object_pairs_hook=_once, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        raise UsageError(f"{path}:{error.lineno}:{error.colno}: is not JSON: {error.msg}") from None
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path}: {one_line(error)}") from None
    _check(content, schema, path, text)
    return content


def _check(content: object, schema: Mapping[str, Any], path: str | Path, text: str) -> None:
    import jsonschema
    from jsonschema import exceptions

    library: Any = jsonschema  # untyped where it counts
    found: Any = exceptions
    error = found.best_match(library.Draft202012Validator(schema).iter_errors(content))
    if error is None:
        return
    keys = [str(key) for key in error.absolute_path if isinstance(key, str)]
    unknown = ""
    if error.validator == "additionalProperties":
        known: list[str] = list(error.schema.get("properties", {}))
        unknown = next(key for key in error.instance if key not in known)
        message = f"unknown key '{unknown}'; allowed: {', '.join(known)}{did_you_mean(unknown, known)}"
    else:
        message = _rule(error)
    line = _line_of(text, unknown or (keys[-1] if keys else ""))
    where = "".join(f"{key}: " for key in keys)
    raise UsageError(f"{path}:{line}: {where}{message}")


def _rule(error: Any) -> str:
    """What must hold, then what was found."""
    limit: Any = error.validator_value
    match error.validator:
        case "enum":
            words = [json.dumps(value) for value in limit]
            must = f"must be one of {', '.join(words)}"
        case "type":
            must = f"must be {_TYPES.get(limit, limit)}"
        case "minimum":
            must = f"must be at least {limit}"
        case "exclusiveMinimum":
            must = f"must be greater than {limit}"
        case "maximum":
            must = f"must be at most {limit}"
        case "required":
            return f"the key '{limit[0]}' is missing"
        case _:
            return str(error.message)
    return f"{must}, got {json.dumps(error.instance)[:60]}"


_TYPES = {
    "object": "an object {...}",
    "array": "a list [...]",
    "integer": "a whole number",
    "number": "a number",
    "string": "text",
}


def _line_of(text: str, key: str) -> int:
    found = re.search(rf"{re.escape(json.dumps(key))}\s*:", text) if key else None
    return text.count("\n", 0, found.start()) + 1 if found else 1


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"the key '{next(n for n in names if names.count(n) > 1)}' stands there twice")
    return content


def _no_constant(text: str) -> float:
    raise ValueError(f"{text} is not JSON")
