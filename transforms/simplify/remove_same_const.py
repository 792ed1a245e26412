"""
Equal constants are one.

    %a = ge.constant #ge.weight<@w, 4096> : tensor<64xf32>
    %b = ge.constant #ge.weight<@w, 8192> : tensor<64xf32>        // the same bytes       ->       %a for both

By type and bytes, so -0.0 is not 0.0 and a NaN is itself. Bytes of weights are compared only where types are equal and
samples of both are, piece by piece, so no file is read twice for a constant that has no double. Constants in the
function's own body only: those of branches and fusions belong there. Needs nothing. Leaves no two equal ones.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block
from xdsl.rewriter import Rewriter

from ...dialects.ge.attributes import WeightAttr
from ...dialects.ge.constants import ConstantOp
from ...dialects.ge.data import pieces
from ...dialects.ge.kinds import ops_in
from ..base import GePass
from ..report import count
from ..rewriting import functions, replace_uses

SAMPLES = 16
"""Elements that are looked at first, spread over the whole."""


class RemoveSameConst(GePass):
    name = "remove-same-const"
    ge_name = "RemoveSameConstPass"
    aliases = ("ConstantFuseSamePass",)
    level = 1
    summary = "Merges constants of equal type and bytes"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in functions(op):
            for block in function.body.blocks:
                _merge(block)


def _merge(block: Block) -> None:
    constants = [op for op in ops_in(block) if isinstance(op, ConstantOp)]
    for group in _groups(constants, lambda op: (op.output.type, op.value)):
        _unite(group)
    weights = [op for op in constants if op.parent is not None and isinstance(op.value, WeightAttr)]
    for alike in _groups(weights, lambda op: op.output.type):
        for similar in _groups(alike, _sample):
            for equal in _groups(similar, _digest):
                _unite(equal)


def _groups(ops: list[ConstantOp], key: Callable[[ConstantOp], Hashable]) -> list[list[ConstantOp]]:
    """Those that have a key in common with another one."""
    found: dict[Hashable, list[ConstantOp]] = {}
    for op in ops:
        found.setdefault(key(op), []).append(op)
    return [group for group in found.values() if len(group) > 1]


def _unite(group: list[ConstantOp]) -> None:
    first, *others = group  # in the order of the block: the first one dominates the others' readers
    for op in others:
        replace_uses(op.output, first.output)
        Rewriter.erase_op(op)
        count("constants merged")


def _sample(op: ConstantOp) -> bytes:
    # Not flattened: that would copy a weight that is a transposed view.
    array = op.array()
    return array.flat[:: max(1, array.size // SAMPLES)].tobytes()


def _digest(op: ConstantOp) -> bytes:
    state = hashlib.sha256()
    for piece in pieces(op.array()):
        state.update(piece)
    return state.digest()
