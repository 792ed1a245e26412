"""Operators as rules name them: ONNX's types, and GE's beside them."""

from __future__ import annotations

from xdsl.ir import Operation

from ...dialects.ge import ONNX_OPS, GeOp
from ...dialects.ge.errors import did_you_mean as did_you_mean
from ...dialects.ge.opaque import OpaqueOp

GE_NAMES = {
    "AvgPool": "AveragePool",
    "AvgPoolV2": "AveragePool",
    "BNInfer": "BatchNormalization",
    "BatchMatMul": "MatMul",
    "BatchMatMulV2": "MatMul",
    "BatchNorm": "BatchNormalization",
    "BiasAdd": "Add",
    "ClipByValue": "Clip",
    "ConcatD": "Concat",
    "ConcatV2": "Concat",
    "Conv2D": "Conv",
    "Conv3D": "Conv",
    "Embedding": "Gather",
    "GatherV2": "Gather",
    "GroupNorm": "GroupNormalization",
    "InstanceNorm": "InstanceNormalization",
    "LayerNorm": "LayerNormalization",
    "LayerNormV3": "LayerNormalization",
    "LogSoftmaxV2": "LogSoftmax",
    "MatMulV2": "MatMul",
    "MaxPoolV3": "MaxPool",
    "PadV2": "Pad",
    "PadV3": "Pad",
    "Permute": "Transpose",
    "ReLU": "Relu",
    "RealDiv": "Div",
    "RmsNorm": "RMSNormalization",
    "RMSNorm": "RMSNormalization",
    "Select": "Where",
    "SoftmaxV2": "Softmax",
    "StridedSlice": "Slice",
    "StridedSliceV2": "Slice",
    "TransposeD": "Transpose",
}
"""GE's name -> ONNX's, where they differ."""


def type_of(op: Operation) -> str:
    """ONNX's type of an op, behind `domain::` where that is not ONNX's own; "" for one that stands for no node."""
    if isinstance(op, GeOp):
        return _written(op.onnx.domain, op.onnx.type)
    if isinstance(op, OpaqueOp):
        return _written(op.domain.data if op.domain is not None else "", op.op_type.data)
    return ""


def _written(domain: str, kind: str) -> str:
    return f"{domain}::{kind}" if domain not in ("", "ai.onnx") else kind


def resolve(name: str) -> str:
    """
    The type that a rule's `name` means: ONNX's, GE's, the dialect's (`ge.softmax`), or `domain::Type` for an operator
    of another domain.

    raises     ValueError, with the nearest name
    """
    kind = name.removeprefix("ai.onnx::")
    kind = GE_NAMES.get(kind, kind)
    ours = {op.name: op.onnx.type for op in ONNX_OPS.values()} if kind.startswith("ge.") else {}
    kind = ours.get(kind, kind)
    if ("", kind) in ONNX_OPS or ("::" in kind and all(kind.split("::", 1))):
        return kind
    import onnx.defs

    if not onnx.defs.has(kind):
        known = {*ours} or {*GE_NAMES, *(schema.name for schema in onnx.defs.get_all_schemas())}
        near = did_you_mean(name, known) or "; an operator of another domain is written domain::Type"
        raise ValueError(f"no operator '{name}'{near}")
    return kind
