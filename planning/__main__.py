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
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Any, NoReturn

from .arena import align_up
from .packing import pack

COLUMNS = ("id", "lower", "upper", "size")

NUMBER = r"\s*[+-]?[0-9]{1,100}\s*"
"""What int() reads, without its underscores and other scripts' digits, and of a length that it surely reads."""

SHOWN = 40
"""Characters of a value that a message repeats."""

Row = dict[Any, Any]
"""Texts by column; as csv has it, None stands for a value that is not there and for the column of one too many."""


class _WrongTable(Exception):
    """One line: what is wrong with the table, and where."""


@dataclass(frozen=True)
class _Table:
    """Rows as they were read, and of each where it ends and what it says: begin, end, size."""

    rows: list[Row]
    lines: list[int]
    numbers: list[tuple[int, int, int]]


def _read(path: str) -> _Table:
    try:
        # Spreadsheets write a byte order mark first.
        with open(path, encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file, strict=True, skipinitialspace=True)
            _check_names(path, reader.fieldnames or ())
            table = _Table([], [], [])
            for row in reader:
                table.rows.append(row)
                table.lines.append(reader.line_num)
                table.numbers.append(_numbers(f"{path}:{reader.line_num}", row, len(reader.fieldnames or ())))
    except OSError as error:
        raise _WrongTable(f"{path}: {error.strerror}") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise _WrongTable(f"{path}: is no table: {error}") from error
    first: dict[str, int] = {}
    for row, line in zip(table.rows, table.lines, strict=True):
        if first.setdefault(row["id"], line) != line:
            raise _WrongTable(f"{path}:{line}: id '{_short(row['id'])}' stands in line {first[row['id']]} already")
    return table


def _check_names(path: str, names: Sequence[str]) -> None:
    for name in COLUMNS:
        if names.count(name) != 1:
            how = "no" if name not in names else "more than one"
            raise _WrongTable(f"{path}: {how} column '{name}'; the first line must name {','.join(COLUMNS)}")


def _numbers(where: str, row: Row, columns: int) -> tuple[int, int, int]:
    """Begin, end and size."""
    given = sum(value is not None for name, value in row.items() if name is not None) + len(row.get(None, ()))
    if given != columns:
        raise _WrongTable(f"{where}: {given} values for {columns} columns")
    texts = [row[name] for name in COLUMNS[1:]]
    if not all(re.fullmatch(NUMBER, text) for text in texts):
        what = ",".join(f"{name}={_short(text)}" for name, text in zip(COLUMNS[1:], texts, strict=True))
        raise _WrongTable(f"{where}: lower, upper and size must be whole numbers, got {what}")
    begin, end, size = map(int, texts)
    if begin >= end:
        raise _WrongTable(f"{where}: lower must be below upper, got [{begin}, {end})")
    if size < 0:
        raise _WrongTable(f"{where}: size must be at least 0, got {size}")
    return begin, end, size


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}.."


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
        table = _read(path)
        start = monotonic()
        sized = [k for k, (_, _, size) in enumerate(table.numbers) if size]
        packing = pack(
            [table.numbers[k][:2] for k in sized],
            [align_up(table.numbers[k][2], arguments.alignment) for k in sized],
            goal=arguments.capacity or 0,
            seconds=arguments.seconds,
            compiled=False if arguments.plain else None,
        )
        took = monotonic() - start
        offsets = dict(zip(sized, packing.offsets, strict=True))
        if arguments.output:
            _write(arguments.output, table.rows, [offsets.get(k, 0) for k in range(len(table.rows))])
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
