"""
Builds what runs on buffers from ops on tensors: the body keeps the ops as they are, its arguments stand for buffers.

Into the body go the constants that a shape or a tile may depend on: small integers, truth values and factors, scalars,
and what has no bytes (strings). Weights stay outside.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ...dialects.ge.attributes import WeightAttr
from ...dialects.ge.bodies import FusionOp, YieldOp, contents_type, yielded
from ...dialects.ge.constants import ConstantOp
from ...dialects.ge.data import INLINE
from ...dialects.ge.interfaces import has_bytes
from ...dialects.ge.kernel_tile import KERNEL_TILE
from ...dialects.ge.types import is_float, shape_of

FACTORS = 16
"""Elements up to which floats may be what a shape depends on (Resize's scales and region of interest, an axis each)."""

Resolve = Callable[[SSAValue], SSAValue]


@dataclass(frozen=True)
class Body:
    """
    reads     one value an argument of the body
    results   one value a value that the body yields
    """

    region: Region
    reads: Sequence[SSAValue]
    results: Sequence[SSAValue]


def stands_inside(constant: ConstantOp) -> bool:
    """Whether a constant is cloned into each body that reads it, rather than mapped once outside."""
    if not has_bytes(constant.output):
        return True
    count = math.prod(shape_of(constant.output.type))
    few = FACTORS if is_float(cast(Any, constant.output.type).element_type) else INLINE
    return count <= 1 or (count <= few and not isinstance(constant.value, WeightAttr))


def body_of(op: Operation, reads: Sequence[SSAValue], resolve: Resolve) -> Body:
    """
    `op`, or the ops of a fusion, as the body of a launch; of several results those that are read.

    reads     the values from around `op`, each once
    """
    if isinstance(op, FusionOp):
        return _body_of_fusion(op, resolve)
    read = [r for r in op.results if r.first_use is not None] or list(op.results)
    return body_of_ops([op], reads, read, resolve)


def body_of_constant(value: Attribute, type_: Attribute) -> Region:
    """What a buffer is filled with."""
    op = ConstantOp(value, type_)
    return Region(Block([op, YieldOp(op.output)]))


def body_of_ops(
    ops: Sequence[Operation], reads: Sequence[SSAValue], results: Sequence[SSAValue], resolve: Resolve
) -> Body:
    """Moves `ops` into a body that yields `results`; constants among `reads` are cloned where they stand inside."""
    outside = [v for v in reads if not is_inside(v)]
    block = Block(arg_types=[contents_type(v.type) for v in outside])
    stands_for: dict[SSAValue, SSAValue] = dict(zip(outside, block.args, strict=True))
    for value, argument in stands_for.items():
        argument.name_hint = value.name_hint
    for value in reads:
        if value not in stands_for:
            clone = cast(ConstantOp, value.owner).clone()
            block.add_op(clone)
            stands_for[value] = clone.output
    for op in ops:
        op.detach()
        op.attributes.pop(KERNEL_TILE, None)  # the launch has it
        for inner in op.walk() if op.regions else (op,):
            known = [resolve(v) for v in inner.operands]
            inner.operands = [stands_for.get(v, v) for v in known]
        block.add_op(op)
    block.add_op(YieldOp(*results))
    return Body(Region(block), outside, results)


def _body_of_fusion(op: FusionOp, resolve: Resolve) -> Body:
    region = Region()
    op.body.move_blocks(region)
    block, last = region.block, cast(YieldOp, region.block.last_op)
    stands_for: dict[SSAValue, SSAValue] = {}
    for argument, operand in zip(list(block.args), op.ins, strict=True):
        value = resolve(operand)
        if is_inside(value) and value not in stands_for:
            clone = cast(ConstantOp, value.owner).clone()
            block.insert_op_before(clone, cast(Operation, block.first_op))
            stands_for[value] = clone.output
        if value in stands_for:
            argument.replace_all_uses_with(stands_for[value])
            block.erase_arg(argument)
        else:
            stands_for[value] = argument
    kept = [k for k, r in enumerate(op.outs) if r.first_use is not None] or list(range(len(op.outs)))
    if len(kept) < len(op.outs):
        values = yielded(region)
        last.operands = [values[k] for k in kept]
    reads = [v for v in stands_for if not is_inside(v)]
    return Body(region, reads, [op.outs[k] for k in kept])


def is_inside(value: SSAValue) -> bool:
    """Whether a value is a constant that is cloned into each body."""
    return isinstance(value.owner, ConstantOp) and stands_inside(value.owner)
