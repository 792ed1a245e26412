"""
Several ops as one `ge.fusion`, and back.

    %0 = ge.conv %x, %w         fuse ->       %1 = ge.fusion "ConvRelu" (%a = %x, %b = %w) {
    %1 = ge.relu %0         <- inline           %0 = ge.conv %a, %b
                                                %2 = ge.relu %0
                                                ge.yield %2
                                              }

The ops themselves move, so they keep their names. Constants that a shape or a tile depends on, and scalars, go inside
as copies; weights stay outside, as operands.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import cast

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.rewriter import Rewriter
from xdsl.traits import ConstantLike
from xdsl.utils.exceptions import VerifyException

from ...dialects.ge.bodies import FusionOp, YieldOp
from ...dialects.ge.core import GeOp, info_of
from ...dialects.ge.dims import Dim, symbols_of
from ...dialects.ge.info import Info
from ...dialects.ge.interfaces import is_pure
from ...dialects.ge.kernel_tile import KERNEL_TILE
from ...dialects.ge.types import shape_of

FAR = 2000
"""Ops between the first and the last of a fusion, where those between have to be looked at."""


class CannotFuse(Exception):
    """Ops cannot run as one; the text says why."""


def fuse(ops: Sequence[Operation], label: str) -> FusionOp:
    """
    Makes ops of one block a fusion in the place of the last one. Its results are the values that others read.

    ops        each after those that it reads
    raises     CannotFuse, with nothing changed: an op has an effect, or the fusion would read what depends on it
    cost       linear in `ops`, their operands and readers; where others read more than the last op's results, also in
               the ops between the first and the last (`FAR` at most)
    """
    for op in ops:
        if not is_pure(op):
            raise CannotFuse(f"'{op.name}' is not known to be pure")
    inside, last = set(ops), ops[-1]
    block = last.parent_block()
    assert block is not None
    outs = _read_outside(ops, inside, block)
    late = _late(ops, inside) if any(value.owner is not last for value in outs) else []

    place = last.next_op
    body = Block()
    for op in ops:
        block.detach_op(op)
        op.attributes.pop(KERNEL_TILE, None)  # it does not walk by itself any more
        body.add_op(op)
    ins, copied = _take_in(ops, body)
    body.add_op(YieldOp(*outs))
    fusion = FusionOp(label, ins, [value.type for value in outs], Region(body))
    for (value, uses), result in zip(outs.items(), fusion.outs, strict=True):
        result.name_hint = value.name_hint
        for reader, index in uses:
            reader.operands[index] = result

    for op in late:
        block.detach_op(op)
    for op in (fusion, *late):
        if place is None:
            block.add_op(op)
        else:
            block.insert_op_before(op, place)
    for constant in copied:
        if all(value.first_use is None for value in constant.results):
            Rewriter.erase_op(constant)
    return fusion


def inline(fusion: FusionOp) -> list[Operation]:
    """Puts a fusion's ops in its place; returns them. The inverse of `fuse`, but for copies of constants."""
    block, body = fusion.parent_block(), fusion.body.block
    assert block is not None
    *ops, last = body.ops
    for argument, value in zip(body.args, fusion.ins, strict=True):
        hint = value.name_hint
        argument.replace_all_uses_with(value)
        value.name_hint = hint
    for op in ops:
        body.detach_op(op)
        block.insert_op_before(op, fusion)
    for result, value in zip(fusion.outs, last.operands, strict=True):
        result.replace_all_uses_with(value)
    block.erase_op(fusion)
    return ops


def _read_outside(
    ops: Sequence[Operation], inside: set[Operation], block: Block
) -> dict[SSAValue, list[tuple[Operation, int]]]:
    """The values that others read, each with those readers: op and position of the operand."""
    found: dict[SSAValue, list[tuple[Operation, int]]] = {}
    for op in ops:
        for value in op.results:
            readers = [(use.operation, use.index) for use in value.uses]
            outer = [(r, k) for r, k in readers if block.find_ancestor_op_in_block(r) not in inside]
            if outer:
                found[value] = outer
    return found


def _late(ops: Sequence[Operation], inside: set[Operation]) -> list[Operation]:
    """The ops before the last one that need a result: they have to move behind the fusion."""
    left, at, distance = len(inside) - 1, ops[-1], 0
    while left:
        assert at.prev_op is not None
        at, distance = at.prev_op, distance + 1
        left -= at in inside
        if distance > FAR:
            raise CannotFuse("its ops are too far apart")

    late: list[Operation] = []
    made = {value for op in ops for value in op.results}
    made_late: set[SSAValue] = set()
    while at is not ops[-1].next_op:
        assert at is not None
        reads = {value for inner in at.walk() for value in inner.operands}
        if at in inside:
            if reads & made_late:
                raise CannotFuse("it would read what depends on its own result")
        elif reads & made or reads & made_late:
            if not is_pure(at):
                raise CannotFuse(f"'{at.name}', which reads a result before the last op, cannot be moved")
            late.append(at)
            made_late.update(at.results)
        at = at.next_op
    return late


def _take_in(ops: Sequence[Operation], body: Block) -> tuple[list[SSAValue], list[Operation]]:
    """
    Lets the body's ops read only what is in the body: copies of constants, and arguments.

    returns    the values that the arguments stand for, in the order in which they are first read; the constants that
               were copied
    """
    taken: dict[SSAValue, SSAValue] = {value: value for op in ops for value in op.results}
    ins: list[SSAValue] = []
    copied: list[Operation] = []
    for op in ops:
        for value in dict.fromkeys(op.operands):
            if value not in taken and is_constant(value) and _goes_inside(value, ops):
                original = cast(Operation, value.owner)
                copy = original.clone()
                body.insert_op_before(copy, op)
                copied.append(original)
                taken[value] = copy.results[0]
        nested = _defined_in(op)
        for inner in op.walk():
            for index, value in enumerate(inner.operands):
                if value in nested:
                    continue
                if value not in taken:
                    argument = body.insert_arg(value.type, len(body.args))
                    argument.name_hint = value.name_hint
                    taken[value] = argument
                    ins.append(value)
                inner.operands[index] = taken[value]
    return ins, copied


def _defined_in(op: Operation) -> set[SSAValue]:
    """The values that the op's regions define."""
    blocks = [block for inner in op.walk() for region in inner.regions for block in region.blocks]
    return {v for block in blocks for v in (*block.args, *(r for inner in block.ops for r in inner.results))}


def is_constant(value: SSAValue) -> bool:
    return isinstance(value.owner, Operation) and value.owner.has_trait(ConstantLike)


def _goes_inside(value: SSAValue, ops: Sequence[Operation]) -> bool:
    """Whether a constant is a scalar, or one that the shape of what one of `ops` gives depends on."""
    type_: Attribute = value.type
    if not isinstance(type_, TensorType):
        return False
    if math.prod(shape_of(cast(Attribute, type_))) == 1:
        return True
    if info_of(value).data is None:
        return False
    return any(isinstance(op, GeOp) and value in op.operands and _tells_shapes(op, value) for op in ops)


def _tells_shapes(op: GeOp, value: SSAValue) -> bool:
    """
    Whether more is known of the op's results with the elements of a constant than without: beside all other
    constants, or on its own.
    """
    known = {v: info_of(v) for v in op.operands}
    blind = {v: Info(info.element, info.dims) for v, info in known.items()}
    there = {s for info in known.values() for d in info.dims for s in symbols_of(d)}
    beside_others = _says_more(op, known, known | {value: blind[value]}, there)
    return beside_others or _says_more(op, blind | {value: known[value]}, blind, there)


def _says_more(op: GeOp, more: Mapping[SSAValue, Info], less: Mapping[SSAValue, Info], there: Collection[str]) -> bool:
    """Whether `more` tells a dim (in terms of the symbols that are `there`) or elements that `less` does not."""
    try:
        with_it = op.inferred(more.__getitem__)
    except VerifyException:
        return False
    try:
        without = op.inferred(less.__getitem__)
    except VerifyException:
        return True

    def lost(dim: Dim, other: Dim) -> bool:
        return dim != other and symbols_of(dim) <= set(there)

    for a, b in zip(with_it, without, strict=True):
        if a.rank != b.rank or (a.data is not None and b.data is None):
            return True
        if any(lost(d, e) for d, e in zip(a.dims, b.dims, strict=True)):
            return True
    return False
