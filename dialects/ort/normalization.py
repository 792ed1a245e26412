"""
Normalisation of sums: what stands between the blocks of a transformer.

ONNX Runtime writes LayerNormalization into models of any operator set, in ONNX's own domain, long before ONNX had it;
SimplifiedLayerNormalization (without a mean) stands there too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from xdsl.dialects.builtin import i32
from xdsl.ir import SSAValue

from ..ge.arithmetic import AddOp
from ..ge.composed import Maker, deviated
from ..ge.conversion import CastOp
from ..ge.core import PureOp, ge_op
from ..ge.declare import OnnxName, integer, operand, opt_operand, opt_result, real, result
from ..ge.dims import Dim
from ..ge.errors import fail
from ..ge.gather import GatherOp
from ..ge.info import Info, axis_of, either, same_dim, same_element
from ..ge.interfaces import Composed
from ..ge.movement import UnsqueezeOp
from ..ge.normalization import LayerNormalizationOp as StandardLayerNormalizationOp
from ..ge.normalization import Normalization, RMSNormalizationOp
from ..ge.reduction import ReduceSumOp
from ..ge.shape import ConstantOfShapeOp
from ..ge.types import element_of, shape_of
from .activation import MICROSOFT


def check_tail(op: PureOp, what: str, info: Info | None, dims: Sequence[Dim], code: str) -> None:
    """A scale or an addend has the dims that are normalised."""
    if info is not None and (info.rank != len(dims) or not all(map(same_dim, info.dims, dims))):
        fail(op, f"{what} must have the dims {list(dims)}, got {info.type} ({code})")


@ge_op
class LayerNormalizationOp(Normalization, Composed):
    """
    y = (x - mean) * inv_std_dev * scale + b, with mean and inv_std_dev = 1 / sqrt(variance + epsilon) over `axis` and
    all axes after it.

    C1  axis is one of x
    C2  scale and b have the dims that are normalised, and x's element type
    C3  stash_type is 1: statistics are of f32

        %y = ort.layer_normalization %x, %s, %b
               : tensor<?x128x768xf32>, tensor<768xf32>, tensor<768xf32> -> tensor<?x128x768xf32>

    Source: ONNX Runtime's LayerNormalization-1, in models before opset 17.
    """

    name = "ort.layer_normalization"
    onnx = OnnxName("LayerNormalization", foreign=True)
    x = operand()
    scale = operand()
    b = opt_operand()
    axis = integer(-1)
    epsilon = real(1e-5)
    stash_type = integer(1)
    y = result()
    mean = opt_result()
    inv_std_dev = opt_result()

    def infer(self, *operands: Any) -> list[Info]:
        x, scale, b = operands
        axis = axis_of(self, self.axis, x.rank, "C1")
        check_tail(self, "scale", scale, x.dims[axis:], "C2")
        check_tail(self, "b", b, x.dims[axis:], "C2")
        same_element(self, "C2", x, scale, b)
        if self.stash_type != 1:
            fail(self, f"stash_type must be 1, got {self.stash_type} (C3)")
        statistics = Info(element_of(1).type, (*x.dims[:axis], *[1] * (x.rank - axis)))
        given = zip([x.like(x.dims), statistics, statistics], self.results_by_slot(), strict=False)
        return [info for info, value in given if value is not None]

    def covered(self) -> Sequence[int]:
        rank = len(shape_of(self.x.type))
        return range(self.axis % rank, rank)

    def expansion(self, make: Maker, *operands: Any) -> Sequence[SSAValue]:
        there = [value is not None for value in self.results_by_slot()]
        return make.all(StandardLayerNormalizationOp, *operands, results=there, **self.attrs())


@ge_op
class SimplifiedLayerNormalizationOp(Normalization, Composed):
    """
    y = x / sqrt(mean of x * x + epsilon) * scale, the mean over `axis` and all axes after it; and 1 / that root.

    C1  axis is one of x
    C2  scale has the dims that are normalised; y has its element type
    C3  stash_type is 1: statistics are of f32

        %y = ort.simplified_layer_normalization %x, %s : tensor<?x128x768xf32>, tensor<768xf32> -> tensor<?x128x768xf32>

    Source: ONNX Runtime's SimplifiedLayerNormalization-1, in ONNX's own domain.
    """

    name = "ort.simplified_layer_normalization"
    onnx = OnnxName("SimplifiedLayerNormalization", foreign=True)
    COST: ClassVar[int] = 4
    x = operand()
    scale = operand()
    axis = integer(-1)
    epsilon = real(1e-5)
    stash_type = integer(1)
    y = result()
    inv_std_var = opt_result()

    def infer(self, *operands: Any) -> list[Info]:
        x, scale = operands
        axis = axis_of(self, self.axis, x.rank, "C1")
        check_tail(self, "scale", scale, x.dims[axis:], "C2")
        if self.stash_type != 1:
            fail(self, f"stash_type must be 1, got {self.stash_type} (C3)")
        statistics = Info(element_of(1).type, (*x.dims[:axis], *[1] * (x.rank - axis)))
        return [Info(scale.element, x.dims), statistics][: len(self.results)]

    def covered(self) -> Sequence[int]:
        rank = len(shape_of(self.x.type))
        return range(self.axis % rank, rank)

    def expansion(self, make: Maker, *operands: Any) -> Sequence[SSAValue]:
        x, scale = operands
        y = make(RMSNormalizationOp, x, scale, axis=self.axis, epsilon=self.epsilon)
        if self.inv_std_var is None:
            return [y]
        _, inverse = deviated(make, x, self.axis, self.epsilon, element_of(1).type)
        return [y, inverse]


class _OfSum(Normalization, Composed):
    """
    Shared by normalisations of input + skip + bias along the last axis, which may give the sum as well.

    C1  input is [batch, positions, width] or [positions, width]; skip has its dims, or those without the batch, or with
        a batch of 1
    C2  gamma, beta and bias are vectors of width
    C3  operands have one element type
    C4  statistics are not asked for: they are for training
    """

    def summed(self, x: Info, skip: Info, vectors: dict[str, Info | None]) -> list[Info]:
        fits = x.rank in (2, 3) and skip.rank in (x.rank, x.rank - 1) and skip.rank >= 2
        if not fits or not self._broadcasts(x, skip):
            fail(self, f"skip must be added to {x.type}, got {skip.type} (C1)")
        for what, info in vectors.items():
            check_tail(self, what, info, x.dims[-1:], "C2")
        same_element(self, "C3", x, skip, *vectors.values())
        there = [value is not None for value in self.results_by_slot()]
        if True in there[1:3]:
            fail(self, "mean and inv_std_var must be left out (C4)")
        dims = [either(d, s) for d, s in zip(x.dims[-2:], skip.dims[-2:], strict=True)]
        return [x.like((*x.dims[:-2], *dims))] * sum(there)

    @staticmethod
    def _broadcasts(x: Info, skip: Info) -> bool:
        same = all(map(same_dim, x.dims[-2:], skip.dims[-2:]))
        return same and (skip.rank == 2 or skip.dims[0] == 1 or same_dim(skip.dims[0], x.dims[0]))

    def covered(self) -> Sequence[int]:
        return (len(shape_of(self.results[0].type)) - 1,)

    def sum(self, make: Maker, x: SSAValue, skip: SSAValue, bias: SSAValue | None) -> SSAValue:
        found = make(AddOp, x, skip)
        return found if bias is None else make(AddOp, found, bias)


@ge_op
class SkipLayerNormalizationOp(_OfSum):
    """
    The LayerNormalization of input + skip + bias along the last axis, and that sum.

    C1  input is [batch, positions, width] or [positions, width]; skip has its dims, or those without the batch, or with
        a batch of 1
    C2  gamma, beta and bias are vectors of width
    C3  operands have one element type
    C4  statistics are not asked for: they are for training

        %y = ort.skip_layer_normalization %x, %s, %g, %b epsilon 1e-12 : tensor<1x128x768xf32>,
             tensor<1x128x768xf32>, tensor<768xf32>, tensor<768xf32> -> tensor<1x128x768xf32>

    Source: com.microsoft SkipLayerNormalization-1.
    """

    name = "ort.skip_layer_normalization"
    onnx = OnnxName("SkipLayerNormalization", domain=MICROSOFT)
    input = operand()
    skip = operand()
    gamma = operand()
    beta = opt_operand()
    bias = opt_operand()
    epsilon = real(1e-12)
    output = result()
    mean = opt_result()
    inv_std_var = opt_result()
    input_skip_bias_sum = opt_result()

    def infer(self, *operands: Any) -> list[Info]:
        x, skip, gamma, beta, bias = operands
        return self.summed(x, skip, {"gamma": gamma, "beta": beta, "bias": bias})

    def expansion(self, make: Maker, *operands: Any) -> Sequence[SSAValue]:
        x, skip, gamma, beta, bias = operands
        total = self.sum(make, x, skip, bias)
        return [make(StandardLayerNormalizationOp, total, gamma, beta, epsilon=self.epsilon), total][
            : len(self.results)
        ]


@ge_op
class SkipSimplifiedLayerNormalizationOp(_OfSum):
    """
    The normalisation without a mean of input + skip + bias along the last axis, and that sum.

    C1  input is [batch, positions, width] or [positions, width]; skip has its dims, or those without the batch, or with
        a batch of 1
    C2  gamma and bias are vectors of width
    C3  operands have one element type
    C4  statistics are not asked for: they are for training

        %y, %s = ort.skip_simplified_layer_normalization %x, %r, %g : tensor<1x128x768xf32>, tensor<1x128x768xf32>,
             tensor<768xf32> -> tensor<1x128x768xf32>, none, none, tensor<1x128x768xf32>

    Source: com.microsoft SkipSimplifiedLayerNormalization-1.
    """

    name = "ort.skip_simplified_layer_normalization"
    onnx = OnnxName("SkipSimplifiedLayerNormalization", domain=MICROSOFT)
    COST: ClassVar[int] = 5
    input = operand()
    skip = operand()
    gamma = operand()
    bias = opt_operand()
    epsilon = real(1e-12)
    output = result()
    mean = opt_result()
    inv_std_var = opt_result()
    input_skip_bias_sum = opt_result()

    def infer(self, *operands: Any) -> list[Info]:
        x, skip, gamma, bias = operands
        return self.summed(x, skip, {"gamma": gamma, "bias": bias})

    def expansion(self, make: Maker, *operands: Any) -> Sequence[SSAValue]:
        x, skip, gamma, bias = operands
        total = self.sum(make, x, skip, bias)
        return [make(RMSNormalizationOp, total, gamma, epsilon=self.epsilon), total][: len(self.results)]


@ge_op
class EmbedLayerNormalizationOp(PureOp, Composed):
    """
    The LayerNormalization of the sum of three embeddings: rows of words, positions (position_ids, or 0, 1, ...) and
    segments; how many words of each row of `mask` are 1; and the sum itself.

    C1  input_ids, segment_ids and mask are [batch, positions] of i32, position_ids too or with a batch of 1
    C2  the tables are matrices of one width, gamma and beta vectors of it, of one element type
    C3  segment_ids and segment_embedding are given together

        %y, %n = ort.embed_layer_normalization %i, %s, %w, %p, %t, %g, %b, %m : tensor<1x128xi32>, tensor<1x128xi32>,
             tensor<30522x768xf32>, tensor<512x768xf32>, tensor<2x768xf32>, tensor<768xf32>, tensor<768xf32>,
             tensor<1x128xi32> -> tensor<1x128x768xf32>, tensor<1xi32>

    Source: com.microsoft EmbedLayerNormalization-1.
    """

    name = "ort.embed_layer_normalization"
    onnx = OnnxName("EmbedLayerNormalization", domain=MICROSOFT)
    input_ids = operand()
    segment_ids = opt_operand()
    word_embedding = operand()
    position_embedding = operand()
    segment_embedding = opt_operand()
    gamma = operand()
    beta = operand()
    mask = opt_operand()
    position_ids = opt_operand()
    epsilon = real(1e-12)
    mask_index_type = integer(0)
    output = result()
    mask_index = opt_result()
    embedding_sum = opt_result()

    def infer(self, *operands: Any) -> list[Info]:
        ids, segments, words, positions, kinds, gamma, beta, mask, places = operands
        for what, info in (("segment_ids", segments), ("mask", mask), ("position_ids", places)):
            one = info is places and info is not None and info.rank == 2 and info.dims[0] == 1
            if info is not None and not one:
                check_tail(self, what, info, ids.dims, "C1")
        if ids.rank != 2 or any(i is not None and i.element != i32 for i in (ids, segments, mask, places)):
            fail(self, f"input_ids must be [batch, positions] of i32, and what goes with it, got {ids.type} (C1)")
        tables = [t for t in (words, positions, kinds) if t is not None]
        same_element(self, "C2", *tables, gamma, beta)
        width = words.dims[-1:]
        if any(t.rank != 2 or not same_dim(t.dims[1], width[0]) for t in tables):
            fail(self, f"the tables must be matrices of one width, got {', '.join(str(t.type) for t in tables)} (C2)")
        check_tail(self, "gamma", gamma, width, "C2")
        check_tail(self, "beta", beta, width, "C2")
        if (segments is None) != (kinds is None):
            fail(self, "segment_ids and segment_embedding must be given together (C3)")
        y = words.like((*ids.dims, *width))
        given = zip([y, Info(i32, ids.dims[:1]), y], self.results_by_slot(), strict=False)
        return [info for info, value in given if value is not None]

    def expansion(self, make: Maker, *operands: Any) -> Sequence[SSAValue]:
        ids, segments, words, positions, kinds, gamma, beta, mask, places = operands
        at = make(UnsqueezeOp, make.count(make.size(ids, 1)), make.ints(0)) if places is None else places
        total = make(AddOp, make(GatherOp, words, ids), make(GatherOp, positions, at))
        if segments is not None:
            total = make(AddOp, total, make(GatherOp, kinds, segments))
        y = make(StandardLayerNormalizationOp, total, gamma, beta, epsilon=self.epsilon)
        found: list[SSAValue | None] = [y, None, total]
        if self.mask_index is not None and mask is not None:
            found[1] = make(ReduceSumOp, mask, make.ints(1), keepdims=0)
        elif self.mask_index is not None:
            nothing = make(ConstantOfShapeOp, make(UnsqueezeOp, make.size(ids, 0), make.ints(0)))
            found[1] = make(CastOp, nothing, to=i32)
        given = zip(found, self.results_by_slot(), strict=False)
        return [new for new, value in given if value is not None and new is not None]
