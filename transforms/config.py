"""JSON that is checked against a schema: an error names the file, the line, the key, and what must stand there."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..dialects.ge.errors import UsageError
from .fusion.names import did_you_mean
from .fusion.schema import once


def check_json(text: str, schema: Mapping[str, Any], path: str | Path) -> dict[str, Any]:
    """
    The content of a file that fits `schema`.

    text     what stands in the file `path`
    raises   UsageError
    """
    try:
        content: Any = json.loads(text, object_pairs_hook=once, parse_constant=_no_constant, parse_float=_float)
    except json.JSONDecodeError as error:
        raise UsageError(f"{path}:{error.lineno}:{error.colno}: is not JSON: {error.msg}") from None
    except ValueError as error:
        raise UsageError(f"{path}: {error}") from None
    except RecursionError:
        raise UsageError(f"{path}: nested too deeply") from None
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
            return f"the key '{next(key for key in limit if key not in error.instance)}' is missing"
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


def _float(text: str) -> float:
    if not math.isfinite(number := float(text)):
        raise ValueError(f"{text} is too large a number")
    return number


def _no_constant(text: str) -> float:
    raise ValueError(f"{text} is not JSON")
