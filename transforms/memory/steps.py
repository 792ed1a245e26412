"""
A function on tensors as steps in order, each with what it reads: what bufferization looks at before it builds anything.

    launch   computes static tensors from static tensors: runs on buffers
    tiled    an L2 group that runs tile by tile
    view     gives a tensor's own bytes another shape: no step of the program that runs
    host     reads or gives what is no buffer (sequences, strings, sizes that depend on data), and all that follows

Constants are no steps. An L2 group that cannot be cut into tiles stands as its members, one after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

from xdsl.dialects.func import ReturnOp
from xdsl.ir import Block, Operation, SSAValue

from ...dialects.ge.bodies import FusionOp, YieldOp, yielded
from ...dialects.ge.constants import ConstantOp
from ...dialects.ge.interfaces import View, has_bytes
from ...dialects.ge.types import element_of, nbytes
from ..rewriting import is_isolated

Kind = Literal["launch", "tiled", "view", "host"]


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """`reads`: the values from around the op, each once: operands, then what its bodies capture."""

    op: Operation
    kind: Kind
    reads: Sequence[SSAValue]


class Steps:
    """
    The steps of a block that ends in func.return, and the values that it returns.

    cut    whether a group can run tile by tile

    Values are named by `resolve`: what a group's members read and give, not the group's arguments and results.
    cost   linear in ops
    """

    def __init__(self, block: Block, cut: Callable[[FusionOp], bool] = lambda group: False) -> None:
        self._cut = cut
        self.list: list[Step] = []
        self._same: dict[SSAValue, SSAValue] = {}
        self._bases: dict[SSAValue, SSAValue] = {}
        self._on_host: set[SSAValue] = {a for a in block.args if not is_buffer(a)}
        self._add_all(block)
        last = block.last_op
        self.returned = [self.resolve(v) for v in last.operands] if isinstance(last, ReturnOp) else []

    def resolve(self, value: SSAValue) -> SSAValue:
        return self._same.get(value, value)

    def base(self, value: SSAValue) -> SSAValue:
        """The value that `value` is a view of, or itself."""
        return self._bases.get(value, value)

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
        if self._cut(group) and not any(self.resolve(v) in self._on_host for v in group.ins):
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
        source = _viewed(op)
        if source is None:
            self.list.append(Step(op, "launch", reads))
            return
        source = self.resolve(source)
        self._bases[op.results[0]] = self.base(source)
        self.list.append(Step(op, "view", [source]))


def is_buffer(value: SSAValue) -> bool:
    """Whether a computed value can be a memref: a static tensor whose elements are whole bytes."""
    return has_bytes(value) and element_of(cast(Any, value.type).element_type).bits % 8 == 0


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


def _viewed(op: Operation) -> SSAValue | None:
    """The operand that a view is of, where its bytes can stand for the result's."""
    if not isinstance(op, View):
        return None
    source, result = op.operands[op.view_of()], op.results[0]
    if not has_bytes(source) or cast(Any, source.type).element_type != cast(Any, result.type).element_type:
        return None
    return source if nbytes(source.type) == nbytes(result.type) else None
