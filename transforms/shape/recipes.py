"""
The cheapest ops for vectors and scalars of i64 whose elements are expressions over dims.

    [N, 12, S, 64]  with %x : N x S x 768     ->     concat(shape(%x)[0:1], [12], shape(%x)[1:2], [64])

A `Recipe` is an op that is to be made, with the recipes of its operands; equal vectors have one recipe, so what they
share is made once. Nothing is made until `Kitchen.make`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import TypeAlias

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from ...dialects.ge.arithmetic import AddOp, DivOp, MaxOp, MinOp, MulOp, SubOp
from ...dialects.ge.constants import constant
from ...dialects.ge.core import GeOp
from ...dialects.ge.dims import Atom, Dim, Expr, exact_quotient, is_size
from ...dialects.ge.gather import GatherOp
from ...dialects.ge.movement import SqueezeOp, UnsqueezeOp
from ...dialects.ge.shape import ShapeOp
from ...dialects.ge.slicing import ConcatOp
from ..opset import has_op, opset_of

Elements: TypeAlias = "tuple[Dim, ...]"
START = -1
"""The place of what is there before a block's first op."""


@dataclass(eq=False)
class Recipe:
    """
    place    after the op at this place in the block (START: at its begin) the result can be had
    value    the result where it is there already
    numbers  the result where it is a constant
    """

    place: int
    inputs: tuple[Recipe, ...] = ()
    build: Callable[..., GeOp] | None = None
    value: SSAValue | None = None
    numbers: np.ndarray | None = None

    def closure(self, seen: set[Recipe]) -> Iterator[Recipe]:
        """This and what it needs, as far as not in `seen`, operands first."""
        if self not in seen:
            seen.add(self)
            for each in self.inputs:
                yield from each.closure(seen)
            yield self


@dataclass
class Pantry:
    """
    What can be used: tensors by the dims they have, and integers that are there, by their elements.

    tensors   (place, tensor, axis) by dim, in the order of the block
    values    (place, value) by elements and whether it is a vector
    """

    tensors: dict[Dim, list[tuple[int, SSAValue, int]]] = field(default_factory=dict)
    values: dict[tuple[Elements, bool], tuple[int, SSAValue]] = field(default_factory=dict)

    def add_tensor(self, place: int, value: SSAValue, dims: Sequence[Dim]) -> None:
        for axis, dim in enumerate(dims):
            if isinstance(dim, Expr):
                self.tensors.setdefault(dim, []).append((place, value, axis))


class Kitchen:
    """Recipes over one pantry, for one module's opset."""

    CHOICES = 8
    """Tensors that are looked at for a run of dims: the first ones that have its first dim."""

    def __init__(self, module: ModuleOp, pantry: Pantry, dims_of: Callable[[SSAValue], Sequence[Dim]]) -> None:
        self.module, self.pantry, self.dims_of = module, pantry, dims_of
        self.cut_shapes = has_op(module, ShapeOp, "start")
        self.arithmetic = has_op(module, AddOp)
        self.extremes = opset_of(module) >= 12  # Max and Min of integers
        self._vectors: dict[Elements, Recipe | None] = {}
        self._scalars: dict[Dim, Recipe | None] = {}
        self._shapes: dict[SSAValue, Recipe] = {}

    # ------------------------------------------------------------------ recipes

    def vector(self, elements: Elements) -> Recipe | None:
        """None where something is not to be had."""
        if elements not in self._vectors:
            self._vectors[elements] = None  # while it is looked for
            self._vectors[elements] = self._vector(elements)
        return self._vectors[elements]

    def scalar(self, element: Dim) -> Recipe | None:
        if element not in self._scalars:
            self._scalars[element] = self._scalar(element)
        return self._scalars[element]

    def _scalar(self, element: Dim) -> Recipe | None:
        if isinstance(element, int):
            return Recipe(START, numbers=np.array(element, np.int64))
        there = self.pantry.values.get(((element,), False))
        if there is not None:
            return Recipe(there[0], value=there[1])
        run = None if self.cut_shapes else self._run((element,))
        if run is not None and ((element,), True) not in self.pantry.values:
            place, tensor, axis = run
            return self._op(GatherOp, self._shape(place, tensor), self._numbers(axis))
        vector = self.vector((element,))
        return None if vector is None else self._op(SqueezeOp, vector)

    def _vector(self, elements: Elements) -> Recipe | None:
        if all(isinstance(e, int) for e in elements):
            return self._numbers(elements)
        there = self.pantry.values.get((elements, True))
        if there is not None:
            return Recipe(there[0], value=there[1])
        run = self._run(elements)
        if run is not None:
            return self._cut(*run, len(elements))
        if len(elements) > 1:
            return self._scaled(elements, runs_only=True) or self._joined(elements)
        scalar = self.pantry.values.get((elements, False))
        if scalar is not None:
            return self._op(UnsqueezeOp, Recipe(scalar[0], value=scalar[1]), self._numbers((0,)))
        return self._scaled(elements) or self._computed(next(iter(elements)))

    def _joined(self, elements: Elements) -> Recipe | None:
        pieces = [self.vector(piece) for piece in self._pieces(elements)]
        found = [p for p in pieces if p is not None]
        if len(found) < len(pieces):
            return None
        return self._op(lambda *values: ConcatOp(*values, axis=0), *found)

    def _pieces(self, elements: Elements) -> Iterator[Elements]:
        """Constants, runs of dims of one tensor, and what must be computed, each as long as possible."""
        k, count = 0, len(elements)
        while k < count:
            end = k + 1
            if isinstance(elements[k], int):
                while end < count and isinstance(elements[end], int):
                    end += 1
            elif self._has(elements[k : k + 1]):
                known = self._known_singly(elements[k])
                while (
                    not known and end < count and isinstance(elements[end], Expr) and self._has(elements[k : end + 1])
                ):
                    end += 1
            else:
                while end < count and isinstance(elements[end], Expr) and not self._has(elements[end : end + 1]):
                    end += 1
                if end - k == count:
                    end = k + 1
            yield elements[k:end]
            k = end

    def _has(self, elements: Elements) -> bool:
        return (elements, True) in self.pantry.values or self._run(elements) is not None

    def _known_singly(self, element: Dim) -> bool:
        """Whether a vector of this one element is made anyway."""
        return self._vectors.get((element,)) is not None

    def _scaled(self, elements: Elements, runs_only: bool = False) -> Recipe | None:
        """factors * (what is there) + offsets, for the vector as a whole."""
        if not self.arithmetic or not all(isinstance(e, Expr) for e in elements):
            return None
        offsets = [_offset(e) for e in elements]
        bare: Elements = tuple(e - o for e, o in zip(elements, offsets, strict=True))
        factors = [_factor(e) for e in bare]
        core: Elements = tuple(exact_quotient(e, f) or 0 for e, f in zip(bare, factors, strict=True))
        if core == elements or (runs_only and not self._has(core)):
            return None
        if any(offsets) and all(f == -1 for f in factors):
            inner = self.vector(core)
            return None if inner is None else self._op(SubOp, self._numbers(offsets), inner)
        if any(offsets):
            inner = self.vector(bare)
            return None if inner is None else self._op(AddOp, inner, self._numbers(offsets))
        inner = self.vector(core)
        return None if inner is None else self._op(MulOp, inner, self._numbers(factors))

    def _computed(self, element: Dim) -> Recipe | None:
        """An expression without constant term and common factor, as a vector of one."""
        if not self.arithmetic or not isinstance(element, Expr):
            return None
        if len(element.terms) == 1:
            (monomial, _) = element.terms[0]
            return self._product(monomial)
        added = [Expr(((m, c),)) for m, c in element.terms if c > 0]
        taken = [Expr(((m, -c),)) for m, c in element.terms if c < 0]
        if not added:
            return None
        total = self.vector((added[0],))
        for kind, terms in ((AddOp, added[1:]), (SubOp, taken)):
            for term in terms:
                part = self.vector((term,))
                if total is None or part is None:
                    return None
                total = self._op(kind, total, part)
        return total

    def _product(self, monomial: Sequence[Atom]) -> Recipe | None:
        if len(monomial) == 1:
            return self._atom(monomial[0])
        first = self.vector((Expr((((monomial[0],), 1),)),))
        rest = self.vector((Expr(((tuple(monomial[1:]), 1),)),))
        return None if first is None or rest is None else self._op(MulOp, first, rest)

    def _atom(self, atom: Atom) -> Recipe | None:
        if not atom.args:
            return None  # no tensor has this dim
        kind = {"floordiv": DivOp, "max": MaxOp, "min": MinOp}.get(atom.name)
        # ONNX's division of integers rounds towards 0.
        if kind is None or (kind is DivOp and not all(map(is_size, atom.args))):
            return None
        if kind is not DivOp and not self.extremes:
            return None
        parts = [self.vector((a,)) for a in atom.args]
        found = [p for p in parts if p is not None]
        return self._op(kind, *found) if len(found) == len(parts) else None

    def _run(self, elements: Elements) -> tuple[int, SSAValue, int] | None:
        """The first tensor that has these dims in a row: its place, itself, the first axis."""
        first = next((k for k, e in enumerate(elements) if isinstance(e, Expr)), None)
        if first is None:
            return None
        for place, tensor, axis in self.pantry.tensors.get(elements[first], ())[: self.CHOICES]:
            start = axis - first
            if start >= 0 and tuple(self.dims_of(tensor)[start : start + len(elements)]) == elements:
                return place, tensor, start
        return None

    def _cut(self, place: int, tensor: SSAValue, start: int, length: int) -> Recipe:
        rank = len(self.dims_of(tensor))
        if length == rank:
            return self._shape(place, tensor)
        if self.cut_shapes:
            end = start + length if start + length < rank else None

            def cut(x: SSAValue) -> ShapeOp:
                return ShapeOp(x, start=start, end=end)

            return self._op(cut, Recipe(place, value=tensor))
        return self._op(GatherOp, self._shape(place, tensor), self._numbers(range(start, start + length)))

    def _shape(self, place: int, tensor: SSAValue) -> Recipe:
        if tensor not in self._shapes:
            self._shapes[tensor] = self._op(ShapeOp, Recipe(place, value=tensor))
        return self._shapes[tensor]

    def _op(self, build: Callable[..., GeOp], *inputs: Recipe) -> Recipe:
        return Recipe(max(i.place for i in inputs), inputs, build)

    def _numbers(self, numbers: int | Iterable[Dim]) -> Recipe:
        array = np.array(numbers if isinstance(numbers, int) else list(numbers), np.int64)
        return Recipe(START, numbers=array)

    # ------------------------------------------------------------------ ops

    def make(self, recipes: Iterable[Recipe], insert: Callable[[Operation, int], None]) -> None:
        """Makes what the recipes need, operands first, and sets their values; `insert` puts an op after a place."""
        seen: set[Recipe] = set()
        for recipe in (each for one in recipes for each in one.closure(seen)):
            if recipe.numbers is not None or recipe.build is None:
                continue
            operands: list[SSAValue] = []
            for one in recipe.inputs:
                if one.numbers is not None:
                    known = constant(one.numbers, self.module)
                    insert(known, recipe.place)
                    operands.append(known.output)
                else:
                    assert one.value is not None
                    operands.append(one.value)
            op = recipe.build(*operands)
            insert(op, recipe.place)
            recipe.value = op.results[0]


def cost(recipes: Iterable[Recipe]) -> int:
    """Ops that would be made."""
    seen: set[Recipe] = set()
    return sum(each.build is not None for one in recipes for each in one.closure(seen))


def read_by(recipes: Iterable[Recipe]) -> set[SSAValue]:
    """What is there already and would be read."""
    seen: set[Recipe] = set()
    return {each.value for one in recipes for each in one.closure(seen) if each.value is not None}


def _offset(dim: Dim) -> int:
    if isinstance(dim, int):
        return dim
    return next((c for m, c in dim.terms if not m), 0)


def _factor(dim: Dim) -> int:
    """The greatest number that divides every coefficient, negative where all of them are."""
    if isinstance(dim, int):
        return dim or 1
    coefficients = [c for _, c in dim.terms]
    factor = reduce(math.gcd, coefficients)
    return -factor if all(c < 0 for c in coefficients) else factor


__all__ = ["START", "Elements", "Kitchen", "Pantry", "Recipe", "cost", "read_by"]
