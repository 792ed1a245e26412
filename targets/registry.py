"""Names to targets."""

from difflib import get_close_matches

from .ascend import CHIPS
from .generic import MACHINES
from .target import Target

_TARGETS = {target.name: target for target in (*MACHINES, *CHIPS)}


def _key(name: str) -> str:
    return name.lower().replace("-", "").replace("_", "")


_BY_KEY = {_key(spelling): target for target in _TARGETS.values() for spelling in (target.name, *target.aliases)}


def names() -> list[str]:
    """The names of all targets, sorted; aliases are left out."""
    return sorted(_TARGETS)


def get(name: str) -> Target:
    """
    The target of that name or alias; case, `-` and `_` do not matter.

    raises   ValueError that lists the names and the nearest one
    """
    found = _BY_KEY.get(_key(name))
    if found is not None:
        return found

    near = get_close_matches(_key(name), _BY_KEY, n=1, cutoff=0.6)
    hint = f"; did you mean '{_BY_KEY[near[0]].name}'?" if near else ""
    raise ValueError(f"no target '{name}'{hint} (allowed: {', '.join(names())})")
