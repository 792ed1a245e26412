"""
Transposes move towards the outputs where some of them vanish on the way.

    %a = ge.transpose %x perm [0, 3, 1, 2]
    %b = ge.relu %a
    %c = ge.transpose %b perm [0, 2, 3, 1]       ->       %c = ge.relu %x

Through what works on any order of axes, with its axes renamed: elementwise ops, reductions, Concat, Split, Slice, Pad,
Softmax; constants beside them are transposed at compile time. And over a Reshape that leaves the moved axes whole,
where another transpose stands before it:

    %c = transpose(reshape(transpose(%x)))       ->       %c = reshape(transpose(%x))

By cost: the whole way is looked at first, and gone only if fewer transposes are left than were. Needs nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Any

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.rewriter import Rewriter

from ...dialects.ge.constants import ConstantOp, constant
from ...dialects.ge.core import GeOp
from ...dialects.ge.dims import Dim, exact_quotient
from ...dialects.ge.info import Info
from ...dialects.ge.interfaces import Elementwise, is_pure
from ...dialects.ge.kernel_tile import KERNEL_TILE
from ...dialects.ge.movement import ReshapeOp, TransposeOp
from ...dialects.ge.names import OUTPUTS
from ...dialects.ge.padding import PadOp
from ...dialects.ge.reduction import Reduce
from ...dialects.ge.slicing import ConcatOp, SliceOp, SplitOp
from ...dialects.ge.softmax import LogSoftmaxOp, SoftmaxOp
from ...dialects.ge.types import shape_of
from ..base import GePass
from ..opset import opset_of
from ..report import count
from ..rewriting import functions, replace_uses, sync_type, walk_outside
from ..shape.analysis import Dims
from ..shape.views import put, reshape_spec, vector

FAR = 64
"""Ops that are looked at for one transpose."""
LARGE = 1 << 16
"""Elements of a constant beyond which it is not transposed for this."""

Perm = tuple[int, ...]


class TransposePropagation(GePass):
    name = "transpose-propagation"
    ge_name = "TransposePropagationPass"
    aliases = ("TransposeWithBroadcastEliminatePass",)
    level = 1
    summary = "Moves transposes through other ops where some of them vanish"
    regroups = True

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in functions(op):
            dims = Dims(function)
            places: dict[Operation, float] = {}
            for inner in list(walk_outside(function)):
                places[inner] = len(places)
            for inner in list(places):
                if isinstance(inner, TransposeOp) and inner.parent is not None:
                    way = Way(inner, dims, places, op)
                    if way.gain() > 0:
                        way.go()
                    elif isinstance(inner.input.owner, ReshapeOp):
                        _over_reshape(inner, inner.input.owner, dims)
            sync_type(function)


@dataclass(eq=False)
class Step:
    """What becomes of an op on the way: other attributes, another constant for an operand."""

    op: GeOp
    attributes: dict[str, Any] = field(default_factory=dict[str, Any])
    constants: dict[int, np.ndarray] = field(default_factory=dict[int, np.ndarray])


class Way:
    """
    What would become of the ops behind a transpose if it moved on.

    `perms` says of each value on the way how the one that takes its place must be transposed to be it.
    """

    def __init__(self, start: TransposeOp, dims: Dims, places: dict[Operation, float], module: ModuleOp) -> None:
        self.dims, self.places, self.module = dims, places, module
        self.any_axis = opset_of(module) >= 13  # a Softmax of before goes over all axes from its own on
        self.block: Block | None = start.parent_block()
        self.perms: dict[SSAValue, Perm] = {}
        self.starts: list[TransposeOp] = []
        self.steps: list[Step] = []
        self.ends: dict[TransposeOp, Perm] = {}
        self.needed: dict[SSAValue, list[Operation]] = {}
        """Values that are still read as they are, and by whom."""
        self.looked = 0
        self.tangled = False
        self._met: set[Operation] = set()
        self._now: Operation | None = None
        self._queue: list[tuple[float, int, Operation]] = []
        self._begin(start)
        while self._queue:
            op = heappop(self._queue)[2]
            if op not in self._met:
                self._met.add(op)
                self._now = op
                self._meet(op)

    def gain(self) -> int:
        if self.tangled:
            return 0
        gone = sum(map(_is_unchanged, self.ends.values()))
        back = sum(not _is_unchanged(self.perms[value]) for value in self.needed)
        return len(self.starts) + gone - back

    def _begin(self, op: TransposeOp) -> None:
        self.starts.append(op)
        self._add(op.output, op.order)

    def _add(self, value: SSAValue, perm: Perm) -> None:
        self.perms[value] = perm
        for use in value.uses:
            if use.operation is self._now:  # it is being asked
                continue
            if use.operation in self._met:
                self.tangled = True  # it was met while this value was not yet on the way
            if use.operation.parent_block() is self.block and use.operation in self.places:
                heappush(self._queue, (self.places[use.operation], id(use.operation), use.operation))
            else:
                self.needed.setdefault(value, []).append(use.operation)

    def _meet(self, op: Operation) -> None:
        self.looked += 1
        found = None
        if isinstance(op, TransposeOp):
            perm = self.perms[op.input]
            self.ends[op] = tuple(perm[k] for k in op.order)
            return
        if self.looked <= FAR and isinstance(op, GeOp) and is_pure(op):
            found = self._step(op)
        if found is None:
            for value in dict.fromkeys(op.operands):
                if value in self.perms:
                    self.needed.setdefault(value, []).append(op)
            return
        step, perms = found
        self.steps.append(step)
        for result, perm in zip(op.results, perms, strict=True):
            self._add(result, perm)

    # ------------------------------------------------------------------ what an op does on other axes

    def _step(self, op: GeOp) -> tuple[Step, list[Perm]] | None:
        perm = next(self.perms[v] for v in op.operands if v in self.perms)
        first = op.operands[0] in self.perms
        match op:
            case ConcatOp():
                step = Step(op, {"axis": perm[op.axis % len(perm)]})
                return (step, [perm]) if self._alike(op, step, perm, exact=True) else None
            case SplitOp() if first:
                return Step(op, {"axis": perm[op.axis % len(perm)]}), [perm] * len(op.results)
            case SoftmaxOp() | LogSoftmaxOp() if first and self.any_axis:
                return Step(op, {"axis": perm[op.axis % len(perm)]}), [perm]
            case SliceOp() if first:
                return self._slice(op, perm)
            case PadOp() if first and op.axes is None:
                return self._pad(op, perm)
            case Reduce() if first:
                return self._reduce(op, perm)
            case _ if isinstance(op, Elementwise) and len(op.results) == 1 and self._rank(op.results[0]) == len(perm):
                step = Step(op)
                return (step, [perm]) if self._alike(op, step, perm, exact=False) else None
            case _:
                return None

    def _rank(self, value: SSAValue) -> int:
        return self.dims(value).rank if isinstance(value.type, TensorType) else -1

    def _alike(self, op: GeOp, step: Step, perm: Perm, *, exact: bool) -> bool:
        """Whether every operand comes with the same order of axes, or can be brought to it for nothing."""
        for k, value in enumerate(op.operands):
            if value in self.perms:
                if self.perms[value] != perm:
                    return False
            elif isinstance(value.owner, ConstantOp):
                shape = shape_of(value.type)
                if not exact and all(d == 1 for d in shape) and len(shape) <= len(perm):
                    continue
                if np.prod(shape) > LARGE or (exact and len(shape) != len(perm)):
                    return False
                full = value.owner.array().reshape([1] * (len(perm) - len(shape)) + list(shape))
                step.constants[k] = full.transpose(np.argsort(perm))
            elif not exact and self._rank(value) == 0:
                continue
            elif isinstance(value.owner, TransposeOp) and value.owner.order == perm and value.owner in self.places:
                if value.owner.parent_block() is not self.block:
                    return False
                self._begin(value.owner)
            else:
                return False
        return True

    def _slice(self, op: SliceOp, perm: Perm) -> tuple[Step, list[Perm]] | None:
        given = None if op.axes is None else self.dims(op.axes).numbers
        if given is None:
            return None
        axes = np.array([perm[a % len(perm)] for a in given], np.int64)
        return Step(op, constants={3: axes}), [perm]

    def _pad(self, op: PadOp, perm: Perm) -> tuple[Step, list[Perm]] | None:
        numbers = self.dims(op.pads).numbers
        if numbers is None:
            return None
        back, rank = [int(k) for k in np.argsort(perm)], len(perm)
        pads = [numbers[k] for k in back] + [numbers[rank + k] for k in back]
        return Step(op, constants={1: np.array(pads, np.int64)}), [perm]

    def _reduce(self, op: Reduce, perm: Perm) -> tuple[Step, list[Perm]] | None:
        if op.axes is not None and self.dims(op.axes).numbers is None:
            return None
        axes = op.reduced_axes()
        step = Step(op)
        if op.axes is not None and axes:
            step.constants[1] = np.array(sorted(perm[a] for a in axes), np.int64)
        if op.keepdims:
            return step, [perm]
        left = sorted(perm[k] for k in range(len(perm)) if k not in axes)
        return step, [tuple(left.index(perm[k]) for k in range(len(perm)) if k not in axes)]

    # ------------------------------------------------------------------ going

    def go(self) -> None:
        assert self.block is not None
        new: dict[SSAValue, SSAValue] = {start.output: start.input for start in self.starts}
        old: dict[SSAValue, Info] = {}
        names: dict[Operation, Attribute] = {}
        for step in self.steps:
            op = step.op
            old.update((r, self.dims(r)) for r in op.results)
            for k, value in enumerate(list(op.operands)):
                if k in step.constants:
                    known = constant(np.ascontiguousarray(step.constants[k]), self.module)
                    self.block.insert_op_before(known, op)
                    op.operands[k] = known.output
                elif value in new:
                    op.operands[k] = new[value]
            for name in step.attributes:
                op.properties.pop(name, None)
            op.properties.update(type(op).pack(step.attributes))
            op.attributes.pop(KERNEL_TILE, None)  # its axes are others now
            outputs = op.attributes.pop(OUTPUTS, None)  # what it gives now is no longer what had the name
            if outputs is not None:
                names[op] = outputs
            for result in op.results:
                perm = self.perms[result]
                dims: list[Dim] = [0] * len(perm)
                for k, axis in enumerate(perm):
                    dims[axis] = old[result].dims[k]
                info = Info(old[result].element, tuple(dims))
                result._type = info.type  # pyright: ignore[reportPrivateUsage]
                self.dims.learn(result, info)
                new[result] = result
        for value, readers in self.needed.items():
            if isinstance(value.owner, TransposeOp) or _is_unchanged(self.perms[value]):
                continue  # one that the way began with stays for them; the axes may be in order again
            back = TransposeOp(value, perm=self.perms[value], result_types=[old[value].type])
            after = value.owner
            assert isinstance(after, Operation)
            self.block.insert_op_after(back, after)
            if after in names and len(after.results) == 1:
                back.attributes[OUTPUTS] = names[after]
            self.places[back] = self.places[after] + 0.5
            self.dims.learn(back.output, old[value])
            for reader in readers:
                for k, operand in enumerate(list(reader.operands)):
                    if operand is value:
                        reader.operands[k] = back.output
        for end, perm in self.ends.items():
            source = new[end.input]
            if _is_unchanged(perm):
                replace_uses(end.output, source)
                Rewriter.erase_op(end)
            else:
                end.operands[0] = source
                end.properties.update(TransposeOp.pack({"perm": perm}))
        for start in self.starts:
            if start.output.first_use is None:
                Rewriter.erase_op(start)
        count("transposes moved", len(self.starts))


def _is_unchanged(perm: Perm) -> bool:
    return perm == tuple(range(len(perm)))


def _over_reshape(op: TransposeOp, reshape: ReshapeOp, dims: Dims) -> None:
    """transpose(reshape(transpose(x))) as reshape(transpose(x)) where the reshape leaves what moves whole."""
    before = reshape.data.owner
    if not isinstance(before, TransposeOp) or not (reshape.data.has_one_use() and reshape.reshaped.has_one_use()):
        return
    ins, outs = dims(reshape.data).dims, dims(reshape.reshaped).dims
    groups = _groups(ins, outs)
    if groups is None:
        return
    order: list[int] = []
    done = 0
    while done < len(op.order):
        # The groups of results must stay together, in their own order.
        group = next((g for g in groups if g[1][:1] == [op.order[done]]), None)
        if group is None or list(op.order[done : done + len(group[1])]) != group[1]:
            return
        order += group[0]
        done += len(group[1])
    if sorted(order) != list(range(len(ins))):
        return
    spec = reshape_spec([ins[k] for k in order], dims(op.output).dims)
    if spec is None:
        return
    perm = tuple(before.order[k] for k in order)
    moved = TransposeOp(before.input, perm=perm)
    shape = vector(spec, op)
    view = ReshapeOp(moved.output, shape.output, result_types=[op.output.type])
    put(dims, op, [moved, shape, view], view.reshaped)
    Rewriter.erase_op(reshape)
    Rewriter.erase_op(before)
    count("transposes moved over reshapes")


def _groups(ins: Sequence[Dim], outs: Sequence[Dim]) -> list[tuple[list[int], list[int]]] | None:
    """The axes of both sides of a view in groups of equal numbers of elements, as small as can be told."""
    groups: list[tuple[list[int], list[int]]] = []
    i = j = 0
    while i < len(ins) and j < len(outs):
        left, right = [i], [j]
        a, b = ins[i], outs[j]
        i, j = i + 1, j + 1
        while a != b:
            if i < len(ins) and exact_quotient(b, a) is not None:
                a, left, i = a * ins[i], [*left, i], i + 1
            elif j < len(outs) and exact_quotient(a, b) is not None:
                b, right, j = b * outs[j], [*right, j], j + 1
            else:
                return None
        groups.append((left, right))
    return groups if i == len(ins) and j == len(outs) else None
