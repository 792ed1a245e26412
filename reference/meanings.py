"""
Our own meanings, as numpy on whole arrays, of ops for which the onnx package's evaluator is too slow to run a network
(its convolution and pooling walk windows in Python). The backend suite of the onnx package holds them to its text.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from ..dialects.ge.convolution import ConvOp, Windowed
from ..dialects.ge.core import GeOp

Array = npt.NDArray[Any]


def _windows(op: Windowed, x: Array, fill: float) -> Array | None:
    """
    All windows of channels-first data: [n, c, positions..., kernel...]; None where the shapes leave it to ONNX.
    """
    sizes = x.shape[2:]
    windows = op.windows(sizes)
    if windows is None:
        return None
    pads = [(0, 0), (0, 0), *((w.before, w.after) for w in windows)]
    if any(a or b for a, b in pads):
        x = np.pad(x, pads, constant_values=fill)
    axes = tuple(range(2, x.ndim))
    view = np.lib.stride_tricks.sliding_window_view(x, [w.extent for w in windows], cast(Any, axes))
    steps = [slice(None, None, w.stride) for w in windows]
    taps = [slice(None, None, w.dilation) for w in windows]
    return view[(slice(None), slice(None), *steps, *taps)]


def _first(op: Windowed, x: Array) -> Array:
    return x if op.data_format == "NCHW" else np.moveaxis(x, -1, 1)


def _back(op: Windowed, y: Array) -> Array:
    return y if op.data_format == "NCHW" else np.moveaxis(y, 1, -1)


def conv(op: GeOp, operands: Sequence[Any]) -> list[Any] | None:
    assert isinstance(op, ConvOp)
    x, w = _first(op, operands[0]), operands[1]
    bias = operands[2] if len(operands) > 2 else None
    spatial, groups = x.ndim - 2, op.group
    wide = np.float32 if x.dtype == np.float16 else x.dtype  # products of a half are summed in more than a half
    windows = _windows(op, x, 0)
    if windows is None:
        return None
    n, outs, positions = x.shape[0], w.shape[0], windows.shape[2 : 2 + spatial]
    y = np.empty((n, outs, *positions), wide)
    ins, per = x.shape[1] // groups, outs // groups
    count = int(np.prod(positions))
    for g in range(groups):
        kernel = w[g * per : (g + 1) * per].reshape(per, -1).astype(wide, copy=False)
        for sample in range(n):
            part = windows[sample, g * ins : (g + 1) * ins]
            # [c, positions..., kernel...] -> [c * kernel, positions]
            columns = np.moveaxis(part, range(1, 1 + spatial), range(-spatial, 0)).reshape(-1, count)
            y[sample, g * per : (g + 1) * per] = (kernel @ columns.astype(wide, copy=False)).reshape(per, *positions)
    if bias is not None:
        y += bias.astype(wide, copy=False).reshape(1, -1, *([1] * spatial))
    return [_back(op, y.astype(x.dtype, copy=False))]


MEANINGS: dict[type, Callable[[GeOp, Sequence[Any]], list[Any] | None]] = {ConvOp: conv}
"""Op -> its meaning, which may answer None to leave a case to ONNX's evaluator."""
