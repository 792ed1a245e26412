"""
Conditionals and loops whose bodies run on buffers: the same arena, slots that are alive while the body runs.

    %y = ge.if %c {..} else {..}       %q = memref.load %c[]
                                       scf.if %q {..launches into %y..} else {..launches into %y..}

    %r = ge.loop %m, %c, %v {          memref.copy %v, %r                  // nothing, where %r may lie over %v
      ^bb0(%i, %go, %x):               scf.while (%k = 0, %go = %c) {%k < %m and %go} do {
        ..                       ->      memref.store %k, %i
        ge.yield %go, %y                 ..launches: %x is %r..
    }                                    memref.copy %y, %r                // nothing, where %y may lie over %x
                                       }

What is carried has two buffers, unless the new value can be computed over the old one. Branches share: only one of them
runs. What a body sees from around it is read only there. A stacked result's row is written in its place.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from xdsl.dialects.arith import AddiOp, AndIOp, CmpiOp, IndexCastOp, SubiOp
from xdsl.dialects.arith import ConstantOp as NumberOp
from xdsl.dialects.builtin import IndexType, IntegerAttr, MemRefType, StridedLayoutAttr, i1, i64
from xdsl.dialects.memref import LoadOp, StoreOp, SubviewOp
from xdsl.dialects.scf import ConditionOp, ForOp, WhileOp, YieldOp
from xdsl.dialects.scf import IfOp as BranchOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.utils.exceptions import VerifyException

from ...dialects.ge.bodies import YieldOp as GeYieldOp
from ...dialects.ge.bodies import yielded
from ...dialects.ge.control import IfOp, LoopOp, ScanOp
from ...dialects.ge.types import is_static, shape_of
from ..report import count
from .in_place import computed_over_arguments
from .steps import Rules, Steps, is_buffer

if TYPE_CHECKING:
    from .lowering import Lowering

LONGEST = 2**63 - 1
"""Iterations of a loop that does not say how many."""


def runs_on_buffers(op: Operation, rules: Rules) -> bool:
    """Whether all that the bodies of `op` compute are buffers, of types that stay the same."""
    if not isinstance(op, IfOp | LoopOp | ScanOp):
        return False
    for region in op.regions:
        block = region.block
        if not all(is_buffer(v) for v in (*block.args, *yielded(region))):
            return False
        steps = Steps(block, rules)
        if any(step.kind == "host" for step in steps.list) or any(map(steps.on_host, steps.returned)):
            return False
    results = [r.type for r in op.results]
    if isinstance(op, IfOp):
        return all([v.type for v in yielded(region)] == results for region in op.regions)
    body = op.regions[0]
    initial = [v.type for v in op.initial_values()]
    at = 1 if isinstance(op, LoopOp) else 0
    carried = [v.type for v in yielded(body)][at : at + len(initial)]
    arguments = [v.type for v in body.block.args][2 * at : 2 * at + len(initial)]
    if not initial == carried == arguments == results[: len(initial)]:
        return False
    try:
        # A declared size is not enough: the loop might end before it has made so many rows.
        return all(is_static(info.type) for info in op.inferred())
    except VerifyException:
        return False


def emit_control(lowering: Lowering, op: Operation) -> None:
    match op:
        case IfOp():
            _Branches(lowering).emit(op)
        case LoopOp():
            _Loops(lowering).loop(op)
        case _:
            _Loops(lowering).scan(cast(ScanOp, op))
    count("on buffers with its bodies")


class _Emitter:
    def __init__(self, lowering: Lowering) -> None:
        self.lowering, self.block = lowering, lowering.new
        self.moved: list[tuple[SSAValue, SSAValue]] = []
        """Copies that end an iteration."""

    def buffer(self, value: SSAValue) -> SSAValue:
        return self.lowering.buffer(self.lowering.steps.resolve(value))

    def place(self, result: SSAValue) -> SSAValue:
        self.lowering.buffers[result] = self.lowering.place(result)
        return self.lowering.buffers[result]

    def slot(self, like: SSAValue) -> SSAValue:
        return self.lowering.slot_like(like)


class _Branches(_Emitter):
    def emit(self, op: IfOp) -> None:
        condition = _load(self.block, self.buffer(op.cond))
        results = {k: self.place(r) for k, r in enumerate(op.outs) if r.first_use is not None}
        branches: list[Region] = []
        for region in (op.then_branch, op.else_branch):
            block = Block()
            inner = self.lowering.inner(region.block, block)
            inner.results = dict(results)
            inner.run()
            block.add_op(YieldOp())
            branches.append(Region(block))
        self.block.add_op(BranchOp(condition, [], branches[0], branches[1]))


class _Loops(_Emitter):
    def loop(self, op: LoopOp) -> None:
        body = op.body.block
        count_, condition, *_ = op.by_slot()
        number, going, *arguments = body.args
        current = self.carried(op.initial_values(), op.results)
        stacked = self.stacked(op.results[len(current) :], len(current) + 1)
        trips = _number(self.block, LONGEST, i64) if count_ is None else _load(self.block, self.buffer(count_))
        go = _number(self.block, 1, i1) if condition is None else _load(self.block, self.buffer(condition))
        zero, one = (_number(self.block, n, i64) for n in (0, 1))

        before = Block(arg_types=[i64, i1])
        less = CmpiOp(before.args[0], trips, "slt")
        both = AndIOp(less.result, before.args[1])
        before.add_ops([less, both, ConditionOp(both.result, before.args[0])])

        after = Block(arg_types=[i64])
        inner = self.lowering.inner(body, after)
        if number.first_use is not None:
            inner.buffers[number] = self.slot(number)
            _store(after, after.args[0], inner.buffers[number])
        same = inner.steps.returned[0] is going
        if any(not (same and isinstance(use.operation, GeYieldOp)) for use in going.uses):
            inner.buffers[going] = self.slot(going)
            _store(self.block, go, inner.buffers[going])
        inner.buffers.update(zip(arguments, current, strict=True))
        index = IndexCastOp(after.args[0], IndexType())
        if stacked:
            after.add_op(index)
        rows = {k: _row(after, buffer, 0, index.result) for k, buffer in stacked.items()}
        self.iterate(inner, dict(enumerate(arguments, 1)), rows)
        next_go = go if same else _load(after, inner.buffer(inner.steps.returned[0]))
        self.advance(inner)
        if going in inner.buffers and not same:
            _store(after, next_go, inner.buffers[going])
        next_number = AddiOp(after.args[0], one)
        after.add_ops([next_number, YieldOp(next_number.result, next_go)])
        self.block.add_op(WhileOp([zero, go], [i64], Region(before), Region(after)))

    def scan(self, op: ScanOp) -> None:
        initial = op.initial_values()
        scanned = op.operands[len(initial) :]
        body = op.body.block
        current = self.carried(initial, op.results)
        stacked = self.stacked(op.results[len(current) :], len(current))
        given = _or_zeros(op.scan_input_axes, len(scanned))
        axes = [a % len(shape_of(v.type)) for a, v in zip(given, scanned, strict=True)]
        length = shape_of(scanned[0].type)[axes[0]]
        zero, one, last, trips = (_number(self.block, n, IndexType()) for n in (0, 1, length - 1, length))

        block = Block(arg_types=[IndexType()])
        inner = self.lowering.inner(body, block)
        backwards = SubiOp(last, block.args[0])
        block.add_op(backwards)

        def at(direction: int) -> SSAValue:
            return backwards.result if direction else block.args[0]

        inner.buffers.update(zip(body.args, current, strict=False))
        elsewhere = _seen_otherwise_than_by_launches(inner.steps)
        directions = _or_zeros(op.scan_input_directions, len(scanned))
        for argument, value, axis, way in zip(body.args[len(current) :], scanned, axes, directions, strict=True):
            if argument.first_use is None:
                continue
            row = _row(block, self.buffer(value), axis, at(way))
            if argument in elsewhere or not inner.rules.views:
                inner.buffers[argument] = self.slot(argument)
                inner.copy(row, inner.buffers[argument])
            else:
                inner.buffers[argument] = row
        ways = _or_zeros(op.scan_output_directions, len(op.results) - len(current))
        places = _or_zeros(op.scan_output_axes, len(op.results) - len(current))
        rows: dict[int, SSAValue] = {}
        for k, buffer in stacked.items():
            axis, way = places[k - len(current)] % len(shape_of(buffer.type)), ways[k - len(current)]
            rows[k] = _row(block, buffer, axis, at(way))
        self.iterate(inner, dict(enumerate(body.args[: len(current)])), rows)
        self.advance(inner)
        block.add_op(YieldOp())
        self.block.add_op(ForOp(zero, trips, one, [], Region(block)))

    # ------------------------------------------------------------------ what goes from one iteration to the next

    def carried(self, initial: Sequence[SSAValue], results: Sequence[SSAValue]) -> list[SSAValue]:
        """Buffers of what is carried, which hold what it starts as."""
        current = [self.place(r) for r, _ in zip(results, initial, strict=False)]
        for buffer, value in zip(current, initial, strict=True):
            self.lowering.copy(self.buffer(value), buffer)
        return current

    def stacked(self, results: Sequence[SSAValue], first: int) -> dict[int, SSAValue]:
        """Buffers of stacked results that are read, by the place of their rows among what the body yields."""
        return {k: self.place(r) for k, r in enumerate(results, first) if r.first_use is not None}

    def iterate(self, inner: Lowering, arguments: dict[int, SSAValue], rows: dict[int, SSAValue]) -> None:
        """
        The body; what is carried is computed over what it was where that can be, rows in their place.

        arguments, rows   what is carried, and buffers of rows, by the place of their values among what the body yields
        """
        current = {k: inner.buffers[argument] for k, argument in arguments.items()}
        over = computed_over_arguments(inner.plan.steps, inner.plan.homes, inner.joined.ops, arguments)
        elsewhere = _seen_otherwise_than_by_launches(inner.steps)
        returned, homes = inner.steps.returned, inner.plan.homes
        straight = {
            k for k in rows if inner.rules.views and homes.get(returned[k]) == k and returned[k] not in elsewhere
        }
        inner.results = {k: current[k] for k in sorted(over)} | {k: rows[k] for k in sorted(straight)}
        inner.run()
        for k in sorted(rows.keys() - straight):
            inner.copy(inner.buffer(inner.steps.returned[k]), rows[k])
        for k, argument in arguments.items():
            value = inner.steps.returned[k]
            if k in over or value is argument:
                continue
            source = inner.buffer(value)
            if inner.steps.base(value) in arguments.values():
                # Another one's old value: all are read before any is written.
                kept = self.slot(value)
                inner.copy(source, kept)
                source = kept
            self.moved.append((source, current[k]))

    def advance(self, inner: Lowering) -> None:
        for source, target in self.moved:
            inner.copy(source, target)


def _seen_otherwise_than_by_launches(steps: Steps) -> set[SSAValue]:
    """What others than launches see: a view, say, which counts on a row of bytes whose place is known."""
    return {steps.base(v) for step in steps.list if step.kind != "launch" for v in (*step.reads, *step.op.results)}


def _or_zeros(given: Sequence[int] | None, count: int) -> Sequence[int]:
    return given if given is not None else (0,) * count


def _number(block: Block, value: int, type_: Any) -> SSAValue:
    op = NumberOp(IntegerAttr(value, type_))
    block.add_op(op)
    return op.result


def _load(block: Block, buffer: SSAValue) -> SSAValue:
    """The one element of a buffer."""
    op = LoadOp.get(buffer, [_number(block, 0, IndexType()) for _ in shape_of(buffer.type)])
    block.add_op(op)
    return op.res


def _store(block: Block, value: SSAValue, buffer: SSAValue) -> None:
    block.add_op(StoreOp.get(value, buffer, [_number(block, 0, IndexType()) for _ in shape_of(buffer.type)]))


def _row(block: Block, buffer: SSAValue, axis: int, index: SSAValue) -> SSAValue:
    """The part of a buffer at `index` of `axis`, without that axis."""
    shape = shape_of(buffer.type)
    offsets: list[SSAValue | int] = [index if k == axis else 0 for k in range(len(shape))]
    sizes, ones = [1 if k == axis else d for k, d in enumerate(shape)], [1] * len(shape)
    whole = SubviewOp.infer_result_type(cast("MemRefType[Attribute]", buffer.type), offsets, sizes, ones)
    strides = whole.get_strides()
    assert strides is not None
    kept = [k for k in range(len(shape)) if k != axis]
    layout = StridedLayoutAttr([strides[k] for k in kept], None)
    type_ = MemRefType(whole.element_type, [shape[k] for k in kept], layout)
    view = SubviewOp.get(buffer, offsets, sizes, ones, type_)
    block.add_op(view)
    return view.result
