"""
The brief's GPT-2 of 1.5 billion parameters, at a sequence of 1,024 in fp16: bytes on the device, the batch that fits.

Only shapes count: the weights are splats. A launch's tensors stand for a kernel's, after op fusion; activations without
reuse are all of them, as if each had bytes of its own. Nothing was run on an accelerator.
"""

from collections import Counter
from functools import cache

import pytest
from xdsl.dialects.func import FuncOp

from gecc.dialects.ge.memory import arena_alignment
from gecc.dialects.ge.text import parse_module
from gecc.dialects.ge.types import nbytes
from gecc.driver.registry import default_registry
from gecc.transforms.fusion.op_fusion import OpFusion
from gecc.transforms.memory.ge_bufferize import GeBufferize
from gecc.transforms.memory.memory_reuse import MemoryReuse
from gecc.transforms.report import Report, collecting

LAYERS, WIDTH, HEADS, WORDS, LENGTH = 48, 1600, 25, 50257, 1024
HALF = 2  # bytes of an fp16
TOKENS = LENGTH * WIDTH * HALF
"""Bytes of a layer's input: 3,276,800."""

WEIGHTS = HALF * (
    WORDS * WIDTH  # the table of words, which is also the last product's weight
    + LENGTH * WIDTH
    + LAYERS * (12 * WIDTH * WIDTH + 13 * WIDTH)  # 3 + 1 + 4 + 4 products with biases, two normalisations
    + 2 * WIDTH
)
LOGITS = LENGTH * WORDS * HALF
"""Bytes of the output, a batch of one: the caller's buffer."""


class Text:
    """Lines of a function; each op's result is named by its number."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def op(self, text: str) -> str:
        self.lines.append(f"%v{len(self.lines)} = {text}")
        return f"%v{len(self.lines) - 1}"

    def constant(self, *shape: int) -> str:
        return self.op(f"ge.constant #ge.splat<0.5> : {tensor(*shape)}")

    def numbers(self, *values: int) -> str:
        return self.op(f"ge.constant dense<{list(values)}> : tensor<{len(values)}xi64>")

    def product(self, x: str, rows: int, columns: int, batch: int) -> str:
        before, after, weight = tensor(batch, LENGTH, rows), tensor(batch, LENGTH, columns), tensor(rows, columns)
        y = self.op(f"ge.matmul {x}, {self.constant(rows, columns)} : {before}, {weight} -> {after}")
        return self.op(f"ge.add {y}, {self.constant(columns)} : {after}, {tensor(columns)} -> {after}")

    def normalised(self, x: str, type_: str) -> str:
        one = tensor(WIDTH)
        scale, bias = self.constant(WIDTH), self.constant(WIDTH)
        return self.op(f"ge.layer_normalization {x}, {scale}, {bias} : {type_}, {one}, {one} -> {type_}")


def tensor(*shape: int) -> str:
    return f"tensor<{'x'.join(map(str, shape))}xf16>"


def gpt2_xl(batch: int) -> str:
    t, inner = Text(), WIDTH // HEADS
    whole = tensor(batch, LENGTH, WIDTH)
    heads, turned = tensor(batch, HEADS, LENGTH, inner), tensor(batch, HEADS, inner, LENGTH)
    scores = tensor(batch, HEADS, LENGTH, LENGTH)
    apart, together = t.numbers(batch, LENGTH, HEADS, inner), t.numbers(batch, LENGTH, WIDTH)
    scale = t.op("ge.constant dense<0.125> : tensor<f16>")
    mask = t.constant(1, 1, LENGTH, LENGTH)

    def split(x: str, perm: list[int], type_: str) -> str:
        cut = tensor(batch, LENGTH, HEADS, inner)
        x = t.op(f"ge.reshape {x}, {apart} : {whole}, tensor<4xi64> -> {cut}")
        return t.op(f"ge.transpose {x} perm {perm} : {cut} -> {type_}")

    x = "%x"
    for _ in range(LAYERS):
        y = t.product(t.normalised(x, whole), WIDTH, 3 * WIDTH, batch)
        t.lines.append(
            f"%q{len(t.lines)}, %k{len(t.lines)}, %w{len(t.lines)} = ge.split {y} axis 2 : "
            f"{tensor(batch, LENGTH, 3 * WIDTH)} -> {whole}, {whole}, {whole}"
        )
        at = len(t.lines) - 1
        query, key = split(f"%q{at}", [0, 2, 1, 3], heads), split(f"%k{at}", [0, 2, 3, 1], turned)
        value = split(f"%w{at}", [0, 2, 1, 3], heads)
        y = t.op(f"ge.matmul {query}, {key} : {heads}, {turned} -> {scores}")
        y = t.op(f"ge.mul {y}, {scale} : {scores}, tensor<f16> -> {scores}")
        y = t.op(f"ge.add {y}, {mask} : {scores}, {tensor(1, 1, LENGTH, LENGTH)} -> {scores}")
        y = t.op(f"ge.softmax {y} axis 3 : {scores} -> {scores}")
        y = t.op(f"ge.matmul {y}, {value} : {scores}, {heads} -> {heads}")
        y = t.op(f"ge.transpose {y} perm [0, 2, 1, 3] : {heads} -> {tensor(batch, LENGTH, HEADS, inner)}")
        y = t.op(f"ge.reshape {y}, {together} : {tensor(batch, LENGTH, HEADS, inner)}, tensor<3xi64> -> {whole}")
        x = t.op(f"ge.add {t.product(y, WIDTH, WIDTH, batch)}, {x} : {whole}, {whole} -> {whole}")
        y = t.product(t.normalised(x, whole), WIDTH, 4 * WIDTH, batch)
        wide = tensor(batch, LENGTH, 4 * WIDTH)
        y = t.product(t.op(f'ge.gelu {y} approximate "tanh" : {wide} -> {wide}'), 4 * WIDTH, WIDTH, batch)
        x = t.op(f"ge.add {y}, {x} : {whole}, {whole} -> {whole}")
    x, table = t.normalised(x, whole), t.constant(WIDTH, WORDS)
    logits = tensor(batch, LENGTH, WORDS)
    x = t.op(f"ge.matmul {x}, {table} : {whole}, {tensor(WIDTH, WORDS)} -> {logits}")
    body = "\n".join(t.lines)
    return f"func.func @main(%x: {whole}) -> {logits} {{\n{body}\nfunc.return {x} : {logits}\n}}"


@cache
def planned(batch: int) -> tuple[int, int, int]:
    """Bytes of all activations, each with its own; of the arena; that no arena can be smaller than."""
    context = default_registry(pytest.fail).context()
    module, report = parse_module(context, gpt2_xl(batch), "gpt2-xl"), Report()
    for one in (OpFusion(), GeBufferize()):
        one.apply(context, module)
    with collecting(report):
        MemoryReuse(alignment=32).apply(context, module)
    [function] = [op for op in module.body.block.ops if isinstance(op, FuncOp)]
    assert arena_alignment(function.body.block.args[-1]) == 32
    counts: Counter[str] = report.counts
    assert counts["arena bytes"] == nbytes(function.body.block.args[-1].type)
    return counts["tensor bytes"], counts["arena bytes"], counts["lower bound bytes"]


def device(batch: int, activations: int) -> int:
    return WEIGHTS + batch * LOGITS + activations


def test_activations():
    # A layer, in inputs of 3,276,800 B: normalised 1, query, key and value 3, attention 1, projected and added 1;
    # normalised 1, widened 4, narrowed and added 1: 12 of them, 48 times.
    # Alive at once at most: what goes around the feed-forward block 1, its normalised input 1, the widened 4.
    alone, arena, bound = planned(1)
    assert alone == LAYERS * 12 * TOKENS == 1_887_436_800
    assert arena == bound == 6 * TOKENS == 19_660_800


def test_device_bytes_in_all():
    # 3,115,222,400 B of weights, 102,926,336 of logits, 1,887,436,800 of activations without reuse: 5,105,585,536;
    # 19,660,800 with it: 3,237,809,536, 36.6 % less. The brief: 4,862 MB and 3,157 MB, 35.1 % less.
    alone, arena, _ = planned(1)
    assert device(1, alone) == 5_105_585_536
    assert device(1, arena) == 3_237_809_536
    assert 1 - device(1, arena) / device(1, alone) >= 0.351


def test_the_batch_that_fits():
    # What holds a batch of 8 without reuse: 3,115,222,400 + 8 x 1,990,363,136 = 19,038,127,488 B. With reuse a sample
    # takes 102,926,336 + 19,660,800 B: 129 of them fit. The brief: 8 and 13.
    memory = device(8, planned(8)[0])
    assert memory == 19_038_127_488
    arena = planned(129)[1]
    assert arena == 129 * 6 * TOKENS
    assert device(129, arena) <= memory < device(130, 130 * 6 * TOKENS)
