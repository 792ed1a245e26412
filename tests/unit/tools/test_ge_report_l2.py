"""ge-report --l2: traffic by op without and with groups, as files and as lines."""

import csv
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from gecc.tools import ge_report

IMAGE = "tensor<32x64x32x32xf32>"
WEIGHT = "tensor<64x64x1x1xf32>"
# 8 MiB a tensor; a chain with a skip. In a cache of 8 MiB each op by itself reads and writes memory.
BLOCK = f"""
func.func @main(%x: {IMAGE}, %w1: {WEIGHT}, %w2: {WEIGHT}) -> {IMAGE} {{
  %1 = ge.conv %x, %w1 : {IMAGE}, {WEIGHT} -> {IMAGE} onnx "first"
  %2 = ge.relu %1 : {IMAGE} -> {IMAGE} onnx "second"
  %3 = ge.conv %2, %w2 : {IMAGE}, {WEIGHT} -> {IMAGE} onnx "third"
  %4 = ge.add %3, %1 : {IMAGE}, {IMAGE} -> {IMAGE} onnx "fourth"
  func.return %4 : {IMAGE}
}}
"""

Tool = Callable[..., tuple[int, str, str]]


@pytest.fixture
def tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Tool:
    monkeypatch.chdir(tmp_path)
    Path("block.mlir").write_text(BLOCK)

    def run(*words: str) -> tuple[int, str, str]:
        code = ge_report.main(["--l2", *words])
        return code, *capsys.readouterr()

    return run


def table(path: str) -> list[dict[str, str]]:
    with Path(path).open(newline="") as stream:
        return list(csv.DictReader(stream))


def test_each_op_has_its_traffic_without_and_with_groups(tool: Tool):
    code, said, _ = tool("block.mlir", "--l2-options=l2-size=8 cache=hints", "-o", "l2.csv")
    assert code == 0
    rows = table("l2.csv")
    assert [row["op"] for row in rows] == ["conv first", "relu second", "conv third", "add fourth"]
    assert [row["group"] for row in rows] == ["1"] * 4
    before, after = (
        sum(int(row[f"modelled_{way}_{when}"]) for row in rows for way in ("read", "written"))
        for when in ("before", "after")
    )
    assert f"{before:,} bytes from and to memory without groups, {after:,} with 1" in said
    # With the group the image is read once, the result written once; weights of 16 KiB each.
    assert after == 2 * (8 << 20) + 2 * (16 << 10)
    assert before > 1.5 * after


def test_where_all_fits_no_group_pays(tool: Tool):
    code, said, _ = tool("block.mlir", "--l2-options=l2-size=192", "-o", "l2.csv")
    assert code == 0
    assert "with 0: no group pays" in said
    assert all(row["modelled_read_before"] == row["modelled_read_after"] for row in table("l2.csv"))


def test_lines_say_that_figures_are_modelled(tool: Tool):
    _, said, _ = tool("block.mlir", "--l2-options=l2-size=8", "-o", "l2.csv")
    first, second, third, *_ = said.splitlines()
    assert first.startswith("block.mlir: 4 ops, modelled for brief-910b, L2 of 8 MiB, cache plain: ")
    assert re.fullmatch(r"  [\d,]+ -> [\d,]+ us, modelled: [\d.]+% less", second)
    assert third.startswith("  group 1: 4 ops, ")


@pytest.mark.parametrize(("suffix", "begin"), [("html", b"<!"), ("svg", b"<svg"), ("png", b"\x89PNG")])
def test_each_suffix_is_a_format(tool: Tool, suffix: str, begin: bytes):
    assert tool("block.mlir", "--l2-options=l2-size=8", "-o", f"l2.{suffix}")[0] == 0
    assert Path(f"l2.{suffix}").read_bytes().lstrip().startswith(begin)


def test_a_drawing_says_that_figures_are_modelled(tool: Tool):
    tool("block.mlir", "--l2-options=l2-size=8", "-o", "l2.svg")
    text = Path("l2.svg").read_text()
    assert "All figures are modelled" in text
    for part in ("Program", "Traffic by op", "Roofline"):
        assert f">{part}<" in text


def test_without_the_machines_figures_there_is_no_roofline(tool: Tool):
    tool("block.mlir", "--l2-options=l2-size=8 target=ascend950pr-9579", "-o", "l2.svg")
    assert ">Roofline<" not in Path("l2.svg").read_text()


def test_groups_in_the_text_are_taken_as_they_are(tool: Tool, capsys: pytest.CaptureFixture[str]):
    from gecc.tools import ge_opt

    ge_opt.main(["--l2-fusion=l2-size=8 cache=hints", "block.mlir"])
    Path("grouped.mlir").write_text(capsys.readouterr().out)
    tool("block.mlir", "--l2-options=l2-size=8 cache=hints", "-o", "a.csv")
    tool("grouped.mlir", "--l2-options=l2-size=8 cache=hints", "-o", "b.csv")
    assert table("a.csv") == table("b.csv")


# What a pass merged has no name of its own, and of a constant that several read there is one name for all.
NAMELESS = f"""
func.func @main(%x: {IMAGE}) -> ({IMAGE}, {IMAGE}) {{
  %two = ge.constant #ge.splat<2.0> : tensor<f32>
  %1 = ge.fusion "Twice" (%a = %x : {IMAGE}) -> ({IMAGE}) {{
    %c = ge.constant #ge.splat<2.0> : tensor<f32> onnx "somebody's constant"
    %m = ge.mul %a, %c : {IMAGE}, tensor<f32> -> {IMAGE} onnx "mine"
    ge.yield %m : {IMAGE}
  }}
  %2 = ge.mul %1, %two : {IMAGE}, tensor<f32> -> {IMAGE}
  %3 = ge.exp %1 : {IMAGE} -> {IMAGE} onnx "" ["named by its output"]
  func.return %2, %3 : {IMAGE}, {IMAGE}
}}
"""


def test_an_op_is_told_by_its_own_name_or_its_number(tool: Tool):
    Path("nameless.mlir").write_text(NAMELESS)
    assert tool("nameless.mlir", "-o", "l2.csv")[0] == 0
    assert [row["op"] for row in table("l2.csv")] == ["Twice mine", "mul, op 1", "exp named by its output"]


def test_a_terminal_lists_some_of_many_groups(tool: Tool):
    # Each print parts two groups.
    pairs = "".join(
        f"""
  %a{k} = ge.exp %r{k} : {IMAGE} -> {IMAGE}
  %b{k} = ge.relu %a{k} : {IMAGE} -> {IMAGE}
  %r{k + 1} = ge.opaque "Print" domain "acme" version 1 (%b{k}) : ({IMAGE}) -> ({IMAGE})"""
        for k in range(22)
    )
    Path("many.mlir").write_text(
        f"func.func @main(%r0: {IMAGE}) -> {IMAGE} {{{pairs}\n  func.return %r22 : {IMAGE}\n}}"
    )
    code, said, _ = tool("many.mlir", "--l2-options=l2-size=4", "-o", "l2.csv")
    assert code == 0
    assert "\n  group 20: 2 ops" in said
    assert "group 21" not in said
    assert "\n  and 2 groups more\n" in said
    assert {row["group"] for row in table("l2.csv")} >= {"21", "22"}


def test_of_several_functions_the_first_is_shown_and_said(tool: Tool):
    Path("two.mlir").write_text(BLOCK + BLOCK.replace("@main", "@other"))
    assert tool("two.mlir", "-o", "l2.csv")[1].startswith("two.mlir, @main, the first of 2 functions: 4 ops, ")


def test_on_buffers_there_is_nothing_to_judge(tool: Tool):
    Path("hand.mlir").write_text("func.func @main(%x: memref<4xf32>) {\n  func.return\n}")
    words = "ge-report: error: @main is on buffers; L2 is judged from what it was before ge-bufferize\n"
    assert tool("hand.mlir", "-o", "l2.csv") == (1, "", words)


def test_a_band_covers_the_same_ops_in_both_panels(tool: Tool):
    tool("block.mlir", "--l2-options=l2-size=8", "-o", "l2.svg")
    found = re.findall(
        r'aria-label="at: [^"]*group: 7 tiles[^"]*"[^>]* d="M([\d.]+),0h([\d.]+)v', Path("l2.svg").read_text()
    )
    assert len(found) == 2
    assert found[0] == found[1]


def test_what_l2_fusion_does_not_know_is_one_line(tool: Tool):
    assert tool("block.mlir", "--l2-options=l2_siez=8", "-o", "l2.csv")[::2] == (
        2,
        "ge-report: error: pass 'l2-fusion' has no option 'l2-siez'; it has l2-size, target, cache, fusion-threshold, "
        "l2-occupancy, blacklist, page, tune, tune-seconds, tune-trials, tune-seed, tuning; did you mean 'l2-size'?\n",
    )
