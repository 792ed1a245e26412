"""
A model at several shapes: one function a shape, over the same weights.

    --input-shape="x:1|2,3"

    func.func @main(%x: tensor<?x3xf32>)   ->   func.func @main_0(%x: tensor<1x3xf32>) {ge.gear_of = "main"}
                                                func.func @main_1(%x: tensor<2x3xf32>) {ge.gear_of = "main"}
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from math import prod

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp

from ...dialects.ge.errors import UsageError
from ...dialects.ge.gears import GEAR_OF, fitting_gear, gears, input_dims
from ..rewriting import functions
from .bind import bind_function, symbols_of

MOST = 100
"""Functions that a model may become."""

Shapes = Mapping[str, Sequence[int]]
Several = Mapping[str, Sequence["int | tuple[int, ...]"]]
"""Dims by input; a tuple is a choice of sizes."""


def bind_gears(module: ModuleOp, shapes: Several) -> None:
    """
    Gives free dims their sizes; where one has several, the module becomes a function for each.

    raises  UsageError: as bind_shapes, and for more gears than MOST
    cost    linear in ops times gears
    """
    make_gears(module, combinations(module, shapes))


def combinations(module: ModuleOp, shapes: Several) -> list[dict[str, tuple[int, ...]]]:
    """
    The shapes that a choice of sizes stands for: dims of one symbol have one size at a time, others vary by themselves.

    raises  UsageError
    """
    function = next(functions(module), None)
    symbols = symbols_of(function) if function is not None else {}
    choices: dict[str | tuple[str, int], tuple[int, ...]] = {}
    for name, dims in shapes.items():
        for axis, dim in enumerate(dims):
            if isinstance(dim, tuple):
                key = symbols.get((name, axis), (name, axis))
                if choices.setdefault(key, dim) != dim:
                    one, other = ("|".join(map(str, sizes)) for sizes in (choices[key], dim))
                    raise UsageError(f"dim '{key}' cannot be both {one} and {other}")
    count = prod(map(len, choices.values()))
    if count > MOST:
        raise UsageError(f"the sizes of the free dims make {count} shapes, {MOST} at most; give fewer")
    found: list[dict[str, tuple[int, ...]]] = []
    for sizes in product(*choices.values()):
        chosen = dict(zip(choices, sizes, strict=True))
        found.append(
            {
                name: tuple(
                    dim if isinstance(dim, int) else chosen[symbols.get((name, axis), (name, axis))]
                    for axis, dim in enumerate(dims)
                )
                for name, dims in shapes.items()
            }
        )
    return found


def make_gears(module: ModuleOp, shapes: Sequence[Shapes]) -> None:
    """
    One function for each of the shapes; one shape alone is bound in place.

    raises  UsageError: as bind_shapes, and for a module of several functions
    """
    if len(shapes) == 1:
        for function in functions(module):
            bind_function(function, shapes[0])
        return
    whole = list(functions(module))
    if len(whole) != 1 or gears(module):
        raise UsageError(f"only one function can be given several shapes, the module has {len(whole)}")
    [function] = whole
    for k, sizes in enumerate(shapes):
        gear = function.clone()
        gear.properties["sym_name"] = StringAttr(f"{function.sym_name.data}_{k}")
        gear.attributes[GEAR_OF] = function.sym_name
        module.body.block.insert_op_before(gear, function)
        bind_function(gear, sizes)
    function.detach()
    function.erase(safe_erase=False)


def in_gears(module: ModuleOp, shapes: Sequence[Shapes]) -> ModuleOp:
    """`make_gears` of a copy."""
    copy = module.clone()
    make_gears(copy, shapes)
    return copy


def keep_fitting(module: ModuleOp, shapes: Mapping[str, Sequence[int]], values: Mapping[str, Sequence[int]]) -> None:
    """
    Of a model in gears only the first stays that inputs of these shapes fit; it is then the model at one shape.

    shapes   that were asked for, by input; -1 fits any size
    values   of what the inputs are to be, as far as it is known; names that are no inputs do not count
    raises   UsageError for a shape of what is no input; InputError that lists the gears where none fits
    """
    known = {name for function in gears(module) for name, _ in input_dims(function)}
    if strange := next((name for name in shapes if name not in known), None):
        raise UsageError(f"the model has no input '{strange}'; its inputs are {', '.join(sorted(known))}")
    keep_gear(module, fitting_gear(module, {**shapes, **values}))


def keep_gear(module: ModuleOp, function: FuncOp) -> None:
    """Drops the gears but this one, which is then the model at one shape."""
    for gear in gears(module):
        if gear is not function:
            gear.detach()
            gear.erase(safe_erase=False)
    del function.attributes[GEAR_OF]
