"""Each failure is one line and the right exit code."""

import errno

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin
from xdsl.parser import Parser
from xdsl.utils.exceptions import ParseError, PassFailedException, VerifyException

from gecc.dialects.ge.errors import InputError, UsageError
from gecc.driver.diagnostics import complain, did_you_mean, guarded


def parse_error() -> ParseError:
    context = Context()
    context.load_dialect(Builtin)
    with pytest.raises(ParseError) as error:
        Parser(context, "\n  %x = nonsense", "x.mlir").parse_module()
    return error.value


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (UsageError("no pass 'x'"), 2, "ge-opt: error: no pass 'x'"),
        (InputError("is empty", file="m.onnx"), 1, "m.onnx: is empty"),
        (InputError("must hold", file="m.onnx", node="Relu_1"), 1, 'm.onnx: node "Relu_1": must hold'),
        (InputError("no such input 'x'"), 1, "ge-opt: error: no such input 'x'"),
        (VerifyException("'ge.relu' no\n  (C1)"), 1, "ge-opt: error: 'ge.relu' no (C1)"),
        (PassFailedException("cannot lower"), 1, "ge-opt: error: cannot lower"),
        (parse_error(), 1, "x.mlir:2:8: Operation builtin.unregistered is not registered"),
        (FileNotFoundError(errno.ENOENT, "No such file", "a.mlir"), 1, "ge-opt: error: a.mlir: no such file or folder"),
        (IsADirectoryError(errno.EISDIR, "Is", "a"), 1, "ge-opt: error: a: is a folder, not a file"),
        (
            OSError(errno.ENOSPC, "No space", "a"),
            1,
            "ge-opt: error: a: no space left on the disk; nothing was written",
        ),
        (PermissionError(errno.EACCES, "Permission denied", "a"), 1, "ge-opt: error: a: Permission denied"),
        (MemoryError(), 70, "ge-opt: internal error: MemoryError: out of memory"),
        (RecursionError("deep"), 70, "ge-opt: internal error: RecursionError: nested too deeply"),
        (AssertionError(), 70, "ge-opt: internal error: AssertionError: AssertionError"),
        (KeyError("x"), 70, "ge-opt: internal error: KeyError: no such key: 'x'"),
    ],
)
def test_one_line_and_a_code(error: Exception, code: int, line: str, capsys: pytest.CaptureFixture[str]):
    assert complain("ge-opt", error) == code
    out, err = capsys.readouterr()
    assert out == ""
    if not isinstance(error, ParseError):
        assert err == line + "\n"
    else:
        assert err.startswith("x.mlir:2:")
        assert err.count("\n") == 1


def test_an_interrupt_is_quiet(capsys: pytest.CaptureFixture[str]):
    def interrupted() -> int:
        raise KeyboardInterrupt

    assert guarded("ge-opt", interrupted) == 130
    assert capsys.readouterr() == ("", "")


def test_nothing_near_suggests_nothing():
    assert did_you_mean("zzz", ["prune", "identity"]) == ""
    assert did_you_mean("prun", ["prune", "identity"]) == "; did you mean 'prune'?"
