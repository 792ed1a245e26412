"""
A function as the traffic model sees it: tensors, ops in order, and which part of its operands a tile needs.

    %a = ge.conv %x, %w        Piece(batch=32, tensors=(x, w, a, b), ops=(conv: x, w -> a; relu: a -> b))
    %b = ge.relu %a            x, a, b: 32 equal slices, one a sample; w: whole for every tile

It is cut along the batch, or along rows: those of an image or a matrix, the places of a sequence. Each value has an
axis of its own for it, found from the arguments on: that of an op's result which moves with that of its operands. What
a tile needs is asked of the ops (`operand_tiles`), not known here. A view (Reshape, Flatten) moves no byte: its result
is its operand's tensor. An op that cannot be cut so, or is no op of the dialect, is in no group.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import product
from math import lcm, prod
from typing import Literal, TypeAlias

from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region, SSAValue

from ...dialects.ge.constants import ConstantOp
from ...dialects.ge.interfaces import Box, Joins, Parts, View, flops_of, has_bytes, is_pure, whole
from ...dialects.ge.types import nbytes, shape_of
from ...planning import Op, Piece, Tensor, Window
from ..memory.tiles import tile_body
from ..tiling import Tile, box_behind, boxes_needed

Kind = Literal["batch", "rows"]
Reads: TypeAlias = "list[tuple[SSAValue, Box | None]]"

FEW = 8
"""Rows of which the borders leave none inside to tell a stride by."""

IMAGE_RANK = 4
"""From this rank on a value is taken for an image: its rows are axis 2."""


@dataclass
class Described:
    """
    A function for the planners, and back.

    values   the function's values, as `piece.tensors` numbers them
    ops      the function's ops in order, as `piece.ops` numbers them
    views    ops of the function that move no byte, each after the number of piece ops that stand before it
    axes     the axis along which each op's results are cut
    """

    piece: Piece
    values: list[SSAValue]
    ops: list[Operation]
    views: list[tuple[int, Operation]] = field(default_factory=list[tuple[int, Operation]])
    axes: dict[Operation, int] = field(default_factory=dict[Operation, int])

    def lying_at(self, addresses: Mapping[SSAValue, int]) -> Piece:
        """The piece with its tensors at these addresses of the arena."""
        tensors = [replace(t, address=addresses.get(v)) for v, t in zip(self.values, self.piece.tensors, strict=True)]
        for op in self.piece.ops:
            for t, u in product(op.writes, op.reads):
                one, other = tensors[t], tensors[u]
                if one.address is not None and (one.address, one.bytes) == (other.address, other.bytes):
                    tensors[t] = replace(one, over=u)
        return replace(self.piece, tensors=tuple(tensors))


def batch_of(function: FuncOp) -> int:
    """Samples: the leading dim that most bytes of the arguments share; 1 where there is none."""
    weight: dict[int, int] = {}
    for argument in function.body.block.args:
        if has_bytes(argument) and len(shape_of(argument.type)) > 1:
            size = shape_of(argument.type)[0]
            weight[size] = weight.get(size, 0) + nbytes(argument.type)
    return max(weight, key=lambda size: (weight[size], size), default=1)


@dataclass(frozen=True)
class Lying:
    """
    Where values lie while every op runs by itself.

    addresses   in the arena, bytes; not every value has one
    free        joins and cuts that move no byte: their operands lie in their results, or the other way round
    """

    addresses: Mapping[SSAValue, int] = field(default_factory=dict[SSAValue, int])
    free: Collection[Operation] = ()


def describe(function: FuncOp, kind: Kind, lying: Lying | None = None) -> Described | None:
    """
    The function for the planners; None where a value has no fixed size, or there is nothing to cut.

    cost   linear in ops
    """
    lying = lying or Lying()
    block, batch = function.body.block, batch_of(function)
    steps = [op for op in block.ops if not isinstance(op, ConstantOp | ReturnOp)]
    if not all(has_bytes(v) for op in steps for v in (*op.operands, *op.results)):
        return None
    if kind == "batch" and batch < 2:
        return None
    views: list[tuple[int, Operation]] = []
    ops: list[Operation] = []
    for op in steps:
        if (isinstance(op, View) and len(op.results) == 1) or op in lying.free:
            views.append((len(ops), op))
        else:
            ops.append(op)
    described = _Builder(block, batch if kind == "batch" else 1, kind, ops, views, lying.addresses).build()
    return described if described.axes else None


@dataclass
class _Builder:
    """
    atoms   value -> the tensors that it is: its operand's behind a view, its operands' for a join, its parts' if it is
            cut; itself if it is not here
    axis    tensor -> the axis along which it is cut
    unlike  ops of which one tile is another op than the next, wherever it lies
    """

    block: Block
    batch: int
    kind: Kind
    ops: list[Operation]
    views: list[tuple[int, Operation]]
    addresses: Mapping[SSAValue, int]
    number: dict[SSAValue, int] = field(default_factory=dict[SSAValue, int])
    atoms: dict[SSAValue, list[SSAValue]] = field(default_factory=dict[SSAValue, list[SSAValue]])
    axis: dict[SSAValue, int] = field(default_factory=dict[SSAValue, int])
    axes: dict[Operation, int] = field(default_factory=dict[Operation, int])
    windows: dict[Operation, list[Window | None]] = field(default_factory=dict[Operation, list[Window | None]])
    unlike: set[Operation] = field(default_factory=set[Operation])

    def build(self) -> Described:
        for _, view in self.views:
            if isinstance(view, Parts):
                self.atoms[view.operands[0]] = list(view.results)
        for _, view in self.views:
            if isinstance(view, View):
                self.atoms[view.results[0]] = self._atoms(view.operands[view.view_of()])
            elif isinstance(view, Joins):
                self.atoms[view.results[0]] = [t for v in view.operands for t in self._atoms(v)]
        if self.kind == "batch":
            for argument in self.block.args:
                if has_bytes(argument) and shape_of(argument.type)[:1] == (self.batch,):
                    self.axis.update(dict.fromkeys(self._atoms(argument), 0))
        for op in self.ops:
            self._cut(op)

        reads = [[t for v in op.operands for t in self._atoms(v)] for op in self.ops]
        writes = [[t for v in op.results for t in self._atoms(v)] for op in self.ops]
        last = self.block.last_op
        returned = {t for v in (last.operands if last is not None else ()) for t in self._atoms(v)}
        for values in (v for pair in zip(reads, writes, strict=True) for v in pair):
            for value in values:
                self.number.setdefault(value, len(self.number))
        tensors = [self._tensor(v, k, v in returned) for k, v in enumerate(self.number)]
        ops = [self._op(op, r, w) for op, r, w in zip(self.ops, reads, writes, strict=True)]
        piece = Piece(self.batch, tuple(tensors), tuple(ops))
        described = Described(piece, list(self.number), self.ops, self.views, self.axes)
        return replace(described, piece=described.lying_at(self.addresses))

    def _atoms(self, value: SSAValue) -> list[SSAValue]:
        return self.atoms.get(value, [value])

    # ------------------------------------------------------------------ which axis

    def _cut(self, op: Operation) -> None:
        """Finds the axis along which an op is cut with what it reads, and the windows of its reads."""
        if not op.results or not is_pure(op):
            return
        shape = shape_of(op.results[0].type)
        alike = [shape_of(t.type) for r in op.results for t in self._atoms(r)]
        best: tuple[int, int, int] | None = None
        for axis, size in enumerate(shape):
            if size < 2 or any(axis >= len(s) or s[axis] != size for s in alike):
                continue
            needed = self._needed(op, axis, size // 2, 1)
            if needed is None:
                continue
            worth = sum(self._worth(t, box) for t, box in needed)
            choice = (worth, axis == 2 and len(shape) >= IMAGE_RANK, -axis)
            if best is None or choice > best:
                best = choice
        if best is None or (self.kind == "batch" and best[0] <= 0):
            return
        axis = -best[2]
        needed = self._needed(op, axis, shape[axis] // 2, 1)
        assert needed is not None
        self.axes[op] = axis
        for result in op.results:
            self.axis.update(dict.fromkeys(self._atoms(result), axis))
        for tensor, box in needed:
            moving = None if box is None else _moving(tensor, box)
            if moving is not None:
                self.axis.setdefault(tensor, moving)
        self.windows[op] = windows = self._windows(op, axis, len(needed))
        rows = lcm(*(w.per for w in windows if w is not None))
        if rows > 1 and not self._are_alike(op, axis, rows):
            self.unlike.add(op)

    def _worth(self, tensor: SSAValue, box: Box | None) -> int:
        """Bytes of a tensor that is cut where its own axis is; less than nothing where it is cut across that."""
        axis = self.axis.get(tensor)
        if axis is None or box == whole(tensor):
            return 0
        size = nbytes(tensor.type)
        return size if box is not None and _moving(tensor, box) == axis else -size

    def _are_alike(self, op: Operation, axis: int, rows: int) -> bool:
        """Whether tiles of so many rows are one op, two of them inside; so too where there are no two."""
        middle = shape_of(op.results[0].type)[axis] // 2
        if middle < 2 * rows:
            return True
        bodies: list[Region] = []
        for begin in (middle, middle - rows):
            boxes: dict[SSAValue, Box] = {
                r: tuple((begin, rows) if k == axis else d for k, d in enumerate(whole(r))) for r in op.results
            }
            needed = boxes_needed(op, list(boxes.values()))
            if needed is None:
                return False
            bodies.append(tile_body(op, Tile(computed=boxes, reads={op: needed})))
        return bodies[0].is_structurally_equivalent(bodies[1])

    def _needed(self, op: Operation, axis: int, begin: int, count: int) -> Reads | None:
        """What some rows of the results need of each tensor that is read (None: no box); None: it cannot be cut."""
        boxes = [tuple((begin, count) if k == axis else part for k, part in enumerate(whole(r))) for r in op.results]
        needed = boxes_needed(op, boxes)
        if needed is None:
            return None
        return [pair for v, box in zip(op.operands, needed, strict=True) for pair in self._behind(v, box)]

    def _behind(self, value: SSAValue, box: Box | None) -> Reads:
        """The boxes of a value's tensors that a box of it is."""
        if value not in self.atoms:
            return [(value, box)]
        view = value.owner
        if isinstance(view, View):
            assert isinstance(view, Operation)
            behind = None if box is None else box_behind(view, box)
            return self._behind(view.operands[view.view_of()], behind)
        pieces: list[SSAValue] = list(self._cut_into(value))
        found: Reads = []
        for piece in pieces:
            found += self._behind(piece, None if box is None else _same_rows(value, box, piece))
        return found

    def _cut_into(self, value: SSAValue) -> Sequence[SSAValue]:
        """What lies side by side in a value: a join's operands, or its parts."""
        if isinstance(value.owner, Joins):
            assert isinstance(value.owner, Operation)
            return value.owner.operands
        return self.atoms[value]

    def _windows(self, op: Operation, axis: int, count: int) -> list[Window | None]:
        """How the rows of each tensor that an op reads follow from those of its result; None: all of them are read."""
        extent = shape_of(op.results[0].type)[axis]
        step = 1 << max(0, (extent // 2).bit_length() - 1)
        far = (extent // 4, extent // 4 + step)
        near = {0, 1, 2, 3, extent // 2, extent // 2 + 1, extent - 2, extent - 1}
        probes = {k: self._needed(op, axis, k, 1) for k in sorted({*far, *near}) if 0 <= k < extent}
        return [self._window(place, extent, far, probes) for place in range(count)]

    def _window(
        self, place: int, extent: int, far: tuple[int, int], probes: Mapping[int, Reads | None]
    ) -> Window | None:
        """`far` are two rows of the result of which the probes tell by how much the window moves a row."""
        rows: dict[int, tuple[int, int]] = {}
        of = 0
        for k, reads in probes.items():
            tensor, box = reads[place] if reads is not None else (None, None)
            moving = self.axis.get(tensor) if tensor is not None else None
            if tensor is None or box is None or moving is None or _moving(tensor, box) != moving:
                return None
            rows[k], of = box[moving], shape_of(tensor.type)[moving]
        ratio = _ratio(rows[far[1]][0] - rows[far[0]][0], far[1] - far[0])
        if extent < FEW or not ratio:
            ratio = Fraction(of, extent)
        scale, per = ratio.numerator, ratio.denominator
        before = max(k * scale // per - begin for k, (begin, _) in rows.items())
        after = max(begin + count + (-(k + 1) * scale // per) for k, (begin, count) in rows.items())
        return Window(scale, per, before, after)

    # ------------------------------------------------------------------ the piece

    def _tensor(self, value: SSAValue, k: int, output: bool) -> Tensor:
        name, size, axis = value.name_hint or f"t{k}", nbytes(value.type), self.axis.get(value)
        if axis is None:
            return Tensor(name, size, batched=False, output=output)
        shape = shape_of(value.type)
        rows = 0 if shape[axis] == self.batch else shape[axis]
        return Tensor(name, size, output=output, rows=rows, strips=prod(shape[:axis]))

    def _op(self, op: Operation, reads: Sequence[SSAValue], writes: Sequence[SSAValue]) -> Op:
        name = op.results[0].name_hint if op.results else None
        windows = tuple(self.windows.get(op, ()))
        extents = {shape_of(v.type)[self.axis[v]] for v in (*reads, *writes) if v in self.axis}
        plain = (w == (Window() if v in self.axis else None) for v, w in zip(reads, windows, strict=False))
        if len(extents) == 1 and all(plain):
            windows = ()  # as is understood
        return Op(
            name or op.name,
            tuple(self.number[v] for v in reads),
            tuple(self.number[v] for v in writes),
            float(flops_of(op)),
            op in self.axes,
            windows,
            op not in self.unlike,
        )


def _ratio(moved: int, rows: int) -> Fraction:
    """The simplest by which so many rows may move so many others: where these are counted down to whole ones."""
    per = next(n for n in range(1, rows + 1) if abs(round(moved * n / rows) * rows - moved * n) < n)
    return Fraction(round(moved * per / rows), per)


def _same_rows(whole_value: SSAValue, box: Box, part: SSAValue) -> Box | None:
    """The box of a part that lies beside others along another axis than the one that is cut."""
    moving = _moving(whole_value, box)
    if moving is None:
        return whole(part) if box == whole(whole_value) else None
    sizes = shape_of(part.type)
    if moving >= len(sizes) or sizes[moving] != shape_of(whole_value.type)[moving]:
        return None
    return tuple(box[k] if k == moving else (0, d) for k, d in enumerate(sizes))


def _moving(value: SSAValue, box: Box) -> int | None:
    """The one axis along which a box is a part of a value."""
    cut = [k for k, (part, all_) in enumerate(zip(box, whole(value), strict=True)) if part != all_]
    return cut[0] if len(cut) == 1 else None
