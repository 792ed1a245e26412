"""
Shape arithmetic whose outcome is known becomes constants, also where other dims are free.

    %s = ge.shape %x : tensor<?x3x8xf32> -> tensor<3xi64>
    %d = ge.gather %s, %two : tensor<3xi64>, tensor<i64> -> tensor<i64>       ->       %d = ge.constant dense<8>

Needs nothing. Leaves no pure op whose integer result shape arithmetic knows.
"""

from __future__ import annotations

from typing import cast

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import SSAValue

from ...dialects.ge.constants import constant
from ...dialects.ge.core import GeOp
from ...dialects.ge.info import Info
from ...dialects.ge.interfaces import is_pure
from ...dialects.ge.kinds import walk
from ...dialects.ge.types import element_of, is_integer
from ..base import GePass
from ..report import count
from ..rewriting import functions, replace_uses, sync_type
from .analysis import Dims


class DimensionCompute(GePass):
    name = "dimension-compute"
    ge_name = "DimensionComputePass"
    level = 1
    summary = "Replaces shape arithmetic whose outcome is known by constants"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in functions(op):
            dims = Dims(function)
            for inner in list(walk(function)):
                if isinstance(inner, GeOp) and is_pure(inner):
                    for result in inner.results:
                        if result.first_use is not None and (numbers := _numbers(dims, result)) is not None:
                            block = inner.parent_block()
                            assert block is not None
                            known = constant(numbers, op)
                            block.insert_op_before(known, inner)
                            replace_uses(result, known.output)
                            count("values known from shapes")
            sync_type(function)


def _numbers(dims: Dims, value: SSAValue) -> np.ndarray | None:
    type_ = value.type
    if not isinstance(type_, TensorType) or not is_integer(element := cast(TensorType, type_).element_type):
        return None
    info: Info = dims(value)
    if not info.static or info.numbers is None or info.data is None:
        return None
    return np.array(info.numbers, element_of(element).dtype).reshape(cast("tuple[int, ...]", info.dims))
