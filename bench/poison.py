"""
Real models in one arena that is poisoned before each step: are the outputs the same, bit for bit?

    python bench/poison.py resnet50.onnx bert.onnx -o rows.csv
    python bench/poison.py --models FOLDER --work FOLDER      # *.stripped.onnx with their rehydrate.py
    python bench/poison.py --cases FOLDER                     # small models, each with its inputs: x.onnx and x.npz

Free dims are bound (`--dim`), the module goes through `-O3`, and the reference runs it on two sets of inputs: on
tensors, then on buffers in an arena that holds nothing but what is alive, and that computes each launch in place again
with half of its result written; then in an arena that keeps what the run before left. A case has the shapes of its
inputs; of one set of inputs the second is the first with its floats in another order. Exit code 1 where anything
differs.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from inputs import OTHER_DIM, add_models, apart, dims_of, input_shapes, models, optimised
from measure import write_rows

Inputs = dict[str, Any]


@dataclass
class Row:
    """
    outcome    ran: bit for bit; random, free dims, not run: no case for an arena; else what is wrong
    launches, in_place, host   ops on buffers: all launches, those with a result over an operand, segments on the host
    arena      bytes
    seconds    of all runs, on tensors and on buffers
    """

    model: str
    outcome: str = ""
    launches: int = 0
    in_place: int = 0
    host: int = 0
    arena: int = 0
    seconds: float = 0.0


NO_CASE = ("random", "free dims", "not run")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_models(parser)
    parser.add_argument("--cases", type=Path, help="a folder with *.onnx and their inputs, *.npz")
    parser.add_argument("-o", dest="output", type=Path, help="the table as CSV")
    args = parser.parse_args()
    if not args.files and not args.models and not args.cases:
        parser.error("give .onnx files, --models and --work, or --cases")
    if args.models and not args.work:
        parser.error("--models needs --work")
    rows: list[Row] = []
    for name, path, sets in _tasks(args):
        try:
            row = apart(_row, name, path, sets, dims_of(args))
        except Exception as error:
            row = Row(name, " ".join(str(error).split()) or type(error).__name__)
        rows.append(row)
        print(f"{row.model}: {row.outcome}", file=sys.stderr, flush=True)
        if args.output:
            write_rows(rows, args.output)
    _show(rows)
    return 1 if any(row.outcome not in ("ran", *NO_CASE) for row in rows) else 0


def _tasks(args: argparse.Namespace) -> Iterator[tuple[str, Path, list[Inputs]]]:
    """A name, a model, and inputs of one shape; none for a model: they are made."""
    for path in models(args):
        yield path.stem, path, []
    for path in sorted(args.cases.glob("*.onnx")) if args.cases else ():
        by_shape: dict[tuple[Any, ...], list[Inputs]] = {}
        for given in _given(path.with_suffix(".npz")):
            shapes = tuple(sorted((name, value.shape) for name, value in given.items()))
            by_shape.setdefault(shapes, []).append(given)
        for k, sets in enumerate(by_shape.values()):
            yield f"{path.stem} {k}" if k else path.stem, path, sets


def _given(path: Path) -> list[Inputs]:
    """`0@x` is x of the first set; a model without inputs has one set all the same."""
    sets: dict[str, Inputs] = {"0": {}}
    with np.load(path) as arrays:
        for key in arrays.files:
            number, _, name = key.partition("@")
            sets.setdefault(number, {})[name] = arrays[key]
    return list(sets.values())


# ------------------------------------------------------------------ one model


def _row(name: str, path: Path, sets: Sequence[Inputs], dims: Mapping[str, int]) -> Row:
    from gecc.dialects.ge.errors import InputError
    from gecc.reference import make_inputs, run
    from gecc.tools.comparison import same_bits

    row = Row(name)
    if sets:
        shapes = {each: list(value.shape) for each, value in sets[0].items()}
    else:
        shapes = input_shapes(path, dims, OTHER_DIM)
    try:
        module = optimised(path, shapes)
        inputs = [dict(each) for each in sets] or [make_inputs(module, seed) for seed in (0, 1)]
        if len(inputs) == 1:
            inputs.append({each: _turned(value) for each, value in inputs[0].items()})
        begin = time.perf_counter()
        expected = [run(module, each) for each in inputs]
        if sets and not all(same_bits(run(module, inputs[0])[out], value) for out, value in expected[0].items()):
            row.outcome = "random"
            return row
    except InputError as error:
        row.outcome = "not run"
        print(f"{name}: {error}", file=sys.stderr)
        return row
    try:
        row.outcome = _on_buffers(module, inputs, expected, row)
    except InputError as error:
        if "static shapes" not in str(error):
            raise
        row.outcome = "free dims"
    row.seconds = time.perf_counter() - begin
    return row


def _on_buffers(module: Any, inputs: Sequence[Inputs], expected: Sequence[Mapping[str, Any]], row: Row) -> str:
    """Brings the module to buffers; what differs there, in words."""
    from gecc.driver.poison import PoisonedArena
    from gecc.driver.registry import default_registry
    from gecc.reference import Arena, run
    from gecc.reference.arena import lies_over
    from gecc.tools.comparison import same_bits
    from gecc.transforms.memory.ge_bufferize import GeBufferize
    from gecc.transforms.memory.memory_reuse import MemoryReuse

    context = default_registry(lambda text: None).context()
    for one in (GeBufferize(), MemoryReuse()):
        one.apply(context, module)
    module.verify()

    in_place: set[Any] = set()

    class Counting(Arena):
        def launch(self, op: Any, ins: Any, outs: Any, compute: Any) -> None:
            if any(lies_over(out, x) for out in outs for x in ins if x.size):
                in_place.add(op)
            super().launch(op, ins, outs, compute)

    counting = Counting()
    for kind, arena in (("poisoned", PoisonedArena(module)), ("kept", counting)):
        for k, (each, wanted) in enumerate(zip(inputs, expected, strict=True)):
            found = run(module, each, arena=arena)
            for out, value in wanted.items():
                if not same_bits(found[out], value):
                    return f"output {out} differs, inputs {k}, {kind} arena"
    names = Counter(op.name for op in module.walk())
    row.launches, row.host, row.in_place = names["ge.launch"], names["ge.host"], len(in_place)
    row.arena = len(counting.bytes)
    return "ran"


def _turned(value: Any) -> Any:
    """Other floats of the same kind: whole numbers may be shapes and indices."""
    return np.roll(value, 1) if value.dtype.kind == "f" else value


# ------------------------------------------------------------------ the table


def _show(rows: list[Row]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table()
    for name in ("model", "launches", "in place", "host", "arena", "s", "outcome"):
        table.add_column(name, justify="left" if name in ("model", "outcome") else "right")
    for row in rows:
        numbers = (row.launches, row.in_place, row.host, row.arena)
        table.add_row(row.model, *(f"{n:,}" for n in numbers), f"{row.seconds:.1f}", row.outcome)
    Console(width=None if sys.stdout.isatty() else 160).print(table)
    print(", ".join(f"{outcome} {count}" for outcome, count in Counter(row.outcome for row in rows).most_common()))


if __name__ == "__main__":
    sys.exit(main())
