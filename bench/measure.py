"""A command in a process of its own: seconds, what it said, the most memory that was its own; and tables of figures."""

from __future__ import annotations

import csv
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

INTERVAL = 0.01  # seconds between two looks


@dataclass(frozen=True)
class Run:
    """
    seconds  wall, from start to end
    peak     bytes, the most anonymous memory that was resident at a look; mapped files are not ours
    error    what it wrote to stderr
    """

    code: int
    seconds: float
    peak: int
    error: str


def tool(name: str, *arguments: str) -> list[str]:
    """The command of a tool (`ge_opt`) of the gecc that this Python has."""
    return [sys.executable, "-m", f"gecc.tools.{name}", *arguments]


def measured(command: Sequence[str], stdout: Path | None = None) -> Run:
    """Runs a command to its end; its output goes to `stdout` or nowhere."""
    with tempfile.TemporaryFile() as error, open(stdout or "/dev/null", "wb") as out:
        start = time.perf_counter()
        process = subprocess.Popen(command, stdout=out, stderr=error)
        peak = 0
        while process.poll() is None:
            peak = max(peak, anonymous(process.pid))
            time.sleep(INTERVAL)
        seconds = time.perf_counter() - start
        error.seek(0)
        return Run(process.returncode, seconds, peak, error.read().decode(errors="replace"))


def anonymous(pid: int) -> int:
    """Bytes of resident anonymous memory of a process; 0 when it is gone."""
    # Not smaps_rollup, which says the same: it walks all pages, and meanwhile the process gets no new ones.
    try:
        text = Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return next((int(line.split()[1]) * 1024 for line in text.splitlines() if line.startswith("RssAnon:")), 0)


def write_rows(rows: Sequence[Any], path: Path) -> None:
    """A table of dataclasses of one kind as CSV; nothing where there is no row."""
    if not rows:
        return
    with path.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, [field.name for field in fields(rows[0])])
        writer.writeheader()
        writer.writerows(asdict(row) for row in rows)
