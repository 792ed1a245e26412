"""
Which ops are to compute in the target type, and why the others do not.

What an op may be is asked in this order: can this pass change it at all; was it told apart by hand; is it arithmetic of
positions; is it quantised; does ONNX have it in that type; what its mode says. Movement has the type of what it moves.
What makes floats out of other things, and what moves an input of the graph, has the type that its readers want.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum

from xdsl.dialects.builtin import TensorType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue

from ...dialects.ge.bodies import YieldOp
from ...dialects.ge.constants import ConstantOp
from ...dialects.ge.control import IfOp, Iteration
from ...dialects.ge.conversion import CastLikeOp, CastOp
from ...dialects.ge.core import GeOp
from ...dialects.ge.interfaces import Contraction, Elementwise, is_pure
from ...dialects.ge.quantization import DequantizeLinearOp, QuantizeLinearOp
from ...dialects.ge.shape import ConstantOfShapeOp
from ...dialects.ge.types import Element, is_integer
from ..operands import element_type
from .constants import Converter
from .keep_list import KeepList
from .nature import PHASES, counts, lacks_kernels, loses, moves, quantises
from .schema import Allowed, allowed

UNCHANGED = "this pass does not change such ops"
LISTED = "named to stay"
POSITIONS = "positions and sizes"
QUANTISED = "quantised"
NO_SCHEMA = "ONNX has no such operator in that type"
NO_KERNEL = "engines do not run it in that type"
NATURE = "loses or overflows by nature"
BETWEEN = "reads only what stays"
BEYOND = "a constant beyond the range"
VECTOR = "no contraction"
READERS = "its readers stay"
ORIGIN = "not named"


class Mode(Enum):
    """What is converted where nothing stands against it."""

    ALL = "all"
    MIXED = "mixed"
    CONTRACTIONS = "contractions"
    NONE = "none"


@dataclass(frozen=True)
class Policy:
    """
    mode        what is converted
    sources     element types that ops are converted from
    target      the one that they are converted to
    opset       that the module is exported for
    listed      ops that are told apart by hand
    interface   whether the function's own arguments and results are converted too
    """

    mode: Mode
    sources: frozenset[Attribute]
    target: Element
    opset: int
    listed: KeepList
    interface: bool = False

    @property
    def narrows(self) -> bool:
        return self.target.bits < 32

    def source(self, value: SSAValue) -> bool:
        return isinstance(value.type, TensorType) and element_type(value) in self.sources

    def allows(self, op: GeOp) -> Allowed:
        name = self.target.dtype.name
        return allowed(op, self.opset, "float" if name == "float32" else name)


@dataclass
class Decisions:
    """
    narrow     whether an op is converted; one that has no word has no floats of its own to convert
    reasons    why one is not
    """

    narrow: dict[Operation, bool] = field(default_factory=dict[Operation, bool])
    reasons: dict[Operation, str] = field(default_factory=dict[Operation, str])


def open_ops(op: Operation) -> Iterator[Operation]:
    """The ops in a function and in the bodies of its control flow, each before what is in it."""
    for region in op.regions:
        for block in region.blocks:
            for inner in list(block.ops):
                yield inner
                if isinstance(inner, IfOp | Iteration):
                    yield from open_ops(inner)


def slots_of(op: GeOp) -> list[int]:
    """The place of each operand among those that ONNX has."""
    return [k for k, value in enumerate(op.by_slot()) if value is not None]


def is_indifferent(op: Operation, policy: Policy) -> bool:
    """Whether an op makes no floats that could be converted, and reads them in either type."""
    if not isinstance(op, GeOp) or op.regions or quantises(op) or not is_pure(op):
        return False
    return not any(policy.source(r) for r in op.results) and not isinstance(op, CastLikeOp)


def decide(function: FuncOp, policy: Policy, converter: Converter) -> Decisions:
    """cost       linear in ops"""
    return _Decider(function, policy, converter).decisions


class _Decider:
    def __init__(self, function: FuncOp, policy: Policy, converter: Converter) -> None:
        self.policy, self.converter = policy, converter
        self.decisions = Decisions()
        self.narrow: dict[Operation, bool | None] = {}
        self.dequantised: set[SSAValue] = set()
        ops = [op for op in open_ops(function) if not isinstance(op, ConstantOp | YieldOp | ReturnOp)]
        self.positions = self._positions(ops) if policy.narrows else set[Operation]()
        for op in ops:
            if not is_indifferent(op, policy) and any(map(policy.source, (*op.operands, *op.results))):
                self._visit(op)
        for op in reversed(ops):
            if op in self.narrow and self.narrow[op] is None:
                self._set(op, self._wanted(op), READERS)
        self.decisions.narrow = {op: bool(narrow) for op, narrow in self.narrow.items()}

    def _set(self, op: Operation, narrow: bool | None, reason: str = "") -> None:
        self.narrow[op] = narrow
        if narrow is False:
            self.decisions.reasons[op] = reason

    def _visit(self, op: Operation) -> None:
        policy = self.policy
        reason = self._stays(op)
        if reason:
            self._set(op, False, reason)
            return
        assert isinstance(op, GeOp)
        listed = policy.listed.of(op)
        if listed is not None:
            self._set(op, listed, LISTED)
        elif policy.mode is Mode.NONE:
            self._set(op, False, ORIGIN)
        elif isinstance(op, CastOp | ConstantOfShapeOp):
            self._set(op, None)
        elif moves(op) and not self._is_coloured(op):
            self._set(op, self._moved(op), BETWEEN)
        else:
            reason = self._kept_by_mode(op)
            self._set(op, not reason, reason)

    def _stays(self, op: Operation) -> str:
        """Why an op cannot be converted whatever is asked for, apart from its name; "" if it can."""
        policy = self.policy
        if quantises(op):
            if isinstance(op, DequantizeLinearOp):
                self.dequantised.update(op.results)
            return QUANTISED
        if not isinstance(op, GeOp) or op.regions or isinstance(op, CastLikeOp) or not is_pure(op):
            return UNCHANGED
        if isinstance(op, CastOp):
            given = element_type(op.input)
            return "" if given not in policy.sources and given != policy.target.type else UNCHANGED
        if op in self.positions and policy.listed.of(op) is None:
            return POSITIONS
        if any(v in self.dequantised for v in op.operands):
            if moves(op):
                self.dequantised.update(op.results)
            return QUANTISED
        readers = [use.operation for use in op.results[0].uses]
        if readers and all(isinstance(reader, QuantizeLinearOp) for reader in readers):
            return QUANTISED
        if policy.narrows and lacks_kernels(op):
            return NO_KERNEL
        there = policy.allows(op)
        convertible = [v for v, slot in zip(op.operands, slots_of(op), strict=True) if there.operand(slot)]
        results = [k for k, r in enumerate(op.results) if policy.source(r)]
        if not all(there.result(k) for k in results):
            return NO_SCHEMA
        return "" if any(map(policy.source, convertible)) or isinstance(op, ConstantOfShapeOp) else NO_SCHEMA

    def _is_coloured(self, op: GeOp) -> bool:
        """Whether a list says of ops that move elements that they do not take the type of what they are given."""
        return self.policy.mode is Mode.MIXED and self.policy.listed.colour(op) in ("black", "white")

    def _kept_by_mode(self, op: GeOp) -> str:
        if self.policy.mode is Mode.CONTRACTIONS:
            return "" if isinstance(op, Contraction) else VECTOR
        if self.policy.mode is Mode.ALL:
            return ""
        colour = self.policy.listed.colour(op)
        if colour == "black":
            return LISTED
        if loses(op) and colour is None:
            return NATURE
        leads = isinstance(op, Contraction) if colour is None else colour == "white"
        states = self._states(op)
        if states and all(state is False for state in states) and not leads:
            return BETWEEN
        return BEYOND if self._loses_constants(op) else ""

    def _loses_constants(self, op: GeOp) -> bool:
        """
        Whether a constant would change more than its last digits. Where an elementwise op reads one beyond the range,
        it is a mask or a bound, and the largest number there is does as well.
        """
        for value in op.operands:
            if not isinstance(value.owner, ConstantOp) or not self.policy.source(value):
                continue
            found = self.converter.of(value.owner)
            if found.guarded or (found.clipped and not isinstance(op, Elementwise)):
                return True
        return False

    def _states(self, op: Operation) -> list[bool | None]:
        """Of the floats that are no constants: whether they are converted, None where that is not known yet."""
        policy, states = self.policy, list[bool | None]()
        for value in op.operands:
            owner = value.owner
            if isinstance(owner, ConstantOp) or not isinstance(value.type, TensorType):
                continue
            if element_type(value) == policy.target.type:
                states.append(True)
            elif not policy.source(value):
                continue
            elif isinstance(value, BlockArgument):
                top = isinstance(value.owner.parent_op(), FuncOp)
                states.append(True if top and policy.interface else None)
            elif isinstance(owner, CastOp) and element_type(owner.input) == policy.target.type:
                states.append(True)
            else:
                assert isinstance(owner, Operation)
                states.append(self.narrow.get(owner))
        return states

    def _moved(self, op: GeOp) -> bool | None:
        states = self._states(op)
        if True in states:
            return True
        return None if None in states or not states else False

    def _wanted(self, op: Operation) -> bool:
        """Whether the readers of what an op makes all read it converted."""
        wants: set[bool] = set()
        for result in op.results:
            if not self.policy.source(result):
                continue
            for use in result.uses:
                reader = use.operation
                if isinstance(reader, ReturnOp):
                    wants.add(self.policy.interface)
                elif is_indifferent(reader, self.policy):
                    continue
                elif self.narrow.get(reader) and isinstance(reader, GeOp):
                    wants.add(self.policy.allows(reader).operand(slots_of(reader)[use.index]))
                else:
                    wants.add(isinstance(reader, CastOp) and reader.to == self.policy.target.type)
        return wants == {True}

    def _positions(self, ops: list[Operation]) -> set[Operation]:
        """
        Arithmetic of integers that ends in integers, in an operand that ONNX has in f32 alone, or in a phase: in f16
        neighbouring numbers from 2048 on are one, and an angle of 2048 is off by one.
        """
        known, made = set[SSAValue](), list[GeOp]()
        for op in ops:
            if not isinstance(op, GeOp) or op.regions or not is_pure(op):
                continue
            if any(map(self.policy.source, op.results)) and counts(op, known):
                known.update(op.results)
                made.append(op)
        found = set[Operation]()
        for op in reversed(made):
            if isinstance(op, PHASES) or any(self._counts(op, use.operation, use.index, found) for use in _uses(op)):
                found.add(op)
        return found

    def _counts(self, op: GeOp, reader: Operation, index: int, found: set[Operation]) -> bool:
        if reader in found:
            return True
        if isinstance(reader, CastOp):
            return is_integer(reader.to)
        if not isinstance(reader, GeOp) or reader.regions:
            return False
        if isinstance(reader, PHASES):
            return True
        return not self.policy.allows(reader).operand(slots_of(reader)[index])


def _uses(op: Operation):
    return (use for result in op.results for use in result.uses)


__all__ = ["Decisions", "Mode", "Policy", "decide", "is_indifferent", "open_ops", "slots_of"]
