"""
Random functions for memory: values of a few shapes, so that operands fit often and die everywhere. Fan-out, chains in
place, casts, views, parts, joins and joins of joins, fusions, branches and loops that capture what is around them,
several outputs, some of them twice.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from hypothesis import strategies as st
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType, ModuleOp, StringAttr, f16, f32, i1, i32, i64
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from gecc.dialects.ge import ONNX_OPS
from gecc.dialects.ge.bodies import FusionOp, YieldOp
from gecc.dialects.ge.constants import constant
from gecc.dialects.ge.control import IfOp, LoopOp, ScanOp
from gecc.dialects.ge.types import nbytes, shape_of, tensor_type

Draw = Callable[[st.SearchStrategy], object]

LIMIT = 4096
"""Bytes of a value that others read."""


@dataclass
class Graph:
    """
    Grows a block; `values` are what the next op may read, `cast` those of other types than f32, `condition` what a
    branch may ask.
    """

    module: ModuleOp = field(default_factory=lambda: ModuleOp([]))
    block: Block = field(default_factory=Block)
    values: list[SSAValue] = field(default_factory=list)
    condition: SSAValue | None = None
    cast: list[SSAValue] = field(default_factory=list)

    def add(self, op: Operation) -> None:
        self.block.add_op(op)
        for result in op.results:
            if nbytes(result.type) < LIMIT:
                (self.values if result.type.element_type == f32 else self.cast).append(result)

    def constant(self, array: np.ndarray) -> SSAValue:
        op = constant(array, self.module)
        self.block.add_op(op)
        return op.output

    def body(
        self, arguments: Sequence[Attribute], draw: Draw, results: Sequence[Attribute], going: Attribute | None = None
    ) -> Region:
        """
        A body that reads its arguments and what is around it, and yields values of the types of `results`; of a loop,
        first that it goes on (`going`: its type).
        """
        inner = Graph(self.module, Block(arg_types=arguments), list(self.values), self.condition, list(self.cast))
        inner.values += [v for v in inner.block.args if v.type.element_type == f32]
        for _ in range(draw(st.integers(0, 3))):
            grow(inner, draw, STEPS)
        fitting = [[v for v in inner.values if v.type == type_] or [inner.zeros(type_)] for type_ in results]
        yielded = [draw(st.sampled_from(values[-4:])) for values in fitting]
        if going is not None:
            yielded.insert(0, draw(st.sampled_from([inner.block.args[1], inner.constant(np.array(True))])))
        inner.block.add_op(YieldOp(*yielded))
        return Region(inner.block)

    def zeros(self, type_: Attribute) -> SSAValue:
        return self.constant(np.zeros(shape_of(type_), np.float32))

    def vector(self, *numbers: int) -> SSAValue:
        return self.constant(np.array(numbers, np.int64))


def onnx_op(kind: str, *operands: SSAValue | None, **attributes: object) -> Operation:
    return ONNX_OPS["", kind](*operands, **attributes)


UNARY = ["Exp", "Relu", "Sigmoid", "Identity", "Softmax", "Neg"]


STEPS = [
    "unary",
    "unary",
    "binary",
    "matmul",
    "transpose",
    "view",
    "concat",
    "join",
    "join",
    "pad",
    "turned weight",
    "split",
    "worn part",
    "slice",
    "fusion",
    "cast",
    "cast",
    "cast",
    "cast",
]
CONTROL = ["branch", "loop", "scan"]


def grow(graph: Graph, draw: Draw, steps: Sequence[str]) -> None:
    a = draw(st.sampled_from(graph.values))
    shape = shape_of(a.type)
    same = [v for v in graph.values if v.type == a.type]
    match draw(st.sampled_from(steps)):
        case "unary":
            graph.add(onnx_op(draw(st.sampled_from(UNARY)), a))
        case "binary":
            b = draw(st.sampled_from([*same, graph.constant(np.float32(0.5))]))
            graph.add(onnx_op(draw(st.sampled_from(["Add", "Sub", "Mul"])), a, b))
        case "matmul" if len(shape) == 2:
            w = graph.constant(np.linspace(-1, 1, shape[1] * 4, dtype=np.float32).reshape(shape[1], 4))
            graph.add(onnx_op("MatMul", a, w))
        case "transpose" if len(shape) == 2:
            graph.add(onnx_op("Transpose", a, perm=[1, 0]))
        case "view":
            count = int(np.prod(shape))
            fitting = [s for s in ((-1,), (4, -1), (2, -1), (1, 4, -1)) if count and count % abs(int(np.prod(s))) == 0]
            wanted = draw(st.sampled_from(fitting or [shape]))
            graph.add(onnx_op("Reshape", a, graph.vector(*wanted)))
        case "concat" if shape:
            axis = draw(st.integers(0, len(shape) - 1))
            graph.add(onnx_op("Concat", *draw(st.lists(st.sampled_from(same), min_size=1, max_size=2)), a, axis=axis))
        case "join" if shape:
            fresh = [
                onnx_op(draw(st.sampled_from(UNARY)), v)
                for v in draw(st.lists(st.sampled_from(same), min_size=2, max_size=3))
            ]
            if draw(st.booleans()):
                whole = onnx_op("Cast", fresh[0].results[0], to=i32)
                fresh = [*fresh[1:], fresh[0], whole, onnx_op("Cast", whole.results[0], to=f32)]
            for op in fresh:
                graph.add(op)
            fresh = [op for op in fresh if op.results[0].type == a.type]
            axis = draw(st.integers(0, len(shape) - 1))
            graph.add(onnx_op("Concat", *(op.results[0] for op in fresh), axis=axis))
        case "pad":
            graph.add(onnx_op(draw(st.sampled_from(UNARY)), a))
            around = [draw(st.integers(0, 2)) for _ in range(2 * len(shape))]
            graph.add(onnx_op("Pad", graph.values[-1], graph.vector(*around)))
        case "turned weight" if len(shape) == 2:
            w = graph.constant(np.linspace(-1, 1, 4 * shape[1], dtype=np.float32).reshape(4, shape[1]))
            turned = onnx_op("Transpose", w, perm=[1, 0])
            graph.add(turned)
            graph.add(onnx_op("MatMul", a, turned.results[0]))
        case "split" if shape:
            axis = draw(st.integers(0, len(shape) - 1))
            if shape[axis] % 2 == 0:
                graph.add(ONNX_OPS["", "Split"](a, results=2, axis=axis))
        case "worn part" if shape:
            axis = draw(st.integers(0, len(shape) - 1))
            if shape[axis] % 2 == 0:
                whole = onnx_op(draw(st.sampled_from(UNARY)), a)
                parts = ONNX_OPS["", "Split"](whole.results[0], results=2, axis=axis)
                over = onnx_op(draw(st.sampled_from(UNARY)), draw(st.sampled_from(parts.results)))
                graph.block.add_ops([whole, parts, over])  # which nothing else reads
                graph.add(onnx_op("Reshape", over.results[0], graph.vector(-1)))
        case "slice" if shape:
            bounds = (graph.vector(draw(st.integers(0, 1))), graph.vector(draw(st.integers(2, 4))), graph.vector(0))
            graph.add(onnx_op("Slice", a, *bounds))
        case "fusion":
            graph.add(fused(a, draw(st.sampled_from(same)), draw(st.sampled_from(UNARY)), draw(st.booleans())))
        case "cast":
            graph.add(cast(graph, a, draw))
        case "branch":
            condition = draw(st.sampled_from([graph.condition, graph.constant(np.array(True))]))
            then, otherwise = (graph.body([], draw, [a.type, a.type]) for _ in range(2))
            graph.add(IfOp(condition, [a.type, a.type], then, otherwise))
        case "loop":
            trips = graph.constant(np.array(draw(st.integers(0, 3)), np.int64))
            graph.add(loop(graph, trips, [a, draw(st.sampled_from(same))], draw))
        case "scan" if shape and all(shape):
            graph.add(scan(graph, a, draw(st.sampled_from(same)), draw))
        case _:
            pass


def cast(graph: Graph, a: SSAValue, draw: Draw) -> Operation:
    """To another type, as wide or not, or on in that type, or back: by value or by bits."""
    if not graph.cast or draw(st.booleans()):
        return onnx_op("Cast", a, to=draw(st.sampled_from([i32, i32, f16, i64])))
    value = draw(st.sampled_from(graph.cast[-4:]))
    shape, same = shape_of(value.type), [v for v in graph.cast if v.type == value.type]
    match draw(st.sampled_from(["neg", "add", "concat", "cast", "cast", "bits"])):
        case "neg":
            return onnx_op("Neg", value)
        case "add":
            return onnx_op("Add", value, draw(st.sampled_from(same)))
        case "concat" if shape:
            return onnx_op("Concat", value, draw(st.sampled_from(same)), axis=draw(st.integers(0, len(shape) - 1)))
        case "bits" if value.type.element_type == i32:
            return onnx_op("BitCast", value, to=f32)
        case _:
            return onnx_op("Cast", value, to=f32)


def loop(graph: Graph, trips: SSAValue, initial: Sequence[SSAValue], draw: Draw) -> Operation:
    """Carries two values, which the body may swap, keep, or leave as they came in."""
    types = [v.type for v in initial]
    going = tensor_type(i1, ())
    body = graph.body([tensor_type(i64, ()), going, *types], draw, types, going)
    return LoopOp(trips, None, *initial, results=2, bodies=[body])


def scan(graph: Graph, rows: SSAValue, state: SSAValue, draw: Draw) -> Operation:
    """Carries a value along the rows of another, forwards or backwards, and stacks up what it makes of each row."""
    shape = list(shape_of(rows.type))
    axis, way = draw(st.integers(0, len(shape) - 1)), draw(st.integers(0, 1))
    shape.pop(axis)
    row = tensor_type(f32, tuple(shape))
    body = graph.body([state.type, row], draw, [state.type, row])
    attributes = {
        "scan_input_axes": [axis],
        "scan_input_directions": [way],
        "scan_output_axes": [draw(st.integers(0, len(shape)))],
        "scan_output_directions": [draw(st.integers(0, 1))],
    }
    return ScanOp(state, rows, num_scan_inputs=1, results=2, bodies=[body], **attributes)


def fused(a: SSAValue, b: SSAValue, kind: str, both: bool) -> Operation:
    block = Block(arg_types=[a.type, b.type])
    first = onnx_op(kind, block.args[0])
    second = onnx_op("Add", first.results[0], block.args[1])
    results = [second.results[0], *([first.results[0]] if both else [])]
    block.add_ops([first, second, YieldOp(*results)])
    return FusionOp("Some", [a, b], [r.type for r in results], Region(block))


@st.composite
def modules(draw: Draw, control: bool = False, most: int = 14) -> ModuleOp:
    """
    control   with branches, loops and scans; the first input is then a truth value
    most      steps
    """
    graph = Graph()
    if control:
        graph.condition = graph.block.insert_arg(tensor_type(i1, ()), 0)
    for _ in range(draw(st.integers(1, 2))):
        graph.values.append(graph.block.insert_arg(tensor_type(f32, (4, 4)), len(graph.block.args)))
    inputs = len(graph.block.args)
    for _ in range(draw(st.integers(1, most))):
        grow(graph, draw, STEPS + 2 * CONTROL if control else STEPS)
    returned = draw(st.lists(st.sampled_from([*graph.values, *graph.cast]), min_size=1, max_size=4))
    graph.block.add_op(ReturnOp(*returned))
    function = FuncOp(
        "main",
        FunctionType.from_lists(list(graph.block.arg_types), [v.type for v in returned]),
        Region(graph.block),
        arg_attrs=ArrayAttr([DictionaryAttr({"onnx.name": StringAttr(f"x{k}")}) for k in range(inputs)]),
        res_attrs=ArrayAttr([DictionaryAttr({"onnx.name": StringAttr(f"y{k}")}) for k in range(len(returned))]),
    )
    graph.module.body.block.add_op(function)
    return graph.module
