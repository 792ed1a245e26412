"""
Meanings of the ops that shape arithmetic and weights are full of, one numpy call each.

The onnx package's evaluator agrees with them (a test holds both side by side), but builds a model for every op, and its
first call loads two hundred modules: more than all else that happens to a small network. Only numpy's own types are
answered here; what fails is left to that evaluator, which says why.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..dialects.ge.activation import ClipOp
from ..dialects.ge.arithmetic import AddOp, MaxOp, MinOp, MulOp, SubOp
from ..dialects.ge.comparison import (
    AndOp,
    EqualOp,
    GreaterOp,
    GreaterOrEqualOp,
    LessOp,
    LessOrEqualOp,
    OrOp,
    WhereOp,
)
from ..dialects.ge.conversion import CastOp
from ..dialects.ge.data import array_of
from ..dialects.ge.gather import GatherOp
from ..dialects.ge.movement import FlattenOp, ReshapeOp, SqueezeOp, TransposeOp, UnsqueezeOp
from ..dialects.ge.shape import ConstantOfShapeOp, RangeOp, ShapeOp
from ..dialects.ge.slicing import ConcatOp
from ..dialects.ge.types import element_of, is_static, shape_of

Array = npt.NDArray[Any]
Meaning = Callable[[Any, Sequence[Any]], list[Any] | None]


def _plain(*arrays: Any) -> bool:
    """Whether all are arrays of types that are numpy's own: truth values, integers, floats."""
    return all(isinstance(x, np.ndarray) and x.dtype.isbuiltin == 1 and x.dtype.kind in "biuf" for x in arrays)


def _by(function: Callable[..., Any]) -> Meaning:
    """Elementwise, by a numpy function of two or three arrays."""

    def meaning(op: Any, operands: Sequence[Any]) -> list[Any] | None:
        del op
        return [np.asarray(function(*operands))] if _plain(*operands) else None

    return meaning


def _extreme(function: Callable[..., Any]) -> Meaning:
    """Of one array or more."""

    def meaning(op: Any, operands: Sequence[Any]) -> list[Any] | None:
        del op
        if not _plain(*operands):
            return None
        found = operands[0]
        for other in operands[1:]:
            found = np.asarray(function(found, other))
        return [found]

    return meaning


def clip(op: ClipOp, operands: Sequence[Any]) -> list[Any] | None:
    """By Max and Min, so that of two zeros the one comes out that they give; numpy's clip keeps x's."""
    return [np.asarray(op.scalar(np, *operands))]


def cast_(op: CastOp, operands: Sequence[Any]) -> list[Any] | None:
    [x], to = operands, element_of(op.to).dtype
    # From a float that an integer cannot hold every engine has its own opinion: the onnx package's is asked.
    kept = _plain(x, np.empty(0, to)) and not (x.dtype.kind == "f" and to.kind in "iu")
    return [x.astype(to)] if kept else None


def viewed(op: ReshapeOp | SqueezeOp | UnsqueezeOp | FlattenOp, operands: Sequence[Any]) -> list[Any] | None:
    """The elements in order under the shape that the result has, where that is known."""
    type_, x = op.results[0].type, operands[0]
    return [x.reshape(shape_of(type_))] if isinstance(x, np.ndarray) and is_static(type_) else None


def transpose(op: TransposeOp, operands: Sequence[Any]) -> list[Any] | None:
    [x] = operands
    return [np.transpose(x, op.perm or None)] if isinstance(x, np.ndarray) else None


def concat(op: ConcatOp, operands: Sequence[Any]) -> list[Any] | None:
    return [np.concatenate(operands, op.axis)] if _plain(*operands) else None


def gather(op: GatherOp, operands: Sequence[Any]) -> list[Any] | None:
    data, indices = operands
    if not _plain(data, indices) or not data.ndim:
        return None
    return [np.asarray(np.take(data, indices, op.axis))]


def shape(op: ShapeOp, operands: Sequence[Any]) -> list[Any] | None:
    [x] = operands
    return [np.array(x.shape[op.start : op.end], np.int64)] if isinstance(x, np.ndarray) else None


def constant_of_shape(op: ConstantOfShapeOp, operands: Sequence[Any]) -> list[Any] | None:
    [dims] = operands
    if op.value is None:
        fill: Array = np.zeros((), np.float32)
    else:
        fill = array_of(*op.value, None).reshape(())
    # Not written out: the shape of a weight may be of hundreds of megabytes.
    return [np.broadcast_to(fill, tuple(int(d) for d in dims))] if _plain(fill) else None


def range_(op: RangeOp, operands: Sequence[Any]) -> list[Any] | None:
    del op
    start, limit, delta = (x.reshape(()) for x in operands)
    whole = _plain(start, limit, delta) and start.dtype.kind in "iu"
    return [np.arange(int(start), int(limit), int(delta)).astype(start.dtype)] if whole and int(delta) else None


def _or_none(meaning: Meaning) -> Meaning:
    def tried(op: Any, operands: Sequence[Any]) -> list[Any] | None:
        try:
            return meaning(op, operands)
        except (ValueError, IndexError):  # shapes that do not fit each other, where types did not tell
            return None

    return tried


_MEANINGS: dict[type, Meaning] = {
    AddOp: _by(np.add),
    AndOp: _by(np.logical_and),
    CastOp: cast_,
    ClipOp: clip,
    ConcatOp: concat,
    ConstantOfShapeOp: constant_of_shape,
    EqualOp: _by(np.equal),
    FlattenOp: viewed,
    GatherOp: gather,
    GreaterOp: _by(np.greater),
    GreaterOrEqualOp: _by(np.greater_equal),
    LessOp: _by(np.less),
    LessOrEqualOp: _by(np.less_equal),
    MaxOp: _extreme(np.maximum),
    MinOp: _extreme(np.minimum),
    MulOp: _by(np.multiply),
    OrOp: _by(np.logical_or),
    RangeOp: range_,
    ReshapeOp: viewed,
    ShapeOp: shape,
    SqueezeOp: viewed,
    SubOp: _by(np.subtract),
    TransposeOp: transpose,
    UnsqueezeOp: viewed,
    WhereOp: _by(np.where),
}

PLAIN = {op: _or_none(meaning) for op, meaning in _MEANINGS.items()}
