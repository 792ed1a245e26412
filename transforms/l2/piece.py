"""
A function as the traffic model sees it: tensors, ops in order, and which part of its operands a tile needs.

    %a = ge.conv %x, %w        Piece(outer=32, tensors=(x, w, a, b), ops=(conv: x, w -> a; relu: a -> b))
    %b = ge.relu %a            x, a, b: 32 equal parts, one a sample, of 56 rows; w: whole for every tile

It is cut along the batch (`Piece.outer`), and inside of each sample along rows: those of an image or a matrix, the
places of a sequence. Each value has axes of its own for it, found from the arguments on: that of an op's result which
moves with that of its operands. What a tile needs is asked of the ops (`operand_tiles`), not known here; rows are those
of the sample in the middle. A view (Reshape, Flatten) moves no byte: its result is its operand's tensor. An op that
cannot be cut so, or is no op of the dialect, is in no group.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import product
from math import lcm, prod
from typing import TypeAlias

from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region, SSAValue

from ...dialects.ge.constants import ConstantOp
from ...dialects.ge.interfaces import Box, Joins, Parts, View, box_shape, flops_of, has_bytes, is_pure, whole
from ...dialects.ge.types import nbytes, shape_of
from ...planning import Group, Op, Piece, Tensor, Window
from ..boxes import beside, box_behind, counted_from, cut_axis, lies_in
from ..memory.bodies import is_inside
from ..memory.tiles import tile_body
from ..tiling import Tile, boxes_needed
from .joins import Sides
from .lying import Lying

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
    samples  the axis along which the samples of each op's results lie; not every op has samples
    axes     the axis along which its results' rows lie; not every op has rows
    """

    piece: Piece
    values: list[SSAValue]
    ops: list[Operation]
    views: list[tuple[int, Operation]] = field(default_factory=list[tuple[int, Operation]])
    samples: dict[Operation, int] = field(default_factory=dict[Operation, int])
    axes: dict[Operation, int] = field(default_factory=dict[Operation, int])

    def lying_at(self, addresses: Mapping[SSAValue, int]) -> Piece:
        """The piece with its tensors at these addresses of the arena."""
        tensors = [
            replace(t, address=addresses.get(v), over=None)
            for v, t in zip(self.values, self.piece.tensors, strict=True)
        ]
        for op in self.piece.ops:
            for t, u in product(op.writes, op.reads):
                one, other = tensors[t], tensors[u]
                if one.address is not None and (one.address, one.bytes) == (other.address, other.bytes):
                    tensors[t] = replace(one, over=u)
        return replace(self.piece, tensors=tuple(tensors))

    def cuts(self, group: Group, result: SSAValue) -> list[tuple[int, int]] | None:
        """
        (axis, size) of each loop of a group, the outermost first, for what one of its ops gives, or a view of that;
        None where it is not cut.
        """
        op, outer = result.owner, self.piece.outer
        while isinstance(op, Operation) and op not in self.samples and op not in self.axes and op.operands:
            op = op.operands[0].owner  # a join or a part, cut as what it is made of
        samples, axis = (of.get(op) if isinstance(op, Operation) else None for of in (self.samples, self.axes))
        shape = shape_of(result.type)
        loops: list[tuple[int, int]] = []
        if outer > 1:
            if samples is None or samples >= len(shape):
                return None
            loops.append((samples, group.outer * shape[samples] // outer))
        if not self.piece.is_of_samples(group):
            if axis is None or axis >= len(shape):
                return None
            rows = shape[axis] // (outer if axis == samples else 1)
            loops.append((axis, group.samples * rows // self.piece.extent(group.end - 1)))
        return loops if all(size > 0 for _, size in loops) else None


def batch_of(function: FuncOp) -> int:
    """Samples: the leading dim that most bytes of the arguments share; 1 where there is none."""
    weight: dict[int, int] = {}
    for argument in function.body.block.args:
        if has_bytes(argument) and len(shape_of(argument.type)) > 1 and nbytes(argument.type):
            size = shape_of(argument.type)[0]
            weight[size] = weight.get(size, 0) + nbytes(argument.type)
    return max(weight, key=lambda size: (weight[size], size), default=1)


def describe(function: FuncOp, lying: Lying | None = None) -> Described | None:
    """
    The function for the planners; None where there is nothing to cut. What looks like a batch is none where most of
    what is computed has no samples: it is then cut along rows alone. Values whose size depends on data are left out:
    they are in no buffer, and an op that has one is in no group.

    cost   linear in ops
    """
    lying = lying or Lying()
    block, batch = function.body.block, batch_of(function)
    steps = [op for op in block.ops if not isinstance(op, ConstantOp | ReturnOp)]
    if not any(is_sized(op) for op in steps):
        return None
    views: list[tuple[int, Operation]] = []
    ops: list[Operation] = []
    for op in steps:
        if is_sized(op) and ((isinstance(op, View) and len(op.results) == 1) or op in lying.free):
            views.append((len(ops), op))
        else:
            ops.append(op)
    described = _Builder(block, batch, ops, views, lying.addresses).build()
    if batch > 1 and not _has_samples(described.piece):
        described = _Builder(block, 1, ops, views, lying.addresses).build()
    return described if described.axes or described.samples else None


def is_sized(op: Operation) -> bool:
    return all(has_bytes(v) for v in (*op.operands, *op.results))


def _has_samples(piece: Piece) -> bool:
    """Whether they are at least half of the bytes that are computed."""
    made = [piece.tensors[t] for t in piece.producer]
    return 2 * sum(t.bytes for t in made if t.outer) >= sum(t.bytes for t in made)


@dataclass
class _Builder:
    """
    atoms   value -> the tensors that it is: its operand's behind a view, its operands' for a join, its parts' if it is
            cut; itself if it is not here
    axis    tensor -> the axis along which it is cut
    unlike  ops of which one tile is another op than the next, wherever it lies
    sample  tensor -> the axis along which its outer samples lie; boxes below are of the one in the middle, counted from
            its first element (`_all`)
    """

    block: Block
    outer: int
    ops: list[Operation]
    views: list[tuple[int, Operation]]
    addresses: Mapping[SSAValue, int]
    number: dict[SSAValue, int] = field(default_factory=dict[SSAValue, int])
    atoms: dict[SSAValue, list[SSAValue]] = field(default_factory=dict[SSAValue, list[SSAValue]])
    axis: dict[SSAValue, int] = field(default_factory=dict[SSAValue, int])
    sample: dict[SSAValue, int] = field(default_factory=dict[SSAValue, int])
    axes: dict[Operation, int] = field(default_factory=dict[Operation, int])
    samples: dict[Operation, int] = field(default_factory=dict[Operation, int])
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
        self._begin(self.block.args)
        for op in self.ops:
            if self.outer > 1:
                self._part(op)
                if op not in self.samples:
                    self._begin(op.results)  # behind what cannot be cut, samples begin anew
            if self.outer == 1 or op in self.samples:
                self._cut(op)

        reads = [[t for v in op.operands if has_bytes(v) for t in self._atoms(v)] for op in self.ops]
        writes = [[t for v in op.results if has_bytes(v) for t in self._atoms(v)] for op in self.ops]
        last = self.block.last_op
        returned = {t for v in (last.operands if last is not None else ()) for t in self._atoms(v)}
        for values in (v for pair in zip(reads, writes, strict=True) for v in pair):
            for value in values:
                self.number.setdefault(value, len(self.number))
        tensors = [self._tensor(v, k, v in returned) for k, v in enumerate(self.number)]
        sides = Sides(self.ops, self.views, self.atoms, self.number, last)
        ops = [self._op(op, r, w, sides.via(op)) for op, r, w in zip(self.ops, reads, writes, strict=True)]
        piece = Piece(1, tuple(tensors), tuple(ops), self.outer, sides.joins)
        described = Described(piece, list(self.number), self.ops, self.views, self.samples, self.axes)
        return replace(described, piece=described.lying_at(self.addresses))

    def _atoms(self, value: SSAValue) -> list[SSAValue]:
        return self.atoms.get(value, [value])

    # ------------------------------------------------------------------ which axis

    def _begin(self, values: Sequence[SSAValue]) -> None:
        """Takes the leading axis of values for their samples where it is as long as a batch."""
        for value in values if self.outer > 1 else ():
            if has_bytes(value) and shape_of(value.type)[:1] == (self.outer,):
                self.sample.update(dict.fromkeys(self._atoms(value), 0))

    def _part(self, op: Operation) -> None:
        """Finds the axis along which an op's samples lie, where it computes each from those of its operands."""
        if not op.results or not is_pure(op) or not is_sized(op):
            return
        best: tuple[int, int] | None = None
        results = [t for r in op.results for t in self._atoms(r)]
        for axis, size in enumerate(shape_of(op.results[0].type)):
            if size % self.outer or any(shape_of(t.type)[axis : axis + 1] != (size,) for t in results):
                continue
            count = size // self.outer
            needed = self._behind_all(op, axis, self.outer // 2 * count, count)
            if needed is None or any(box != self._sample_of(t) for t, box in needed):
                continue
            worth = sum(nbytes(t.type) for t, _ in needed if t in self.sample)
            if worth and (best is None or (worth, -axis) > best):
                best = worth, -axis
        if best is not None:
            self.samples[op] = -best[1]
            self.sample.update(dict.fromkeys(results, -best[1]))

    def _sample_of(self, tensor: SSAValue) -> Box:
        """The box of a tensor's outer sample in the middle; all of it where it has none."""
        box = whole(tensor)
        if tensor not in self.sample:
            return box
        axis = self.sample[tensor]
        count = box[axis][1] // self.outer
        return tuple((self.outer // 2 * count, count) if k == axis else part for k, part in enumerate(box))

    def _all(self, tensor: SSAValue) -> Box:
        """All of a tensor, or of one outer sample of it, counted from its first element."""
        return tuple((0, count) for _, count in self._sample_of(tensor))

    def _cut(self, op: Operation) -> None:
        """Finds the axis along which an op is cut with what it reads, and the windows of its reads."""
        if not op.results or not is_pure(op) or not is_sized(op):
            return
        shape = box_shape(self._all(op.results[0]))
        alike = [box_shape(self._all(t)) for r in op.results for t in self._atoms(r)]
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
        if best is None:
            return
        axis = -best[2]
        needed = self._needed(op, axis, shape[axis] // 2, 1)
        assert needed is not None
        self.axes[op] = axis
        for result in op.results:
            self.axis.update(dict.fromkeys(self._atoms(result), axis))
        for tensor, box in needed:
            moving = None if box is None else self._moving(tensor, box)
            if moving is not None and (self.outer == 1 or tensor in self.sample):
                self.axis.setdefault(tensor, moving)
        self.windows[op] = windows = self._windows(op, axis, len(needed))
        rows = lcm(*(w.per for w in windows if w is not None))
        if rows > 1 and not self._are_alike(op, axis, rows):
            self.unlike.add(op)

    def _worth(self, tensor: SSAValue, box: Box | None) -> int:
        """Bytes of a tensor that is cut where its own axis is; less than nothing where it is cut across that."""
        axis = self.axis.get(tensor)
        if axis is None or box == self._all(tensor):
            return 0
        size = nbytes(tensor.type)
        return size if box is not None and self._moving(tensor, box) == axis else -size

    def _moving(self, tensor: SSAValue, box: Box) -> int | None:
        return cut_axis(box, self._all(tensor))

    def _are_alike(self, op: Operation, axis: int, rows: int) -> bool:
        """Whether tiles of so many rows are one op, two of them inside; so too where there are no two."""
        middle = self._all(op.results[0])[axis][1] // 2
        if middle < 2 * rows:
            return True
        bodies: list[Region] = []
        for begin in (middle, middle - rows):
            boxes = self._rows_of(op, axis, begin, rows)
            needed = boxes_needed(op, boxes)
            if needed is None:
                return False
            bodies.append(tile_body(op, Tile(computed=dict(zip(op.results, boxes, strict=True)), reads={op: needed})))
        return bodies[0].is_structurally_equivalent(bodies[1])

    def _needed(self, op: Operation, axis: int, begin: int, count: int) -> Reads | None:
        """What some rows of the results need of each tensor that is read (None: no box); None: it cannot be cut."""
        found = self._behind_all(op, axis, begin, count)
        if found is None or self.outer == 1:
            return found
        boxes = [(t, None if box is None else counted_from(self._sample_of(t), box)) for t, box in found]
        inside = all(box is None or lies_in(box, self._all(t)) for t, box in boxes)
        return boxes if inside else None

    def _rows_of(self, op: Operation, axis: int, begin: int, count: int) -> list[Box]:
        """The boxes of some rows of the results, of the sample in the middle."""
        boxes: list[Box] = []
        for result in op.results:
            around = self._sample_of(result)
            rows = (around[axis][0] + begin, count)
            boxes.append(tuple(rows if k == axis else part for k, part in enumerate(around)))
        return boxes

    def _behind_all(self, op: Operation, axis: int, begin: int, count: int) -> Reads | None:
        """The same of whole tensors: places are counted from their first element."""
        needed = boxes_needed(op, self._rows_of(op, axis, begin, count))
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
            found += self._behind(piece, None if box is None else beside(value, box, piece))
        return found

    def _cut_into(self, value: SSAValue) -> Sequence[SSAValue]:
        """What lies side by side in a value: a join's operands, or its parts."""
        if isinstance(value.owner, Joins):
            assert isinstance(value.owner, Operation)
            return value.owner.operands
        return self.atoms[value]

    def _windows(self, op: Operation, axis: int, count: int) -> list[Window | None]:
        """How the rows of each tensor that an op reads follow from those of its result; None: all of them are read."""
        extent = self._all(op.results[0])[axis][1]
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
            if tensor is None or box is None or moving is None or self._moving(tensor, box) != moving:
                return None
            rows[k], of = box[moving], self._all(tensor)[moving][1]
        ratio = _ratio(rows[far[1]][0] - rows[far[0]][0], far[1] - far[0])
        if extent < FEW or not ratio:
            ratio = Fraction(of, extent)
        scale, per = ratio.numerator, ratio.denominator
        before = max(k * scale // per - begin for k, (begin, _) in rows.items())
        after = max(begin + count + (-(k + 1) * scale // per) for k, (begin, count) in rows.items())
        return Window(scale, per, before, after)

    # ------------------------------------------------------------------ the piece

    def _tensor(self, value: SSAValue, k: int, output: bool) -> Tensor:
        name, axis, outer = value.name_hint or f"t{k}", self.axis.get(value), value in self.sample
        size = 0 if is_inside(value) else nbytes(value.type)  # a kernel has it with its code
        if axis is None:
            return Tensor(name, size, batched=False, output=output, outer=outer)
        shape = box_shape(self._all(value))
        rows, strips = shape[axis], prod(shape[:axis])
        return Tensor(name, size, output=output, rows=rows, strips=strips, outer=outer)

    def _op(self, op: Operation, reads: Sequence[SSAValue], writes: Sequence[SSAValue], via: tuple[int, ...]) -> Op:
        name = op.results[0].name_hint if op.results else None
        windows = tuple(self.windows.get(op, ()))
        extents = {self._all(v)[self.axis[v]][1] for v in (*reads, *writes) if v in self.axis}
        plain = (w == (Window() if v in self.axis else None) for v, w in zip(reads, windows, strict=False))
        if len(extents) == 1 and all(plain):
            windows = ()  # as is understood
        return Op(
            name or op.name,
            tuple(self.number[v] for v in reads),
            tuple(self.number[v] for v in writes),
            float(flops_of(op)) if is_sized(op) else 0.0,
            op in self.axes,
            windows,
            op not in self.unlike,
            op in self.samples,
            via,
        )


def _ratio(moved: int, rows: int) -> Fraction:
    """The simplest by which so many rows may move so many others: where these are counted down to whole ones."""
    per = next(n for n in range(1, rows + 1) if abs(round(moved * n / rows) * rows - moved * n) < n)
    return Fraction(round(moved * per / rows), per)
