"""
Arithmetic that gives what it is given is dropped, and what two ops compute one computes, bit for bit.

    %a = ge.mul %x, 1.0            ->  %x           also x - 0, x / 1, x ^ 1, x and true, ...
    %b = ge.neg %a; ge.neg %b      ->  %a           also twice not, relu, abs, floor
    %c = ge.add %i, 3; ge.add 4    ->  %i + 7       integers alone: they wrap
    ge.max (ge.max %a, %b), %c     ->  ge.max %a, %b, %c

Holds for NaN, infinities and signed zeros: x + 0 turns -0 into 0, so it goes only where x cannot be -0 or nobody can
tell; x + -0 and x - 0 go always. A constant that gives the result another shape stays. Needs nothing. Leaves none of
these pairs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, i1
from xdsl.ir import Operation, SSAValue
from xdsl.traits import ConstantLike

from ...dialects.ge.activation import ClipOp, ReluOp
from ...dialects.ge.arithmetic import AddOp, DivOp, MaxOp, MinOp, MulOp, PowOp, SubOp
from ...dialects.ge.bitwise import BitShiftOp, BitwiseAndOp, BitwiseNotOp, BitwiseOrOp, BitwiseXorOp
from ...dialects.ge.comparison import (
    AndOp,
    EqualOp,
    GreaterOp,
    GreaterOrEqualOp,
    LessOp,
    LessOrEqualOp,
    OrOp,
    WhereOp,
    XorOp,
)
from ...dialects.ge.constants import constant
from ...dialects.ge.conversion import CastOp
from ...dialects.ge.data import find_module
from ...dialects.ge.elementwise import Binary
from ...dialects.ge.math import AbsOp, CeilOp, ExpOp, FloorOp, NegOp, NotOp, RoundOp
from ...dialects.ge.smooth import SigmoidOp
from ...dialects.ge.softmax import LogSoftmaxOp, SoftmaxOp
from ..base import GePass
from ..operands import adds_no_axis, can_write, element_type, has_floats, has_integers, number, split_constant, uniform
from ..report import count
from ..rewriting import Rule, apply_rules
from .chains import merged_product, merged_sum

NOT_NEGATIVE = (AbsOp, ExpOp, SigmoidOp, SoftmaxOp)
"""Their results have no sign, not even on a zero."""

BLIND_TO_SIGN = (AbsOp, ExpOp, SigmoidOp, SoftmaxOp, LogSoftmaxOp, LessOp, LessOrEqualOp, GreaterOp, GreaterOrEqualOp)
"""What reads -0 as 0."""


def _same(x: SSAValue, result: SSAValue) -> SSAValue | None:
    return x if x.type == result.type else None


# ------------------------------------------------------------------ a constant that changes nothing


def neutral_operand(op: Any) -> SSAValue | None:
    """x where the other operand is the constant that leaves it as it is."""
    split = split_constant(op)
    if split is None:
        return None
    x, constant, place = split
    if op.results[0].type != x.type or not adds_no_axis(constant, x):
        return None
    value = uniform(constant)
    return x if value is not None and _is_neutral(op, x, value, place) else None


def _is_neutral(op: Operation, x: SSAValue, value: Any, place: int) -> bool:
    last = place == 1
    match op:
        case AddOp():
            return value == 0 and (not has_floats(x) or bool(np.signbit(value)) or _zero_is_unsigned(op, x))
        case SubOp():
            return last and value == 0 and (not has_floats(x) or not np.signbit(value) or _zero_is_unsigned(op, x))
        case MulOp():
            return value == 1
        case DivOp() | PowOp():
            return last and value == 1
        case AndOp() | EqualOp():
            return element_type(x) == i1 and bool(value)
        case BitwiseAndOp():
            return int(value) in (-1, _all_ones(value))
        case BitShiftOp():
            return last and value == 0
        case _:  # or, xor, of truth values or bits
            return value == 0


def _all_ones(value: Any) -> int:
    return int(np.iinfo(value.dtype).max) if value.dtype.kind == "u" else -1


def _zero_is_unsigned(op: Operation, x: SSAValue) -> bool:
    """Whether x + 0 is x as far as anybody can tell: x is never -0, or its readers take -0 for 0."""
    maker = x.owner
    if isinstance(maker, NOT_NEGATIVE) or _is_square(maker):
        return True
    if isinstance(maker, CastOp) and (has_integers(maker.input) or element_type(maker.input) == i1):
        return True
    readers = [use.operation for use in op.results[0].uses]
    for reader in readers:
        if isinstance(reader, NegOp) and reader.y.first_use is not None:
            readers += (use.operation for use in reader.y.uses)
        elif not isinstance(reader, BLIND_TO_SIGN):
            return False
    return bool(readers)


def _is_square(op: object) -> bool:
    return isinstance(op, MulOp) and op.a is op.b


# ------------------------------------------------------------------ twice is once, or none


def undone(op: Any) -> SSAValue | None:
    """f(f(x)) is x: negation."""
    inner = op.operands[0].owner
    return _same(inner.operands[0], op.results[0]) if type(inner) is type(op) else None


def done_again(op: Any) -> SSAValue | None:
    """f(f(x)) is f(x)."""
    x = op.operands[0]
    return _same(x, op.results[0]) if type(x.owner) is type(op) else None


def already_whole(op: Any) -> SSAValue | None:
    """Rounding what is rounded."""
    x = op.operands[0]
    return _same(x, op.results[0]) if isinstance(x.owner, FloorOp | CeilOp | RoundOp) else None


def already_positive(op: AbsOp) -> SSAValue | Operation | None:
    if isinstance(op.x.owner, NOT_NEGATIVE) or _is_square(op.x.owner):
        return _same(op.x, op.y)
    if isinstance(op.x.owner, NegOp):
        return AbsOp(op.x.owner.x, result_types=[op.y.type])
    return None


def equal_operands(op: Any) -> SSAValue | None:
    """and, or, of one value with itself."""
    return _same(op.a, op.results[0]) if op.a is op.b else None


def equal_branches(op: WhereOp) -> SSAValue | None:
    x, y = op.x, op.y
    one = x is y or (uniform(x) is not None and uniform(x) == uniform(y) and x.type == y.type and not has_floats(x))
    return _same(x, op.results[0]) if one and adds_no_axis(op.condition, x) else None


# ------------------------------------------------------------------ negations that another op takes over


def negated_condition(op: WhereOp) -> Operation | None:
    inner = op.condition.owner
    if not isinstance(inner, NotOp):
        return None
    return WhereOp(inner.x, op.y, op.x, result_types=[op.results[0].type])


def negated_addend(op: AddOp) -> Operation | None:
    """a + (-b) is a - b; addition commutes."""
    for a, b in ((op.a, op.b), (op.b, op.a)):
        if isinstance(b.owner, NegOp) and not isinstance(a.owner, NegOp):
            return SubOp(a, b.owner.x, result_types=[op.y.type])
    return None


def negated_subtrahend(op: SubOp) -> Operation | None:
    return AddOp(op.a, op.b.owner.x, result_types=[op.y.type]) if isinstance(op.b.owner, NegOp) else None


OPPOSITE: dict[type[Operation], Any] = {
    LessOp: GreaterOrEqualOp,
    GreaterOp: LessOrEqualOp,
    LessOrEqualOp: GreaterOp,
    GreaterOrEqualOp: LessOp,
}


def negated_comparison(op: NotOp) -> Operation | None:
    """Not (a < b) is a >= b; not of floats, which may be NaN."""
    inner = op.x.owner
    kind = OPPOSITE.get(cast("type[Operation]", type(inner)))
    if (
        kind is None
        or not isinstance(inner, Binary)
        or not has_integers(inner.a)
        or not op.x.has_one_use()
        or not can_write(op, kind)
    ):
        return None
    return kind(inner.a, inner.b, result_types=[op.y.type])


def unequal_to_true(op: Any) -> Operation | None:
    """x == false and x xor true are not x."""
    split = split_constant(op)
    if split is None or element_type(split[0]) != i1 or not adds_no_axis(split[1], split[0]):
        return None
    x, constant, _ = split
    value = uniform(constant)
    if value is None or bool(value) is not isinstance(op, XorOp) or x.type != op.results[0].type:
        return None
    return NotOp(x)


# ------------------------------------------------------------------ bounds


def merged_extremes(op: MinOp | MaxOp) -> SSAValue | Operation | None:
    """
    The largest of what the largest of others are, once each. Which of -0 and 0 is larger depends on their order, which
    floats so keep: from the left.
    """
    kind, values = type(op), list[SSAValue]()
    ordered = has_floats(op.y)
    for k, value in enumerate(op.data_0):
        inner = value.owner
        joins = isinstance(inner, kind) and value.has_one_use() and not (ordered and k)
        if isinstance(inner, kind) and joins and not all(map(_is_constant, inner.operands)):
            values.extend(inner.data_0)
        else:
            values.append(value)
    unlike = list(dict.fromkeys(values))
    if len(unlike) == 1:
        return _same(unlike[0], op.y)
    if not ordered:
        values = unlike
    if values == list(op.data_0):
        return None
    return kind(*values, result_types=[op.y.type])


def _is_constant(value: SSAValue) -> bool:
    return isinstance(value.owner, Operation) and value.owner.has_trait(ConstantLike)


def bounded_from_both_sides(op: MinOp) -> Operation | None:
    """min(max(x, low), high) is a Clip, which takes the minimum last."""
    split = _bound(op)
    inner = split[0].owner if split else None
    if split is None or not isinstance(inner, MaxOp) or not split[0].has_one_use():
        return None
    below = _bound(inner)
    if below is None or not has_floats(below[0]) or below[0].type != op.y.type or not can_write(op, ClipOp):
        return None
    least, most = uniform(below[1]), uniform(split[1])
    if not least < most or any(v == 0 and place == 0 for v, place in ((least, below[2]), (most, split[2]))):
        return None  # of -0 and 0 that one comes out which stands where a Clip's bound stands: behind x
    low, high = _as_scalar(op, below[1]), _as_scalar(op, split[1])
    return ClipOp(below[0], low, high, result_types=[op.y.type])


def _bound(op: MinOp | MaxOp) -> tuple[SSAValue, SSAValue, int] | None:
    """What is bounded, by which one number, and that one's place."""
    split = split_constant(op) if len(op.operands) == 2 else None
    if split is None or uniform(split[1]) is None or not adds_no_axis(split[1], split[0]):
        return None
    return split


def _as_scalar(op: Operation, value: SSAValue) -> SSAValue:
    block, module = op.parent_block(), find_module(op)
    assert block is not None
    assert module is not None
    scalar = constant(np.asarray(uniform(value)), module)
    block.insert_op_before(scalar, op)
    return scalar.output


def bounded_again(op: ReluOp | ClipOp) -> SSAValue | Operation | None:
    """A Relu beside a Clip whose lower bound is not negative does nothing."""
    inner = op.operands[0].owner
    if isinstance(op, ReluOp):
        positive = isinstance(inner, ClipOp) and _is_positive_range(inner)
        return _same(op.x, op.y) if positive else None
    if isinstance(inner, ReluOp) and _is_positive_range(op) and inner.x.type == inner.y.type:
        return ClipOp(inner.x, op.min, op.max, result_types=[op.results[0].type])
    if isinstance(inner, ClipOp) and (inner.min, inner.max) == (op.min, op.max):
        return _same(op.operands[0], op.results[0])
    return None


def _is_positive_range(op: ClipOp) -> bool:
    low, high = number(op.min), number(op.max)
    if low is None or low < 0 or np.signbit(low):
        return False
    return op.max is None or (high is not None and high >= low and not np.signbit(high))


# ------------------------------------------------------------------ integers wrap, so they associate


def integer_chain(op: Any) -> Operation | None:
    if not has_integers(op.results[0]):
        return None
    return merged_product(op) if isinstance(op, MulOp) else merged_sum(op)


def _counted(what: str, rule: Rule) -> Rule:
    def apply(op: Any) -> Operation | SSAValue | None:
        new = rule(op)
        if new is not None:
            count(what)
        return new

    return apply


def _rules() -> dict[type[Operation], Sequence[Rule]]:
    neutral = _counted("neutral operands dropped", neutral_operand)
    twice = _counted("ops done twice dropped", done_again)
    back = _counted("ops undone dropped", undone)
    whole = _counted("ops done twice dropped", already_whole)
    same = _counted("ops on equal operands dropped", equal_operands)
    chain = _counted("integer constants merged", integer_chain)
    extremes = _counted("minima and maxima merged", merged_extremes)
    bounds = _counted("bounds merged", bounded_again)
    sign = "negations taken over"
    return {
        AddOp: (neutral, _counted(sign, negated_addend), chain),
        SubOp: (neutral, _counted(sign, negated_subtrahend), chain),
        MulOp: (neutral, chain),
        DivOp: (neutral,),
        PowOp: (neutral,),
        AndOp: (neutral, same),
        OrOp: (neutral, same),
        XorOp: (neutral, _counted(sign, unequal_to_true)),
        EqualOp: (neutral, _counted(sign, unequal_to_true)),
        BitwiseAndOp: (neutral, same),
        BitwiseOrOp: (neutral, same),
        BitwiseXorOp: (neutral,),
        BitShiftOp: (neutral,),
        NegOp: (back,),
        NotOp: (back, _counted(sign, negated_comparison)),
        BitwiseNotOp: (back,),
        ReluOp: (twice, bounds),
        AbsOp: (twice, _counted("ops done twice dropped", already_positive)),
        FloorOp: (whole,),
        CeilOp: (whole,),
        RoundOp: (whole,),
        ClipOp: (bounds,),
        MinOp: (extremes, _counted("bounds merged", bounded_from_both_sides)),
        MaxOp: (extremes,),
        WhereOp: (_counted("choices dropped", equal_branches), _counted(sign, negated_condition)),
    }


class AlgebraicSimplification(GePass):
    name = "algebraic-simplification"
    ge_name = "AlgebraicSimplificationPass"
    level = 1
    summary = "Drops arithmetic that changes nothing and merges what is exact to merge"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        apply_rules(op, _rules())
