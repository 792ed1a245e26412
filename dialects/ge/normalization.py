"""
Normalisation: elements less a mean, over a deviation.

What is a mean of the operand itself needs the whole of the axes it goes over; tiles cut the others.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

from xdsl.ir import SSAValue

from .arithmetic import AddOp, MulOp
from .composed import Maker, deviated, element, normalised
from .core import PureOp, ge_op
from .declare import OnnxName, integer, operand, opt_operand, opt_result, real, result, without_hints
from .dims import Dim
from .errors import fail
from .info import Info, axis_of, same_dim, same_element
from .interfaces import Box, Composed, Overwrites, Tiles, Work, broadcast_box
from .types import element_of, shape_of


class Normalization(PureOp, Tiles, Work, Overwrites):
    """Shared by ops whose first result has the shape of their first operand, of which each tile reads the same box."""

    COST: ClassVar[int] = 6
    """Arithmetic of one element: two sums, a difference, a product and a scale."""

    BY_INDEX: ClassVar[bool] = False
    SUMS_FIRST: ClassVar[bool] = True
    """Whether all that an element needs of others is summed up before any is written."""

    def overwrites(self) -> tuple[int, ...]:
        return (0,) if self.SUMS_FIRST else ()

    def covered(self) -> Sequence[int]:
        """Axes that a tile must cover, counted from the front."""
        raise NotImplementedError

    def loops(self) -> tuple[str, ...]:
        rank, covered = len(shape_of(self.results[0].type)), self.covered()
        return tuple("whole" if k in covered else "parallel" for k in range(rank)) + ("reduction",) * len(covered)

    def operand_tiles(self, tile: Box) -> list[Box]:
        return [tile, *(broadcast_box(tile, shape_of(v.type)) for v in self.operands[1:])]

    def flops(self) -> int:
        return self.COST * math.prod(shape_of(self.operands[0].type))


class PerChannel(Normalization):
    """Shared by ops whose operands after the first are vectors of channels, axis 1 of the data."""

    def check_vectors(self, x: Info, vectors: dict[str, Info], code: str) -> Dim:
        """The number of channels, if every vector has as many elements."""
        channels = x.dims[1] if x.rank > 1 else 1
        for what, info in vectors.items():
            if info.rank != 1 or not same_dim(info.dims[0], channels):
                fail(self, f"{what} must be a vector of {channels} elements, got {info.type} ({code})")
        return channels

    def operand_tiles(self, tile: Box) -> list[Box]:
        channels = tile[1:2] or ((0, 1),)
        return [tile, *([channels] * (len(self.operands) - 1))]


@ge_op
class BatchNormalizationOp(PerChannel):
    """
    y[n, c, ...] = (x[n, c, ...] - mean[c]) / sqrt(var[c] + epsilon) * scale[c] + b[c]: inference. What trains, and so
    moves the mean, is ge.opaque.

    C1  x has a batch axis
    C2  scale, b, mean and var are vectors of channels (of one element where x has no axis of channels)

        %y = ge.batch_normalization %x, %s, %b, %m, %v : tensor<?x64x56x56xf32>, tensor<64xf32>, tensor<64xf32>,
               tensor<64xf32>, tensor<64xf32> -> tensor<?x64x56x56xf32>

    Source: ONNX BatchNormalization-15 with training_mode 0; before 14, with one result; before 9, with spatial 1;
    before 7, with is_test 1.
    """

    name = "ge.batch_normalization"
    onnx = OnnxName("BatchNormalization", since=7)
    BY_INDEX: ClassVar[bool] = True
    COST: ClassVar[int] = 4
    x = operand()
    scale = operand()
    b = operand()
    mean = operand()
    var = operand()
    epsilon = real(1e-5)
    momentum = real(0.9)
    spatial = integer(1)
    training_mode = integer(0)
    y = result()

    @classmethod
    def accepts(cls, attrs: dict[str, Any], operands: int, results: int) -> bool:
        return results == 1 and not attrs.get("training_mode", 0) and attrs.get("spatial", 1) == 1

    @classmethod
    def from_older(cls, version: int, attrs: dict[str, Any], operands: Sequence[Info | None]) -> dict[str, Any] | None:
        attrs = without_hints(attrs)
        return attrs if attrs.pop("is_test", 0) == 1 else None

    def to_older(self, version: int) -> dict[str, Any] | None:
        required = {"consumed_inputs": [0, 0, 0, 1, 1]} if version < 6 else {}
        return self.attrs() | {"is_test": 1} | required

    def infer(self, *operands: Any) -> Info:
        x, scale, b, mean, var = operands
        if not x.rank:
            fail(self, f"x must have a batch axis, got {x.type} (C1)")
        self.check_vectors(x, {"scale": scale, "b": b, "mean": mean, "var": var}, "C2")
        return x.like(x.dims)

    def covered(self) -> Sequence[int]:
        return ()


@ge_op
class InstanceNormalizationOp(PerChannel):
    """
    y[n, c] = (x[n, c] - mean) / sqrt(variance + epsilon) * scale[c] + b[c], with mean and variance of x[n, c].

    C1  input has a batch, a channel and at least one spatial axis
    C2  scale and b are vectors of channels
    C3  operands have one element type

        %y = ge.instance_normalization %x, %s, %b
               : tensor<2x8x4x4xf32>, tensor<8xf32>, tensor<8xf32> -> tensor<2x8x4x4xf32>

    Source: ONNX InstanceNormalization-22.
    """

    name = "ge.instance_normalization"
    onnx = OnnxName("InstanceNormalization", since=6)
    input = operand()
    scale = operand()
    b = operand()
    epsilon = real(1e-5)
    output = result()

    @classmethod
    def from_older(cls, version: int, attrs: dict[str, Any], operands: Sequence[Info | None]) -> dict[str, Any] | None:
        return without_hints(attrs)

    def to_older(self, version: int) -> dict[str, Any] | None:
        return self.attrs()

    def infer(self, *operands: Any) -> Info:
        x, scale, b = operands
        if x.rank < 3:
            fail(self, f"input must have a batch, a channel and spatial axes, got {x.type} (C1)")
        self.check_vectors(x, {"scale": scale, "b": b}, "C2")
        same_element(self, "C3", x, scale, b)
        return x.like(x.dims)

    def covered(self) -> Sequence[int]:
        return range(2, len(shape_of(self.input.type)))


@ge_op
class GroupNormalizationOp(PerChannel):
    """
    y[n, c] = (x[n, c] - mean) / sqrt(variance + epsilon) * scale[c] + bias[c], with mean and variance of x[n] over the
    channels of c's group; computed in the element type with ONNX's number stash_type.

    C1  x has a batch, a channel and at least one spatial axis
    C2  scale and bias are vectors of channels
    C3  channels are a multiple of num_groups
    C4  operands have one element type

        %y = ge.group_normalization %x, %s, %b num_groups 2
               : tensor<2x8x4x4xf32>, tensor<8xf32>, tensor<8xf32> -> tensor<2x8x4x4xf32>

    Source: ONNX GroupNormalization-21 (before, scale and bias had an element a group: the same where each channel is
    one).
    """

    name = "ge.group_normalization"
    onnx = OnnxName("GroupNormalization", since=21)
    x = operand()
    scale = operand()
    bias = operand()
    epsilon = real(1e-5)
    num_groups = integer()
    stash_type = integer(1)
    y = result()

    @classmethod
    def from_older(cls, version: int, attrs: dict[str, Any], operands: Sequence[Info | None]) -> dict[str, Any] | None:
        # An element a group is an element a channel where each channel is a group.
        x = operands[0]
        alone = x is not None and x.rank > 1 and x.dims[1] == attrs.get("num_groups")
        return attrs if alone else None

    def to_older(self, version: int) -> dict[str, Any] | None:
        alone = shape_of(self.x.type)[1] == self.num_groups and self.stash_type == 1
        return self.attrs() if alone else None

    def infer(self, *operands: Any) -> Info:
        x, scale, bias = operands
        if x.rank < 3:
            fail(self, f"x must have a batch, a channel and spatial axes, got {x.type} (C1)")
        channels = self.check_vectors(x, {"scale": scale, "bias": bias}, "C2")
        if self.num_groups < 1 or (isinstance(channels, int) and channels % self.num_groups):
            fail(self, f"channels must be a multiple of num_groups {self.num_groups}, got {channels} (C3)")
        same_element(self, "C4", x, scale, bias)
        return x.like(x.dims)

    def covered(self) -> Sequence[int]:
        return range(1, len(shape_of(self.x.type)))


def _check_broadcasts(op: PureOp, what: str, info: Info | None, x: Info, code: str) -> None:
    if info is None:
        return
    fits = [d == 1 or same_dim(d, m) for d, m in zip(reversed(info.dims), reversed(x.dims), strict=False)]
    if info.rank > x.rank or not all(fits):
        fail(op, f"{what} must broadcast to {list(x.dims)}, got {info.type} ({code})")


@ge_op
class LayerNormalizationOp(Normalization, Composed):
    """
    y = (x - mean) * inv_std_dev * scale + b, with mean and inv_std_dev = 1 / sqrt(variance + epsilon) over `axis` and
    all axes after it, computed in the element type with ONNX's number stash_type; scale and b broadcast to x.

    C1  axis is one of x
    C2  stash_type is 1 (f32) or 16 (bf16)
    C3  scale and b broadcast to x
    C4  x, scale and b have one element type

        %y = ge.layer_normalization %x, %s, %b axis 2
               : tensor<?x128x768xf32>, tensor<768xf32>, tensor<768xf32> -> tensor<?x128x768xf32>

    Source: ONNX LayerNormalization-17.
    """

    name = "ge.layer_normalization"
    onnx = OnnxName("LayerNormalization", since=17)
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
        if self.stash_type not in (1, 16):
            fail(self, f"stash_type must be 1 or 16, got {self.stash_type} (C2)")
        _check_broadcasts(self, "scale", scale, x, "C3")
        _check_broadcasts(self, "b", b, x, "C3")
        same_element(self, "C4", x, scale, b)
        statistics = Info(element_of(self.stash_type).type, (*x.dims[:axis], *[1] * (x.rank - axis)))
        given = zip([x.like(x.dims), statistics, statistics], self.results_by_slot(), strict=False)
        return [info for info, value in given if value is not None]

    def covered(self) -> Sequence[int]:
        rank = len(shape_of(self.x.type))
        return range(self.axis % rank, rank)

    def expansion(self, make: Maker, *operands: Any) -> list[SSAValue]:
        x, scale, b = operands
        stash = element_of(self.stash_type).type
        y, *statistics = normalised(make, x, self.axis, self.epsilon, stash)
        y = make(MulOp, y, scale)
        found = zip([y if b is None else make(AddOp, y, b), *statistics], self.results_by_slot(), strict=False)
        return [new for new, value in found if value is not None]


@ge_op
class RMSNormalizationOp(Normalization, Composed):
    """
    y = x / sqrt(mean of x * x + epsilon) * scale, the mean over `axis` and all axes after it, computed in the element
    type with ONNX's number stash_type; scale broadcasts to x. The result has scale's element type.

    C1  axis is one of x
    C2  scale broadcasts to x

        %y = ge.rms_normalization %x, %s : tensor<?x128x768xf16>, tensor<768xf16> -> tensor<?x128x768xf16>

    Source: ONNX RMSNormalization-23.
    """

    name = "ge.rms_normalization"
    onnx = OnnxName("RMSNormalization", since=23)
    COST: ClassVar[int] = 4
    x = operand()
    scale = operand()
    axis = integer(-1)
    epsilon = real(1e-5)
    stash_type = integer(1)
    y = result()

    def infer(self, *operands: Any) -> Info:
        x, scale = operands
        axis_of(self, self.axis, x.rank, "C1")
        _check_broadcasts(self, "scale", scale, x, "C2")
        return Info(scale.element, x.dims)

    def covered(self) -> Sequence[int]:
        rank = len(shape_of(self.x.type))
        return range(self.axis % rank, rank)

    def expansion(self, make: Maker, *operands: Any) -> SSAValue:
        x, scale = operands
        y, _ = deviated(make, x, self.axis, self.epsilon, element_of(self.stash_type).type)
        return make(MulOp, make.cast(y, element(scale)), scale)
