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


def test_what_l2_fusion_does_not_know_is_one_line(tool: Tool):
    assert tool("block.mlir", "--l2-options=l2_siez=8", "-o", "l2.csv")[::2] == (
        2,
        "ge-report: error: pass 'l2-fusion' has no option 'l2-siez'; it has l2-size, target, cache, fusion-threshold, "
        "l2-occupancy, blacklist, page, tune, tune-seconds, tune-trials, tune-seed, tuning; did you mean 'l2-size'?\n",
    )
