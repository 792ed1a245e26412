"""
How the kernel of a launch walks over its result: slice by slice, each with the part of its operands that it needs.

    conv of 32 images, one at a time      reads image k and the weights, writes image k of the result
    the same, 16 rows at a time           reads rows 16 k - 1 to 16 k + 17, writes rows 16 k to 16 k + 16
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import NamedTuple

from xdsl.ir import SSAValue

from ...dialects.ge.bodies import yielded
from ...dialects.ge.interfaces import Box, whole
from ...dialects.ge.kernel_tile import kernel_tile_of
from ...dialects.ge.memory import LaunchOp
from ...dialects.ge.types import nbytes, shape_of
from ...planning import kernel_steps
from ..tiling import boxes_in_body

IMAGE_RANK = 4
"""From this rank on a value is taken for an image: rows are axis 2."""

BORDER = 2
"""Steps at each end that may differ from those inside: windows reach over the border there."""


class Step(NamedTuple):
    """The boxes of a launch's operands and results that a step reads and writes; None: all of it."""

    reads: Sequence[Box | None]
    writes: Sequence[Box | None]


def steps_of(op: LaunchOp, cache_bytes: int, page: int) -> list[Step]:
    """
    As the launch says itself (`ge.kernel_tile`), else samples of its results, or rows, as many at a time as
    `kernel_steps` says for a cache of `cache_bytes` that counts in pages.

    cost   the boxes of a few steps; of all where they do not move alike
    """
    results = yielded(op.body)
    at_once = [Step([None] * len(op.ins), [None] * len(op.outs))]
    said = kernel_tile_of(op)
    if said is not None and (steps := _steps(op, *said)) is not None:
        return steps
    shape = shape_of(results[0].type)
    axes = (0, 2, *range(1, len(shape))) if len(shape) >= IMAGE_RANK else range(len(shape))
    for axis in axes:
        first = _step(op, axis, 0, 1) if shape[axis] > 1 else None
        if first is None:
            continue
        needed = [(a, box) for a, box in zip(op.body.block.args, first.reads, strict=True)]
        moving: list[tuple[SSAValue, Box]] = [(a, box) for a, box in needed if box is not None and box != whole(a)]
        moving += [(v, box) for v, box in zip(results, first.writes, strict=True) if box is not None]
        strips = prod(shape[:axis])
        count = kernel_steps(
            shape[axis],
            sum(nbytes(a.type) for a, box in needed if box is None or box == whole(a)),
            sum(nbytes(v.type) for v, _ in moving),
            cache_bytes,
            strips_bytes=sum(_strips(v, box) for v, box in moving) * page if strips > 1 else 0,
            samples=strips == 1,
        )
        return _steps(op, axis, count) or at_once
    return at_once


def _step(op: LaunchOp, axis: int, begin: int, count: int) -> Step | None:
    """The step that makes slices [begin, begin + count) of the results; None where they cannot be cut so."""
    results = yielded(op.body)
    shape = shape_of(results[0].type)
    if any(shape_of(r.type)[axis : axis + 1] != shape[axis : axis + 1] for r in results):
        return None
    boxes: list[Box] = [
        tuple((begin, count) if k == axis else part for k, part in enumerate(whole(r))) for r in results
    ]
    wanted = boxes_in_body(op, boxes)
    return None if wanted is None else Step([wanted.get(a) for a in op.body.block.args], boxes)


def _steps(op: LaunchOp, axis: int, count: int) -> list[Step] | None:
    extent = shape_of(yielded(op.body)[0].type)[axis]
    last = -(-extent // count) - 1
    inside = range(BORDER, last - BORDER + 1)
    known: dict[int, Step | None] = {}

    def step(k: int) -> Step | None:
        if k not in known:
            known[k] = _step(op, axis, k * count, min(count, extent - k * count))
        return known[k]

    if len(inside) > BORDER + 1:
        ends = [step(k) for k in (inside[0], inside[1], inside[-1])]
        if None not in ends:
            known.update(_between(inside, *[one for one in ends if one is not None]))
    found = [step(k) for k in range(last + 1)]
    steps = [one for one in found if one is not None]
    return steps if len(steps) == len(found) else None


def _between(inside: range, one: Step, two: Step, last: Step) -> dict[int, Step]:
    """The steps inside, if the last lies where it does when each lies as far from the one before as the second does."""
    moves = [
        [_moved(a, b, c, len(inside) - 1) for a, b, c in zip(*boxes, strict=True)]
        for boxes in ((one.reads, two.reads, last.reads), (one.writes, two.writes, last.writes))
    ]
    if any(by is None for each in moves for by in each):
        return {}
    reads, writes = moves
    return {
        k: Step([_at(a, by, k - inside[0]) for a, by in zip(one.reads, reads, strict=True)],
                [_at(a, by, k - inside[0]) for a, by in zip(one.writes, writes, strict=True)])
        for k in inside
    }  # fmt: skip


def _moved(one: Box | None, two: Box | None, last: Box | None, steps: int) -> list[int] | None:
    """By how much a box moves with each step along each axis; None where it does not so, or its size changes."""
    if one is None or two is None or last is None:
        return [] if one is two is last else None
    by = [b - a for (a, _), (b, _) in zip(one, two, strict=True)]
    alike = [n for _, n in one] == [n for _, n in two] == [n for _, n in last]
    there = all(c - a == steps * move for (a, _), (c, _), move in zip(one, last, by, strict=True))
    return by if alike and there else None


def _at(box: Box | None, by: Sequence[int] | None, steps: int) -> Box | None:
    if box is None or by is None:
        return None
    return tuple((begin + steps * move, count) for (begin, count), move in zip(box, by, strict=True))


def _strips(value: SSAValue, box: Box) -> int:
    """Runs of bytes that a box, cut along one axis, is made of."""
    axis = next(k for k, part in enumerate(box) if part != whole(value)[k])
    return prod(shape_of(value.type)[:axis])
