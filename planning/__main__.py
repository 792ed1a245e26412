"""
Packs the buffers of a table into one arena.

    $ python -m gecc.planning buffers.csv -o placed.csv
    size 1039360  bound 1039360  proved  0.06 s

The table has columns id, lower, upper, size: steps [lower, upper), bytes. Others are kept as they are. Exit codes: 0; 1
where the table is wrong, or does not fit `--capacity`; 2 where the command line is.
"""

from __future__ import annotations

import argparse
import csv
import math
import sys
from collections.abc import Sequence
from time import monotonic
from typing import NoReturn

from .arena import align_up
from .packing import pack

COLUMNS = ("id", "lower", "upper", "size")

Row = dict[str, str]


class _WrongTable(Exception):
    """One line: what is wrong with the table, and where."""


def _read(path: str) -> list[Row]:
    try:
        with open(path, encoding="utf-8", newline="") as file:
            reader = csv.DictReader(file, strict=True)
            missing = [name for name in COLUMNS if name not in (reader.fieldnames or ())]
            if missing:
                raise _WrongTable(f"{path}: no column '{missing[0]}'; the first line must name {','.join(COLUMNS)}")
            return list(reader)
    except OSError as error:
        raise _WrongTable(f"{path}: {error.strerror}") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise _WrongTable(f"{path}: is no table: {error}") from error


def _numbers(path: str, line: int, row: Row) -> tuple[int, int, int]:
    """Begin, end and size."""
    try:
        begin, end, size = (int(row[name] or "") for name in COLUMNS[1:])
    except ValueError:
        what = ",".join(f"{name}={row[name]}" for name in COLUMNS[1:])
        raise _WrongTable(f"{path}:{line}: lower, upper and size must be whole numbers, got {what}") from None
    if begin >= end:
        raise _WrongTable(f"{path}:{line}: lower must be below upper, got [{begin}, {end})")
    if size < 0:
        raise _WrongTable(f"{path}:{line}: size must be at least 0, got {size}")
    return begin, end, size


def _write(path: str, rows: Sequence[Row], offsets: Sequence[int]) -> None:
    try:
        with open(path, "w", encoding="utf-8", newline="") as file:
            names = [name for name in (rows[0] if rows else COLUMNS) if name != "offset"]
            writer = csv.DictWriter(file, [*names, "offset"], extrasaction="ignore", lineterminator="\n")
            writer.writeheader()
            writer.writerows({**row, "offset": offset} for row, offset in zip(rows, offsets, strict=True))
    except OSError as error:
        raise _WrongTable(f"{path}: {error.strerror}") from error


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(2, f"error: {message}; --help says more\n")


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number of at least 1, got '{text}'")
    return int(text)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < math.inf:
        raise argparse.ArgumentTypeError(f"must be a number of seconds, got '{text}'")
    return seconds


def _arguments(argv: Sequence[str]) -> argparse.Namespace:
    parser = _Parser("python -m gecc.planning", description="Packs buffers into one arena.", allow_abbrev=False)
    parser.add_argument("file", help="CSV with columns id, lower, upper, size; steps [lower, upper), bytes")
    parser.add_argument("-o", "--output", help="where to write the table with a column offset")
    parser.add_argument("--alignment", type=_count, default=1, help="bytes; of every offset (default 1)")
    parser.add_argument("--capacity", type=_count, help="bytes; good enough, and an error if it cannot be met")
    parser.add_argument("--seconds", type=_seconds, default=10.0, help="for the search (default 10)")
    parser.add_argument("--plain", action="store_true", help="plain Python, though llvmlite is installed")
    return parser.parse_args(argv)


def main(argv: Sequence[str]) -> int:
    arguments = _arguments(argv)
    path: str = arguments.file
    try:
        rows = _read(path)
        table = [_numbers(path, line, row) for line, row in enumerate(rows, 2)]
        start = monotonic()
        sized = [k for k, (_, _, size) in enumerate(table) if size]
        packing = pack(
            [table[k][:2] for k in sized],
            [align_up(table[k][2], arguments.alignment) for k in sized],
            goal=arguments.capacity or 0,
            seconds=arguments.seconds,
            compiled=False if arguments.plain else None,
        )
        took = monotonic() - start
        offsets = dict(zip(sized, packing.offsets, strict=True))
        if arguments.output:
            _write(arguments.output, rows, [offsets.get(k, 0) for k in range(len(rows))])
    except _WrongTable as error:
        print(f"error: {error}", file=sys.stderr)
        return 1

    gap = packing.size - packing.bound
    said = "proved" if packing.proved else f"gap {gap} ({gap / packing.bound:.2%})"
    print(f"size {packing.size}  bound {packing.bound}  {said}  {took:.2f} s")
    if arguments.capacity is not None and packing.size > arguments.capacity:
        print(f"error: {path}: does not fit: {packing.size} bytes, capacity {arguments.capacity}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
