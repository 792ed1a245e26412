"""Runs every tests/filecheck/*.mlir through lit: one start of lit for all, and a proof that each file was run."""

import json
import os
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).parent / "filecheck"


def test_every_file_passes(tmp_path: Path):
    report = tmp_path / "lit.json"
    # `python -m lit.main` does nothing and exits 0.
    lit = [sys.executable, "-c", "from lit.main import main; main()"]
    run = subprocess.run(
        [*lit, "-q", "-o", str(report), f"-j{os.cpu_count() or 1}", str(FOLDER)], capture_output=True, text=True
    )
    assert report.exists(), run.stdout + run.stderr

    tests = json.loads(report.read_text())["tests"]
    failed = [f"{test['name']}: {test['code']}\n{test['output']}" for test in tests if test["code"] != "PASS"]
    assert not failed, "\n".join(failed)
    assert run.returncode == 0, run.stdout + run.stderr

    found = {test["name"].removeprefix("gecc :: ") for test in tests}
    files = (path.relative_to(FOLDER) for path in FOLDER.rglob("*.mlir"))
    assert found == {path.as_posix() for path in files if "Inputs" not in path.parts}
    assert found, "lit ran nothing"
