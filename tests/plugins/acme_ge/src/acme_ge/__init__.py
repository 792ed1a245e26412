"""
A plugin of gecc, as a third party writes one: a dialect of its own, `acme`, and a pass.

    dialect.py   acme.swish: the op says what it computes, gecc fuses, tiles and plans it
    swish.py     acme-swish: finds x * sigmoid(x)

gecc finds `UNIVERSE` through the entry point in pyproject.toml. Both loaders import on their first call, so that a tool
that does not need the plugin does not wait for it.
"""

from typing import TYPE_CHECKING

from xdsl.universe import Universe

if TYPE_CHECKING:
    from xdsl.ir import Dialect
    from xdsl.passes import ModulePass


def _dialect() -> "Dialect":
    from .dialect import ACME

    return ACME


def _swish() -> "type[ModulePass]":
    from .swish import SwishPass

    return SwishPass


UNIVERSE = Universe(all_dialects={"acme": _dialect}, all_passes={"acme-swish": _swish})
