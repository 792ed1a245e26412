"""
--l2: what L2 fusion is modelled to bring: bytes from and to memory by op without and with groups, and the roofline.

The function is lowered twice to buffers, as it is and with its groups, and every access of either goes through a cache
of the target's size. Nothing is measured. `l2_chart` draws what is found here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from ...dialects.ge.errors import InputError, node_name, text_of
from ...driver.argv import Takes
from .base import Report, Request

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.dialects.func import FuncOp
    from xdsl.ir import Operation, SSAValue

    from ...planning import Replayed
    from ...targets import Target

FLAGS = {"--l2-options": Takes.VALUE}
HELP = """\
--l2: bytes from and to memory by op, without and with L2 groups, and the roofline; all modelled
  --l2-options="l2-size=32 target=ascend910b1"   of l2-fusion; groups that stand in the text are taken as they are
"""

TAG = "ge.report_step"
"""Which op of the function an op inside a launch came from: lives on copies alone."""

SHOWN, SHOWN_COSTS, SHOWN_GROUPS = 12, 4, 20
"""
What a terminal lists: ops that move most fewer bytes with groups, those that move most more, and the first groups. The
table has all.
"""


@dataclass
class Moved:
    """Bytes from and to memory, and between the cores and L2."""

    read: int = 0
    written: int = 0
    l2_read: int = 0
    l2_written: int = 0

    @property
    def total(self) -> int:
        return self.read + self.written

    def add(self, memory: Replayed, l2_read: int, l2_written: int) -> None:
        self.read += memory.read
        self.written += memory.written
        self.l2_read += l2_read
        self.l2_written += l2_written


@dataclass
class Step:
    """An op of the function: operations it does, bytes it writes, what it moves without and with groups."""

    name: str
    flops: int
    output_bytes: int
    before: Moved = field(default_factory=Moved)
    after: Moved = field(default_factory=Moved)


@dataclass(frozen=True)
class Band:
    """A group: steps [begin, end) in the order of the ops, its tiles, and what they are cut along, in words."""

    begin: int
    end: int
    tiles: int
    cut: str


class Cost(NamedTuple):
    """Bytes from and to memory, and modelled seconds."""

    bytes: int
    seconds: float


@dataclass(frozen=True)
class Point:
    """A dot of the roofline: an op, or a group's ops as one, without and with groups."""

    name: str
    grouped: bool
    flops: int
    before: Cost
    after: Cost


@dataclass(frozen=True)
class Study:
    """
    edges   (step that writes, step that reads, bytes)
    bound   bytes of every input, weight and output once
    """

    name: str
    machine: Target
    steps: Sequence[Step]
    bands: Sequence[Band]
    edges: Sequence[tuple[int, int, int]]
    before: int
    after: int
    bound: int

    def words(self) -> str:
        count = len(self.bands)
        share = f"{1 - self.after / self.before:.1%} fewer" if count and self.before else "no group pays"
        bound = f"; every input, weight and output once: {self.bound:,}" if self.bound else ""
        return (
            f"{self.machine.name}, L2 of {self.machine.l2_bytes / 2**20:g} MiB, cache {self.machine.cache}: "
            f"{self.before:,} bytes from and to memory without groups, {self.after:,} with {count}: {share}{bound}"
        )

    def knows_time(self) -> bool:
        return self.machine.memory_bytes_per_s is not None and self.machine.peak_flops is not None

    def points(self) -> Iterator[Point]:
        """What `knows_time` is needed for."""
        at = 0
        for band in (*self.bands, None):
            for k in range(at, len(self.steps) if band is None else band.begin):
                step = self.steps[k]
                alone = [self._cost([step.before], step.flops, 1), self._cost([step.after], step.flops, 1)]
                yield Point(step.name, False, step.flops, *alone)
            if band is None:
                return
            members = self.steps[band.begin : band.end]
            flops = sum(step.flops for step in members)
            singly = [self._cost([step.before], step.flops, 1) for step in members]
            before = Cost(sum(cost.bytes for cost in singly), sum(cost.seconds for cost in singly))
            after = self._cost([step.after for step in members], flops, 1, band.tiles * len(members))
            yield Point(f"{members[0].name} to {members[-1].name}", True, flops, before, after)
            at = band.end

    def _cost(self, moved: Sequence[Moved], flops: int, launches: int, tile_ops: int = 0) -> Cost:
        """As the traffic model times a group: what takes longest, and the starts of kernels and of their tiles."""
        machine = self.machine
        assert machine.memory_bytes_per_s is not None
        assert machine.peak_flops is not None
        memory = sum(m.total for m in moved)
        l2 = 0.0
        if machine.l2_read_bytes_per_s is not None and machine.l2_write_bytes_per_s is not None:
            l2 = sum(
                m.l2_read / machine.l2_read_bytes_per_s + m.l2_written / machine.l2_write_bytes_per_s for m in moved
            )
        longest = max(memory / machine.memory_bytes_per_s, flops / machine.peak_flops, l2)
        return Cost(memory, longest + launches * machine.launch_seconds + tile_ops * machine.tile_seconds)


def make(request: Request) -> Report:
    """raises  UsageError, InputError"""
    study = _study(request)

    def draw() -> Any:
        from .l2_chart import draw

        return draw(study)

    return Report(list(_rows(study)), draw, list(_lines(study)))


# ------------------------------------------------------------------ the study


def _study(request: Request) -> Study:
    from ...dialects.ge.interfaces import flops_of, has_bytes
    from ...dialects.ge.types import nbytes
    from ...driver.options import PassRequest, build
    from ...transforms.fusion.fusion import inline
    from ...transforms.l2.judged import is_group
    from ...transforms.l2.l2_fusion import L2Fusion
    from ...transforms.memory.arena import is_on_buffers

    module = request.module
    one = build(PassRequest(L2Fusion.name, request.flags.get("--l2-options", "")), request.registry)
    assert isinstance(one, L2Fusion)
    machine = one.machine()
    function, more = _function(module)
    name = f"{request.name}, @{function.sym_name.data}, the first of {more + 1} functions" if more else request.name
    if is_on_buffers(function):
        raise InputError(f"@{function.sym_name.data} is on buffers; L2 is judged from what it was before ge-bufferize")
    one.apply(request.context, module)

    ops, bands = _numbered(function)
    written = [sum(nbytes(r.type) for r in op.results if has_bytes(r)) for op in ops]
    steps = [Step(_words(op, k), flops_of(op), size) for k, (op, size) in enumerate(zip(ops, written, strict=True))]
    edges = list(_edges(ops))
    after = _moved(function, machine, one.page, [step.after for step in steps])
    bound = _bound(function)
    for op in list(function.body.block.ops):
        if is_group(op):
            inline(op)
    before = _moved(function, machine, one.page, [step.before for step in steps])
    return Study(name, machine, steps, bands, edges, before, after, bound)


def _function(module: ModuleOp) -> tuple[FuncOp, int]:
    """The first function, and how many more there are."""
    from ...transforms.rewriting import functions

    found = [f for f in functions(module) if f.body.blocks]
    if not found:
        raise InputError("the module has no function with a body")
    if len(found[0].body.blocks) > 1:
        raise InputError(f"@{found[0].sym_name.data} has several blocks: only straight code can be judged")
    return found[0], len(found) - 1


def _numbered(function: FuncOp) -> tuple[list[Operation], list[Band]]:
    """The ops that do something, in order, each with its number on it and on what it is made of; and the groups."""
    from xdsl.dialects.builtin import IntAttr

    from ...transforms.l2.judged import is_group

    ops: list[Operation] = []
    bands: list[Band] = []
    for op in function.body.block.ops:
        begin = len(ops)
        for member in op.body.block.ops if is_group(op) else (op,):
            if not _does_something(member):
                continue
            for part in member.walk():
                part.attributes[TAG] = IntAttr(len(ops))
            ops.append(member)
        if is_group(op):
            bands.append(_band(op, begin, len(ops)))
    return ops, bands


def _does_something(op: Operation) -> bool:
    from ...dialects.ge.bodies import YieldOp
    from ...dialects.ge.constants import ConstantOp
    from ...dialects.ge.interfaces import View

    return not isinstance(op, ConstantOp | YieldOp | View) and op.name != "func.return"


def _band(group: Any, begin: int, end: int) -> Band:
    tiling = group.tiling
    cuts = [" x ".join(f"{size} along axis {axis}" for axis, size in loops) for loops in tiling.cuts]
    halo = "" if tiling.halo.data == "none" else f", halo: {tiling.halo.data}"
    return Band(begin, end, tiling.tiles.data, f" of {', '.join(cuts)}{halo}")


def _edges(ops: Sequence[Operation]) -> Iterator[tuple[int, int, int]]:
    """Views are looked through, and the edge of a group."""
    from ...dialects.ge.interfaces import has_bytes
    from ...dialects.ge.types import nbytes

    for k, op in enumerate(ops):
        for value in dict.fromkeys(op.operands):
            source = _source(value)
            if source is not None and has_bytes(value):
                yield source, k, nbytes(value.type)


def _source(value: SSAValue) -> int | None:
    """The number of the op that a value comes from; None for inputs and weights."""
    from xdsl.ir import BlockArgument

    from ...dialects.ge.bodies import yielded
    from ...dialects.ge.interfaces import View
    from ...transforms.l2.judged import is_group

    while True:
        owner = value.owner
        if isinstance(value, BlockArgument):
            group = value.block.parent_op()
            if group is None or not is_group(group):
                return None
            value = group.operands[value.index]
        elif is_group(owner):
            value = yielded(owner.body)[list(owner.results).index(value)]
        elif isinstance(owner, View):
            value = owner.operands[owner.view_of()]
        else:
            tag: Any = owner.attributes.get(TAG)
            return None if tag is None else tag.data


def _moved(function: FuncOp, machine: Target, page: int, moved: Sequence[Moved]) -> int:
    """Adds to `moved` what each op moves as the function stands; returns the bytes from and to memory."""
    from ...dialects.ge.memory import LaunchOp
    from ...planning import judge_parts
    from ...transforms.l2.judged import is_group
    from ...transforms.l2.replayed import trace_of_function
    from ...transforms.memory.arena import Layout, lay_out
    from ...transforms.memory.ge_bufferize import bufferize

    copy = function.clone()
    grouped = {_tag_of(member) for op in copy.body.block.ops if is_group(op) for member in op.walk()} - {None}
    bufferize(copy)
    lay_out(copy, Layout(alignment=machine.alignment))
    launches = (op for op in copy.walk() if isinstance(op, LaunchOp))
    tiles: dict[Operation, int | None] = {op: tag for op in launches if (tag := _tag_of(op)) in grouped}
    trace = trace_of_function(copy, machine.l2_bytes, page, tiles)
    parts = trace.by_op()
    counted = judge_parts(
        (accesses for _, accesses in parts), trace.sizes, trace.outputs, machine.l2_bytes, machine.cache, page
    )
    for (op, accesses), memory in zip(parts, counted, strict=True):
        at = _tag_of(op)
        sums = {write: sum(a.bytes for a in accesses if a.write is write) for write in (False, True)}
        if at is not None:
            moved[at].add(memory, sums[False], sums[True])
    return sum(memory.total for memory in counted)


def _tag_of(op: Operation) -> int | None:
    tags: Iterator[Any] = (part.attributes[TAG] for part in op.walk() if TAG in part.attributes)
    return next((tag.data for tag in tags), None)


def _bound(function: FuncOp) -> int:
    said: Any = function.attributes.get("ge.l2_traffic")
    return said.data["bound"].value.data if said is not None else 0


def _words(op: Operation, k: int) -> str:
    """`ConvRelu /layer1/Conv`; `matmul, op 7` where a pass made it. A constant's name is that of one of its readers."""
    from ...dialects.ge.constants import ConstantOp

    label = text_of(op.properties.get("label")) or op.name.removeprefix("ge.")
    parts = (part for part in op.walk() if not isinstance(part, ConstantOp))
    node = next((name for part in parts if (name := node_name(part))), None)
    return f"{label} {node}" if node else f"{label}, op {k}"


# ------------------------------------------------------------------ table and lines


def _rows(study: Study) -> Iterator[dict[str, object]]:
    groups = {k: number for number, band in enumerate(study.bands, 1) for k in range(band.begin, band.end)}
    for k, step in enumerate(study.steps):
        group = groups.get(k)
        yield {
            "step": k,
            "op": step.name,
            "group": group or "",
            "tiles": study.bands[group - 1].tiles if group else "",
            "operations": step.flops,
            "written": step.output_bytes,
            "modelled_read_before": step.before.read,
            "modelled_written_before": step.before.written,
            "modelled_read_after": step.after.read,
            "modelled_written_after": step.after.written,
        }


def _lines(study: Study) -> Iterator[str]:
    yield f"{study.name}: {_counted(len(study.steps), 'op')}, modelled for {study.words()}"
    if study.knows_time():
        points = list(study.points())
        before, after = sum(p.before.seconds for p in points), sum(p.after.seconds for p in points)
        share = f"{1 - after / before:.1%} less" if before else "nothing runs"
        yield f"  {before * 1e6:,.0f} -> {after * 1e6:,.0f} us, modelled: {share}"
    for number, band in enumerate(study.bands[:SHOWN_GROUPS], 1):
        names = f"{study.steps[band.begin].name} to {study.steps[band.end - 1].name}"
        yield f"  group {number}: {band.end - band.begin} ops, {_counted(band.tiles, 'tile')}{band.cut}: {names}"
    if len(study.bands) > SHOWN_GROUPS:
        yield f"  and {_counted(len(study.bands) - SHOWN_GROUPS, 'group')} more"
    changed = sorted(study.steps, key=lambda step: step.after.total - step.before.total)
    saving = [step for step in changed[:SHOWN] if step.after.total < step.before.total]
    costing = [step for step in changed[-SHOWN_COSTS:] if step.after.total > step.before.total]
    for step in (*saving, *costing):
        yield f"  {step.before.total:>15,} -> {step.after.total:>15,}  {step.name}"


def _counted(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
