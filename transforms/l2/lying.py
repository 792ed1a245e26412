"""Where a function's values lie in memory while every op runs by itself: what the planners are told of addresses."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue


@dataclass(frozen=True)
class Lying:
    """
    Where values lie while every op runs by itself.

    addresses   in the arena, bytes; not every value has one
    free        ops that move no byte: joins whose operands lie in their results, cuts the other way round, and what
                shows a weight in another order
    """

    addresses: Mapping[SSAValue, int] = field(default_factory=dict[SSAValue, int])
    free: Collection[Operation] = ()

    def of(self, function: FuncOp, copy: FuncOp) -> Lying:
        """The same for a copy of the function."""
        addresses: dict[SSAValue, int] = {}
        free: set[Operation] = set()
        for mine, other in zip(function.body.block.ops, copy.body.block.ops, strict=True):
            pairs = zip(mine.results, other.results, strict=True)
            addresses.update({b: self.addresses[a] for a, b in pairs if a in self.addresses})
            if mine in self.free:
                free.add(other)
        return Lying(addresses, free)
