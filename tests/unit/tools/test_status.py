"""What is shown of a tool's work: on a terminal a line that goes away, in a pipe nothing."""

import sys

import pytest

from gecc.tools.status import status


def test_in_a_pipe_nothing_is_shown(capsys: pytest.CaptureFixture[str]):
    with status() as show:
        show("reading")
    assert capsys.readouterr() == ("", "")


def test_on_a_terminal_the_last_word_is_shown(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("FORCE_COLOR", "1")
    with status() as show:
        show("reading")
    assert "reading" in capsys.readouterr().err


def test_on_a_terminal_silence_stays_silence(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with status():
        pass
    assert capsys.readouterr() == ("", "")
