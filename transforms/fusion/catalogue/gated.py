"""
SwiGLU, GeGLU and their like: a product, gated by an activation of another one.

    %g = ge.matmul %x, %wg
    %y = ge.mul (ge.mul %g, (ge.sigmoid %g)), (ge.matmul %x, %wu)
                ------------- the gate -----  ----- the product -----        one op, the gate's product another

Where one product is cut into both, the cut and the gate are one op.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from xdsl.ir import Operation

from ....dialects.ge.arithmetic import AddOp, MulOp
from ....dialects.ge.contraction import GemmOp, MatMulOp
from ....dialects.ge.interfaces import View
from ....dialects.ge.slicing import SliceOp, SplitOp
from ..fusion import is_constant
from ..pattern import Found, Pattern, Why, either, op, value
from ..rules import Rule
from .parts import fast_gelu, gelu, sigmoid, silu

Gate = Callable[[Pattern], Pattern]


def gated(gate: Gate) -> Pattern:
    product = op((MatMulOp, GemmOp), value(), value())
    biased = either(op(AddOp, product, value(is_constant)), product)
    gated_by = value()

    def where(mul: Any, found: Found) -> Why:
        del mul
        return "it gates itself" if found(gated_by) is found(biased) else None

    return op(MulOp, gate(gated_by), biased, where=where)


def cut(gate: Gate) -> Pattern:
    return op(MulOp, gate(_piece()), _piece())


def _piece() -> Pattern:
    return op((SplitOp, SliceOp), value())


def comes_before(one: Operation, root: Operation) -> bool:
    del root
    return isinstance(one, SplitOp | SliceOp | View)


def _rules(name: str, gate: Gate) -> tuple[Rule, ...]:
    whole, of_cut = Rule(name, (gated(gate),), f"MatMul{name}"), Rule(f"{name} of a cut", (cut(gate),), name)
    return (whole, replace(of_cut, before=comes_before))


RULES = (*_rules("SwiGLU", silu), *_rules("GeGLU", gelu), *_rules("FastGeGLU", fast_gelu), *_rules("GLU", sigmoid))
