"""Our passes by name, a line a pass; a class is imported when it is asked for."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from xdsl.passes import ModulePass

_PASSES = {
    "infer-shape": "shape.infer_shape:InferShape",
    "fold-initializer-inputs": "simplify.fold_initializer_inputs:FoldInitializerInputs",
    "constant-folding": "simplify.constant_folding:ConstantFolding",
    "dimension-compute": "shape.dimension_compute:DimensionCompute",
    "dimension-adjust": "shape.dimension_adjust:DimensionAdjust",
    "merge-shape-arithmetic": "shape.merge_shape_arithmetic:MergeShapeArithmetic",
    "no-use-reshape-remove": "simplify.no_use_reshape_remove:NoUseReshapeRemove",
    "cascade-reshape-remove": "simplify.cascade_reshape_remove:CascadeReshapeRemove",
    "redundant-slice-remove": "simplify.redundant_slice_remove:RedundantSliceRemove",
    "slice-forward-fusion": "simplify.slice_forward_fusion:SliceForwardFusion",
    "concat-slice-simplification": "simplify.concat_slice_simplification:ConcatSliceSimplification",
    "pad-slice-optimize": "simplify.pad_slice_optimize:PadSliceOptimize",
    "gather-forward-fusion": "simplify.gather_forward_fusion:GatherForwardFusion",
    "sequence-to-split": "simplify.sequence_to_split:SequenceToSplit",
    "broadcast-reduce-elimination": "simplify.broadcast_reduce_elimination:BroadcastReduceElimination",
    "replace-with-empty-const": "simplify.replace_with_empty_const:ReplaceWithEmptyConst",
    "repeated-constant-folding": "simplify.repeated_constant_folding:RepeatedConstantFolding",
    "initial-state-remove": "simplify.initial_state_remove:InitialStateRemove",
    "remove-same-const": "simplify.remove_same_const:RemoveSameConst",
    "transpose-propagation": "simplify.transpose_propagation:TransposePropagation",
    "dim1-transpose-to-squeeze": "simplify.dim1_transpose_to_squeeze:Dim1TransposeToSqueeze",
    "cast-remove": "simplify.cast_remove:CastRemove",
    "cond-remove": "simplify.cond_remove:CondRemove",
    "identity": "simplify.identity:Identity",
    "drop-out": "simplify.drop_out:DropOut",
    "add-n": "simplify.add_n:AddN",
    "algebraic-simplification": "simplify.algebraic_simplification:AlgebraicSimplification",
    "compose-transposes": "simplify.compose_transposes:ComposeTransposes",
    "einsum-to-matmul": "simplify.einsum_to_matmul:EinsumToMatMul",
    "constant-regrouping": "simplify.constant_regrouping:ConstantRegrouping",
    "conv-batchnorm-fusion": "simplify.conv_batchnorm_fusion:ConvBatchnormFusion",
    "conv-scale-fusion": "simplify.conv_scale_fusion:ConvScaleFusion",
    "pad-fusion": "simplify.pad_fusion:PadFusion",
    "matmul-bias-add-fusion": "simplify.matmul_bias_add_fusion:MatMulBiasAddFusion",
    "gemm-fusion": "simplify.gemm_fusion:GemmFusion",
    "matmul-scale-fusion": "simplify.matmul_scale_fusion:MatMulScaleFusion",
    "sibling-matmul-fusion": "simplify.sibling_matmul_fusion:SiblingMatMulFusion",
    "split-sinking": "simplify.split_sinking:SplitSinking",
    "layer-norm-fusion": "simplify.layer_norm_fusion:LayerNormFusion",
    "rms-norm-fusion": "simplify.rms_norm_fusion:RMSNormFusion",
    "activation-fusion": "simplify.activation_fusion:ActivationFusion",
    "common-subexpression-elimination": "simplify.common_subexpression_elimination:CommonSubexpressionElimination",
    "prune": "simplify.prune:Prune",
    "decompose": "simplify.decompose:Decompose",
    "precision": "precision.precision:Precision",
    "op-fusion": "fusion.op_fusion:OpFusion",
    "inline-fusion": "fusion.inline_fusion:InlineFusion",
    "l2-fusion": "l2.l2_fusion:L2Fusion",
    "ge-bufferize": "memory.ge_bufferize:GeBufferize",
    "memory-order": "memory.memory_order:MemoryOrder",
    "memory-reuse": "memory.memory_reuse:MemoryReuse",
}

ASKED_FOR = frozenset(
    {"decompose", "fold-initializer-inputs", "inline-fusion", "l2-fusion", "memory-order", "precision"}
)
"""Those that run at no level by themselves: they, and what they bring, load when somebody names them."""


def _load(place: str) -> type[ModulePass]:
    module, _, name = place.partition(":")
    return getattr(import_module(f".{module}", __package__), name)


def get_all_passes() -> dict[str, Callable[[], type[ModulePass]]]:
    """Name -> what imports the pass's class."""
    return {name: lambda place=place: _load(place) for name, place in _PASSES.items()}
