"""
All passes and dialects that a pipeline may use, by every name they go by.

    constant-folding   ours (transforms/catalog.py), its GE name ConstantFoldingPass, further GE names as aliases
    acme-swish         a plugin's
    canonicalize       xDSL's own, found but not listed: it knows nothing of ONNX names

Names are known at once, classes are imported when one is asked for.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from ..dialects.ge.errors import UsageError
from ..transforms.catalog import ASKED_FOR, get_all_passes
from .diagnostics import did_you_mean, one_line
from .plugins import Plugin, find_plugins

if TYPE_CHECKING:
    from xdsl.context import Context
    from xdsl.ir import Dialect
    from xdsl.passes import ModulePass

OURS, XDSL = "gecc", "xdsl"

T = TypeVar("T")


@dataclass(frozen=True)
class PassEntry:
    """
    One pass that can be asked for.

    origin   "gecc", "xdsl" or the plugin's name
    hidden   found by name, absent from lists and suggestions
    """

    name: str
    origin: str
    loader: Callable[[], type[ModulePass]]
    hidden: bool = False

    def load(self) -> type[ModulePass]:
        """The pass class; a plugin that fails now, after its entry point loaded, is the command line's trouble."""
        return (
            self.loader() if self.origin in (OURS, XDSL) else _from_plugin(self.origin, "pass", self.name, self.loader)
        )

    @property
    def ge_name(self) -> str:
        """GE's name; for a plugin's pass without one, the same words as GE would write them (AcmeSwishPass)."""
        given = getattr(self.load(), "ge_name", None)
        return given or "".join(word[:1].upper() + word[1:] for word in _words(self.name)) + "Pass"

    @property
    def aliases(self) -> tuple[str, ...]:
        return tuple(getattr(self.load(), "aliases", ()))

    @property
    def level(self) -> int | None:
        """The lowest -O at which it runs by itself; None: only when asked. Loads no pass of ours to say that."""
        asked_for = self.origin == OURS and self.name in ASKED_FOR
        return None if asked_for else getattr(self.load(), "level", None)

    @property
    def summary(self) -> str:
        """One sentence; a pass without one lends the first line of its docstring."""
        text = getattr(self.load(), "summary", None) or (self.load().__doc__ or "").strip().partition("\n")[0]
        return " ".join(text.split())


class Registry:
    """Passes by name and dialects by name; see the module's docstring."""

    def __init__(
        self,
        ours: dict[str, Callable[[], type[ModulePass]]],
        plugins: Iterable[Plugin] = (),
        dialects: dict[str, Callable[[], Dialect]] | None = None,
        hidden: dict[str, Callable[[], type[ModulePass]]] | None = None,
        xdsl: dict[str, Callable[[], type[ModulePass]]] | None = None,
        warn: Callable[[str], None] | None = None,
    ) -> None:
        """
        warn     hears of a plugin's pass that does not load when all are listed
        raises   UsageError when two claim one name of a pass or a dialect, naming both
        """
        self._warn = warn
        self._entries: dict[str, PassEntry] = {}
        self._loaded: dict[str, bool] = {}
        self._dialects: dict[str, tuple[str, Callable[[], Dialect]]] = {}
        for name, loader in (xdsl or {}).items():
            self._entries[name] = PassEntry(name, XDSL, loader, hidden=True)
        for name, loader in ours.items():  # over xDSL's of the same name: ours know ONNX names
            self._entries[name] = PassEntry(name, OURS, loader)
        for name, loader in (hidden or {}).items():
            self._entries[name] = PassEntry(name, OURS, loader, hidden=True)
        for name, loader in (dialects or {}).items():
            self._dialects[name] = (OURS, loader)

        for plugin in plugins:
            for name, loader in plugin.passes.items():
                if name in self._entries:
                    raise _claimed_twice("pass", name, self._entries[name].origin, plugin.name)
                self._entries[name] = PassEntry(name, plugin.name, loader)
            for name, loader in plugin.dialects.items():
                if name in self._dialects:
                    raise _claimed_twice("dialect", name, self._dialects[name][0], plugin.name)
                guarded = functools.partial(_from_plugin, plugin.name, "dialect", name, loader)
                self._dialects[name] = (plugin.name, guarded)

    def names(self) -> list[str]:
        """The kebab names of the listed passes: ours in the catalogue's order, then each plugin's. Imports none."""
        return [entry.name for entry in self._entries.values() if not entry.hidden]

    def suggested(self) -> list[str]:
        """The kebab names that a mistyped one may be: the listed ones and xDSL's."""
        return [entry.name for entry in self._entries.values() if not entry.hidden or entry.origin == XDSL]

    def all_names(self) -> set[str]:
        """Every name that `get` knows, hidden ones and xDSL's included."""
        return set(self._entries)

    @functools.cached_property
    def listed(self) -> list[PassEntry]:
        """The passes of `names` that load."""
        return [self._entries[name] for name in self.names() if self.loads(name)]

    def loads(self, name: str) -> bool:
        """Whether a listed pass can be loaded: a plugin's that cannot is a warning, once, and never a dead tool."""
        if self._entries[name].origin == OURS:
            return True
        if name not in self._loaded:
            try:
                self._entries[name].load()
            except UsageError as error:
                if self._warn is not None:
                    self._warn(str(error))
                self._loaded[name] = False
            else:
                self._loaded[name] = True
        return self._loaded[name]

    def __contains__(self, name: str) -> bool:
        return name in self._entries

    def get(self, name: str) -> PassEntry | None:
        """By kebab name alone: what a flag of ge-opt is."""
        return self._entries.get(name)

    def find(self, name: str) -> PassEntry | None:
        """By kebab name, GE name or alias. Imports every listed pass when the name is not kebab case."""
        return self._entries.get(name) or self._by_ge_name.get(name)

    def require(self, name: str) -> PassEntry:
        """As `find`; raises UsageError with the nearest name."""
        entry = self.find(name)
        if entry is None:
            raise UsageError(f"no pass '{name}'{self.near(name)}")
        return entry

    def near(self, name: str, others: Iterable[str] = ()) -> str:
        """`; did you mean '...'?`, from the listed names in the spelling of `name` and `others`."""
        known = self.suggested()
        if any(letter.isupper() for letter in name):
            known = list(self._by_ge_name)
        return did_you_mean(name, [*known, *others])

    def context(self) -> Context:
        """A fresh context that knows all dialects and imports each when its first op is met."""
        from xdsl.context import Context

        context = Context()
        for name, (_, loader) in self._dialects.items():
            context.register_dialect(name, loader)
        return context

    @functools.cached_property
    def _by_ge_name(self) -> dict[str, PassEntry]:
        names: dict[str, PassEntry] = {}
        for entry in self.listed:
            for name in (entry.ge_name, *entry.aliases):
                if name in names and names[name] is not entry:
                    raise _claimed_twice("pass", name, names[name].origin, entry.origin)
                names[name] = entry
        return names


def default_registry(warn: Callable[[str], None]) -> Registry:
    """Our passes and dialect, the installed plugins' and xDSL's; `warn` hears of plugins that are left out."""
    from xdsl.dialects import get_all_dialects
    from xdsl.transforms import get_all_passes as xdsl_passes

    return Registry(
        get_all_passes(),
        find_plugins(warn),
        dialects={**get_all_dialects(), "ge": _ge, "ort": _ort},
        hidden={"test-crash": _test_crash},
        xdsl=xdsl_passes(),
        warn=warn,
    )


def _from_plugin(plugin: str, what: str, name: str, loader: Callable[[], T]) -> T:
    """What `loader` gives; where it fails, whoever asked for it hears which plugin is at fault."""
    try:
        return loader()
    except (Exception, SystemExit) as error:
        problem = f"{type(error).__name__}: {one_line(error)}"
        raise UsageError(f"plugin '{plugin}': {what} '{name}' does not load: {problem}") from error


def _ge() -> Dialect:
    from ..dialects.ge import Ge

    return Ge


def _ort() -> Dialect:
    from ..dialects.ort import Ort

    return Ort


def _test_crash() -> type[ModulePass]:
    from .selftest import TestCrashPass

    return TestCrashPass


def _words(name: str) -> list[str]:
    return [word for word in name.replace("_", "-").replace(".", "-").split("-") if word]


def _claimed_twice(what: str, name: str, first: str, second: str) -> UsageError:
    return UsageError(f"both '{first}' and '{second}' bring a {what} called '{name}'; remove one of them")
