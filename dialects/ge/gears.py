"""
Gears: functions that are one model at several shapes. Which shapes are one's, its arguments' types say.

    func.func @main_0(%x: tensor<1x3xf32>) attributes {ge.gear_of = "main"} {..}
    func.func @main_1(%x: tensor<2x3xf32>) attributes {ge.gear_of = "main"} {..}

They read the same weights, work in one arena, and whoever runs the model takes the one that its inputs fit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import cast

from xdsl.dialects.builtin import DictionaryAttr, MemRefType, ModuleOp, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute

from .errors import InputError, text_of
from .types import shape_of

GEAR_OF = "ge.gear_of"
"""On a function: the name of the model that it is a gear of."""


def gears(module: ModuleOp) -> list[FuncOp]:
    """The functions of a module that is one model in gears; none where it is not."""
    functions = [op for op in module.body.block.ops if isinstance(op, FuncOp)]
    models = {text_of(function.attributes.get(GEAR_OF)) for function in functions}
    return functions if len(models) == 1 and None not in models else []


def fitting_gear(module: ModuleOp, shapes: Mapping[str, Sequence[int]]) -> FuncOp:
    """
    The first gear that takes inputs of these shapes.

    shapes   by input; -1 fits any size, and an input that is not named any shape
    raises   InputError that lists the gears
    """
    functions = gears(module)
    for function in functions:
        if all(_fits(dims, shapes[name]) for name, dims in input_dims(function) if name in shapes):
            return function
    known = dict(input_dims(functions[0]))
    given = ", ".join(_written(name, dims) for name, dims in shapes.items() if name in known)
    listed = "; ".join(", ".join(_written(*one) for one in input_dims(function)) for function in functions)
    raise InputError(f"no gear of the model takes {given}; its gears are {listed}")


def written_inputs(function: FuncOp) -> str:
    """`x:1,3;y:1,77`, as --input-shape takes it."""
    return ";".join(_written(*one) for one in input_dims(function))


def input_dims(function: FuncOp) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Names and dims of the inputs that are tensors or buffers."""
    attrs = cast("Sequence[DictionaryAttr]", function.arg_attrs.data) if function.arg_attrs is not None else ()
    for k, argument in enumerate(function.body.block.args):
        said: Mapping[str, Attribute] = attrs[k].data if k < len(attrs) else {}
        if not said.keys() & {"ge.arena", "ge.result"} and argument.type.name in (TensorType.name, MemRefType.name):
            yield text_of(said.get("onnx.name")) or f"input_{k}", shape_of(argument.type)


def _fits(have: Sequence[int], given: Sequence[int]) -> bool:
    return len(have) == len(given) and all(a == b or -1 in (a, b) for a, b in zip(have, given, strict=True))


def _written(name: str, dims: Sequence[int]) -> str:
    return f"{name}:{','.join('?' if d < 0 else str(d) for d in dims)}"
