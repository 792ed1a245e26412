"""Tile cases of elementwise ops, with and without broadcasting, and of conversions with a scale."""

from collections.abc import Callable
from typing import Any

import numpy as np
from xdsl.dialects.builtin import f16, i32

from gecc.dialects.ge import activation, arithmetic, bitwise, comparison, math, smooth, trigonometry
from gecc.dialects.ge.activation import ClipOp, DropoutOp, PReluOp
from gecc.dialects.ge.arithmetic import MeanOp, Variadic
from gecc.dialects.ge.bitwise import BitShiftOp, BitwiseBinary, BitwiseNotOp
from gecc.dialects.ge.comparison import Logical, WhereOp
from gecc.dialects.ge.conversion import BitCastOp, CastLikeOp, CastOp
from gecc.dialects.ge.core import GeOp
from gecc.dialects.ge.elementwise import Unary
from gecc.dialects.ge.features import BinarizerOp
from gecc.dialects.ge.math import NotOp
from gecc.dialects.ge.quantization import DequantizeLinearOp, QuantizeLinearOp
from gecc.dialects.ge.smooth import SwiGLUOp

Rng = np.random.Generator
Case = Callable[[Rng], tuple[type[GeOp], list[Any], dict[str, Any]]]
FAMILIES = (activation, arithmetic, bitwise, comparison, math, smooth, trigonometry)


def dims(rng: Rng) -> list[int]:
    return [int(d) for d in rng.integers(1, 6, int(rng.integers(1, 4)))]


def narrowed(rng: Rng, shape: list[int]) -> list[int]:
    """A shape that broadcasts to `shape`: fewer axes, some of them 1."""
    tail = shape[int(rng.integers(len(shape) + 1)) :]
    return [d if rng.integers(2) else 1 for d in tail]


def numbers(rng: Rng, shape: list[int], kind: str = "f") -> np.ndarray:
    if kind == "f":
        return rng.standard_normal(shape).astype(np.float32)
    return rng.integers(0, 2 if kind == "b" else 7, shape).astype({"b": np.bool_, "i": np.int32}[kind])


def kind_of(cls: type[GeOp]) -> str:
    if issubclass(cls, BitwiseBinary | BitwiseNotOp):
        return "i"
    return "b" if issubclass(cls, Logical | NotOp) else "f"


def plain(cls: type[GeOp]) -> Case:
    """A case of an op whose operands all broadcast to the result."""

    def case(rng: Rng) -> tuple[type[GeOp], list[Any], dict[str, Any]]:
        shape, count = dims(rng), 1 if issubclass(cls, Unary) else 3 if issubclass(cls, Variadic) else 2
        others = [narrowed(rng, shape) for _ in range(count - 1)]
        # ONNX's evaluator has Mean's first operand take the sum.
        first = issubclass(cls, PReluOp | MeanOp) or bool(rng.integers(2))
        shapes = [shape, *others] if first else [*others, shape]
        attrs = {"direction": "RIGHT"} if cls is BitShiftOp else {}
        return cls, [numbers(rng, s, kind_of(cls)) for s in shapes], attrs

    return case


def clip(rng: Rng) -> tuple[type[GeOp], list[Any], dict[str, Any]]:
    low, high = (np.float32(b) if rng.integers(2) else None for b in (-0.5, 0.5))
    return ClipOp, [numbers(rng, dims(rng)), *(None if b is None else np.array(b) for b in (low, high))], {}


def dropout(rng: Rng) -> tuple[type[GeOp], list[Any], dict[str, Any]]:
    return DropoutOp, [numbers(rng, dims(rng)), np.array(0.5, np.float32)], {}


def where(rng: Rng) -> tuple[type[GeOp], list[Any], dict[str, Any]]:
    shape = dims(rng)
    return (
        WhereOp,
        [numbers(rng, narrowed(rng, shape), "b"), numbers(rng, shape), numbers(rng, narrowed(rng, shape))],
        {},
    )


def cast(rng: Rng) -> tuple[type[GeOp], list[Any], dict[str, Any]]:
    return CastOp, [numbers(rng, dims(rng))], {"to": f16}


def cast_like(rng: Rng) -> tuple[type[GeOp], list[Any], dict[str, Any]]:
    return CastLikeOp, [numbers(rng, dims(rng)), np.zeros(dims(rng), np.float16)], {}


def scaled(rng: Rng, cls: type[GeOp], x: np.ndarray) -> tuple[type[GeOp], list[Any], dict[str, Any]]:
    axis, block = int(rng.integers(x.ndim)), int(rng.integers(1, 4))
    blocks = list(x.shape)
    blocks[axis] = -(-blocks[axis] // block)
    shape, attrs = [
        ([], {}),
        ([x.shape[axis]], {"axis": axis}),
        (blocks, {"axis": axis - x.ndim, "block_size": block}),
    ][int(rng.integers(3))]
    scale = (rng.random(shape) + 0.1).astype(np.float32)
    zero = rng.integers(-3, 4, shape).astype(np.int8) if rng.integers(2) or cls is QuantizeLinearOp else None
    return cls, [x, np.asarray(scale), None if zero is None else np.asarray(zero)], attrs


def quantize(rng: Rng) -> tuple[type[GeOp], list[Any], dict[str, Any]]:
    return scaled(rng, QuantizeLinearOp, numbers(rng, dims(rng)))


def dequantize(rng: Rng) -> tuple[type[GeOp], list[Any], dict[str, Any]]:
    return scaled(rng, DequantizeLinearOp, rng.integers(-9, 9, dims(rng)).astype(np.int8))


PLAIN = [
    op
    for family in FAMILIES
    for op in vars(family).values()
    if isinstance(op, type) and issubclass(op, GeOp) and getattr(op, "name", "").startswith("ge.")
]


def bit_cast(rng: Rng) -> tuple[type[GeOp], list[Any], dict[str, Any]]:
    return BitCastOp, [numbers(rng, dims(rng))], {"to": i32}


def swi_glu(rng: Rng) -> tuple[type[GeOp], list[Any], dict[str, Any]]:
    shape = dims(rng)
    return SwiGLUOp, [numbers(rng, shape), numbers(rng, shape)], {"alpha": 1.5}


CASES: dict[str, Case] = {op.name: plain(op) for op in PLAIN} | {
    "ge.binarizer": plain(BinarizerOp),
    "ge.bit_cast": bit_cast,
    "ge.clip": clip,
    "ge.dropout": dropout,
    "ge.swi_glu": swi_glu,
    "ge.where": where,
    "ge.cast": cast,
    "ge.cast_like": cast_like,
    "ge.quantize_linear": quantize,
    "ge.dequantize_linear": dequantize,
}
