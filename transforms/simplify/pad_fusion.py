"""
Padding before a convolution or pooling is the window's own.

    %a = ge.pad %x, [0, 0, 1, 1, 0, 0, 1, 1]
    %b = ge.conv %a, %w                                ->       %b = ge.conv %x, %w pads [1, 1, 1, 1]

Zeros before a convolution. Zeros before an average, which then counts them. Before a maximum: what is lower than
everything, or zeros around what is never negative. Needs pads along spatial axes that are known and not negative, and
that nobody else reads what is padded. Leaves no such pair.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import ml_dtypes
import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from ...dialects.ge.activation import ClipOp, HardSigmoidOp, ReluOp
from ...dialects.ge.convolution import ConvOp
from ...dialects.ge.math import AbsOp, ExpOp
from ...dialects.ge.padding import PadOp
from ...dialects.ge.pooling import AveragePoolOp, MaxPoolOp
from ...dialects.ge.shapes import numbers_in
from ...dialects.ge.smooth import SigmoidOp
from ...dialects.ge.softmax import SoftmaxOp
from ...dialects.ge.types import shape_of
from ..base import GePass
from ..operands import has_floats, number, uniform
from ..report import count, missed
from ..rewriting import apply_rules

NEVER_NEGATIVE = (ReluOp, SigmoidOp, AbsOp, ExpOp, SoftmaxOp, HardSigmoidOp)


def into_convolution(op: ConvOp) -> Operation | None:
    pads = _pads(op)
    if pads is None:
        return None
    pad = cast(PadOp, op.x.owner)
    if not _fills_with_zero(pad):
        return missed(op, "keeps its Pad: what is added is no zero")
    count("pads moved into convolutions")
    return _padded(op, [pad.data, op.w, op.b], pads)


def into_average(op: AveragePoolOp) -> Operation | None:
    pads = _pads(op)
    if pads is None:
        return None
    pad = cast(PadOp, op.x.owner)
    if not _fills_with_zero(pad) or not _may_pad(op, pads):
        return missed(op, "keeps its Pad: what is added is no zero, or as wide as the window")
    if any(op.pads) and not op.count_include_pad:
        return missed(op, "keeps its Pad: its own padding does not count")
    count("pads moved into pooling")
    return _padded(op, [pad.data], pads, count_include_pad=1)


def into_maximum(op: MaxPoolOp) -> Operation | None:
    pads = _pads(op)
    if pads is None or op.indices is not None:
        return None
    pad = cast(PadOp, op.x.owner)
    if not _is_never_the_maximum(pad) or not _may_pad(op, pads):
        return missed(op, "keeps its Pad: what is added can be a maximum, or is as wide as the window")
    count("pads moved into pooling")
    return _padded(op, [pad.data], pads)


def _pads(op: ConvOp | AveragePoolOp | MaxPoolOp) -> list[int] | None:
    """The window's pads and those of the Pad before it; None where there is none that could go into them."""
    pad, rank = op.x.owner, len(shape_of(op.x.type))
    if not isinstance(pad, PadOp) or pad.mode != "constant" or not op.x.has_one_use():
        return None
    added = numbers_in(pad.pads)
    axes = list(range(rank)) if pad.axes is None else numbers_in(pad.axes)
    if added is None or axes is None or op.auto_pad not in ("NOTSET", "VALID"):
        return None
    before, after = [0] * rank, [0] * rank
    for k, axis in enumerate(axes):
        before[axis], after[axis] = added[k], added[len(axes) + k]
    logical: tuple[int, ...] = op.to_logical(range(rank))
    batch, channels, *spatial = logical
    if min(before + after) < 0 or any(before[k] or after[k] for k in (batch, channels)):
        return None
    own = op.pads if op.pads and op.auto_pad == "NOTSET" else (0,) * (2 * len(spatial))
    more = [before[k] for k in spatial] + [after[k] for k in spatial]
    return [a + b for a, b in zip(own, more, strict=True)]


def _padded(op: Any, operands: Sequence[SSAValue | None], pads: Sequence[int], **changed: Any) -> Operation:
    new = op.rebuilt(operands, pads=pads, auto_pad="NOTSET", **changed)
    new.results[0]._type = op.results[0].type  # pyright: ignore[reportPrivateUsage]
    return new


def _fills_with_zero(pad: PadOp) -> bool:
    return pad.constant_value is None or number(pad.constant_value) == 0


def _is_never_the_maximum(pad: PadOp) -> bool:
    if _fills_with_zero(pad):
        maker = pad.data.owner
        low = number(maker.min) if isinstance(maker, ClipOp) else None
        return isinstance(maker, NEVER_NEGATIVE) or (low is not None and low >= 0)
    fill = uniform(pad.constant_value)
    if fill is None:
        return False
    if has_floats(pad.data):
        return float(fill) in (-np.inf, float(cast(Any, ml_dtypes.finfo(fill.dtype)).min))
    return int(fill) == np.iinfo(fill.dtype).min


def _may_pad(op: AveragePoolOp | MaxPoolOp, pads: Sequence[int]) -> bool:
    """
    Whether each window still meets the data, as pooling demands, and is where it was: rounding up, windows that start
    in the padding behind the data do not count.
    """
    wide = zip(pads, (*op.kernel_shape, *op.kernel_shape), strict=True)
    return not op.ceil_mode and all(p < k for p, k in wide) and not any(d > 1 for d in op.dilations)


class PadFusion(GePass):
    name = "pad-fusion"
    ge_name = "PadFusionPass"
    aliases = ("PaddConv2dFusionPass", "PaddMaxPoolFusionPass")
    level = 1
    summary = "Makes padding before a convolution or pooling its own"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        apply_rules(op, {ConvOp: (into_convolution,), AveragePoolOp: (into_average,), MaxPoolOp: (into_maximum,)})
