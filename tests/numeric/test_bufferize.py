"""A bufferized module computes what the module on tensors does, bit for bit, whatever shares memory with what."""

import numpy as np
import pytest
from hypothesis import given, settings
from xdsl.dialects.builtin import ModuleOp

from gecc.dialects.ge.text import module_text, parse_module
from gecc.driver.poison import PoisonedArena
from gecc.driver.registry import default_registry
from gecc.reference import make_inputs, run
from gecc.transforms.memory.ge_bufferize import GeBufferize
from gecc.transforms.memory.memory_reuse import MemoryReuse
from gecc.transforms.memory.plan import planned
from gecc.transforms.memory.rules import Rules

from .memory_graphs import modules
from .poisoned import check_plan

PASSES = [
    [GeBufferize()],
    [GeBufferize(in_place=False), MemoryReuse()],
    [GeBufferize(), MemoryReuse()],
    [GeBufferize(), MemoryReuse(strategy="conservative", alignment=32)],
    [GeBufferize(in_place=False, views=False), MemoryReuse(strategy="conservative")],
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
        found = run(bufferized, inputs, arena=PoisonedArena(bufferized))
        assert found.keys() == expected.keys()
        for name, array in expected.items():
            got, want = np.asarray(found[name]), np.asarray(array)
            assert (got.dtype, got.shape, got.tobytes()) == (want.dtype, want.shape, want.tobytes()), name
        for name, array in kept.items():
            assert inputs[name].tobytes() == array.tobytes(), f"input {name} was written"


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
    "parts": """
func.func @main(%x: tensor<4x6xf32> {onnx.name = "x"}) ->
    (tensor<6x2xf32> {onnx.name = "a"}, tensor<4x2xf32> {onnx.name = "b"}, tensor<1x6xf32> {onnx.name = "c"},
     tensor<6xf32> {onnx.name = "d"}) {
  %0 = ge.constant dense<[0]> : tensor<1xi64>
  %1 = ge.constant dense<[1]> : tensor<1xi64>
  %s = ge.constant dense<[6, 2]> : tensor<2xi64>
  %t = ge.constant dense<[-1]> : tensor<1xi64>
  %2 = ge.exp %x : tensor<4x6xf32> -> tensor<4x6xf32>
  %3, %4 = ge.split %2 axis 0 : tensor<4x6xf32> -> tensor<2x6xf32>, tensor<2x6xf32>
  %5 = ge.reshape %4, %s : tensor<2x6xf32>, tensor<2xi64> -> tensor<6x2xf32>
  %6 = ge.relu %5 : tensor<6x2xf32> -> tensor<6x2xf32>
  %7 = ge.relu %3 : tensor<2x6xf32> -> tensor<2x6xf32>
  %8 = ge.reshape %7, %s : tensor<2x6xf32>, tensor<2xi64> -> tensor<6x2xf32>
  %9 = ge.add %6, %8 : tensor<6x2xf32>, tensor<6x2xf32> -> tensor<6x2xf32>
  %10, %11, %12 = ge.split %x axis 1 : tensor<4x6xf32> -> tensor<4x2xf32>, tensor<4x2xf32>, tensor<4x2xf32>
  %13 = ge.add %10, %12 : tensor<4x2xf32>, tensor<4x2xf32> -> tensor<4x2xf32>
  %14 = ge.mul %13, %11 : tensor<4x2xf32>, tensor<4x2xf32> -> tensor<4x2xf32>
  %15 = ge.slice %4, %0, %1 : tensor<2x6xf32>, tensor<1xi64>, tensor<1xi64> -> tensor<1x6xf32>
  %16 = ge.slice %x, %0, %1 : tensor<4x6xf32>, tensor<1xi64>, tensor<1xi64> -> tensor<1x6xf32>
  %17 = ge.reshape %16, %t : tensor<1x6xf32>, tensor<1xi64> -> tensor<6xf32>
  func.return %9, %14, %15, %17 : tensor<6x2xf32>, tensor<4x2xf32>, tensor<1x6xf32>, tensor<6xf32>
}""",
    "over_a_part_in_pieces_and_reshaped": """
func.func @main(%x: tensor<4x8xf32> {onnx.name = "x"}) -> (tensor<1x1xf32> {onnx.name = "y"}) {
  %s = ge.constant dense<[16, 1]> : tensor<2xi64>
  %e = ge.exp %x : tensor<4x8xf32> -> tensor<4x8xf32>
  %p, %q = ge.split %e axis 1 : tensor<4x8xf32> -> tensor<4x4xf32>, tensor<4x4xf32>
  %r = ge.relu %p : tensor<4x4xf32> -> tensor<4x4xf32>
  %v = ge.reshape %r, %s : tensor<4x4xf32>, tensor<2xi64> -> tensor<16x1xf32>
  %y = ge.reduce_sum %v : tensor<16x1xf32> -> tensor<1x1xf32>
  func.return %y : tensor<1x1xf32>
}""",
    "overlapping_parts": """
func.func @main(%x: tensor<4x2xf32> {onnx.name = "x"}) -> (tensor<3x2xf32> {onnx.name = "y"}) {
  %0 = ge.constant dense<[0]> : tensor<1xi64>
  %1 = ge.constant dense<[1]> : tensor<1xi64>
  %3 = ge.constant dense<[3]> : tensor<1xi64>
  %4 = ge.constant dense<[4]> : tensor<1xi64>
  %e = ge.exp %x : tensor<4x2xf32> -> tensor<4x2xf32>
  %a = ge.slice %e, %0, %3 : tensor<4x2xf32>, tensor<1xi64>, tensor<1xi64> -> tensor<3x2xf32>
  %b = ge.slice %e, %1, %4 : tensor<4x2xf32>, tensor<1xi64>, tensor<1xi64> -> tensor<3x2xf32>
  %c = ge.neg %a : tensor<3x2xf32> -> tensor<3x2xf32>
  %d = ge.mul %b, %c : tensor<3x2xf32>, tensor<3x2xf32> -> tensor<3x2xf32>
  %y = ge.softmax %d axis 0 : tensor<3x2xf32> -> tensor<3x2xf32>
  func.return %y : tensor<3x2xf32>
}""",
    "joined": """
func.func @main(%x: tensor<2x4xf32> {onnx.name = "x"}, %z: tensor<2x0xf32> {onnx.name = "z"}) ->
    (tensor<2x16xf32> {onnx.name = "y"}, tensor<2x4xf32> {onnx.name = "o"}, tensor<4x4xf32> {onnx.name = "v"}) {
  %s = ge.constant dense<[4, 2]> : tensor<2xi64>
  %w = ge.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %0 = ge.exp %x : tensor<2x4xf32> -> tensor<2x4xf32>
  %1 = ge.relu %0 : tensor<2x4xf32> -> tensor<2x4xf32>
  %2 = ge.sigmoid %x : tensor<2x4xf32> -> tensor<2x4xf32>
  %3 = ge.concat %1, %2 axis 1 : tensor<2x4xf32>, tensor<2x4xf32> -> tensor<2x8xf32>
  %4 = ge.neg %x : tensor<2x4xf32> -> tensor<2x4xf32>
  %5 = ge.exp %z : tensor<2x0xf32> -> tensor<2x0xf32>
  %6 = ge.concat %3, %5, %4, %x axis 1 :
      tensor<2x8xf32>, tensor<2x0xf32>, tensor<2x4xf32>, tensor<2x4xf32> -> tensor<2x16xf32>
  %7 = ge.relu %6 : tensor<2x16xf32> -> tensor<2x16xf32>
  %8 = ge.tanh %7 : tensor<2x16xf32> -> tensor<2x16xf32>
  %9 = ge.tanh %2 : tensor<2x4xf32> -> tensor<2x4xf32>
  %10 = ge.concat %9, %9 axis 0 : tensor<2x4xf32>, tensor<2x4xf32> -> tensor<4x4xf32>
  %11 = ge.concat %9, %10 axis 0 : tensor<2x4xf32>, tensor<4x4xf32> -> tensor<6x4xf32>
  %12 = ge.sigmoid %11 : tensor<6x4xf32> -> tensor<6x4xf32>
  %13, %14 = ge.split %12 axis 0 : tensor<6x4xf32> -> tensor<3x4xf32>, tensor<3x4xf32>
  %15 = ge.add %13, %14 : tensor<3x4xf32>, tensor<3x4xf32> -> tensor<3x4xf32>
  %16 = ge.exp %x : tensor<2x4xf32> -> tensor<2x4xf32>
  %17 = ge.reshape %16, %s : tensor<2x4xf32>, tensor<2xi64> -> tensor<4x2xf32>
  %18 = ge.matmul %17, %w : tensor<4x2xf32>, tensor<2x2xf32> -> tensor<4x2xf32>
  %19 = ge.concat %18, %17 axis 1 : tensor<4x2xf32>, tensor<4x2xf32> -> tensor<4x4xf32>
  func.return %8, %9, %19 : tensor<2x16xf32>, tensor<2x4xf32>, tensor<4x4xf32>
}""",
    "joined_and_written_over_while_a_part_is_read": """
func.func @main(%x: tensor<2x4xf32> {onnx.name = "x"}) -> (tensor<4x4xf32> {onnx.name = "y"}) {
  %a = ge.exp %x : tensor<2x4xf32> -> tensor<2x4xf32>
  %b = ge.sigmoid %x : tensor<2x4xf32> -> tensor<2x4xf32>
  %c = ge.concat %a, %b axis 0 : tensor<2x4xf32>, tensor<2x4xf32> -> tensor<4x4xf32>
  %n = ge.neg %c : tensor<4x4xf32> -> tensor<4x4xf32>
  %d = ge.concat %a, %b axis 0 : tensor<2x4xf32>, tensor<2x4xf32> -> tensor<4x4xf32>
  %m = ge.mul %n, %d : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  %p, %q = ge.split %m axis 0 : tensor<4x4xf32> -> tensor<2x4xf32>, tensor<2x4xf32>
  %e = ge.concat %q, %p axis 0 : tensor<2x4xf32>, tensor<2x4xf32> -> tensor<4x4xf32>
  %y = ge.tanh %e : tensor<4x4xf32> -> tensor<4x4xf32>
  func.return %y : tensor<4x4xf32>
}""",
    "joins_in_joins_and_halves": """
func.func @main(%x: tensor<1x4xf32> {onnx.name = "x"}) -> (tensor<1x16xf32> {onnx.name = "y"}) {
  %s = ge.constant dense<[2, 2]> : tensor<2xi64>
  %t = ge.constant dense<[1, 4]> : tensor<2xi64>
  %a = ge.exp %x : tensor<1x4xf32> -> tensor<1x4xf32>
  %v = ge.reshape %a, %s : tensor<1x4xf32>, tensor<2xi64> -> tensor<2x2xf32>
  %m = ge.matmul %v, %v : tensor<2x2xf32>, tensor<2x2xf32> -> tensor<2x2xf32>
  %n = ge.reshape %m, %t : tensor<2x2xf32>, tensor<2xi64> -> tensor<1x4xf32>
  %b = ge.sigmoid %n : tensor<1x4xf32> -> tensor<1x4xf32>
  %c = ge.concat %b, %a axis 1 : tensor<1x4xf32>, tensor<1x4xf32> -> tensor<1x8xf32>
  %k = ge.softmax %c axis 1 : tensor<1x8xf32> -> tensor<1x8xf32>
  %d = ge.concat %k, %c axis 1 : tensor<1x8xf32>, tensor<1x8xf32> -> tensor<1x16xf32>
  %l, %h = ge.split %d axis 1 : tensor<1x16xf32> -> tensor<1x8xf32>, tensor<1x8xf32>
  %e = ge.tanh %h : tensor<1x8xf32> -> tensor<1x8xf32>
  %f = ge.add %l, %e : tensor<1x8xf32>, tensor<1x8xf32> -> tensor<1x8xf32>
  %y = ge.concat %f, %e axis 1 : tensor<1x8xf32>, tensor<1x8xf32> -> tensor<1x16xf32>
  func.return %y : tensor<1x16xf32>
}""",
    "transposed_weights": """
func.func @main(%x: tensor<2x3xf32> {onnx.name = "x"}) -> (tensor<2x2xf32> {onnx.name = "y"},
    tensor<3x2xf32> {onnx.name = "t"}, tensor<6xf32> {onnx.name = "r"}, tensor<3x4xf32> {onnx.name = "j"},
    tensor<2x2xf32> {onnx.name = "p"}) {
  %w = ge.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
  %s = ge.constant dense<[6]> : tensor<1xi64>
  %0 = ge.constant dense<[1]> : tensor<1xi64>
  %1 = ge.constant dense<[3]> : tensor<1xi64>
  %t = ge.transpose %w perm [1, 0] : tensor<2x3xf32> -> tensor<3x2xf32>
  %y = ge.matmul %x, %t : tensor<2x3xf32>, tensor<3x2xf32> -> tensor<2x2xf32>
  %r = ge.reshape %t, %s : tensor<3x2xf32>, tensor<1xi64> -> tensor<6xf32>
  %u = ge.exp %t : tensor<3x2xf32> -> tensor<3x2xf32>
  %j = ge.concat %t, %u axis 1 : tensor<3x2xf32>, tensor<3x2xf32> -> tensor<3x4xf32>
  %c = ge.slice %t, %0, %1 : tensor<3x2xf32>, tensor<1xi64>, tensor<1xi64> -> tensor<2x2xf32>
  %p = ge.exp %c : tensor<2x2xf32> -> tensor<2x2xf32>
  func.return %y, %t, %r, %j, %p : tensor<2x2xf32>, tensor<3x2xf32>, tensor<6xf32>, tensor<3x4xf32>, tensor<2x2xf32>
}""",
    "padded": """
func.func @main(%x: tensor<2x4xf32> {onnx.name = "x"}, %z: tensor<2x0xf32> {onnx.name = "z"}) ->
    (tensor<5x8xf32> {onnx.name = "a"}, tensor<2x8xf32> {onnx.name = "b"}, tensor<3x3xf32> {onnx.name = "c"},
     tensor<4x6xf32> {onnx.name = "d"}) {
  %one = ge.constant dense<1.0> : tensor<f32>
  %axis = ge.constant dense<[-1]> : tensor<1xi64>
  %p = ge.constant dense<[1, 3, 2, 1]> : tensor<4xi64>
  %q = ge.constant dense<[2, 2]> : tensor<2xi64>
  %r = ge.constant dense<[0, 1, 1, 2]> : tensor<4xi64>
  %s = ge.constant dense<[1, 1, 1, 1]> : tensor<4xi64>
  %0 = ge.exp %x : tensor<2x4xf32> -> tensor<2x4xf32>
  %1 = ge.relu %0 : tensor<2x4xf32> -> tensor<2x4xf32>
  %2 = ge.pad %1, %p, %one : tensor<2x4xf32>, tensor<4xi64>, tensor<f32> -> tensor<5x8xf32>
  %3 = ge.tanh %2 : tensor<5x8xf32> -> tensor<5x8xf32>
  %4 = ge.sigmoid %x : tensor<2x4xf32> -> tensor<2x4xf32>
  %5 = ge.pad %4, %q, none, %axis : tensor<2x4xf32>, tensor<2xi64>, tensor<1xi64> -> tensor<2x8xf32>
  %6 = ge.exp %z : tensor<2x0xf32> -> tensor<2x0xf32>
  %7 = ge.pad %6, %r : tensor<2x0xf32>, tensor<4xi64> -> tensor<3x3xf32>
  %8 = ge.neg %x : tensor<2x4xf32> -> tensor<2x4xf32>
  %9 = ge.pad %8, %s mode "edge" : tensor<2x4xf32>, tensor<4xi64> -> tensor<4x6xf32>
  func.return %3, %5, %7, %9 : tensor<5x8xf32>, tensor<2x8xf32>, tensor<3x3xf32>, tensor<4x6xf32>
}""",
    "cast_and_seen_by_bits": """
func.func @main(%x: tensor<2x4xf32> {onnx.name = "x"}) -> (tensor<4x4xi32> {onnx.name = "a"},
    tensor<8xi32> {onnx.name = "b"}, tensor<4xf32> {onnx.name = "c"}, tensor<2x4xi1> {onnx.name = "d"},
    tensor<3xi32> {onnx.name = "e"}, tensor<2x4xbf16> {onnx.name = "f"}) {
  %s = ge.constant dense<[8]> : tensor<1xi64>
  %0 = ge.constant dense<[0]> : tensor<1xi64>
  %1 = ge.constant dense<[1]> : tensor<1xi64>
  %w = ge.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %h = ge.constant dense<100.0> : tensor<f32>
  %2 = ge.mul %x, %h : tensor<2x4xf32>, tensor<f32> -> tensor<2x4xf32>
  %3 = ge.cast %2 to i32 : tensor<2x4xf32> -> tensor<2x4xi32>
  %4 = ge.cast %3 to f32 : tensor<2x4xi32> -> tensor<2x4xf32>
  %5 = ge.bit_cast %4 to i32 : tensor<2x4xf32> -> tensor<2x4xi32>
  %6 = ge.neg %5 : tensor<2x4xi32> -> tensor<2x4xi32>
  %7 = ge.cast %x to i32 : tensor<2x4xf32> -> tensor<2x4xi32>
  %8 = ge.concat %6, %7 axis 0 : tensor<2x4xi32>, tensor<2x4xi32> -> tensor<4x4xi32>
  %9 = ge.abs %8 : tensor<4x4xi32> -> tensor<4x4xi32>
  %10 = ge.exp %x : tensor<2x4xf32> -> tensor<2x4xf32>
  %11 = ge.bit_cast %10 to i32 : tensor<2x4xf32> -> tensor<2x4xi32>
  %12 = ge.reshape %11, %s : tensor<2x4xi32>, tensor<1xi64> -> tensor<8xi32>
  %13 = ge.slice %11, %0, %1 : tensor<2x4xi32>, tensor<1xi64>, tensor<1xi64> -> tensor<1x4xi32>
  %14 = ge.bit_cast %13 to f32 : tensor<1x4xi32> -> tensor<1x4xf32>
  %15 = ge.reduce_sum %14, %0 keepdims 0 : tensor<1x4xf32>, tensor<1xi64> -> tensor<4xf32>
  %16 = ge.cast %x to i8 : tensor<2x4xf32> -> tensor<2x4xi8>
  %17 = ge.cast %16 to i1 : tensor<2x4xi8> -> tensor<2x4xi1>
  %18 = ge.not %17 : tensor<2x4xi1> -> tensor<2x4xi1>
  %19 = ge.not %18 : tensor<2x4xi1> -> tensor<2x4xi1>
  %20 = ge.bit_cast %w to i32 : tensor<3xf32> -> tensor<3xi32>
  %21 = ge.cast %x to f16 : tensor<2x4xf32> -> tensor<2x4xf16>
  %22 = ge.cast %21 to bf16 : tensor<2x4xf16> -> tensor<2x4xbf16>
  %23 = ge.mul %22, %22 : tensor<2x4xbf16>, tensor<2x4xbf16> -> tensor<2x4xbf16>
  func.return %9, %12, %15, %19, %20, %23 : tensor<4x4xi32>, tensor<8xi32>, tensor<4xf32>, tensor<2x4xi1>,
      tensor<3xi32>, tensor<2x4xbf16>
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


@given(modules())
@settings(max_examples=60)
def test_random_graphs(module: ModuleOp):
    check(module)


@given(modules())
@settings(max_examples=60)
def test_what_is_weighed_is_what_comes_out(module: ModuleOp):
    """The bytes by which parts and joins are chosen are the arena's bound."""
    bufferized = module.clone()
    GeBufferize().apply(CONTEXT, bufferized)
    (function,) = bufferized.body.block.ops
    (tensors,) = module.body.block.ops
    peak = planned(tensors.body.block, Rules()).peak
    assert function.attributes["ge.arena_bound"].value.data == peak
