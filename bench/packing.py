"""
Hard packing problems, google/minimalloc's say, in one process, each with the referee's word.

    python bench/packing.py minimalloc/*.1048576.csv --capacity=1048576     good enough: what the files are named after
    python bench/packing.py minimalloc/J.1048576.csv --seconds=30           as small as can be found

Tables are those of `python -m gecc.planning`. The last line is the whole run, from the import of the planner on: there
is no cache, and what is compiled (a quarter of a second) is in it. Exit code 1 where the referee refuses a packing or
one does not fit the capacity.
"""

from __future__ import annotations

import argparse
import csv
import sys
import time
from pathlib import Path


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path, help="CSV with columns id, lower, upper, size")
    parser.add_argument("--capacity", type=int, help="bytes that are good enough; by default the least that is found")
    parser.add_argument("--seconds", type=float, default=60.0, help="for the search, a file (default 60)")
    parser.add_argument("--plain", action="store_true", help="plain Python, though llvmlite is installed")
    args = parser.parse_args()
    start, processor = time.perf_counter(), time.process_time()

    from gecc.planning import Buffer, find_violation
    from gecc.planning.packing import pack

    failed = False
    print(f"{'':<16} {'buffers':>8} {'bytes':>10} {'bound':>10} {'gap':>7} {'steps':>14} {'s':>7}  referee")
    for path in args.files:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = [tuple(int(row[name]) for name in ("lower", "upper", "size")) for row in csv.DictReader(file)]
        begin = time.perf_counter()
        found = pack(
            [(lower, upper) for lower, upper, _ in rows],
            [size for _, _, size in rows],
            goal=args.capacity or 0,
            seconds=args.seconds,
            compiled=False if args.plain else None,
        )
        seconds = time.perf_counter() - begin
        wrong = find_violation([Buffer(*row) for row in rows], found.offsets, args.capacity or found.size)
        failed |= wrong is not None
        gap = "proved" if found.proved else f"{found.size / found.bound - 1:.2%}"
        print(
            f"{path.stem:<16} {len(rows):>8} {found.size:>10} {found.bound:>10} {gap:>7} {found.searched:>14,} "
            f"{seconds:>7.2f}  {wrong.what if wrong else 'ok'}",
            flush=True,
        )
    print(f"all: {time.perf_counter() - start:.2f} s, of a processor {time.process_time() - processor:.2f} s")
    return failed


if __name__ == "__main__":
    sys.exit(main())
