"""
--memory: where each tensor lies in the arena and for how long, by several strategies side by side.

The module is brought to buffers where it is not there yet, without views and results in place for those strategies
that have none; the others plan the same buffers. `memory_chart` draws what is found here.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...dialects.ge.errors import InputError, UsageError, text_of
from ...driver.argv import Takes
from ...driver.diagnostics import did_you_mean
from .base import Report, Request

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.dialects.func import FuncOp
    from xdsl.ir import Operation, SSAValue

    from ...planning import Buffer, Peak

STRATEGIES: dict[str, dict[str, str]] = {
    "none": {"strategy": "conservative", "max_reuse_ratio": "0"},
    "ge-binary-block": {"algorithm": "ge-binary-block"},
    "ge-max-block": {"algorithm": "ge-max-block"},
    "conservative": {"strategy": "conservative"},
    "balanced": {"strategy": "balanced"},
    "aggressive": {"strategy": "aggressive"},
}
"""By name the options of memory-reuse."""

APART = ("none", "conservative")
"""Those for which nothing is a view or in place."""

GIVEN = "given"
"""The plan that the model's own text holds."""

FLAGS = {"--strategy": Takes.VALUE, "--alignment": Takes.VALUE}
HELP = f"""\
--memory: where each tensor lies in the arena, for how long, and what the peak is made of
  --strategy=A,B           of {", ".join(STRATEGIES)},
                           {GIVEN} (a plan in the text); by default all, the last for up to 10 s
  --alignment=N            bytes, a power of two; by default memory-reuse's
"""


@dataclass(frozen=True)
class Tensor:
    """
    A slot of the arena: bytes [offset, offset + size) in steps [begin, end).

    made, read   the step that first writes it and the last that touches it, in words
    """

    name: str
    begin: int
    end: int
    offset: int
    size: int
    made: str
    read: str


@dataclass(frozen=True)
class Plan:
    """
    strategy  its name
    arena     bytes; `bound`: that no arena for these lifetimes can be smaller than
    seconds   that the plan took
    steps     of the function, in words
    peak      planning.explain_peak; None without a tensor in the arena
    """

    strategy: str
    tensors: Sequence[Tensor]
    arena: int
    bound: int
    seconds: float
    steps: Sequence[str]
    peak: Peak | None

    @property
    def alive(self) -> list[Tensor]:
        """At the peak, lowest address first."""
        return [self.tensors[i] for i in self.peak.alive] if self.peak is not None else []


def make(request: Request) -> Report:
    """raises  UsageError, InputError"""
    plans = list(_plans(request))

    def draw() -> Any:
        from .memory_chart import draw

        return draw(request.name, plans)

    return Report(list(_rows(plans)), draw, list(_lines(request.name, plans)))


# ------------------------------------------------------------------ plans


def _plans(request: Request) -> Iterator[Plan]:
    from ...driver.options import PassRequest, build
    from ...transforms.memory.arena import arena_of, is_on_buffers
    from ...transforms.memory.ge_bufferize import GeBufferize

    module, function = request.module, _function(request.module)
    given = arena_of(function) is not None
    if not given and is_on_buffers(function):
        raise InputError(f"@{function.sym_name.data} is on buffers, but in no arena of ge-bufferize's")
    names = _names(request.flags.get("--strategy"), given)
    own = {"alignment": request.flags["--alignment"]} if "--alignment" in request.flags else {}
    for name in names:
        planned = module.clone()
        if not given:
            GeBufferize(in_place=name not in APART, views=name not in APART).apply(request.context, planned)
        start = time.perf_counter()
        if name != GIVEN:
            options = PassRequest("memory-reuse", values=STRATEGIES[name] | own)
            build(options, request.registry).apply(request.context, planned)
        yield _plan(name, _function(planned), time.perf_counter() - start)


def _function(module: ModuleOp) -> FuncOp:
    from ...transforms.rewriting import functions

    function = next((f for f in functions(module) if f.body.blocks), None)
    if function is None:
        raise InputError("the module has no function with a body")
    return function


def _names(text: str | None, given: bool) -> list[str]:
    if text is None:
        return [GIVEN, *STRATEGIES] if given else list(STRATEGIES)
    names = [name.strip() for name in text.split(",")]
    for name in names:
        if name not in (GIVEN, *STRATEGIES):
            allowed = ", ".join((*STRATEGIES, GIVEN))
            raise UsageError(f"--strategy: no strategy '{name}'{did_you_mean(name, STRATEGIES)}; allowed: {allowed}")
    if GIVEN in names and not given:
        raise UsageError(f"--strategy={GIVEN}: the model is not on buffers and holds no plan")
    return list(dict.fromkeys(names))


def _plan(strategy: str, function: FuncOp, seconds: float) -> Plan:
    from ...dialects.ge.memory import SlotOp, arena_alignment
    from ...dialects.ge.types import nbytes
    from ...planning import Buffer, explain_peak, lower_bound
    from ...transforms.memory.arena import Roots, arena_of, numbered

    arena = arena_of(function)
    assert arena is not None
    block = function.body.block
    steps = list(numbered(block))
    words = [_words(op) for op in steps]
    slots = [op for op in block.ops if isinstance(op, SlotOp)]
    names = _written(steps, Roots(block))
    buffers = [Buffer(*op.life, nbytes(op.buffer.type), names.get(op.buffer, "")) for op in slots]
    offsets = [op.offset.value.data for op in slots]
    alignment = arena_alignment(arena)
    bound: Any = function.attributes.get("ge.arena_bound")
    return Plan(
        strategy,
        [_tensor(buffer, offset, words) for buffer, offset in zip(buffers, offsets, strict=True)],
        nbytes(arena.type),
        bound.value.data if bound is not None else lower_bound(buffers, alignment),
        seconds,
        words,
        explain_peak(buffers, offsets, alignment),
    )


def _tensor(buffer: Buffer, offset: int, steps: Sequence[str]) -> Tensor:
    def words(step: int) -> str:
        return steps[step] if step < len(steps) else ""

    made, read = words(buffer.begin), words(buffer.end - 1)
    return Tensor(buffer.name, buffer.begin, buffer.end, offset, buffer.size, made, read)


def _written(steps: Sequence[Operation], roots: Any) -> dict[SSAValue, str]:
    """Slot -> the ONNX name of what is first computed into it."""
    from ...dialects.ge.memory import LaunchOp

    names: dict[SSAValue, str] = {}
    for step, op in enumerate(steps):
        if isinstance(op, LaunchOp):
            last: Any = op.body.block.last_op
            for out, value in zip(op.outs, last.operands, strict=True):
                names.setdefault(roots.of(out), _name(value) or f"{_words(op)}, step {step}")
    return names


def _name(value: SSAValue) -> str:
    """Of a result by ONNX, else of its node; else none."""
    from xdsl.ir import Operation

    op = value.owner
    if not isinstance(op, Operation):
        return value.name_hint or ""
    outputs: Any = op.attributes.get("onnx.outputs")
    at = list(op.results).index(value)  # pyright: ignore[reportArgumentType]
    if outputs is not None and at < len(outputs.data):
        return outputs.data[at].data
    return text_of(op.attributes.get("onnx.node")) or value.name_hint or ""


def _words(op: Operation) -> str:
    """`ConvRelu /layer1/Conv`."""
    from ...dialects.ge.memory import LaunchOp

    if not isinstance(op, LaunchOp):
        return op.name
    members = [m for m in op.body.block.ops if m.name not in ("ge.constant", "ge.yield")]
    label = text_of(op.attributes.get("label")) or (members[-1].name.removeprefix("ge.") if members else "")
    node = next((name for m in members if (name := text_of(m.attributes.get("onnx.node")))), "")
    return f"{label} {node}".strip()


# ------------------------------------------------------------------ table and lines


def _rows(plans: Sequence[Plan]) -> Iterator[dict[str, object]]:
    for plan in plans:
        alive = set(plan.peak.alive) if plan.peak is not None else set[int]()
        for at, tensor in enumerate(plan.tensors):
            yield {
                "strategy": plan.strategy,
                "tensor": tensor.name,
                "begin": tensor.begin,
                "end": tensor.end,
                "offset": tensor.offset,
                "size": tensor.size,
                "alive_at_peak": int(at in alive),
                "made_by": tensor.made,
                "last_read_by": tensor.read,
                "arena": plan.arena,
                "bound": plan.bound,
            }


def _lines(name: str, plans: Sequence[Plan]) -> Iterator[str]:
    yield f"{name}: {len(plans[0].steps)} steps"
    yield f"{'strategy':<16} {'arena bytes':>15} {'bound':>15} {'over':>8} {'seconds':>8}"
    for plan in plans:
        over = "proved" if plan.arena == plan.bound else f"+{plan.arena / plan.bound - 1:.1%}" if plan.bound else ""
        yield f"{plan.strategy:<16} {plan.arena:>15,} {plan.bound:>15,} {over:>8} {plan.seconds:>8.2f}"
    last = min(plans, key=lambda plan: plan.arena)
    if last.peak is not None:
        yield f"{last.strategy}: the peak is at step {last.peak.step}, {last.steps[last.peak.step]}"
        for tensor in reversed(last.alive):
            where = f"[{tensor.offset:,}, {tensor.offset + tensor.size:,})"
            yield f"  {where:<28} steps [{tensor.begin}, {tensor.end})  {tensor.name}"
        for offset, size in last.peak.holes:
            yield f"  {f'[{offset:,}, {offset + size:,})':<28} a hole of {size:,} bytes"
