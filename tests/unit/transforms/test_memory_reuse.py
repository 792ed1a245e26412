"""memory-reuse: options, figures, and what conservative takes apart."""

import re
from itertools import pairwise

import pytest
from xdsl.dialects.builtin import ModuleOp

from gecc.dialects.ge.errors import UsageError
from gecc.dialects.ge.text import module_text, parse_module
from gecc.driver.registry import default_registry
from gecc.transforms.memory.memory_reuse import MemoryReuse
from gecc.transforms.report import Report, collecting

CONTEXT = default_registry(lambda text: None).context()

HEAD = (
    "func.func @main(%x: memref<16xf32>, %y: memref<16xf32> {ge.result}, "
    "%arena: memref<64xi8> {ge.arena, ge.alignment = 64 : i64}) {"
)
RELU = (
    "{\n^bb0(%0: tensor<16xf32>):\n%1 = ge.relu %0 : tensor<16xf32> -> tensor<16xf32>\nge.yield %1 : tensor<16xf32>\n}"
)
SLOT = "ge.slot %arena[0] life [0, 1) : memref<64xi8> -> memref<16xf32>"


def copy(source: str, target: str) -> str:
    return f'"memref.copy"(%{source}, %{target}) : (memref<16xf32>, memref<16xf32>) -> ()'


def planned(*lines: str, **options: object) -> tuple[ModuleOp, Report]:
    module, report = parse_module(CONTEXT, "\n".join([HEAD, *lines, "func.return", "}"]), "test"), Report()
    with collecting(report):
        MemoryReuse(**options).apply(CONTEXT, module)
    module.verify()
    return module, report


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"alignment": 48}, "memory-reuse: alignment must be a power of two of at least 8, got 48"),
        ({"alignment": 4}, "memory-reuse: alignment must be a power of two of at least 8, got 4"),
        ({"max_reuse_ratio": 1.5}, "memory-reuse: max-reuse-ratio must be in 0..1, got 1.5"),
    ],
)
def test_options_out_of_range(options: dict[str, object], message: str):
    with pytest.raises(UsageError, match=re.escape(message)):
        planned(**options)


def test_figures():
    # %a [0, 2), %b [1, 3), %c [2, 4): two at a time, three in all, 64 B each
    names = "xabcy"
    lines = [f"%{n} = {SLOT}" for n in "abc"]
    module, report = planned(
        *lines,
        *(f"ge.launch ins(%{a} : memref<16xf32>) outs(%{b} : memref<16xf32>) {RELU}" for a, b in pairwise(names)),
    )
    saved = {"bytes saved by reuse": 64}
    assert report.counts == {"arena bytes": 128, "lower bound bytes": 128, "tensor bytes": 192} | saved
    assert "memref<128xi8>" in module_text(module)


def test_slots_that_no_step_touches_go():
    view = "to offset: [0], sizes: [4, 4], strides: [4, 1] : memref<16xf32> to memref<4x4xf32>"
    module, _ = planned(f"%a = {SLOT}", f"%v = memref.reinterpret_cast %a {view}", copy("x", "y"))
    text = module_text(module)
    assert "ge.slot" not in text
    assert "memref<0xi8>" in text


def test_conservative_copies_back_what_is_seen_through_another_view():
    """%v, taken before the launch, is read after it: it means the new contents, which lie where it looks."""
    lines = [
        f"%a = {SLOT}",
        copy("x", "a"),
        "%v = memref.reinterpret_cast %a to offset: [0], sizes: [16], strides: [1] : memref<16xf32> to memref<16xf32>",
        f"ge.launch ins(%a : memref<16xf32>) outs(%a : memref<16xf32>) {RELU}",
        copy("v", "y"),
    ]
    module, report = planned(*lines, strategy="conservative")
    text = module_text(module)
    assert "ge.launch ins(%a : memref<16xf32>) outs(%a_1 : memref<16xf32>)" in text
    assert text.index('"memref.copy"(%a_1, %a)') < text.index('"memref.copy"(%v, %y)')
    assert report.counts["taken apart"] == 1


def test_a_module_on_tensors_is_left_alone_with_a_remark():
    text = "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> { func.return %x : tensor<4xf32> }"
    module, report = parse_module(CONTEXT, text, "test"), Report()
    before = module_text(module)
    with collecting(report):
        MemoryReuse().apply(CONTEXT, module)
    assert module_text(module) == before
    assert any("ge-bufferize must run first" in remark for remark in report.remarks)


@pytest.mark.parametrize(
    ("options", "size"),
    [
        ({}, 128),
        ({"algorithm": "greedy"}, 128),
        ({"algorithm": "search", "strategy": "conservative"}, 128),
        ({"algorithm": "ge-binary-block"}, 2 * 512),  # GE's blocks are multiples of 512 bytes
        ({"algorithm": "ge-max-block"}, 2 * 512),
    ],
)
def test_algorithms(options: dict[str, object], size: int):
    names = "xabcy"
    _, report = planned(
        *(f"%{n} = {SLOT}" for n in "abc"),
        *(f"ge.launch ins(%{a} : memref<16xf32>) outs(%{b} : memref<16xf32>) {RELU}" for a, b in pairwise(names)),
        **options,
    )
    assert report.counts["arena bytes"] == size
    gap = "func.func takes 1024 bytes, 896 (700.0%) more than any plan is known to need"
    assert list(report.remarks) == ([gap] if size > 128 else [])
