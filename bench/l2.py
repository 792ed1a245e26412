"""
L2 fusion on real models: bytes from and to memory of unfused, op-fused and L2-fused graphs, and the bound.

    python bench/l2.py resnet50.onnx bert.onnx -o rows.csv
    python bench/l2.py resnet50.onnx --batch=32 --l2=32 --dtype=fp16 --cache=hints,plain

All figures are modelled: bytes are counted by the judge, which replays the lowered loops through a simulated cache;
none was measured on a chip. `model` columns say how far the planner is from it, who follows its plan access by access;
the last line, how far the formulas are by which plans are searched. Exit code 1 where anything failed, or an accepted
plan moves more bytes than op fusion alone.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from inputs import DTYPES, input_shapes, optimised
from measure import write_rows

DIMS = {"seq": 128, "past_seq": 128, "height": 256, "width": 256}
OTHER_DIM = 1
CACHES = ("hints", "plain", "write-allocate")


@dataclass
class Row:
    """
    unfused, op_fused, l2_fused   bytes, by the judge; `bound`: inputs, weights, outputs once
    saving                        of L2 fusion over op fusion
    model_before, model_after     how far the planner's own trace of a plan is from the judge, as a share
    search_before, search_after   the same of the formulas by which plans are searched
    seconds                       of l2-fusion, processor time
    """

    model: str
    batch: int
    l2_mib: float
    dtype: str
    cache: str
    unfused: int = 0
    op_fused: int = 0
    l2_fused: int = 0
    bound: int = 0
    saving: float = 0.0
    groups: int = 0
    model_before: float = 0.0
    model_after: float = 0.0
    search_before: float = 0.0
    search_after: float = 0.0
    seconds: float = 0.0
    failure: str = ""


def main() -> int:
    args = _arguments()
    rows: list[Row] = []
    for path, batch, dtype in product(args.files, args.batch, args.dtype):
        for row in _rows(path, batch, dtype, args):
            rows.append(row)
            print(f"{row.model} {batch} {dtype} {row.l2_mib} {row.cache}: {row.failure or f'{row.saving:.1%}'}",
                  file=sys.stderr, flush=True)  # fmt: skip
            if args.output:
                write_rows(rows, args.output)
    _show(rows)
    return 1 if any(row.failure or row.l2_fused > row.op_fused for row in rows) else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path, help=".onnx files")
    parser.add_argument("--batch", type=_numbers, default=[1, 8, 32], help="sizes of the dim 'batch', with commas")
    parser.add_argument("--l2", type=_numbers, default=[4, 16, 32, 192], help="MiB, with commas")
    parser.add_argument("--dtype", type=_words, default=list(DTYPES), help="fp16, fp32")
    parser.add_argument("--cache", type=_words, default=list(CACHES), help=", ".join(CACHES))
    parser.add_argument("--target", default="brief-910b", help="chip, for times")
    parser.add_argument("--dim", action="append", default=[], metavar="NAME=N", help=f"a free dim; by default {DIMS}")
    parser.add_argument("-o", dest="output", type=Path, help="the table as CSV")
    args = parser.parse_args()
    args.dims = DIMS | {name: int(size) for name, _, size in (each.partition("=") for each in args.dim)}
    return args


def _numbers(text: str) -> list[int]:
    return [int(n) for n in text.split(",")]


def _words(text: str) -> list[str]:
    return text.split(",")


def _rows(path: Path, batch: int, dtype: str, args: argparse.Namespace) -> Iterator[Row]:
    """One row for each L2 and cache; the graph is made once."""
    try:
        shapes = input_shapes(path, args.dims | {"batch": batch}, OTHER_DIM)
        fused, unfused = (optimised(path, shapes, dtype, op_fusion=on) for on in (True, False))
    except Exception as error:
        yield Row(path.stem, batch, 0, dtype, "", failure=" ".join(str(error).split()) or type(error).__name__)
        return
    for mib, cache in product(args.l2, args.cache):
        row = Row(path.stem, batch, mib, dtype, cache)
        try:
            _measure(row, unfused, fused, args.target)
        except Exception as error:
            row.failure = " ".join(str(error).split()) or type(error).__name__
        yield row


def _measure(row: Row, unfused: Any, fused: Any, target: str) -> None:
    from gecc.driver.registry import default_registry
    from gecc.transforms.l2.judged import is_group
    from gecc.transforms.l2.l2_fusion import L2Fusion
    from gecc.transforms.rewriting import functions

    one = L2Fusion(l2_size=row.l2_mib, cache=row.cache, target=target)
    row.unfused = one.judged_alone(unfused)
    grouped = fused.clone()
    begin = time.process_time()
    one.apply(default_registry(lambda text: None).context(), grouped)
    row.seconds = time.process_time() - begin
    for function in functions(grouped):
        said = function.attributes.get("ge.l2_traffic")
        if said is None:
            continue
        figures = {name: number.value.data for name, number in said.data.items() if hasattr(number, "value")}
        row.op_fused, row.l2_fused, row.bound = (figures[k] for k in ("judge_before", "judge_after", "bound"))
        for name in ("model", "search"):
            setattr(row, f"{name}_before", figures[f"{name}_before"] / max(1, row.op_fused) - 1)
            setattr(row, f"{name}_after", figures[f"{name}_after"] / max(1, row.l2_fused) - 1)
        row.groups = sum(map(is_group, function.body.block.ops))
    row.saving = 1 - row.l2_fused / row.op_fused if row.op_fused else 0.0


def _show(rows: list[Row]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(title="MB from and to memory, modelled")
    for name in ("model", "batch", "L2 MiB", "", "cache"):
        table.add_column(name)
    for name in ("unfused", "op-fused", "L2-fused", "bound", "saving", "groups", "model", "", "s"):
        table.add_column(name, justify="right")
    for row in rows:
        sizes = [f"{n / 1e6:.1f}" for n in (row.unfused, row.op_fused, row.l2_fused, row.bound)]
        errors = [f"{row.model_before:+.1%}", f"{row.model_after:+.1%}"]
        first = (row.model, str(row.batch), f"{row.l2_mib:g}", row.dtype, row.cache)
        last = [row.failure] if row.failure else [*sizes, f"{row.saving:.1%}", str(row.groups), *errors]
        table.add_row(*first, *last, *([] if row.failure else [f"{row.seconds:.1f}"]))
    console = Console(width=None if sys.stdout.isatty() else 200)
    console.print(table)
    for name in ("model", "search"):
        errors = sorted(
            abs(getattr(row, f"{name}_{when}")) for row in rows if not row.failure for when in ("before", "after")
        )
        if errors:
            within = sum(e <= 0.02 for e in errors) / len(errors)
            console.print(f"{name} against judge: median {statistics.median(errors):.2%}, {within:.1%} within 2 %, "
                          f"worst {errors[-1]:.1%}")  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
