"""
A broadcast that the ops which read it do themselves is dropped.

    %e = ge.expand %x, %s : tensor<1x8xf32>, tensor<2xi64> -> tensor<4x8xf32>
    %a = ge.mul %e, %two                                        // computed on 4x8
    %y = ge.add %a, %z : tensor<4x8xf32>, tensor<4x8xf32>       // broadcasts by itself
        ->   %a = ge.mul %x, %two        // on 1x8
             %y = ge.add %a, %z : tensor<1x8xf32>, tensor<4x8xf32>

Likewise one element repeated, a constant or a ConstantOfShape, is a scalar. Through chains of elementwise ops, as far
as every reader ends up with the dims that it had. An Expand to its operand's own dims goes in any case. Needs nothing.
Leaves no broadcast that all its readers can do without.
"""

from __future__ import annotations

from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import Rewriter
from xdsl.utils.exceptions import VerifyException

from ...dialects.ge.attributes import SplatAttr
from ...dialects.ge.constants import ConstantOp
from ...dialects.ge.core import GeOp
from ...dialects.ge.data import value_of
from ...dialects.ge.info import Info
from ...dialects.ge.interfaces import Elementwise, is_pure
from ...dialects.ge.kernel_tile import KERNEL_TILE
from ...dialects.ge.shape import ConstantOfShapeOp
from ...dialects.ge.slicing import ExpandOp, TileOp
from ...dialects.ge.types import shape_of
from ..base import GePass
from ..report import count
from ..rewriting import functions, sync_type, walk_outside
from ..shape.analysis import Dims
from ..shape.views import put, same_dims

FAR = 32
"""Ops that are looked at for one broadcast."""


class BroadcastReduceElimination(GePass):
    name = "broadcast-reduce-elimination"
    ge_name = "BroadcastReduceEliminationPass"
    level = 1
    summary = "Drops broadcasts that elementwise ops do themselves"
    regroups = True

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in functions(op):
            dims = Dims(function)
            for inner in walk_outside(function, ExpandOp, TileOp, ConstantOp, ConstantOfShapeOp):
                match inner:
                    case ExpandOp() | TileOp():
                        _broadcast(inner, dims)
                    case ConstantOp() if isinstance(inner.value, SplatAttr) and shape_of(inner.output.type):
                        _scalar(inner, inner.value, dims)
                    case ConstantOfShapeOp():
                        _scalar(inner, value_of(inner.fill()[1]), dims)
                    case _:
                        pass
            sync_type(function)


def _broadcast(op: ExpandOp | TileOp, dims: Dims) -> None:
    source, result = op.input, op.output
    if same_dims(dims, source, result):
        put(dims, op, [], source)
        count("broadcasts dropped")
        return
    own, wide = dims(source).dims, dims(result).dims
    tail = wide[len(wide) - len(own) :]
    if not all(a in (1, b) for a, b in zip(own, tail, strict=True)):
        return  # a Tile of more than one element repeats them in turn
    if (narrow := _narrowed(result, dims(source), dims)) is None:
        return
    _apply(result, source, narrow, dims)
    Rewriter.erase_op(op)
    count("broadcasts dropped")


def _scalar(op: Operation, value: Attribute, dims: Dims) -> None:
    """A scalar where a tensor of one element, `value`, repeated stands."""
    result = op.results[0]
    info = Info(dims(result).element, ())
    if (narrow := _narrowed(result, info, dims)) is None:
        return
    scalar = ConstantOp(value, info.type)
    scalar.attributes.update(op.attributes)
    block = op.parent_block()
    assert block is not None
    block.insert_op_before(scalar, op)
    _apply(result, scalar.output, narrow, dims)
    Rewriter.erase_op(op)
    count("repeated elements made scalars")


def _narrowed(value: SSAValue, given: Info, dims: Dims) -> dict[SSAValue, Info] | None:
    """
    What is known of the results that get other dims when `value` gets those of `given`; None unless they all are read
    by elementwise ops alone, and these end in ops whose results stay as they are.
    """
    found: dict[SSAValue, Info] = {value: given}
    pending = [value]
    looked = 0
    while pending:
        now = pending.pop()
        for use in now.uses:
            op = use.operation
            looked += 1
            if looked > FAR or not _is_pointwise(op):
                return None
            assert isinstance(op, GeOp)
            try:
                (info,) = op.inferred(lambda v: found.get(v) or dims(v))
            except VerifyException:
                return None
            result = op.results[0]
            # Operands only get narrower while this looks on, and results with them.
            if info.dims != (found.get(result) or dims(result)).dims:
                found[result] = info
                pending.append(result)
    return found if value.first_use is not None else None


def _is_pointwise(op: Operation) -> bool:
    return isinstance(op, GeOp) and isinstance(op, Elementwise) and is_pure(op) and len(op.results) == 1


def _apply(value: SSAValue, new: SSAValue, narrow: dict[SSAValue, Info], dims: Dims) -> None:
    for result, info in narrow.items():
        if result is not value:
            cast(Operation, result.owner).attributes.pop(KERNEL_TILE, None)  # it may have lost that axis
            result._type = info.type  # pyright: ignore[reportPrivateUsage]
            dims.learn(result, info)
    value.replace_all_uses_with(new)
