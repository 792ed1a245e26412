"""
Ops that hold other things together: constants and the files behind them, fusions, and what bufferization makes.

    ge.weights @w {...}            a file with the bytes of constants
    ge.constant                    a tensor known before the program runs
    ge.fusion "name" (...) {...}   several ops that run as one; its meaning is its body
    ge.launch ins(..) outs(..)     a fusion, or one op, on buffers
    ge.slot, ge.mapped             a buffer in the arena; a weight as a buffer
    ge.host {...}                  what is no buffer, run by the reference
    ge.yield                       ends every body
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Self, cast

from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    StringAttr,
    SymbolNameConstraint,
    TensorType,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import (
    ConstantLike,
    EffectInstance,
    HasParent,
    IsolatedFromAbove,
    IsTerminator,
    MemoryEffect,
    MemoryEffectKind,
    Pure,
    RecursiveMemoryEffect,
    SymbolOpInterface,
    SymbolUserOpInterface,
)

from .attributes import L2TilingAttr, RawAttr, SplatAttr, StringsAttr, WeightAttr
from .core import NODE, OUTPUTS, parse_names, print_names
from .data import (
    INLINE,
    SIDECAR,
    Array,
    append_to_sidecar,
    array_of,
    find_module,
    sidecar_path,
    value_of,
    weight_files,
    weight_in,
    weights_path,
)
from .errors import fail
from .info import Info
from .types import byte_size, element_of, is_static, nbytes, shape_of, tensor_type


@irdl_op_definition
class WeightsOp(IRDLOperation):
    """
    Names a file that holds the bytes of constants; stands before all else in the module.

    path     the file, relative to the module's own file in text, absolute in memory
    bytes    its size: a file of another size is not the one that was compiled
    digest   SHA-256 of it, where this compiler wrote it

        ge.weights @w {path = "resnet50.onnx", bytes = 102489006 : i64}
    """

    name = "ge.weights"
    sym_name = prop_def(SymbolNameConstraint())
    path = prop_def(StringAttr)
    bytes = prop_def(IntegerAttr)
    digest = opt_prop_def(StringAttr)
    traits = traits_def(SymbolOpInterface(), HasParent(ModuleOp))
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$sym_name attr-dict"

    def __init__(self, name: str, path: str, size: int) -> None:
        super().__init__(
            properties={"sym_name": StringAttr(name), "path": StringAttr(path), "bytes": IntegerAttr(size, i64)}
        )


class _UsesWeights(SymbolUserOpInterface):
    def verify(self, op: Operation) -> None:
        value = op.properties.get("value")
        module = find_module(op)
        if isinstance(value, WeightAttr) and module is not None and weights_path(module, value) is None:
            fail(op, f"no ge.weights @{value.file.string_value()} in the module (C2)")


class _Data(IRDLOperation):
    """Shared by what has a constant's data as `value`."""

    value = prop_def(Attribute)

    def array(self) -> Array:
        """The data, mapped and read-only. Raises InputError where its file is missing or too short."""
        type_ = cast("TensorType[Attribute] | MemRefType[Attribute]", self.results[0].type)
        return array_of(self.value, tensor_type(type_.element_type, type_.get_shape()), find_module(self))

    def _check(self) -> None:
        type_ = self.results[0].type
        if not is_static(type_):
            fail(self, f"the type must be static, got {type_} (C1)")
        element, count = cast(Any, type_).element_type, math.prod(shape_of(type_))
        match self.value:
            case DenseIntOrFPElementsAttr():
                dense = cast("DenseIntOrFPElementsAttr[Any]", self.value)
                if (dense.type.element_type, dense.get_shape()) != (element, shape_of(type_)):
                    fail(self, f"the data is {dense.type}, the result {type_} (C3)")
            case RawAttr() if len(self.value.data.data) != byte_size(element, count):
                fail(self, f"{type_} needs {byte_size(element, count)} bytes, got {len(self.value.data.data)} (C3)")
            case StringsAttr() if len(self.value.values) != count:
                fail(self, f"{type_} needs {count} strings, got {len(self.value.values)} (C3)")
            case WeightAttr() | SplatAttr() | RawAttr() | StringsAttr():
                pass
            case _:
                fail(self, f"the value must be dense or one of #ge.splat, .bytes, .strings, .weight, got {self.value} (C3)")

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_attribute(self.value)
        printer.print_op_attributes(self.attributes, reserved_attr_names=(NODE, OUTPUTS), print_keyword=True)
        # Dense data says its type itself.
        own_type = isinstance(self.value, DenseIntOrFPElementsAttr) and isinstance(self.results[0].type, TensorType)
        if not own_type or self.attributes.keys() - {NODE, OUTPUTS}:
            printer.print_string(" : ")
            printer.print_attribute(self.results[0].type)
        print_names(printer, self.attributes)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        value = parser.parse_attribute()
        attributes = parser.parse_optional_attr_dict_with_keyword()
        if parser.parse_optional_punctuation(":") is not None:
            type_ = parser.parse_type()
        elif isinstance(value, DenseIntOrFPElementsAttr):
            type_ = cast("DenseIntOrFPElementsAttr[Any]", value).type
        else:
            parser.raise_error("the constant's type must follow")
        extra = dict(attributes.data) if attributes is not None else {}
        op = cls.create(properties={"value": value}, result_types=[type_], attributes=extra)
        parse_names(parser, op.attributes)
        return op


@irdl_op_definition
class ConstantOp(_Data):
    """
    A tensor whose elements are known before the program runs.

    C1  the type is static
    C2  the `ge.weights` that a #ge.weight names is in the module
    C3  the value is of the result's type

        %w = ge.constant #ge.weight<@w, 4096> : tensor<64x3x7x7xf32> onnx ["conv1.weight"]
        %s = ge.constant dense<[1, -1]> : tensor<2xi64>
    """

    name = "ge.constant"
    output = result_def(TensorType)
    traits = traits_def(Pure(), ConstantLike(), _UsesWeights())

    def __init__(self, value: Attribute, type_: Attribute) -> None:
        super().__init__(properties={"value": value}, result_types=[type_])

    def known(self, info: Info) -> Info:
        """`info` with the elements, where they are few enough to stand in the text."""
        small = not isinstance(self.value, WeightAttr) and math.prod(shape_of(self.output.type)) <= INLINE
        return Info(info.element, info.dims, self.array()) if small else info

    def verify_(self) -> None:
        self._check()



@irdl_op_definition
class MappedOp(_Data):
    """
    A weight as a buffer: the file's own pages, never copied, outside of the arena.

    C1, C2, C3  as for ge.constant

        %w = ge.mapped #ge.weight<@w, 4096> : memref<64x3x7x7xf32>
    """

    name = "ge.mapped"
    output = result_def(MemRefType)
    traits = traits_def(Pure(), _UsesWeights())

    def __init__(self, value: Attribute, type_: Attribute) -> None:
        super().__init__(properties={"value": value}, result_types=[type_])

    def verify_(self) -> None:
        self._check()


def constant(array: Array, module: ModuleOp) -> ConstantOp:
    """A constant with the data of `array`: in the text where it is small or one element repeated, else in the sidecar."""
    type_ = tensor_type(element_of(array.dtype).type, array.shape)
    try:
        return ConstantOp(value_of(array), type_)
    except ValueError:
        pass
    offset = append_to_sidecar(array)
    size = sidecar_path().stat().st_size
    for op in weight_files(module):
        if cast(StringAttr, op.properties["sym_name"]).data == SIDECAR:
            op.properties["bytes"] = IntegerAttr(size, i64)
            break
    else:
        block, named = module.body.block, WeightsOp(SIDECAR, str(sidecar_path()), size)
        if block.first_op is None:
            block.add_op(named)
        else:
            block.insert_op_before(named, block.first_op)
    return ConstantOp(weight_in(SIDECAR, offset), type_)


# ------------------------------------------------------------------ bodies


@irdl_op_definition
class YieldOp(IRDLOperation):
    """Ends a body and gives its results."""

    name = "ge.yield"
    values = var_operand_def()
    traits = traits_def(Pure(), IsTerminator())
    assembly_format = "attr-dict ($values^ `:` type($values))?"

    def __init__(self, *values: SSAValue) -> None:
        super().__init__(operands=[list(values)])


def yielded(body: Region) -> Sequence[SSAValue]:
    """The results of a body."""
    last = body.block.last_op
    return last.operands if last is not None else ()


def _check_body(op: Operation, body: Region, args: Sequence[Attribute], results: Sequence[Attribute]) -> None:
    found = [a.type for a in body.block.args]
    if found != list(args):
        fail(op, f"block arguments must be {_types(args)}, got {_types(found)} (C1)")
    last = body.block.last_op
    if not isinstance(last, YieldOp):
        fail(op, "the body must end in ge.yield (C2)")
    if list(last.values.types) != list(results):
        fail(op, f"ge.yield must give {_types(results)}, got {_types(last.values.types)} (C2)")


def _types(types: Sequence[Attribute]) -> str:
    return f"({', '.join(map(str, types))})"


@irdl_op_definition
class FusionOp(IRDLOperation):
    """
    Several ops that run as one. The meaning is the body; the name is for people, nothing is decided by it.

    Inside stand every constant that a shape or a tile depends on, and scalars; outside, as operands, the weights.
    With `tiling` it is an L2 group, whose body holds fusions and single ops.

    C1  the body's arguments have the operands' types
    C2  the body ends in ge.yield of the results' types

        %y = ge.fusion "ConvRelu" (%a = %x : tensor<..>, %b = %w : tensor<..>) -> (tensor<..>) {
          %0 = ge.conv %a, %b : ...
          %1 = ge.relu %0 : ...
          ge.yield %1 : ...
        }
    """

    name = "ge.fusion"
    label = prop_def(StringAttr)
    tiling = opt_prop_def(L2TilingAttr)
    ins = var_operand_def()
    outs = var_result_def()
    body = region_def("single_block")
    traits = traits_def(IsolatedFromAbove(), RecursiveMemoryEffect())

    def __init__(
        self,
        label: str,
        ins: Sequence[SSAValue],
        out_types: Sequence[Attribute],
        body: Region,
        tiling: L2TilingAttr | None = None,
    ) -> None:
        super().__init__(
            operands=[ins],
            result_types=[out_types],
            regions=[body],
            properties={"label": StringAttr(label), "tiling": tiling},
        )

    def verify_(self) -> None:
        _check_body(self, self.body, list(self.ins.types), list(self.outs.types))

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_attribute(self.label)
        printer.print_string(" (")
        pairs = list(zip(self.body.block.args, self.ins, strict=True))
        # The body's names are its own: they are given out in its scope, after the operands are named out here.
        outer = [_value_text(printer, operand) for _, operand in pairs]
        printer.enter_scope()
        for k, ((arg, operand), text) in enumerate(zip(pairs, outer, strict=True)):
            printer.print_string(", " if k else "")
            printer.print_ssa_value(arg)
            printer.print_string(f" = {text} : ")
            printer.print_attribute(operand.type)
        printer.print_string(") -> (")
        printer.print_list(self.outs.types, printer.print_attribute)
        printer.print_string(")")
        if self.tiling is not None:
            printer.print_string(" tiling ")
            printer.print_attribute(self.tiling)
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False)
        printer.exit_scope()

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        label = parser.parse_str_literal()

        def bound() -> tuple[Any, SSAValue]:
            argument = parser.parse_argument(expect_type=False)
            parser.parse_punctuation("=")
            operand = parser.parse_unresolved_operand()
            parser.parse_punctuation(":")
            type_ = parser.parse_type()
            return argument.resolve(type_), parser.resolve_operand(operand, type_)

        pairs = parser.parse_comma_separated_list(parser.Delimiter.PAREN, bound)
        parser.parse_punctuation("->")
        outs = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
        tiling = None
        if parser.parse_optional_keyword("tiling") is not None:
            tiling = parser.parse_attribute()
            if not isinstance(tiling, L2TilingAttr):
                parser.raise_error("#ge.l2_tiling must stand here")
        attributes = parser.parse_optional_attr_dict_with_keyword()
        body = parse_isolated(parser, [argument for argument, _ in pairs])
        op = cls(label, [operand for _, operand in pairs], outs, body, tiling)
        if attributes is not None:
            op.attributes |= attributes.data
        return op


def _value_text(printer: Printer, value: SSAValue) -> str:
    """What `printer` writes for a value, taken without writing it."""
    from io import StringIO

    stream, printer.stream = printer.stream, StringIO()
    try:
        printer.print_ssa_value(value)
        return cast(StringIO, printer.stream).getvalue()
    finally:
        printer.stream = stream


def parse_isolated(parser: Parser, arguments: Sequence[Any] | None = None) -> Region:
    """
    Parses a body in a scope of its own. Stock xDSL copies all outer names at every region (quadratic in the module)
    and refuses an inner name that stands outside too, which MLIR allows.
    """
    outer, forward = parser.ssa_values, parser.forward_ssa_references
    parser.ssa_values, parser.forward_ssa_references = {}, {}
    try:
        body = parser.parse_region(arguments)
        if parser.forward_ssa_references:
            name = next(iter(parser.forward_ssa_references))
            parser.raise_error(f"value %{name} is not defined in the body, which is isolated")
        return body
    finally:
        parser.ssa_values, parser.forward_ssa_references = outer, forward


# ------------------------------------------------------------------ on memrefs


class _LaunchEffects(MemoryEffect):
    """Reads ins, writes outs. Anything less, and dead code elimination would erase a launch without a word."""

    @classmethod
    def get_effects(cls, op: Operation) -> set[EffectInstance]:
        launch = cast("LaunchOp", op)
        reads = {EffectInstance(MemoryEffectKind.READ, v) for v in launch.ins}
        return reads | {EffectInstance(MemoryEffectKind.WRITE, v) for v in launch.outs}


def tensor_of(memref: Attribute) -> Attribute:
    """The tensor type of a buffer's contents, whatever its layout."""
    type_ = cast("MemRefType[Attribute]", memref)
    return tensor_type(type_.element_type, type_.get_shape())


@irdl_op_definition
class LaunchOp(IRDLOperation):
    """
    Runs a body on the contents of `ins` and writes what it yields to `outs`. The body stays on tensors, so every op
    of the dialect, and of plugins, can be launched as it is.

    C1  the body's arguments are the tensors of ins
    C2  the body ends in ge.yield of the tensors of outs

        ge.launch ins(%x, %w : memref<..>, memref<..>) outs(%y : memref<..>) { ... }
    """

    name = "ge.launch"
    ins = var_operand_def(MemRefType)
    outs = var_operand_def(MemRefType)
    body = region_def("single_block")
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(IsolatedFromAbove(), _LaunchEffects())

    def __init__(self, ins: Sequence[SSAValue], outs: Sequence[SSAValue], body: Region) -> None:
        super().__init__(operands=[ins, outs], regions=[body])

    def verify_(self) -> None:
        _check_body(self, self.body, [tensor_of(t) for t in self.ins.types], [tensor_of(t) for t in self.outs.types])

    def print(self, printer: Printer) -> None:
        for word, values in (("ins", self.ins), ("outs", self.outs)):
            if values:
                printer.print_string(f" {word}(")
                printer.print_list(values, printer.print_ssa_value)
                printer.print_string(" : ")
                printer.print_list(values.types, printer.print_attribute)
                printer.print_string(")")
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" ")
        printer.enter_scope()
        printer.print_region(self.body)
        printer.exit_scope()

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        def values(word: str) -> list[SSAValue]:
            if parser.parse_optional_keyword(word) is None:
                return []
            with parser.in_parens():
                found = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_unresolved_operand)
                parser.parse_punctuation(":")
                types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
            if len(found) != len(types):
                parser.raise_error(f"{len(found)} values need as many types, got {len(types)}")
            return [parser.resolve_operand(v, t) for v, t in zip(found, types, strict=True)]

        ins, outs = values("ins"), values("outs")
        attributes = parser.parse_optional_attr_dict_with_keyword()
        op = cls(ins, outs, parse_isolated(parser))
        if attributes is not None:
            op.attributes |= attributes.data
        return op


@irdl_op_definition
class SlotOp(IRDLOperation):
    """
    A buffer in the arena, at a byte offset, for the steps [begin, end) of its block.

    C1  the offset is a multiple of the arena's alignment (the argument's `ge.alignment`)
    C2  the buffer ends inside the arena
    C3  it begins before it ends

        %b = ge.slot %arena[2048] life [1, 3) : memref<4096xi8> -> memref<2x4xf32>
    """

    name = "ge.slot"
    arena = operand_def(MemRefType)
    offset = prop_def(IntegerAttr)
    begin = prop_def(IntegerAttr)
    end = prop_def(IntegerAttr)
    buffer = result_def(MemRefType)
    traits = traits_def(Pure())

    def __init__(self, arena: SSAValue, offset: int, life: tuple[int, int], type_: Attribute) -> None:
        numbers = {"offset": offset, "begin": life[0], "end": life[1]}
        super().__init__(
            operands=[arena],
            result_types=[type_],
            properties={name: IntegerAttr(n, i64) for name, n in numbers.items()},
        )

    @property
    def life(self) -> tuple[int, int]:
        return self.begin.value.data, self.end.value.data

    def verify_(self) -> None:
        offset, size, arena = self.offset.value.data, nbytes(self.buffer.type), nbytes(self.arena.type)
        alignment = arena_alignment(self.arena)
        if offset % alignment:
            fail(self, f"the offset must be a multiple of {alignment}, got {offset} (C1)")
        if offset < 0 or offset + size > arena:
            fail(self, f"{size} bytes at {offset} must lie inside the arena's {arena} (C2)")
        if self.begin.value.data >= self.end.value.data:
            fail(self, f"a lifetime begins before it ends, got [{self.begin.value.data}, {self.end.value.data}) (C3)")

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.arena)
        begin, end = self.life
        printer.print_string(f"[{self.offset.value.data}] life [{begin}, {end})")
        printer.print_op_attributes(self.attributes, reserved_attr_names=(NODE, OUTPUTS), print_keyword=True)
        printer.print_string(" : ")
        printer.print_attribute(self.arena.type)
        printer.print_string(" -> ")
        printer.print_attribute(self.buffer.type)
        print_names(printer, self.attributes)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        arena = parser.parse_unresolved_operand()
        with parser.in_square_brackets():
            offset = parser.parse_integer()
        parser.parse_keyword("life")
        parser.parse_punctuation("[")
        begin = parser.parse_integer()
        parser.parse_punctuation(",")
        end = parser.parse_integer()
        parser.parse_punctuation(")")
        attributes = parser.parse_optional_attr_dict_with_keyword()
        parser.parse_punctuation(":")
        arena_type = parser.parse_type()
        parser.parse_punctuation("->")
        op = cls(parser.resolve_operand(arena, arena_type), offset, (begin, end), parser.parse_type())
        if attributes is not None:
            op.attributes |= attributes.data
        parse_names(parser, op.attributes)
        return op


def arena_alignment(arena: SSAValue) -> int:
    """`ge.alignment` of the function argument that is the arena; 1 where it does not say."""
    from xdsl.dialects.func import FuncOp

    block = arena.owner
    function = block.parent_op() if isinstance(block, Block) else None
    if isinstance(function, FuncOp) and function.arg_attrs is not None and block is function.body.blocks.first:
        alignment = function.arg_attrs.data[cast(Any, arena).index].data.get("ge.alignment")
        if isinstance(alignment, IntegerAttr):
            return alignment.value.data
    return 1


@irdl_op_definition
class HostOp(IRDLOperation):
    """
    A piece of the program whose values are no buffers (sequences, strings, results whose size depends on data), run
    by the reference. It reads buffers and values, and gives values; the memory plan is cut here.

    C1  the body's arguments have the operands' types, tensors for buffers
    C2  the body ends in ge.yield of the results' types

        %s = ge.host (%a = %x : memref<4xf32>) -> (!ge.seq<tensor<?xf32>>) { ... }
    """

    name = "ge.host"
    ins = var_operand_def()
    outs = var_result_def()
    body = region_def("single_block")
    # Without an effects trait nothing is known of its effects: it is neither dropped nor moved.
    traits = traits_def(IsolatedFromAbove())

    def __init__(self, ins: Sequence[SSAValue], out_types: Sequence[Attribute], body: Region) -> None:
        super().__init__(operands=[ins], result_types=[out_types], regions=[body])

    def verify_(self) -> None:
        args = [tensor_of(t) if isinstance(t, MemRefType) else t for t in self.ins.types]
        _check_body(self, self.body, args, list(self.outs.types))
