"""How our passes rewrite: greedily by patterns, which carry ONNX names on, or in one walk."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

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

from ..dialects.ge.bodies import FusionOp, HostOp
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


def functions(module: ModuleOp) -> Iterator[FuncOp]:
    for op in module.body.block.ops:
        if isinstance(op, FuncOp):
            yield op


def sync_type(function: FuncOp) -> None:
    """The function's type from what it takes and returns: a rewrite may have made a result's type more precise."""
    block = function.body.blocks.first
    if block is None or not isinstance(block.last_op, ReturnOp):
        return
    wanted = FunctionType.from_lists(list(block.arg_types), [v.type for v in block.last_op.operands])
    if wanted != function.function_type:
        function.properties["function_type"] = wanted


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
    "apply_patterns",
    "blocks_of",
    "functions",
    "is_isolated",
    "is_result_of_function",
    "replace_uses",
    "sync_type",
    "walk_outside",
]
