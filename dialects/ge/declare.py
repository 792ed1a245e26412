"""
What an op's declaration is made of: its name in ONNX, operands and results, attributes as plain values.

    onnx = OnnxName("Transpose", since=1)
    input = operand()
    perm = ints(())
    output = result()

Each function returns what `ge_op` (core.py) expects, typed as what the accessor gives.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    BytesAttr,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IntegerAttr,
    StringAttr,
    TensorType,
    f32,
    i64,
)
from xdsl.ir import Attribute, SSAValue, TypeAttribute
from xdsl.irdl import (
    operand_def,
    opt_operand_def,
    opt_result_def,
    result_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser

from .errors import text_of

Tensor = SSAValue[TensorType[Attribute]]


@dataclass(frozen=True)
class Older:
    """What an operator was: its name then, and its operands in order."""

    type: str
    operands: tuple[str, ...]


@dataclass(frozen=True)
class OnnxName:
    """
    The ONNX operator that an op stands for.

    type           operator name
    since          first version of the operator whose meaning is the op's, apart from `attributes_before`; older ones
                   are imported as ge.opaque
    attributes_before   {opset: {attribute: operand}}: before that opset the operand was an attribute of this name
    scalars        operands that were integer attributes and are scalars now: others became vectors of one
    older          {version: what the operator was}: for versions before `since` that had another name, or operands in
                   another order; the meaning is `GeOp.from_older`'s
    unsaid_before  {opset: names}: before that opset these operands and attributes were not there, and what the op
                   means with them it meant without
    implied        attributes that the operands say too: not kept, written back from `GeOp.implied`
    domain         operator domain
    foreign        whether the onnx package has no schema of it: the op's declaration is all that is known
    """

    type: str
    since: int = 1
    attributes_before: dict[int, dict[str, str]] = field(default_factory=dict[int, dict[str, str]])
    scalars: tuple[str, ...] = ()
    older: dict[int, Older] = field(default_factory=dict[int, Older])
    unsaid_before: dict[int, tuple[str, ...]] = field(default_factory=dict[int, tuple[str, ...]])
    implied: tuple[str, ...] = ()
    domain: str = ""
    foreign: bool = False

    @property
    def has_schema(self) -> bool:
        """Whether the onnx package's schema says what a node of the operator may have."""
        return not self.domain and not self.foreign


# Each returns what irdl_op_definition expects, typed as what the accessor gives.


def operand() -> Tensor:
    return cast(Tensor, operand_def(TensorType))


def opt_operand() -> Tensor | None:
    return cast("Tensor | None", opt_operand_def(TensorType))


def var_operands() -> Sequence[Tensor]:
    return cast("Sequence[Tensor]", var_operand_def(TensorType))


def result() -> Tensor:
    return cast(Tensor, result_def(TensorType))


def opt_result() -> Tensor | None:
    return cast("Tensor | None", opt_result_def(TensorType))


def without_hints(attrs: dict[str, Any]) -> dict[str, Any]:
    """A node's attributes without what opset 5 and older let an engine do: it changes no value."""
    return {name: value for name, value in attrs.items() if name != "consumed_inputs"}


def var_results() -> Sequence[Tensor]:
    return cast("Sequence[Tensor]", var_result_def(TensorType))


@dataclass(frozen=True)
class Codec:
    """How one kind of attribute is kept: python value <-> xDSL attribute, and its text after the attribute's name."""

    kind: str
    pack: Callable[[Any], Attribute]
    unpack: Callable[[Any], Any]
    parse: Callable[[Parser], Any]
    show: Callable[[Any], str]
    constraint: Any
    exact: Callable[[Any], Any] = lambda value: value
    """The value as it is kept: equal ops are equal, whoever made them."""


def _as_f32(value: float) -> float:
    return ctypes.c_float(value).value


def _float_text(value: float) -> str:
    # ONNX's floats are f32: the shortest text that gives the same f32 back.
    import numpy as np

    text = str(np.float32(value))
    if text in ("nan", "inf", "-inf"):
        return f'"{text}"'
    return text if "." in text else text.replace("e", ".0e") if "e" in text else text + ".0"


def _parse_float(parser: Parser) -> float:
    text = parser.parse_optional_str_literal()
    return float(text) if text is not None else float(parser.parse_number())


def _list(parse: Callable[[Parser], Any]) -> Callable[[Parser], Any]:
    return lambda parser: tuple(parser.parse_comma_separated_list(parser.Delimiter.SQUARE, lambda: parse(parser)))


def _parse_int(parser: Parser) -> int:
    return parser.parse_integer(allow_boolean=False)


def parse_text(parser: Parser) -> str:
    """A string literal, which xDSL lexes as bytes where it has escapes beyond ASCII."""
    text = parser.parse_optional_str_literal()
    return text if text is not None else parser.parse_bytes_literal().decode("utf-8", "replace")


def _parse_tensor(parser: Parser) -> tuple[Attribute, Attribute]:
    value = parser.parse_attribute()
    if isinstance(value, DenseIntOrFPElementsAttr):
        dense = cast("DenseIntOrFPElementsAttr[Any]", value)
        return dense, dense.type
    parser.parse_punctuation(":")
    return value, parser.parse_type()


def _tensor_text(value: tuple[Attribute, Attribute]) -> str:
    # Dense data says its type itself.
    data, type_ = value
    return str(cast(Attribute, data)) if isinstance(data, DenseIntOrFPElementsAttr) else f"{data} : {type_}"


def _list_text(show: Callable[[Any], str]) -> Callable[[Any], str]:
    return lambda values: "[" + ", ".join(map(show, values)) + "]"


def _string_text(value: str) -> str:
    return str(StringAttr(value))


INT = Codec("int", lambda v: IntegerAttr(int(v), i64), lambda a: a.value.data, _parse_int, str, IntegerAttr)
INTS = Codec(
    "ints",
    lambda v: DenseArrayBase.from_list(i64, [int(x) for x in v]),
    lambda a: a.get_values(),
    _list(_parse_int),
    _list_text(str),
    DenseArrayBase,
)
FLOAT = Codec(
    "float", lambda v: FloatAttr(v, f32), lambda a: a.value.data, _parse_float, _float_text, FloatAttr, _as_f32
)
FLOATS = Codec(
    "floats",
    lambda v: ArrayAttr([FloatAttr(x, f32) for x in v]),
    lambda a: tuple(x.value.data for x in a),
    _list(_parse_float),
    _list_text(_float_text),
    ArrayAttr,
    lambda v: tuple(map(_as_f32, v)),
)
TEXT = Codec("string", StringAttr, text_of, parse_text, _string_text, StringAttr | BytesAttr)
TEXTS = Codec(
    "strings",
    lambda v: ArrayAttr([StringAttr(x) for x in v]),
    lambda a: tuple(text_of(x) for x in a),
    _list(parse_text),
    _list_text(_string_text),
    ArrayAttr,
)
TENSOR = Codec("tensor", ArrayAttr, lambda a: tuple(a.data), _parse_tensor, _tensor_text, ArrayAttr)
"""Its value is the pair of a `ge.constant`: the data in one of its forms, and the type."""
TYPE = Codec("type", lambda v: v, lambda a: a, lambda p: p.parse_type(), str, TypeAttribute)

REQUIRED: Any = object()


@dataclass(frozen=True)
class AttributeDecl:
    """
    An attribute of an op: `default` None means that absent is a meaning of its own; `ours` that ONNX does not have it.
    """

    codec: Codec
    default: Any
    ours: bool = False


def ints(default: Sequence[int] | None = REQUIRED) -> tuple[int, ...]:
    return cast(Any, AttributeDecl(INTS, default if default is None or default is REQUIRED else tuple(default)))


def opt_ints() -> tuple[int, ...] | None:
    return cast(Any, AttributeDecl(INTS, None))


def integer(default: int = REQUIRED) -> int:
    return cast(Any, AttributeDecl(INT, default))


def opt_integer() -> int | None:
    return cast(Any, AttributeDecl(INT, None))


def real(default: float = REQUIRED) -> float:
    return cast(Any, AttributeDecl(FLOAT, default if default is REQUIRED else _as_f32(default)))


def opt_real() -> float | None:
    return cast(Any, AttributeDecl(FLOAT, None))


def opt_reals() -> tuple[float, ...] | None:
    return cast(Any, AttributeDecl(FLOATS, None))


def opt_texts() -> tuple[str, ...] | None:
    return cast(Any, AttributeDecl(TEXTS, None))


def text(default: str = REQUIRED) -> str:
    return cast(Any, AttributeDecl(TEXT, default))


def our_text(default: str) -> str:
    """A string attribute that ONNX does not have."""
    return cast(Any, AttributeDecl(TEXT, default, ours=True))


def our_ints() -> tuple[int, ...]:
    """Integers that ONNX does not have; none by default."""
    return cast(Any, AttributeDecl(INTS, (), ours=True))


def opt_tensor() -> tuple[Attribute, Attribute] | None:
    """An ONNX attribute that holds a tensor, as the value and the type of a `ge.constant`."""
    return cast(Any, AttributeDecl(TENSOR, None))


def element_type(default: Attribute | None = REQUIRED) -> Attribute:
    """An ONNX attribute that holds a TensorProto.DataType, as a type."""
    return cast(Any, AttributeDecl(TYPE, default))
