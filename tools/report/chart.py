"""
A report in a file, by its suffix. Drawings are Vega-Lite: one specification gives the page, the vectors and the pixels.

A page holds its scripts: it opens without a network.
"""

from __future__ import annotations

import csv
import importlib
from pathlib import Path

from ...dialects.ge.errors import UsageError
from ...driver.files import check_writable, replacing
from .base import Report

SUFFIXES = (".html", ".svg", ".png", ".csv")
PIXELS = 2.0
"""Of a .png, for each of the drawing's own."""


def check_output(path: str) -> None:
    """Raises UsageError or OSError where a report could not be written to `path`: before the work, not after it."""
    suffix = Path(path).suffix.lower()
    if suffix not in SUFFIXES:
        raise UsageError(f"-o {path}: a report is one of {', '.join(SUFFIXES)}")
    check_writable(path)
    if suffix != ".csv":
        try:
            for name in ("altair", "vl_convert"):
                importlib.import_module(name)
        except ImportError:
            raise UsageError(f"a {suffix} report needs Altair: pip install 'gecc[report]'") from None


def write(report: Report, path: str) -> None:
    """raises  OSError"""
    suffix = Path(path).suffix.lower()
    with replacing(path) as fresh:
        if suffix == ".csv":
            with fresh.open("w", encoding="utf-8", newline="") as stream:
                writer = csv.DictWriter(stream, list(report.rows[0]) if report.rows else [])
                writer.writeheader()
                writer.writerows(report.rows)
        elif suffix == ".html":
            report.draw().save(str(fresh), format="html", inline=True)
        else:
            report.draw().save(str(fresh), format=suffix[1:], scale_factor=PIXELS if suffix == ".png" else 1)
