"""Groups that are cut into tiles by hand, run on buffers and compared with layer by layer."""

from math import prod

import numpy as np

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


def grouped(text, cuts, halo):
    """The module with all of its ops in one group that is cut so: (axis, size) of each loop, the outermost first."""
    module = parsed(text)
    (function,) = functions(module)
    last = function.body.block.last_op
    ops = [op for op in function.body.block.ops if op is not last and not isinstance(op, ConstantOp)]
    group = fuse(ops, "L2")
    shape = group.outs[0].type.get_shape()
    tiles = prod(-(-shape[axis] // size) for axis, size in cuts)
    figures = {"weights": "resident", "working_set": 0, "bytes_before": 0, "bytes_after": 0, "hit_share": 1.0}
    group.properties["tiling"] = L2TilingAttr.of(
        [[a for a, _ in cuts]], [[n for _, n in cuts]], tiles, halo=halo, **figures
    )
    module.verify()
    return module


def small_integers(module):
    return {name: np.round(2 * x) for name, x in make_inputs(module).items()}


def lowered(module):
    for one in (GeBufferize(), MemoryReuse()):
        one.apply(CONTEXT, module)
        module = parsed(module_text(module))
    return module


def check(text, cuts, halo):
    """Whether the group ran in tiles; what it gives is checked either way."""
    module = lowered(grouped(text, cuts, halo))
    inputs = small_integers(module)
    want, got = run(parsed(text), inputs), run(module, inputs)
    for name, array in want.items():
        np.testing.assert_array_equal(got[name], array)
    return any(op.name == "memref.subview" for op in module.walk())


def program(rows, *layers, batch=1):
    """A function of convolutions (kernel, stride, pad) and other ops in a row, 5 wide."""
    shape, lines, weights, value = (batch, CHANNELS, rows, 5), [], [], "%x"
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
            shape = (batch, CHANNELS, (shape[2] + 2 * pad - kernel) // stride + 1, shape[3])
            after = "x".join(map(str, shape))
            weight = f"tensor<{CHANNELS}x{CHANNELS}x{kernel}x1xf32>"
            weights.append(f'%w{k}: {weight} {{onnx.name = "w{k}"}}')
            lines.append(
                f"%v{k} = ge.conv {value}, %w{k} strides [{stride}, 1] pads [{pad}, 0, {pad}, 0] : "
                f"tensor<{before}xf32>, {weight} -> tensor<{after}xf32>"
            )
        value = f"%v{k}"
    start = f'%x: tensor<{batch}x{CHANNELS}x{rows}x5xf32> {{onnx.name = "x"}}'
    end, body = f"tensor<{'x'.join(map(str, shape))}xf32>", "\n  ".join(lines)
    result = f'{end} {{onnx.name = "y"}}'
    return f"""
        func.func @main({", ".join([start, *weights])}) -> ({result}) {{
          {body}
          func.return {value} : {end}
        }}"""
