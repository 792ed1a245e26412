"""
Constants and the files behind them.

    ge.weights @w {path = "m.onnx", bytes = 1024 : i64}      a file; stands before all else in the module
    ge.constant #ge.weight<@w, 4096> : tensor<64xf32>        a tensor known before the program runs
    ge.mapped   #ge.weight<@w, 4096> : memref<64xf32>        the same as a buffer, once memory exists
"""

from __future__ import annotations

import math
from itertools import count
from typing import Any, Self, cast
from weakref import WeakKeyDictionary

from xdsl.dialects.builtin import (
    BytesAttr,
    DenseIntOrFPElementsAttr,
    FloatData,
    IntAttr,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    StringAttr,
    SymbolNameConstraint,
    TensorType,
    i64,
)
from xdsl.ir import Attribute, Operation
from xdsl.irdl import (
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_op_definition,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import ConstantLike, HasParent, Pure, SymbolOpInterface, SymbolUserOpInterface

from .attributes import RawAttr, SplatAttr, StringsAttr, WeightAttr
from .data import (
    INLINE,
    SIDECAR,
    Array,
    append_to_sidecar,
    array_of,
    find_module,
    shared_in_sidecar,
    sidecar_path,
    value_of,
    weight_files,
    weight_in,
    weights_path,
)
from .errors import fail
from .gears import gears
from .info import Info
from .kinds import Kind
from .names import NODE, OUTPUTS, parse_names, print_names
from .types import (
    StringType,
    byte_size,
    element_of,
    is_element,
    is_float,
    is_integer,
    is_static,
    is_tensor,
    shape_of,
    tensor_type,
)


@irdl_op_definition
class WeightsOp(IRDLOperation, metaclass=Kind):
    """
    Names a file that holds the bytes of constants; stands before all else in the module.

    path     the file, relative to the module's own file in text, absolute in memory
    bytes    its size: a file of another size is not the one that was compiled
    digest   SHA-256 of it, where this compiler wrote it

        ge.weights @w {path = "resnet50.onnx", bytes = 102489006 : i64}
    """

    name = "ge.weights"
    sym_name = prop_def(SymbolNameConstraint())
    path = prop_def(StringAttr | BytesAttr)  # as bytes only while text is parsed (text.py)
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


_ARRAYS: WeakKeyDictionary[Operation, tuple[Attribute, Attribute, Array]] = WeakKeyDictionary()
"""What constants in the text hold, with the value and the type that say so."""


class _Data(IRDLOperation, metaclass=Kind):
    """Shared by what has a constant's data as `value`."""

    value = prop_def(Attribute)

    def array(self) -> Array:
        """The data, mapped and read-only. Raises InputError where its file is missing or too short."""
        value = self.properties["value"]
        type_ = cast("TensorType[Attribute] | MemRefType[Attribute]", self.results[0].type)
        if isinstance(value, WeightAttr):
            return array_of(value, tensor_type(type_.element_type, type_.get_shape()), find_module(self))
        # Asked for again and again.
        known = _ARRAYS.get(self)
        if known is None or known[0] is not value or known[1] is not type_:
            array = array_of(value, tensor_type(type_.element_type, type_.get_shape()), None)
            array.flags.writeable = False
            known = _ARRAYS[self] = (value, type_, array)
        return known[2]

    def _check(self) -> None:
        type_ = self.results[0].type
        if not is_static(type_):
            fail(self, f"the type must be static, got {type_} (C1)")
        element, count = cast(Any, type_).element_type, math.prod(shape_of(type_))
        if not is_element(element) or (element == StringType()) != isinstance(self.value, StringsAttr):
            fail(self, f"a constant of {element} cannot be {self.value} (C3)")
        match self.value:
            case DenseIntOrFPElementsAttr():
                dense = cast("DenseIntOrFPElementsAttr[Any]", self.value)
                if (dense.type.element_type, dense.get_shape()) != (element, shape_of(type_)):
                    fail(self, f"the data is {dense.type}, the result {type_} (C3)")
            case RawAttr() if len(self.value.data.data) != byte_size(element, count):
                fail(self, f"{type_} needs {byte_size(element, count)} bytes, got {len(self.value.data.data)} (C3)")
            case StringsAttr() if len(self.value.values) != count:
                fail(self, f"{type_} needs {count} strings, got {len(self.value.values)} (C3)")
            case SplatAttr() if not _is_of(self.value, element):
                fail(self, f"{self.value} is no {element} (C3)")
            case WeightAttr() | SplatAttr() | RawAttr() | StringsAttr():
                pass
            case _:
                fail(self, f"the value must be dense, #ge.splat, .bytes, .strings or .weight, got {self.value} (C3)")

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_attribute(self.value)
        printer.print_op_attributes(self.attributes, reserved_attr_names=(NODE, OUTPUTS), print_keyword=True)
        # Dense data says its type itself.
        type_: Attribute = self.results[0].type
        own_type = isinstance(self.value, DenseIntOrFPElementsAttr) and is_tensor(type_)
        if not own_type or self.attributes.keys() - {NODE, OUTPUTS}:
            printer.print_string(" : ")
            printer.print_attribute(type_)
        print_names(printer, self.attributes)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        value: Attribute = parser.parse_attribute()
        attributes = parser.parse_optional_attr_dict_with_keyword()
        if parser.parse_optional_punctuation(":") is not None:
            type_ = parser.parse_type()
        elif isinstance(value, DenseIntOrFPElementsAttr):
            type_ = cast("DenseIntOrFPElementsAttr[Any]", value).type
        else:
            parser.raise_error("the constant's type must follow")
        extra = dict(attributes.data) if attributes is not None else {}
        op = cls.create(properties={"value": cast(Attribute, value)}, result_types=[type_], attributes=extra)
        parse_names(parser, op.attributes)
        return op


def _is_of(value: SplatAttr, element: Attribute) -> bool:
    """Whether the one element of a splat is of an element type: bytes of its width, or a number in its range."""
    row, one = element_of(element), value.element
    match one:
        case BytesAttr():
            return len(one.data) == byte_size(element, 1)
        case FloatData():
            return is_float(element)
        case IntAttr():
            if row.dtype.kind == "b":
                return one.data in (0, 1)
            low = 0 if row.dtype.name.startswith("u") else -(1 << (row.bits - 1))
            return is_integer(element) and low <= one.data < low + (1 << row.bits)


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
    """A constant with the data of `array`: in the text where it is small or one element repeated, else in a file."""
    type_ = tensor_type(element_of(array.dtype).type, array.shape)
    try:
        return ConstantOp(value_of(array), type_)
    except ValueError:
        pass
    # Gears compute the same of the same weights, each for itself.
    offset = shared_in_sidecar(array) if gears(module) else append_to_sidecar(array)
    path, size = str(sidecar_path()), sidecar_path().stat().st_size
    block, named = module.body.block, list(weight_files(module))
    for op in named:
        if cast(StringAttr, op.properties["path"]).data == path:
            op.properties["bytes"] = IntegerAttr(size, i64)
            return ConstantOp(weight_in(cast(StringAttr, op.properties["sym_name"]).data, offset), type_)
    # A module that was read again may name the file of an earlier run so.
    taken = {cast(StringAttr, op.properties["sym_name"]).data for op in named}
    symbol = next(s for k in count() if (s := f"{SIDECAR}{k or ''}") not in taken)
    if block.first_op is None:
        block.add_op(WeightsOp(symbol, path, size))
    else:
        block.insert_op_before(WeightsOp(symbol, path, size), block.first_op)
    return ConstantOp(weight_in(symbol, offset), type_)
