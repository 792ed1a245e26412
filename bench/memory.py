"""
Bytes of activations: one arena, against no reuse, what GE does and what onnxsim plans.

    python bench/memory.py resnet50.onnx bert.onnx -o rows.csv
    python bench/memory.py *.onnx --level=0 --dim seq=128

A model is bound to batch 1, goes through `-O3` (or the level given) and on to buffers; each column then places the same
buffers. Inputs and results are the caller's memory, in a column of their own. onnxsim counts them in, from an
input to its last reader: `all` does so with ours. It plans what onnxsim itself made of the model, with
every operand and result apart. Exit code 1 where anything failed.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import onnx
from inputs import apart, input_shapes
from measure import write_rows

DIMS = {"batch": 1, "seq": 128, "past_seq": 128, "height": 256, "width": 256}
OTHER_DIM = 1

ALGORITHMS = {"binary_block": "ge-binary-block", "max_block": "ge-max-block", "greedy": "greedy", "arena": "search"}
"""By column of the table."""


@dataclass
class Row:
    """
    tensors    bytes of all that launches compute, nothing over an operand and no address twice: no reuse
    arena      ours; `bound` is what no arena for these lifetimes can be smaller than
    seconds    of ge-bufferize and memory-reuse with a search
    caller     bytes of inputs and results
    all        our arena with those in it, as onnxsim counts
    onnxsim    its arena; None where it is not installed or fails
    left_out   tensors that onnxsim finds no size for and leaves out of its arena, without constants: these are weights
    """

    model: str
    tensors: int = 0
    binary_block: int = 0
    max_block: int = 0
    greedy: int = 0
    arena: int = 0
    bound: int = 0
    seconds: float = 0.0
    caller: int = 0
    all: int = 0
    onnxsim: int | None = None
    left_out: int = 0
    failure: str = ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path, help=".onnx files")
    parser.add_argument("--level", type=int, default=3, choices=range(4), help="-O level before buffers")
    parser.add_argument("--alignment", type=int, default=32, help="bytes")
    parser.add_argument("--dim", action="append", default=[], metavar="NAME=N", help=f"a free dim; by default {DIMS}")
    parser.add_argument("-o", dest="output", type=Path, help="the table as CSV")
    args = parser.parse_args()
    dims = DIMS | {name: int(size) for name, _, size in (each.partition("=") for each in args.dim)}
    rows: list[Row] = []
    for path in args.files:
        shapes: dict[str, list[int]] = {}
        row = Row(path.stem)
        try:
            shapes = input_shapes(path, dims, OTHER_DIM)
            row = apart(_planned, path, shapes, args.level, args.alignment)
        except Exception as error:
            row.failure = " ".join(str(error).split()) or type(error).__name__
        try:
            row.onnxsim, row.left_out = apart(_onnxsim, path, shapes)
        except Exception as error:
            print(f"{row.model}: onnxsim: {error}", file=sys.stderr)
        rows.append(row)
        print(f"{row.model}: {row.failure or 'ok'}", file=sys.stderr, flush=True)
        if args.output:
            write_rows(rows, args.output)
    _show(rows)
    return 1 if any(row.failure for row in rows) else 0


def _planned(path: Path, shapes: Mapping[str, list[int]], level: int, alignment: int) -> Row:
    from gecc.dialects.ge.types import nbytes
    from gecc.driver.instrument import run_or_tell
    from gecc.driver.phases import plan
    from gecc.driver.registry import default_registry
    from gecc.frontend import import_model
    from gecc.transforms.memory.arena import BOUND
    from gecc.transforms.memory.ge_bufferize import GeBufferize
    from gecc.transforms.memory.memory_reuse import MemoryReuse
    from gecc.transforms.rewriting import functions
    from gecc.transforms.shape.bind import bind_shapes

    registry = default_registry(lambda text: None)
    context = registry.context()

    def read() -> Any:
        module = import_model(path)
        bind_shapes(module, shapes)
        return module

    module = read()
    run_or_tell(context, module, plan(registry, level), read)
    row = Row(path.stem)
    apart = module.clone()
    for one in (GeBufferize(in_place=False), MemoryReuse(alignment=alignment, max_reuse_ratio=0.0)):
        one.apply(context, apart)
    row.tensors = nbytes(next(functions(apart)).body.block.args[-1].type)
    begin = time.perf_counter()
    GeBufferize().apply(context, module)
    row.seconds = time.perf_counter() - begin
    (function,) = functions(module)
    *args, arena = function.body.block.args
    row.caller = sum(nbytes(a.type) for a in args)
    for column, algorithm in ALGORITHMS.items():
        begin = time.perf_counter()
        MemoryReuse(alignment=alignment, algorithm=algorithm).apply(context, module)
        setattr(row, column, nbytes(arena.type))
    row.seconds += time.perf_counter() - begin
    row.bound = function.attributes[BOUND].value.data
    row.all = _with_the_caller_s(function, alignment)
    return row


def _with_the_caller_s(function: Any, alignment: int) -> int:
    """Bytes of one arena for everything: inputs lie there from the start, results to the end."""
    from gecc.dialects.ge.types import nbytes
    from gecc.planning import Buffer, plan_arena
    from gecc.transforms.memory.arena import Roots, lives, steps_in

    block = function.body.block
    alive = lives(steps_in(block), Roots(block))
    end = max((last for _, last in alive.values()), default=1)
    buffers: list[Buffer] = []
    for value, (first, last) in alive.items():
        said = function.arg_attrs.data[value.index].data if value in block.args else None
        if said is not None:
            first, last = (first, end) if "ge.result" in said else (0, last)
        if said is not None or value.owner.name == "ge.slot":
            buffers.append(Buffer(first, last, nbytes(value.type)))
    return plan_arena(buffers, alignment=alignment).size


def _onnxsim(path: Path, shapes: Mapping[str, list[int]]) -> tuple[int | None, int]:
    try:
        import onnxsim
    except ModuleNotFoundError:
        return None, 0
    model, _ = onnxsim.simplify(onnx.load(path), overwrite_input_shapes=shapes or None)
    plan = onnxsim.plan_activation_memory(model)
    constants = {name for node in model.graph.node if node.op_type == "Constant" for name in node.output}
    return plan.arena_bytes, len(set(plan.unplanned) - constants)


def _show(rows: list[Row]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table()
    names = (
        "model",
        "no reuse",
        "GE binary",
        "GE max",
        "greedy",
        "arena",
        "bound",
        "",
        "s",
        "caller",
        "all",
        "onnxsim",
    )
    for name in (*names, "failure"):
        table.add_column(name, justify="left" if name in ("model", "failure") else "right")
    for row in rows:
        numbers = (row.tensors, row.binary_block, row.max_block, row.greedy, row.arena, row.bound)
        table.add_row(
            row.model,
            *(f"{n:,}" for n in numbers),
            "proved" if row.arena == row.bound else f"+{row.arena / row.bound - 1:.2%}" if row.bound else "",
            f"{row.seconds:.2f}",
            f"{row.caller:,}",
            f"{row.all:,}",
            "" if row.onnxsim is None else f"{row.onnxsim:,}" + (f" without {row.left_out}" if row.left_out else ""),
            row.failure,
        )
    Console(width=None if sys.stdout.isatty() else 240).print(table)


if __name__ == "__main__":
    sys.exit(main())
