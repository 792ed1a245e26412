"""Sums of products written as an equation over the names of axes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from .core import PureOp, ge_op
from .declare import OnnxName, result, text, var_operands
from .dims import Dim
from .errors import fail
from .info import Info, broadcast_dim, same_element
from .interfaces import Box, Contraction, Tiles
from .types import shape_of


@ge_op
class EinsumOp(PureOp, Tiles, Contraction):
    """
    The product of the inputs, each of whose axes has the letter that its term of `equation` gives it, summed over the
    letters that the term after "->" lacks. An ellipsis stands for any further axes, which broadcast. Without "->" the
    result has the ellipsis, then the letters that stand once, sorted.

    C1  a term has letters and at most one ellipsis; the result's letters stand in the inputs' terms, each once, and its
        ellipsis stands where theirs has axes
    C2  there is a term for each input, with a letter for each axis that no ellipsis stands for
    C3  axes of one letter have one size, or 1
    C4  inputs have one element type

        %y = ge.einsum %a, %b equation "bij,bjk->bik" : tensor<?x4x8xf32>, tensor<?x8x2xf32> -> tensor<?x4x2xf32>

    Source: ONNX Einsum-28.
    """

    name = "ge.einsum"
    onnx = OnnxName("Einsum", since=12)
    inputs = var_operands()
    equation = text()
    output = result()

    def infer(self, *operands: Any) -> Info:
        terms, outs = self._axes([i.rank for i in operands])
        sizes: dict[str, Dim] = {}
        for term, info in zip(terms, operands, strict=True):
            for axis, dim in zip(term, info.dims, strict=True):
                sizes[axis] = broadcast_dim(self, sizes[axis], dim, "C3") if axis in sizes else dim
        return Info(same_element(self, "C4", *operands), tuple(sizes[axis] for axis in outs))

    def _axes(self, ranks: Sequence[int]) -> tuple[list[list[str]], list[str]]:
        """The name of each axis of each input and of the result; axes of an ellipsis are named from the last on."""
        left, arrow, right = self.equation.replace(" ", "").partition("->")
        texts = left.split(",")
        for term in [*texts, right]:
            letters = term.replace("...", "", 1)
            if letters and not (letters.isascii() and letters.isalpha()):
                fail(self, f"a term must have letters and at most one ellipsis, got {term!r} (C1)")
        if len(texts) != len(ranks):
            fail(self, f"there must be a term for each of {len(ranks)} inputs, got {len(texts)} (C2)")
        terms = [self._term(term, rank) for term, rank in zip(texts, ranks, strict=True)]
        most = max((sum(axis.startswith(".") for axis in term) for term in terms), default=0)
        spread = [f".{k}" for k in reversed(range(most))]
        if arrow:
            before, dots, after = right.partition("...")
            outs = [*before, *(spread if dots else ()), *after]
        else:
            once = [axis for axis in left if axis.isalpha() and left.count(axis) == 1]
            outs = [*spread, *sorted(once)]
        known = {axis for term in terms for axis in term}
        if len(set(outs)) != len(outs) or not set(spread) <= set(outs) or not set(outs) <= known:
            fail(self, f"the result must have letters of the inputs, each once, and their ellipsis, got {right!r} (C1)")
        return terms, outs

    def _term(self, term: str, rank: int) -> list[str]:
        before, dots, after = term.partition("...")
        spread = rank - len(before) - len(after)
        if spread < 0 or (spread and not dots):
            fail(self, f"the term {term!r} must have a letter for each of {rank} axes (C2)")
        return [*before, *(f".{k}" for k in reversed(range(spread))), *after]

    def _static(self) -> tuple[list[list[str]], list[str], dict[str, int]]:
        """Names of axes as above, and their sizes."""
        shapes = [shape_of(v.type) for v in self.inputs]
        terms, outs = self._axes([len(s) for s in shapes])
        sizes: dict[str, int] = {}
        for term, shape in zip(terms, shapes, strict=True):
            for axis, dim in zip(term, shape, strict=True):
                sizes[axis] = dim if sizes.get(axis, 1) == 1 else sizes[axis]
        return terms, outs, sizes

    def loops(self) -> tuple[str, ...]:
        _, outs, sizes = self._static()
        return ("parallel",) * len(outs) + ("reduction",) * (len(sizes) - len(outs))

    def operand_tiles(self, tile: Box) -> list[Box]:
        terms, outs, sizes = self._static()
        boxes = {axis: (0, size) for axis, size in sizes.items()} | dict(zip(outs, tile, strict=True))
        shapes = [shape_of(v.type) for v in self.inputs]
        return [
            tuple((0, 1) if dim == 1 else boxes[axis] for axis, dim in zip(term, shape, strict=True))
            for term, shape in zip(terms, shapes, strict=True)
        ]

    def flops(self) -> int:
        # A product of n factors is n - 1 products and a sum.
        return max(1, len(self.inputs)) * math.prod(self._static()[2].values())
