"""
A recurrent op that starts from zeros starts from nothing: zeros are what it takes then.

    %h = ge.constant_of_shape [1, N, 256] value 0.0
    %y = ge.gru %x, %w, %r, %b, none, %h       ->       %y = ge.gru %x, %w, %r, %b

The zeros may come through slices and the like (repeated.py). Needs nothing. Leaves no LSTM, GRU or RNN that is handed
zeros as its initial state.
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.rewriter import Rewriter

from ...dialects.ge.core import GeOp
from ..base import GePass
from ..report import count
from ..rewriting import functions, walk_outside
from .repeated import repeated

STATES = ("initial_h", "initial_c")
"""Operands that are initial states."""


class InitialStateRemove(GePass):
    name = "initial-state-remove"
    ge_name = "InitialStateRemovePass"
    level = 1
    summary = "Drops initial states of recurrent ops that are zeros"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in functions(op):
            for inner in walk_outside(function):
                if isinstance(inner, GeOp):
                    _drop(inner)


def _drop(op: GeOp) -> None:
    zeros = {k for k, slot in enumerate(op.slots) if slot.name in STATES}
    inputs = op.by_slot() if zeros else []
    zeros = {k for k in zeros if _is_zero(inputs[k])}
    if not zeros:
        return
    new = op.rebuilt([None if k in zeros else v for k, v in enumerate(inputs)])
    for old, result in zip(op.results, new.results, strict=True):
        result._type = old.type  # pyright: ignore[reportPrivateUsage]
    Rewriter.replace_op(op, new)
    count("initial states dropped", len(zeros))


def _is_zero(value: SSAValue | None) -> bool:
    element = None if value is None else repeated(value)
    return element is not None and not any(element.tobytes())  # not -0.0, which is another zero
