"""
Pieces that rules are made of: activations, normalisations, softmax, each in the forms in which exporters write it.

A function gives the pattern over what it is of: `gelu(x)`. What stands for the piece in ONNX as one op is one of its
forms. Names say what a set of ops holds: `label` is for people.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from xdsl.ir import Block, Operation

from ....dialects.ge.activation import ClipOp, HardSigmoidOp, HardSwishOp, ReluOp
from ....dialects.ge.arithmetic import AddOp, DivOp, MaxOp, MinOp, MulOp, PowOp, SubOp
from ....dialects.ge.conversion import CastOp
from ....dialects.ge.elementwise import Pointwise
from ....dialects.ge.interfaces import View
from ....dialects.ge.math import ErfOp, ExpOp, LogOp, NegOp, ReciprocalOp, SqrtOp
from ....dialects.ge.normalization import BatchNormalizationOp, LayerNormalizationOp, RMSNormalizationOp
from ....dialects.ge.reduction import ReduceMaxOp, ReduceMeanOp, ReduceSumOp
from ....dialects.ge.shapes import numbers_in
from ....dialects.ge.smooth import GeluOp, MishOp, SigmoidOp, SoftplusOp, SwishOp
from ....dialects.ge.softmax import SoftmaxOp
from ....dialects.ge.trigonometry import TanhOp
from ....dialects.ge.types import shape_of
from ..fusion import is_constant
from ..names import type_of
from ..pattern import Found, Pattern, Why, either, number, op, product, total, value
from ..search import Miss, Search, number_in

Of = Callable[[Pattern], Pattern]

SMALL = (0.0, 0.1)
"""What is added to a variance so that it is not zero."""

# ------------------------------------------------------------------ activations


def sigmoid(x: Pattern) -> Pattern:
    """1 / (1 + exp(-x)) and the op."""
    below = total(op(ExpOp, either(op(NegOp, x), product(x, scale=-1.0))), added=1.0)
    return either(op(SigmoidOp, x), op(ReciprocalOp, below), op(DivOp, number(1.0), below))


def silu(x: Pattern) -> Pattern:
    below = total(op(ExpOp, either(op(NegOp, x), product(x, scale=-1.0))), added=1.0)
    return either(op(SwishOp, x), product(sigmoid(x), x), op(DivOp, x, below))


def quick_gelu(x: Pattern) -> Pattern:
    return product(op(SigmoidOp, product(x, scale=1.702)), x)


def gelu(x: Pattern) -> Pattern:
    """By the error function."""
    erf = op(ErfOp, product(x, scale=2**-0.5))
    halves = total(product(erf, scale=0.5), added=0.5)
    return either(op(GeluOp, x, where=_exact), product(total(erf, added=1.0), x, scale=0.5), product(halves, x))


def fast_gelu(x: Pattern) -> Pattern:
    """By tanh."""
    c, d = 0.7978845608, 0.044715
    inner = either(
        product(total(product(x, x, x, scale=d), x), scale=c),
        product(total(product(x, x, scale=c * d), added=c), x),
        product(total(product(x, x, scale=d), added=1.0), x, scale=c),
    )
    tanh = op(TanhOp, inner)
    halves = total(product(tanh, scale=0.5), added=0.5)
    return either(op(GeluOp, x), product(total(tanh, added=1.0), x, scale=0.5), product(halves, x))


def _exact(op_: GeluOp, found: Found) -> Why:
    del found
    return None if op_.approximate == "none" else "it approximates"


def hard_sigmoid(x: Pattern) -> Pattern:
    return either(op(HardSigmoidOp, x), product(_six(x), scale=1 / 6))


def hard_swish(x: Pattern) -> Pattern:
    return either(op(HardSwishOp, x), product(_six(x), x, scale=1 / 6), product(hard_sigmoid(x), x))


def _six(x: Pattern) -> Pattern:
    """x + 3, cut to 0 .. 6."""
    more = total(x, added=3.0)
    return either(
        op(ClipOp, more, number(0.0), number(6.0)),
        op(MinOp, op(ReluOp, more), number(6.0)),
        op(MinOp, op(MaxOp, more, number(0.0)), number(6.0)),
    )


def softplus(x: Pattern) -> Pattern:
    return either(op(SoftplusOp, x), op(LogOp, total(op(ExpOp, x), added=1.0)))


def mish(x: Pattern) -> Pattern:
    return either(op(MishOp, x), product(op(TanhOp, softplus(x)), x))


# ------------------------------------------------------------------ normalisations and softmax


def is_elementwise(one: Operation) -> bool:
    """Whether an op gives each element from one place of each operand; so does a BatchNormalization that is trained."""
    return isinstance(one, Pointwise) or (isinstance(one, BatchNormalizationOp) and not one.training_mode)


def layer_normalization(x: Pattern) -> Pattern:
    """
    (x - mean) / sqrt(variance + epsilon) over the last axes, times a scale, plus a bias; both may be missing. Also as
    TensorFlow writes it: x * (scale / deviation) + (bias - mean * (scale / deviation)).
    """
    return either(op(LayerNormalizationOp, x), _standardised(x, _over_last))


def channel_normalization(x: Pattern) -> Pattern:
    """The same over other axes: of channels that are not the last axis."""
    return _standardised(x, _over_others)


def _standardised(x: Pattern, over: Callable[[Any, Found], Why]) -> Pattern:
    mean = _mean(x, over)
    less, again = op(SubOp, x, mean), op(SubOp, x, mean)

    def alike(one: Operation, found: Found) -> Why:
        same = shape_of(one.results[0].type) == shape_of(found(mean).type)
        return None if same else "the mean and the variance are of different axes"

    square = either(_square(less), _square(again), _square(op(SubOp, mean, x)))
    variance = either(_mean(square, alike), op(SubOp, _mean(_square(x)), _square(mean), where=alike))
    under = either(total(variance, added=SMALL), variance)
    normal = _over_root(less, under)
    scaled = either(op(MulOp, normal, value(is_constant)), normal)
    inverse = _one_over_root(under)
    factor = either(op(MulOp, inverse, value(is_constant)), op(DivOp, value(is_constant), _root(under)), inverse)
    folded = op(
        AddOp,
        op(MulOp, x, factor),
        either(op(SubOp, value(is_constant), op(MulOp, mean, factor)), op(NegOp, op(MulOp, mean, factor))),
    )
    return either(
        op(AddOp, scaled, value(is_constant)),
        op(MulOp, normal, value(is_constant)),
        folded,
        normal,
    )


def rms_normalization(x: Pattern) -> Pattern:
    """x / sqrt(mean of x * x + epsilon) over the last axes, times a scale that may be missing."""
    square = _mean(_square(x), _over_last)
    normal = _over_root(x, either(total(square, added=SMALL), square))
    return either(op(RMSNormalizationOp, x), op(MulOp, normal, value(is_constant)), normal)


def _mean(x: Pattern, where: Callable[[Any, Found], Why] | None = None) -> Pattern:
    """The op, or a sum over the number of its elements."""
    sum_ = op(ReduceSumOp, x, where=where)

    def counts(one: Operation, found: Found) -> Why:
        by = next(n for v in one.operands if (n := number_in(v)) is not None)
        given = found(sum_).owner
        assert isinstance(given, ReduceSumOp)
        less, more = math.prod(shape_of(given.reduced.type)), math.prod(shape_of(given.data.type))
        ratio = by * less / more if isinstance(one, DivOp) and more else by * more / (less or 1)
        return None if math.isclose(ratio, 1, rel_tol=1e-4) else "it is no mean"

    return either(
        op(ReduceMeanOp, x, where=where),
        op(DivOp, sum_, number(None), where=counts),
        op(MulOp, sum_, number(None), where=counts),
    )


def _square(x: Pattern) -> Pattern:
    return product(x, x)


def _root(under: Pattern) -> Pattern:
    return either(op(SqrtOp, under), op(PowOp, under, number(0.5)))


def _one_over_root(under: Pattern) -> Pattern:
    root = _root(under)
    return either(op(ReciprocalOp, root), op(DivOp, number(1.0), root), op(PowOp, under, number(-0.5)))


def _over_root(x: Pattern, under: Pattern) -> Pattern:
    return either(op(DivOp, x, _root(under)), op(MulOp, x, _one_over_root(under)))


def _over_last(mean: Any, found: Found) -> Why:
    del found
    return None if goes_over_last(mean) else "it does not go over the last axes"


def _over_others(mean: Any, found: Found) -> Why:
    del found
    return "it goes over the last axes" if goes_over_last(mean) or not mean.keepdims else None


def goes_over_last(reduction: Any) -> bool:
    """Whether a reduction goes over the last axes and keeps them as dims of 1."""
    if not reduction.keepdims or (reduction.axes is not None and numbers_in(reduction.axes) is None):
        return False
    axes, rank = sorted(reduction.reduced_axes()), len(shape_of(reduction.data.type))
    return bool(axes) and axes == list(range(axes[0], rank))


def softmax(x: Pattern) -> Pattern:
    """exp(x - max) / sum of it, along the last axis; the op."""
    exp = op(ExpOp, either(op(SubOp, x, op(ReduceMaxOp, x, where=_over_last)), x))
    return either(op(SoftmaxOp, x, where=_along_last), op(DivOp, exp, op(ReduceSumOp, exp, where=_over_last)))


def _along_last(softmax_: SoftmaxOp, found: Found) -> Why:
    del found
    rank = len(shape_of(softmax_.input.type))
    return None if softmax_.axis % rank == rank - 1 else "it does not go along the last axis"


# ------------------------------------------------------------------ names

PARTS: tuple[tuple[str, Of], ...] = (
    ("LayerNormalization", layer_normalization),
    ("ChannelNormalization", channel_normalization),
    ("RMSNormalization", rms_normalization),
    ("Softmax", softmax),
    ("Gelu", gelu),
    ("FastGelu", fast_gelu),
    ("QuickGelu", quick_gelu),
    ("HardSwish", hard_swish),
    ("Mish", mish),
    ("Silu", silu),
    ("HardSigmoid", hard_sigmoid),
)
"""What is known by name where it is several ops, or an op of that name; the first that fits."""

Nearly = tuple[str, Miss]
"""A name of PARTS, and what kept ops from being that."""

LONGEST = 5
"""Names in a label."""


@cache
def _patterns() -> tuple[tuple[str, Pattern, tuple[type[Operation], ...]], ...]:
    made = [(name, of(value())) for name, of in PARTS]
    return tuple((name, pattern, tuple(pattern.heads)) for name, pattern in made)


def parts_of(ops: Sequence[Operation], near: list[Nearly] | None = None) -> list[tuple[str, list[Operation]]]:
    """
    What a set of ops holds, in order: the parts that are known by name, and each other op by its ONNX type.

    near       where it is put which parts ops nearly are
    cost       linear in ops
    """
    places = {one: k for k, one in enumerate(ops)}
    inside, found = set(ops), list[tuple[int, str, list[Operation]]]()
    for last in reversed(ops):
        if last not in inside:
            continue
        name, part = _named(last, ops[-1].parent_block(), inside, near)
        inside.difference_update(part)
        if not isinstance(last, View | CastOp) and not is_constant(last.results[0]):
            found.append((places[last], name, part))
    return [(name, part) for _, name, part in sorted(found, key=lambda one: one[0])]


def _named(
    last: Operation, block: Block | None, inside: set[Operation], near: list[Nearly] | None
) -> tuple[str, list[Operation]]:
    misses: list[Nearly] = []
    for name, pattern, heads in _patterns():
        if isinstance(last, heads) and block is not None:
            search = Search(block, frozenset(inside))
            found = search.find(pattern, last)
            if found is not None and all(_read_by(one, found) for one in found if one is not last):
                return name, found
            if found is None and search.miss is not None:
                misses.append((name, search.miss))
    if near is not None:
        near.extend(misses)
    return type_of(last).rpartition("::")[2], [last]


def _read_by(one: Operation, ops: Sequence[Operation]) -> bool:
    return all(use.operation in ops for result in one.results for use in result.uses)


def label(ops: Sequence[Operation], near: list[Nearly] | None = None) -> str:
    """What the ops are, in order; of more than a few kinds the first ones, and how many more. `near` as `parts_of`."""
    names = [name for name, _ in parts_of(ops, near)]
    kept = names if len(names) <= LONGEST else names[: LONGEST - 1]
    return "".join(kept) + (f"And{len(names) - len(kept)}More" if len(kept) < len(names) else "")
