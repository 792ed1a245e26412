"""
Dims of every value as expressions over the symbols of the function's arguments, and the elements of the small integer
tensors of shape arithmetic.

One walk in order: each op's `infer` on what is known of its operands. Bodies of fusions see what their operands are;
branches see what is around them. What an op was found to give is kept with it: most ops are as they were when the last
pass asked.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, NamedTuple, cast
from weakref import WeakKeyDictionary

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from ...dialects.ge.bodies import FusionOp
from ...dialects.ge.constants import ConstantOp
from ...dialects.ge.control import IfOp
from ...dialects.ge.core import GeOp, info_of
from ...dialects.ge.dims import Dim, symbol
from ...dialects.ge.errors import text_of
from ...dialects.ge.info import Info, info_of_type
from ...dialects.ge.kinds import ops_in
from ...dialects.ge.types import is_tensor


class _Found(NamedTuple):
    """What an op gave, and what that depends on: the very infos that it read, its properties, its results' types."""

    read: tuple[Info, ...]
    properties: dict[str, Attribute]
    types: tuple[Attribute, ...]
    infos: tuple[Info, ...]

    def holds(self, op: Operation, read: Sequence[Info]) -> bool:
        return (
            len(read) == len(self.read)
            and all(map(operator.is_, read, self.read))
            and all(map(operator.is_, op.result_types, self.types))
            and op.properties == self.properties
        )


_FOUND: WeakKeyDictionary[Operation, _Found] = WeakKeyDictionary()


class Dims:
    """
    What is known of the values of a function: of the function as it is when the first question is put.

    cost       linear in ops, once something is asked
    """

    def __init__(self, function: FuncOp) -> None:
        self._known: dict[SSAValue, Info] = {}
        self.refused: dict[GeOp, str] = {}
        """Ops whose operands are known to be what their constraints do not allow, and which one: they can never run."""
        self._unseen: FuncOp | None = function

    def _see(self) -> None:
        function, self._unseen = self._unseen, None
        block = None if function is None else function.body.blocks.first
        if function is None or block is None:
            return
        types, found = tuple(a.type for a in block.args), _FOUND.get(function)
        if found is None or found.types != types or found.properties.get("arg_attrs") is not function.arg_attrs:
            infos = tuple(_argument(function, k) for k in range(len(types)) if is_tensor(types[k]))
            found = _FOUND[function] = _Found((), dict(function.properties), types, infos)
        self._known.update(zip((a for a in block.args if is_tensor(a.type)), found.infos, strict=True))
        self._block(block)

    def __call__(self, value: SSAValue) -> Info:
        """What is known of a ranked tensor; at least what its type says."""
        if self._unseen is not None:
            self._see()
        info = self._known.get(value)
        if info is None:
            info = self._known[value] = (
                _constant(value.owner) if isinstance(value.owner, ConstantOp) else info_of(value)
            )
        return info

    def note(self, op: Operation) -> None:
        """Takes in an op that was made since."""
        self._see()
        self._op(op)

    def learn(self, value: SSAValue, info: Info) -> None:
        """Takes in what is known of a value that has changed."""
        self._see()
        self._known[value] = info

    def _block(self, block: Block) -> None:
        for op in ops_in(block):
            self._op(op)

    def _op(self, op: Operation) -> None:
        match op:
            case ConstantOp():
                return  # looked at when asked for: most constants are weights
            case GeOp():
                for region in op.regions:
                    for block in region.blocks:
                        self._block(block)
                if all(isinstance(v.type, TensorType) for v in op.operands):
                    self._infer(op)
            case FusionOp():
                for argument, value in zip(op.body.block.args, op.ins, strict=True):
                    if value in self._known or isinstance(value.type, TensorType):
                        self._known[argument] = self(value)
                self._block(op.body.block)
                self._yielded(op, [op.body.block])
            case IfOp():
                for region in op.regions:
                    self._block(region.block)
                self._yielded(op, [r.block for r in op.regions])
            case _:
                for region in op.regions:
                    for block in region.blocks:
                        self._block(block)

    def _infer(self, op: GeOp) -> None:
        read = tuple(map(self, op.operands))
        found = _FOUND.get(op)
        if found is None or not found.holds(op, read):
            try:
                infos = op.inferred(self)
            except VerifyException as err:
                # What is known may contradict itself in code that never runs; types stay as they are.
                self.refused[op] = str(err)
                return
            types = tuple(r.type for r in op.results)
            infos = tuple(_meet(info, type_) for info, type_ in zip(infos, types, strict=False))
            found = _Found(read, dict(op.properties), types, infos)
            if not op.regions:  # else what is in them matters too
                _FOUND[op] = found
        self._known.update(zip(op.results, found.infos, strict=False))

    def _yielded(self, op: Operation, blocks: Sequence[Block]) -> None:
        ends = [b.last_op.operands for b in blocks if b.last_op is not None]
        for k, value in enumerate(op.results):
            if not is_tensor(value.type):
                continue
            given = [self(end[k]) for end in ends if isinstance(end[k].type, TensorType)]
            if len(given) == len(ends) and all(g.rank == given[0].rank for g in given):
                shared = [g.dims for g in given]
                own = info_of_type(value.type).dims
                if len(own) == given[0].rank:
                    dims = [d[0] if all(x == d[0] for x in d) else o for o, *d in zip(own, *shared, strict=True)]
                    info = Info(given[0].element, tuple(dims), given[0].data if len(given) == 1 else None)
                    self._known[value] = _meet(info, value.type)


def _constant(op: ConstantOp) -> Info:
    found, type_ = _FOUND.get(op), op.output.type
    if found is None or found.types[0] is not type_ or found.properties["value"] is not op.value:
        found = _FOUND[op] = _Found((), dict(op.properties), (type_,), (info_of(op.output),))
    return found.infos[0]


def _argument(function: FuncOp, k: int) -> Info:
    attrs = cast("Sequence[DictionaryAttr]", function.arg_attrs.data) if function.arg_attrs else ()
    declared = attrs[k].data.get("ge.dims") if k < len(attrs) else None
    info = info_of_type(function.body.block.args[k].type)
    names = cast("Sequence[Attribute]", declared.data) if isinstance(declared, ArrayAttr) else ()
    dims: list[Dim] = []
    for k, dim in enumerate(info.dims):
        name = text_of(names[k]) if k < len(names) else None
        dims.append(symbol(name) if name and not isinstance(dim, int) else dim)
    return info.like(dims)


def _meet(info: Info, type_: Attribute) -> Info:
    """What inference and the type say together: a number in the type is a fact even where inference has none."""
    if not isinstance(type_, TensorType):
        return info
    told = cast("TensorType[Any]", type_).get_shape()
    if len(told) != info.rank:
        return info
    dims = tuple(t if t >= 0 and not isinstance(d, int) else d for t, d in zip(told, info.dims, strict=True))
    return Info(info.element, dims, info.data)


__all__ = ["Dims"]
