"""
Shapes as constants that are right for every size, and one op put where another was: what the passes on views share.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import Rewriter

from ...dialects.ge.constants import ConstantOp, constant
from ...dialects.ge.data import find_module
from ...dialects.ge.dims import Dim, is_size
from ...dialects.ge.types import is_tensor
from ..rewriting import replace_uses
from .analysis import Dims

END = 2**63 - 1
"""A bound of a slice that every size is less than."""


def reshape_spec(source: Sequence[Dim], target: Sequence[Dim], wanted: Sequence[Dim] | None = None) -> list[int] | None:
    """
    The numbers with which a Reshape makes `target` of `source` whatever the sizes of free dims are, 0 included; None
    where there are none.

    A 0 copies a dim that stands at the same place. A -1 is what the others leave, which nobody can tell where another
    dim is 0: so the others must be positive, unless `wanted`, what a Reshape to the same dims was given, has its -1
    there (then that one already refuses such sizes).
    """
    spec: list[int] = []
    for k, dim in enumerate(target):
        if k < len(source) and source[k] == dim:
            spec.append(0)
        elif isinstance(dim, int):
            spec.append(dim)
        else:
            spec.append(-1)
    if any(s == 0 and not (k < len(source) and source[k] == target[k]) for k, s in enumerate(spec)):
        return None  # a 0 that is no copy
    if spec.count(-1) > 1:
        return None
    if -1 in spec and not (wanted is not None and wanted[spec.index(-1)] == -1):
        others = [target[k] for k, s in enumerate(spec) if s != -1]
        if not all(is_size(d - 1) for d in others):
            return None
    return spec


def vector(numbers: Sequence[int], like: Operation) -> ConstantOp:
    """A constant vector of i64, for the module that `like` is in."""
    module = find_module(like)
    assert module is not None
    return constant(np.array(numbers, np.int64).reshape(len(numbers)), module)


def put(dims: Dims, op: Operation, made: Sequence[Operation], value: SSAValue) -> None:
    """Puts `made` before `op` (of one result), lets `value` stand for its result under its names, and erases it."""
    block = op.parent_block()
    assert block is not None
    for new in made:
        block.insert_op_before(new, op)
        dims.note(new)
    replace_uses(op.results[0], value)
    Rewriter.erase_op(op)


def same_dims(dims: Dims, a: SSAValue, b: SSAValue) -> bool:
    """Whether two tensors surely have one type and the same dims."""
    return is_tensor(a.type) and a.type == b.type and dims(a).dims == dims(b).dims
