"""
Rules as JSON:

    {"rules": [{"pattern": ["Embedding", "Add", "LayerNorm"],          a chain, first op first
                "replacement": "FusedEmbeddingAddLayerNorm",           the fusion's name
                "condition": "input_dtype == float16"}]}               condition.py; may be left out
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from xdsl.ir import Operation

from ...dialects.ge import ONNX_OPS
from ...dialects.ge.errors import UsageError
from .condition import Condition, Kind, parse_condition
from .matcher import Step
from .names import did_you_mean, resolve, type_of
from .rules import Rule

KEYS = ("pattern", "replacement", "condition")
MOST_STEPS = 32
NAME = re.compile(r"[A-Za-z_][\w.:-]*", re.ASCII)

_KINDS: Mapping[str, Kind] = {
    "int": "number",
    "float": "number",
    "string": "text",
    "type": "dtype",
    "ints": "list",
    "floats": "list",
}


def read_rules(path: str | Path) -> list[Rule]:
    """
    The rules of a file, in order.

    raises     UsageError: file, rule, key, what must stand there, what does
    """
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise UsageError(f"{path}: is not UTF-8 text") from None
    try:
        content: Any = json.loads(text, object_pairs_hook=_once)
    except json.JSONDecodeError as error:
        raise UsageError(f"{path}:{error.lineno}:{error.colno}: is not JSON: {error.msg}") from None
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path}: {_one_line(error)}") from None
    try:
        return _rules(content)
    except ValueError as error:
        raise UsageError(f"{path}: {_one_line(error)}") from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"the key '{next(n for n in names if names.count(n) > 1)}' stands there twice")
    return content


def _one_line(error: BaseException) -> str:
    return "nested too deeply" if isinstance(error, RecursionError) else " ".join(str(error).split())


def _rules(content: object) -> list[Rule]:
    if not isinstance(content, dict):
        raise ValueError(f'must be an object {{"rules": [...]}}, got {_shown(content)}')
    _check_keys(cast("dict[str, Any]", content), ("rules",), ("rules",))
    given = cast("dict[str, Any]", content)["rules"]
    rules = _list(given)
    if rules is None:
        raise ValueError(f"rules: must be a list [...], got {_shown(given)}")
    return [_rule(k, rule) for k, rule in enumerate(rules, 1)]


def _list(value: Any) -> list[Any] | None:
    return cast("list[Any]", value) if isinstance(value, list) else None


def _rule(number: int, rule: Any) -> Rule:
    who = f"rule {number}"
    if isinstance(rule, dict) and isinstance(name := cast("dict[str, Any]", rule).get("replacement"), str):
        who += f" ({json.dumps(name)[:60]})"
    try:
        if not isinstance(rule, dict):
            raise ValueError(f"must be an object {{...}}, got {_shown(rule)}")
        given = cast("dict[str, Any]", rule)
        _check_keys(given, KEYS, KEYS[:2])
        kinds = _keyed("pattern", lambda: _pattern(given["pattern"]))
        name = _keyed("replacement", lambda: _replacement(given["replacement"]))
        condition = _keyed("condition", lambda: _condition(given.get("condition"), kinds))
    except ValueError as error:
        raise ValueError(f"{who}: {error}") from None
    return Rule(name, (tuple(Step(kind, _admits(kind)) for kind in kinds),), name, condition)


def _keyed(key: str, read: Callable[[], Any]) -> Any:
    try:
        return read()
    except ValueError as error:
        raise ValueError(f"{key}: {error}") from None


def _check_keys(given: Mapping[str, Any], allowed: Sequence[str], needed: Sequence[str]) -> None:
    for key in given:
        if key not in allowed:
            raise ValueError(f"unknown key '{key}'; allowed: {', '.join(allowed)}{did_you_mean(key, allowed)}")
    for key in needed:
        if key not in given:
            raise ValueError(f"the key '{key}' is missing")


def _shown(value: object) -> str:
    return json.dumps(value)[:60]


def _admits(kind: str) -> Callable[[Operation], bool]:
    return lambda op: type_of(op) == kind


def _pattern(names: Any) -> list[str]:
    given = _list(names)
    if given is None or not all(isinstance(name, str) for name in given):
        raise ValueError(f"must be a list of operators, got {_shown(cast(object, names))}")
    kinds = [resolve(name) for name in given]
    if not 2 <= len(kinds) <= MOST_STEPS:
        raise ValueError(f"must have 2 to {MOST_STEPS} operators, got {len(kinds)}")
    return kinds


def _replacement(name: Any) -> str:
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise ValueError(f"must be a name of ASCII letters, digits, '_', '.', ':' and '-', got {_shown(name)}")
    return name


def _condition(text: Any, kinds: Sequence[str]) -> Condition | None:
    if text is None:
        return None
    if not isinstance(text, str):
        raise ValueError(f"must be text, got {_shown(text)}")

    def attribute(operator: str, name: str) -> tuple[str, Kind]:
        try:
            kind = resolve(operator)
        except ValueError:
            kind = operator
        if kind not in kinds:
            raise ValueError(f"'{operator}' is not in the pattern; allowed: {', '.join(dict.fromkeys(kinds))}")
        return f"{kind}.{name}", _attribute_kind(kind, name)

    return parse_condition(text, attribute)


def _attribute_kind(kind: str, name: str) -> Kind:
    op = ONNX_OPS.get(("", kind))
    if op is None:
        return "anything"
    if name not in op.decls:
        allowed = f"allowed: {', '.join(op.decls)}" if op.decls else "it has none"
        raise ValueError(f"{kind} has no attribute '{name}'; {allowed}{did_you_mean(name, op.decls)}")
    return _KINDS.get(op.decls[name].codec.kind, "anything")
