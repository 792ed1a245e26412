"""
Makes a module that fails smaller while it still fails: delta debugging on what a function is made of.

    functions   one of several, a model's gears say, that fails alone
    outputs     fewer results
    end         the result of an op in the middle is the only one: what comes after goes
    start       results of ops become inputs: what comes before goes
    bypass      an op's reader reads the op's operand
    constants   an input, or one element repeated
    shapes      sizes become 1, 2 or half
    names       of nodes, outputs and the model

Items are tried in chunks: all, halves, quarters, ... single ones. Every candidate verifies, so what it shows is never
the fault of the input. The steps are run again while one of them gained something.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, StringAttr, TensorType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import Rewriter

from ..dialects.ge.attributes import SplatAttr, WeightAttr
from ..dialects.ge.constants import ConstantOp
from ..dialects.ge.core import GeOp
from ..dialects.ge.data import value_of, weight_files
from ..dialects.ge.errors import UsageError
from ..dialects.ge.gears import GEAR_OF
from ..dialects.ge.types import is_shaped, shape_of, tensor_type
from ..frontend.nodes import OPSETS
from ..transforms.base import NAMES
from ..transforms.rewriting import sync_type

Fails = Callable[[ModuleOp], bool]
Edit = Callable[[FuncOp], None]
Items = Callable[[FuncOp], int]
Drop = Callable[[FuncOp, range], None]
Tell = Callable[[str, ModuleOp], None]


class Reducer:
    """
    module   one that fails; not changed
    fails    whether a candidate, which it may change, fails as the module does
    tell     hears of each step as it starts and of each gain: the step's name, the smallest module so far
    """

    def __init__(self, module: ModuleOp, fails: Fails, tell: Tell | None = None) -> None:
        self.module = module
        self.tried = 0
        self._fails, self._tell, self._step = fails, tell or (lambda step, module: None), ""

    def run(self) -> ModuleOp:
        """
        The smallest module found that still fails.

        raises  UsageError where no function of it fails alone
        """
        self._one_function()
        steps: dict[str, Callable[[], bool]] = {
            "outputs": lambda: self._chunks(lambda f: len(_returned(f)), _drop_outputs),
            "end": self._end,
            "start": lambda: self._chunks(lambda f: len(_nodes(f)), _cut),
            "bypass": lambda: self._chunks(lambda f: len(_nodes(f)), _bypass),
            "constants": self._constants,
            "shapes": self._shapes,
            "names": lambda: self._attempt(_drop_names, smaller=False),
        }
        gained = True
        while gained:
            gained = False
            for name, step in steps.items():
                self._step = name
                self._tell(name, self.module)
                gained |= step() and name != "names"
        return self.module

    def _attempt(self, edit: Edit, smaller: bool = True) -> bool:
        """Takes the edited module over if it verifies, is smaller where that is asked, and still fails."""
        candidate = self.module.clone()
        try:
            edit(_function(candidate))
            _tidy(candidate)
            if smaller and size(candidate) >= size(self.module):
                return False
            candidate.verify()
        except Exception:  # an edit that does not fit this module: its types, its bodies
            return False
        self.tried += 1
        if not self._fails(candidate.clone()):
            return False
        self.module = candidate
        self._tell(self._step, candidate)
        return True

    def _one_function(self) -> None:
        self._step = "functions"
        count = len(_functions(self.module))
        alone = (self._attempt(lambda f, k=k: _keep_only(f, k), smaller=False) for k in range(count))
        if count > 1 and not any(alone):
            raise UsageError(f"none of the {count} functions fails alone; what is made smaller is one function")

    def _chunks(self, items: Items, drop: Drop) -> bool:
        gained, chunk = False, items(_function(self.module))
        while chunk:
            at = 0
            while at < (count := items(_function(self.module))):
                part = range(at, min(at + chunk, count))
                if self._attempt(lambda f, part=part: drop(f, part)):
                    gained = True
                else:
                    at += chunk
            chunk //= 2
        return gained

    def _end(self) -> bool:
        """The first op whose result alone still fails, by halving; then, since that is not monotone, a few before."""
        gained, low = False, 0
        while low < (high := len(_nodes(_function(self.module)))):
            middle = (low + high - 1) // 2
            if self._attempt(lambda f, k=middle: _return_only(f, k)):
                gained = True
            else:
                low = middle + 1
        return gained

    def _constants(self) -> bool:
        gained = self._chunks(lambda f: len(_constants(f)), _as_inputs)
        return self._chunks(lambda f: len([op for op in _constants(f) if _is_data(op)]), _as_splats) or gained

    def _shapes(self) -> bool:
        gained = False
        for size_ in _sizes(_function(self.module)):
            for new in dict.fromkeys((1, 2, size_ // 2)):
                if new < size_ and self._attempt(lambda f, old=size_, new=new: _resize(f, old, new)):
                    gained = True
                    break
        return gained


def size(module: ModuleOp) -> tuple[int, int, int, int]:
    """What is smaller is better: nodes, then constants' data, then results and inputs, then the sizes of all shapes."""
    function = _function(module)
    ops = list(function.walk())
    dims = sum(sum(d for d in shape_of(v.type) if d > 0) for op in ops for v in op.results if is_shaped(v.type))
    dims += sum(sum(d for d in shape_of(a.type) if d > 0) for a in function.body.block.args if is_shaped(a.type))
    data = sum(2 if _is_data(op) else 1 for op in ops if isinstance(op, ConstantOp))
    nodes = sum(not isinstance(op, ConstantOp) for op in ops)
    return nodes, data, len(_returned(function)) + len(function.body.block.args), dims


# ------------------------------------------------------------------ what there is


def _functions(module: ModuleOp) -> list[FuncOp]:
    return [op for op in module.body.block.ops if isinstance(op, FuncOp)]


def _function(module: ModuleOp) -> FuncOp:
    return _functions(module)[0]


def _returned(function: FuncOp) -> Sequence[SSAValue]:
    return cast(ReturnOp, function.body.block.last_op).operands


def _nodes(function: FuncOp) -> list[Operation]:
    return [op for op in function.body.block.ops if not isinstance(op, ConstantOp | ReturnOp)]


def _constants(function: FuncOp) -> list[ConstantOp]:
    return [op for op in function.body.block.ops if isinstance(op, ConstantOp)]


def _is_data(op: Operation) -> bool:
    return isinstance(op, ConstantOp) and not isinstance(op.value, SplatAttr)


def _sizes(function: FuncOp) -> list[int]:
    """Static sizes of inputs and constants, the largest first."""
    values: list[SSAValue] = [*function.body.block.args, *(op.output for op in _constants(function))]
    return sorted({d for v in values if is_shaped(v.type) for d in shape_of(v.type) if d > 1}, reverse=True)


# ------------------------------------------------------------------ edits


def _keep_only(function: FuncOp, index: int) -> None:
    """Of the module's functions."""
    functions = _functions(cast(ModuleOp, function.parent_op()))
    functions[index].attributes.pop(GEAR_OF, None)
    for other in functions:
        if other is not functions[index]:
            other.detach()
            other.erase(safe_erase=False)


def _drop_outputs(function: FuncOp, part: range) -> None:
    values = list(_returned(function))
    kept = [k for k in range(len(values)) if k not in part]
    if not kept:
        raise ValueError("a function without results shows nothing")
    _return(function, [values[k] for k in kept], [_described(function.res_attrs, k) for k in kept])


def _return_only(function: FuncOp, index: int) -> None:
    results = [r for r in _nodes(function)[index].results if isinstance(r.type, TensorType)]
    if list(_returned(function)) == results:
        raise ValueError("that is what it returns")
    _return(function, results, [DictionaryAttr({"onnx.name": StringAttr(f"out{k}")}) for k in range(len(results))])


def _cut(function: FuncOp, part: range) -> None:
    for op in _nodes(function)[part.start : part.stop]:
        _replace_by_inputs(function, op)


def _as_inputs(function: FuncOp, part: range) -> None:
    for op in _constants(function)[part.start : part.stop]:
        _replace_by_inputs(function, op)


def _replace_by_inputs(function: FuncOp, op: Operation) -> None:
    block = function.body.block
    for result in op.results:
        if result.first_use is not None:
            described = [_described(function.arg_attrs, k) for k in range(len(block.args))]
            taken = {cast(Any, known.data["onnx.name"]).data for known in described if "onnx.name" in known.data}
            name = next(n for k in range(len(taken) + 1) if (n := f"in{k}") not in taken)
            argument = block.insert_arg(result.type, len(block.args))
            described.append(DictionaryAttr({"onnx.name": StringAttr(name)}))
            function.properties["arg_attrs"] = ArrayAttr(described)
            result.replace_all_uses_with(argument)


def _bypass(function: FuncOp, part: range) -> None:
    for op in _nodes(function)[part.start : part.stop]:
        for result in op.results:
            same = next((v for v in op.operands if v.type == result.type), None)
            if same is not None:
                result.replace_all_uses_with(same)


def _as_splats(function: FuncOp, part: range) -> None:
    for op in [op for op in _constants(function) if _is_data(op)][part.start : part.stop]:
        first = op.array().reshape(-1)[:1]
        value = value_of(np.repeat(first, 2))
        if not isinstance(value, SplatAttr):
            raise ValueError("no number to repeat")
        op.properties["value"] = value


def _resize(function: FuncOp, old: int, new: int) -> None:
    """Dims of `old` are `new` in inputs and constants; what follows is inferred again."""
    for argument in function.body.block.args:
        _set_type(argument, _resized(argument.type, old, new))
    described = [_described(function.arg_attrs, k) for k in range(len(function.body.block.args))]
    function.properties["arg_attrs"] = ArrayAttr(
        [DictionaryAttr({k: v for k, v in each.data.items() if k != "ge.dims"}) for each in described]
    )
    for op in function.body.block.ops:
        if isinstance(op, ConstantOp):
            type_ = _resized(op.output.type, old, new)
            if type_ != op.output.type and _is_data(op):
                raise ValueError("its data has its size")
            _set_type(op.output, type_)
        elif isinstance(op, GeOp) and not op.regions:
            for result, info in zip(op.results, op.inferred(), strict=False):
                _set_type(result, info.type)
        elif not isinstance(op, ReturnOp):
            raise ValueError(f"what {op.name} gives is not inferred")


def _resized(type_: Attribute, old: int, new: int) -> Attribute:
    if not isinstance(type_, TensorType):
        return type_
    dims = tuple(new if d == old else d for d in shape_of(cast(Attribute, type_)))
    return tensor_type(cast(Any, type_).element_type, dims)


def _set_type(value: SSAValue, type_: Attribute) -> None:
    value._type = type_  # pyright: ignore[reportPrivateUsage]


def _drop_names(function: FuncOp) -> None:
    for op in function.walk():
        for name in NAMES:
            op.attributes.pop(name, None)
    for name in ("onnx.inputs", "onnx.constant_inputs"):
        function.attributes.pop(name, None)
    module = cast(ModuleOp, function.parent_op())
    for name in [name for name in module.attributes if name != OPSETS]:
        del module.attributes[name]


# ------------------------------------------------------------------ keeping it whole


def _described(attrs: ArrayAttr[Any] | None, k: int) -> DictionaryAttr:
    return cast(DictionaryAttr, attrs.data[k]) if attrs is not None and k < len(attrs.data) else DictionaryAttr({})


def _return(function: FuncOp, values: Sequence[SSAValue], described: Sequence[DictionaryAttr]) -> None:
    old = cast(ReturnOp, function.body.block.last_op)
    function.body.block.insert_op_before(ReturnOp(*values), old)
    Rewriter.erase_op(old)
    function.properties["res_attrs"] = ArrayAttr(list(described))


def _tidy(module: ModuleOp) -> None:
    """Drops ops, inputs and files that nothing reads any more: here also what has effects."""
    function = _function(module)
    block = function.body.block
    for op in _backwards(block.last_op):
        if not isinstance(op, ReturnOp) and not any(r.first_use is not None for r in op.results):
            Rewriter.erase_op(op)
    described = [_described(function.arg_attrs, k) for k in range(len(block.args))]
    for k in reversed(range(len(block.args))):
        if block.args[k].first_use is None:
            block.erase_arg(block.args[k])
            del described[k]
    function.properties["arg_attrs"] = ArrayAttr(described)
    sync_type(function)
    used = {op.value.file.string_value() for op in function.walk() if _reads_file(op)}
    for op in list(weight_files(module)):
        if cast(Any, op.properties["sym_name"]).data not in used:
            Rewriter.erase_op(op)


def _reads_file(op: Operation) -> bool:
    return isinstance(op, ConstantOp) and isinstance(op.value, WeightAttr)


def _backwards(op: Operation | None) -> Iterator[Operation]:
    while op is not None:
        before = op.prev_op
        yield op
        op = before
