"""
GE's switch file, which turns single rules and passes off and on again:

    {"Switch": {"GraphFusion": {"ALL": "off", "AttentionFusionPass": "on"}, "UBFusion": {"...": "off"}}}

and its older form, a line a name: `AttentionFusionPass:off`. A rule of ours is called by its own name (attention) or as
GE would call it (AttentionFusionPass), a rule of a file by its name.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...dialects.ge.errors import UsageError
from .schema import an_object, check_keys, keyed, once, shown

ALL = "ALL"
STATES = {"on": True, "off": False}
GROUPS = ("GraphFusion", "UBFusion")


def read_switches(path: str | Path) -> dict[str, bool]:
    """
    Name -> on, in the file's order; of two that differ the later one counts.

    raises     UsageError: file, line where it is known, what must stand there, what does
    """
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise UsageError(f"{path}: is not UTF-8 text") from None
    if not text.lstrip().startswith("{"):
        return _lines(path, text)
    try:
        return _groups(json.loads(text, object_pairs_hook=once))
    except json.JSONDecodeError as error:
        raise UsageError(f"{path}:{error.lineno}:{error.colno}: is not JSON: {error.msg}") from None
    except ValueError as error:
        raise UsageError(f"{path}: {error}") from None
    except RecursionError:
        raise UsageError(f"{path}: nested too deeply") from None


def _lines(path: str | Path, text: str) -> dict[str, bool]:
    found: dict[str, bool] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        name, colon, state = (part.strip() for part in line.partition(":"))
        if not name or not colon or state not in STATES:
            raise UsageError(f"{path}:{number}: must be Name:on or Name:off, got {shown(line.strip())}")
        found[name] = STATES[state]
    return found


def _groups(content: object) -> dict[str, bool]:
    top = an_object(content)
    check_keys(top, ("Switch",), ("Switch",))
    groups = keyed("Switch", lambda: an_object(top["Switch"]))
    keyed("Switch", lambda: check_keys(groups, GROUPS, ()))
    found: dict[str, bool] = {}
    for group, given in groups.items():
        found |= keyed(group, lambda given=given: _states(an_object(given)))
    return found


def _states(given: Mapping[str, Any]) -> dict[str, bool]:
    for name, state in given.items():
        if state not in STATES:
            raise ValueError(f'{name}: must be "on" or "off", got {shown(state)}')
    return {name: STATES[state] for name, state in given.items()}


def ge_name(rule: str) -> str:
    """`layer normalisation` as GE would call it: LayerNormalisationFusionPass."""
    return "".join(word[:1].upper() + word[1:] for word in rule.split()) + "FusionPass"


def is_on(rule: str, switches: Mapping[str, bool]) -> bool:
    """Whether a rule runs."""
    default = switches.get(ALL, True)
    return switches.get(rule, switches.get(ge_name(rule), default))
