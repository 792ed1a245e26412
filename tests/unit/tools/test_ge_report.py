"""ge-report: its command line, and the files that it writes."""

import csv
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from gecc.tools import ge_report
from gecc.tools.report import memory
from gecc.tools.report.memory_chart import OTHER

MODEL = Path(__file__).parents[3] / "examples" / "tiny_mobilevit.onnx"
T = "tensor<4x4xf32>"
SHAPE = "--input-shape=image:1,3,64,64"


class Result(NamedTuple):
    code: int
    out: str
    err: str


Tool = Callable[..., Result]


@pytest.fixture
def tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Tool:
    monkeypatch.chdir(tmp_path)

    def run(*words: str | Path) -> Result:
        code = ge_report.main([str(word) for word in words])
        out, err = capsys.readouterr()
        return Result(code, out, err)

    return run


@pytest.mark.parametrize(("suffix", "begin"), [("html", b"<!"), ("svg", b"<svg"), ("png", b"\x89PNG"), ("csv", b"st")])
def test_each_suffix_is_a_format(tool: Tool, tmp_path: Path, suffix: str, begin: bytes):
    out = tmp_path / f"memory.{suffix}"
    assert tool("--memory", MODEL, SHAPE, "--strategy=none,balanced", "-o", out).code == 0
    assert out.read_bytes().lstrip().startswith(begin)


def test_a_page_opens_without_a_network(tool: Tool, tmp_path: Path):
    tool("--memory", MODEL, SHAPE, "--strategy=balanced", "-o", "memory.html")
    page = (tmp_path / "memory.html").read_text()
    assert "<script src=" not in page
    assert "import(" not in page


def test_the_table_has_a_row_a_tensor_and_strategy(tool: Tool, tmp_path: Path):
    tool("--memory", MODEL, SHAPE, "-o", "memory.csv")
    with (tmp_path / "memory.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert list(dict.fromkeys(row["strategy"] for row in rows)) == list(memory.STRATEGIES)
    assert all(int(row["offset"]) + int(row["size"]) <= int(row["arena"]) for row in rows)


def test_conservative_has_no_views_and_nothing_in_place(tool: Tool, tmp_path: Path):
    # A product, a relu over it, and a view of that: one slot of 64 B, or three of which two are alive at a time.
    (tmp_path / "m.mlir").write_text(f"""
func.func @main(%x: {T}) -> tensor<2x2xf32> {{
  %s = ge.constant dense<[2, 8]> : tensor<2xi64>
  %a = ge.matmul %x, %x : {T}, {T} -> {T}
  %b = ge.relu %a : {T} -> {T}
  %c = ge.reshape %b, %s : {T}, tensor<2xi64> -> tensor<2x8xf32>
  %y = ge.einsum %c, %c equation "ik,jk->ij" : tensor<2x8xf32>, tensor<2x8xf32> -> tensor<2x2xf32>
  func.return %y : tensor<2x2xf32>
}}""")
    tool("--memory", "m.mlir", "--strategy=none,conservative,balanced", "-o", "memory.csv")
    with (tmp_path / "memory.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    of = {name: [row for row in rows if row["strategy"] == name] for name in ("none", "conservative", "balanced")}
    assert {name: (len(r), int(r[0]["arena"])) for name, r in of.items()} == {
        "none": (3, 192),
        "conservative": (3, 128),
        "balanced": (1, 64),
    }


def test_a_plan_in_the_text_is_drawn_as_it_stands(tool: Tool, tmp_path: Path):
    # [0, 2) 64 B at 0 and [1, 3) 64 B at 192: 128 idle bytes between them at the peak.
    text = """
func.func @main(%x: memref<16xf32>, %y: memref<16xf32> {ge.result}, %arena: memref<256xi8> {ge.arena}) {
  %a = ge.slot %arena[0] life [0, 2) : memref<256xi8> -> memref<16xf32>
  %b = ge.slot %arena[192] life [1, 3) : memref<256xi8> -> memref<16xf32>
  ge.launch ins(%x : memref<16xf32>) outs(%a : memref<16xf32>) {
  ^bb0(%0: tensor<16xf32>):
    %1 = ge.exp %0 : tensor<16xf32> -> tensor<16xf32> onnx "first" ["a"]
    ge.yield %1 : tensor<16xf32>
  }
  ge.launch ins(%a : memref<16xf32>) outs(%b : memref<16xf32>) {
  ^bb0(%0: tensor<16xf32>):
    %1 = ge.tanh %0 : tensor<16xf32> -> tensor<16xf32> onnx "second" ["b"]
    ge.yield %1 : tensor<16xf32>
  }
  ge.launch ins(%b : memref<16xf32>) outs(%y : memref<16xf32>) {
  ^bb0(%0: tensor<16xf32>):
    %1 = ge.exp %0 : tensor<16xf32> -> tensor<16xf32>
    ge.yield %1 : tensor<16xf32>
  }
  func.return
}"""
    (tmp_path / "planned.mlir").write_text(text)
    result = tool("--memory", "planned.mlir", "--strategy=given", "-o", "memory.csv")
    assert result.out.splitlines()[2:] == [
        "given                        256             128  +100.0%     0.00",
        "given: the peak is at step 1, tanh second",
        "  [192, 256)                   steps [1, 3)  b",
        "  [0, 64)                      steps [0, 2)  a",
        "  [64, 192)                    a hole of 128 bytes",
    ]
    with (tmp_path / "memory.csv").open(newline="") as stream:
        first, _ = csv.DictReader(stream)
    assert (first["tensor"], first["made_by"], first["last_read_by"]) == ("a", "exp first", "tanh second")


def test_a_plan_without_a_tensor_is_drawn(tool: Tool, tmp_path: Path):
    (tmp_path / "empty.mlir").write_text(
        "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> { func.return %x : tensor<4xf32> }"
    )
    assert tool("--memory", "empty.mlir", "-o", "memory.svg").code == 0
    assert tool("--memory", "empty.mlir", "-o", "memory.csv").code == 0


def test_a_thousand_tensors_are_a_rectangle_each(tool: Tool, tmp_path: Path):
    ops = "".join(f"  %{k + 1} = ge.matmul %{k}, %w : {T}, {T} -> {T}\n" for k in range(1001))
    text = f"func.func @main(%0: {T}, %w: {T}) -> {T} {{\n{ops}  func.return %1001 : {T}\n}}"
    (tmp_path / "long.mlir").write_text(text)
    assert tool("--memory", "long.mlir", "--strategy=balanced", "-o", "memory.svg").code == 0
    assert (tmp_path / "memory.svg").read_text().count(OTHER) >= 990


def test_buffers_that_are_in_no_arena_have_no_plan(tool: Tool, tmp_path: Path):
    (tmp_path / "hand.mlir").write_text("func.func @main(%x: memref<4xf32>) {\n  func.return\n}")
    words = "ge-report: error: @main is on buffers, but in no arena of ge-bufferize's\n"
    assert tool("--memory", "hand.mlir", "-o", "m.csv") == (1, "", words)


def test_without_the_extra_one_line_says_what_to_install(tmp_path: Path):
    hidden = "import sys; sys.modules['altair'] = None; from gecc.tools.ge_report import main; sys.exit(main())"
    command = [sys.executable, "-c", hidden, "--memory", str(MODEL), "-o", str(tmp_path / "memory.svg")]
    run = subprocess.run(command, capture_output=True, text=True)
    assert (run.returncode, run.stderr) == (
        2,
        "ge-report: error: a .svg report needs Altair: pip install 'gecc[report]'\n",
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["m.onnx", "-o", "m.html"], "one kind of report is needed: --memory or --l2; got none"),
        (["--memory", "-o", "m.html"], "one model is needed, got none; - is stdin"),
        (["--memory", "m.onnx"], "-o FILE is needed: .html, .svg, .png, .csv"),
        (["--memory", "m.onnx", "-o", "m.pdf"], "-o m.pdf: a report is one of .html, .svg, .png, .csv"),
        (["--memory", "m.onnx", "-o", "m.csv", "-p", "prune"], "for others run ge-opt first"),
        (["--memmory", "m.onnx", "-o", "m.csv"], "no flag '--memmory'; did you mean 'memory'?"),
        (["--memory", MODEL, SHAPE, "-o", "m.csv", "--strategy=fast"], "no strategy 'fast'; allowed: none"),
        (["--memory", MODEL, SHAPE, "-o", "m.csv", "--strategy=given"], "not on buffers and holds no plan"),
        (["--memory", MODEL, SHAPE, "-o", "m.csv", "--alignment=48"], "alignment must be a power of two"),
    ],
)
def test_what_means_nothing_is_one_line(tool: Tool, words: list[str | Path], message: str):
    code, out, err = tool(*words)
    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1
