"""
Which ops move no byte because their operands or results lie side by side, and who reads through which of them.

    %j = ge.concat %a, %b        Beside(parts=(a, b)): both are computed in %j's buffer
    %c = ge.conv %j              reads a and b, via the first join
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.ir import Operation, SSAValue

from ...dialects.ge.interfaces import Joins, Parts, View, has_bytes
from ...planning import Beside, Part

NONE = -1


@dataclass
class Sides:
    """
    ops, views   of a function, in order; each view after the number of ops that stand before it
    atoms        value -> the tensors that it is, where it is not one of its own
    number       tensor -> its number in the piece
    last         of the function, which reads what it returns
    """

    ops: Sequence[Operation]
    views: Sequence[tuple[int, Operation]]
    atoms: Mapping[SSAValue, list[SSAValue]]
    number: Mapping[SSAValue, int]
    last: Operation | None
    found: dict[Operation, int] = field(default_factory=dict[Operation, int], init=False)
    joins: tuple[Beside, ...] = field(default=(), init=False)

    def __post_init__(self) -> None:
        free = [(at, op) for at, op in self.views if isinstance(op, Joins | Parts) and not isinstance(op, View)]
        self.found = {op: j for j, (_, op) in enumerate(free)}
        if not free:
            return
        parts = [self._parts(op) for _, op in free]
        read_by = [0] * len(free)
        for k, op in enumerate((*self.ops, self.last)):
            for j in self.via(op) if op is not None else ():
                if j != NONE:
                    read_by[j] = k
        for j in reversed(range(len(free))):
            for part in parts[j]:
                if part.via != NONE:
                    read_by[part.via] = max(read_by[part.via], read_by[j])
        self.joins = tuple(Beside(at, read_by[j], parts[j]) for j, (at, _) in enumerate(free))

    def via(self, op: Operation) -> tuple[int, ...]:
        """For each tensor that an op reads the join that it reads it through; nothing where there is none."""
        reads = [j for v in op.operands if has_bytes(v) for j in [self._behind(v)] * len(self._atoms(v))]
        return tuple(reads) if any(j != NONE for j in reads) else ()

    def _behind(self, value: SSAValue) -> int:
        owner = value.owner
        while isinstance(owner, View):
            assert isinstance(owner, Operation)
            owner = owner.operands[owner.view_of()].owner
        return self.found.get(owner, NONE) if isinstance(owner, Operation) else NONE

    def _atoms(self, value: SSAValue) -> list[SSAValue]:
        return self.atoms.get(value, [value])

    def _parts(self, op: Operation) -> tuple[Part, ...]:
        """An operand of a join is computed in its place if nobody else reads it; what is cut is copied apart."""
        alone = isinstance(op, Joins) and not op.fills() and all(place is not None for place in op.joins())
        found: dict[SSAValue, Part] = {}
        for v in op.operands if isinstance(op, Joins) else op.results:
            via = self._behind(v if isinstance(op, Joins) else op.operands[0])
            made = isinstance(v.owner, Operation) and not isinstance(v.owner, View) and v.owner not in self.found
            for t in self._atoms(v):
                if t in self.number:
                    found[t] = Part(self.number[t], via, alone and made and v.has_one_use())
        return tuple(found.values())
