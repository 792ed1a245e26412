"""
What users of other memory planners have run into, a test each. test_random_memory.py has the same by chance, and
test_in_place_claims.py what one op may do to its own operand.
"""

from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from gecc.dialects.ge.constants import MappedOp
from gecc.dialects.ge.memory import LaunchOp, SlotOp
from gecc.dialects.ge.text import parse_module
from gecc.dialects.ge.types import nbytes
from gecc.planning import Buffer, align_up, explain_peak
from gecc.planning.packing import pack
from gecc.reference import Arena, make_inputs, run
from gecc.transforms.memory.arena import Roots
from gecc.transforms.memory.ge_bufferize import GeBufferize
from gecc.transforms.memory.memory_reuse import MemoryReuse

from .poisoned import BALANCED, CONTEXT, NothingInPlace, check_in_one_arena

STRATEGIES: list[Any] = [
    pytest.param((GeBufferize(in_place=False, views=False), MemoryReuse(strategy="conservative")), id="conservative"),
    pytest.param(BALANCED, id="balanced"),
    pytest.param((GeBufferize(), MemoryReuse(strategy="aggressive")), id="aggressive"),
]
each_strategy = pytest.mark.parametrize("passes", STRATEGIES)


def parse(text: str) -> ModuleOp:
    return parse_module(CONTEXT, text, "test")


def planned(module: ModuleOp, passes: Any = BALANCED) -> FuncOp:
    for one in passes:
        one.apply(CONTEXT, module)
    module.verify()
    (function,) = module.body.block.ops
    assert isinstance(function, FuncOp)
    return function


def arena_bytes(function: FuncOp) -> int:
    return nbytes(function.body.block.args[-1].type)


def inputs_of(module: ModuleOp) -> list[dict[str, Any]]:
    return [make_inputs(module, seed) for seed in (0, 1)]


# ------------------------------------------------------------------ what the caller holds

CHAIN = """
func.func @main(%x: tensor<4x4xf32> {onnx.name = "x"}, %z: tensor<4x4xf32> {onnx.name = "z"}) ->
    (tensor<4x4xf32> {onnx.name = "a"}, tensor<4x4xf32> {onnx.name = "b"}) {
  %0 = ge.relu %x : tensor<4x4xf32> -> tensor<4x4xf32>
  %1 = ge.add %0, %z : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  %2 = ge.tanh %1 : tensor<4x4xf32> -> tensor<4x4xf32>
  %3 = ge.matmul %2, %x : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  %4 = ge.exp %3 : tensor<4x4xf32> -> tensor<4x4xf32>
  func.return %2, %4 : tensor<4x4xf32>, tensor<4x4xf32>
}"""


@each_strategy
def test_what_is_fed_is_not_written(passes: Any):
    """Inputs are the caller's: no launch writes there, though %x dies at the product and %0 could lie over it."""
    function = planned(parse(CHAIN), passes)
    roots = Roots(function.body.block)
    written = {roots.of(v) for op in function.walk() if isinstance(op, LaunchOp) for v in op.outs}
    assert written.isdisjoint(function.body.block.args[:2])


@each_strategy
def test_one_array_fed_twice(passes: Any):
    module = parse(CHAIN)
    x = make_inputs(module)["x"]
    expected = run(module, {"x": x, "z": x.copy()})
    planned(module, passes)
    found = run(module, {"x": x, "z": x})
    assert {k: v.tobytes() for k, v in found.items()} == {k: v.tobytes() for k, v in expected.items()}


@each_strategy
def test_an_output_outlives_the_next_run(passes: Any):
    """Outputs have memory of their own: neither the arena's nor each other's."""
    module = parse(CHAIN)
    one, two = inputs_of(module)
    planned(module, passes)
    arena = Arena()
    first = run(module, one, arena=arena)
    kept = {name: value.copy() for name, value in first.items()}
    run(module, two, arena=arena)
    assert all(first[name].tobytes() == kept[name].tobytes() for name in kept)
    assert not np.shares_memory(first["a"], first["b"])
    assert not any(np.shares_memory(value, arena.bytes) for value in first.values())


@each_strategy
def test_a_second_run_with_other_inputs(passes: Any):
    """In the memory that the first run left, where nothing may count on zeros or on what lay there."""
    module = parse(CHAIN)
    check_in_one_arena(module, inputs_of(module), passes)


@each_strategy
def test_an_output_that_is_an_input(passes: Any):
    """A copy, also where a view of it is returned or it is returned twice; it does not change with what it is fed."""
    module = parse("""
func.func @main(%x: tensor<4xf32> {onnx.name = "x"}) -> (tensor<4xf32> {onnx.name = "a"},
    tensor<4xf32> {onnx.name = "b"}, tensor<2x2xf32> {onnx.name = "c"}, tensor<4xf32> {onnx.name = "d"}) {
  %s = ge.constant dense<[2, 2]> : tensor<2xi64>
  %i = ge.identity %x : tensor<4xf32> -> tensor<4xf32>
  %v = ge.reshape %x, %s : tensor<4xf32>, tensor<2xi64> -> tensor<2x2xf32>
  %e = ge.relu %i : tensor<4xf32> -> tensor<4xf32>
  func.return %x, %i, %v, %e : tensor<4xf32>, tensor<4xf32>, tensor<2x2xf32>, tensor<4xf32>
}""")
    inputs = inputs_of(module)
    bufferized = check_in_one_arena(module, inputs, passes)
    fed = {"x": inputs[0]["x"].copy()}
    found = run(bufferized, fed)
    fed["x"][...] = 7
    assert found["a"].tobytes() == found["b"].tobytes() == found["c"].tobytes() == inputs[0]["x"].tobytes()


# ------------------------------------------------------------------ bodies

LOOP = """
func.func @main(%m: tensor<i64> {{onnx.name = "m"}}, %c: tensor<i1> {{onnx.name = "c"}}, %x: tensor<4xf32>
    {{onnx.name = "x"}}) -> (tensor<4xf32> {{onnx.name = "y"}}, tensor<4xf32> {{onnx.name = "z"}}) {{
  %p = ge.exp %x : tensor<4xf32> -> tensor<4xf32>
  %y, %z = ge.loop %m, none, %x, %p : tensor<i64>, tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>, tensor<4xf32> {{
  ^bb0(%i: tensor<i64>, %go: tensor<i1>, %a: tensor<4xf32>, %b: tensor<4xf32>):
    {body}
  }}
  func.return %y, %z : tensor<4xf32>, tensor<4xf32>
}}"""
BODIES = {
    "the old value is read after the new one": """
    %n = ge.neg %a : tensor<4xf32> -> tensor<4xf32>
    %s = ge.sub %n, %a : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
    ge.yield %go, %n, %s : tensor<i1>, tensor<4xf32>, tensor<4xf32>""",
    "each becomes the other": """
    ge.yield %go, %b, %a : tensor<i1>, tensor<4xf32>, tensor<4xf32>""",
    "both become the same": """
    %n = ge.add %a, %b : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
    ge.yield %go, %n, %n : tensor<i1>, tensor<4xf32>, tensor<4xf32>""",
    "what is around is read in each iteration": """
    %n = ge.mul %a, %p : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
    %o = ge.relu %b : tensor<4xf32> -> tensor<4xf32>
    ge.yield %go, %n, %o : tensor<i1>, tensor<4xf32>, tensor<4xf32>""",
    "captured by a loop in a branch in a loop": """
    %k = ge.tanh %p : tensor<4xf32> -> tensor<4xf32>
    %n = ge.if %c : tensor<i1> -> (tensor<4xf32>) {
      %q = ge.mul %k, %a : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
      %r = ge.loop %m, none, %b : tensor<i64>, tensor<4xf32> -> tensor<4xf32> {
      ^bb0(%j: tensor<i64>, %on: tensor<i1>, %d: tensor<4xf32>):
        %e = ge.add %d, %q : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
        %f = ge.mul %e, %p : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
        %g = ge.add %f, %k : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
        ge.yield %on, %g : tensor<i1>, tensor<4xf32>
      }
      %t = ge.sigmoid %r : tensor<4xf32> -> tensor<4xf32>
      ge.yield %t : tensor<4xf32>
    } else {
      ge.yield %p : tensor<4xf32>
    }
    ge.yield %go, %n, %k : tensor<i1>, tensor<4xf32>, tensor<4xf32>""",
}


@each_strategy
@pytest.mark.parametrize("body", BODIES)
def test_values_of_one_iteration_in_the_next(body: str, passes: Any):
    module = parse(LOOP.format(body=BODIES[body]))
    inputs = [
        {**make_inputs(module, trips), "m": np.array(trips), "c": np.array(way)}
        for trips in (0, 1, 3)
        for way in (False, True)
    ]
    check_in_one_arena(module, inputs, passes)


# ------------------------------------------------------------------ in place

T = "tensor<4x4xf32>"
OVER_ITSELF = {
    "its own transpose": f"""
  %t = ge.transpose %a perm [1, 0] : {T} -> {T}
  %r = ge.add %a, %t : {T}, {T} -> {T}""",
    "a product with itself": f"""
  %r = ge.matmul %a, %a : {T}, {T} -> {T}""",
    "one of its rows": f"""
  %b = ge.slice %a, %0, %1 : {T}, tensor<1xi64>, tensor<1xi64> -> tensor<1x4xf32>
  %r = ge.add %a, %b : {T}, tensor<1x4xf32> -> {T}""",
    "its other half": f"""
  %b, %c = ge.split %a axis 0 : {T} -> tensor<2x4xf32>, tensor<2x4xf32>
  %d = ge.add %b, %c : tensor<2x4xf32>, tensor<2x4xf32> -> tensor<2x4xf32>
  %e = ge.mul %c, %b : tensor<2x4xf32>, tensor<2x4xf32> -> tensor<2x4xf32>
  %r = ge.concat %d, %e axis 0 : tensor<2x4xf32>, tensor<2x4xf32> -> {T}""",
    "rows put elsewhere": f"""
  %b, %c = ge.split %a axis 0 : {T} -> tensor<2x4xf32>, tensor<2x4xf32>
  %r = ge.scatter_nd %a, %i, %b : {T}, tensor<2x1xi64>, tensor<2x4xf32> -> {T}""",
    "a part that it is joined with": f"""
  %b, %c = ge.split %a axis 0 : {T} -> tensor<2x4xf32>, tensor<2x4xf32>
  %n = ge.neg %b : tensor<2x4xf32> -> tensor<2x4xf32>
  %r = ge.concat %c, %n axis 0 : tensor<2x4xf32>, tensor<2x4xf32> -> {T}""",
}


@each_strategy
@pytest.mark.parametrize("case", OVER_ITSELF)
def test_an_update_in_place_that_reads_its_own_result(case: str, passes: Any):
    module = parse(f"""
func.func @main(%x: {T} {{onnx.name = "x"}}) -> ({T} {{onnx.name = "y"}}) {{
  %0 = ge.constant dense<[0]> : tensor<1xi64>
  %1 = ge.constant dense<[1]> : tensor<1xi64>
  %i = ge.constant dense<[[1], [2]]> : tensor<2x1xi64>
  %a = ge.exp %x : {T} -> {T}{OVER_ITSELF[case]}
  %y = ge.softmax %r axis 0 : {T} -> {T}
  func.return %y : {T}
}}""")
    check_in_one_arena(module, inputs_of(module), passes)


# ------------------------------------------------------------------ options

TOUR = """
func.func @main(%x: tensor<64xf32> {onnx.name = "x"}) -> (tensor<1x1xf32> {onnx.name = "y"}) {
  %s = ge.constant dense<[8, 8]> : tensor<2xi64>
  %0 = ge.exp %x : tensor<64xf32> -> tensor<64xf32>
  %1 = ge.sigmoid %x : tensor<64xf32> -> tensor<64xf32>
  %2 = ge.tanh %x : tensor<64xf32> -> tensor<64xf32>
  %3 = ge.reduce_sum %0 : tensor<64xf32> -> tensor<1xf32>
  %4 = ge.reduce_sum %1 : tensor<64xf32> -> tensor<1xf32>
  %5 = ge.reshape %2, %s : tensor<64xf32>, tensor<2xi64> -> tensor<8x8xf32>
  %6 = ge.neg %2 : tensor<64xf32> -> tensor<64xf32>
  %7 = ge.reshape %6, %s : tensor<64xf32>, tensor<2xi64> -> tensor<8x8xf32>
  %8 = ge.mul %5, %7 : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
  %9 = ge.reduce_max %8 : tensor<8x8xf32> -> tensor<1x1xf32>
  %10 = ge.add %9, %3 : tensor<1x1xf32>, tensor<1xf32> -> tensor<1x1xf32>
  %11 = ge.add %10, %4 : tensor<1x1xf32>, tensor<1xf32> -> tensor<1x1xf32>
  func.return %11 : tensor<1x1xf32>
}"""
OPTIONS: dict[str, tuple[Any, int]] = {
    # Large ones are 256 B, small ones 64 (4 rounded up). At %3 three large ones and it.
    "balanced": ((GeBufferize(), MemoryReuse()), 3 * 256 + 64),
    # %2 and %6 before all others, %8 over one of them; then %3 right behind %0, %4 behind %1.
    "aggressive": ((GeBufferize(), MemoryReuse(strategy="aggressive")), 2 * 256),
    # %2, its copy %5, %6, and the two.
    "conservative": (STRATEGIES[0].values[0], 3 * 256 + 2 * 64),
    # %2, %6, %8, and the two.
    "nothing in place": ((GeBufferize(in_place=False), MemoryReuse()), 3 * 256 + 2 * 64),
    # %5 and %7 are copies that %8 may lie over: %2, %5, %6, and the two.
    "no views": ((GeBufferize(views=False), MemoryReuse()), 3 * 256 + 2 * 64),
    # %0, %1, %2 and %6; %3, %4 and %9, which %10 lies over.
    "no address twice": ((GeBufferize(), MemoryReuse(max_reuse_ratio=0.0)), 4 * 256 + 3 * 64),
    # As balanced, in steps of 512: three large ones and a small one.
    "alignment 512": ((GeBufferize(), MemoryReuse(alignment=512)), 4 * 512),
}


@pytest.mark.parametrize("name", OPTIONS)
def test_each_option_changes_the_plan(name: str):
    passes, size = OPTIONS[name]
    module = parse(TOUR)
    assert arena_bytes(planned(module.clone(), passes)) == size
    check_in_one_arena(module, inputs_of(module), passes)


def test_policy_size_keeps_classes_apart():
    """64 B after 256 B: who shares by lifetime puts it where that was, who shares by size does not."""
    text = """
func.func @main(%x: tensor<64xf32>) -> tensor<1x1xf32> {
  %s = ge.constant dense<[1, 1]> : tensor<2xi64>
  %0 = ge.exp %x : tensor<64xf32> -> tensor<64xf32>
  %1 = ge.reduce_sum %0 : tensor<64xf32> -> tensor<1xf32>
  %2 = ge.reshape %1, %s : tensor<1xf32>, tensor<2xi64> -> tensor<1x1xf32>
  %3 = ge.matmul %2, %2 : tensor<1x1xf32>, tensor<1x1xf32> -> tensor<1x1xf32>
  %4 = ge.matmul %3, %3 : tensor<1x1xf32>, tensor<1x1xf32> -> tensor<1x1xf32>
  func.return %4 : tensor<1x1xf32>
}"""
    sizes = [
        arena_bytes(planned(parse(text), (GeBufferize(), MemoryReuse(reuse_policy=p)))) for p in ("lifetime", "size")
    ]
    assert sizes == [256 + 64, 256 + 2 * 64]


def test_conservative_is_conservative_whoever_asks():
    """Of ge-bufferize, or afterwards of memory-reuse: no result lies over an operand."""
    for passes in (STRATEGIES[0].values[0], (GeBufferize(), MemoryReuse(strategy="conservative"))):
        module = parse(TOUR)
        planned(module, passes)
        run(module, inputs_of(module)[0], arena=NothingInPlace())


# ------------------------------------------------------------------ what has no place in the arena


@each_strategy
def test_constants_are_not_planned(passes: Any):
    """A weight stays where the file has it: the arena holds the one activation, no matter how large the weights are."""
    function = planned(
        parse("""
func.func @main(%x: tensor<1x16xf32>) -> tensor<1x16xf32> {
  %w = ge.constant #ge.splat<0.5> : tensor<16x16xf32>
  %b = ge.constant #ge.splat<0.25> : tensor<16x16xf32>
  %0 = ge.matmul %x, %w : tensor<1x16xf32>, tensor<16x16xf32> -> tensor<1x16xf32>
  %1 = ge.matmul %0, %b : tensor<1x16xf32>, tensor<16x16xf32> -> tensor<1x16xf32>
  func.return %1 : tensor<1x16xf32>
}"""),
        passes,
    )
    assert sum(isinstance(op, MappedOp) for op in function.walk()) == 2
    assert [nbytes(op.buffer.type) for op in function.walk() if isinstance(op, SlotOp)] == [64]
    assert arena_bytes(function) == 64


@each_strategy
def test_tensors_of_no_element(passes: Any):
    """They take no byte, wherever they stand: made, seen under another shape, joined, padded to something, returned."""
    module = parse("""
func.func @main(%x: tensor<0x4xf32> {onnx.name = "x"}, %z: tensor<2x4xf32> {onnx.name = "z"}) ->
    (tensor<4x0xf32> {onnx.name = "a"}, tensor<2x4xf32> {onnx.name = "b"}, tensor<2x4xf32> {onnx.name = "c"},
     tensor<0x4xi32> {onnx.name = "d"}) {
  %s = ge.constant dense<[4, 0]> : tensor<2xi64>
  %p = ge.constant dense<[1, 0, 1, 0]> : tensor<4xi64>
  %0 = ge.exp %x : tensor<0x4xf32> -> tensor<0x4xf32>
  %1 = ge.reshape %0, %s allowzero 1 : tensor<0x4xf32>, tensor<2xi64> -> tensor<4x0xf32>
  %2 = ge.tanh %z : tensor<2x4xf32> -> tensor<2x4xf32>
  %3 = ge.concat %2, %0 axis 0 : tensor<2x4xf32>, tensor<0x4xf32> -> tensor<2x4xf32>
  %4 = ge.softmax %3 : tensor<2x4xf32> -> tensor<2x4xf32>
  %5 = ge.pad %0, %p : tensor<0x4xf32>, tensor<4xi64> -> tensor<2x4xf32>
  %6 = ge.cast %0 to i32 : tensor<0x4xf32> -> tensor<0x4xi32>
  %7 = ge.neg %6 : tensor<0x4xi32> -> tensor<0x4xi32>
  func.return %1, %4, %5, %7 : tensor<4x0xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<0x4xi32>
}""")
    bufferized = check_in_one_arena(module, inputs_of(module), passes)
    (function,) = bufferized.body.block.ops
    assert isinstance(function, FuncOp)
    assert arena_bytes(function) <= 2 * 64


# ------------------------------------------------------------------ the plan


def buffers_of(function: FuncOp) -> tuple[list[Buffer], list[int]]:
    slots = [op for op in function.walk() if isinstance(op, SlotOp)]
    buffers = [Buffer(*op.life, nbytes(op.buffer.type), op.buffer.name_hint or "") for op in slots]
    return buffers, [op.offset.value.data for op in slots]


def test_greedy_is_tried_before_the_search():
    """Where greedy reaches the bound, as on most models, that is the plan: not one step is searched."""
    buffers, _ = buffers_of(planned(parse(TOUR)))
    found = pack([(b.begin, b.end) for b in buffers], [align_up(b.size, 64) for b in buffers], seconds=1.0)
    assert (found.proved, found.searched) == (True, 0)


def test_the_peak_is_explained():
    """Who is alive, and which bytes lie idle between them; ge-report prints it (tests/unit/tools/test_ge_report.py)."""
    function = planned(parse(TOUR), OPTIONS["no address twice"][0])
    buffers, offsets = buffers_of(function)
    peak = explain_peak(buffers, offsets, 64)
    assert peak is not None
    assert (peak.arena_bytes, peak.lower_bound) == (arena_bytes(function), 3 * 256 + 64)
    assert all(buffers[k].begin <= peak.step < buffers[k].end for k in peak.alive)
    idle = sum(size for _, size in peak.holes)
    assert idle == peak.arena_bytes - sum(align_up(buffers[k].size, 64) for k in peak.alive) > 0
