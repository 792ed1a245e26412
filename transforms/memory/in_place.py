"""
Which results may lie over an operand that dies there.

    %a = matmul ..        a slot
    %b = relu %a          %b over %a: nobody reads %a after this, and relu reads an index no later than it writes it
    %c = softmax %b       %c over %b: softmax has summed up a row before it writes it

An op answers by `Overwrites`. Never over a graph input, a weight or a graph output, nor where a view of the operand is
still read, nor where a body captures it, nor where the op reads the same memory at another index too; over a part that
lies in several runs of bytes only where launches alone see the result.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterator, Mapping, Sequence

from xdsl.ir import Operation, SSAValue

from ...dialects.ge.bodies import FusionOp, YieldOp, yielded
from ...dialects.ge.control import Iteration
from ...dialects.ge.interfaces import Overwrites
from ...dialects.ge.types import is_as_wide
from .steps import COMPUTES, Step, Steps, captured


def overwritten(steps: Steps) -> dict[SSAValue, SSAValue]:
    """
    Result -> the operand that it may lie over; each operand is there once at most.

    cost   linear in ops
    """
    if not steps.rules.in_place:
        return {}
    last: dict[SSAValue, int] = {}
    made: set[SSAValue] = set()
    in_rows: set[SSAValue] = set()  # what others than launches see: they count on a row of bytes
    for at, step in enumerate(steps.list):
        if step.kind not in ("launch", "host"):
            in_rows.update(step.reads)
        if step.kind != "view":
            last.update((steps.base(v), at) for v in step.reads)
        if step.kind in COMPUTES:
            made.update(step.op.results)
    made -= {steps.base(v) for v in steps.returned}

    found: dict[SSAValue, SSAValue] = {}
    in_pieces: set[SSAValue] = set()
    for at, step in enumerate(steps.list):
        if step.kind not in ("launch", "control"):
            continue
        free = {v for v in map(steps.base, step.reads) if v in made and last[v] == at}
        for result, operand in _candidates(step, steps, free):
            pieces = steps.in_pieces(operand) or operand in in_pieces
            if result not in made or result in found or (pieces and (step.kind == "control" or result in in_rows)):
                continue
            found[result] = operand
            free.discard(steps.base(operand))
            if pieces:
                in_pieces.add(result)
    return found


def computed_over_arguments(
    steps: Steps, homes: Mapping[SSAValue, int], joins: Container[Operation], arguments: Mapping[int, SSAValue]
) -> set[int]:
    """
    Of a loop's body: the places of values that can be computed where the argument lies that they are next time.

    homes       computed value -> its place among what the body yields
    joins       concatenations whose operands are computed into the result, so before the concatenation
    arguments   by the place of the value that takes theirs

    cost        linear in ops
    """
    if not steps.rules.in_place:
        return set()
    last: dict[SSAValue, int] = {}
    made: dict[SSAValue, int] = {}
    for at, step in enumerate(steps.list):
        if step.kind not in ("view", "part"):
            last.update((steps.base(v), at) for v in step.reads)
        made.update((r, at) for r in step.op.results)
    still_wanted = {steps.base(v) for v in steps.returned}
    found: set[int] = set()
    for k, argument in arguments.items():
        value = steps.returned[k]
        if homes.get(value) != k or value.type != argument.type or argument in still_wanted:
            continue
        at = made[value]
        step, read = steps.list[at], last.get(argument, -1)
        if step.op in joins or read > at:
            continue
        if read < at or any((r, o) == (value, argument) for r, o in _candidates(step, steps, {argument})):
            found.add(k)
    return found


def _candidates(step: Step, steps: Steps, free: set[SSAValue]) -> Iterator[tuple[SSAValue, SSAValue]]:
    """
    Pairs of a result and an operand, of its shape and as wide, that it may lie over, best first.

    free   the operands' bases that nobody needs any more; asked again for each pair
    """
    op = step.op
    bases = [steps.base(steps.resolve(v)) for v in op.operands]
    times = Counter(bases)
    if isinstance(op, Iteration):
        around = {steps.base(steps.resolve(v)) for v in captured(op)}
        for result, operand in zip(op.results, op.initial_values(), strict=False):
            base = steps.base(steps.resolve(operand))
            if step.kind == "control" and base in free and times[base] == 1 and base not in around:
                yield result, steps.resolve(operand)
    elif isinstance(op, FusionOp):
        yield from _candidates_of_fusion(op, steps, lambda k: bases[k] in free and times[bases[k]] == 1)
    elif isinstance(op, Overwrites) and len(op.results) == 1 and not op.regions:
        places = dict.fromkeys(op.overwrites())
        values = [steps.resolve(v) for v in op.operands]
        for k in places:
            fits = bases[k] in free and is_as_wide(values[k].type, op.results[0].type)
            if fits and _read_at_the_index(values, bases, places, steps, bases[k]):
                yield op.results[0], values[k]


def _read_at_the_index(
    values: Sequence[SSAValue], bases: Sequence[SSAValue], places: Container[int], steps: Steps, base: SSAValue
) -> bool:
    """Whether all operands in the memory of `base` may be written over, and are the same bytes at each index."""
    there = [k for k, other in enumerate(bases) if other is base]
    same = len({values[k] for k in there}) == 1 or not any(steps.is_part(values[k]) for k in there)
    return same and all(k in places for k in there)


def _candidates_of_fusion(
    op: FusionOp, steps: Steps, is_free: Callable[[int], bool]
) -> Iterator[tuple[SSAValue, SSAValue]]:
    """
    A fusion's result may lie over an operand if all that depends on the operand reads it index by index, and the op
    that makes the result is not followed by one that reads the operand: so it holds whether the body runs op by op or
    tile by tile.
    """
    values = list(yielded(op.body))
    if not any(
        is_free(k) and is_as_wide(op.operands[k].type, r.type) for r in op.outs for k in range(len(op.operands))
    ):
        return
    order = {inner: n for n, inner in enumerate(op.body.block.ops)}
    for k, argument in enumerate(op.body.block.args):
        if not is_free(k):
            continue
        reached = _reached_index_by_index(argument)
        for result, value in zip(op.outs, values, strict=True):
            maker = value.owner
            if not is_free(k) or value not in reached or not isinstance(maker, Operation):
                continue
            # A result that is yielded twice has one maker and two buffers: only one of them is written first.
            if not is_as_wide(argument.type, result.type) or values.count(value) > 1:
                continue
            if all(order[use.operation] <= order[maker] for use in argument.uses):
                yield result, steps.resolve(op.operands[k])


def _reached_index_by_index(argument: SSAValue) -> set[SSAValue]:
    """All that is computed from `argument`; nothing if any of it reads it otherwise than index by index."""
    reached: set[SSAValue] = set()
    ahead = [argument]
    while ahead:
        value = ahead.pop()
        if value in reached:
            continue
        reached.add(value)
        for use in value.uses:
            reader = use.operation
            if isinstance(reader, YieldOp):
                continue
            if not isinstance(reader, Overwrites) or not reader.BY_INDEX or len(reader.results) != 1:
                return set()
            if use.index not in reader.overwrites():
                return set()
            ahead.append(reader.results[0])
    return reached
