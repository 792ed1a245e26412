"""
Real models through import, -O3 and export, and through buffers: are the outputs the same, and what does it take?

    python bench/models.py resnet50.onnx bert.onnx -o rows.csv
    python bench/models.py --models FOLDER --work FOLDER      # *.stripped.onnx with their rehydrate.py

A model goes through `ge-opt -O3` in a process of its own. ONNX Runtime, without its graph optimisations, then runs the
original and what came out. With --bufferize (without it: only models of up to 250 MB) free dims are bound, the module
goes on to buffers in one arena, and the reference interpreter runs that and the original. Exit code 1 where anything
failed.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import onnx
from inputs import OTHER_DIM, add_models, apart, dims_of, input_shapes, models
from measure import measured, tool, write_rows

SMALL = 250_000_000
"""Bytes up to which a model is also taken to buffers unasked: the reference is an interpreter."""


@dataclass
class Row:
    """
    nodes, result_nodes  of the ONNX files, bodies included
    opaque               ops that the dialect does not know, in what came out: "NonZero 2, Loop 1"
    seconds, peak        of ge-opt from start to end; bytes of anonymous memory
    error                max |a - b| / max |b| over the outputs in ONNX Runtime, the worst output
    arena, bound         bytes; the least that any plan can have
    buffer_error         as error, of the module on buffers against the original, both in the reference: in a quantised
                         model two engines may round to different steps
    failure              what went wrong first
    """

    model: str
    nodes: int = 0
    result_nodes: int = 0
    opaque: str = ""
    seconds: float = 0.0
    peak: int = 0
    error: float | None = None
    arena: int | None = None
    bound: int | None = None
    buffer_seconds: float | None = None
    buffer_error: float | None = None
    unchanged: bool = False
    failure: str = ""


def main() -> int:
    args = _arguments()
    rows: list[Row] = []
    with tempfile.TemporaryDirectory(prefix="gecc-bench-") as folder:
        for path in models(args):
            row = _row(path, Path(folder), args)
            rows.append(row)
            print(f"{row.model}: {row.failure or 'ok'}", file=sys.stderr, flush=True)
            if args.output:
                write_rows(rows, args.output)
    _show(rows)
    return 1 if any(row.failure for row in rows) else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_models(parser)
    parser.add_argument("--bufferize", action="store_true", help="all models on to buffers, also the large ones")
    parser.add_argument("-o", dest="output", type=Path, help="the table as CSV")
    args = parser.parse_args()
    if not args.files and not args.models:
        parser.error("give .onnx files, or --models and --work")
    if args.models and not args.work:
        parser.error("--models needs --work")
    args.dims = dims_of(args)
    return args


# ------------------------------------------------------------------ one model


def _row(path: Path, folder: Path, args: argparse.Namespace) -> Row:
    row = Row(path.stem)
    optimised, buffers = folder / "optimised.onnx", folder / "buffers.mlir"
    try:
        row.nodes = _node_count(path)
        run = measured(tool("ge_opt", str(path), "-O3", "-o", str(optimised)))
        row.seconds, row.peak = run.seconds, run.peak
        if run.code:
            raise _Failed(f"-O3: {run.error}")
        row.result_nodes = _node_count(optimised)
        row.unchanged = _nodes(path) == _nodes(optimised)
        row.opaque = apart(_opaque, str(optimised))
        row.error = apart(_outputs_differ, str(path), str(optimised), args.dims)
        if args.bufferize or _size(path) <= SMALL:
            given = input_shapes(path, args.dims, OTHER_DIM)
            shapes = ";".join(f"{name}:{','.join(map(str, dims))}" for name, dims in given.items())
            flags = ["-O3", "--ge-bufferize", "--memory-reuse", "-o", str(buffers)]
            run = measured(tool("ge_opt", str(path), f"--input-shape={shapes}", *flags))
            row.buffer_seconds = run.seconds
            if run.code:
                raise _Failed(f"buffers: {run.error}")
            row.arena, row.bound = apart(_arena, str(buffers))
            row.buffer_error = apart(_buffers_differ, str(path), str(buffers), args.dims)
    except Exception as error:
        row.failure = " ".join(str(error).split()) or type(error).__name__
    finally:
        for left in folder.iterdir():
            left.unlink()
    return row


class _Failed(Exception):
    pass


def _size(path: Path) -> int:
    data = path.with_name(path.name + ".data")
    return path.stat().st_size + (data.stat().st_size if data.exists() else 0)


def _node_count(path: Path) -> int:
    def nodes(graph: onnx.GraphProto) -> int:
        return sum(1 + sum(nodes(a.g) for a in node.attribute if a.HasField("g")) for node in graph.node)

    return nodes(onnx.load(path, load_external_data=False).graph)


def _nodes(path: Path) -> list[tuple[str, tuple[str, ...]]]:
    return [(n.op_type, tuple(n.input)) for n in onnx.load(path, load_external_data=False).graph.node]


def _opaque(path: str) -> str:
    from gecc.frontend import import_model

    found = Counter(op.op_type.data for op in import_model(Path(path)).walk() if op.name == "ge.opaque")
    return ", ".join(f"{name} {count}" for name, count in found.most_common())


def _bound(path: str, dims: Mapping[str, int]) -> Any:
    """The module with sizes for its free dims."""
    from gecc.frontend import import_model
    from gecc.transforms.shape.bind import bind_shapes

    module = import_model(Path(path))
    bind_shapes(module, input_shapes(Path(path), dims, OTHER_DIM))
    return module


def _onnxruntime(path: str, inputs: dict[str, Any]) -> dict[str, Any]:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return dict(zip((o.name for o in session.get_outputs()), session.run(None, inputs), strict=True))


def _outputs_differ(path: str, optimised: str, dims: Mapping[str, int]) -> float:
    from gecc.reference import make_inputs

    inputs = make_inputs(_bound(path, dims))
    return _worst(_onnxruntime(optimised, inputs), _onnxruntime(path, inputs))


def _buffers_differ(path: str, buffers: str, dims: Mapping[str, int]) -> float:
    from gecc.driver import load_module
    from gecc.reference import make_inputs, run

    module = _bound(path, dims)
    inputs = make_inputs(module)
    return _worst(run(load_module(buffers), inputs), run(module, inputs))


def _worst(got: dict[str, Any], expected: dict[str, Any]) -> float:
    from gecc.tools.comparison import compare

    found = list(compare(got, expected))
    for name, far in found:
        if not far.passes:
            raise _Failed(f"output {name}: {far.problem or f'differs by {far.relative:.3g} of its largest element'}")
    return max((far.relative for _, far in found), default=0.0)


def _arena(path: str) -> tuple[int | None, int | None]:
    from xdsl.dialects.builtin import IntegerAttr
    from xdsl.dialects.func import FuncOp

    from gecc.driver import load_module
    from gecc.tools.summary import arena_bytes

    module = load_module(path)
    bounds = [op.attributes.get("ge.arena_bound") for op in module.body.block.ops if isinstance(op, FuncOp)]
    return arena_bytes(module), next((b.value.data for b in bounds if isinstance(b, IntegerAttr)), None)


# ------------------------------------------------------------------ the table


def _show(rows: list[Row]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table()
    columns = ["model", "nodes", "-O3", "opaque", "s", "peak MB", "error", "arena MB", "bound MB", "buffers", "failure"]
    for name in columns:
        table.add_column(name, justify="left" if name in ("model", "opaque", "failure") else "right")
    for row in rows:
        table.add_row(
            row.model,
            str(row.nodes),
            f"{row.result_nodes}{' unchanged' if row.unchanged else ''}",
            row.opaque,
            f"{row.seconds:.1f}",
            f"{row.peak / 1e6:.0f}",
            _number(row.error),
            _megabytes(row.arena),
            _megabytes(row.bound),
            _number(row.buffer_error),
            row.failure,
        )
    Console(width=None if sys.stdout.isatty() else 200).print(table)


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.1e}"


def _megabytes(value: int | None) -> str:
    return "" if value is None else f"{value / 1e6:.2f}"


if __name__ == "__main__":
    sys.exit(main())
