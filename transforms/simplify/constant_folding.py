"""
What depends on constants alone is computed now.

    %a = ge.constant dense<[1, 2]> : tensor<2xi64>
    %b = ge.add %a, %a : tensor<2xi64>, tensor<2xi64> -> tensor<2xi64>       ->       %b = ge.constant dense<[2, 4]>

A result may be larger than what it is made of only up to `max-growth` bytes, or up to a part of what all the model's
constants take: a few bytes of ConstantOfShape or Expand stay a few bytes, unless what they stand for is nothing beside
the weights; what is computed anew at each run may be a little more beside them. Needs nothing. Leaves no pure op on
constants, but for those that would grow, that ask not to be folded (they mark what an engine looks for: QDQ), and that
the reference cannot evaluate, each with a remark.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import Rewriter

from ...dialects.ge.attributes import SplatAttr
from ...dialects.ge.constants import ConstantOp, constant
from ...dialects.ge.core import GeOp
from ...dialects.ge.errors import InputError
from ...dialects.ge.interfaces import Movement, View, flops_of, has_bytes, is_pure
from ...dialects.ge.opaque import OpaqueOp
from ...dialects.ge.types import is_element, is_static, is_tensor, nbytes, shape_of
from ..base import GePass
from ..report import count, missed
from ..rewriting import functions, replace_uses, sync_type, walk_outside


@dataclass(frozen=True)
class ConstantFolding(GePass):
    """
    max_growth   bytes by which a result may exceed the constants that go for it
    share        the same as a part of the bytes of all constants; the larger of both holds
    arithmetic   as `share`, for all groups together that do more than move elements: folding saves their time, too
    max_flops    arithmetic that is done at compile time for one op
    """

    name = "constant-folding"
    ge_name = "ConstantFoldingPass"
    level = 1
    summary = "Computes at compile time what depends on constants alone"

    max_growth: int = 16384
    share: float = 0.002
    arithmetic: float = 0.1
    max_flops: int = 2_000_000_000

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        held = _held(op)
        left = int(self.arithmetic * held)
        for group in _groups(inner for inner in walk_outside(op) if _folds(inner)):
            moves = all(isinstance(inner, Movement | View) for inner in group)
            bound = max(self.max_growth, int(self.share * held) if moves else left)
            made, freed = _weigh(group)
            if made <= freed + bound:
                worth = group
                left -= 0 if moves else max(0, made - freed)
            else:
                # Not as a whole; but small results, shapes among them, are worth it by themselves.
                worth = [inner for inner in group if _is_worth(inner, bound)]
            for inner in worth:
                if all(isinstance(v.owner, ConstantOp) for v in inner.operands):
                    self._fold(inner, op)
        for function in functions(op):
            sync_type(function)

    def _fold(self, op: Operation, module: ModuleOp) -> None:
        if isinstance(op, GeOp) and all(has_bytes(r) for r in op.results) and flops_of(op) > self.max_flops:
            return missed(op, f"not folded: {flops_of(op)} operations")
        from ...reference import evaluate  # the oracle and onnx are loaded by those who fold

        try:
            results = evaluate(op, [cast(ConstantOp, v.owner).array() for v in op.operands])
        except InputError as err:
            return missed(op, f"not folded: {err.message}")
        if not all(_fits(value, r.type) for value, r in zip(results, op.results, strict=True)):
            return missed(op, "not folded: the reference gives another type")
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
        return None


def _held(module: ModuleOp) -> int:
    """Bytes that the constants of a module take."""
    return sum(_stored(op) for op in walk_outside(module, ConstantOp))


def _is_worth(op: Operation, bound: int) -> bool:
    made, freed = _weigh([op])
    if made > freed + bound:
        missed(op, f"not folded: {made} bytes would stand for {freed}")
        return False
    return True


def _folds(op: Operation) -> bool:
    """Whether an op on constants could be computed: pure, read by somebody, and not one that engines look for."""
    if not isinstance(op, GeOp | OpaqueOp) or op.regions or not is_pure(op):
        return False
    if all(r.first_use is None for r in op.results):
        return False
    return op.folds() if isinstance(op, GeOp) else op.domain is None


def _groups(ops: Iterable[Operation]) -> list[list[Operation]]:
    """
    What depends on constants alone, in groups that share values: the weights that a group alone reads go with it, so
    whether it grows is a question of the whole.
    """
    folding: dict[Operation, Operation] = {}
    shared: dict[SSAValue, Operation] = {}

    def find(op: Operation) -> Operation:
        while folding[op] is not op:
            folding[op] = folding[folding[op]]
            op = folding[op]
        return op

    for op in ops:
        if all(isinstance(v.owner, ConstantOp) or v.owner in folding for v in op.operands):
            folding[op] = op
            for value in op.operands:
                other = shared.setdefault(value, op)
                folding[find(op)] = find(other)
                if isinstance(value.owner, Operation) and value.owner in folding:
                    folding[find(op)] = find(value.owner)
    groups: dict[Operation, list[Operation]] = {}
    for op in folding:
        groups.setdefault(find(op), []).append(op)
    return list(groups.values())


def _weigh(group: Sequence[Operation]) -> tuple[int, int]:
    """Bytes that stay after a group is folded, and bytes of constants that nobody else reads."""
    inside = set(group)
    made = freed = 0
    sources: dict[SSAValue, None] = {}
    for op in group:
        sources.update((v, None) for v in op.operands if isinstance(v.owner, ConstantOp))
        made += sum(_size(r.type) for r in op.results if any(u.operation not in inside for u in r.uses))
        if not all(is_static(r.type) for r in op.results if is_tensor(r.type)):
            made += sum(_size(v.type) for v in op.operands)  # not known: about what goes in
    for value in sources:
        if all(use.operation in inside for use in value.uses):
            freed += _stored(cast(ConstantOp, value.owner))
    return made, freed


def _size(type_: Attribute) -> int:
    if not is_tensor(type_) or not is_static(type_):
        return 0
    try:
        return nbytes(type_)
    except KeyError:  # strings
        return 16 * math.prod(shape_of(type_))


def _stored(op: ConstantOp) -> int:
    """Bytes that a constant takes: one element where it is a splat."""
    size = _size(op.output.type)
    return min(size, 16) if isinstance(op.value, SplatAttr) else size


def _fits(value: Any, type_: Attribute) -> bool:
    if value is None or isinstance(value, list | tuple) or not is_tensor(type_) or not is_element(type_.element_type):
        return False
    shape, found = shape_of(type_), np.shape(value)
    return len(shape) == len(found) and all(s < 0 or s == d for s, d in zip(shape, found, strict=True))
