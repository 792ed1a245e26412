"""
Says on ops that stand alone how they walk over their results: `ge.kernel_tile`, where a plan has another walk than the
rule that all planners go by.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import IntAttr
from xdsl.ir import Operation

from ...dialects.ge.kernel_tile import KERNEL_TILE, KernelTileAttr
from ...planning import Group
from .piece import Described


def say_walks(described: Described, walks: Sequence[Group]) -> dict[Operation, Group]:
    """Returns the ops that say it; those whose results are not cut alike do not."""
    found: dict[Operation, Group] = {}
    for walk in walks:
        op = described.ops[walk.begin]
        cuts = [described.cuts(walk, v) for v in op.results]
        if cuts and cuts[0] is not None and all(loops == cuts[0] for loops in cuts):
            ((axis, size),) = cuts[0]
            op.attributes[KERNEL_TILE] = KernelTileAttr(IntAttr(axis), IntAttr(size))
            found[op] = walk
    return found


def forget_walks(walks: dict[Operation, Group]) -> None:
    """Takes back what `say_walks` has said, and empties `walks`."""
    for op in walks:
        del op.attributes[KERNEL_TILE]
    walks.clear()
