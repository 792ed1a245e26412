"""
What ops are by nature, where a float type with few bits is concerned: asked of their interfaces, and of one table.
"""

from __future__ import annotations

import math

from xdsl.dialects.builtin import i1, i32, i64
from xdsl.ir import Operation, SSAValue

from ...dialects.ge import math as functions
from ...dialects.ge import reduction, selection, smooth, softmax, trigonometry
from ...dialects.ge.arithmetic import PowOp
from ...dialects.ge.constants import ConstantOp
from ...dialects.ge.conversion import CastOp
from ...dialects.ge.gather import ScatterElementsOp, ScatterNDOp
from ...dialects.ge.interfaces import Movement, Reduction, View
from ...dialects.ge.normalization import BatchNormalizationOp, Normalization
from ...dialects.ge.pooling import GlobalMaxPoolOp
from ...dialects.ge.quantization import DynamicQuantizeLinearOp, Scaled
from ...dialects.ge.quantized import QuantizedProduct
from ...dialects.ge.shape import RangeOp
from ...dialects.ge.types import shape_of
from ...dialects.ge.unscaled_normalization import MeanVarianceNormalizationOp
from ..operands import element_type, has_floats

LOSES = (
    PowOp,
    functions.ExpOp,
    functions.LogOp,
    functions.ReciprocalOp,
    functions.SqrtOp,
    smooth.SoftplusOp,
    trigonometry.SinOp,
    trigonometry.CosOp,
    trigonometry.TanOp,
    trigonometry.AsinOp,
    trigonometry.AcosOp,
    trigonometry.SinhOp,
    trigonometry.CoshOp,
)
"""
Functions that leave the range of f16 on everyday arguments, or whose error grows with their argument. With the sums of
`loses` it is the list that PyTorch's autocast runs in f32 (docs.pytorch.org/docs/stable/amp.html), and sqrt, which
stands beside a mean of squares here.
"""

EXACT = (
    BatchNormalizationOp,
    softmax.HardmaxOp,
    reduction.ReduceMaxOp,
    reduction.ReduceMinOp,
    selection.ArgExtreme,
    GlobalMaxPoolOp,
)
"""Reductions and normalisations that add nothing up."""

PHASES = (trigonometry.SinOp, trigonometry.CosOp, trigonometry.TanOp)

FEW = 4096
"""Elements of a constant up to which arithmetic with it is still arithmetic of positions, not of data."""


def loses(op: Operation) -> bool:
    """Whether an op overflows or loses digits in f16 by nature: sums of many elements, and what LOSES lists."""
    return isinstance(op, LOSES) or (isinstance(op, Reduction | Normalization) and not isinstance(op, EXACT))


def lacks_kernels(op: Operation) -> bool:
    """
    Whether ONNX has an op in f16 and engines do not: ONNX Runtime refuses to run a scatter that adds up, and to expand
    a MeanVarianceNormalization.
    """
    if isinstance(op, ScatterElementsOp | ScatterNDOp):
        return op.reduction != "none"
    return isinstance(op, MeanVarianceNormalizationOp)


def moves(op: Operation) -> bool:
    """Whether an op hands elements on as they are, so that it has the type of what it is given."""
    return isinstance(op, Movement | View)


def quantises(op: Operation) -> bool:
    """Whether an op is written for integers with scales, whose rounding must stay."""
    return isinstance(op, Scaled | DynamicQuantizeLinearOp | QuantizedProduct) or op.name in (
        "ge.conv_integer",
        "ge.qlinear_conv",
    )


def counts(op: Operation, known: set[SSAValue]) -> bool:
    """
    Whether the floats that an op makes are arithmetic of integers and of few constants alone (sizes, positions, masks),
    given of which values it is known.
    """
    if isinstance(op, CastOp) and element_type(op.input) in (i1, i32, i64):  # bytes are pictures
        return True
    if isinstance(op, RangeOp):
        return True
    floats = [v for v in op.operands if has_floats(v)]
    given = [v for v in floats if not isinstance(v.owner, ConstantOp)]
    few = all(math.prod(shape_of(v.type)) <= FEW for v in floats if isinstance(v.owner, ConstantOp))
    return bool(given) and few and known.issuperset(given)
