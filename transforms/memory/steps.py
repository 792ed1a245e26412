"""
A function on tensors as steps in order, each with what it reads: what bufferization looks at before it builds anything.

    launch   computes static tensors from static tensors: runs on buffers
    tiled    an L2 group that runs tile by tile
    control  a conditional or loop whose bodies run on buffers too, in steps of their own
    view     a tensor's own bytes under another shape or type, or a weight's axes in another order: no step when the
             program runs
    part     gives boxes of a tensor, as they lie there: no step either
    host     reads or gives what is no buffer (sequences, strings, sizes that depend on data), and all that follows

Constants are no steps. An L2 group that cannot be cut into tiles stands as its members, one after the other. What
depends on constants alone comes right before its first reader: weights that are made from others are not all there at
once.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, cast

from xdsl.dialects.func import ReturnOp
from xdsl.ir import Block, Operation, SSAValue, Use

from ...dialects.ge.bodies import FusionOp, YieldOp, yielded
from ...dialects.ge.constants import ConstantOp
from ...dialects.ge.interfaces import Box, Movement, Parts, SameBytes, View, has_bytes, is_contiguous, is_pure
from ...dialects.ge.types import element_of, nbytes, shape_of
from ..rewriting import is_isolated

Kind = Literal["launch", "tiled", "control", "view", "part", "host"]

COMPUTES = ("launch", "tiled", "control")
"""Kinds of steps that write buffers."""


class Rules(Protocol):
    """
    What steps depend on beside the ops.

    in_place  whether results may lie over operands, and operands inside a join's result
    views     whether results may be an operand's bytes, or a part of them
    """

    in_place: bool
    views: bool

    def cut(self, group: FusionOp) -> bool:
        """Whether a group runs tile by tile."""
        ...

    def by_layers(self) -> Rules:
        """The same, but all groups run layer by layer."""
        ...

    def on_buffers(self, op: Operation) -> bool:
        """Whether the bodies of a conditional or loop can run on buffers."""
        ...

    def workspace(self, op: Operation, around: Steps) -> int:
        """Bytes alive at a time in those bodies, at most, beside what is around them."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """`reads`: the values from around the op, each once: operands, then what its bodies capture."""

    op: Operation
    kind: Kind
    reads: Sequence[SSAValue]


class Steps:
    """
    The steps of a block that ends in func.return or ge.yield, and the values that it returns.

    launched  ops that are launches, though their results are parts of an operand
    outer     the steps of the block around, for a body

    Values are named by `resolve`: what a group's members read and give, not the group's arguments and results.
    cost   linear in ops
    """

    def __init__(
        self,
        block: Block,
        rules: Rules,
        launched: Container[Operation] = (),
        outer: Steps | None = None,
    ) -> None:
        self.rules, self._launched, self._outer = rules, launched, outer
        self.list: list[Step] = []
        self.boxes: dict[SSAValue, Box] = {}
        """Of each part in its source."""
        self.orders: dict[SSAValue, tuple[int, ...]] = {}
        """Of the source's axes in a view that reorders them."""
        self._parts: set[SSAValue] = set()
        self._in_pieces: set[SSAValue] = set()
        self._same: dict[SSAValue, SSAValue] = {}
        self._bases: dict[SSAValue, SSAValue] = {}
        self._on_host: set[SSAValue] = {a for a in block.args if not is_buffer(a)}
        self._add_all(block)
        self.list = _late_constants(self.list)
        last = block.last_op
        self.returned = [self.resolve(v) for v in last.operands] if isinstance(last, ReturnOp | YieldOp) else []

    def resolve(self, value: SSAValue) -> SSAValue:
        if value in self._same or self._outer is None:
            return self._same.get(value, value)
        return self._outer.resolve(value)

    def base(self, value: SSAValue) -> SSAValue:
        """The value that `value` is a view or a part of, or itself."""
        return self._bases.get(value, value)

    def is_part(self, value: SSAValue) -> bool:
        """Whether `value` is not all bytes of its base."""
        return value in self._parts

    def in_pieces(self, value: SSAValue) -> bool:
        """Whether the bytes of `value` lie in several runs."""
        return value in self._in_pieces or (self._outer is not None and self._outer.in_pieces(value))

    def in_a_row(self, step: Step) -> list[SSAValue]:
        """The bases of what a step that computes reads and must find in one run of bytes: not for launches."""
        if step.kind == "tiled":
            return [self.base(self.resolve(v)) for v in reshaped_inside(cast(FusionOp, step.op))]
        return [] if step.kind == "launch" else [self.base(v) for v in step.reads]

    def on_host(self, value: SSAValue) -> bool:
        """Whether a value (no constant) never gets a buffer."""
        return value in self._on_host

    def _add_all(self, block: Block) -> None:
        for op in block.ops:
            if isinstance(op, FusionOp) and op.tiling is not None:
                self._add_group(op)
            elif not isinstance(op, ConstantOp | YieldOp | ReturnOp):
                self._add(op)

    def _add_group(self, group: FusionOp) -> None:
        """Tile by tile if it can be, else layer by layer."""
        for argument, value in zip(group.body.block.args, group.ins, strict=True):
            self._same[argument] = self.resolve(value)
        if self.rules.cut(group) and not any(self.resolve(v) in self._on_host for v in group.ins):
            self.list.append(Step(group, "tiled", list(dict.fromkeys(self.resolve(v) for v in group.ins))))
            return
        self._add_all(group.body.block)
        for result, value in zip(group.outs, yielded(group.body), strict=True):
            self._same[result] = self.resolve(value)

    def _add(self, op: Operation) -> None:
        reads = list(dict.fromkeys(self.resolve(v) for v in (*op.operands, *captured(op))))
        if not op.results or not all(map(is_buffer, op.results)) or any(v in self._on_host for v in reads):
            self._on_host.update(op.results)
            self.list.append(Step(op, "host", reads))
            return
        if self.rules.on_buffers(op):
            self.list.append(Step(op, "control", reads))
            return
        if not self.rules.views:
            self.list.append(Step(op, "launch", reads))
            return
        source = _viewed(op)
        if source is not None and not self.in_pieces(self.resolve(source)):
            self._add_view(op, "view", self.resolve(source))
            return
        order = op.reorders() if isinstance(op, Movement) else None
        if order is not None and is_constant(self.base(self.resolve(op.operands[0]))):
            # A weight that is read across its rows is no slower to read than to turn round first, in each run.
            self._add_view(op, "view", self.resolve(op.operands[0]))
            self.orders[op.results[0]] = order
            self._in_pieces.add(op.results[0])
            return
        boxes = self._boxes_of(op)
        if boxes is None:
            self.list.append(Step(op, "launch", reads))
            return
        self.boxes.update(boxes)
        self._parts.update(boxes)
        self._add_view(op, "part", self.resolve(op.operands[0]))

    def _add_view(self, op: Operation, kind: Kind, source: SSAValue) -> None:
        for result in op.results:
            self._bases[result] = self.base(source)
            if self.is_part(source):
                self._parts.add(result)
        self.list.append(Step(op, kind, [source]))

    def _boxes_of(self, op: Operation) -> dict[SSAValue, Box] | None:
        """Results that are parts of the first operand's buffer; None where the op has to run."""
        if not isinstance(op, Parts) or op in self._launched:
            return None
        source, boxes = self.resolve(op.operands[0]), op.parts()
        if boxes is None or is_constant(source) or not all(nbytes(r.type) for r in op.results):
            return None
        if any(isinstance(use.operation, ReturnOp | YieldOp) for r in op.results for use in r.uses):
            return None  # what is returned has a buffer of its own
        shape = shape_of(source.type)
        pieces = [
            r
            for r, box in zip(op.results, boxes, strict=True)
            if self.in_pieces(source) or not is_contiguous(box, shape)
        ]
        # No view gives another shape to bytes that do not lie in a row.
        if any(_viewed(use.operation) is not None or _is_reshaped_inside(use) for r in pieces for use in r.uses):
            return None
        self._in_pieces.update(pieces)
        return dict(zip(op.results, boxes, strict=True))


def is_buffer(value: SSAValue) -> bool:
    """Whether a computed value can be a memref: a static tensor whose elements are whole bytes."""
    return has_bytes(value) and _bits(value) % 8 == 0


def is_constant(value: SSAValue) -> bool:
    return isinstance(value.owner, ConstantOp)


def captured(op: Operation) -> Iterator[SSAValue]:
    """What the bodies of `op` read from around it."""
    if not op.regions or is_isolated(op):
        return
    own: set[SSAValue] = set()
    for inner in op.walk():
        own.update(inner.results)
        own.update(a for region in inner.regions for block in region.blocks for a in block.args)
    for inner in op.walk():
        if inner is not op:
            yield from (v for v in inner.operands if v not in own)


def reshaped_inside(group: FusionOp) -> set[SSAValue]:
    """What the members of an L2 group read, or give each other, and views among them give another shape."""
    return {op.operands[op.view_of()] for op in group.body.block.ops if isinstance(op, View)}


def _is_reshaped_inside(use: Use) -> bool:
    group = use.operation
    if not isinstance(group, FusionOp) or group.tiling is None:
        return False
    return group.body.block.args[use.index] in reshaped_inside(group)


def _viewed(op: Operation) -> SSAValue | None:
    """The operand that a view is of, where its bytes can stand for the result's."""
    if isinstance(op, Movement) and op.keeps_order():
        source = op.operands[0]
    elif isinstance(op, SameBytes):
        source = op.operands[op.view_of()]
    else:
        return None
    fits = has_bytes(source) and nbytes(source.type) == nbytes(op.results[0].type)
    return source if fits and _bits(source) == _bits(op.results[0]) else None


def _bits(value: SSAValue) -> int:
    return element_of(cast(Any, value.type).element_type).bits


def _late_constants(steps: Sequence[Step]) -> list[Step]:
    """The steps that depend on constants alone right before their first reader, those that nobody reads at the end."""
    found: list[Step] = []
    waiting: dict[SSAValue, Step] = {}
    for step in steps:
        if step.kind != "host" and is_pure(step.op) and all(v in waiting or is_constant(v) for v in step.reads):
            waiting.update(dict.fromkeys(step.op.results, step))
            continue
        at = len(found)
        while step.kind == "host" and at and found[at - 1].kind == "host":
            at -= 1  # consecutive steps on the host stay together
        found[at:at] = _needed(step, waiting)
        found.append(step)
    found.extend(dict.fromkeys(waiting.values()))
    return found


def _needed(step: Step, waiting: dict[SSAValue, Step]) -> list[Step]:
    """Takes out of `waiting` what a step reads, and what that reads, in order."""
    found: list[Step] = []
    ahead = [v for v in step.reads if v in waiting]
    while ahead:
        value = ahead[-1]
        if value not in waiting:
            ahead.pop()
            continue
        before = [v for v in waiting[value].reads if v in waiting]
        ahead.extend(before)
        if not before:
            one = waiting[value]
            found.append(one)
            for result in one.op.results:
                waiting.pop(result, None)
    return found
