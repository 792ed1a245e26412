"""Products with what stands around them taken in: transposes, a scale, an activation, weights of a few bits."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from xdsl.dialects.builtin import i32
from xdsl.ir import SSAValue

from ..ge.activation import ClipOp, HardSigmoidOp, LeakyReluOp, ReluOp
from ..ge.arithmetic import AddOp, DivOp, ModOp, MulOp, SubOp
from ..ge.composed import Maker, element
from ..ge.contraction import GemmOp, GeneralProduct, MatMulOp, MatrixProduct
from ..ge.convolution import Convolution, ConvOp
from ..ge.core import PureOp, ge_op
from ..ge.declare import OnnxName, integer, operand, opt_operand, opt_reals, real, result, text
from ..ge.errors import fail
from ..ge.info import Info, info_of_type, same_dim, same_element
from ..ge.interfaces import Box, Composed, Contraction, Tiles, whole
from ..ge.movement import UnsqueezeOp
from ..ge.quantization import UI8
from ..ge.shapes import first_cut
from ..ge.slicing import ConcatOp
from ..ge.smooth import SigmoidOp
from ..ge.trigonometry import TanhOp
from ..ge.types import is_float, shape_of
from .activation import MICROSOFT


@ge_op
class FusedMatMulOp(MatrixProduct, Composed):
    """
    y = alpha * a' b', where a' is a with its last two axes exchanged with transA, and b' likewise; a vector stays.

    C1 to C3  as for every matrix product, of a' and b'
    C4  a and b have one element type
    C5  transBatchA and transBatchB are 0

        %y = ort.fused_matmul %a, %b alpha 0.125 transB 1
               : tensor<?x12x64x32xf32>, tensor<?x12x48x32xf32> -> tensor<?x12x64x48xf32>

    Source: com.microsoft FusedMatMul-1.
    """

    name = "ort.fused_matmul"
    onnx = OnnxName("FusedMatMul", domain=MICROSOFT)
    a = operand()
    b = operand()
    alpha = real(1.0)
    transA = integer(0)
    transB = integer(0)
    transBatchA = integer(0)
    transBatchB = integer(0)
    y = result()

    def infer(self, *operands: Any) -> Info:
        a, b = operands
        if self.transBatchA or self.transBatchB:
            fail(self, "transBatchA and transBatchB must be 0 (C5)")
        dims = self.product_dims(a.like(_turned(a.dims, self.transA)), b.like(_turned(b.dims, self.transB)))
        return Info(same_element(self, "C4", a, b), tuple(dims))

    def factors(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        return _turned(shape_of(self.a.type), self.transA), _turned(shape_of(self.b.type), self.transB)

    def operand_tiles(self, tile: Box) -> list[Box]:
        a, b = self.factor_tiles(tile)
        return [_turned(a, self.transA), _turned(b, self.transB)]

    def expansion(self, make: Maker, *operands: Any) -> SSAValue:
        a, b = (
            x if _rank(x) < 2 or not turned else make.transpose(x, *_turned(tuple(range(_rank(x))), 1))
            for x, turned in zip(operands, (self.transA, self.transB), strict=True)
        )
        y = make(MatMulOp, a, b)
        return y if self.alpha == 1 else make(MulOp, y, make.number(self.alpha, y))


def _turned(axes: tuple[Any, ...], turned: int) -> tuple[Any, ...]:
    return (*axes[:-2], axes[-1], axes[-2]) if turned and len(axes) > 1 else axes


def _rank(value: SSAValue) -> int:
    return info_of_type(value.type).rank


# ------------------------------------------------------------------ an activation after the product


def check_activation(op: PureOp, kind: str, given: Sequence[float], code: str) -> None:
    """The activation is one that is known, with as many numbers as it needs."""
    needed = {"": 0, "Relu": 0, "Sigmoid": 0, "Tanh": 0, "LeakyRelu": 1, "Clip": 2, "HardSigmoid": 2}
    if needed.get(kind, len(given) + 1) > len(given):
        fail(op, f"activation must be one of {', '.join(filter(None, needed))}, with its numbers, got {kind} ({code})")


def activated(make: Maker, x: SSAValue, kind: str, given: Sequence[float]) -> SSAValue:
    match kind:
        case "Relu":
            return make(ReluOp, x)
        case "Sigmoid":
            return make(SigmoidOp, x)
        case "Tanh":
            return make(TanhOp, x)
        case "LeakyRelu":
            return make(LeakyReluOp, x, alpha=given[0])
        case "HardSigmoid":
            return make(HardSigmoidOp, x, alpha=given[0], beta=given[1])
        case "Clip":
            return make(ClipOp, x, make.number(given[0], x), make.number(given[1], x))
        case _:
            return x


@ge_op
class FusedConvOp(Convolution, Composed):
    """
    y = activation(conv(x, w) + b + z)

    C1 to C5  as for every window; the kernel's shape is w's
    C6  w has x's rank; channels of x = group * dim 1 of w; output channels are a multiple of group
    C7  operands have one element type
    C8  b is a vector of output channels
    C9  z has the result's shape
    C10  activation is Relu, Sigmoid, Tanh, LeakyRelu (alpha), HardSigmoid (alpha, beta) or Clip (min, max); its numbers
         are activation_params

        %y = ort.fused_conv %x, %w, %b activation "Relu" pads [1, 1, 1, 1]
               : tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>, tensor<4xf32> -> tensor<1x4x8x8xf32>

    Source: com.microsoft FusedConv-1.
    """

    name = "ort.fused_conv"
    onnx = OnnxName("FusedConv", domain=MICROSOFT, implied=("kernel_shape",))
    PER_CHANNEL: ClassVar[tuple[str, ...]] = ("b",)
    x = operand()
    w = operand()
    b = opt_operand()
    z = opt_operand()
    activation = text("")
    activation_params = opt_reals()
    y = result()

    def infer(self, *operands: Any) -> Info:
        x, w, b, z = operands
        n, outs, *sizes = self.convolved(x, w)
        dims = self.to_physical([n, outs, *sizes])
        element = same_element(self, "C7", x, w, b, z)
        if b is not None and (b.rank != 1 or not same_dim(b.dims[0], outs)):
            fail(self, f"b must be a vector of {outs} elements, got {b.type} (C8)")
        if z is not None and (z.rank != x.rank or not all(map(same_dim, z.dims, dims))):
            fail(self, f"z must have the result's shape, got {z.type} (C9)")
        check_activation(self, self.activation, self.activation_params or (), "C10")
        return Info(element, dims)

    def operand_tiles(self, tile: Box) -> list[Box]:
        boxes = super().operand_tiles(tile)
        return boxes if self.z is None else [*boxes[:-1], tile]

    def expansion(self, make: Maker, *operands: Any) -> SSAValue:
        x, w, b, z = operands
        own = ("activation", "activation_params")
        y = make(ConvOp, x, w, b, **{name: value for name, value in self.attrs().items() if name not in own})
        y = y if z is None else make(AddOp, y, z)
        return activated(make, y, self.activation, self.activation_params or ())


@ge_op
class FusedGemmOp(GeneralProduct, Composed):
    """
    y = activation(alpha * a' b' + beta * c)

    C1 to C4  as for every general product
    C5  activation is Relu, Sigmoid, Tanh, LeakyRelu (activation_alpha) or HardSigmoid (activation_alpha,
        activation_beta)

        %y = ort.fused_gemm %a, %b, %c activation "Relu"
               : tensor<?x256xf32>, tensor<256x10xf32>, tensor<10xf32> -> tensor<?x10xf32>

    Source: com.microsoft FusedGemm-1.
    """

    name = "ort.fused_gemm"
    onnx = OnnxName("FusedGemm", domain=MICROSOFT)
    activation = text("")
    activation_alpha = real(0.0)
    activation_beta = real(0.0)
    activation_gamma = real(0.0)

    def numbers(self) -> tuple[float, ...]:
        return () if self.activation == "Clip" else (self.activation_alpha, self.activation_beta)

    def infer(self, *operands: Any) -> Info:
        check_activation(self, self.activation, self.numbers(), "C5")
        return super().infer(*operands)

    def expansion(self, make: Maker, *operands: Any) -> SSAValue:
        own = {name: value for name, value in self.attrs().items() if not name.startswith("activation")}
        return activated(make, make(GemmOp, *operands, **own), self.activation, self.numbers())


# ------------------------------------------------------------------ weights of a few bits


@ge_op
class MatMulNBitsOp(PureOp, Tiles, Contraction, Composed):
    """
    y = a b^T + bias, with b[n, k] = (q[n, k] - zero_point) * scale: q has `bits` bits, the lowest first, a scale and a
    zero point (half of q's range where there is none) go with block_size elements of a row.

    C1  a has K elements in its last axis
    C2  bits is 4 or 8, and block_size a multiple of 16
    C3  b is [N, blocks of a row, bytes of a block], of ui8
    C4  scales are N * blocks of a's element type; zero points as many, of that type or packed in ui8 like b, each row
        from a byte of its own
    C5  g_idx is not there
    C6  bias is a vector of N

        %y = ort.matmul_nbits %a, %b, %s K 64 N 32 bits 4 block_size 32
               : tensor<?x64xf32>, tensor<32x2x16xui8>, tensor<64xf32> -> tensor<?x32xf32>

    Source: com.microsoft MatMulNBits-1.
    """

    name = "ort.matmul_nbits"
    onnx = OnnxName("MatMulNBits", domain=MICROSOFT)
    a = operand()
    b = operand()
    scales = operand()
    zero_points = opt_operand()
    g_idx = opt_operand()
    bias = opt_operand()
    K = integer()
    N = integer()
    accuracy_level = integer(0)
    bits = integer(4)
    block_size = integer()
    y = result()

    @property
    def blocks(self) -> int:
        return -(-self.K // self.block_size)

    def infer(self, *operands: Any) -> Info:
        a, b, scales, zero, g_idx, bias = operands
        if not a.rank or not same_dim(a.dims[-1], self.K):
            fail(self, f"a must have {self.K} elements in its last axis, got {a.type} (C1)")
        if self.bits not in (4, 8) or self.block_size < 16 or self.block_size % 16 or self.K < 1 or self.N < 1:
            fail(self, f"bits must be 4 or 8 and block_size a multiple of 16, got {self.bits}, {self.block_size} (C2)")
        packed = (self.N, self.blocks, self.block_size * self.bits // 8)
        if b.element != UI8 or b.rank != 3 or not all(map(same_dim, b.dims, packed)):
            fail(self, f"b must be {list(packed)} of ui8, got {b.type} (C3)")
        count = self.N * self.blocks
        if not is_float(a.element) or scales.element != a.element or not same_dim(scales.count, count):
            fail(self, f"scales must be {count} of {a.element}, got {scales.type} (C4)")
        if zero is not None:
            expected = count if zero.element == a.element else self.N * -(-self.blocks * self.bits // 8)
            if zero.element not in (a.element, UI8) or not same_dim(zero.count, expected):
                fail(self, f"zero points must be {expected} of {a.element} or packed, got {zero.type} (C4)")
        if g_idx is not None:
            fail(self, "g_idx must be left out (C5)")
        if bias is not None and (bias.rank != 1 or not same_dim(bias.dims[0], self.N) or bias.element != a.element):
            fail(self, f"bias must be a vector of {self.N}, got {bias.type} (C6)")
        return a.like((*a.dims[:-1], self.N))

    def flops(self) -> int:
        return 2 * math.prod(shape_of(self.a.type)) * self.N

    def loops(self) -> tuple[str, ...]:
        # Scales of some columns lie in a row only if their operand has an axis of columns, which it need not.
        return ("parallel",) * (len(shape_of(self.a.type)) - 1) + ("whole", "reduction")

    def operand_tiles(self, tile: Box) -> list[Box]:
        return first_cut(self, (*tile[:-1], whole(self.a)[-1]))

    def expansion(self, make: Maker, *operands: Any) -> SSAValue:
        a, b, scales, zero, _, bias = operands
        shape = (self.N, self.blocks, self.block_size)
        numbers = self._unpacked(make, b, shape, a)
        if zero is None:
            middle = make.number(1 << (self.bits - 1), a)
        elif element(zero) == element(a):
            middle = make.reshape(zero, self.N, self.blocks, 1)
        else:
            middle = make(UnsqueezeOp, self._unpacked(make, zero, (self.N, self.blocks), a), make.ints(2))
        weights = make(MulOp, make(SubOp, numbers, middle), make.reshape(scales, self.N, self.blocks, 1))
        weights = make.reshape(weights, self.N, self.blocks * self.block_size)
        if self.blocks * self.block_size != self.K:
            weights = make.slice(weights, 0, self.K, 1)
        y = make(MatMulOp, a, make.transpose(weights, 1, 0))
        return y if bias is None else make(AddOp, y, bias)

    def _unpacked(self, make: Maker, packed: SSAValue, shape: tuple[int, ...], like: SSAValue) -> SSAValue:
        """The numbers in the bytes of each row as floats, in `shape`."""
        if self.bits == 8:
            return make.cast(make.reshape(packed, *shape), element(like))
        wide = make.cast(packed, i32)
        sixteen = make.constant(np.int32(16))
        halves = [make(ModOp, wide, sixteen), make(DivOp, wide, sixteen)]
        last = make.ints(_rank(packed))
        pairs = make(ConcatOp, *(make(UnsqueezeOp, half, last) for half in halves), axis=_rank(packed))
        rows = make.reshape(pairs, self.N, -1)
        if math.prod(shape[1:]) % 2:  # a row ends within a byte
            rows = make.slice(rows, 0, math.prod(shape[1:]), 1)
        return make.cast(make.reshape(rows, *shape), element(like))
