"""ge-opt as it is typed: what goes to stdout, what to stderr, and the exit code."""

import io
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, ModuleOp, StringAttr
from xdsl.dialects.test import Test
from xdsl.passes import ModulePass

from gecc.driver.registry import Registry, default_registry
from gecc.driver.selftest import TestCrashPass
from gecc.tools import ge_opt

EMPTY = "builtin.module {\n}\n"


@dataclass(frozen=True)
class MarkPass(ModulePass):
    """Writes what it was given behind what stands there."""

    name = "mark"
    note: str = "x"
    weight: float = 1.0

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        before = op.attributes.get("marks", StringAttr(""))
        assert isinstance(before, StringAttr)
        op.attributes["marks"] = StringAttr(before.data + self.note)


class Result(NamedTuple):
    code: int
    out: str
    err: str


Tool = Callable[..., Result]


@pytest.fixture
def tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Tool:
    """Runs ge-opt in a folder with an empty `a.mlir`, and the pass `mark`."""
    monkeypatch.chdir(tmp_path)
    Path("a.mlir").write_text(EMPTY)

    def registry(warn: Callable[[str], None]) -> Registry:
        dialects = {"builtin": lambda: Builtin, "test": lambda: Test}
        return Registry({"mark": lambda: MarkPass}, (), dialects, {"test-crash": lambda: TestCrashPass}, warn=warn)

    monkeypatch.setattr(ge_opt, "default_registry", registry)

    def run(*argv: str, stdin: str = "") -> Result:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        code = ge_opt.main(argv)
        return Result(code, *capsys.readouterr())

    return run


def marks(note: str) -> str:
    return f'builtin.module attributes {{marks = "{note}"}} {{\n}}\n'


@pytest.mark.parametrize(
    "argv",
    [
        ["--mark=note=a", "-p", "mark{note=b},mark", "--mark=note=c", "-p", "mark{note=d}", "a.mlir"],
        ["a.mlir", "--mark=note=a", "-pmark{note=b},mark", "--mark=note=c", "-p=mark{note=d}"],
        ["--mark=note=a weight=3", "a.mlir", "-p", "mark{note=b weight=2}", "--mark", "--mark=note=c", "--mark=note=d"],
    ],
)
def test_passes_run_in_the_order_typed(argv: list[str], tool: Tool):
    assert tool(*argv) == (0, marks("abxcd"), "")


@pytest.mark.parametrize("argv", [["--mark"], ["--mark", "-"], ["-", "--mark"]])
def test_without_a_file_it_reads_stdin(argv: list[str], tool: Tool):
    assert tool(*argv, stdin=EMPTY) == (0, marks("x"), "")


def test_without_passes_it_reads_and_prints(tool: Tool):
    assert tool("a.mlir") == (0, EMPTY, "")
    assert tool("a.mlir", "--print-op-generic").out.startswith('"builtin.module"() ({')


def test_parts_are_printed_apart(tool: Tool):
    parts = f"{EMPTY}// -----\n{EMPTY}"
    assert tool("--split-input-file", "--mark", stdin=parts).out == f"{marks('x')}// -----\n{marks('x')}"


def test_output_goes_to_a_file(tool: Tool):
    assert tool("a.mlir", "--mark", "-o", "b.mlir") == (0, "", "")
    assert Path("b.mlir").read_text() == marks("x")


def test_what_is_seen_goes_to_stderr(tool: Tool):
    result = tool("a.mlir", "--mark", "--timing", "--statistics", "--remarks", "--dump-after-each")
    assert result.out == marks("x")
    assert "// ----- mark" in result.err
    assert "in all" in result.err


@pytest.mark.parametrize(
    ("argv", "code", "line"),
    [
        (["--marks"], 2, "ge-opt: error: no pass 'marks'; did you mean 'mark'?"),
        (
            ["--mark=nota=1"],
            2,
            "ge-opt: error: pass 'mark' has no option 'nota'; it has note, weight; did you mean 'note'?",
        ),
        (["--mark=weight=x"], 2, "ge-opt: error: pass 'mark': option 'weight' must be a number, got 'x'"),
        (["-p", "marc"], 2, "ge-opt: error: no pass 'marc'; did you mean 'mark'?"),
        (
            ["--mark", "weight=2", "a.mlir"],
            2,
            'ge-opt: error: one input file at a time, got weight=2 a.mlir; options are written --pass="option=value"',
        ),
        (["-O7"], 2, "ge-opt: error: no optimisation level '7'; it is one of O0, O1, O2, O3"),
        (["-O1", "-O2"], 2, "ge-opt: error: -O is given twice"),
        (["--opset=new", "a.mlir"], 2, "ge-opt: error: --opset must be a whole number, got 'new'"),
        (
            ["--input-shape=3", "a.mlir"],
            2,
            "ge-opt: error: input shape '3' has no name; write name:1,3,224,224 and ; between inputs",
        ),
        (["none.mlir"], 1, "ge-opt: error: none.mlir: no such file or folder"),
        (["."], 1, "ge-opt: error: .: is a folder, not a file"),
        (["a.mlir", "-o", "no/b.mlir"], 1, "ge-opt: error: {here}/no: no such file or folder"),
        (["empty.mlir"], 1, "empty.mlir: is empty"),
        (["bad.mlir"], 1, "bad.mlir:2:26: type expected"),
    ],
)
def test_failures_are_one_line(argv: list[str], code: int, line: str, tool: Tool, tmp_path: Path):
    Path("empty.mlir").write_text("")
    Path("bad.mlir").write_text('\n%0 = "test.op"() : () -> 3\n')
    assert tool(*argv) == (code, "", line.format(here=tmp_path) + "\n")


def test_a_crash_leaves_a_test_in_waiting(tool: Tool):
    result = tool("--crash-reproducer=crash.mlir", "--mark", "--test-crash", "a.mlir")
    assert result.code == 70
    assert result.out == ""
    assert result.err.splitlines() == [
        "ge-opt: internal error in 'test-crash': 'boom'",
        "  reproduce: ge-opt --test-crash crash.mlir            # its first line is a RUN line: a test in waiting",
    ]
    assert Path("crash.mlir").read_text().startswith("// RUN: ge-opt --test-crash %s\n")
    assert tool("--test-crash", "crash.mlir").code == 70


def test_the_crash_of_the_tests_is_not_listed(tool: Tool):
    listed = tool("--list-passes")
    assert listed.code == 0
    assert [line.split()[0] for line in listed.out.splitlines()] == ["mark"]


@pytest.mark.parametrize(("flag", "word"), [("--help", "usage: ge-opt"), ("-h", "usage:"), ("--version", "ge-opt 0.")])
def test_it_tells_about_itself(flag: str, word: str, tool: Tool):
    result = tool(flag)
    assert (result.code, result.err) == (0, "")
    assert result.out.startswith(word)


def test_no_pass_is_called_like_a_flag():
    assert {flag.lstrip("-") for flag in ge_opt.FLAGS} & default_registry(lambda text: None).all_names() == set()


def test_every_flag_is_in_the_help():
    assert [flag for flag in ge_opt.FLAGS if flag not in ge_opt.HELP and flag != "-h"] == []


def test_a_reader_that_leaves_early_is_no_failure():
    text = "".join(f'"test.op"() {{a = "{at:0100}"}} : () -> ()\n' for at in range(3000))
    command = f"{sys.executable} -m gecc.tools.ge_opt | head -1"
    result = subprocess.run(["bash", "-o", "pipefail", "-c", command], input=text, capture_output=True, text=True)
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout == "builtin.module {\n"
