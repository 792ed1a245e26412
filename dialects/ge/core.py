"""
What every op of the ge dialect has: one declaration from which its text, verifier, import and export follow.

    @ge_op
    class TransposeOp(PureOp):
        name = "ge.transpose"
        onnx = OnnxName("Transpose", since=1)
        input = operand()                       # operands in ONNX's order
        perm = ints(())                         # attributes under ONNX's names, with ONNX's defaults
        output = result()

        def infer(self, x): ...                 # numbered constraints, then what is known of the results

The text is the same for every op: operands in order (`none` for an absent one), attributes that differ from their
default, types, and the ONNX names last:

    %y = ge.transpose %x perm [0, 2, 1] : tensor<?x4x8xf16> -> tensor<?x8x4xf16> onnx "block/Transpose_3" ["y"]
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar, cast

from xdsl.dialects.builtin import (
    DenseArrayBase,
    TensorType,
    f32,
    i32,
)
from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    AttrSizedResultSegments,
    IRDLOperation,
    OptOperandDef,
    OptResultDef,
    VarOperandDef,
    VarResultDef,
    irdl_op_definition,
    opt_prop_def,
    prop_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import ConstantLike, Pure
from xdsl.utils.exceptions import VerifyException

from .declare import REQUIRED, AttributeDecl, OnnxName
from .errors import fail
from .info import Info, info_of_type
from .kernel_tile import KERNEL_TILE, check_kernel_tile
from .kinds import Kind
from .names import NODE, OUTPUTS, parse_names, print_names

_UNKNOWN = TensorType(f32, [])  # of a result that is not inferred yet


# ------------------------------------------------------------------ the base


@dataclass(frozen=True)
class Slot:
    """An operand or a result of the declaration."""

    name: str
    kind: str
    """"one", "optional" or "variadic"."""


class GeOp(IRDLOperation, metaclass=Kind):
    """Base of all ops that stand for one ONNX operator. Concrete ones are declared with `@ge_op`."""

    if TYPE_CHECKING:
        onnx: ClassVar[OnnxName]
        slots: ClassVar[tuple[Slot, ...]]
        """Operands as declared, in ONNX's order."""
        result_slots: ClassVar[tuple[Slot, ...]]
        decls: ClassVar[dict[str, AttributeDecl]]
        """Attributes as declared, by ONNX's name."""
        irdl_options: ClassVar[tuple[Any, ...]]

    BODIES: ClassVar[tuple[str, ...]] = ()
    """ONNX's names of the attributes that are graphs, one a region. Bodies read outer values as they are."""

    def __init__(
        self,
        *operands: SSAValue | None,
        result_types: Sequence[Attribute] | None = None,
        results: int | Sequence[bool] = 1,
        bodies: Sequence[Region] = (),
        properties: Mapping[str, Attribute] | None = None,
        **attrs: Any,
    ) -> None:
        """
        operands       in ONNX's order, None for an absent one; a variadic operand takes the rest
        result_types   inferred if not given
        results        how many results, or which of them are there, where some are optional or variadic
        bodies         one region for each name in BODIES
        properties     attributes as another op of the kind has them; `attrs` go over them
        attrs          ONNX attributes under their names, as plain values
        raises         VerifyException where a constraint does not hold
        """
        cls = type(self)
        properties = dict(properties or {}) | cls.pack(attrs)
        present = [v for v in operands if v is not None]
        cls._segments(properties, "operand", cls.slots, [v is not None for v in operands])
        wanted = [True] * results if isinstance(results, int) else list(results)
        count = sum(wanted) if result_types is None else len(result_types)
        cls._segments(properties, "result", cls.result_slots, wanted)
        if result_types is None:
            # Inference reads the op as it stands: it is made first with its operands' types known, then typed.
            unknown = [_UNKNOWN] * count
            Operation.__init__(self, operands=present, result_types=unknown, properties=properties, regions=bodies)
            try:
                infos = self.inferred()
            except VerifyException:
                self.drop_all_references()  # an op that never was reads nothing
                raise
            for value, info in zip(self.results, infos, strict=False):
                value._type = info.type  # pyright: ignore[reportPrivateUsage]
        else:
            Operation.__init__(self, operands=present, result_types=result_types, properties=properties, regions=bodies)

    @classmethod
    def pack(cls, attrs: dict[str, Any]) -> dict[str, Attribute]:
        """Plain values as properties; what equals its default is left out, so that equal ops are equal."""
        properties: dict[str, Attribute] = {}
        for name, value in attrs.items():
            decl = cls.decls[name]
            kept = None if value is None else decl.codec.exact(value)
            if kept is not None and (decl.default is REQUIRED or kept != decl.default):
                properties[name] = decl.codec.pack(kept)
        return properties

    @classmethod
    def _segments(
        cls, properties: dict[str, Attribute], what: str, slots: tuple[Slot, ...], present: Sequence[bool]
    ) -> None:
        if sum(s.kind != "one" for s in slots) < 2:
            return
        fixed = [int(p) for p in present[: len(slots)]] + [0] * (len(slots) - len(present))
        if slots[-1].kind == "variadic":
            fixed[-1] = max(0, len(present) - len(slots) + 1)
        properties[f"{what}SegmentSizes"] = DenseArrayBase.from_list(i32, fixed)

    def by_slot(self) -> list[SSAValue | None]:
        """Operands in ONNX's order, None for an absent one; a variadic operand gives one entry a value."""
        found: list[SSAValue | None] = []
        for slot in self.slots:
            value: Any = getattr(self, slot.name)
            found.extend(value) if slot.kind == "variadic" else found.append(value)
        return found

    def results_by_slot(self) -> list[SSAValue | None]:
        found: list[SSAValue | None] = []
        for slot in self.result_slots:
            value: Any = getattr(self, slot.name)
            found.extend(value) if slot.kind == "variadic" else found.append(value)
        return found

    def attrs(self) -> dict[str, Any]:
        """Attributes that are present, as plain values."""
        return {n: d.codec.unpack(self.properties[n]) for n, d in self.decls.items() if n in self.properties}

    def rebuilt(self, operands: Sequence[SSAValue | None], **changed: Any) -> Self:
        """
        The same op on other operands (in ONNX's order) with some attributes changed; result types are inferred. How it
        walks (`ge.kernel_tile`) was said for the sizes that it had, and is left out.
        """
        there = [r is not None for r in self.results_by_slot()]
        bodies = [body.clone() for body in self.regions]
        kept = {n: p for n, p in self.properties.items() if n in self.decls and n not in changed}
        new = type(self)(*operands, results=there, bodies=bodies, properties=kept, **changed)
        new.attributes.update({name: a for name, a in self.attributes.items() if name != KERNEL_TILE})
        return new

    @classmethod
    def accepts(cls, attrs: dict[str, Any], operands: int, results: int) -> bool:
        """Whether a node with these attributes and so many operands and results is this op (else it is opaque)."""
        del attrs, operands, results
        return True

    @classmethod
    def from_older(cls, version: int, attrs: dict[str, Any], operands: Sequence[Info | None]) -> dict[str, Any] | None:
        """
        For a node of a version before `onnx.since`: the attributes under which this op means the same on these
        operands; None where it does not.
        """
        del version, attrs, operands
        return None

    def to_older(self, version: int) -> dict[str, Any] | None:
        """The inverse of `from_older`: all attributes of a node of that version, None where it cannot mean this."""
        del version
        return None

    def implied(self) -> dict[str, Any]:
        """The attributes of `OnnxName.implied`, as the operands say them; what is not known is left out."""
        return {}

    def folds(self) -> bool:
        """Whether the op may be computed at compile time; not where engines look for it as it stands (QDQ)."""
        return True

    def hands_on(self) -> bool:
        """Whether the first result is the first operand, unchanged."""
        return False

    # What an op says of itself; the rest of its questions are in interfaces.py.

    def infer(self, *operands: Any) -> Sequence[Info] | Info:
        """
        What is known of the results from what is known of the operands (an `Info` each, None for an absent one; a
        variadic operand gives one each). Checks the op's constraints on the way, with `fail`.
        """
        raise NotImplementedError

    def inferred(self, known: Callable[[SSAValue], Info] | None = None) -> Sequence[Info]:
        """`infer` on this op's operands, of which `known` tells more than their types do."""
        look = known or info_of
        infos = self.infer(*(None if v is None else look(v) for v in self.by_slot()))
        return [infos] if isinstance(infos, Info) else infos

    def verify_(self) -> None:
        for name, decl in self.decls.items():
            if decl.default is REQUIRED and name not in self.properties:
                fail(self, f"attribute {name} must be given")
        for k, (value, info) in enumerate(zip(self.results, self.inferred(), strict=False)):
            if not info.admits(value.type):
                fail(self, f"result {k} must be {info.type}, got {value.type} (T)")
        check_kernel_tile(self, self.results)

    # ------------------------------------------------------------------ text

    def print(self, printer: Printer) -> None:
        # Trailing absent operands are not written.
        values = self.by_slot()
        while values and values[-1] is None:
            values.pop()
        if values:
            printer.print_string(" ")
            printer.print_list(values, lambda v: printer.print_ssa_value(v) if v else printer.print_string("none"))
        for name, decl in self.decls.items():
            if name in self.properties:
                printer.print_string(f" {name} {decl.codec.show(decl.codec.unpack(self.properties[name]))}")
        printer.print_op_attributes(self.attributes, reserved_attr_names=(NODE, OUTPUTS), print_keyword=True)
        printer.print_string(" : ")
        if values:
            printer.print_list([v for v in values if v], lambda v: printer.print_attribute(v.type))
            printer.print_string(" -> ")
        outs = self.results_by_slot()
        while outs and outs[-1] is None:
            outs.pop()
        printer.print_list(outs, lambda v: printer.print_attribute(v.type) if v else printer.print_string("none"))
        print_names(printer, self.attributes)
        for body in self.regions:
            printer.print_string(" ")
            printer.print_region(body)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        unresolved: list[Any] = []
        if parser.parse_optional_keyword("none") is not None:
            unresolved.append(None)
        else:
            unresolved.append(parser.parse_optional_unresolved_operand())
        if unresolved == [None] and parser.parse_optional_punctuation(",") is None:
            unresolved = []
        elif unresolved[0] is None or parser.parse_optional_punctuation(","):
            while True:
                absent = parser.parse_optional_keyword("none") is not None
                unresolved.append(None if absent else parser.parse_unresolved_operand())
                if parser.parse_optional_punctuation(",") is None:
                    break
        attrs: dict[str, Any] = {}
        while (name := parser.parse_optional_keyword_in(tuple(cls.decls))) is not None:
            attrs[name] = cls.decls[name].codec.parse(parser)
        extra = parser.parse_optional_attr_dict_with_keyword()
        parser.parse_punctuation(":")
        types: list[Attribute] = []
        if unresolved:
            types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
            parser.parse_punctuation("->")
        present = [u for u in unresolved if u is not None]
        if len(present) != len(types):
            parser.raise_error(f"{len(present)} operands need as many types, got {len(types)}")
        operands = iter([parser.resolve_operand(u, t) for u, t in zip(present, types, strict=True)])

        def out() -> Attribute | None:
            return None if parser.parse_optional_keyword("none") is not None else parser.parse_type()

        outs = parser.parse_comma_separated_list(parser.Delimiter.NONE, out)
        properties = cls.pack(attrs)
        cls._segments(properties, "operand", cls.slots, [u is not None for u in unresolved])
        cls._segments(properties, "result", cls.result_slots, [o is not None for o in outs])
        attributes = dict(extra.data) if extra is not None else {}
        parse_names(parser, attributes)
        return cls.create(
            operands=[next(operands) for u in unresolved if u is not None],
            result_types=[o for o in outs if o is not None],
            properties=properties,
            attributes=attributes,
            regions=[parser.parse_region() for _ in cls.BODIES],
        )


class PureOp(GeOp):
    """An op without effects whose results depend on its operands and attributes alone: most of ONNX."""

    traits = traits_def(Pure())


OpT = TypeVar("OpT", bound=type[GeOp])


def ge_op(cls: OpT) -> OpT:
    """
    Declares an op: what `irdl_op_definition` does, plus ONNX's name and attributes as plain values.

    raises     TypeError where a variadic operand or result is not the last one
    """
    own = {k: v for k, v in cls.__dict__.items() if isinstance(v, AttributeDecl)}
    inherited = {k: v for base in reversed(cls.__mro__[1:]) for k, v in getattr(base, "__ge_decls__", {}).items()}
    decls = inherited | own
    onnx = cls.__dict__.get("onnx") or OnnxName("")
    for name, decl in decls.items():
        constraint = decl.codec.constraint
        setattr(cls, name, prop_def(constraint) if decl.default is REQUIRED else opt_prop_def(constraint))
    if "onnx" in cls.__dict__:
        del cls.onnx
    if "irdl_options" not in cls.__dict__:
        cls.irdl_options = tuple(_segment_options(cls))
    cls = cast(OpT, irdl_op_definition(cast(Any, cls)))
    definition = cls.get_irdl_definition()
    cls.onnx, cls.decls = onnx, decls
    cls.slots = tuple(Slot(n, _kind(d)) for n, d in definition.operands)
    cls.result_slots = tuple(Slot(n, _kind(d)) for n, d in definition.results)
    for slots in (cls.slots, cls.result_slots):
        if any(s.kind == "variadic" for s in slots[:-1]):
            raise TypeError(f"{cls.name}: only the last operand or result can be variadic")
    for name, decl in decls.items():
        setattr(cls, name, property(_accessor(name, decl)))
    return cls


def shared_attributes(cls: OpT) -> OpT:
    """For a base that declares attributes for several ops: takes its declarations aside, where irdl does not look."""
    here = {k: v for k, v in cls.__dict__.items() if isinstance(v, AttributeDecl)}
    for name in here:
        delattr(cls, name)
    setattr(cls, "__ge_decls__", here)  # noqa: B010 - a name that the type does not declare
    return cls


def _accessor(name: str, decl: AttributeDecl) -> Callable[[GeOp], Any]:
    default = None if decl.default is REQUIRED else decl.default

    def read(op: GeOp) -> Any:
        attr = op.properties.get(name)
        return default if attr is None else decl.codec.unpack(attr)

    return read


def _kind(definition: object) -> str:
    if isinstance(definition, OptOperandDef | OptResultDef):
        return "optional"
    return "variadic" if isinstance(definition, VarOperandDef | VarResultDef) else "one"


def _segment_options(cls: type[GeOp]) -> Sequence[Any]:
    """Sizes of segments are a property where more than one operand, or result, need not be exactly one value."""
    bases = cls.__mro__[: cls.__mro__.index(GeOp)]
    loose = [getattr(v, "cls", None) for base in bases for v in vars(base).values()]
    options: list[Any] = []
    if sum(c in (OptOperandDef, VarOperandDef) for c in loose) > 1:
        options.append(AttrSizedOperandSegments(as_property=True))
    if sum(c in (OptResultDef, VarResultDef) for c in loose) > 1:
        options.append(AttrSizedResultSegments(as_property=True))
    return options


def info_of(value: SSAValue) -> Info:
    """What the type of a value says, and its data where a small constant makes it."""
    info = info_of_type(value.type)
    owner = value.owner
    if isinstance(owner, Operation) and owner.has_trait(ConstantLike):
        return cast(Any, owner).known(info)
    return info
