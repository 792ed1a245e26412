"""How our passes rewrite: in one walk in order, by rules, which carry ONNX names on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar, overload

from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, OpResult, SSAValue
from xdsl.rewriter import Rewriter

from ..dialects.ge.bodies import FusionOp, HostOp
from ..dialects.ge.interfaces import is_pure
from ..dialects.ge.kinds import ops_in, walk
from ..dialects.ge.memory import LaunchOp
from .base import carry_names
from .report import changed

OpT = TypeVar("OpT")

Rule = Callable[[Any], "Operation | SSAValue | None"]
"""What is to stand for an op: a value, a new op of one result (new ops that it reads stand before it), or None."""


def apply_rules(module: ModuleOp, rules: Mapping[type[Operation], Sequence[Rule]], *, in_fusions: bool = False) -> bool:
    """
    In one walk in order, puts in the place of each op what the first rule of its type gives, and drops what then nobody
    reads. Names go on to what is new. Says whether anything changed.

    in_fusions whether in the bodies of fusions too; else they are left alone

    cost       linear in ops, where the rules are constant
    """
    any_changed = False
    for function in functions(module):
        rewritten = False
        for op in (op for op in walk(function) if type(op) in rules) if in_fusions else walk_outside(function, *rules):
            current: Operation | None = op
            while current is not None and current.parent is not None:
                current = _apply(current, rules.get(type(current), ()))
                rewritten |= current is not None
        if rewritten:
            sync_type(function)
            changed()
        any_changed |= rewritten
    return any_changed


def _apply(op: Operation, rules: Sequence[Rule]) -> Operation | None:
    """The op that the first rule that holds has put in the place of `op`."""
    for rule in rules:
        new = rule(op)
        if new is None:
            continue
        block = op.parent_block()
        assert block is not None
        if isinstance(new, Operation):
            if new.parent is None:
                block.insert_op_before(new, op)
            new = new.results[0]
        replace_uses(op.results[0], new)
        drop_unread(op)
        return new.owner if isinstance(new.owner, Operation) else op
    return None


def drop_unread(op: Operation) -> None:
    """Drops a pure op that nobody reads, and what it alone read."""
    doomed = [op]
    while doomed:
        op = doomed.pop()
        if op.parent is None or not is_pure(op) or any(r.first_use is not None for r in op.results):
            continue
        sources = [v.owner for v in dict.fromkeys(op.operands) if isinstance(v.owner, Operation)]
        Rewriter.erase_op(op)
        doomed.extend(s for s in sources if not isinstance(s, FuncOp))


def functions(module: ModuleOp) -> Iterator[FuncOp]:
    for op in module.body.block.ops:
        if isinstance(op, FuncOp):
            yield op


def sync_type(function: FuncOp) -> None:
    """
    The types that must equal others: of a fusion's arguments and results, and the function's own. A rewrite may have
    made the type of a value more precise, wherever it is read.
    """
    block = function.body.blocks.first
    if block is None:
        return
    _sync_fusions(block)
    if not isinstance(block.last_op, ReturnOp):
        return
    wanted = FunctionType.from_lists(list(block.arg_types), [v.type for v in block.last_op.operands])
    if wanted != function.function_type:
        function.properties["function_type"] = wanted


def _sync_fusions(block: Block) -> None:
    for op in ops_in(block):
        if not op.regions:
            continue
        if isinstance(op, FusionOp):
            _set_types(op.body.block.args, op.ins)
        for region in op.regions:
            for inner in region.blocks:
                _sync_fusions(inner)
        if isinstance(op, FusionOp) and (last := op.body.block.last_op) is not None:
            _set_types(op.outs, last.operands)


def _set_types(values: Sequence[SSAValue], like: Sequence[SSAValue]) -> None:
    for value, other in zip(values, like, strict=True):
        if value.type != other.type:
            value._type = other.type  # pyright: ignore[reportPrivateUsage]


def blocks_of(op: Operation) -> Iterator[Block]:
    """Every block in `op`, outer ones first."""
    for region in op.regions:
        for block in region.blocks:
            yield block
            for inner in ops_in(block):
                if inner.regions:
                    yield from blocks_of(inner)


def is_isolated(op: Operation) -> bool:
    """Whether the bodies of `op` see nothing of what is around it."""
    return isinstance(op, FusionOp | HostOp | LaunchOp | FuncOp)


@overload
def walk_outside(op: Operation) -> Iterator[Operation]: ...
@overload
def walk_outside(op: Operation, *kinds: type[OpT]) -> Iterator[OpT]: ...
def walk_outside(op: Operation, *kinds: type) -> Iterator[Any]:
    """
    Every op in `op` but those in fusions and launches, in order; of `kinds` alone, where some are given. What stands in
    a block is found when the block is reached; an op that is taken out when it is given has no bodies any more.

    cost       about 0.05 us an op that is of none of the kinds
    """
    wanted: dict[type, bool] = {}
    for region in op.regions:
        for block in region.blocks:
            for inner in ops_in(block):
                kind = type(inner)
                if kind not in wanted:
                    wanted[kind] = not kinds or issubclass(kind, kinds)
                if wanted[kind]:
                    yield inner
                if inner.regions and inner.parent is not None and not isinstance(inner, FusionOp | HostOp | LaunchOp):
                    yield from walk_outside(inner, *kinds)


def replace_uses(old: SSAValue, new: SSAValue) -> None:
    """
    Lets `new` stand for `old` everywhere. A new value without a name of its own takes the old one's names, where its op
    has this one result.
    """
    old.replace_all_uses_with(new)
    if isinstance(old, OpResult) and isinstance(new, OpResult) and len(new.op.results) == len(old.op.results) == 1:
        carry_names(old.op, [new])


def is_result_of_function(value: SSAValue) -> bool:
    return any(isinstance(use.operation, ReturnOp) for use in value.uses)


__all__ = [
    "Rule",
    "apply_rules",
    "blocks_of",
    "drop_unread",
    "functions",
    "is_isolated",
    "is_result_of_function",
    "replace_uses",
    "sync_type",
    "walk_outside",
]
