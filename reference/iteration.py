"""Loops on tensors: how often a body runs, what it is given, and what is made of what it gives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
from xdsl.ir import Attribute

from ..dialects.ge.bodies import yielded
from ..dialects.ge.control import LoopOp, ScanOp
from ..dialects.ge.types import element_of, shape_of

Body = Callable[[Sequence[Any]], Sequence[Any]]


def loop(op: LoopOp, operands: Sequence[Any], body: Body) -> list[Any]:
    """
    operands   of `op.operands`
    body       runs the body once

    Source: ONNX Loop-25. The onnx package's evaluator never runs a loop without a condition, and gives rows of a loop
    that ends at once another rank.
    """
    given = iter(operands)
    trips, going, *state = (None if v is None else next(given) for v in op.by_slot())
    number, condition = (shape_of(a.type) for a in op.body.block.args[:2])
    most = None if trips is None else int(np.asarray(trips).reshape(()))
    go = going is None or bool(np.asarray(going).reshape(()))
    rows: list[Sequence[Any]] = []
    while go and (most is None or len(rows) < most):
        counter = np.full(_one(number), len(rows), np.int64)
        after, *values = body([counter, np.full(_one(condition), go), *state])
        go = bool(np.asarray(after).reshape(()))
        state = values[: len(state)]
        rows.append(values[len(state) :])
    types = [v.type for v in yielded(op.body)][1 + len(state) :]
    return [*state, *(_stacked([row[k] for row in rows], 0, type_) for k, type_ in enumerate(types))]


def scan(op: ScanOp, operands: Sequence[Any], body: Body) -> list[Any]:
    """As `loop`. Source: ONNX Scan-25."""
    count = op.num_scan_inputs
    state, scanned = list(operands[: len(operands) - count]), [np.asarray(x) for x in operands[-count:]]
    axes = op.scan_input_axes or (0,) * count
    slices = [np.moveaxis(x, axis, 0) for x, axis in zip(scanned, axes, strict=True)]
    ways = op.scan_input_directions or (0,) * count
    slices = [x[::-1] if way else x for x, way in zip(slices, ways, strict=True)]
    rows: list[Sequence[Any]] = []
    for one in zip(*slices, strict=True):
        values = body([*state, *one])
        state = list(values[: len(state)])
        rows.append(values[len(state) :])
    types = [v.type for v in yielded(op.body)][len(state) :]
    places = op.scan_output_axes or (0,) * len(types)
    turned = op.scan_output_directions or (0,) * len(types)
    stacked: list[Any] = []
    for k, (type_, axis, way) in enumerate(zip(types, places, turned, strict=True)):
        found = [row[k] for row in rows]
        stacked.append(_stacked(found[::-1] if way else found, axis, type_))
    return [*state, *stacked]


def _one(shape: Sequence[int]) -> tuple[int, ...]:
    """A shape of one element, where dims that are not known are 1."""
    return tuple(abs(d) for d in shape)


def _stacked(rows: Sequence[Any], axis: int, row: Attribute) -> Any:
    """Rows of that type along a new axis; of no rows, those dims that are not known are 0."""
    if rows:
        return np.stack(rows, axis)
    shape = [max(0, d) for d in shape_of(row)]
    shape.insert(axis if axis >= 0 else axis + len(shape) + 1, 0)
    return np.empty(shape, element_of(cast(Any, row).element_type).dtype)
