"""
Equal pure ops on equal operands are one.

    %a = ge.exp %x : tensor<4xf32> -> tensor<4xf32> onnx "Exp_1" ["a"]
    %b = ge.exp %x : tensor<4xf32> -> tensor<4xf32> onnx "Exp_2" ["b"]       ->       every reader of %b reads %a

Value numbering over all pure ops, whatever they are called in ONNX; a + b is b + a. Branches see what is merged around
them. Needs nothing. Leaves no two equal pure ops of which one dominates the other.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Hashable, MutableMapping

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation
from xdsl.rewriter import Rewriter
from xdsl.traits import Commutative

from ...dialects.ge.interfaces import is_pure
from ...dialects.ge.kinds import ops_in
from ..base import NAMES, GePass
from ..report import count
from ..rewriting import functions, is_isolated

Seen = MutableMapping[Hashable, Operation]


class CommonSubexpressionElimination(GePass):
    name = "common-subexpression-elimination"
    ge_name = "CommonSubexpressionEliminationPass"
    level = 1
    summary = "Merges equal computations"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in functions(op):
            for block in function.body.blocks:
                _merge(block, {})


def _merge(block: Block, seen: Seen) -> None:
    for op in ops_in(block):
        for region in op.regions:
            for inner in region.blocks:
                _merge(inner, {} if is_isolated(op) else ChainMap({}, *_maps(seen)))
        if not op.results or not is_pure(op):
            continue
        key = _key(op)
        if key is None:
            continue
        first = seen.setdefault(key, op)
        if first is not op:
            for old, new in zip(op.results, first.results, strict=True):
                old.replace_all_uses_with(new)
            Rewriter.erase_op(op)
            count("ops merged")


def _maps(seen: Seen) -> list[Seen]:
    return list(seen.maps) if isinstance(seen, ChainMap) else [seen]


def _key(op: Operation) -> Hashable | None:
    """Equal for ops that compute the same; names say where an op came from, not what it does."""
    if op.regions:
        return None  # two bodies would have to be compared: what is in them is merged, they are not
    attributes = frozenset((k, a) for k, a in op.attributes.items() if k not in NAMES)
    types = tuple(r.type for r in op.results)
    operands: Hashable = tuple(op.operands)
    if op.has_trait(Commutative):
        operands = frozenset(op.operands)  # of two: {a} is a and a
    return type(op), op.name, operands, frozenset(op.properties.items()), attributes, types
