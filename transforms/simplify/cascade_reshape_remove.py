"""
A view of a view is one view.

    %a = ge.unsqueeze %x, dense<1> : tensor<?xi64>, tensor<1xi64> -> tensor<?x1xi64>
    %b = ge.unsqueeze %a, dense<2> : tensor<?x1xi64>, tensor<1xi64> -> tensor<?x1x1xi64>
        ->   %b = ge.unsqueeze %x, dense<[1, 2]>

    %a = ge.flatten %x : tensor<?x8x4xf32> -> tensor<?x32xf32>
    %b = ge.reshape %a, dense<[-1, 4, 8]> : tensor<?x32xf32>, tensor<3xi64> -> tensor<?x4x8xf32>
        ->   %b = ge.reshape %x, dense<[0, 4, 8]>

Where the dims are free, the numbers of the one Reshape are right for every size (views.py), or the outer view's own
shape says it all. Needs nothing. Leaves no view of a view where one would do; prune drops the inner ones.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from ...dialects.ge.constants import ConstantOp
from ...dialects.ge.core import GeOp, info_of
from ...dialects.ge.dims import Dim, exact_quotient, is_size
from ...dialects.ge.interfaces import View, is_pure
from ...dialects.ge.movement import ReshapeOp, SqueezeOp, UnsqueezeOp
from ..base import GePass
from ..opset import has_op
from ..report import count
from ..rewriting import functions, sync_type, walk_outside
from ..shape.analysis import Dims
from ..shape.views import put, reshape_spec, same_dims, vector


class CascadeReshapeRemove(GePass):
    name = "cascade-reshape-remove"
    ge_name = "CascadeReshapeRemovePass"
    level = 1
    summary = "Makes one view of several in a row"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        reshapes = has_op(op, ReshapeOp)
        for function in functions(op):
            dims = Dims(function)
            for inner in walk_outside(function, View):
                if isinstance(inner, GeOp) and is_view(inner) and is_view(before := inner.operands[0].owner):
                    _merge(inner, before, dims, reshapes)
            sync_type(function)


def is_view(op: object) -> bool:
    return isinstance(op, GeOp) and isinstance(op, View) and is_pure(op) and len(op.results) == 1 and op.view_of() == 0


def _merge(op: Operation, before: object, dims: Dims, reshapes: bool) -> None:
    assert isinstance(before, Operation)
    source, result = before.operands[0], op.results[0]
    if same_dims(dims, source, result):
        put(dims, op, [], source)
        count("views dropped")
        return
    made = _axes_merged(op, before, source)
    if made is None and reshapes:
        made = reshaped(op, source, result, dims)
    if made is None:
        return
    put(dims, op, made, made[-1].results[0])
    count("views merged")


def reshaped(op: Operation, source: SSAValue, result: SSAValue, dims: Dims) -> list[Operation] | None:
    """A Reshape of `source`, with what it needs, that gives what the view `op` gives; None where there is none."""
    wanted: list[Dim] | None = dims(op.shape).elements if isinstance(op, ReshapeOp) else None
    spec = reshape_spec(dims(source).dims, dims(result).dims, wanted)
    if spec is not None:
        shape = vector(spec, op)
        return [shape, ReshapeOp(source, shape.output, result_types=[result.type])]
    if isinstance(op, ReshapeOp) and wanted is not None and _copies_nothing(op, wanted, dims(source).dims):
        return [ReshapeOp(source, op.shape, allowzero=op.allowzero, result_types=[result.type])]
    return None


def _copies_nothing(op: ReshapeOp, wanted: Sequence[Dim], source: Sequence[Dim]) -> bool:
    """Whether the numbers that a Reshape is given mean on `source` what they say: also where a size turns out as 0."""

    def is_literal(k: int, dim: Dim) -> bool:
        if isinstance(dim, int):
            return dim != 0
        if is_size(dim - 1):
            return True
        # A 0 copies what stands at its place: that is 0 as well where one is a multiple of the other.
        other = source[k] if k < len(source) else 1
        return isinstance(exact_quotient(dim, other), int) or exact_quotient(other, dim) is not None

    return bool(op.allowzero) or all(is_literal(k, d) for k, d in enumerate(wanted))


def _axes_merged(op: Operation, before: Operation, source: SSAValue) -> list[Operation] | None:
    """Unsqueeze of Unsqueeze, or Squeeze of Squeeze, as one."""
    kind = type(op)
    if kind is not type(before) or kind not in (UnsqueezeOp, SqueezeOp):
        return None
    assert isinstance(op, UnsqueezeOp | SqueezeOp)
    assert isinstance(before, UnsqueezeOp | SqueezeOp)
    inner = _axes(before.axes, info_of(before.results[0] if kind is UnsqueezeOp else before.operands[0]).rank)
    outer = _axes(op.axes, info_of(op.results[0] if kind is UnsqueezeOp else op.operands[0]).rank)
    if inner is None or outer is None:
        return None
    if kind is UnsqueezeOp:
        kept = [k for k in range(info_of(op.results[0]).rank) if k not in outer]
        axes = sorted([*outer, *(kept[k] for k in inner)])
    else:
        kept = [k for k in range(info_of(source).rank) if k not in inner]
        axes = sorted([*inner, *(kept[k] for k in outer)])
    where = vector(axes, op)
    return [where, kind(source, where.output, result_types=[op.results[0].type])]


def _axes(axes: SSAValue | None, rank: int) -> Sequence[int] | None:
    if axes is None or not isinstance(axes.owner, ConstantOp):
        return None
    return [int(a) % rank for a in axes.owner.array().flat]
