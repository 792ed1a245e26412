"""ResNet-50's bottleneck, 1x1, 3x3, 1x1, batch normalisations and a residual, fp16, in 32 MiB: where a group pays."""

import functools
from typing import cast

import pytest
from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr

from gecc.dialects.ge.bodies import FusionOp
from gecc.dialects.ge.text import parse_module
from gecc.driver.phases import plan
from gecc.driver.pipeline import run
from gecc.driver.registry import default_registry
from gecc.transforms.l2.l2_fusion import L2Fusion
from gecc.transforms.rewriting import functions

REGISTRY = default_registry(pytest.fail)
CONTEXT = REGISTRY.context()
ACCELERATORS = ("hints", "plain")
"""Where a write that misses reads nothing. One that does gains by smaller buffers, in a group, even where all fits."""


def bottleneck(batch: int, side: int, wide: int, thin: int) -> str:
    x, a = (f"tensor<{batch}x{c}x{side}x{side}xf16>" for c in (wide, thin))

    def normal(k: int, channels: int, image: str) -> str:
        of = f"tensor<{channels}xf16>"
        return f"""
      %s{k} = ge.constant #ge.splat<0.5> : {of}
      %n{k} = ge.batch_normalization %c{k}, %s{k}, %s{k}, %s{k}, %s{k} : {image}, {of}, {of}, {of}, {of} -> {image}"""

    w1, w2, w3 = f"tensor<{thin}x{wide}x1x1xf16>", f"tensor<{thin}x{thin}x3x3xf16>", f"tensor<{wide}x{thin}x1x1xf16>"
    return f"""
    func.func @main(%x: {x}) -> {x} {{
      %w1 = ge.constant #ge.splat<0.5> : {w1}
      %w2 = ge.constant #ge.splat<0.5> : {w2}
      %w3 = ge.constant #ge.splat<0.5> : {w3}
      %c1 = ge.conv %x, %w1 : {x}, {w1} -> {a}{normal(1, thin, a)}
      %r1 = ge.relu %n1 : {a} -> {a}
      %c2 = ge.conv %r1, %w2 pads [1, 1, 1, 1] : {a}, {w2} -> {a}{normal(2, thin, a)}
      %r2 = ge.relu %n2 : {a} -> {a}
      %c3 = ge.conv %r2, %w3 : {a}, {w3} -> {x}{normal(3, wide, x)}
      %sum = ge.add %n3, %x : {x}, {x} -> {x}
      %r3 = ge.relu %sum : {x} -> {x}
      func.return %r3 : {x}
    }}"""


@functools.cache
def fused(cache: str, batch: int, side: int, wide: int, thin: int) -> tuple[list[FusionOp], int, int]:
    """The groups behind op fusion, and bytes without and with them."""
    module = parse_module(CONTEXT, bottleneck(batch, side, wide, thin), "bottleneck.mlir")
    run(CONTEXT, module, plan(REGISTRY))
    L2Fusion(l2_size=32, cache=cache).apply(CONTEXT, module)
    [function] = functions(module)
    groups = [op for op in function.body.block.ops if isinstance(op, FusionOp) and op.tiling is not None]
    said = cast("DictionaryAttr", function.attributes["ge.l2_traffic"]).data
    before, after = (cast("IntegerAttr", said[f"judge_{when}"]).value.data for when in ("before", "after"))
    return groups, before, after


@pytest.mark.parametrize("cache", [*ACCELERATORS, "write-allocate"])
def test_of_56_at_batch_32_it_is_one_group_of_samples(cache: str):
    [group], before, after = fused(cache, 32, 56, 256, 64)
    assert group.tiling is not None
    [[(axis, samples)]] = group.tiling.cuts
    assert axis == 0
    assert 1 <= samples <= 6
    assert len([op for op in group.body.block.ops if isinstance(op, FusionOp)]) == 3
    # The image in and out, 32 * 256 * 56 * 56 * 2 bytes each; a cache that allocates on writes reads the result, too.
    assert after == pytest.approx((3 if cache == "write-allocate" else 2) * 51380224, rel=0.03)
    assert before > 1.7 * after


def test_by_hints_it_is_198_megabytes_without():
    assert fused("hints", 32, 56, 256, 64)[1] == pytest.approx(198e6, rel=0.02)


@pytest.mark.parametrize("batch", [1, 8])
@pytest.mark.parametrize("cache", ACCELERATORS)
def test_at_a_small_batch_there_is_no_group(cache: str, batch: int):
    groups, before, after = fused(cache, batch, 56, 256, 64)
    assert groups == []
    assert before == after


@pytest.mark.parametrize("batch", [1, 8, 32])
@pytest.mark.parametrize("cache", ACCELERATORS)
def test_of_7_there_is_never_a_group(cache: str, batch: int):
    assert fused(cache, batch, 7, 2048, 512)[0] == []
