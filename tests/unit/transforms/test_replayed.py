"""What a function on buffers touches: views are the bytes of the buffer behind them."""

from collections.abc import Hashable

from xdsl.ir import Operation

from gecc.dialects.ge.memory import LaunchOp
from gecc.dialects.ge.text import parse_module
from gecc.driver.registry import default_registry
from gecc.transforms.l2.replayed import Trace, trace_of_function
from gecc.transforms.memory.ge_bufferize import GeBufferize
from gecc.transforms.rewriting import functions

CONTEXT = default_registry(lambda text: None).context()

JOINED = """
func.func @main(%x: tensor<2x4xf32>, %z: tensor<2x4xf32>) -> tensor<2x8xf32> {{
  %a = ge.exp %x : tensor<2x4xf32> -> tensor<2x4xf32>
  {step}
  %d = ge.exp %z : tensor<2x4xf32> -> tensor<2x4xf32>
  %e = ge.concat %c, %d axis 1 : tensor<2x4xf32>, tensor<2x4xf32> -> tensor<2x8xf32>
  %y = ge.softmax %e axis 0 : tensor<2x8xf32> -> tensor<2x8xf32>
  func.return %y : tensor<2x8xf32>
}}"""
NEGATED = """
  %b = ge.neg %a : tensor<2x4xf32> -> tensor<2x4xf32>
  %c = ge.neg %b : tensor<2x4xf32> -> tensor<2x4xf32>"""
CAST = """
  %b = ge.cast %a to i32 : tensor<2x4xf32> -> tensor<2x4xi32>
  %c = ge.cast %b to f32 : tensor<2x4xi32> -> tensor<2x4xf32>"""


def traced(step: str) -> tuple[Trace, set[str]]:
    module = parse_module(CONTEXT, JOINED.format(step=step), "test")
    GeBufferize().apply(CONTEXT, module)
    (function,) = functions(module)
    return trace_of_function(function, 1 << 20, 64), {op.name for op in module.walk()}


def test_a_cast_in_place_touches_what_any_op_in_place_does():
    # In the left half of each row of %e, which is of another type half way.
    cast, ops = traced(CAST)
    assert {"ge.retyped", "memref.subview"} <= ops
    assert cast.accesses == traced(NEGATED)[0].accesses
    written = [(a.offset, a.bytes) for a in cast.accesses if a.write and a.buffer == cast.arena]
    assert written[:2] == [(0, 16), (32, 16)]


def steps(attributes: str) -> list[tuple[int, int]]:
    """(offset, bytes) of what a matrix product of 8 rows of 64 bytes writes, in order."""
    source = f"""
func.func @main(%x: tensor<8x4xf32>, %w: tensor<4x16xf32>) -> tensor<8x16xf32> {{
  %y = ge.matmul %x, %w {attributes} : tensor<8x4xf32>, tensor<4x16xf32> -> tensor<8x16xf32>
  func.return %y : tensor<8x16xf32>
}}"""
    module = parse_module(CONTEXT, source, "test")
    GeBufferize().apply(CONTEXT, module)
    (function,) = functions(module)
    return [(a.offset, a.bytes) for a in trace_of_function(function, 1 << 20, 64).accesses if a.write]


def test_a_kernel_walks_as_it_says():
    said = "attributes {{ge.kernel_tile = #ge.kernel_tile<axis = {}, size = {}>}}"
    assert steps("") == [(row * 64, 64) for row in range(8)]  # the rule: all fits, a row at a time
    assert steps(said.format(0, 3)) == [(0, 192), (192, 192), (384, 128)]
    assert steps(said.format(0, 100)) == [(0, 512)]
    halves = [[(row * 64 + half * 32, 32) for row in range(8)] for half in (0, 1)]
    assert steps(said.format(1, 8)) == halves[0] + halves[1]


def test_a_kernel_that_cannot_be_cut_as_it_says_walks_by_the_rule():
    def softmax(attributes: str) -> list[tuple[int, int]]:
        source = f"""
func.func @main(%x: tensor<8x16xf32>) -> tensor<8x16xf32> {{
  %y = ge.softmax %x axis 1 {attributes} : tensor<8x16xf32> -> tensor<8x16xf32>
  func.return %y : tensor<8x16xf32>
}}"""
        module = parse_module(CONTEXT, source, "test")
        GeBufferize().apply(CONTEXT, module)
        (function,) = functions(module)
        return [(a.offset, a.bytes) for a in trace_of_function(function, 1 << 20, 64).accesses]

    assert softmax("attributes {ge.kernel_tile = #ge.kernel_tile<axis = 1, size = 4>}") == softmax("")


def test_each_tile_of_a_group_has_the_last_word_on_its_part():
    # 5 samples in tiles of 2: the two in the loop and the last, beside it, each read their rows of %a last.
    source = """
func.func @main(%x: tensor<5x64xf32>) -> tensor<5x64xf32> {
  %a = ge.exp %x : tensor<5x64xf32> -> tensor<5x64xf32>
  %y = ge.fusion "L2" (%b = %a : tensor<5x64xf32>) -> (tensor<5x64xf32>)
      tiling #ge.l2_tiling<axes = [0], tile = [2], tiles = 3, weights = resident,
          working_set = 0, bytes_before = 0, bytes_after = 0, hit_share = 1.0> {
    %c = ge.sin %b : tensor<5x64xf32> -> tensor<5x64xf32>
    %d = ge.cos %c : tensor<5x64xf32> -> tensor<5x64xf32>
    ge.yield %d : tensor<5x64xf32>
  }
  func.return %y : tensor<5x64xf32>
}"""
    module = parse_module(CONTEXT, source, "test")
    GeBufferize().apply(CONTEXT, module)
    (function,) = functions(module)
    launches = [op for op in function.walk() if isinstance(op, LaunchOp)]
    names = {op: next(iter(op.body.block.ops)).name for op in launches}
    tiles: dict[Operation, Hashable] = {op: name for op, name in names.items() if name != "ge.exp"}
    trace = trace_of_function(function, 1 << 20, 64, tiles)
    owners = zip(trace.accesses, trace.owners, strict=True)
    read = [(a.bytes, a.last) for a, op in owners if names.get(op) == "ge.sin" and not a.write]
    assert read == [(512, True), (512, True), (256, True)]
