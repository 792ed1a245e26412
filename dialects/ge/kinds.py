"""
What passes ask most: is this op of that kind, and which ops are there.

xDSL's classes are abstract base classes, of which isinstance costs a quarter of a microsecond, and its walks half a
microsecond an op: on a model of which a pass has nothing to do that is all that the pass does.
"""

from __future__ import annotations

from abc import ABCMeta
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xdsl.ir import Block, Operation


class Kind(ABCMeta):
    """The metaclass of ops and their interfaces: abstract methods are checked, isinstance is that of plain classes."""

    __instancecheck__ = type.__instancecheck__
    __subclasscheck__ = type.__subclasscheck__


def ops_in(block: Block) -> list[Operation]:
    """The ops of a block, in order, as they stand now; not those in their regions."""
    found: list[Operation] = []
    op = block._first_op  # pyright: ignore[reportPrivateUsage] - its property is a call
    while op is not None:
        found.append(op)
        op = op._next_op  # pyright: ignore[reportPrivateUsage]
    return found


def walk(op: Operation) -> Iterator[Operation]:
    """`op` and every op in it, outer ones first, in order; the ops of a block as they stand when it is reached."""
    yield op
    for region in op.regions:
        for block in region.blocks:
            for inner in ops_in(block):
                if inner.regions:
                    yield from walk(inner)
                else:
                    yield inner
