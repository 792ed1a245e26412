"""
Rules as JSON:

    {"rules": [{"pattern": ["Embedding", "Add", "LayerNorm"],          a chain, first op first
                "replacement": "FusedEmbeddingAddLayerNorm",           the fusion's name
                "condition": "input_dtype == float16"}]}               condition.py; may be left out

and GE's own form, under the key "Rules" (ge_rules.py). Either list takes rules of both forms.
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
from . import ge_rules
from .condition import Condition, Kind, parse_condition
from .matcher import Step
from .names import did_you_mean, resolve, type_of
from .rules import Rule
from .schema import a_list, a_text, an_object, check_keys, keyed, lines_of_items, once, shown

LISTS = ("rules", "Rules")
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

    raises     UsageError: file, line, rule, key, what must stand there, what does
    """
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise UsageError(f"{path}: is not UTF-8 text") from None
    try:
        content: Any = json.loads(text, object_pairs_hook=once)
    except json.JSONDecodeError as error:
        raise UsageError(f"{path}:{error.lineno}:{error.colno}: is not JSON: {error.msg}") from None
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path}: {_one_line(error)}") from None
    try:
        given = _listed(content)
    except ValueError as error:
        raise UsageError(f"{path}: {_one_line(error)}") from None
    rules: list[Rule] = []
    for number, (rule, line) in enumerate(zip(given, lines_of_items(text), strict=True), 1):
        try:
            rules.append(_rule(rule))
        except ValueError as error:
            raise UsageError(f"{path}:{line}: rule {number}{_name_of(rule)}: {_one_line(error)}") from None
    return rules


def _one_line(error: BaseException) -> str:
    return "nested too deeply" if isinstance(error, RecursionError) else " ".join(str(error).split())


def _listed(content: object) -> list[Any]:
    lists = an_object(content, 'an object {"rules": [...]}')
    check_keys(lists, LISTS, () if "Rules" in lists else ("rules",))
    return [rule for key in lists for rule in keyed(key, lambda key=key: a_list(lists[key]))]


def _name_of(rule: object) -> str:
    given = cast("dict[str, Any]", rule) if isinstance(rule, dict) else {}
    name = given.get("replacement", given.get("RuleName"))
    return f" ({json.dumps(name)[:60]})" if isinstance(name, str) else ""


def _rule(rule: object) -> Rule:
    given = an_object(rule)
    if any(key in given for key in ge_rules.KEYS):
        return ge_rules.read_rule(given, name_in, condition_in)
    check_keys(given, KEYS, KEYS[:2])
    kinds = keyed("pattern", lambda: _pattern(given["pattern"]))
    name = keyed("replacement", lambda: name_in(given["replacement"]))
    condition = keyed("condition", lambda: condition_in(given.get("condition"), kinds))
    return Rule(name, (tuple(Step(kind, _admits(kind)) for kind in kinds),), name, condition)


def _admits(kind: str) -> Callable[[Operation], bool]:
    return lambda op: type_of(op) == kind


def _pattern(names: object) -> list[str]:
    given = a_list(names, "a list of operators")
    if not all(isinstance(name, str) for name in given):
        raise ValueError(f"must be a list of operators, got {shown(given)}")
    kinds = [resolve(name) for name in given]
    if not 2 <= len(kinds) <= MOST_STEPS:
        raise ValueError(f"must have 2 to {MOST_STEPS} operators, got {len(kinds)}")
    return kinds


def name_in(name: object) -> str:
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise ValueError(f"must be a name of ASCII letters, digits, '_', '.', ':' and '-', got {shown(name)}")
    return name


def condition_in(given: object, kinds: Sequence[str]) -> Condition | None:
    """A condition that may ask for attributes of operators of `kinds`."""
    if given is None:
        return None

    def attribute(operator: str, name: str) -> tuple[str, Kind]:
        try:
            kind = resolve(operator)
        except ValueError:
            kind = operator
        if kind not in kinds:
            raise ValueError(f"'{operator}' is not in the pattern; allowed: {', '.join(dict.fromkeys(kinds))}")
        return f"{kind}.{name}", _attribute_kind(kind, name)

    return parse_condition(a_text(given), attribute)


def _attribute_kind(kind: str, name: str) -> Kind:
    op = ONNX_OPS.get(("", kind))
    if op is None:
        return "anything"
    if name not in op.decls:
        allowed = f"allowed: {', '.join(op.decls)}" if op.decls else "it has none"
        raise ValueError(f"{kind} has no attribute '{name}'; {allowed}{did_you_mean(name, op.decls)}")
    return _KINDS.get(op.decls[name].codec.kind, "anything")
