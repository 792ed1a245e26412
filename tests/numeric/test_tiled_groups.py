"""An L2 group on buffers, tile by tile, gives the bytes of layer by layer, restarted from text in between."""

import numpy as np
import pytest

from gecc.dialects.ge.attributes import L2TilingAttr
from gecc.dialects.ge.bodies import FusionOp
from gecc.dialects.ge.text import module_text, parse_module
from gecc.driver.poison import PoisonedArena
from gecc.driver.registry import default_registry
from gecc.reference import make_inputs, run
from gecc.transforms.fusion.fusion import fuse
from gecc.transforms.memory.ge_bufferize import GeBufferize
from gecc.transforms.memory.memory_reuse import MemoryReuse

BATCH = 5
CONTEXT = default_registry(lambda text: None).context()

# A residual block: the group's input is read twice, one of its values is read outside too, a view stands inside.
BLOCK = """
func.func @main(%x: tensor<5x4x6x6xf32> {onnx.name = "x"}, %w: tensor<4x4x3x3xf32> {onnx.name = "w"})
    -> (tensor<5x144xf32> {onnx.name = "y"}, tensor<5x4x6x6xf32> {onnx.name = "z"}) {
  %a = ge.conv %x, %w pads [1, 1, 1, 1] : tensor<5x4x6x6xf32>, tensor<4x4x3x3xf32> -> tensor<5x4x6x6xf32>
  %b = ge.relu %a : tensor<5x4x6x6xf32> -> tensor<5x4x6x6xf32>
  %c = ge.add %b, %x : tensor<5x4x6x6xf32>, tensor<5x4x6x6xf32> -> tensor<5x4x6x6xf32>
  %s = ge.constant dense<[0, 144]> : tensor<2xi64>
  %d = ge.reshape %c, %s : tensor<5x4x6x6xf32>, tensor<2xi64> -> tensor<5x144xf32>
  %e = ge.softmax %d : tensor<5x144xf32> -> tensor<5x144xf32>
  %z = ge.exp %b : tensor<5x4x6x6xf32> -> tensor<5x4x6x6xf32>
  func.return %e, %z : tensor<5x144xf32>, tensor<5x4x6x6xf32>
}
"""

# Rows of the second value are three a sample: its tiles have three times the rows.
RAGGED = """
func.func @main(%x: tensor<5x6x4xf32> {onnx.name = "x"}, %w: tensor<4x8xf32> {onnx.name = "w"})
    -> (tensor<15x8xf32> {onnx.name = "y"}) {
  %a = ge.exp %x : tensor<5x6x4xf32> -> tensor<5x6x4xf32>
  %s = ge.constant dense<[15, 2, 4]> : tensor<3xi64>
  %b = ge.reshape %a, %s : tensor<5x6x4xf32>, tensor<3xi64> -> tensor<15x2x4xf32>
  %c = ge.matmul %b, %w : tensor<15x2x4xf32>, tensor<4x8xf32> -> tensor<15x2x8xf32>
  %i = ge.constant dense<1> : tensor<1xi64>
  %d = ge.reduce_max %c, %i keepdims 0 : tensor<15x2x8xf32>, tensor<1xi64> -> tensor<15x8xf32>
  func.return %d : tensor<15x8xf32>
}
"""


def parsed(text):
    module = parse_module(CONTEXT, text, "test.mlir")
    module.verify()
    return module


def grouped(text, names, samples):
    """The module with the ops that make those values as one group of tiles of so many samples."""
    module = parsed(text)
    ops = [op for op in module.walk() if op.results and op.results[0].name_hint in names]
    group = fuse(ops, "L2")
    rows = group.outs[0].type.get_shape()[0] // BATCH
    group.properties["tiling"] = L2TilingAttr.of(
        [[0]],
        [[samples * rows]],
        -(-BATCH // samples),
        weights="resident",
        working_set=0,
        bytes_before=0,
        bytes_after=0,
        hit_share=1.0,
    )
    module.verify()
    return module


@pytest.mark.parametrize(("text", "names"), [(BLOCK, "abcde"), (BLOCK, "abc"), (RAGGED, "abcd")])
@pytest.mark.parametrize("samples", [1, 2, 3, 4])
def test_tiles_are_the_whole(text, names, samples):
    check(text, names, samples, "scf.for" if BATCH // samples > 1 else "memref.subview")


def test_a_group_that_gives_a_view_runs_layer_by_layer():
    check(RAGGED, "ab", 2, "ge.launch")


def check(text, names, samples, holds):
    module = grouped(text, names, samples)
    inputs = make_inputs(module)
    want = run(parsed(text), inputs)

    for one in (GeBufferize(), MemoryReuse()):
        one.apply(CONTEXT, module)
        module = parsed(module_text(module))
    assert holds in module_text(module)
    assert not any(isinstance(op, FusionOp) for op in module.walk())

    got = run(module, inputs, arena=PoisonedArena(module))
    for name, array in want.items():
        np.testing.assert_array_equal(got[name], array)
