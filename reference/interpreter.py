"""
A whole module on arrays, at any stage.

On tensors a value is an array. On buffers a memref is an array that other memrefs may be views of: an arena is bytes
full of 0xFF, so that a read before a write shows, and what a launch writes is seen through every view.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, MemRefType, ModuleOp, TensorType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.dialects.scf import ConditionOp, ForOp, WhileOp
from xdsl.dialects.scf import IfOp as BranchOp
from xdsl.dialects.scf import YieldOp as LoopYieldOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ..dialects.ge.bodies import FusionOp, HostOp, YieldOp
from ..dialects.ge.constants import ConstantOp, MappedOp, WeightsOp
from ..dialects.ge.control import IfOp, LoopOp, ScanOp
from ..dialects.ge.data import array_of
from ..dialects.ge.errors import InputError, text_of
from ..dialects.ge.gears import fitting_gear, gears, input_dims
from ..dialects.ge.memory import LaunchOp, RetypedOp, SlotOp
from ..dialects.ge.types import element_of, is_element, nbytes, shape_of
from .arena import Arena
from .buffers import arith, memref, poisoned, slot
from .evaluator import evaluate
from .iteration import loop, scan

Array = npt.NDArray[Any]
Watch = Callable[[Operation, Sequence[Any]], None]
Meaning = Callable[[Operation, Sequence[Any], "dict[SSAValue, Any]"], "list[Any]"]


def run(
    module: ModuleOp,
    inputs: Mapping[str, Any],
    watch: Watch | None = None,
    arena: Arena | None = None,
    meaning: Meaning = evaluate,
) -> dict[str, Any]:
    """
    What a module computes.

    inputs     by ONNX name; one with a default may be left out
    watch      called with each op of the function and its results
    arena      what a module on buffers works in; by default a new one
    meaning    what an op gives for its operands: `evaluate`, or `evaluate_exactly` (exact.py)
    returns    outputs by ONNX name, in order
    raises     InputError for an input that is missing or does not fit, and for an op that cannot be evaluated

    Of a model in gears the one runs that the inputs fit.
    """
    return _Interpreter(module, watch, arena or Arena(), meaning).function(_program(module, inputs), inputs)


def _program(module: ModuleOp, inputs: Mapping[str, Any]) -> FuncOp:
    functions = [op for op in module.body.block.ops if isinstance(op, FuncOp)]
    if len(functions) == 1:
        return functions[0]
    if not gears(module):
        raise InputError(f"a program is one function, the module has {len(functions)}")
    names = [name for name, _ in input_dims(functions[0]) if name in inputs]
    return fitting_gear(module, {name: np.shape(inputs[name]) for name in names})


class _Interpreter:
    def __init__(self, module: ModuleOp, watch: Watch | None, arena: Arena, meaning: Meaning) -> None:
        self.module, self.watch, self.arena, self.meaning = module, watch, arena, meaning

    def function(self, function: FuncOp, inputs: Mapping[str, Any]) -> dict[str, Any]:
        env: dict[SSAValue, Any] = {}
        outputs: dict[str, Any] = {}
        for k, argument in enumerate(function.body.block.args):
            said = said_of(function, k)
            named = text_of(said.get("onnx.name"))
            name = named or f"input_{k}"
            if "ge.arena" in said:
                env[argument] = self.arena.take(nbytes(argument.type))
            elif "ge.result" in said:
                outputs[named or f"output_{len(outputs)}"] = env[argument] = poisoned(argument.type)
            elif name in inputs:
                env[argument] = _checked(name, inputs[name], argument.type)
            elif "ge.default" in said:
                value, type_ = cast("ArrayAttr[Attribute]", said["ge.default"]).data
                env[argument] = np.asarray(array_of(value, type_, self.module), order="C")
            else:
                raise InputError(f"input {name!r} is not given")
        results = self.block(function.body.block, env)
        for k, value in enumerate(results):
            said = cast(DictionaryAttr, function.res_attrs.data[k]).data if function.res_attrs else {}
            outputs[text_of(said.get("onnx.name")) or f"output_{len(outputs)}"] = value
        return outputs

    def block(self, block: Block, env: dict[SSAValue, Any]) -> Sequence[Any]:
        """Runs a block's ops; values are forgotten after their last use."""
        last: dict[SSAValue, Operation] = {}
        for op in block.ops:
            for inner in op.walk():
                for value in inner.operands:
                    last[value] = op
        own = {value for op in block.ops for value in op.results}
        dying: dict[Operation, list[SSAValue]] = {}
        for value, op in last.items():
            if value in own:
                dying.setdefault(op, []).append(value)
        for op in block.ops:
            if isinstance(op, ReturnOp | YieldOp | LoopYieldOp | ConditionOp):
                return [env[v] for v in op.operands]
            self.arena.before(op)
            results = self.op(op, env)
            if self.watch is not None:
                self.watch(op, results)
            env.update(zip(op.results, results, strict=True))
            for value in dying.get(op, ()):
                del env[value]
        return []

    def body(self, region: Region, args: Sequence[Any], env: dict[SSAValue, Any] | None = None) -> Sequence[Any]:
        return self.block(region.block, dict(env or {}) | dict(zip(region.block.args, args, strict=True)))

    def loop(self, op: ForOp, operands: Sequence[Any], env: dict[SSAValue, Any]) -> Sequence[Any]:
        begin, end, step, *carried = operands
        for counter in range(int(begin), int(end), int(step)):
            carried = self.body(op.body, [counter, *carried], env)
        return list(carried)

    def loop_while(self, op: WhileOp, operands: Sequence[Any], env: dict[SSAValue, Any]) -> Sequence[Any]:
        while True:
            go, *operands = self.body(op.before_region, operands, env)
            if not go:
                return operands
            operands = self.body(op.after_region, operands, env)

    def op(self, op: Operation, env: dict[SSAValue, Any]) -> Sequence[Any]:
        operands = [env[v] for v in op.operands]
        match op:
            case WeightsOp():
                return []
            case ConstantOp() | MappedOp():
                return [op.array()]
            case FusionOp():
                return self.body(op.body, operands)
            case HostOp():
                # What it gives must not change when a buffer that it reads is used again.
                return self.body(op.body, [np.array(x) if isinstance(x, np.ndarray) else x for x in operands])
            case IfOp():
                taken = op.then_branch if bool(np.asarray(operands[0]).reshape(())) else op.else_branch
                return self.body(taken, [], env)
            case LoopOp():
                return loop(op, operands, lambda args: self.body(op.body, args, env))
            case ScanOp():
                return scan(op, operands, lambda args: self.body(op.body, args, env))
            case SlotOp():
                return [slot(op, operands[0])]
            case RetypedOp():
                return [operands[0].view(element_of(cast(Any, op.result.type).element_type).dtype)]
            case LaunchOp():
                count = len(op.ins)
                self.arena.launch(op, operands[:count], operands[count:], lambda args: self.body(op.body, args))
                return []
            case ForOp():
                return self.loop(op, operands, env)
            case WhileOp():
                return self.loop_while(op, operands, env)
            case BranchOp():
                return self.body(op.true_region if operands[0] else op.false_region, [], env)
            case _ if op.name.startswith("arith."):
                return [arith(op, operands)]
            case _ if op.name.startswith("memref."):
                return memref(op, operands)
            case _:
                captured = {v: env[v] for inner in op.walk() for v in inner.operands if v in env} if op.regions else {}
                return list(self.meaning(op, operands, captured))


def said_of(function: FuncOp, k: int) -> Mapping[str, Attribute]:
    """Attributes of the function's argument k."""
    attrs = cast("Sequence[DictionaryAttr]", function.arg_attrs.data) if function.arg_attrs else ()
    return attrs[k].data if k < len(attrs) else {}


def _checked(name: str, value: Any, type_: Attribute) -> Any:
    """An input as the function takes it; refuses one of another dtype or shape."""
    if not isinstance(type_, TensorType | MemRefType):
        return value
    array, element = np.asarray(value, order="C"), cast(Any, type_).element_type
    if is_element(element) and array.dtype != element_of(element).dtype and array.dtype.kind not in "OUS":
        raise InputError(f"input {name!r} must be of {element}, got {array.dtype}")
    shape = shape_of(type_)
    if len(shape) != array.ndim or any(s >= 0 and s != d for s, d in zip(shape, array.shape, strict=True)):
        raise InputError(f"input {name!r} must be {type_}, got shape {list(array.shape)}")
    return array


def make_inputs(module: ModuleOp | FuncOp, seed: int = 0, free: int = 1) -> dict[str, Array]:
    """
    Inputs that a module, or a function of it, can be tried on, the same for one seed: floats from a normal
    distribution, integers small and not negative (so that they can index), 0 and 1 where the name says that it is a
    mask or a kind of token, truth values at random. Of a model in gears they are the first one's.

    free       size of free dims
    raises     InputError for an input that is no tensor of numbers
    """
    random = np.random.default_rng(seed)
    if isinstance(module, FuncOp):
        functions = [module]
    else:
        functions = gears(module)[:1] or [op for op in module.body.block.ops if isinstance(op, FuncOp)]
    made: dict[str, Array] = {}
    for function in functions:
        for k, argument in enumerate(function.body.block.args):
            said = said_of(function, k)
            if said.keys() & {"ge.arena", "ge.result", "ge.default"}:
                continue
            name = text_of(said.get("onnx.name")) or f"input_{k}"
            type_ = argument.type
            if not isinstance(type_, TensorType | MemRefType) or not is_element(cast(Any, type_).element_type):
                raise InputError(f"input {name!r} is {type_}: its values must be given")
            dtype = element_of(cast(Any, type_).element_type).dtype
            shape = [d if d >= 0 else free for d in shape_of(type_)]
            if dtype == np.object_:
                made[name] = np.full(shape, "a", object)
            elif dtype == np.bool_:
                made[name] = random.integers(0, 2, shape).astype(bool)
            elif dtype.kind in "iu":
                two = any(word in name.lower() for word in ("mask", "token_type"))
                made[name] = random.integers(0, 2 if two else 8, shape).astype(dtype)
            else:
                made[name] = random.standard_normal(shape).astype(dtype)
    return made


__all__ = ["make_inputs", "run", "said_of"]
