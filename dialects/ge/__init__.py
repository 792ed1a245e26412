"""
The `ge` dialect: whole-tensor operations with the meaning of ONNX's newest operator set.

    model.onnx --frontend--> ge on tensors --ge-bufferize--> ge.launch on memrefs --backend--> code
                             ^^^^^^^^^^^^^
Values are tensors, dims may be free (`?`). Two ways out: `ge-bufferize`, and the export to ONNX.
Files: core.py (what every op has), interfaces.py (what a pass may ask), info.py and dims.py (what is known of a value
before it runs), constants.py, bodies.py, memory.py, opaque.py, control.py, and the ops by family.
"""

from collections.abc import Iterator
from typing import cast

from xdsl.ir import Dialect, Operation

from . import (
    activation,
    arithmetic,
    attention,
    bitwise,
    bodies,
    comparison,
    constants,
    contraction,
    control,
    conversion,
    convolution,
    einsum,
    features,
    gather,
    math,
    memory,
    movement,
    normalization,
    opaque,
    padding,
    picking,
    pooling,
    quantization,
    quantized,
    rearrange,
    recurrent,
    reduction,
    resize,
    sampling,
    selection,
    shape,
    signal,
    slicing,
    smooth,
    softmax,
    state,
    transposed_convolution,
    trigonometry,
    unscaled_normalization,
)
from .attributes import L2TilingAttr, RawAttr, SplatAttr, StringsAttr, WeightAttr
from .core import GeOp
from .declare import OnnxName
from .kernel_tile import KernelTileAttr
from .types import OptionalType, SequenceType, StringType, UnknownType

FAMILIES = (
    activation,
    arithmetic,
    attention,
    bitwise,
    comparison,
    contraction,
    control,
    conversion,
    convolution,
    einsum,
    features,
    gather,
    math,
    movement,
    normalization,
    padding,
    picking,
    pooling,
    quantization,
    quantized,
    rearrange,
    recurrent,
    reduction,
    resize,
    sampling,
    selection,
    shape,
    signal,
    slicing,
    smooth,
    softmax,
    state,
    transposed_convolution,
    trigonometry,
    unscaled_normalization,
)
"""Modules with the ops that stand for ONNX operators."""


def _ops(*modules: object) -> list[type[Operation]]:
    # Not issubclass: for a class that is none, an abstract base asks each of its subclasses.
    classes = (v for m in modules for v in vars(m).values() if isinstance(v, type) and Operation in v.__mro__)
    found = cast("Iterator[type[Operation]]", classes)
    named = (v for v in found if isinstance(v.__dict__.get("name"), str) and v.name.startswith("ge."))
    return list(dict.fromkeys(named))


ONNX_OPS: dict[tuple[str, str], type[GeOp]] = {
    (op.onnx.domain, op.onnx.type): op for op in _ops(*FAMILIES) if issubclass(op, GeOp) and op.onnx.type
}
"""ONNX (domain, operator) -> the op that stands for it."""

SUPERSEDED: dict[tuple[str, str], type[GeOp]] = {
    (op.onnx.domain, older.type): op
    for op in ONNX_OPS.values()
    for older in op.onnx.older.values()
    if older.type != op.onnx.type
}
"""The same for operators that have another name by now."""

Ge = Dialect(
    "ge",
    _ops(*FAMILIES, bodies, constants, memory, opaque),
    [
        KernelTileAttr,
        L2TilingAttr,
        RawAttr,
        SplatAttr,
        StringsAttr,
        WeightAttr,
        OptionalType,
        SequenceType,
        StringType,
        UnknownType,
    ],
)

__all__ = ["FAMILIES", "ONNX_OPS", "SUPERSEDED", "Ge", "GeOp", "OnnxName"]
