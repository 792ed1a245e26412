"""What can be seen of a run, and the file that repeats a crash."""

from dataclasses import dataclass
from pathlib import Path

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.passes import ModulePass

from gecc.driver.diagnostics import PassCrash, complain
from gecc.driver.files import load_module
from gecc.driver.instrument import Dumps, Ledger, Progress, run_or_tell
from gecc.driver.pipeline import run
from gecc.driver.selftest import TestCrashPass
from gecc.transforms.report import count, missed, progress


@dataclass(frozen=True)
class MarkPass(ModulePass):
    """Leaves an attribute, a count and a remark."""

    name = "mark"
    note: str = "x"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        op.attributes["mark"] = StringAttr(self.note)
        count("marked")
        missed(op, "not marked twice")


def test_a_ledger_adds_up_by_pass():
    ledger = Ledger(nodes=True)
    run(Context(), ModuleOp([]), [MarkPass(), MarkPass("y")], [ledger])
    assert list(ledger.statistics()) == ["         2  mark: marked"]
    assert len(ledger.remarks) == 1, "a remark is told once"
    mark, total = ledger.timing()
    assert mark.endswith("mark  (2 runs)")
    assert total.endswith("100.0%  in all")


def test_dumps_are_numbered_in_order(tmp_path: Path):
    run(Context(), ModuleOp([]), [MarkPass(), MarkPass("y")], [Dumps(tmp_path / "dumps")])
    files = sorted((tmp_path / "dumps").iterdir())
    assert [file.name for file in files] == ["00-input.mlir", "01-mark.mlir", "02-mark.mlir"]
    assert ['mark = "y"' in file.read_text() for file in files] == [False, False, True]


def test_dumps_without_a_folder_go_to_stderr(capsys: pytest.CaptureFixture[str]):
    run(Context(), ModuleOp([]), [MarkPass()], [Dumps(None)])
    out, err = capsys.readouterr()
    assert out == ""
    assert [line for line in err.splitlines() if line.startswith("//")] == ["// ----- input", "// ----- mark"]


@dataclass(frozen=True)
class LongPass(ModulePass):
    """Says how far it is."""

    name = "long"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        progress(0.25, "3 plans")


@pytest.mark.parametrize("names", [True, False])
def test_a_long_pass_has_a_bar(names: bool):
    shown: list[str] = []
    run(Context(), ModuleOp([]), [MarkPass(), LongPass()], [Progress(shown.append, names)])
    bar = f"long {'━' * 6}{'╌' * 18}  25%  3 plans"
    assert shown == (["mark", "long", bar] if names else [bar])


def crash(path: Path | None, *before: ModulePass) -> PassCrash:
    module = ModuleOp([])
    with pytest.raises(PassCrash) as error:
        run_or_tell(Context(), module, [*before, TestCrashPass()], lambda: ModuleOp([]), reproducer=path)
    return error.value


def test_a_reproducer_starts_where_the_crashing_pass_did(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "crash.mlir"
    error = crash(path, MarkPass())

    first, *_ = path.read_text().splitlines()
    assert first == "// RUN: ge-opt --test-crash %s"
    assert load_module(path).attributes == {"mark": StringAttr("x")}

    assert complain("ge-opt", error) == 70
    told, reproduce = capsys.readouterr().err.splitlines()
    assert told == "ge-opt: internal error in 'test-crash': 'boom'"
    assert reproduce.split("#")[0].split() == ["reproduce:", "ge-opt", "--test-crash", str(path)]
    assert reproduce.endswith("# its first line is a RUN line: a test in waiting")


def test_the_traceback_is_in_the_file_not_on_the_screen(tmp_path: Path):
    path = tmp_path / "crash.mlir"
    crash(path)
    lines = path.read_text().splitlines()
    assert "// RuntimeError: boom" in lines


class Fickle(MarkPass):
    """Works the first time only."""

    done: list[int] = []

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        self.done.append(1)
        if len(self.done) > 1:
            raise RuntimeError("not again")


def test_where_the_way_there_cannot_be_repeated_it_starts_at_the_input(tmp_path: Path):
    path = tmp_path / "crash.mlir"
    crash(path, Fickle("two words"))
    assert path.read_text().splitlines()[0] == """// RUN: ge-opt --mark='note="two words"' --test-crash %s"""


def test_without_a_name_it_goes_to_the_temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    error = crash(None)
    assert error.reproducer is not None
    assert error.reproducer.parent == tmp_path
    assert error.reproducer.name.startswith("ge-opt-crash-")


def test_a_crash_is_told_even_where_no_file_can_be_written():
    error = crash(Path("/no/such/folder/crash.mlir"))
    assert error.reproducer is None
