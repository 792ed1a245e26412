"""
A recurrent op that starts from zeros starts from nothing: zeros are what it takes then.

    %h = ge.constant_of_shape [1, N, 256] value 0.0
    %y = ge.opaque "GRU" (%x, %w, %r, %b, none, %h)       ->       %y = ge.opaque "GRU" (%x, %w, %r, %b)

The zeros may come through slices and the like (repeated.py). Needs nothing. Leaves no LSTM, GRU or RNN that is handed
zeros as its initial state.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.rewriter import Rewriter

from ...dialects.ge.opaque import OpaqueOp
from ..base import GePass
from ..report import count
from ..rewriting import functions, walk_outside
from .repeated import repeated

STATES = {"RNN": (5,), "GRU": (5,), "LSTM": (5, 6)}
"""Which inputs are initial states."""


@dataclass(frozen=True)
class InitialStateRemove(GePass):
    name = "initial-state-remove"
    ge_name = "InitialStateRemovePass"
    level = 1
    summary = "Drops initial states of recurrent ops that are zeros"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in functions(op):
            for inner in walk_outside(function):
                if isinstance(inner, OpaqueOp) and inner.domain is None and inner.op_type.data in STATES:
                    _drop(inner)


def _drop(op: OpaqueOp) -> None:
    inputs = op.by_slot()
    zeros = [k for k in STATES[op.op_type.data] if k < len(inputs) and _is_zero(inputs[k])]
    if not zeros:
        return
    left = [None if k in zeros else v for k, v in enumerate(inputs)]
    while left and left[-1] is None:
        left.pop()
    new = OpaqueOp(
        op.op_type.data,
        op.version.value.data,
        left,
        [None if r is None else r.type for r in op.results_by_slot()],
        attrs=dict(op.attrs.data) if op.attrs is not None else None,
        pure=op.pure is not None,
    )
    new.attributes.update(op.attributes)
    Rewriter.replace_op(op, new)
    count("initial states dropped", len(zeros))


def _is_zero(value: SSAValue | None) -> bool:
    element = None if value is None else repeated(value)
    return element is not None and not any(element.tobytes())  # not -0.0, which is another zero
