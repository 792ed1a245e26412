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

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.ir import Block, Operation

from ...dialects.ge.errors import node_name
from ...dialects.ge.interfaces import Elementwise, is_pure
from ..rewriting import is_result_of_function

LIMIT = 256
"""Pairs of op and step that are looked at for one match: what is beyond stays outside of it."""


@dataclass(frozen=True)
class Step:
    """One place of a chain: which ops may stand there; `words` says it to a reader."""

    words: str
    admits: Callable[[Operation], bool]


Chain: TypeAlias = tuple[Step, ...]


class Near(Exception):
    """A chain is there, but its ops cannot run as one; the text says why."""


class Matcher:
    """
    Matches of one chain in one block, of which ops may be taken away meanwhile.

    share      whether values in the middle may have readers outside of a match
    cost       made in O(ops x steps); a match costs at most `LIMIT` ops and their operands
    """

    def __init__(self, chain: Chain, block: Block, share: bool = False) -> None:
        self.chain, self.block, self.share = chain, block, share
        self._ends = _ends(chain, block.ops)

    def roots(self) -> list[Operation]:
        """The ops that a whole chain ends at, last first."""
        whole = 1 << (len(self.chain) - 1)
        return [op for op, steps in reversed(self._ends.items()) if steps & whole]

    def match(self, root: Operation) -> set[Operation]:
        """
        The most ops that a chain ending at `root` is made of.

        raises     Near
        """
        banned: dict[Operation, str] = {}
        while True:
            ops = _Search(self.chain, self._ends, banned, self.block).upto(root, len(self.chain) - 1)
            if ops is None:
                raise Near(next(iter(banned.values()), "too many ops are between its ends"))
            loose = {op: why for op in ops if (why := self._why_not(op, root, ops))}
            if root in loose:
                raise Near(loose[root])
            if not loose:
                return set(ops)
            banned |= loose

    def _why_not(self, op: Operation, root: Operation, ops: Mapping[Operation, None]) -> str:
        """Why an op cannot be fused with the others; "" where it can."""
        if not is_pure(op):
            return f"{_name(op)} is not known to be pure"
        if op is root or self.share:
            return ""
        for value in op.results:
            for use in value.uses:
                if self.block.find_ancestor_op_in_block(use.operation) not in ops:
                    who = "the graph" if is_result_of_function(value) else "something else"
                    return f"{who} reads the result of {_name(op)} too"
        return ""


def _name(op: Operation) -> str:
    name = node_name(op)
    return f'"{name}"' if name else f"'{op.name}'"


def _ends(chain: Chain, ops: Iterable[Operation]) -> dict[Operation, int]:
    """The ops at which a chain's first k + 1 steps end, as bits k, by what the ops are alone."""
    ends: dict[Operation, int] = {}
    for op in ops:
        here, below = 0, None
        for k, step in enumerate(chain):
            if not step.admits(op):
                continue
            if k and below is None:
                below = 0
                for producer in _producers(op):
                    below |= ends.get(producer, 0)
            if not k or (below or 0) & (1 << (k - 1)) or (_gathers(op) and (below or 0) & (1 << k)):
                here |= 1 << k
        if here:
            ends[op] = here
    return ends


def _producers(op: Operation) -> Iterator[Operation]:
    """The ops that make the operands, each once, in the operands' order."""
    yield from dict.fromkeys(value.owner for value in op.operands if isinstance(value.owner, Operation))


def _gathers(op: Operation) -> bool:
    return isinstance(op, Elementwise) and len(op.operands) > 1


class _Search:
    """One search for the ops of a chain."""

    def __init__(
        self, chain: Chain, ends: Mapping[Operation, int], banned: Mapping[Operation, str], block: Block
    ) -> None:
        self.chain, self.ends, self.banned, self.block = chain, ends, banned, block
        self.seen: dict[tuple[Operation, int], dict[Operation, None] | None] = {}

    def upto(self, op: Operation, k: int) -> dict[Operation, None] | None:
        """The ops of the chain that ends at `op` as step k; None where there is none."""
        if (op, k) not in self.seen:
            may = self.ends.get(op, 0) & (1 << k) and op not in self.banned and op.parent is self.block
            if not may or len(self.seen) >= LIMIT:
                return None
            self.seen[op, k] = None
            self.seen[op, k] = self._found(op, k)
        return self.seen[op, k]

    def _found(self, op: Operation, k: int) -> dict[Operation, None] | None:
        found, whole, gathers = {op: None}, k == 0, _gathers(op)
        steps = (k - 1, k, *range(k - 2, -1, -1)) if gathers else (k - 1,)
        for producer in _producers(op) if k else ():
            for step in steps:
                part = self.upto(producer, step)
                if part is not None:
                    found |= part
                    whole |= step >= k - 1
                    break
            if whole and not gathers:
                break
        return found if whole else None
