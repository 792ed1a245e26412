"""
Operators that the dialect has no op for: kept as they are, with everything that an export needs.

Passes see a barrier; the reference evaluates it as ONNX does; the export writes back what was read. So no model is
refused for one operator.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Self, cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DictionaryAttr,
    IntegerAttr,
    IntegerType,
    StringAttr,
    UnitAttr,
    i64,
)
from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    opt_prop_def,
    prop_def,
    traits_def,
    var_operand_def,
    var_region_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import EffectInstance, MemoryEffect, is_side_effect_free

from .declare import parse_text
from .errors import fail, text_of
from .kinds import Kind
from .names import NODE, OUTPUTS, parse_names, print_names


class _OpaqueEffects(MemoryEffect):
    """Unknown, unless the op is declared pure and so is all that its bodies hold."""

    @classmethod
    def get_effects(cls, op: Operation) -> set[EffectInstance] | None:
        pure = "pure" in op.properties and all(
            is_side_effect_free(inner) for region in op.regions for block in region.blocks for inner in block.ops
        )
        return set() if pure else None


@irdl_op_definition
class OpaqueOp(IRDLOperation, metaclass=Kind):
    """
    An ONNX node under its own type and domain.

    version      of the operator set of `domain` that the node was written for
    attrs        its attributes (frontend/attributes.py says in which form)
    body_names   the attribute that each region is the graph of; bodies read outer values as they are
    inputs       1 for each of the node's inputs that is there, 0 for one that was left out; absent: all are there
    outputs      likewise
    pure         declared free of effects: may be folded, merged, moved and dropped

        %y = ge.opaque "NonZero" version 13 pure (%x) : (tensor<4xf32>) -> (tensor<1x?xi64>) onnx "NonZero_7" ["y"]
        %n = ge.opaque "Loop" version 16 (%m, %c, %v) : (...) -> (...) onnx "Loop_2" ["n"] with body {...}
    """

    name = "ge.opaque"
    op_type = prop_def(StringAttr)
    domain = opt_prop_def(StringAttr)
    version = prop_def(IntegerAttr)
    attrs = opt_prop_def(DictionaryAttr)
    body_names = opt_prop_def(ArrayAttr)
    inputs = opt_prop_def(DenseArrayBase)
    outputs = opt_prop_def(DenseArrayBase)
    pure = opt_prop_def(UnitAttr)
    ins = var_operand_def()
    outs = var_result_def()
    bodies = var_region_def()
    traits = traits_def(_OpaqueEffects())

    def __init__(
        self,
        op_type: str,
        version: int,
        ins: Sequence[SSAValue | None],
        out_types: Sequence[Attribute | None],
        *,
        domain: str = "",
        attrs: dict[str, Attribute] | None = None,
        bodies: Sequence[tuple[str, Region]] = (),
        pure: bool = False,
    ) -> None:
        super().__init__(
            operands=[[v for v in ins if v is not None]],
            result_types=[[t for t in out_types if t is not None]],
            regions=[[region for _, region in bodies]],
            properties={
                "op_type": StringAttr(op_type),
                "version": IntegerAttr(version, i64),
                "domain": StringAttr(domain) if domain else None,
                "attrs": DictionaryAttr(attrs) if attrs else None,
                "body_names": ArrayAttr([StringAttr(name) for name, _ in bodies]) if bodies else None,
                "inputs": _presence(ins),
                "outputs": _presence(out_types),
                "pure": UnitAttr() if pure else None,
            },
        )

    def named_bodies(self) -> list[tuple[str, Region]]:
        names = [text_of(n) or "" for n in self.body_names.data] if self.body_names else []
        return list(zip(names, self.bodies, strict=True))

    def by_slot(self) -> list[SSAValue | None]:
        """Operands in the node's order, None for one that was left out."""
        return _spread(self.inputs, self.ins)

    def results_by_slot(self) -> list[SSAValue | None]:
        return _spread(self.outputs, self.outs)

    def verify_(self) -> None:
        for presence, values, what in ((self.inputs, self.ins, "inputs"), (self.outputs, self.outs, "outputs")):
            if presence is not None and sum(_flags(presence)) != len(values):
                fail(self, f"{what} must name as many as there are, {len(values)}, got {presence} (C1)")
        if len(self.body_names.data if self.body_names else ()) != len(self.bodies):
            fail(self, f"each of the {len(self.bodies)} bodies must have a name (C2)")

    def print(self, printer: Printer) -> None:
        def maybe(values: Sequence[SSAValue | None], show: Callable[[SSAValue], object]) -> None:
            printer.print_string("(")
            printer.print_list(values, lambda v: printer.print_string("none") if v is None else show(v))
            printer.print_string(")")

        printer.print_string(" ")
        printer.print_attribute(self.op_type)
        if self.domain is not None:
            printer.print_string(" domain ")
            printer.print_attribute(self.domain)
        printer.print_string(f" version {self.version.value.data} {'pure ' if self.pure is not None else ''}")
        maybe(self.by_slot(), printer.print_ssa_value)
        if self.attrs is not None:
            printer.print_string(" attrs ")
            printer.print_attribute(self.attrs)
        printer.print_op_attributes(self.attributes, reserved_attr_names=(NODE, OUTPUTS), print_keyword=True)
        printer.print_string(" : ")
        maybe(list(self.ins), lambda v: printer.print_attribute(v.type))
        printer.print_string(" -> ")
        maybe(self.results_by_slot(), lambda v: printer.print_attribute(v.type))
        print_names(printer, self.attributes)
        for k, (name, body) in enumerate(self.named_bodies()):
            printer.print_string(", " if k else " with ")
            printer.print_identifier_or_string_literal(name)
            printer.print_string(" ")
            printer.print_region(body)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        op_type = parse_text(parser)
        domain = parse_text(parser) if parser.parse_optional_keyword("domain") is not None else ""
        parser.parse_keyword("version")
        version = parser.parse_integer()
        pure = parser.parse_optional_keyword("pure") is not None

        def maybe(parse: Callable[[], Any]) -> list[Any]:
            def one() -> Any:
                return None if parser.parse_optional_keyword("none") is not None else parse()

            return parser.parse_comma_separated_list(parser.Delimiter.PAREN, one)

        unresolved = maybe(parser.parse_unresolved_operand)
        attrs = None
        if parser.parse_optional_keyword("attrs") is not None:
            attrs = parser.parse_attribute()
            if not isinstance(attrs, DictionaryAttr):
                parser.raise_error("a dictionary of attributes must stand here")
        extra = parser.parse_optional_attr_dict_with_keyword()
        parser.parse_punctuation(":")
        types: list[Attribute] = maybe(parser.parse_type)
        given = iter(parser.resolve_operands([u for u in unresolved if u is not None], types, parser.pos))
        ins = [None if u is None else next(given) for u in unresolved]
        parser.parse_punctuation("->")
        outs = maybe(parser.parse_type)
        attributes = dict(extra.data) if extra is not None else {}
        parse_names(parser, attributes)
        bodies: list[tuple[str, Region]] = []
        if parser.parse_optional_keyword("with") is not None:
            bodies = parser.parse_comma_separated_list(
                parser.Delimiter.NONE,
                lambda: (parser.parse_optional_identifier() or parse_text(parser), parser.parse_region()),
            )
        named = dict(attrs.data) if attrs is not None else None
        op = cls(op_type, version, ins, outs, domain=domain, attrs=named, bodies=bodies, pure=pure)
        op.attributes.update(attributes)
        return op


def _presence(values: Sequence[object]) -> DenseArrayBase[Any] | None:
    there = [int(v is not None) for v in values]
    return None if all(there) else DenseArrayBase.from_list(i64, there)


def _flags(presence: DenseArrayBase[Any]) -> Sequence[int]:
    return cast("DenseArrayBase[IntegerType]", presence).get_values()


def _spread(presence: DenseArrayBase[Any] | None, values: Sequence[SSAValue]) -> list[SSAValue | None]:
    if presence is None:
        return list(values)
    there = iter(values)
    return [next(there) if p else None for p in _flags(presence)]
