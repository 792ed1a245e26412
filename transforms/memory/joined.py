"""
Which operands of a concatenation are computed straight into their part of the result.

    %a = conv ..            %y = ge.slot ..                  // the result's buffer, from the first part on
    %b = conv ..            %a = memref.subview %y[0, 0] ..
    %y = concat %a, %b  ->  %b = memref.subview %y[0, 4] ..  // no launch is left of the concat

What a join knows of itself, as the border of a pad, is written beside its parts. An operand that is no launch's (an
input, a weight, a view), that the caller holds, that another result lies over, that stands twice, or that is in another
concatenation already, is copied there. All of it only where no more bytes are alive at the peak for it: the whole
result lives as long as any part.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.ir import Operation, SSAValue

from ...dialects.ge.bodies import FusionOp, yielded
from ...dialects.ge.interfaces import Box, Joins, is_contiguous
from ...dialects.ge.types import nbytes, shape_of
from ..report import missed
from .alive import Alive, Class
from .steps import Step, Steps, reshaped_inside


@dataclass(frozen=True)
class Joined:
    """
    into    value that a launch computes -> the result that it is a part of, and where
    ops     concatenations that are no launches any more
    """

    into: Mapping[SSAValue, tuple[SSAValue, Box]]
    ops: Container[Operation]


def joined(steps: Steps, over: Mapping[SSAValue, SSAValue], alive: Alive) -> Joined:
    """
    over    result -> the operand that it lies over

    cost    linear in ops, and Alive.merge for each concatenation
    """
    return _Joiner(steps, over, alive).run() if steps.rules.in_place else Joined({}, ())


class _Joiner:
    def __init__(self, steps: Steps, over: Mapping[SSAValue, SSAValue], alive: Alive) -> None:
        self.steps, self.over, self.alive = steps, over, alive
        self.into: dict[SSAValue, tuple[SSAValue, Box]] = {}
        self.ops: set[Operation] = set()
        self.launched: set[SSAValue] = set()
        self.in_rows: set[SSAValue] = set()  # what bodies see, or groups reshape: they count on a row of bytes
        self.reshaped: set[Class] = set()  # what must stay one run of bytes, for a view gives it another shape
        classes = alive.classes
        self.at: dict[SSAValue, int] = {r: at for at, step in enumerate(steps.list) for r in step.op.results}
        for step in steps.list:
            if step.kind in ("launch", "tiled"):
                self.launched.update(step.op.results)
            if step.kind in ("tiled", "control"):
                self.in_rows.update(steps.in_a_row(step))
            if step.kind == "tiled":
                group = cast(FusionOp, step.op)
                inside = reshaped_inside(group)
                given = zip(group.outs, yielded(group.body), strict=True)
                self.in_rows.update(r for r, v in given if v in inside)
            elif step.kind == "view":
                self.reshaped.update(classes[b] for b in map(steps.base, step.reads) if b in classes)
        self.launched.difference_update(map(steps.base, steps.returned))
        self.covered = {steps.base(v): result for result, v in over.items()}

    def run(self) -> Joined:
        for step in self.steps.list:
            if step.kind == "launch" and isinstance(step.op, Joins) and step.op.results[0].first_use is not None:
                self.join(step, step.op.joins())
        return Joined(self.into, self.ops)

    def join(self, step: Step, boxes: Sequence[Box | None]) -> None:
        op, result = step.op, step.op.results[0]
        values = [self.steps.resolve(v) for v in op.operands]
        times = Counter(values)
        parts = {
            v: (chain, box)
            for v, box in zip(values, boxes, strict=True)
            if box is not None and times[v] == 1 and (chain := list(self.chain(v))) and self.fits(v, result, box)
        }
        if not parts:
            return
        classes = self.alive.classes
        whole, inner = classes[result], {classes[v] for v in parts}
        if not self.alive.merge(whole, inner):
            missed(op, "is not computed in place: more bytes would be alive at the peak")
            return
        if inner & self.reshaped:
            self.reshaped.add(whole)
        self.ops.add(op)
        for chain, box in parts.values():
            self.into.update((v, (result, box)) for v in chain)

    def chain(self, value: SSAValue) -> Iterator[SSAValue]:
        """The value and those that it lies over, if all of them can be computed somewhere else; else nothing."""
        found: list[SSAValue] = []
        while value in self.launched and value not in self.in_rows and value not in self.into:
            found.append(value)
            if value not in self.over:
                yield from found
                return
            value = self.over[value]

    def fits(self, value: SSAValue, result: SSAValue, box: Box) -> bool:
        if nbytes(value.type) == 0 or value in self.covered:
            return False
        one = self.alive.classes[value]
        if one in self.reshaped and not is_contiguous(box, shape_of(result.type)):
            return False
        # What is written over the result must not be what a later reader of the part expects.
        over = self.covered.get(result)
        return over is None or one.last < self.at[over]
