"""
What shares memory with what, decided before anything is built: views and parts, results over operands, operands inside
a join's result, results in the caller's memory. All of it for the fewest bytes alive at the peak; where L2 groups leave
fewer than there are layer by layer, joins may take what is left: a copy moves bytes that the groups have just saved.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from xdsl.ir import Block, Operation, SSAValue

from .alive import Alive
from .in_place import overwritten
from .joined import Joined, joined
from .steps import COMPUTES, Rules, Steps


@dataclass(frozen=True)
class Shared:
    """
    over      result -> the operand that it lies over
    homes     computed value -> the place of the returned value, it or a view of it, whose buffer it is computed into
    peak      bytes alive at a time, at most
    """

    steps: Steps
    over: Mapping[SSAValue, SSAValue]
    joined: Joined
    homes: Mapping[SSAValue, int]
    peak: int


def planned(block: Block, rules: Rules, outer: Steps | None = None) -> Shared:
    """
    outer   of the block around, for a body

    cost    linear in ops, and Alive.merge for each part and join
    """
    parts = Steps(block, rules, outer=outer)
    tiled = any(step.kind == "tiled" for step in parts.list)
    room = planned(block, rules.by_layers(), outer).peak if tiled else 0
    made = {step.op for step in parts.list if step.kind == "part"}
    if not made:
        return _shared(parts, room)
    plain = _shared(Steps(block, rules, made, outer), room)
    launched = _too_long_as_parts(parts, Steps(block, rules, made, outer))
    some = _shared(Steps(block, rules, launched, outer) if launched else parts, room)
    return some if some.peak <= max(plain.peak, room) else plain


def _shared(steps: Steps, room: int) -> Shared:
    homes = _homes(steps)
    over = overwritten(steps)
    alive = Alive(steps, over, homes, room)
    chosen = joined(steps, over, alive)
    return Shared(steps, over, chosen, homes, alive.peak)


def _homes(steps: Steps) -> dict[SSAValue, int]:
    """A computed value that is returned, or of which a view is, is computed straight into the caller's buffer."""
    launched = {r for step in steps.list if step.kind in COMPUTES for r in step.op.results}
    homes: dict[SSAValue, int] = {}
    for k, value in enumerate(steps.returned):
        base = steps.base(value)
        if base in launched and not steps.is_part(value):
            homes.setdefault(base, k)
    return homes


def _too_long_as_parts(parts: Steps, plain: Steps) -> set[Operation]:
    """Ops to launch, though their results could be parts: their operand would be alive too long for it."""
    alive = Alive(plain, {}, _homes(plain))
    launched: set[Operation] = set()
    bases: dict[SSAValue, SSAValue] = {}
    for step in parts.list:
        if step.kind not in ("view", "part"):
            continue
        source = step.reads[0]
        base = bases.get(source, source)
        if step.kind == "part" and base in alive.classes:
            classes = [alive.classes[r] for r in step.op.results if r in alive.classes]
            if not alive.merge(alive.classes[base], classes):
                launched.add(step.op)
                continue
        bases.update(dict.fromkeys(step.op.results, base))
    return launched
