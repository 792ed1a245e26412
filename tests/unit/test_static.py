"""ruff and basedpyright run with the tests, so that a green run means clean code."""

import json
import subprocess
import sys
import tomllib
from pathlib import Path

TOP = Path(__file__).parents[2]


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", *arguments], cwd=TOP, capture_output=True, text=True)


def test_ruff_check():
    result = run("ruff", "check", "--no-cache", "--output-format=concise")
    assert result.returncode == 0, result.stdout + result.stderr


def test_ruff_format():
    result = run("ruff", "format", "--no-cache", "--check")
    assert result.returncode == 0, result.stdout + result.stderr


def test_basedpyright_strict():
    # The interpreter is named, so that an inactive environment's packages are found.
    result = run("basedpyright", "--outputjson", "--pythonpath", sys.executable)
    report = json.loads(result.stdout)
    errors = [
        f"{item['file']}:{item['range']['start']['line'] + 1}: {item['message']}"
        for item in report["generalDiagnostics"]
        if item["severity"] == "error"
    ]
    assert not errors, "\n".join(errors)
    # A green run over nothing: links below an include root are not walked.
    included = tomllib.loads((TOP / "pyproject.toml").read_text())["tool"]["basedpyright"]["include"]
    files = sum(1 for folder in included for _ in (TOP / folder).resolve().rglob("*.py"))
    assert report["summary"]["filesAnalyzed"] == files > 0
