"""
Gives ops the types that were decided: in place, with one cast a value where two types meet.

A cast stands right after what it casts, so that every reader sees it, in bodies too. A cast of the source that would
undo one, or do it again, goes.
"""

from __future__ import annotations

from typing import cast

import numpy as np
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpResult, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.utils.exceptions import VerifyException

from ...dialects.ge.constants import ConstantOp
from ...dialects.ge.control import IfOp, Iteration
from ...dialects.ge.conversion import CastOp
from ...dialects.ge.core import GeOp
from ...dialects.ge.data import Array, array_of, find_module, value_of
from ...dialects.ge.errors import text_of
from ...dialects.ge.names import OUTPUTS, set_names
from ...dialects.ge.shape import ConstantOfShapeOp
from ...dialects.ge.types import shape_of, tensor_type
from ..base import NAMES
from ..operands import element_type
from ..report import count, missed
from ..rewriting import drop_unread, sync_type
from .constants import Converter, converted
from .policy import Decisions, Policy, is_indifferent, open_ops, slots_of

CLIPPED = "constant elements clipped to the range"
REFUSED = "its own constraints do not let it"


class Retyper:
    def __init__(self, function: FuncOp, policy: Policy, decisions: Decisions, converter: Converter) -> None:
        self.function, self.policy, self.decisions, self.converter = function, policy, decisions, converter
        self.target = policy.target.type
        self.casts: dict[tuple[SSAValue, Attribute], SSAValue] = {}
        self.was: dict[SSAValue, Attribute] = {}
        self.made: list[CastOp] = []
        self.cancelled: list[tuple[CastOp, SSAValue]] = []
        """Casts of the source and what stands for them: at the end, since what reads one had the narrow type before."""
        self.constants: dict[ConstantOp, ConstantOp] = {}

    def run(self) -> None:
        ops = list(open_ops(self.function))
        if self.policy.interface:
            self._arguments()
        for op in ops:
            if not isinstance(op, ConstantOp):
                self._visit(op)
        for op, known in self.cancelled:
            op.output.replace_all_uses_with(known)
            Rewriter.erase_op(op)
        count("casts cancelled", len(self.cancelled))
        self._listed_constants()
        for op in [*reversed(self.made), *ops]:
            if isinstance(op, CastOp | ConstantOp) and op.parent is not None and op.results[0].first_use is None:
                drop_unread(op)
        count("casts added", sum(op.parent is not None for op in self.made))
        sync_type(self.function)

    # ------------------------------------------------------------------ ops

    def _visit(self, op: Operation) -> None:
        if isinstance(op, CastOp) and self._met(op):
            return
        if self.decisions.narrow.get(op) and isinstance(op, GeOp):
            self._convert(op)
        elif is_indifferent(op, self.policy) and isinstance(op, GeOp):
            self._follow(op)
        elif isinstance(op, ReturnOp) and self.policy.interface:
            for k, value in enumerate(op.operands):
                if self.policy.source(value):
                    self._read(op, k, self.value(value, self.target))
        else:
            self._restore(op)

    def _met(self, op: CastOp) -> bool:
        """Lets a cast of the source be one of ours; whether nothing is left to do for it."""
        given = element_type(op.input)
        if op.to == self.target and (op.input in self.was or self.policy.source(op.input)):
            known = op.input if given == self.target else self.casts.get((op.input, self.target))
            if known is not None:
                self.cancelled.append((op, known))
            elif op.parent is op.input.owner or (isinstance(op.input, OpResult) and op.parent is op.input.op.parent):
                self.casts[op.input, self.target] = op.output
            return True
        if op.to in self.policy.sources and given == self.target:
            self.casts[op.output, self.target] = op.input
            return op.input not in self.was
        return False

    def _convert(self, op: GeOp) -> None:
        before, properties = list(op.operands), dict(op.properties)
        there = self.policy.allows(op)
        for k, slot in enumerate(slots_of(op)):
            value = op.operands[k]
            if there.operand(slot) and self.policy.source(value):
                self._read(op, k, self.value(value, self.target))
            elif not there.operand(slot):
                self._read(op, k, self.original(value))
        if isinstance(op, CastOp):
            op.properties["to"] = self.target
        elif isinstance(op, ConstantOfShapeOp):
            self._convert_fill(op)
        try:
            infos = op.inferred()
        except VerifyException:
            op.properties = properties
            op.operands = before
            self._restore(op)
            self.decisions.reasons[op] = REFUSED
            return
        for result, info in zip(op.results, infos, strict=False):
            if info.element != element_type(result):
                self.was[result] = element_type(result)
                retype(result, info.element)
        count("ops converted")

    def _convert_fill(self, op: ConstantOfShapeOp) -> None:
        array: Array = np.zeros(1, np.float32)
        if op.value is not None:
            data, type_ = op.value
            array = array_of(data, type_, find_module(op))
        fill, clipped, _ = converted(array, self.policy.target, splat=True)
        count(CLIPPED, clipped)
        op.properties["value"] = ArrayAttr([value_of(fill), tensor_type(self.target, fill.shape)])

    def _follow(self, op: GeOp) -> None:
        """An op that makes no floats: it reads converted ones as they are where it can read all of them so."""
        there, slots = self.policy.allows(op), slots_of(op)
        floats = [k for k, v in enumerate(op.operands) if v in self.was or self.policy.source(v)]
        if any(v in self.was for v in op.operands) and all(there.operand(slots[k]) for k in floats):
            for k in floats:
                self._read(op, k, self.value(op.operands[k], self.target))
        else:
            self._restore(op)

    def _restore(self, op: Operation) -> None:
        """Lets an op, and what is in a body that stays as it is, read everything in the type that it had."""
        for k, value in enumerate(op.operands):
            self._read(op, k, self.original(value))
        if op.regions and not isinstance(op, IfOp | Iteration):
            for inner in (inner for region in op.regions for inner in region.walk()):
                for k, value in enumerate(inner.operands):
                    self._read(inner, k, self.original(value))

    @staticmethod
    def _read(op: Operation, k: int, value: SSAValue) -> None:
        if op.operands[k] is not value:
            op.operands[k] = value

    # ------------------------------------------------------------------ values

    def original(self, value: SSAValue) -> SSAValue:
        return self.value(value, self.was[value]) if value in self.was else value

    def value(self, value: SSAValue, element: Attribute) -> SSAValue:
        """What `value` is in an element type: itself, a constant, or the one cast of it."""
        if element_type(value) == element:
            return value
        found = self.casts.get((value, element))
        if found is None:
            owner = value.owner
            if isinstance(owner, ConstantOp):
                found = self._constant(owner)
            else:
                made = CastOp(value, to=element)
                name = self._name_of(value)
                set_names(made, f"{name}_to_{element}" if name else None)
                self._insert(made, value)
                self.made.append(made)
                found = made.output
            self.casts[value, element] = found
        return found

    def _constant(self, old: ConstantOp) -> SSAValue:
        data = self.converter.of(old)
        new = ConstantOp(data.value, data.type)
        new.attributes.update({name: old.attributes[name] for name in NAMES if name in old.attributes})
        self._insert(new, old.output)
        self.constants[old] = new
        count("constants converted")
        count(CLIPPED, data.clipped)
        count("numbers kept from vanishing", int(data.guarded))
        if data.clipped:
            missed(
                old, f"has {data.clipped} elements beyond the range of {self.target}: the largest number stands there"
            )
        return new.output

    @staticmethod
    def _insert(new: Operation, value: SSAValue) -> None:
        owner = value.owner
        point = InsertPoint.at_start(owner) if isinstance(owner, Block) else InsertPoint.after(owner)
        Rewriter.insert_op(new, point)

    def _name_of(self, value: SSAValue) -> str | None:
        if isinstance(value, OpResult):
            names = value.op.attributes.get(OUTPUTS)
            told = cast("ArrayAttr[Attribute]", names).data if isinstance(names, ArrayAttr) else ()
            return text_of(told[value.index]) if value.index < len(told) else None
        if value.owner is self.function.body.block and self.function.arg_attrs:
            said = self.function.arg_attrs.data[cast(BlockArgument, value).index].data
            return text_of(said.get("onnx.name"))
        return None

    # ------------------------------------------------------------------ the function itself

    def _arguments(self) -> None:
        said = [dict(a.data) for a in self.function.arg_attrs or ()]
        for argument in self.function.body.block.args:
            if not self.policy.source(argument):
                continue
            self.was[argument] = element_type(argument)
            retype(argument, self.target)
            told = said[argument.index] if argument.index < len(said) else {}
            if "ge.default" in told:
                value, type_ = cast("ArrayAttr[Attribute]", told["ge.default"]).data
                made = self.converter.of_data(value, type_)
                told["ge.default"] = ArrayAttr([made.value, made.type])
        if said:
            self.function.properties["arg_attrs"] = ArrayAttr([DictionaryAttr(a) for a in said])

    def _listed_constants(self) -> None:
        """Constants that the source listed among its inputs too are written so again: as what they are now."""
        listed = self.function.attributes.get("onnx.constant_inputs")
        if not isinstance(listed, DictionaryAttr):
            return
        data = dict(listed.data)
        for old, new in self.constants.items():
            name = self._name_of(new.output)
            if old.output.first_use is None and name is not None and name in data:
                data[name] = ArrayAttr([new.value, new.output.type])
        self.function.attributes["onnx.constant_inputs"] = DictionaryAttr(data)


def retype(value: SSAValue, element: Attribute) -> None:
    value._type = tensor_type(element, shape_of(value.type))  # pyright: ignore[reportPrivateUsage]
