"""
Tensors of one element repeated, seen through what only moves elements: nothing of that size is written out to know it.

    slice(constant_of_shape(%s, 0.0))       is 0.0 throughout, whatever %s is
"""

from __future__ import annotations

import math

import numpy as np
from xdsl.ir import SSAValue

from ...dialects.ge.attributes import SplatAttr
from ...dialects.ge.constants import ConstantOp
from ...dialects.ge.core import GeOp
from ...dialects.ge.data import Array
from ...dialects.ge.gather import GatherOp
from ...dialects.ge.interfaces import View
from ...dialects.ge.movement import TransposeOp
from ...dialects.ge.shape import ConstantOfShapeOp
from ...dialects.ge.slicing import ConcatOp, ExpandOp, SliceOp, SplitOp, TileOp
from ...dialects.ge.types import shape_of

FAR = 16
"""Ops that are looked through."""


def repeated(value: SSAValue, far: int = FAR) -> Array | None:
    """The element that a tensor has throughout, as a scalar; None where it is not known to have one."""
    op = value.owner
    if far == 0:
        return None
    match op:
        case ConstantOp():
            is_one = math.prod(shape_of(op.output.type)) == 1
            return np.asarray(op.array().flat[0]) if is_one or isinstance(op.value, SplatAttr) else None
        case ConstantOfShapeOp():
            return op.fill()[1]
        case ConcatOp():
            parts = [repeated(v, far - 1) for v in op.inputs]
            first = parts[0]
            if first is None or any(p is None or p.tobytes() != first.tobytes() for p in parts):
                return None
            return first
        case GatherOp() | TransposeOp() | SliceOp() | ExpandOp() | TileOp() | SplitOp():
            return repeated(op.operands[0], far - 1)
        case GeOp() if isinstance(op, View):
            return repeated(op.operands[op.view_of()], far - 1)
        case _:
            return None
