"""
Ops compute in f16, bf16 or f32, as a mode and lists of exceptions say.

    %y = ge.matmul %x, %w : f32                    %a = ge.cast %x to f16
    %z = ge.softmax %y : f32             ->        %y = ge.matmul %a, %w16 : f16
                                                   %b = ge.cast %y to f32
                                                   %z = ge.softmax %b : f32

    force_fp16 (fp16)                 every op that ONNX has in f16
    allow_mix_precision (mixed_float16, allow_mix_precision_fp16)
                                      the same without what loses or overflows in f16 by nature (nature.py)
    allow_fp32_to_fp16                contractions alone
    allow_mix_precision_bf16 (mixed_bfloat16), allow_fp32_to_bf16
                                      the last two in bf16
    force_fp32                        every op in f16 or bf16 becomes f32
    must_keep_origin_dtype (origin)   nothing but what a list says

In every mode these stay: ops that ONNX lacks in that type, quantised ones and what they are read by, opaque ones, what
is fused already, and arithmetic of positions and sizes. The function's arguments and results keep their types, with
casts inside, unless `interface` is given. Constants: constants.py. Needs what recognises LayerNorm and the like to have
run: decomposed, they are many ops that overflow. Leaves one cast a value at most.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, bf16, f16, f32

from ...dialects.ge.data import weight_files
from ...dialects.ge.errors import UsageError
from ...dialects.ge.types import element_of
from ..base import GePass
from ..opset import opset_of
from ..report import count, missed
from ..rewriting import functions
from .constants import Converter
from .keep_list import KeepList, read_keep_list, read_kept
from .mixed_list import read_colours
from .policy import Mode, Policy, decide
from .retype import Retyper

MODES = {
    "force_fp16": Mode.ALL,
    "fp16": Mode.ALL,
    "force_fp32": Mode.ALL,
    "allow_mix_precision": Mode.MIXED,
    "allow_mix_precision_fp16": Mode.MIXED,
    "mixed_float16": Mode.MIXED,
    "allow_fp32_to_fp16": Mode.CONTRACTIONS,
    "allow_mix_precision_bf16": Mode.MIXED,
    "mixed_bfloat16": Mode.MIXED,
    "allow_fp32_to_bf16": Mode.CONTRACTIONS,
    "must_keep_origin_dtype": Mode.NONE,
    "origin": Mode.NONE,
}


@dataclass(frozen=True)
class Precision(GePass):
    """
    mode         see above; ATC's names
    ops_file     ATC's .ini (keep_list.py)
    keep_file    names of nodes and types that stay as they are, a line each (keep_list.py)
    mix_file     changes to what mixed precision converts, by type (mixed_list.py)
    keep_types   operators that stay as they are, by ONNX's or GE's type
    keep_nodes   ops that stay as they are, by their ONNX node's name
    interface    whether the function's arguments and results change their type as well
    """

    name = "precision"
    ge_name = "PrecisionPass"
    level = None
    summary = "Computes in f16, bf16 or f32 by a mode and keep lists, one cast a value, constants converted"
    regroups = True

    mode: Literal[
        "force_fp16",
        "fp16",
        "force_fp32",
        "allow_mix_precision",
        "allow_mix_precision_fp16",
        "mixed_float16",
        "allow_fp32_to_fp16",
        "allow_mix_precision_bf16",
        "mixed_bfloat16",
        "allow_fp32_to_bf16",
        "must_keep_origin_dtype",
        "origin",
    ] = "force_fp16"
    ops_file: str | None = None
    keep_file: str | None = None
    mix_file: str | None = None
    keep_types: tuple[str, ...] = ()
    keep_nodes: tuple[str, ...] = ()
    interface: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        listed = self.listed()
        for name in listed.unmatched(op.walk()):
            count("names in lists that no node has")
            missed(op, f'has no node "{name}": it is mistyped, or an earlier pass left nothing of it')
        policy = self.policy(op, listed)
        lower(op, policy, Converter(op, policy.target))

    def listed(self) -> KeepList:
        """Raises UsageError for a file or a type that means nothing."""
        listed = read_keep_list(self.ops_file) if self.ops_file is not None else KeepList()
        if self.keep_file is not None:
            listed.keep(**read_kept(self.keep_file))
        listed.keep(self.keep_nodes, self.keep_types)
        if self.mix_file is not None:
            if MODES[self.mode] is not Mode.MIXED:
                raise UsageError(f"{self.mix_file}: is for mixed precision (allow_mix_precision); got mode {self.mode}")
            listed.colours = read_colours(self.mix_file)
        return listed

    def policy(self, module: ModuleOp, listed: KeepList) -> Policy:
        wide = self.mode == "force_fp32"
        sources = frozenset([f16, bf16] if wide else [f32])
        narrow = bf16 if self.mode.endswith(("bf16", "bfloat16")) else f16
        target = element_of(f32 if wide else narrow)
        return Policy(MODES[self.mode], sources, target, opset_of(module), listed, self.interface)


def lower(module: ModuleOp, policy: Policy, converter: Converter) -> None:
    """cost       linear in ops and in the bytes of constants"""
    for function in functions(module):
        decisions = decide(function, policy, converter)
        Retyper(function, policy, decisions, converter).run()
        for kept, reason in decisions.reasons.items():
            count(f"ops kept: {reason}")
            missed(kept, f"is not converted: {reason}")


class Lowering:
    """What `one` makes of a module with several lists; constants are converted once for all of them."""

    def __init__(self, one: Precision, module: ModuleOp) -> None:
        self._one, self._module = one, module
        self._listed = one.listed()
        self._converter = Converter(module, one.policy(module, self._listed).target)

    def lowered(self, keep_nodes: Iterable[str]) -> ModuleOp:
        """A copy of the module with the pass run on it, these nodes kept besides what `one` keeps."""
        listed = KeepList(dict(self._listed.nodes), dict(self._listed.types), self._listed.colours)
        listed.keep(keep_nodes, ())
        lower(copy := self._module.clone(), self._one.policy(self._module, listed), self._converter)
        # Converted data is in a file that the converter's module names.
        first, names = copy.body.block.first_op, {str(op.properties["sym_name"]) for op in weight_files(copy)}
        for op in list(weight_files(self._module)):
            if str(op.properties["sym_name"]) not in names and first is not None:
                copy.body.block.insert_op_before(op.clone(), first)
        return copy
