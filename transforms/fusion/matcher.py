"""
Finds chains of ops.

A chain is a list of steps. An op at one step reads an op at the step before it; an elementwise op of several operands
may also read ops at its own step or any before, each of which ends a chain of its own:

    steps Gather, Add, LayerNormalization       %0 = ge.gather   %1 = ge.gather   %2 = ge.gather
                                                %3 = ge.add %0, %1
                                                %4 = ge.add %2, %3
    is one match of six ops                     %5 = ge.layer_normalization %4
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.ir import Block, Operation

from ...dialects.ge.interfaces import Elementwise, is_pure
from .closed import Near, shown, why_open

LIMIT = 64
"""Ops of a match, and pairs of op and step that are looked at for one: what is beyond stays outside of it."""
MANY = 64
"""Readers of a value that a fusion may give beside its last one."""


@dataclass(frozen=True)
class Step:
    """One place of a chain: which ops may stand there; `words` says it to a reader."""

    words: str
    admits: Callable[[Operation], bool]


Chain: TypeAlias = tuple[Step, ...]


class Matcher:
    """
    Matches of one chain in one block, of which ops may be taken away meanwhile.

    share      whether values in the middle may have readers outside of a match
    cost       made in O(ops x steps); a match looks at `LIMIT` ops at most
    """

    def __init__(self, chain: Chain, block: Block, share: bool = False) -> None:
        self.chain, self.block, self.share = chain, block, share
        self._ends = _ends(chain, block.ops)

    def roots(self) -> list[Operation]:
        """The ops that a whole chain ends at, last first."""
        last = len(self.chain) - 1
        return [op for op, lengths in reversed(self._ends.items()) if last in lengths]

    def match(self, root: Operation) -> set[Operation]:
        """
        The most ops that a chain ending at `root` is made of.

        raises     Near
        """
        banned: dict[Operation, str] = {}
        while True:
            search = _Search(self._ends, banned, self.block)
            if not search.reaches(root, len(self.chain) - 1):
                raise Near(next(iter(banned.values()), "too many ops are between its ends"))
            ops = search.taken(root, len(self.chain) - 1)
            loose = {op: why for op in ops if (why := self._why_not(op, root, ops))}
            if root in loose:
                raise Near(loose[root])
            if not loose:
                return set(ops)
            banned |= loose

    def _why_not(self, op: Operation, root: Operation, ops: Mapping[Operation, None]) -> str:
        """Why an op cannot be fused with the others; "" where it can."""
        if not is_pure(op):
            return f"{shown(op)} is not known to be pure"
        if op is root:
            return ""
        if self.share:
            many = any(next(itertools.islice(value.uses, MANY, None), None) for value in op.results)
            return f"more than {MANY} others read the result of {shown(op)}" if many else ""
        return why_open(op, ops, self.block)


def _ends(chain: Chain, ops: Iterable[Operation]) -> dict[Operation, dict[int, int]]:
    """By what ops are alone: the ops at which the steps up to k end, and k -> ops in the shortest chain of them."""
    ends: dict[Operation, dict[int, int]] = {}
    for op in ops:
        here: dict[int, int] = {}
        for k, step in enumerate(chain):
            if not step.admits(op):
                continue
            before = (k - 1, k) if _gathers(op) else (k - 1,)
            below = [ends.get(producer, {}).get(j, LIMIT) for producer in _producers(op) for j in before] if k else [0]
            if min(below, default=LIMIT) < LIMIT:
                here[k] = min(below) + 1
        if here:
            ends[op] = here
    return ends


def _producers(op: Operation) -> Iterator[Operation]:
    """The ops that make the operands, each once, in the operands' order."""
    yield from dict.fromkeys(value.owner for value in op.operands if isinstance(value.owner, Operation))


def _gathers(op: Operation) -> bool:
    return isinstance(op, Elementwise) and len(op.operands) > 1


_Place: TypeAlias = tuple[Operation, int]
"""An op as a step."""


class _Search:
    """One search for the ops of a chain."""

    def __init__(
        self, ends: Mapping[Operation, Mapping[int, int]], banned: Mapping[Operation, str], block: Block
    ) -> None:
        self.ends, self.banned, self.block = ends, banned, block
        self.below: dict[_Place, list[_Place] | None] = {}
        """What each place takes in of its op's producers; None where no chain ends there."""

    def reaches(self, op: Operation, k: int) -> bool:
        """Whether a chain ends at `op` as step k."""
        place = (op, k)
        if place not in self.below:
            may = k in self.ends.get(op, ()) and op not in self.banned and op.parent is self.block
            if not may or len(self.below) >= LIMIT:
                return False
            self.below[place] = None
            self.below[place] = self._producers_at(op, k)
        return self.below[place] is not None

    def _producers_at(self, op: Operation, k: int) -> list[_Place] | None:
        if k == 0:
            return []
        gathers = _gathers(op)
        steps = (k - 1, k, *range(k - 2, -1, -1)) if gathers else (k - 1,)
        found: list[_Place] = []
        whole = False
        for producer in _producers(op):
            step = next((j for j in steps if self.reaches(producer, j)), None)
            if step is not None:
                found.append((producer, step))
                whole |= step >= k - 1
            if whole and not gathers:
                break
        return found if whole else None

    def taken(self, op: Operation, k: int) -> dict[Operation, None]:
        """The ops of the chain that ends at `op` as step k."""
        ops: dict[Operation, None] = {}
        todo, seen = [(op, k)], set[_Place]()
        while todo:
            place = todo.pop()
            if place not in seen:
                seen.add(place)
                ops[place[0]] = None
                todo.extend(self.below[place] or ())
        return ops
