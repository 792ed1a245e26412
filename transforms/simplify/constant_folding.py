"""
What depends on constants alone is computed now.

    %a = ge.constant dense<[1, 2]> : tensor<2xi64>
    %b = ge.add %a, %a : tensor<2xi64>, tensor<2xi64> -> tensor<2xi64>       ->       %b = ge.constant dense<[2, 4]>

A result may be larger than what it is made of only up to `max-growth` bytes: a few bytes of ConstantOfShape or Expand
stay a few bytes. Needs nothing. Leaves no pure op on constants, but for those that would grow, that ask not to be
folded (they mark what an engine looks for: QDQ), and that the reference cannot evaluate, each with a remark.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Operation
from xdsl.rewriter import Rewriter

from ...dialects.ge.attributes import SplatAttr
from ...dialects.ge.constants import ConstantOp, constant
from ...dialects.ge.core import GeOp
from ...dialects.ge.errors import InputError
from ...dialects.ge.interfaces import flops_of, is_pure
from ...dialects.ge.opaque import OpaqueOp
from ...dialects.ge.types import is_element, is_static, nbytes, shape_of
from ..base import GePass
from ..report import count, missed
from ..rewriting import replace_uses, walk_outside


@dataclass(frozen=True)
class ConstantFolding(GePass):
    """
    max_growth   bytes by which a result may exceed the constants that go for it
    max_flops    arithmetic that is done at compile time for one op
    """

    name = "constant-folding"
    ge_name = "ConstantFoldingPass"
    level = 1
    summary = "Computes at compile time what depends on constants alone"

    max_growth: int = 16384
    max_flops: int = 2_000_000_000

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for inner in list(walk_outside(op)):
            if self._may_fold(inner):
                self._fold(inner, op)

    def _may_fold(self, op: Operation) -> bool:
        if not isinstance(op, GeOp | OpaqueOp) or op.regions or not op.results or not is_pure(op):
            return False
        if not all(isinstance(v.owner, ConstantOp) for v in op.operands):
            return False
        if isinstance(op, OpaqueOp) and op.domain is not None:
            return False
        if isinstance(op, GeOp) and not op.folds():
            return False
        constants = [cast(ConstantOp, v.owner) for v in dict.fromkeys(op.operands)]
        freed = sum(_stored(c) for c in constants if all(u.operation is op for u in c.output.uses))
        if all(is_static(r.type) for r in op.results if isinstance(r.type, TensorType)):
            made = sum(_size(r.type) for r in op.results if r.first_use is not None)
            if made > freed + self.max_growth:
                missed(op, f"not folded: {made} bytes would stand for {freed}")
                return False
            if isinstance(op, GeOp) and flops_of(op) > self.max_flops:
                missed(op, f"not folded: {flops_of(op)} operations")
                return False
        elif sum(_size(c.output.type) for c in constants) > self.max_growth:
            missed(op, "not folded: the size of the result is not known")
            return False
        return True

    def _fold(self, op: Operation, module: ModuleOp) -> None:
        from ...reference import evaluate  # the oracle and onnx are loaded by those who fold

        try:
            results = evaluate(op, [cast(ConstantOp, v.owner).array() for v in op.operands])
        except InputError as err:
            missed(op, f"not folded: {err.message}")
            return
        if not all(_fits(value, r.type) for value, r in zip(results, op.results, strict=True)):
            missed(op, "not folded: the reference gives another type")
            return
        block = op.parent_block()
        assert block is not None
        for value, result in zip(results, op.results, strict=True):
            if result.first_use is None:
                continue
            known = constant(np.asarray(value), module)
            block.insert_op_before(known, op)
            replace_uses(result, known.output)
        sources = [cast(ConstantOp, v.owner) for v in dict.fromkeys(op.operands)]
        Rewriter.erase_op(op)
        for source in sources:
            if source.output.first_use is None:
                Rewriter.erase_op(source)
        count("ops folded")


def _size(type_: Any) -> int:
    if not isinstance(type_, TensorType) or not is_static(type_):
        return 0
    try:
        return nbytes(type_)
    except KeyError:  # strings
        return 16 * math.prod(shape_of(type_))


def _stored(op: ConstantOp) -> int:
    """Bytes that a constant takes: one element where it is a splat."""
    size = _size(op.output.type)
    return min(size, 16) if isinstance(op.value, SplatAttr) else size


def _fits(value: Any, type_: Any) -> bool:
    if value is None or isinstance(value, list | tuple) or not isinstance(type_, TensorType):
        return False
    if not is_element(cast("TensorType[Any]", type_).element_type):
        return False
    shape: Sequence[int] = shape_of(type_)
    found = np.shape(value)
    return len(shape) == len(found) and all(s < 0 or s == d for s, d in zip(shape, found, strict=True))
