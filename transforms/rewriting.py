"""How our passes rewrite: greedily by patterns, which carry ONNX names on, or in one walk."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, OpResult, SSAValue
from xdsl.pattern_rewriter import (
    GreedyRewritePatternApplier,
    PatternRewriter,
    PatternRewriterListener,
    PatternRewriteWalker,
    RewritePattern,
)
from xdsl.rewriter import Rewriter

from ..dialects.ge.bodies import FusionOp, HostOp
from ..dialects.ge.interfaces import is_pure
from ..dialects.ge.memory import LaunchOp
from .base import carry_names


def apply_patterns(module: ModuleOp, patterns: Sequence[RewritePattern]) -> bool:
    """Rewrites until no pattern matches; names go from what is replaced to what replaces it. Says whether any did."""
    listener = PatternRewriterListener(operation_replacement_handler=[carry_names])
    walker = PatternRewriteWalker(GreedyRewritePatternApplier(list(patterns)), listener=listener)
    changed = walker.rewrite_module(module)
    for function in functions(module):
        sync_type(function)
    return changed


Rule = Callable[[Any], "Operation | SSAValue | None"]
"""What is to stand for an op: a value, a new op of one result (new ops that it reads stand before it), or None."""


def apply_rules(module: ModuleOp, rules: Mapping[type[Operation], Sequence[Rule]]) -> bool:
    """
    In one walk in order, puts in the place of each op outside of fusions what the first rule of its type gives, and
    drops what then nobody reads. Names go on to what is new. Says whether anything changed.

    cost       linear in ops, where the rules are constant
    """
    changed = False
    for function in functions(module):
        for op in walk_outside(function):
            current: Operation | None = op
            while current is not None and current.parent is not None:
                current = _apply(current, rules.get(type(current), ()))
                changed |= current is not None
        sync_type(function)
    return changed


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
    for op in block.ops:
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
            for inner in block.ops:
                if inner.regions:
                    yield from blocks_of(inner)


def is_isolated(op: Operation) -> bool:
    """Whether the bodies of `op` see nothing of what is around it."""
    return isinstance(op, FusionOp | HostOp | LaunchOp | FuncOp)


def walk_outside(op: Operation) -> Iterator[Operation]:
    """Every op in `op` but those in fusions and launches."""
    for region in op.regions:
        for block in region.blocks:
            for inner in list(block.ops):
                yield inner
                if inner.regions and not isinstance(inner, FusionOp | HostOp | LaunchOp):
                    yield from walk_outside(inner)


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
    "PatternRewriter",
    "Rule",
    "apply_patterns",
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
