"""
Boxes: through views, of what lies beside others, and inside of others.

    %b = ge.reshape %a : 8x128x768 -> 1024x768       rows [160, 176) of %b are rows [32, 48) of sample 1 of %a
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

from xdsl.ir import Operation, SSAValue

from ..dialects.ge.interfaces import Box, View, box_shape, is_contiguous, whole
from ..dialects.ge.types import shape_of


def box_behind(view: Operation, box: Box) -> Box | None:
    """
    The box of a view's operand that a box of its result is; None where it is no box. Axes may be taken apart or put
    together: rows of the one are then several rows of the other, or some rows of one of its samples.
    """
    assert isinstance(view, View)
    source, result = (shape_of(v.type) for v in (view.operands[view.view_of()], view.results[0]))
    found: list[tuple[int, int]] = []
    for theirs, ours in _same_bytes(source, result):
        part = _box_of_run(_run_of_box(box[ours], result[ours]), source[theirs])
        if part is None:
            return None
        found += part
    return tuple(found)


def _same_bytes(one: Sequence[int], two: Sequence[int]) -> Iterator[tuple[slice, slice]]:
    """Cuts two shapes of as many elements into the shortest stretches of axes that have as many as each other."""
    i = j = 0
    while i < len(one) or j < len(two):
        begin = i, j
        left = right = 1
        while left != right or (i, j) == begin:
            if j == len(two) or (i < len(one) and left <= right):
                left, i = left * one[i], i + 1
            else:
                right, j = right * two[j], j + 1
        yield slice(begin[0], i), slice(begin[1], j)


def _run_of_box(box: Box, shape: Sequence[int]) -> tuple[int, int] | None:
    """(begin, count) of a box's elements, counted through `shape`; None where they are not one run."""
    if not is_contiguous(box, shape):
        return None
    begin = sum(offset * prod(shape[k + 1 :]) for k, (offset, _) in enumerate(box))
    return begin, prod(box_shape(box))


def _box_of_run(run: tuple[int, int] | None, shape: Sequence[int]) -> list[tuple[int, int]] | None:
    """The box of `shape` whose elements are a run; None where there is none."""
    if run is None:
        return None
    begin, count = run
    if count == prod(shape):
        return [(0, d) for d in shape]
    for k, size in enumerate(shape):
        row = prod(shape[k + 1 :])
        first = begin // row % size
        if begin % row == 0 and count % row == 0 and 0 < count // row <= size - first:
            around = [(begin // prod(shape[j + 1 :]) % d, 1) for j, d in enumerate(shape[:k])]
            return [*around, (first, count // row), *((0, d) for d in shape[k + 1 :])]
    return None


def beside(whole_value: SSAValue, box: Box, part: SSAValue) -> Box | None:
    """The box of a part that lies beside others along another axis than those that are cut."""
    cut = {k: rows for k, (rows, all_) in enumerate(zip(box, whole(whole_value), strict=True)) if rows != all_}
    sizes, of = shape_of(part.type), shape_of(whole_value.type)
    if any(k >= len(sizes) or sizes[k] != of[k] for k in cut):
        return None
    return tuple(cut.get(k, (0, d)) for k, d in enumerate(sizes))


def cut_axis(box: Box, around: Box) -> int | None:
    """The one axis along which a box is a part of another."""
    cut = [k for k, (part, all_) in enumerate(zip(box, around, strict=True)) if part != all_]
    return cut[0] if len(cut) == 1 else None


def counted_from(around: Box, box: Box) -> Box:
    """A box whose places are counted from another's first element."""
    return tuple((begin - first, count) for (begin, count), (first, _) in zip(box, around, strict=True))


def lies_in(box: Box, around: Box) -> bool:
    return all(a <= b and b + n <= a + m for (b, n), (a, m) in zip(box, around, strict=True))
