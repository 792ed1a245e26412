"""
A batch normalisation after a convolution is in the convolution's weights.

    %a = ge.conv %x, %w
    %b = ge.batch_normalization %a, %scale, %bias, %mean, %var       ->       %b = ge.conv %x, %w', %b'

    s = scale / sqrt(var + epsilon);  w'[o] = w[o] * s[o];  b'[o] = (b[o] - mean[o]) * s[o] + bias[o]

Arithmetic is regrouped: results differ by rounding (the weights are computed in f64). Needs the weights and all four
parameters to be constants, and nobody else to read the convolution. Leaves no such pair.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from ...dialects.ge.constants import ConstantOp, constant
from ...dialects.ge.convolution import ConvOp
from ...dialects.ge.data import Array
from ...dialects.ge.normalization import BatchNormalizationOp
from ...dialects.ge.types import is_float
from ..base import NAMES, GePass
from ..report import count, missed
from ..rewriting import apply_patterns


@dataclass(eq=False)
class FoldIntoWeights(RewritePattern):
    module: ModuleOp

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: BatchNormalizationOp, rewriter: PatternRewriter, /) -> None:
        conv = op.x.owner
        if not isinstance(conv, ConvOp):
            return None
        if not conv.y.has_one_use():
            return missed(op, "not folded into the convolution: something else reads what it normalises")
        if conv.data_format != "NCHW":
            return missed(op, "not folded into the convolution: it has its channels last")
        parameters = [op.scale, op.b, op.mean, op.var]
        sources = [conv.w, *([conv.b] if conv.b is not None else []), *parameters]
        if not all(isinstance(v.owner, ConstantOp) for v in sources):
            return missed(op, "not folded into the convolution: its weights or parameters are no constants")
        if not is_float(cast(Any, conv.w.type).element_type):
            return None

        scale, bias, mean, var = (_wide(v) for v in parameters)
        deviation = var + op.epsilon
        if not (deviation > 0).all():
            return missed(op, "not folded into the convolution: a variance is not positive")
        factor = scale / np.sqrt(deviation)
        weight = cast(ConstantOp, conv.w.owner)
        old = weight.array()
        per_channel = (-1, *([1] * (old.ndim - 1)))
        new_weight = (old.astype(np.float64) * factor.reshape(per_channel)).astype(old.dtype)
        start = _wide(conv.b) if conv.b is not None else 0.0
        new_bias = ((start - mean) * factor + bias).astype(old.dtype)
        if not (np.isfinite(new_weight).all() and np.isfinite(new_bias).all()):
            return missed(op, "not folded into the convolution: a weight would leave the range of its type")

        constants = [constant(new_weight, self.module), constant(new_bias, self.module)]
        if weight.output.has_one_use():
            constants[0].attributes.update({n: weight.attributes[n] for n in NAMES if n in weight.attributes})
        if conv.b is not None and conv.b.has_one_use():
            names = cast(ConstantOp, conv.b.owner).attributes
            constants[1].attributes.update({n: names[n] for n in NAMES if n in names})
        fused = conv.rebuilt([conv.x, *(c.output for c in constants)])
        if "onnx.outputs" in op.attributes:
            fused.attributes["onnx.outputs"] = op.attributes["onnx.outputs"]
        fused.results[0]._type = op.results[0].type  # pyright: ignore[reportPrivateUsage]
        rewriter.insert(constants)
        rewriter.replace(op, fused)
        rewriter.erase(conv)
        count("batch normalisations folded")
        return None


def _wide(value: Any) -> Array:
    return cast(ConstantOp, value.owner).array().astype(np.float64)


@dataclass(frozen=True)
class ConvBatchnormFusion(GePass):
    name = "conv-batchnorm-fusion"
    ge_name = "ConvBatchnormFusionPass"
    level = 1
    summary = "Folds a batch normalisation into the weights of the convolution before it"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        apply_patterns(op, [FoldIntoWeights(op)])
