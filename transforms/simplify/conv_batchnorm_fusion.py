"""
A batch normalisation after a convolution is in the convolution's weights.

    %a = ge.conv %x, %w
    %b = ge.batch_normalization %a, %scale, %bias, %mean, %var       ->       %b = ge.conv %x, %w', %b'

    s = scale / sqrt(var + epsilon);  w'[o] = w[o] * s[o];  b'[o] = (b[o] - mean[o]) * s[o] + bias[o]

Also after ConvTranspose and Gemm. Arithmetic is regrouped: results differ by rounding (the weights are computed in
f64). Needs the weights and all four parameters to be constants, and nobody else to read the convolution. Leaves no such
pair.
"""

from __future__ import annotations

from typing import cast

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from ...dialects.ge.contraction import GemmOp
from ...dialects.ge.convolution import ConvOp
from ...dialects.ge.data import Array
from ...dialects.ge.names import OUTPUTS
from ...dialects.ge.normalization import BatchNormalizationOp
from ...dialects.ge.transposed_convolution import ConvTransposeOp
from ..base import GePass
from ..operands import array_in
from ..report import count, missed
from ..rewriting import apply_rules
from .linear import linear_of, rescaled


def into_weights(op: BatchNormalizationOp) -> Operation | None:
    before = op.x.owner
    if not isinstance(before, ConvOp | ConvTransposeOp | GemmOp):
        return None
    if not op.x.has_one_use():
        return missed(op, "not folded into the convolution: something else reads what it normalises")
    linear = linear_of(before)
    parameters = [array_in(v) for v in (op.scale, op.b, op.mean, op.var)]
    if linear is None or any(p is None for p in parameters):
        return missed(op, "not folded into the convolution: its weights or parameters are no constants")
    if linear.axis != 1:
        return missed(op, "not folded into the convolution: it has its channels last")

    scale, bias, mean, var = (cast(Array, p).astype(np.float64) for p in parameters)
    deviation = var + op.epsilon
    if not (deviation > 0).all():
        return missed(op, "not folded into the convolution: a variance is not positive")
    factor = scale / np.sqrt(deviation)
    fused = rescaled(linear, factor, bias - mean * factor, replaced=op)
    if fused is None:
        return missed(op, "not folded into the convolution: a weight would leave the range of its type")
    if OUTPUTS in op.attributes:
        fused.attributes[OUTPUTS] = op.attributes[OUTPUTS]
    fused.results[0]._type = op.y.type  # pyright: ignore[reportPrivateUsage]
    count("batch normalisations folded")
    return fused


class ConvBatchnormFusion(GePass):
    name = "conv-batchnorm-fusion"
    ge_name = "ConvBatchnormFusionPass"
    level = 1
    summary = "Folds a batch normalisation into the weights of the convolution before it"
    regroups = True

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        apply_rules(op, {BatchNormalizationOp: (into_weights,)})
