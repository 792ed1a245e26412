"""The README's text of the IR is what the tool prints, and what CI runs is its test command."""

import re
import subprocess
import sys
from pathlib import Path

TOP = Path(__file__).parents[2]
README = (TOP / "README.md").read_text()


def test_ge_opt_prints_what_the_readme_shows():
    [(arguments, shown)] = re.findall(r"^\$ ge-opt (.*)\n(builtin\.module [\s\S]*?)```", README, re.MULTILINE)
    tool = Path(sys.executable).parent / "ge-opt"
    result = subprocess.run([tool, *arguments.split()], cwd=TOP, capture_output=True, text=True, check=True)
    assert result.stdout == shown


def test_there_is_one_command_that_sets_up_and_tests():
    # .ci/run takes it from there.
    commands = [line for line in README.splitlines() if line.startswith("python3 -m venv") and "/pytest" in line]
    assert len(commands) == 1
