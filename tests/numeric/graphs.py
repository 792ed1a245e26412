"""
Random small programs for properties: static, of ops that compose (elementwise, movement, products, convolutions,
reductions, shape arithmetic, branches), with constants, values that are used twice, and several outputs.

Every op has an ONNX name, and so has every output, as an import gives them.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import strategies as st
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType, IntegerAttr, ModuleOp, StringAttr, i1, i64
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from gecc.dialects.ge import ONNX_OPS
from gecc.dialects.ge.bodies import YieldOp
from gecc.dialects.ge.constants import constant
from gecc.dialects.ge.control import IfOp
from gecc.dialects.ge.names import set_names
from gecc.dialects.ge.types import element_of, shape_of, tensor_type

F32 = element_of(np.dtype(np.float32)).type
SHAPES = [(2, 4, 6, 6), (4, 6), (2, 3, 4), (6,)]
UNARY = ["Abs", "Relu", "Sigmoid", "Tanh", "Neg", "Identity", "LeakyRelu", "Softmax", "HardSwish"]
BINARY = ["Add", "Sub", "Mul", "Max", "Min"]
REDUCTIONS = ["ReduceMean", "ReduceMax", "ReduceSum"]
LIMIT = 1024  # elements of a value


def float_of(value: SSAValue) -> bool:
    return value.type.element_type == F32  # pyright: ignore[reportAttributeAccessIssue]


@dataclass
class Program:
    """Grows the function of a module; `values` are what the next op may read."""

    draw: Callable[[st.SearchStrategy[Any]], Any]
    module: ModuleOp = field(default_factory=lambda: ModuleOp([]))
    block: Block = field(default_factory=Block)
    values: list[SSAValue] = field(default_factory=list)
    made: int = 0

    def op(self, kind: str, *operands: SSAValue | None, **attrs: Any) -> SSAValue:
        """Adds an ONNX operator; its first result."""
        return self.add(ONNX_OPS["", kind](*operands, **attrs), kind).results[0]

    def add(self, op: Operation, kind: str) -> Operation:
        self.made += 1
        outputs = [f"v{self.made}_{k}" for k in range(len(op.results))]
        set_names(op, f"{kind}_{self.made}", outputs)
        self.block.add_op(op)
        return op

    def constant(self, array: Any) -> SSAValue:
        op = constant(np.asarray(array), self.module)
        return self.add(op, "Constant").results[0]

    def weight(self, *shape: int) -> SSAValue:
        """Numbers of about 1, now and then one repeated."""
        kind = self.draw(st.sampled_from(["random", "random", "ones", "zeros"]))
        if kind != "random":
            return self.constant(np.full(shape, 1.0 if kind == "ones" else 0.0, np.float32))
        seed = self.draw(st.integers(0, 3))
        return self.constant(np.random.default_rng(seed).uniform(-1, 1, shape).astype(np.float32))

    def pick(self, *, rank: int | None = None) -> SSAValue | None:
        fitting = [v for v in self.values if float_of(v) and rank in (None, len(shape_of(v.type)))]
        return self.draw(st.sampled_from(fitting)) if fitting else None

    def grow(self, depth: int = 0) -> None:
        """One more value, or a few."""
        steps: dict[str, Callable[[SSAValue], SSAValue | None]] = {
            "unary": self.unary,
            "binary": self.binary,
            "same twice": self.twice,
            "transpose": self.transpose,
            "reshape": self.reshape,
            "movement": self.movement,
            "reduction": self.reduction,
            "product": self.product,
            "convolution": self.convolution,
            "shape": self.shape,
            "constants": self.constants,
        }
        if depth == 0:
            steps["branch"] = self.branch
        step = self.draw(st.sampled_from([*steps, "unary", "binary", "transpose"]))
        value = self.pick()
        assert value is not None
        made = steps[step](value)
        if made is not None and np.prod(shape_of(made.type)) <= LIMIT:
            self.values.append(made)

    # ------------------------------------------------------------------ steps

    def unary(self, x: SSAValue) -> SSAValue | None:
        kind = self.draw(st.sampled_from(UNARY))
        return (
            self.op(kind, x, **({"axis": -1} if kind == "Softmax" else {})) if shape_of(x.type) else self.op("Neg", x)
        )

    def binary(self, x: SSAValue) -> SSAValue | None:
        kind = self.draw(st.sampled_from(BINARY))
        same = [v for v in self.values if v.type == x.type]
        other = self.draw(st.sampled_from([*same, self.weight(), self.weight(*shape_of(x.type)[-1:])]))
        operands = (x, other) if self.draw(st.booleans()) else (other, x)
        return self.op(kind, *operands)

    def twice(self, x: SSAValue) -> SSAValue | None:
        """The same computation under two names."""
        return self.op("Add", self.op("Tanh", x), self.op("Tanh", x))

    def transpose(self, x: SSAValue) -> SSAValue | None:
        rank = len(shape_of(x.type))
        perm = self.draw(st.permutations(range(rank)))
        return self.op("Transpose", x, perm=tuple(perm))

    def reshape(self, x: SSAValue) -> SSAValue | None:
        shape = shape_of(x.type)
        match self.draw(st.sampled_from(["flat", "rows", "squeeze", "unsqueeze", "computed"])):
            case "flat":
                return self.op("Reshape", x, self.constant(np.array([-1], np.int64)))
            case "rows":
                return self.op("Flatten", x, axis=min(1, len(shape)))
            case "squeeze" if 1 in shape:
                return self.op("Squeeze", x, self.constant(np.array([shape.index(1)], np.int64)))
            case "unsqueeze" if len(shape) < 4:
                return self.op("Unsqueeze", x, self.constant(np.array([0], np.int64)))
            case "computed" if shape:
                # As exporters spell a view: the shape of x, with its first dim and all the rest.
                first = self.op("Slice", self.op("Shape", x), *(self.constant(np.array([n], np.int64)) for n in (0, 1)))
                wanted = self.op("Concat", first, self.constant(np.array([-1], np.int64)), axis=0)
                # What inference does not see by itself, the type says: programs are static.
                size = [shape[0], int(np.prod(shape[1:]))]
                view = ONNX_OPS["", "Reshape"](x, wanted, result_types=[tensor_type(F32, tuple(size))])
                return self.add(view, "Reshape").results[0]
            case _:
                return None

    def movement(self, x: SSAValue) -> SSAValue | None:
        shape = shape_of(x.type)
        if not shape:
            return None
        axis = self.draw(st.integers(0, len(shape) - 1))
        match self.draw(st.sampled_from(["slice", "concat", "gather", "pad", "split", "expand"])):
            case "slice":
                bounds = (self.constant(np.array([n], np.int64)) for n in (0, max(1, shape[axis] - 1), axis))
                return self.op("Slice", x, *bounds)
            case "concat":
                same = [v for v in self.values if v.type == x.type]
                return self.op("Concat", x, self.draw(st.sampled_from(same)), axis=axis)
            case "gather":
                picked = self.draw(st.lists(st.integers(0, shape[axis] - 1), min_size=1, max_size=3))
                return self.op("Gather", x, self.constant(np.array(picked, np.int64)), axis=axis)
            case "pad":
                pads = [int(k in (axis, axis + len(shape))) for k in range(2 * len(shape))]
                return self.op("Pad", x, self.constant(np.array(pads, np.int64)))
            case "split" if shape[axis] % 2 == 0:
                op = ONNX_OPS["", "Split"](x, results=2, axis=axis)
                first, second = self.add(op, "Split").results
                return self.op("Sub", first, second)
            case "expand":
                return self.op("Expand", x, self.constant(np.array([2, *[1] * len(shape)], np.int64)))
            case _:
                return None

    def reduction(self, x: SSAValue) -> SSAValue | None:
        shape = shape_of(x.type)
        if not shape:
            return None
        axes = self.draw(st.lists(st.integers(0, len(shape) - 1), min_size=1, max_size=2, unique=True))
        keep = self.draw(st.integers(0, 1))
        return self.op(
            self.draw(st.sampled_from(REDUCTIONS)), x, self.constant(np.array(axes, np.int64)), keepdims=keep
        )

    def product(self, x: SSAValue) -> SSAValue | None:
        shape = shape_of(x.type)
        if not shape:
            return None
        if len(shape) == 2 and self.draw(st.booleans()):
            return self.op("Gemm", x, self.weight(3, shape[1]), self.weight(3), transB=1, alpha=0.5)
        made = self.op("MatMul", x, self.weight(shape[-1], 4))
        return self.op("Add", made, self.weight(4)) if self.draw(st.booleans()) else made

    def convolution(self, x: SSAValue) -> SSAValue | None:
        x = self.pick(rank=4) or x
        shape = shape_of(x.type)
        if len(shape) != 4 or min(shape[2:]) < 2:
            return None
        match self.draw(st.sampled_from(["conv", "conv", "normalised", "pool"])):
            case "pool":
                return self.op("MaxPool", x, kernel_shape=(2, 2))
            case kind:
                weight, bias = self.weight(3, shape[1], 1, 1), self.draw(st.sampled_from([None, self.weight(3)]))
                made = self.op("Conv", x, weight, bias)
                if kind == "conv":
                    return made
                variance = self.constant(np.array([0.5, 1, 2], np.float32))
                return self.op("BatchNormalization", made, self.weight(3), self.weight(3), self.weight(3), variance)

    def shape(self, x: SSAValue) -> SSAValue | None:
        """A dim as a number among the others."""
        if not shape_of(x.type):
            return None
        size = self.op("Gather", self.op("Shape", x), self.constant(np.array(-1, np.int64)))
        return self.op("Div", x, self.op("Cast", size, to=F32))

    def constants(self, x: SSAValue) -> SSAValue | None:
        """What depends on constants alone."""
        folded = self.op("Mul", self.op("Abs", self.weight(1)), self.weight(1))
        return self.op("Add", x, folded)

    def branch(self, x: SSAValue) -> SSAValue | None:
        bodies: list[Region] = []
        for _ in range(2):
            outer, self.block = self.block, Block()
            kind = self.draw(st.sampled_from(["Neg", "Identity", "Tanh"]))
            inner = self.op("Add", self.op(kind, x), self.weight())
            self.block.add_op(YieldOp(inner))
            bodies.append(Region(self.block))
            self.block = outer
        condition = (
            self.block.args[0] if self.draw(st.booleans()) else self.constant(np.array(self.draw(st.booleans())))
        )
        return self.add(IfOp(condition, [x.type], *bodies), "If").results[0]


@st.composite
def programs(draw: st.DrawFn, steps: int = 10, branches: bool = True) -> ModuleOp:
    """
    A module of one function on a truth value and a few tensors; `steps` bounds how many values it makes.
    """
    program = Program(draw)
    types: list[Attribute] = [tensor_type(i1, ())]
    types += [tensor_type(F32, shape) for shape in draw(st.lists(st.sampled_from(SHAPES), min_size=1, max_size=2))]
    for type_ in types:
        program.block.insert_arg(type_, len(program.block.args))
    program.values = list(program.block.args[1:])
    for _ in range(draw(st.integers(1, steps))):
        program.grow(0 if branches else 1)
    returned: list[SSAValue] = draw(st.lists(st.sampled_from(program.values), min_size=1, max_size=3, unique=True))
    return finished(program, returned, ["c", *(f"x{k}" for k in range(len(types) - 1))])


def finished(program: Program, returned: list[SSAValue], inputs: list[str]) -> ModuleOp:
    """The module, whose function returns these values under names of their own."""
    program.block.add_op(ReturnOp(*returned))
    outputs = [f"y{k}" for k in range(len(returned))]
    for value, name in zip(returned, outputs, strict=True):
        if isinstance(value.owner, Operation) and len(value.owner.results) == 1:
            set_names(value.owner, None, [name])
    function = FuncOp(
        "main",
        FunctionType.from_lists(list(program.block.arg_types), [v.type for v in returned]),
        Region(program.block),
        arg_attrs=ArrayAttr([said(n, v.type) for n, v in zip(inputs, program.block.args, strict=True)]),
        res_attrs=ArrayAttr([said(n, v.type) for n, v in zip(outputs, returned, strict=True)]),
    )
    program.module.body.block.add_op(function)
    program.module.attributes["onnx.opset"] = DictionaryAttr({"ai.onnx": IntegerAttr(21, i64)})
    return program.module


def said(name: str, type_: Attribute) -> DictionaryAttr:
    dims = ArrayAttr([IntegerAttr(d, i64) for d in shape_of(type_)])
    return DictionaryAttr({"onnx.name": StringAttr(name), "ge.dims": dims})
