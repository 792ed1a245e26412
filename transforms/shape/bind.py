"""Binding of free dimensions: a model with `N` samples becomes one with 8."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntegerAttr, ModuleOp, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute

from ...dialects.ge.errors import InputError, UsageError, text_of
from ...dialects.ge.types import is_tensor, shape_of, tensor_type
from ..rewriting import functions
from .infer_shape import infer_shapes


def bind_shapes(module: ModuleOp, shapes: Mapping[str, Sequence[int]]) -> None:
    """
    Gives free dims of inputs their sizes, everywhere that the same symbol stands.

    shapes     dims by input name; -1 leaves one free
    raises     UsageError for an input that is not there, another rank, a dim that is another number already, two sizes
               for one symbol, and sizes that an op cannot work on
    """
    for function in functions(module):
        bind_function(function, shapes)


def bind_function(function: FuncOp, shapes: Mapping[str, Sequence[int]]) -> None:
    """`bind_shapes` for one function."""
    _bind(function, shapes)
    try:
        infer_shapes(function)
    except InputError as err:
        said = ";".join(f"{n}:{','.join('?' if d < 0 else str(d) for d in dims)}" for n, dims in shapes.items())
        raise UsageError(f"the model cannot have the input shape {said}: {err.message}") from err


def symbols_of(function: FuncOp) -> dict[tuple[str, int], str]:
    """The symbols of inputs' free dims, by input name and axis."""
    found: dict[tuple[str, int], str] = {}
    for attr in function.arg_attrs.data if function.arg_attrs else ():
        declared, name = attr.data.get("ge.dims"), text_of(attr.data.get("onnx.name"))
        if name is not None and isinstance(declared, ArrayAttr):
            for axis in range(len(cast("ArrayAttr[Attribute]", declared).data)):
                if (symbol := _symbol(attr.data, axis)) is not None:
                    found[name, axis] = symbol
    return found


def _bind(function: FuncOp, shapes: Mapping[str, Sequence[int]]) -> None:
    block = function.body.block
    attrs = [dict(a.data) for a in function.arg_attrs.data] if function.arg_attrs else []
    attrs.extend({} for _ in range(len(block.args) - len(attrs)))
    names = [text_of(a.get("onnx.name")) or f"input_{k}" for k, a in enumerate(attrs)]
    sizes: dict[str, int] = {}
    for name, dims in shapes.items():
        if name not in names:
            raise UsageError(f"the model has no input '{name}'; its inputs are {', '.join(names)}")
        k = names.index(name)
        type_ = block.args[k].type
        if not is_tensor(type_) or len(dims) != len(shape_of(type_)):
            raise UsageError(f"input '{name}' is {type_}: it cannot be {list(dims)}")
        for axis, (have, want) in enumerate(zip(shape_of(type_), dims, strict=True)):
            symbol = _symbol(attrs[k], axis)
            if have >= 0 and want not in (have, -1):
                raise UsageError(f"input '{name}': dim {axis} is {have} in the model, it cannot be {want}")
            if want >= 0 and symbol and sizes.setdefault(symbol, want) != want:
                raise UsageError(f"dim '{symbol}' cannot be both {sizes[symbol]} and {want}")
        block.args[k]._type = tensor_type(  # pyright: ignore[reportPrivateUsage]
            type_.element_type,
            tuple(h if w < 0 else w for h, w in zip(shape_of(type_), dims, strict=True)),
        )
    for k, argument in enumerate(block.args):
        type_ = argument.type
        if not is_tensor(type_):
            continue
        told = shape_of(type_)
        dims = tuple(d if d >= 0 else sizes.get(_symbol(attrs[k], axis) or "", -1) for axis, d in enumerate(told))
        argument._type = tensor_type(type_.element_type, dims)  # pyright: ignore[reportPrivateUsage]
        attrs[k] = _bound(attrs[k], sizes, dims)
    function.properties["arg_attrs"] = ArrayAttr([DictionaryAttr(a) for a in attrs])
    if function.res_attrs:
        results = [dict(a.data) for a in function.res_attrs.data]
        function.properties["res_attrs"] = ArrayAttr([DictionaryAttr(_bound(r, sizes, ())) for r in results])


def _symbol(said: Mapping[str, Attribute], axis: int) -> str | None:
    declared = said.get("ge.dims")
    dims = cast("ArrayAttr[Attribute]", declared).data if isinstance(declared, ArrayAttr) else ()
    return text_of(dims[axis]) if axis < len(dims) else None


def _bound(said: dict[str, Attribute], sizes: Mapping[str, int], dims: Sequence[int]) -> dict[str, Attribute]:
    """What is declared of an argument or result, with the symbols that now have a size replaced by it."""
    declared = said.get("ge.dims")
    if not isinstance(declared, ArrayAttr):
        return said
    new: list[Attribute] = []
    for axis, attr in enumerate(cast("ArrayAttr[Attribute]", declared).data):
        size = sizes.get(text_of(attr) or "", dims[axis] if axis < len(dims) else -1)
        new.append(IntegerAttr(size, i64) if size >= 0 else attr)
    return said | {"ge.dims": ArrayAttr(new)}
