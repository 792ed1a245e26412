"""
A function as the traffic model sees it: tensors, ops in order, and what a tile of samples reads.

    %a = ge.conv %x, %w        Piece(batch=32, tensors=(x, w, a, b), ops=(conv: x, w -> a; relu: a -> b))
    %b = ge.relu %a            x, a, b: 32 equal slices, one a sample; w: whole for every tile

What a tile reads is asked of the ops (`operand_tiles`), not known here. A view (Reshape, Flatten) moves no byte: its
result is its operand's tensor. An op that cannot be cut along the batch, or is no op of the dialect, is in no group.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, SSAValue

from ...dialects.ge.constants import ConstantOp
from ...dialects.ge.interfaces import Box, View, flops_of, has_bytes, is_pure, whole
from ...dialects.ge.types import nbytes, shape_of
from ...planning import Buffer, Op, Piece, Tensor, plan_offsets
from ..tiling import rows_needed


@dataclass
class Described:
    """
    A function for the planners, and back.

    ops      the function's ops in order, as `piece.ops` numbers them
    views    ops of the function that are views, each after the number of piece ops that stand before it
    rows     op -> rows of its first result that one sample is; only of those that can be cut
    """

    piece: Piece
    ops: list[Operation]
    views: list[tuple[int, Operation]] = field(default_factory=list[tuple[int, Operation]])
    rows: dict[Operation, int] = field(default_factory=dict[Operation, int])


def batch_of(function: FuncOp) -> int:
    """Samples: the leading dim that most bytes of the arguments share; 1 where there is none."""
    weight: dict[int, int] = {}
    for argument in function.body.block.args:
        if has_bytes(argument) and len(shape_of(argument.type)) > 1:
            size = shape_of(argument.type)[0]
            weight[size] = weight.get(size, 0) + nbytes(argument.type)
    return max(weight, key=lambda size: (weight[size], size), default=1)


def describe(function: FuncOp, align: int) -> Described | None:
    """
    The function for the planners; None where a value has no fixed size, or there is nothing to cut.

    align      of buffers in the arena, bytes; intermediate tensors get the addresses that a plan without groups gives
    cost       linear in ops, but for the search of the arena
    """
    block, batch = function.body.block, batch_of(function)
    steps = [op for op in block.ops if not isinstance(op, ConstantOp | ReturnOp)]
    if batch < 2 or not all(has_bytes(v) for op in steps for v in (*op.operands, *op.results)):
        return None
    root: dict[SSAValue, SSAValue] = {}
    views: list[tuple[int, Operation]] = []
    ops: list[Operation] = []
    for op in steps:
        if isinstance(op, View) and len(op.results) == 1:
            source = op.operands[op.view_of()]
            root[op.results[0]] = root.get(source, source)
            views.append((len(ops), op))
        else:
            ops.append(op)
    rows = {op: found for op in ops if (found := rows_of(op, batch)) is not None}
    return _Builder(block, batch, ops, views, root, rows, align).build()


def rows_of(op: Operation, batch: int) -> int | None:
    """
    Rows of the first result that one sample is, if tiles of samples can be computed from tiles of the operands (or
    from whole ones); else None.
    """
    if not op.results or not is_pure(op):
        return None
    shape = shape_of(op.results[0].type)
    if not shape or shape[0] % batch:
        return None
    rows = shape[0] // batch
    for result in op.results:
        if not shape_of(result.type) or shape_of(result.type)[0] != shape[0]:
            return None
    first, second = (rows_needed(op, rows * k, rows) for k in (0, 1))
    if first is None or second is None:
        return None
    for value, a, b in zip(op.operands, first, second, strict=True):
        if _moves(value, a, batch, 0) and _moves(value, b, batch, 1):
            continue
        if a != whole(value) or b != whole(value):
            return None
    return rows


def _moves(value: SSAValue, box: Box, batch: int, sample: int) -> bool:
    """Whether a box is sample `sample` of a value whose rows are dealt out evenly."""
    shape = shape_of(value.type)
    if not shape or shape[0] % batch:
        return False
    rows = shape[0] // batch
    return box == ((rows * sample, rows), *whole(value)[1:])


@dataclass
class _Builder:
    block: Block
    batch: int
    ops: list[Operation]
    views: list[tuple[int, Operation]]
    root: dict[SSAValue, SSAValue]
    rows: dict[Operation, int]
    align: int
    number: dict[SSAValue, int] = field(default_factory=dict[SSAValue, int])

    def build(self) -> Described:
        reads = [[self._root(v) for v in op.operands] for op in self.ops]
        writes: list[list[SSAValue]] = [list(op.results) for op in self.ops]
        last = self.block.last_op
        returned = {self._root(v) for v in (last.operands if last is not None else ())}
        # A tensor is cut if whoever writes it, and everybody who reads it in a tile, does so by samples.
        cut: set[SSAValue] = {r for op in self.rows for r in op.results}
        asked: dict[SSAValue, list[bool]] = {}
        for op, values in zip(self.ops, reads, strict=True):
            boxes = rows_needed(op, 0, self.rows[op]) if op in self.rows else None
            for k, value in enumerate(values):
                moves = boxes is not None and _moves(op.operands[k], boxes[k], self.batch, 0)
                asked.setdefault(value, []).append(moves)
                if value in cut and not moves:
                    self.rows.pop(op, None)
        for value, moves in asked.items():
            if not isinstance(value.owner, Operation) and all(moves):
                cut.add(value)
        for op in self.ops:
            if op not in self.rows:
                cut.difference_update(op.results)
        offsets = self._addresses(reads, writes, returned)
        tensors = [
            Tensor(
                v.name_hint or f"t{k}",
                nbytes(v.type),
                batched=v in cut and nbytes(v.type) % self.batch == 0,
                output=v in returned,
                address=offsets.get(v),
            )
            for k, v in enumerate(self._values(reads, writes))
        ]
        ops = [
            Op(
                op.name,
                tuple(self.number[v] for v in dict.fromkeys(r)),
                tuple(self.number[v] for v in w),
                float(flops_of(op)),
                op in self.rows and all(tensors[self.number[v]].batched for v in w),
            )
            for op, r, w in zip(self.ops, reads, writes, strict=True)
        ]
        return Described(Piece(self.batch, tuple(tensors), tuple(ops)), self.ops, self.views, self.rows)

    def _root(self, value: SSAValue) -> SSAValue:
        return self.root.get(value, value)

    def _values(self, reads: list[list[SSAValue]], writes: list[list[SSAValue]]) -> list[SSAValue]:
        for values in (v for pair in zip(reads, writes, strict=True) for v in pair):
            for value in values:
                self.number.setdefault(value, len(self.number))
        return list(self.number)

    def _addresses(
        self, reads: list[list[SSAValue]], writes: list[list[SSAValue]], returned: set[SSAValue]
    ) -> dict[SSAValue, int]:
        """Where intermediate tensors lie when every op runs by itself: they share one arena, and so cache lines."""
        begin = {v: k for k, values in enumerate(writes) for v in values if v not in returned}
        end = {v: k + 1 for v, k in begin.items()}
        for k, values in enumerate(reads):
            end.update((v, k + 1) for v in values if v in begin)
        buffers = [Buffer(begin[v], end[v], nbytes(v.type)) for v in begin]
        return dict(zip(begin, plan_offsets(buffers, alignment=self.align), strict=True))
