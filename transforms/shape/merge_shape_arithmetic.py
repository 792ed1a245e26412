"""
Shape arithmetic is done once, and the cheapest way.

    %a = ge.shape %x; %b = ge.gather %a, 0; %c = ge.unsqueeze %b
    %d = ge.shape %y; %e = ge.gather %d, 1; %f = ge.unsqueeze %e       // %y has %x's dim 1
    %s = ge.concat %c, %f, %k axis 0                                   // [N, S, 64]
        ->   %a = ge.shape %x start 0 end 2
             %s = ge.concat %a, %k axis 0

What the arithmetic gives is known as expressions over dims (analysis.py). Ops that only serve it are forgotten; what
other ops read of it is made anew from the dims of tensors that are there anyway (recipes.py): two computations of one
expression are one. Done only where ops become fewer, for all of a body's arithmetic, else for parts that share nothing.
Needs nothing. Leaves the old arithmetic without a reader: prune drops it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType, i1, i32, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue

from ...dialects.ge.constants import ConstantOp
from ...dialects.ge.conversion import CastOp
from ...dialects.ge.core import GeOp
from ...dialects.ge.dims import Dim, Expr, symbols_of
from ...dialects.ge.info import Info
from ...dialects.ge.interfaces import is_pure
from ...dialects.ge.kinds import ops_in
from ..base import GePass
from ..report import count
from ..rewriting import functions, is_isolated, replace_uses, sync_type
from .analysis import Dims
from .recipes import START, Elements, Kitchen, Pantry, Recipe, cost, read_by


class MergeShapeArithmetic(GePass):
    name = "merge-shape-arithmetic"
    ge_name = "MergeShapeArithmeticPass"
    level = 1
    summary = "Computes shapes once and with the fewest ops"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in functions(op):
            _function(function, op)
            sync_type(function)


def _function(function: FuncOp, module: ModuleOp) -> None:
    dims = Dims(function)
    pending: list[tuple[Block, Pantry]] = [(block, Pantry()) for block in function.body.blocks]
    while pending:
        block, outer = pending.pop()
        arithmetic = Arithmetic(block, outer, dims, module)
        pending.extend(arithmetic.inner_blocks())
        arithmetic.rewrite()


@dataclass(eq=False)
class Root:
    """A value of the arithmetic that something else reads, first at `before`."""

    value: SSAValue
    before: int
    elements: Elements
    is_vector: bool


@dataclass
class Part:
    """Arithmetic that shares nothing with the rest: its ops, and what is read of it."""

    ops: list[Operation] = field(default_factory=list[Operation])
    roots: list[Root] = field(default_factory=list[Root])


class Arithmetic:
    """The shape arithmetic of one block."""

    def __init__(self, block: Block, outer: Pantry, dims: Dims, module: ModuleOp) -> None:
        self.block, self.dims, self.module = block, dims, module
        self.ops = ops_in(block)
        self.place = {op: k for k, op in enumerate(self.ops)}
        self.last = dict(enumerate(self.ops))
        self.inside = {op for op in self.ops if self._is_arithmetic(op)}
        self.outer = outer
        self.tensors = self._tensors()

    def inner_blocks(self) -> list[tuple[Block, Pantry]]:
        """Blocks of bodies that see this one's values, and the tensors that they see."""
        found: list[tuple[Block, Pantry]] = []
        for op in self.ops:
            blocks = [b for region in op.regions for b in region.blocks] if not is_isolated(op) else []
            if blocks:
                limit = self.place[op]
                seen = Pantry(
                    {
                        dim: [(START, value, axis) for place, value, axis in entries if place < limit]
                        for dim, entries in self.tensors.items()
                    }
                )
                found.extend((b, seen) for b in blocks)
        return found

    def rewrite(self) -> None:
        parts = self._parts()
        whole = Part([op for p in parts for op in p.ops], [r for p in parts for r in p.roots])
        if not self._attempt(whole) and len(parts) > 1:
            for part in parts:
                self._attempt(part)

    # ------------------------------------------------------------------ what is arithmetic

    def _is_arithmetic(self, op: Operation) -> bool:
        """Whether all that `op` gives is known from dims, and nothing of it is news."""
        if not isinstance(op, GeOp) or not is_pure(op) or op.regions or not op.results:
            return False
        if not all(isinstance(v.type, TensorType) for v in (*op.operands, *op.results)):
            return False
        given: set[str] = set()
        for value in op.operands:
            given |= _symbols(self.dims(value))
        for result in op.results:
            info = self.dims(result)
            if info.element not in (i1, i32, i64) or info.elements is None or not info.static:
                return False
            if any(s.startswith("?") and s not in given for e in info.elements for s in symbols_of(e)):
                return False
        return True

    def _tensors(self) -> dict[Dim, list[tuple[int, SSAValue, int]]]:
        pantry = Pantry({dim: list(entries) for dim, entries in self.outer.tensors.items()})
        for argument in self.block.args:
            if isinstance(argument.type, TensorType):
                pantry.add_tensor(START, argument, self.dims(argument).dims)
        for op in self.ops:
            if op in self.inside or isinstance(op, ConstantOp):
                continue
            for result in op.results:
                # A tensor that only the arithmetic reads may go with it.
                if isinstance(result.type, TensorType) and self._outside_users(result):
                    pantry.add_tensor(self.place[op], result, self.dims(result).dims)
        return pantry.tensors

    def _outside_users(self, value: SSAValue) -> list[int]:
        """Places of the ops of this block that read `value` and are no arithmetic, or hold one that does."""
        places: list[int] = []
        for use in value.uses:
            op: Operation | None = use.operation
            while op is not None and op not in self.place:
                op = op.parent_op()
            if op is not None and op not in self.inside:
                places.append(self.place[op])
        return places

    def _parts(self) -> list[Part]:
        of: dict[Operation, Operation] = {op: op for op in self.inside}

        def find(op: Operation) -> Operation:
            while of[op] is not op:
                of[op] = of[of[op]]
                op = of[op]
            return op

        for op in self.inside:
            for value in op.operands:
                if isinstance(value.owner, Operation) and value.owner in of:
                    of[find(op)] = find(value.owner)
        parts: dict[Operation, Part] = {}
        for op in self.ops:
            if op not in self.inside:
                continue
            part = parts.setdefault(find(op), Part())
            part.ops.append(op)
            for result in op.results:
                if readers := self._outside_users(result):
                    info = self.dims(result)
                    part.roots.append(Root(result, min(readers), tuple(info.elements or ()), info.rank == 1))
        return [part for part in parts.values() if part.roots]

    # ------------------------------------------------------------------ making it anew

    def _attempt(self, part: Part) -> bool:
        """Makes the roots of `part` anew if that is fewer ops than they take now; says whether it did."""
        kept = [r for r in part.roots if not _is_buildable(r, self.dims)]
        while True:
            fixed = self._cone(r.value for r in kept)
            kitchen = self._kitchen(part, fixed)
            # Short vectors first: what they make serves the long ones.
            open_roots = sorted((r for r in part.roots if r not in kept), key=lambda r: len(r.elements))
            recipes = [
                (r, kitchen.vector(r.elements) if r.is_vector else kitchen.scalar(r.elements[0])) for r in open_roots
            ]
            failed = [r for r, recipe in recipes if recipe is None or recipe.place >= r.before]
            if not failed:
                break
            kept += failed
        found = [(root, recipe) for root, recipe in recipes if recipe is not None]
        now = self._cone(r.value for r, _ in found) - fixed
        casts = sum(self.dims(r.value).element == i32 for r, _ in found)
        held = self._held_alive(now, read_by(recipe for _, recipe in found))
        if cost(recipe for _, recipe in found) + casts >= len(now) + held:
            return False
        kitchen.make((recipe for _, recipe in found), self._insert)
        for root, recipe in found:
            self._replace(root, recipe)
        count("shape computations merged", len(found))
        return True

    def _replace(self, root: Root, recipe: Recipe) -> None:
        value = recipe.value
        assert value is not None
        if value is root.value:
            return
        if self.dims(root.value).element == i32:
            cast = CastOp(value, to=i32)
            owner = root.value.owner
            assert isinstance(owner, Operation)
            self.block.insert_op_before(cast, self.ops[root.before])
            value = cast.results[0]
        replace_uses(root.value, value)

    def _insert(self, op: Operation, place: int) -> None:
        """Puts `op` behind the op at `place`, and behind what was put there before."""
        if place in self.last:
            self.block.insert_op_after(op, self.last[place])
        else:
            self.block.insert_op_before(op, self.ops[0])
        self.last[place] = op

    def _cone(self, values: Iterable[SSAValue]) -> set[Operation]:
        """The arithmetic that `values` depend on."""
        found: set[Operation] = set()
        pending = [v.owner for v in values]
        while pending:
            op = pending.pop()
            if isinstance(op, Operation) and op in self.inside and op not in found:
                found.add(op)
                pending.extend(v.owner for v in op.operands)
        return found

    def _kitchen(self, part: Part, fixed: set[Operation]) -> Kitchen:
        pantry = Pantry(self.tensors)
        sources: dict[Operation, None] = dict.fromkeys(op for op in part.ops if op in fixed)
        # Integers from elsewhere that the arithmetic reads are there as well.
        for op in part.ops:
            sources.update((v.owner, None) for v in op.operands if isinstance(v.owner, Operation))
        for op in sources:
            if op not in self.place or isinstance(op, ConstantOp) or (op in self.inside and op not in fixed):
                continue
            for result in op.results:
                if not isinstance(result.type, TensorType):
                    continue
                info = self.dims(result)
                if info.element == i64 and info.rank < 2 and info.static and (elements := info.elements) is not None:
                    pantry.values.setdefault((tuple(elements), info.rank == 1), (self.place[op], result))
        return Kitchen(self.module, pantry, lambda value: self.dims(value).dims)

    def _held_alive(self, ops: set[Operation], still_read: set[SSAValue]) -> int:
        """Ops around that only these read, and that go with them: nothing of theirs is `still_read`."""
        around = {v.owner for op in ops for v in op.operands if isinstance(v.owner, Operation)}
        return sum(
            owner in self.place
            and owner not in self.inside
            and not isinstance(owner, ConstantOp)
            and is_pure(owner)
            and not any(result in still_read for result in owner.results)
            and all(use.operation in ops for result in owner.results for use in result.uses)
            for owner in around
        )


def _is_buildable(root: Root, dims: Dims) -> bool:
    info = dims(root.value)
    if info.rank > 1 or info.element == i1 or not root.elements:
        return False
    return any(isinstance(e, Expr) for e in root.elements)


def _symbols(info: Info) -> set[str]:
    found: set[str] = set()
    for dim in _all(info.dims, info.elements if info.element in (i1, i32, i64) else None):
        found |= symbols_of(dim)
    return found


def _all(dims: Sequence[Dim], elements: Sequence[Dim] | None) -> Iterable[Dim]:
    yield from dims
    yield from elements or ()
