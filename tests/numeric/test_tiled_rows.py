"""
Groups cut into rows give the bytes of layer by layer: with the halo computed again or kept, at the borders, with
strides, uneven last tiles, residuals and views. Elements are small integers, whose sums are exact in any order.
"""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from gecc.dialects.ge.attributes import L2TilingAttr
from gecc.dialects.ge.constants import ConstantOp
from gecc.dialects.ge.text import module_text, parse_module
from gecc.driver.registry import default_registry
from gecc.reference import make_inputs, run
from gecc.transforms.fusion.fusion import fuse
from gecc.transforms.memory.ge_bufferize import GeBufferize
from gecc.transforms.memory.memory_reuse import MemoryReuse
from gecc.transforms.rewriting import functions

CONTEXT = default_registry(lambda text: None).context()
CHANNELS = 3


def parsed(text):
    module = parse_module(CONTEXT, text, "test.mlir")
    module.verify()
    return module


def grouped(text, axis, size, halo):
    """The module with all of its ops in one group that is cut into so many rows."""
    module = parsed(text)
    (function,) = functions(module)
    last = function.body.block.last_op
    ops = [op for op in function.body.block.ops if op is not last and not isinstance(op, ConstantOp)]
    group = fuse(ops, "L2")
    tiles = -(-group.outs[0].type.get_shape()[axis] // size)
    figures = {"weights": "resident", "working_set": 0, "bytes_before": 0, "bytes_after": 0, "hit_share": 1.0}
    group.properties["tiling"] = L2TilingAttr.of([axis], [size], tiles, halo=halo, **figures)
    module.verify()
    return module


def small_integers(module):
    return {name: np.round(2 * x) for name, x in make_inputs(module).items()}


def lowered(module):
    for one in (GeBufferize(), MemoryReuse()):
        one.apply(CONTEXT, module)
        module = parsed(module_text(module))
    return module


def check(text, axis, size, halo):
    """Whether the group ran in tiles; what it gives is checked either way."""
    module = lowered(grouped(text, axis, size, halo))
    inputs = small_integers(module)
    want, got = run(parsed(text), inputs), run(module, inputs)
    for name, array in want.items():
        np.testing.assert_array_equal(got[name], array)
    return any(op.name == "memref.subview" for op in module.walk())


def program(rows, *layers):
    """A function of convolutions (kernel, stride, pad) and other ops in a row, 5 wide."""
    shape, lines, weights, value = (1, CHANNELS, rows, 5), [], [], "%x"
    for k, layer in enumerate(layers):
        before = "x".join(map(str, shape))
        if layer == "relu":
            after = before
            lines.append(f"%v{k} = ge.relu {value} : tensor<{before}xf32> -> tensor<{after}xf32>")
        elif layer == "skip":
            after = before
            lines.append(
                f"%v{k} = ge.add {value}, %v{k - 2} : tensor<{before}xf32>, tensor<{before}xf32> -> tensor<{after}xf32>"
            )
        else:
            kernel, stride, pad = layer
            shape = (1, CHANNELS, (shape[2] + 2 * pad - kernel) // stride + 1, shape[3])
            after = "x".join(map(str, shape))
            weight = f"tensor<{CHANNELS}x{CHANNELS}x{kernel}x1xf32>"
            weights.append(f'%w{k}: {weight} {{onnx.name = "w{k}"}}')
            lines.append(
                f"%v{k} = ge.conv {value}, %w{k} strides [{stride}, 1] pads [{pad}, 0, {pad}, 0] : "
                f"tensor<{before}xf32>, {weight} -> tensor<{after}xf32>"
            )
        value = f"%v{k}"
    start = f'%x: tensor<1x{CHANNELS}x{rows}x5xf32> {{onnx.name = "x"}}'
    end, body = f"tensor<{'x'.join(map(str, shape))}xf32>", "\n  ".join(lines)
    result = f'{end} {{onnx.name = "y"}}'
    return f"""
        func.func @main({", ".join([start, *weights])}) -> ({result}) {{
          {body}
          func.return {value} : {end}
        }}"""


ONE = program(12, (3, 1, 1), "relu")
TWO = program(12, (3, 1, 1), (3, 1, 1))
STRIDED = program(24, (3, 2, 1), "relu", (3, 1, 1), (2, 2, 0))
RESIDUAL = program(12, (1, 1, 0), (3, 1, 1), "skip", "relu")


@pytest.mark.parametrize("halo", ["recompute", "lines"])
@pytest.mark.parametrize("size", [3, 4, 5])
@pytest.mark.parametrize("text", [ONE, TWO, RESIDUAL])
def test_rows_are_the_whole(text, size, halo):
    assert check(text, 2, size, halo)


def test_two_borders_of_one_size_are_two_tiles():
    # Rows [0, 7) and [5, 12) of %x: seven each, with padding before the ones and after the others.
    assert check(ONE, 2, 6, "recompute")


@pytest.mark.parametrize("halo", ["recompute", "lines"])
@pytest.mark.parametrize("size", [1, 2, 4, 5])
def test_rows_over_strides(size, halo):
    assert check(STRIDED, 2, size, halo)


layers = st.one_of(
    st.just("relu"), st.tuples(st.sampled_from([1, 2, 3, 5]), st.sampled_from([1, 1, 2, 3]), st.integers(0, 2))
)


@settings(deadline=None, max_examples=60)
@given(
    st.integers(8, 40),
    st.lists(layers, min_size=2, max_size=5),
    st.integers(1, 9),
    st.sampled_from(["recompute", "lines"]),
)
def test_any_chain_of_windows(rows, chain, size, halo):
    left = rows
    for kernel, stride, pad in (layer for layer in chain if layer != "relu"):
        assume(left + 2 * pad >= kernel)
        left = (left + 2 * pad - kernel) // stride + 1
    check(program(rows, *chain), 2, size, halo)


ATTENTION = """
func.func @main(%q: tensor<1x2x9x4xf32> {onnx.name = "q"}, %k: tensor<1x2x4x9xf32> {onnx.name = "k"},
    %v: tensor<1x2x9x4xf32> {onnx.name = "v"}) -> (tensor<1x9x8xf32> {onnx.name = "y"}) {
  %a = ge.matmul %q, %k : tensor<1x2x9x4xf32>, tensor<1x2x4x9xf32> -> tensor<1x2x9x9xf32>
  %b = ge.relu %a : tensor<1x2x9x9xf32> -> tensor<1x2x9x9xf32>
  %c = ge.matmul %b, %v : tensor<1x2x9x9xf32>, tensor<1x2x9x4xf32> -> tensor<1x2x9x4xf32>
  %d = ge.transpose %c perm [0, 2, 1, 3] : tensor<1x2x9x4xf32> -> tensor<1x9x2x4xf32>
  %s = ge.constant dense<[1, 9, 8]> : tensor<3xi64>
  %e = ge.reshape %d, %s : tensor<1x9x2x4xf32>, tensor<3xi64> -> tensor<1x9x8xf32>
  %y = ge.relu %e : tensor<1x9x8xf32> -> tensor<1x9x8xf32>
  func.return %y : tensor<1x9x8xf32>
}
"""


@pytest.mark.parametrize("size", [1, 2, 4])
def test_attention_by_rows_of_the_sequence(size):
    assert check(ATTENTION, 1, size, "none")


CHANNEL_CHAIN = """
func.func @main(%x: tensor<1x3x5x5xf32> {onnx.name = "x"}, %w: tensor<8x3x1x1xf32> {onnx.name = "w"},
    %d: tensor<8x1x3x3xf32> {onnx.name = "d"}) -> (tensor<1x8x5x5xf32> {onnx.name = "y"}) {
  %a = ge.conv %x, %w : tensor<1x3x5x5xf32>, tensor<8x3x1x1xf32> -> tensor<1x8x5x5xf32>
  %b = ge.conv %a, %d pads [1, 1, 1, 1] group 8 : tensor<1x8x5x5xf32>, tensor<8x1x3x3xf32> -> tensor<1x8x5x5xf32>
  %c = ge.relu %b : tensor<1x8x5x5xf32> -> tensor<1x8x5x5xf32>
  func.return %c : tensor<1x8x5x5xf32>
}
"""


@pytest.mark.parametrize("size", [2, 3])
def test_channels_take_their_part_of_the_weights(size):
    assert check(CHANNEL_CHAIN, 1, size, "none")


BOTH = """
func.func @main(%x: tensor<1x2x12x5xf32> {onnx.name = "x"}, %w: tensor<2x2x3x1xf32> {onnx.name = "w"})
    -> (tensor<1x2x12x5xf32> {onnx.name = "y"}, tensor<1x2x12x5xf32> {onnx.name = "z"}) {
  %a = ge.conv %x, %w pads [1, 0, 1, 0] : tensor<1x2x12x5xf32>, tensor<2x2x3x1xf32> -> tensor<1x2x12x5xf32>
  %b = ge.conv %a, %w pads [1, 0, 1, 0] : tensor<1x2x12x5xf32>, tensor<2x2x3x1xf32> -> tensor<1x2x12x5xf32>
  func.return %b, %a : tensor<1x2x12x5xf32>, tensor<1x2x12x5xf32>
}
"""


def test_rows_that_others_read_are_computed_once():
    assert check(BOTH, 2, 4, "recompute")
    assert launched_rows(BOTH, 4, "recompute") == [5, 4, 3]


def launched_rows(text, size, halo):
    """Rows that the first convolution computes, launch by launch."""
    module = lowered(grouped(text, 2, size, halo))
    convolutions = [op for op in module.walk() if op.name == "ge.conv"]
    return [op.results[0].type.get_shape()[2] for op in convolutions][::2]


def test_kept_lines_are_not_computed_again():
    assert launched_rows(TWO, 4, "recompute") == [5, 6, 5]
    assert launched_rows(TWO, 4, "lines") == [5, 4, 3]
