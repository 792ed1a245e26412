"""
What is done alike to every part of a value is done to the whole, before it is cut.

    %q, %k, %v = ge.split %x axis 2            %h = ge.transpose (ge.reshape %x, [0, 16, 36, 64]) perm [0, 2, 1, 3]
    ge.transpose (ge.reshape %q, [0, 16, 12, 64]) perm [0, 2, 1, 3]     ->      %q, %k, %v = ge.split %h axis 1
    ...                                                                         ge.transpose %k perm [0, 1, 3, 2]

Reshapes that divide the axis into heads, then transposes; a part that wants another order of axes than the rest is
turned once more. Needs nobody else to read the parts. Leaves no such split.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, ModuleOp
from xdsl.ir import Attribute, Operation, SSAValue

from ...dialects.ge.constants import constant
from ...dialects.ge.movement import ReshapeOp, TransposeOp
from ...dialects.ge.names import OUTPUTS
from ...dialects.ge.shapes import numbers_in
from ...dialects.ge.slicing import SplitOp
from ...dialects.ge.types import shape_of, tensor_type
from ..base import GePass, carry_names
from ..operands import element_type
from ..report import count
from ..rewriting import drop_unread, functions, walk_outside


class SplitSinking(GePass):
    name = "split-sinking"
    ge_name = "SplitSinkingPass"
    level = 3
    summary = "Reshapes and transposes a value before it is cut, where all parts are"
    regroups = True

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in functions(op):
            for inner in list(walk_outside(function, SplitOp)):
                if inner.parent is not None:
                    _sink(inner, op)


def _sink(cut: SplitOp, module: ModuleOp) -> None:
    behind = _behind_reshapes(cut, module)
    behind = _behind_transposes(behind or cut, module) or behind
    if behind is not None:
        count("splits moved")


def _readers(cut: SplitOp, kind: type[Any]) -> list[Any] | None:
    """The op of that kind that alone reads each part."""
    found: list[Any] = []
    for part in cut.outputs:
        op = part.get_user_of_unique_use()
        if op is None or not isinstance(op, kind) or op.parent is not cut.parent or op.operands[0] is not part:
            return None
        found.append(op)
    return found if len(found) > 1 else None


def _behind_reshapes(cut: SplitOp, module: ModuleOp) -> SplitOp | None:
    readers: list[ReshapeOp] | None = _readers(cut, ReshapeOp)
    rank = len(shape_of(cut.input.type))
    if readers is None or cut.axis % rank != rank - 1 or any(op.allowzero for op in readers):
        return None
    shapes = [numbers_in(op.shape) for op in readers]
    results = [shape_of(op.reshaped.type) for op in readers]
    target = _common_shape(shapes, results, rank - 1)
    if target is None:
        return None
    heads = [result[-2] for result in results]
    parts = [shape_of(part.type)[-1] for part in cut.outputs]
    if any(n != h * results[0][-1] for n, h in zip(parts, heads, strict=True)):
        return None
    shape = _put(constant(np.array(target, np.int64), module), cut)
    whole = _put(ReshapeOp(cut.input, shape), cut)
    return _cut_again(cut, whole, len(target) - 2, heads, readers, module)


def _common_shape(
    shapes: Sequence[list[int] | None], results: Sequence[tuple[int, ...]], last: int
) -> list[int] | None:
    """
    The numbers that reshape the whole where these reshape its parts, to results that differ in the dim before the last.

    last    the axis that is divided; a 0 there would copy a part's length
    """
    first = shapes[0]
    if first is None or len(first) < 2 or any(r[-1] < 1 or r[-2] < 1 for r in results):
        return None
    for shape, result in zip(shapes, results, strict=True):
        if shape is None or len(shape) != len(first) or shape[:-2] != first[:-2] or result[-1] != results[0][-1]:
            return None
        if 0 in shape[last:]:
            return None
    return [*first[:-2], sum(r[-2] for r in results), results[0][-1]]


def _behind_transposes(cut: SplitOp, module: ModuleOp) -> SplitOp | None:
    readers: list[TransposeOp] | None = _readers(cut, TransposeOp)
    if readers is None:
        return None
    (perm, often), *_ = Counter(tuple(op.order) for op in readers).most_common(1)
    if often < 2:
        return None
    sizes = [shape_of(part.type)[cut.axis] for part in cut.outputs]
    if min(sizes) < 0:
        return None
    whole = _put(TransposeOp(cut.input, perm=perm), cut)
    axis = cut.axis % len(perm)
    return _cut_again(cut, whole, perm.index(axis), sizes, readers, module, perm)


def _cut_again(
    cut: SplitOp,
    whole: SSAValue,
    axis: int,
    sizes: Sequence[int],
    readers: Sequence[Any],
    module: ModuleOp,
    perm: Sequence[int] | None = None,
) -> SplitOp:
    """Cuts `whole` into what `readers` made of the parts; those that order axes not by `perm` turn theirs once more."""
    lengths = _put(constant(np.array(sizes, np.int64), module), cut)
    types = [_turned(reader, perm) if perm is not None else reader.results[0].type for reader in readers]
    again = SplitOp(whole, lengths, axis=axis, result_types=types)
    names = [reader.attributes.get(OUTPUTS) for reader in readers]
    turns = perm is not None and any(tuple(reader.order) != tuple(perm) for reader in readers)
    if all(names) and not turns:
        again.attributes[OUTPUTS] = ArrayAttr([cast("ArrayAttr[Attribute]", n).data[0] for n in names])
    block = cut.parent_block()
    assert block is not None
    block.insert_op_before(again, cut)
    for part, reader in zip(again.outputs, readers, strict=True):
        value: SSAValue = part
        if perm is not None and tuple(reader.order) != tuple(perm):
            turn = TransposeOp(part, perm=[perm.index(k) for k in reader.order])
            carry_names(reader, [turn.output])
            value = _put(turn, cut)
        reader.results[0].replace_all_uses_with(value)
        drop_unread(reader)
    drop_unread(cut)
    return again


def _turned(reader: TransposeOp, perm: Sequence[int]) -> Attribute:
    """The type of a part that is ordered by `perm`, from that of one that `reader` has ordered."""
    dims = dict(zip(reader.order, shape_of(reader.output.type), strict=True))
    return tensor_type(element_type(reader.output), tuple(dims[k] for k in perm))


def _put(op: Any, before: Operation) -> SSAValue:
    block = before.parent_block()
    assert block is not None
    block.insert_op_before(op, before)
    return op.results[0]
