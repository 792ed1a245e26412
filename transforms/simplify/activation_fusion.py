"""
An activation written as arithmetic is the operator of that name.

    %a = ge.mul (ge.erf (ge.div %x, 1.4142)) + 1.0, %x
    %y = ge.mul %a, 0.5                                     ->       %y = ge.gelu %x

Told by values, not by form: the elementwise ops between one value and another, all constants numbers, are one function
of one element, and that is tried on points of every magnitude. So every way of writing it is found, whatever the order
of its factors, and constants may be as rounded as they come. Known: Gelu (both), HardSwish, Mish, Sigmoid, HardSigmoid,
Softplus, Softsign, where the model's opset has them (not Swish, which opset 24 has and runtimes do not yet). A Softplus
that overflows is another function. Needs nobody else to read what is in between. Leaves no such arithmetic.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, cast

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType, f32
from xdsl.ir import Block, Operation, SSAValue

from ...dialects.ge.activation import HardSigmoidOp, HardSwishOp
from ...dialects.ge.arithmetic import AddOp, DivOp, MulOp, PowOp, SubOp
from ...dialects.ge.constants import ConstantOp
from ...dialects.ge.core import GeOp
from ...dialects.ge.data import Array
from ...dialects.ge.elementwise import Pointwise
from ...dialects.ge.math import LogOp, NegOp, ReciprocalOp
from ...dialects.ge.smooth import GeluOp, MishOp, SigmoidOp, SoftplusOp, SoftsignOp
from ...dialects.ge.types import element_of
from ..base import GePass
from ..operands import adds_no_axis, element_type, has_floats, uniform
from ..opset import has_op
from ..report import count
from ..rewriting import Rule, apply_rules, functions, walk_outside

LONGEST = 12
"""Ops in one activation."""

ACTIVATIONS: tuple[tuple[type[GeOp], dict[str, Any]], ...] = (
    (GeluOp, {}),
    (GeluOp, {"approximate": "tanh"}),
    (HardSwishOp, {}),
    (MishOp, {}),
    (SigmoidOp, {}),
    (HardSigmoidOp, {"alpha": 1 / 6}),
    (SoftplusOp, {}),
    (SoftsignOp, {}),
)
ENDS: tuple[type[Operation], ...] = (MulOp, DivOp, AddOp, LogOp, ReciprocalOp)
"""What the last op of one can be."""

PLAIN = (AddOp, SubOp, MulOp, DivOp, PowOp, NegOp)
"""Of these alone none is made."""

POINTS = np.concatenate(
    [
        np.linspace(-12.1, 11.7, 97, dtype=np.float32),
        np.array([-np.inf, -1e30, -1e4, -100, -30, 30, 100, 1e4, 1e30, np.inf, np.nan, 1e-3, -1e-3, 1e-20], np.float32),
    ]
)


@dataclass
class Recogniser:
    """The activations that a module may have, and where its ops stand."""

    known: list[tuple[type[GeOp], dict[str, Any]]]
    places: dict[Operation, int]

    def __call__(self, last: Operation) -> Operation | None:
        """The activation that ends in `last`. Widens what it looks at by one op at a time, the latest first."""
        result = last.results[0]
        if not has_floats(result) or element_of(element_type(result)).bits > 32:
            return None  # runtimes have few activations of f64
        ops = [last]
        front = self._inputs(last, result)
        while front and len(ops) <= LONGEST:
            if len(front) == 1 and len(ops) > 1 and not all(isinstance(op, PLAIN) for op in ops):
                found = self._match(ops, front[0], result)
                if found is not None:
                    self.places[found] = self.places[last]
                    return found
            value = max(front, key=lambda v: self.places.get(cast(Any, v.owner), -1))
            op = value.owner
            if not isinstance(op, Operation) or op not in self.places or op.parent is not last.parent:
                return None
            if any(use.operation not in ops for use in value.uses):
                return None
            more = self._inputs(op, result)
            if more is None:
                return None
            ops.append(op)
            front = list(dict.fromkeys([v for v in front if v is not value] + more))
        return None

    def _inputs(self, op: Operation, result: SSAValue) -> list[SSAValue] | None:
        """The operands that are no numbers; None where `op` is no function of one element of the result's type."""
        if not isinstance(op, Pointwise) or len(op.results) != 1 or op.results[0].type != result.type:
            return None
        found: list[SSAValue] = []
        for value in op.operands:
            if element_type(value) != element_type(result):
                return None
            if isinstance(value.owner, ConstantOp):
                if uniform(value) is None or not adds_no_axis(value, result):
                    return None
            elif value.type != result.type:
                return None
            else:
                found.append(value)
        return list(dict.fromkeys(found))

    def _match(self, ops: Sequence[Operation], x: SSAValue, result: SSAValue) -> Operation | None:
        values = _evaluated(ops, x, result)
        tolerance = 1e-5 if element_of(element_type(result)).bits == 32 else 2e-3
        for kind, attributes in self.known:
            wanted = _on_points(kind, tuple(attributes.items()))
            if np.isclose(values, wanted, rtol=tolerance, atol=tolerance, equal_nan=True).all():
                count("activations recognised")
                return kind(x, **attributes, result_types=[result.type])
        return None


def _evaluated(ops: Sequence[Operation], x: SSAValue, result: SSAValue) -> Array:
    """What `ops`, the last one first, make of the points, in f32."""
    known: dict[SSAValue, Array] = {x: POINTS}
    with np.errstate(all="ignore"):
        for op in _in_order(ops):
            operands = [known[v] if v in known else np.asarray(uniform(v)).astype(np.float32) for v in op.operands]
            known[op.results[0]] = np.asarray(cast(Any, op).scalar(np, *operands)).astype(np.float32)
    return known[result]


def _in_order(ops: Sequence[Operation]) -> list[Operation]:
    """Operands first: those that are added later are read by earlier ones alone, which stand later in the block."""
    return list(reversed(ops))


@cache
def _on_points(kind: type[GeOp], attributes: tuple[tuple[str, Any], ...]) -> Array:
    x = Block(arg_types=[TensorType(f32, POINTS.shape)]).args[0]
    with np.errstate(all="ignore"):
        return np.asarray(cast(Any, kind(x, **dict(attributes))).scalar(np, POINTS)).astype(np.float32)


class ActivationFusion(GePass):
    name = "activation-fusion"
    ge_name = "ActivationFusionPass"
    aliases = ("GeluFusionPass", "HardSwishFusionPass", "MishFusionPass", "SoftplusFusionPass")
    level = 2
    summary = "Recognises activations, Gelu among them, where they are written as arithmetic"
    regroups = True

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        known = [(kind, attributes) for kind, attributes in ACTIVATIONS if has_op(op, kind)]
        places = {inner: k for function in functions(op) for k, inner in enumerate(walk_outside(function))}
        rules: dict[type[Operation], Sequence[Rule]] = dict.fromkeys(ENDS, (Recogniser(known, places),))
        apply_rules(op, rules)
