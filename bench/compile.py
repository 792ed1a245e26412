"""
What optimising a model takes, and what comes out: `ge` beside the other optimisers of ONNX models.

    python bench/compile.py resnet50.onnx bert.onnx -o rows.csv          # pip install gecc[bench]
    python bench/compile.py --peers=ge,onnxslim --runs=3 MODELS/*.onnx

Every run is a process of its own, from its start to its end, as a user types it (bench/peers.py). The optimisers take
turns, so that a busy machine is as busy for each of them; figures are medians over the runs, memory is the most of all.

    nodes, bytes   of what it wrote; subgraphs' nodes and external data included
    seconds, cpu   wall; user and system
    anonymous      the most anonymous memory that the processes had at one look: what the machine must have to spare
    maxrss         the most resident memory, mapped files included, as the kernel counted it

This process imports the standard library only: a child's maxrss would otherwise begin with its parent's.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

from measure import INTERVAL, anonymous, write_rows
from peers import PEERS

RUNS = 5
TIMEOUT = 900.0
LOOKING = 0.02
"""Share of the time that is spent looking at memory, at most: a look keeps a process from getting new pages."""


@dataclass(frozen=True)
class Run:
    """One process: seconds, bytes, and what it said where it failed ("" where it did not)."""

    seconds: float = 0.0
    cpu: float = 0.0
    anonymous: int = 0
    maxrss: int = 0
    failure: str = ""


@dataclass(frozen=True)
class Row:
    """One optimiser on one model: the medians of its runs, the most memory of all; `before` is the model itself."""

    model: str
    peer: str
    nodes_before: int
    bytes_before: int
    nodes: int | None
    bytes: int | None
    seconds: float | None
    cpu: float | None
    anonymous: int | None
    maxrss: int | None
    runs: int
    failure: str


def main() -> int:
    args = _arguments()
    rows: list[Row] = []
    _compile()
    with tempfile.TemporaryDirectory(prefix="gecc-bench-", dir=args.work) as folder:
        for model in args.models:
            rows += _rows(model, args.peers, args.runs, args.timeout, Path(folder))
            if args.output:
                write_rows(rows, args.output)
    _show(rows)
    return 1 if any(row.failure and row.peer == "ge" for row in rows) else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", type=Path, help=".onnx files")
    parser.add_argument("--peers", default=",".join(PEERS), help=f"by default {','.join(PEERS)}")
    parser.add_argument("--runs", type=int, default=RUNS, help=f"of each, by default {RUNS}")
    parser.add_argument("--timeout", type=float, default=TIMEOUT, help=f"seconds for one run, by default {TIMEOUT:.0f}")
    parser.add_argument("--work", type=Path, help="where results are written meanwhile; by default the system's folder")
    parser.add_argument("-o", dest="output", type=Path, help="the table as CSV")
    args = parser.parse_args()
    args.peers = args.peers.split(",")
    for name in args.peers:
        if name not in PEERS:
            parser.error(f"--peers: no '{name}'; there are {', '.join(PEERS)}")
        if importlib.util.find_spec(PEERS[name].package) is None:
            parser.error(f"{PEERS[name].package} is not installed: pip install gecc[bench], or leave it out of --peers")
    for path in args.models:
        if not path.is_file():
            parser.error(f"{path}: no such file")
    return args


# ------------------------------------------------------------------ one model


def _rows(model: Path, peers: Sequence[str], runs: int, timeout: float, folder: Path) -> list[Row]:
    nodes_before, bytes_before = _apart(model)
    found: dict[str, list[Run]] = {name: [] for name in peers}
    sizes: dict[str, tuple[int, int]] = {}
    _warm(model)
    for turn in range(runs):
        for name in (*peers[turn % len(peers) :], *peers[: turn % len(peers)]):
            if any(run.failure for run in found[name]):
                continue
            result = folder / "result.onnx"
            run = timed(PEERS[name].command(model.absolute(), result, bytes_before), timeout)
            if not run.failure and name not in sizes:
                try:
                    sizes[name] = _apart(result)
                except Exception as error:
                    run = Run(failure=f"what it wrote cannot be read: {error}")
            found[name].append(run)
            for left in folder.iterdir():
                left.unlink()
        print(f"{model.stem}: round {turn + 1} of {runs}", file=sys.stderr, flush=True)
    return [_row(name, found[name], sizes.get(name), (model.stem, nodes_before, bytes_before)) for name in peers]


def _row(peer: str, runs: Sequence[Run], size: tuple[int, int] | None, before: tuple[str, int, int]) -> Row:
    model, nodes_before, bytes_before = before
    failure = next((run.failure for run in runs if run.failure), "")
    good = [run for run in runs if not run.failure]
    nodes, size_after = size or (None, None)
    return Row(
        model,
        peer,
        nodes_before,
        bytes_before,
        nodes,
        size_after,
        statistics.median(run.seconds for run in good) if good else None,
        statistics.median(run.cpu for run in good) if good else None,
        max((run.anonymous for run in good), default=None),
        max((run.maxrss for run in good), default=None),
        len(good),
        failure,
    )


def timed(command: Sequence[str], timeout: float) -> Run:
    """Runs a command, with all that it starts, to its end; after `timeout` seconds it is ended."""
    with tempfile.TemporaryFile() as said:
        start = time.perf_counter()
        process = subprocess.Popen(command, stdout=said, stderr=said, stdin=subprocess.DEVNULL, start_new_session=True)
        peak, late = 0, False
        while True:
            pid, status, usage = os.wait4(process.pid, os.WNOHANG)
            if pid:
                break
            look = time.perf_counter()
            late = look - start > timeout
            if late:
                process.kill()
            peak = max(peak, sum(anonymous(each) for each in _family(process.pid)))
            time.sleep(max(INTERVAL, (time.perf_counter() - look) / LOOKING))
        seconds = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        failure = ""
        if process.returncode:
            said.seek(0)
            lines = said.read().decode(errors="replace").split("\n")
            last = next((line.strip() for line in reversed(lines) if line.strip()), f"exit code {process.returncode}")
            failure = f"took more than {timeout:.0f} s" if late else last
        return Run(seconds, usage.ru_utime + usage.ru_stime, peak, usage.ru_maxrss * 1024, failure)


def _family(pid: int) -> Iterable[int]:
    """A process and its descendants."""
    yield pid
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            children = task.read_text().split()
        except OSError:  # it is gone
            continue
        for child in children:
            yield from _family(int(child))


def _compile() -> None:
    """Compiles our modules, as pip has done with the peers': an editable install may have none compiled."""
    import compileall

    import gecc

    for top in gecc.__path__:
        for package in Path(top).glob("*/__init__.py"):
            compileall.compile_dir(package.parent, quiet=2)


def _warm(model: Path) -> None:
    """Reads the model once, so that no optimiser pays for the disk alone."""
    for path in (model, model.with_name(model.name + ".data")):
        if path.exists():
            with path.open("rb") as stream:
                while stream.read(1 << 24):
                    pass


def _apart(path: Path) -> tuple[int, int]:
    """`_facts`, in a process of its own."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(_facts, path).result()


def _facts(path: Path) -> tuple[int, int]:
    """Nodes of a model, those of its subgraphs included, and its bytes, those of its external data included."""
    import onnx
    from onnx.external_data_helper import uses_external_data

    from gecc.frontend import node_count

    model = onnx.load(path, load_external_data=False)
    tensors = (tensor for tensor in model.graph.initializer if uses_external_data(tensor))
    beside = {path.parent / each.value for tensor in tensors for each in tensor.external_data if each.key == "location"}
    return node_count(model), sum(each.stat().st_size for each in (path, *beside))


# ------------------------------------------------------------------ the table


def _show(rows: list[Row]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table()
    for name in ("model", "nodes", "MB", "by", "nodes", "MB", "s", "cpu s", "anon MB", "maxrss MB", "failure"):
        table.add_column(name, justify="left" if name in ("model", "by", "failure") else "right")
    fewest = _least(rows, "nodes")
    fastest = _least(rows, "seconds")
    for row in rows:
        table.add_row(
            row.model,
            str(row.nodes_before),
            f"{row.bytes_before / 1e6:.1f}",
            row.peer,
            _figure(row.nodes, "d", row.nodes == fewest[row.model]),
            _figure(None if row.bytes is None else row.bytes / 1e6, ".1f"),
            _figure(row.seconds, ".2f", row.seconds == fastest[row.model]),
            _figure(row.cpu, ".2f"),
            _figure(None if row.anonymous is None else row.anonymous / 1e6, ".0f"),
            _figure(None if row.maxrss is None else row.maxrss / 1e6, ".0f"),
            row.failure,
            end_section=row.peer == rows[-1].peer,
        )
    Console(width=None if sys.stdout.isatty() else 200).print(table)


def _least(rows: Iterable[Row], field: str) -> Mapping[str, float]:
    least: dict[str, float] = {}
    for row in rows:
        value = getattr(row, field)
        if value is not None:
            least[row.model] = min(value, least.get(row.model, value))
    return least


def _figure(value: float | None, form: str, best: bool = False) -> str:
    text = "" if value is None else format(value, form)
    return f"[bold]{text}[/bold]" if best and text else text


if __name__ == "__main__":
    sys.exit(main())
