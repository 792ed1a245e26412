"""A model in gears: each computes in the one arena, poisoned or as others left it, what the model does unplanned."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from gecc.dialects.ge.gears import gears
from gecc.dialects.ge.memory import SlotOp
from gecc.dialects.ge.text import parse_module
from gecc.dialects.ge.types import nbytes
from gecc.driver.poison import PoisonedArena
from gecc.planning import Buffer, find_violation
from gecc.reference import Arena, make_inputs, run
from gecc.transforms.memory.arena import arena_of
from gecc.transforms.memory.ge_bufferize import GeBufferize
from gecc.transforms.memory.memory_order import MemoryOrder
from gecc.transforms.memory.memory_reuse import MemoryReuse
from gecc.transforms.shape.gears import bind_gears

from .poisoned import BALANCED, CONTEXT, assert_same

NET = """
func.func @main(%x: tensor<?x3x?x8xf32> {onnx.name = "x", ge.dims = ["N", 3, "H", 8]},
                %k: tensor<8x3x3x3xf32> {onnx.name = "k"}, %l: tensor<8x8x3x3xf32> {onnx.name = "l"})
    -> (tensor<?x?xf32> {onnx.name = "y"}, tensor<?x16x?x8xf32> {onnx.name = "z"}) {
  %a = ge.conv %x, %k pads [1, 1, 1, 1] : tensor<?x3x?x8xf32>, tensor<8x3x3x3xf32> -> tensor<?x8x?x8xf32>
  %b = ge.relu %a : tensor<?x8x?x8xf32> -> tensor<?x8x?x8xf32>
  %c = ge.conv %b, %l pads [1, 1, 1, 1] : tensor<?x8x?x8xf32>, tensor<8x8x3x3xf32> -> tensor<?x8x?x8xf32>
  %d = ge.add %c, %b : tensor<?x8x?x8xf32>, tensor<?x8x?x8xf32> -> tensor<?x8x?x8xf32>
  %e = ge.concat %d, %a axis 1 : tensor<?x8x?x8xf32>, tensor<?x8x?x8xf32> -> tensor<?x16x?x8xf32>
  %z = ge.sigmoid %e : tensor<?x16x?x8xf32> -> tensor<?x16x?x8xf32>
  %g = ge.global_average_pool %e : tensor<?x16x?x8xf32> -> tensor<?x16x1x1xf32>
  %y = ge.flatten %g : tensor<?x16x1x1xf32> -> tensor<?x?xf32>
  func.return %y, %z : tensor<?x?xf32>, tensor<?x16x?x8xf32>
}
"""


def planned(sizes: tuple[int, ...], heights: tuple[int, ...], passes: tuple[ModulePass, ...]) -> ModuleOp:
    module = parse_module(CONTEXT, NET, "net.mlir")
    bind_gears(module, {"x": [sizes, 3, heights, 8]})
    for one in passes:
        one.apply(CONTEXT, module)
    module.verify()
    return module


def check(module: ModuleOp) -> None:
    """Every gear's plan before the referee; two rounds through all, so that each follows a larger and a smaller one."""
    unplanned = parse_module(CONTEXT, NET, "net.mlir")
    size = arena_size(module)
    for function in gears(module):
        slots = [op for op in function.walk() if isinstance(op, SlotOp)]
        buffers = [Buffer(*op.life, nbytes(op.buffer.type)) for op in slots]
        assert find_violation(buffers, [op.offset.value.data for op in slots], size, 64) is None
    for arena in (PoisonedArena(module), Arena()):
        for seed in (0, 1):
            for gear in gears(module):
                inputs = make_inputs(gear, seed)
                assert_same(run(module, inputs, arena=arena), run(unplanned, inputs))
        assert len(arena.bytes) == size


def arena_size(module: ModuleOp) -> int:
    (size,) = {nbytes(arena.type) for gear in gears(module) if (arena := arena_of(gear)) is not None}
    return size


@pytest.mark.parametrize(
    "passes",
    [
        (GeBufferize(),),
        BALANCED,
        (GeBufferize(), MemoryReuse(strategy="conservative")),
        (GeBufferize(), MemoryReuse(strategy="aggressive", alignment=128), MemoryOrder()),
        (GeBufferize(), MemoryReuse(algorithm="ge-max-block")),
    ],
    ids=["apart", "balanced", "conservative", "aggressive", "ge"],
)
def test_batches_of_1_2_and_4(passes: tuple[ModulePass, ...]):
    check(planned((1, 2, 4), (8,), passes))


def test_the_arena_is_that_of_the_largest():
    # 8 channels of 8 x 8 floats are 2048 bytes. The concat takes %d and %a in its 4096 bytes, %b has 2048 more while
    # the second convolution reads it: 6144 a sample.
    assert [arena_size(planned((1, n), (8,), BALANCED)) for n in (2, 4)] == [2 * 6144, 4 * 6144]


@settings(max_examples=10, deadline=None)
@given(
    st.lists(st.integers(1, 5), min_size=1, max_size=3, unique=True),
    st.lists(st.integers(1, 9), min_size=2, max_size=3, unique=True),
)
def test_any_sizes(sizes: list[int], heights: list[int]):
    check(planned(tuple(sizes), tuple(heights), BALANCED))
