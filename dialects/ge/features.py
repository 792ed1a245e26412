"""
Features of classic models (ONNX's domain ai.onnx.ml): what prepares the columns of a table, and names of classes.

Models of trees, vectors and maps stay with ge.opaque: their content is attributes that no pass looks into.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
from xdsl.dialects.builtin import f32, i64
from xdsl.ir import Attribute, SSAValue

from .arithmetic import MulOp, SubOp
from .composed import Maker
from .core import PureOp, ge_op
from .declare import OnnxName, operand, opt_integer, opt_ints, opt_real, opt_reals, opt_tensor, opt_texts, real, result
from .declare import text as text_attribute
from .elementwise import Unary
from .errors import fail
from .gather import GatherOp
from .info import Info, same_dim
from .interfaces import Composed
from .types import StringType, is_float, is_integer, shape_of

FEATURES = "ai.onnx.ml"


def check_numbers(op: PureOp, x: Info, code: str) -> None:
    if not is_float(x.element) and not is_integer(x.element):
        fail(op, f"x must have numbers, got {x.type} ({code})")


@ge_op
class BinarizerOp(Unary):
    """
    1 where x > threshold, else 0.

    C1  x has numbers

        %y = ge.binarizer %x threshold 0.5 : tensor<?x4xf32> -> tensor<?x4xf32>

    Source: ai.onnx.ml Binarizer-1.
    """

    name = "ge.binarizer"
    onnx = OnnxName("Binarizer", domain=FEATURES)
    threshold = real(0.0)

    def check(self, x: Info) -> None:
        check_numbers(self, x, "C1")

    def scalar(self, m: Any, *x: Any) -> Any:
        return m.where(x[0] > self.threshold, 1, 0)


@ge_op
class ScalerOp(PureOp, Composed):
    """
    (x - offset) * scale in f32, each one number or one a column, which is the last axis.

    C1  x has numbers and an axis
    C2  offset and scale are one number or as many as x has columns

        %y = ge.scaler %x offset [0.5] scale [2.0] : tensor<?x4xf32> -> tensor<?x4xf32>

    Source: ai.onnx.ml Scaler-1.
    """

    name = "ge.scaler"
    onnx = OnnxName("Scaler", domain=FEATURES)
    x = operand()
    offset = opt_reals()
    scale = opt_reals()
    y = result()

    def infer(self, *operands: Any) -> Info:
        x: Info = operands[0]
        check_numbers(self, x, "C1")
        for what, values in (("offset", self.offset), ("scale", self.scale)):
            if not x.rank or not values or (len(values) != 1 and not same_dim(len(values), x.dims[-1])):
                fail(self, f"{what} must be one number or one a column of {x.type}, got {values} (C2)")
        return Info(f32, x.dims)

    def expansion(self, make: Maker, *operands: Any) -> SSAValue:
        offset, scale = (make.constant(np.array(v, np.float32)) for v in (self.offset or (), self.scale or ()))
        return make(MulOp, make(SubOp, make.cast(operands[0], f32), offset), scale)


@ge_op
class ArrayFeatureExtractorOp(PureOp, Composed):
    """
    The elements of the last axis at `indices`; of a vector one row of them.

    C1  x has an axis, indices are of i64

        %y = ge.array_feature_extractor %x, %i : tensor<?x4xf32>, tensor<2xi64> -> tensor<?x2xf32>

    Source: ai.onnx.ml ArrayFeatureExtractor-1.
    """

    name = "ge.array_feature_extractor"
    onnx = OnnxName("ArrayFeatureExtractor", domain=FEATURES)
    x = operand()
    indices = operand()
    y = result()

    def infer(self, *operands: Any) -> Info:
        x, indices = operands
        if not x.rank or indices.element != i64:
            fail(self, f"x must have an axis and indices be of i64, got {x.type} and {indices.type} (C1)")
        return x.like([*(x.dims[:-1] or (1,)), indices.count])

    def expansion(self, make: Maker, *operands: Any) -> SSAValue:
        x, indices = operands
        picked = make(GatherOp, x, make.reshape(indices, -1), axis=-1)
        return picked if len(shape_of(x.type)) > 1 else make.reshape(picked, 1, -1)


@ge_op
class LabelEncoderOp(PureOp):
    """
    For each element the value that stands where it stands among the keys, or the default.

    C1  keys are given once, and so are values, as many
    C2  x has the keys' element type

        %y = ge.label_encoder %x keys_strings ["a", "b"] values_int64s [0, 1]
               : tensor<?x!ge.string> -> tensor<?xi64>

    Source: ai.onnx.ml LabelEncoder-4.
    """

    name = "ge.label_encoder"
    onnx = OnnxName("LabelEncoder", since=2, domain=FEATURES)
    KINDS: ClassVar[tuple[tuple[str, Attribute], ...]] = (("int64s", i64), ("floats", f32), ("strings", StringType()))
    x = operand()
    default_float = opt_real()
    default_int64 = opt_integer()
    default_string = text_attribute("_Unused")
    default_tensor = opt_tensor()
    keys_floats = opt_reals()
    keys_int64s = opt_ints()
    keys_strings = opt_texts()
    keys_tensor = opt_tensor()
    values_floats = opt_reals()
    values_int64s = opt_ints()
    values_strings = opt_texts()
    values_tensor = opt_tensor()
    y = result()

    def _given(self, what: str) -> tuple[Attribute, int]:
        """Element type and number of the keys, or the values. Checks C1."""
        found: list[tuple[Attribute, int]] = []
        for kind, element in self.KINDS:
            values = getattr(self, f"{what}_{kind}")
            if values is not None:
                found.append((element, len(values)))
        tensor: Any = getattr(self, f"{what}_tensor")
        if tensor is not None:
            found.append((tensor[1].element_type, math.prod(shape_of(tensor[1]))))
        if len(found) != 1:
            fail(self, f"{what} must be given once, got {len(found)} (C1)")
        return found[0]

    def infer(self, *operands: Any) -> Info:
        x: Info = operands[0]
        (keys, count), (values, many) = self._given("keys"), self._given("values")
        if count != many:
            fail(self, f"there must be as many values as keys, {count}, got {many} (C1)")
        if x.element != keys:
            fail(self, f"x must have {keys}, as the keys, got {x.type} (C2)")
        return Info(values, x.dims)
