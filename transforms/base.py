"""What every pass of ours is, and the names that rewrites carry on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from xdsl.ir import Operation, OpResult, SSAValue
from xdsl.passes import ModulePass

NAMES = ("onnx.node", "onnx.outputs", "onnx.doc", "onnx.metadata")
"""What an op keeps of the node that it was: no part of its meaning."""


@dataclass(frozen=True)
class GePass(ModulePass):
    """
    A pass with what a GE user wants to know of it; the dataclass's fields are its options.

    A pass that changes the module counts what it does (report.py): of one that counts nothing, nothing is looked at.

    ge_name   GE's name, "ConstantFoldingPass"; `aliases` are further ones
    level     lowest -O at which it runs by itself, None: only when asked
    summary   one sentence
    regroups  whether it computes the same by other arithmetic, or by a product of another shape, which rounds
              otherwise; every other pass keeps every bit
    """

    ge_name: ClassVar[str]
    aliases: ClassVar[tuple[str, ...]] = ()
    level: ClassVar[int | None]
    summary: ClassVar[str]
    regroups: ClassVar[bool] = False


def carry_names(op: Operation, new_results: Sequence[SSAValue | None]) -> None:
    """A replacement listener: what replaces `op` takes its ONNX names, unless it has names of its own."""
    for value in new_results:
        if isinstance(value, OpResult) and not any(name in value.op.attributes for name in NAMES):
            value.op.attributes.update({name: op.attributes[name] for name in NAMES if name in op.attributes})
