"""
Real models with L2 groups: do tiles give the bits of layer by layer?

    python bench/l2_values.py resnet50.onnx bert.onnx -o rows.csv
    python bench/l2_values.py --models FOLDER --work FOLDER --samples=3 --seeds=4

Each model goes through `-O3`, its free dims bound (`--dim`; those called batch to 1, then to `--samples`), and the
reference runs it without groups. Then groups are formed and run as loops in an arena that is poisoned before each step,
and the outputs compared:

    found     those that l2-fusion finds in an L2 as large as the largest value, or a half, or a fourth of it
    samples   at random, of whole samples
    rows      at random, of rows (of each sample where there are several), what overlaps computed again
    lines     the same, what overlaps kept

    plain     the arithmetic is numpy's. BLAS adds up in another order for another shape, so the last bits of a product
              may differ where it is cut along its rows: the distance is told, relative to the greatest element
              (where a net quantises, a step of its own may come of that)
    exact     sums that are exact in any order (gecc.reference.evaluate_exactly): here every bit must be the same

Exit code 1 where an exact run differs.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from inputs import DTYPES, OTHER_DIM, add_models, apart, dims_of, input_shapes, models, optimised
from measure import write_rows

SHARES = (1, 0.5, 0.25)
"""Of the bytes of the largest value: L2 in which groups are looked for."""

MIB = 1 << 20

MIN_BYTES = 65536


@dataclass
class Row:
    """
    cut                what groups are cut into, and how they were found
    groups, members    that were formed, and the ops in them
    samples .. nested  groups by what they are cut into: whole samples; rows; rows with kept lines; two loops (which are
                       of rows too)
    loops              scf.for
    launches           that ran, those of all tiles
    plain, exact       "bits", or how far apart
    seconds            of a processor, both runs
    """

    model: str
    batch: int = 0
    cut: str = ""
    groups: int = 0
    members: int = 0
    samples: int = 0
    rows: int = 0
    lines: int = 0
    nested: int = 0
    loops: int = 0
    launches: int = 0
    plain: str = ""
    exact: str = ""
    seconds: float = 0.0
    problem: str = ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_models(parser)
    parser.add_argument("--samples", type=int, default=3, help="the size of a free dim called batch, after 1")
    parser.add_argument("--dtype", choices=DTYPES, default="fp32")
    parser.add_argument("--seeds", type=int, default=1, help="groups at random of each kind so many times")
    parser.add_argument("--no-found", action="store_true", help="leave out the groups that l2-fusion finds")
    parser.add_argument("-o", dest="output", type=Path, help="the table as CSV")
    args = parser.parse_args()
    if not args.files and not args.models:
        parser.error("give .onnx files, or --models and --work")
    rows: list[Row] = []
    for path, batch, dims in _tasks(args):
        try:
            found = apart(_rows, path, batch, dims, args.dtype, args.seeds, not args.no_found)
        except Exception as error:
            found = [Row(path.stem, batch, problem=" ".join(str(error).split()) or type(error).__name__)]
        rows += found
        for row in found:
            print(f"{row.model} {row.batch} {row.cut}: {row.problem or _said(row)}", file=sys.stderr, flush=True)
        if args.output:
            write_rows(rows, args.output)
    _show(rows)
    return 1 if any(row.problem for row in rows) else 0


def _tasks(args: argparse.Namespace) -> Iterator[tuple[Path, int, Mapping[str, int]]]:
    """A model with each size of its batch; once where that is fixed."""
    dims = dims_of(args)
    for path in models(args):
        one, more = (dims | {"batch": n} for n in (1, args.samples))
        yield path, 1, one
        if input_shapes(path, one, OTHER_DIM) != input_shapes(path, more, OTHER_DIM):
            yield path, args.samples, more


def _said(row: Row) -> str:
    return f"{row.groups} groups, plain {row.plain}, exact {row.exact}"


# ------------------------------------------------------------------ one model


def _rows(path: Path, batch: int, dims: Mapping[str, int], dtype: str, seeds: int, find: bool) -> list[Row]:
    from gecc.reference import evaluate, evaluate_exactly, make_inputs, run

    module = optimised(path, input_shapes(path, dims, OTHER_DIM), dtype)
    inputs = make_inputs(module)
    wanted = {meaning: run(module, inputs, meaning=meaning) for meaning in (evaluate, evaluate_exactly)}
    rows: list[Row] = []
    for cut, grouped in _grouped(module, batch, seeds, find):
        row = Row(path.stem, batch, cut)
        begin = time.process_time()
        try:
            _compare(row, grouped, inputs, wanted)
        except Exception as error:
            row.problem = f"{type(error).__name__}: {' '.join(str(error).split())}"
        row.seconds = time.process_time() - begin
        rows.append(row)
    return rows


def _grouped(module: Any, batch: int, seeds: int, find: bool) -> Iterator[tuple[str, Any]]:
    """The module with groups of each kind; a kind that gives none is left out."""
    from gecc.driver.registry import default_registry
    from gecc.transforms.l2.at_random import CUTS, AnyGroups
    from gecc.transforms.l2.l2_fusion import L2Fusion

    context = default_registry(lambda text: None).context()
    largest = _largest(module)
    for share in SHARES if find else ():
        copy = module.clone()
        size = max(MIN_BYTES, largest * share) / MIB
        L2Fusion(l2_size=size, fusion_threshold=0.5).apply(context, copy)
        if any(_groups(copy)):
            yield f"found in {size:.2g} MiB", copy
            break
    for seed in range(seeds):
        for cut in CUTS if batch > 1 else CUTS[1:]:
            copy = module.clone()
            # Pages and an L2 so large that the judge, who is not asked, has little to count.
            AnyGroups(seed=seed, cuts=(cut,), l2_size=1024, page=1 << 20).apply(context, copy)
            if any(_groups(copy)):
                yield cut, copy


def _largest(module: Any) -> int:
    """Bytes of the largest value that is computed."""
    from xdsl.dialects.builtin import TensorType

    from gecc.dialects.ge.constants import ConstantOp
    from gecc.dialects.ge.types import is_static, nbytes

    ops = [op for op in module.walk() if not isinstance(op, ConstantOp)]
    values = [v for op in ops for v in op.results if isinstance(v.type, TensorType) and is_static(v.type)]
    return max((nbytes(v.type) for v in values), default=0)


def _groups(module: Any) -> Iterator[Any]:
    from gecc.transforms.l2.judged import is_group

    for function in module.body.block.ops:
        if function.regions and function.regions[0].blocks:
            yield from (op for op in function.regions[0].block.ops if is_group(op))


def _compare(row: Row, grouped: Any, inputs: Any, wanted: Mapping[Any, Any]) -> None:
    """Brings the module with groups to buffers and runs it by each meaning; fills in the row."""
    from gecc.driver.poison import PoisonedArena
    from gecc.driver.registry import default_registry
    from gecc.reference import run
    from gecc.tools.comparison import compare, same_bits
    from gecc.transforms.memory.ge_bufferize import GeBufferize
    from gecc.transforms.memory.memory_reuse import MemoryReuse
    from gecc.transforms.tiling import members_of

    groups = list(_groups(grouped))
    row.groups, row.members = len(groups), sum(len(members_of(group)) for group in groups)
    for group in groups:
        loops, halo = len(group.tiling.cuts[0]), group.tiling.halo.data
        row.nested += loops > 1
        if loops == 1 and row.batch > 1 and group.tiling.cuts[0][0][0] == 0:
            row.samples += 1
        elif halo == "lines":
            row.lines += 1
        else:
            row.rows += 1
    context = default_registry(lambda text: None).context()
    for one in (GeBufferize(), MemoryReuse()):
        one.apply(context, grouped)
    grouped.verify()
    row.loops = sum(op.name == "scf.for" for op in grouped.walk())

    class Counting(PoisonedArena):
        def launch(self, *given: Any) -> None:
            row.launches += 1
            super().launch(*given)

    words: list[str] = []
    for meaning, outputs in wanted.items():
        row.launches = 0
        found = run(grouped, inputs, arena=Counting(grouped), meaning=meaning)
        differing = {name for name, value in outputs.items() if not same_bits(found[name], value)}
        distances = [d.relative for name, d in compare(found, outputs) if name in differing]
        words.append(f"{max(distances):.1e}" if distances else "bits")
    row.plain, row.exact = words
    if row.exact != "bits":
        row.problem = f"exact sums differ by {row.exact}"


# ------------------------------------------------------------------ the table


def _show(rows: list[Row]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table()
    names = ("model", "batch", "cut", "groups", "members", "samples", "rows", "lines", "nested", "launches")
    for name in (*names, "plain", "exact", "s"):
        table.add_column(name, justify="left" if name in ("model", "cut") else "right")
    for row in rows:
        counts = (row.groups, row.members, row.samples, row.rows, row.lines, row.nested, row.launches)
        words = (row.plain, row.exact or row.problem, f"{row.seconds:.1f}")
        table.add_row(row.model, str(row.batch), row.cut, *(f"{n:,}" for n in counts), *words)
    Console(width=None if sys.stdout.isatty() else 180).print(table)
    same = Counter("the same bits" if row.exact == "bits" else "not run" if not row.exact else "differ" for row in rows)
    groups = {
        name: sum(getattr(row, name) for row in rows) for name in ("groups", "samples", "rows", "lines", "nested")
    }
    print(", ".join(f"{word} {count}" for word, count in same.most_common()))
    print(", ".join(f"{name} {count:,}" for name, count in groups.items()))


if __name__ == "__main__":
    sys.exit(main())
