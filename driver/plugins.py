"""
Plugins: packages that bring dialects and passes through the entry-point group `gecc.plugins`.

    [project.entry-points."gecc.plugins"]
    acme = "acme_ge:UNIVERSE"              # an xdsl.universe.Universe

They are loaded one by one in name order. A broken one costs a warning that names it, never the tool; two that
claim one name are an error that names both (the registry raises it).
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib.machinery import PathFinder
from typing import TYPE_CHECKING

from .diagnostics import one_line

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from xdsl.ir import Dialect
    from xdsl.passes import ModulePass

GROUP = "gecc.plugins"


@dataclass(frozen=True)
class Plugin:
    """What one plugin offers; the loaders import on first call."""

    name: str
    dialects: dict[str, Callable[[], Dialect]]
    passes: dict[str, Callable[[], type[ModulePass]]]


def entry_points(group: str) -> Iterable[EntryPoint]:
    """
    What installed packages announce in `group`.

    importlib.metadata takes longer to load than a small model to optimise: it is asked only where a file on the path
    names the group, or where packages lie elsewhere than in folders.
    """
    elsewhere = any(hasattr(finder, "find_distributions") for finder in sys.meta_path if finder is not PathFinder)
    if not elsewhere and not any(_names(folder or os.curdir, group) for folder in sys.path):
        return ()
    from importlib import metadata

    return metadata.entry_points(group=group)


def _names(folder: str, group: str) -> bool:
    if os.path.isfile(folder) or folder.endswith(".egg"):
        return True
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith((".dist-info", ".egg-info", ".egg", ".egg-link")):
                with contextlib.suppress(OSError), open(os.path.join(entry.path, "entry_points.txt"), "rb") as stream:
                    if group.encode() in stream.read():
                        return True
    return False


def find_plugins(warn: Callable[[str], None]) -> list[Plugin]:
    """The installed plugins in name order; `warn` hears of each that does not load, with its name."""
    found: list[Plugin] = []
    for point in sorted(entry_points(group=GROUP), key=lambda point: (point.name, point.value)):
        try:
            found.append(_load(point))
        except (Exception, SystemExit) as error:
            warn(f"plugin '{point.name}' ({point.value}) is left out: {type(error).__name__}: {one_line(error)}")
    return found


def _load(point: EntryPoint) -> Plugin:
    from xdsl.universe import Universe

    universe = point.load()
    if not isinstance(universe, Universe):
        raise TypeError(f"it must be an xdsl.universe.Universe, got {type(universe).__name__}")
    return Plugin(point.name, dict(universe.all_dialects), dict(universe.all_passes))
