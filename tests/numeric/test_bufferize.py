"""A bufferized module computes what the module on tensors does, bit for bit, whatever shares memory with what."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType, ModuleOp, StringAttr, f32
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region, SSAValue

from gecc.dialects.ge import ONNX_OPS
from gecc.dialects.ge.bodies import FusionOp, YieldOp
from gecc.dialects.ge.constants import constant
from gecc.dialects.ge.memory import SlotOp
from gecc.dialects.ge.text import module_text, parse_module
from gecc.dialects.ge.types import nbytes, shape_of, tensor_type
from gecc.driver.registry import default_registry
from gecc.planning import Buffer, find_violation
from gecc.reference import make_inputs, run
from gecc.transforms.memory.ge_bufferize import GeBufferize
from gecc.transforms.memory.memory_reuse import MemoryReuse

PASSES = [
    [GeBufferize()],
    [GeBufferize(in_place=False), MemoryReuse()],
    [GeBufferize(), MemoryReuse()],
    [GeBufferize(), MemoryReuse(strategy="conservative", alignment=32)],
    [GeBufferize(), MemoryReuse(strategy="aggressive", reuse_policy="size")],
    [GeBufferize(), MemoryReuse(max_reuse_ratio=0.5), MemoryReuse()],
]
CONTEXT = default_registry(lambda text: None).context()


def parse(text: str) -> ModuleOp:
    return parse_module(CONTEXT, text, "test")


def check(module: ModuleOp) -> None:
    module.verify()
    inputs = make_inputs(module)
    expected = run(module, inputs)
    kept = {name: array.copy() for name, array in inputs.items()}
    for number, passes in enumerate(PASSES):
        bufferized = module.clone()
        for one in passes:
            one.apply(CONTEXT, bufferized)
            if number == len(PASSES) - 1:
                bufferized = parse(module_text(bufferized))
        bufferized.verify()
        check_plan(bufferized)
        found = run(bufferized, inputs)
        assert found.keys() == expected.keys()
        for name, array in expected.items():
            got, want = np.asarray(found[name]), np.asarray(array)
            assert (got.dtype, got.shape, got.tobytes()) == (want.dtype, want.shape, want.tobytes()), name
        for name, array in kept.items():
            assert inputs[name].tobytes() == array.tobytes(), f"input {name} was written"


def check_plan(module: ModuleOp) -> None:
    slots = [op for op in module.walk() if isinstance(op, SlotOp)]
    buffers = [Buffer(*op.life, nbytes(op.buffer.type)) for op in slots]
    capacity = nbytes(slots[0].arena.type) if slots else 0
    assert find_violation(buffers, [op.offset.value.data for op in slots], capacity, 32) is None


# ------------------------------------------------------------------ by hand

CASES = {
    "zero_sized": """
func.func @main(%x: tensor<0x4xf32> {onnx.name = "x"}, %z: tensor<2x4xf32> {onnx.name = "z"}) ->
    (tensor<0x4xf32> {onnx.name = "a"}, tensor<2x4xf32> {onnx.name = "b"}) {
  %s = ge.constant dense<[4, 0]> : tensor<2xi64>
  %0 = ge.exp %x : tensor<0x4xf32> -> tensor<0x4xf32>
  %1 = ge.reshape %0, %s allowzero 1 : tensor<0x4xf32>, tensor<2xi64> -> tensor<4x0xf32>
  %2 = ge.transpose %1 perm [1, 0] : tensor<4x0xf32> -> tensor<0x4xf32>
  %3 = ge.concat %2, %z axis 0 : tensor<0x4xf32>, tensor<2x4xf32> -> tensor<2x4xf32>
  %4 = ge.exp %3 : tensor<2x4xf32> -> tensor<2x4xf32>
  func.return %2, %4 : tensor<0x4xf32>, tensor<2x4xf32>
}""",
    "rank_0": """
func.func @main(%x: tensor<1x1xf32> {onnx.name = "x"}) -> (tensor<f32> {onnx.name = "a"},
    tensor<1xf32> {onnx.name = "b"}) {
  %axes = ge.constant dense<[0]> : tensor<1xi64>
  %0 = ge.exp %x : tensor<1x1xf32> -> tensor<1x1xf32>
  %1 = ge.squeeze %0 : tensor<1x1xf32> -> tensor<f32>
  %2 = ge.exp %1 : tensor<f32> -> tensor<f32>
  %3 = ge.exp %2 : tensor<f32> -> tensor<f32>
  %4 = ge.unsqueeze %3, %axes : tensor<f32>, tensor<1xi64> -> tensor<1xf32>
  func.return %2, %4 : tensor<f32>, tensor<1xf32>
}""",
    "several_results": """
func.func @main(%x: tensor<6x4xf32> {onnx.name = "x"}) -> (tensor<2x4xf32> {onnx.name = "a"},
    tensor<2x4xf32> {onnx.name = "b"}) {
  %0 = ge.exp %x : tensor<6x4xf32> -> tensor<6x4xf32>
  %1, %2, %3 = ge.split %0 axis 0 : tensor<6x4xf32> -> tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>
  %4 = ge.exp %3 : tensor<2x4xf32> -> tensor<2x4xf32>
  func.return %1, %4 : tensor<2x4xf32>, tensor<2x4xf32>
}""",
    "output_and_operand": """
func.func @main(%x: tensor<4x4xf32> {onnx.name = "x"}) -> (tensor<4x4xf32> {onnx.name = "a"},
    tensor<4x4xf32> {onnx.name = "b"}, tensor<16xf32> {onnx.name = "c"}) {
  %s = ge.constant dense<[16]> : tensor<1xi64>
  %0 = ge.exp %x : tensor<4x4xf32> -> tensor<4x4xf32>
  %1 = ge.relu %0 : tensor<4x4xf32> -> tensor<4x4xf32>
  %2 = ge.sigmoid %1 : tensor<4x4xf32> -> tensor<4x4xf32>
  %3 = ge.reshape %0, %s : tensor<4x4xf32>, tensor<1xi64> -> tensor<16xf32>
  func.return %0, %2, %3 : tensor<4x4xf32>, tensor<4x4xf32>, tensor<16xf32>
}""",
    "inputs_and_constants_returned": """
func.func @main(%x: tensor<4xf32> {onnx.name = "x"}) -> (tensor<4xf32> {onnx.name = "a"},
    tensor<4xf32> {onnx.name = "b"}, tensor<2x2xf32> {onnx.name = "c"}, tensor<20xf32> {onnx.name = "d"},
        tensor<2xi64> {onnx.name = "e"}, tensor<2x2xf32> {onnx.name = "f"}) {
  %s = ge.constant dense<[2, 2]> : tensor<2xi64>
  %w = ge.constant #ge.splat<0.5> : tensor<20xf32>
  %k = ge.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %v = ge.reshape %x, %s : tensor<4xf32>, tensor<2xi64> -> tensor<2x2xf32>
  %u = ge.reshape %k, %s : tensor<4xf32>, tensor<2xi64> -> tensor<2x2xf32>
  func.return %x, %x, %v, %w, %s, %u : tensor<4xf32>, tensor<4xf32>, tensor<2x2xf32>, tensor<20xf32>,
      tensor<2xi64>, tensor<2x2xf32>
}""",
    "conditional": """
func.func @main(%c: tensor<i1> {onnx.name = "c"}, %x: tensor<4xf32> {onnx.name = "x"}) ->
    (tensor<4xf32> {onnx.name = "y"}, tensor<4xf32> {onnx.name = "z"}) {
  %w = ge.constant #ge.splat<0.5> : tensor<4xf32>
  %two = ge.constant dense<2.0> : tensor<f32>
  %a = ge.exp %x : tensor<4xf32> -> tensor<4xf32>
  %b = ge.relu %a : tensor<4xf32> -> tensor<4xf32>
  %y, %z = ge.if %c : tensor<i1> -> (tensor<4xf32>, tensor<4xf32>) {
    %0 = ge.mul %b, %two : tensor<4xf32>, tensor<f32> -> tensor<4xf32>
    ge.yield %0, %x : tensor<4xf32>, tensor<4xf32>
  } else {
    %1 = ge.add %b, %w : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
    ge.yield %1, %a : tensor<4xf32>, tensor<4xf32>
  }
  func.return %y, %z : tensor<4xf32>, tensor<4xf32>
}""",
    "host": """
func.func @main(%x: tensor<6xf32> {onnx.name = "x"}) -> (tensor<6xf32> {onnx.name = "a"},
    tensor<?x1xi64> {onnx.name = "b"}, tensor<f32> {onnx.name = "c"}) {
  %a = ge.exp %x : tensor<6xf32> -> tensor<6xf32>
  %r = ge.relu %x : tensor<6xf32> -> tensor<6xf32>
  %n = ge.opaque "NonZero" version 13 pure (%r) : (tensor<6xf32>) -> (tensor<1x?xi64>)
  %t = ge.transpose %n perm [1, 0] : tensor<1x?xi64> -> tensor<?x1xi64>
  %b = ge.sigmoid %a : tensor<6xf32> -> tensor<6xf32>
  %g = ge.gather %b, %t : tensor<6xf32>, tensor<?x1xi64> -> tensor<?x1xf32>
  %s = ge.reduce_sum %g keepdims 0 : tensor<?x1xf32> -> tensor<f32>
  func.return %b, %t, %s : tensor<6xf32>, tensor<?x1xi64>, tensor<f32>
}""",
    "opaque_with_static_result": """
func.func @main(%x: tensor<6xf32> {onnx.name = "x"}) -> (tensor<6xf32> {onnx.name = "a"}) {
  %a = ge.exp %x : tensor<6xf32> -> tensor<6xf32>
  %y = ge.fusion "HardmaxAdd" (%b = %a : tensor<6xf32>) -> (tensor<6xf32>) {
    %n = ge.opaque "Hardmax" version 13 pure (%b) : (tensor<6xf32>) -> (tensor<6xf32>)
    %c = ge.add %n, %b : tensor<6xf32>, tensor<6xf32> -> tensor<6xf32>
    ge.yield %c : tensor<6xf32>
  }
  func.return %y : tensor<6xf32>
}""",
    "fusions_and_groups": """
func.func @main(%x: tensor<4x4xf32> {onnx.name = "x"}, %w: tensor<4x4xf32> {onnx.name = "w"}) ->
    (tensor<4x4xf32> {onnx.name = "y"}) {
  %h = ge.constant dense<0.5> : tensor<f32>
  %g, %k = ge.fusion "group" (%a = %x : tensor<4x4xf32>, %b = %w : tensor<4x4xf32>, %i = %h : tensor<f32>) ->
      (tensor<4x4xf32>, tensor<4x4xf32>) tiling #ge.l2_tiling<axes = [0], tile = [2], tiles = 2,
          weights = resident, working_set = 128, bytes_before = 256, bytes_after = 192, hit_share = 1.0> {
    %0 = ge.fusion "f" (%c = %a : tensor<4x4xf32>, %d = %b : tensor<4x4xf32>, %e = %a : tensor<4x4xf32>,
        %j = %i : tensor<f32>) -> (tensor<4x4xf32>) {
      %2 = ge.matmul %c, %d : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
      %3 = ge.add %2, %e : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
      %4 = ge.mul %3, %j : tensor<4x4xf32>, tensor<f32> -> tensor<4x4xf32>
      ge.yield %4 : tensor<4x4xf32>
    }
    %1 = ge.relu %0 : tensor<4x4xf32> -> tensor<4x4xf32>
    %5 = ge.matmul %1, %b : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
    ge.yield %1, %5 : tensor<4x4xf32>, tensor<4x4xf32>
  }
  %y = ge.fusion "AddTanh" (%a = %k : tensor<4x4xf32>, %b = %g : tensor<4x4xf32>) -> (tensor<4x4xf32>) {
    %0 = ge.add %a, %b : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
    %1 = ge.tanh %0 : tensor<4x4xf32> -> tensor<4x4xf32>
    ge.yield %1 : tensor<4x4xf32>
  }
  func.return %y : tensor<4x4xf32>
}""",
    "default_and_unused": """
func.func @main(%x: tensor<2xf32> {onnx.name = "x"},
    %d: tensor<2xf32> {onnx.name = "d", ge.default = [dense<[1.0, 2.0]> : tensor<2xf32>, tensor<2xf32>]},
        %u: tensor<3xf32> {onnx.name = "u"}) -> (tensor<2xf32> {onnx.name = "y"}) {
  %0 = ge.exp %x : tensor<2xf32> -> tensor<2xf32>
  %1 = ge.exp %u : tensor<3xf32> -> tensor<3xf32>
  %2 = ge.add %0, %d : tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>
  func.return %2 : tensor<2xf32>
}""",
}


@pytest.mark.parametrize("case", CASES)
def test_by_hand(case: str):
    check(parse(CASES[case]))


# ------------------------------------------------------------------ at random


@dataclass
class Graph:
    """Grows a function whose values are of a few shapes, so that operands fit often and die everywhere."""

    module: ModuleOp = field(default_factory=lambda: ModuleOp([]))
    block: Block = field(default_factory=Block)
    values: list[SSAValue] = field(default_factory=list)

    def add(self, op: Operation) -> None:
        self.block.add_op(op)
        self.values.extend(op.results)

    def constant(self, array: np.ndarray) -> SSAValue:
        op = constant(array, self.module)
        self.block.add_op(op)
        return op.output

    def vector(self, *numbers: int) -> SSAValue:
        return self.constant(np.array(numbers, np.int64))


def onnx_op(kind: str, *operands: SSAValue | None, **attributes: object) -> Operation:
    return ONNX_OPS["", kind](*operands, **attributes)


Draw = Callable[[st.SearchStrategy], object]
UNARY = ["Exp", "Relu", "Sigmoid", "Identity", "Softmax", "Neg"]


def grow(graph: Graph, draw: Draw) -> None:
    a = draw(st.sampled_from(graph.values))
    shape = shape_of(a.type)
    same = [v for v in graph.values if v.type == a.type]
    match draw(
        st.sampled_from(["unary", "unary", "binary", "matmul", "transpose", "view", "concat", "split", "fusion"])
    ):
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
            wanted = draw(st.sampled_from([(-1,), (4, -1), (2, -1), (1, 4, -1)]))
            graph.add(onnx_op("Reshape", a, graph.vector(*wanted)))
        case "concat":
            graph.add(onnx_op("Concat", a, draw(st.sampled_from(same)), axis=0))
        case "split" if shape[0] % 2 == 0:
            graph.add(ONNX_OPS["", "Split"](a, results=2, axis=0))
        case "fusion":
            graph.add(fused(a, draw(st.sampled_from(same)), draw(st.sampled_from(UNARY)), draw(st.booleans())))
        case _:
            pass


def fused(a: SSAValue, b: SSAValue, kind: str, both: bool) -> Operation:
    block = Block(arg_types=[a.type, b.type])
    first = onnx_op(kind, block.args[0])
    second = onnx_op("Add", first.results[0], block.args[1])
    results = [second.results[0], *([first.results[0]] if both else [])]
    block.add_ops([first, second, YieldOp(*results)])
    return FusionOp("Some", [a, b], [r.type for r in results], Region(block))


@st.composite
def modules(draw: Draw) -> ModuleOp:
    graph = Graph()
    for _ in range(draw(st.integers(1, 2))):
        graph.values.append(graph.block.insert_arg(tensor_type(f32, (4, 4)), len(graph.values)))
    inputs = len(graph.values)
    for _ in range(draw(st.integers(1, 14))):
        grow(graph, draw)
    computed = [v for v in graph.values if nbytes(v.type) < 4096]
    returned = draw(st.lists(st.sampled_from(computed), min_size=1, max_size=4))
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


@given(modules())
@settings(max_examples=60)
def test_random_graphs(module: ModuleOp):
    check(module)
