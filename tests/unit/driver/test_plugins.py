"""Plugins by entry points: one by one, in name order, and a broken one breaks nothing else."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import EntryPoint

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Dialect
from xdsl.passes import ModulePass
from xdsl.universe import Universe

from gecc.dialects.ge.errors import UsageError
from gecc.driver import plugins
from gecc.driver.plugins import GROUP, Plugin, find_plugins
from gecc.driver.registry import Registry

from .conftest import FoldPass


@dataclass(frozen=True)
class AcmePass(ModulePass):
    """Does what acme does. And more."""

    name = "acme-swish"

    def apply(self, ctx: Context, op: ModuleOp) -> None: ...


def install(monkeypatch: pytest.MonkeyPatch, **loaders: Callable[[], object]) -> None:
    class Point(EntryPoint):
        def load(self) -> object:
            return loaders[self.name]()

    def entry_points(group: str) -> list[EntryPoint]:
        assert group == GROUP
        return [Point(name, f"{name}_ge:UNIVERSE", group) for name in loaders]

    monkeypatch.setattr(plugins, "entry_points", entry_points)


def acme() -> Universe:
    return Universe(all_passes={"acme-swish": lambda: AcmePass}, all_dialects={"acme": lambda: Dialect("acme")})


def broken() -> object:
    raise ImportError("no module named 'torch'")


def leaves() -> object:
    raise SystemExit(3)


def test_they_load_in_name_order(monkeypatch: pytest.MonkeyPatch):
    install(monkeypatch, zebra=lambda: Universe(), acme=acme)
    assert [plugin.name for plugin in find_plugins(pytest.fail)] == ["acme", "zebra"]


@pytest.mark.parametrize(
    ("loader", "reason"),
    [
        (broken, "ImportError: no module named 'torch'"),
        (leaves, "SystemExit: 3"),
        (dict, "TypeError: it must be an xdsl.universe.Universe, got dict"),
    ],
)
def test_a_broken_one_is_a_warning_that_names_it(
    loader: Callable[[], object], reason: str, monkeypatch: pytest.MonkeyPatch
):
    install(monkeypatch, bad=loader, acme=acme)
    warnings: list[str] = []
    assert [plugin.name for plugin in find_plugins(warnings.append)] == ["acme"]
    assert warnings == [f"plugin 'bad' (bad_ge:UNIVERSE) is left out: {reason}"]


PASS = {"acme-swish": lambda: AcmePass}


@pytest.mark.parametrize(
    ("first", "second", "what"),
    [
        (Plugin("a", {}, PASS), Plugin("b", {}, PASS), "a pass called 'acme-swish'"),
        (Plugin("a", {"acme": lambda: Dialect("acme")}, {}), Plugin("b", {"acme": lambda: Dialect("acme")}, {}), None),
    ],
)
def test_two_that_claim_one_name_are_an_error_that_names_both(first: Plugin, second: Plugin, what: str | None):
    what = what or "a dialect called 'acme'"
    with pytest.raises(UsageError, match=f"both 'a' and 'b' bring {what}; remove one of them"):
        Registry({}, [first, second])


def test_none_may_take_a_name_of_ours():
    with pytest.raises(UsageError, match="both 'gecc' and 'a' bring a pass called 'constant-folding'"):
        Registry({"constant-folding": lambda: FoldPass}, [Plugin("a", {}, {"constant-folding": lambda: AcmePass})])


def test_a_name_of_ge_s_may_be_claimed_once():
    class Same(AcmePass):
        ge_name = "ConstantFoldingPass"

    registry = Registry({"constant-folding": lambda: FoldPass}, [Plugin("a", {}, {"same": lambda: Same})])
    with pytest.raises(UsageError, match="both 'gecc' and 'a' bring a pass called 'ConstantFoldingPass'"):
        registry.find("ConstantFoldingPass")


def test_what_a_pass_does_not_say_of_itself_is_made_up():
    registry = Registry({}, [Plugin("acme", {}, PASS)])
    [entry] = registry.listed
    assert (entry.ge_name, entry.level, entry.summary) == ("AcmeSwishPass", None, "Does what acme does. And more.")
    assert registry.find("AcmeSwishPass") is entry


def test_a_pass_that_does_not_load_leaves_the_list_alive():
    def fails() -> type[ModulePass]:
        raise ImportError("no torch")

    warnings: list[str] = []
    registry = Registry({}, [Plugin("acme", {}, {**PASS, "acme-bad": fails})], warn=warnings.append)
    assert [entry.name for entry in registry.listed] == ["acme-swish"]
    assert warnings == ["plugin 'acme': pass 'acme-bad' does not load: ImportError: no torch"]
    with pytest.raises(UsageError, match="plugin 'acme': pass 'acme-bad' does not load"):
        registry.require("acme-bad").load()


def test_xdsl_s_passes_are_found_and_not_listed():
    registry = Registry({"constant-folding": lambda: FoldPass}, xdsl={"canonicalize": lambda: AcmePass})
    assert registry.names() == ["constant-folding"]
    assert "canonicalize" in registry
    with pytest.raises(UsageError, match="no pass 'canonicalise'; did you mean 'canonicalize'"):
        registry.require("canonicalise")
    with pytest.raises(UsageError, match="no pass 'ConstantFolding'; did you mean 'ConstantFoldingPass'"):
        registry.require("ConstantFolding")


def test_a_dialect_that_does_not_load_is_the_plugin_s_fault():
    def fails() -> Dialect:
        raise AttributeError("typo")

    context = Registry({}, [Plugin("acme", {"acme": fails}, {})]).context()
    with pytest.raises(UsageError, match="plugin 'acme': dialect 'acme' does not load: AttributeError: typo"):
        context.get_op("acme.swish")
