"""
What must be linear: a chain of 5,000 and of 50,000 nodes, pass by pass, and the import of a model of many gigabytes.

    python bench/scale.py                                   # the chain
    python bench/scale.py --large gpt2xl.onnx               # import and print of one model, seconds and memory

Seconds are the processor's, so that what else runs on the machine does not count. The chain repeats MatMul, Add, Relu
and a residual Add on 8 x 8, each layer with weights of its own, so that every pass has something to look at.
"""

from __future__ import annotations

import argparse
import gc
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import onnx
from measure import measured, tool
from onnx import TensorProto, helper, numpy_helper

SIZES = (5_000, 50_000)
MOST = 12.0
"""The most that ten times the nodes may take, as a multiple."""

LEAST = 0.05
"""Seconds below which a ratio is noise."""

T = TypeVar("T")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--large", type=Path, help="an .onnx file, with its external data")
    parser.add_argument("--sizes", type=int, nargs=2, default=SIZES, metavar="N", help=f"by default {SIZES}")
    parser.add_argument("--memory", action="store_true", help="the chain on to buffers in one arena too")
    args = parser.parse_args()
    return _large(args.large) if args.large else _chains(*args.sizes, args.memory)


def chain(count: int) -> onnx.ModelProto:
    """A model of `count` nodes, one after the other."""
    random = np.random.default_rng(0)
    nodes: list[onnx.NodeProto] = []
    constants: list[onnx.TensorProto] = []
    last = residual = "x"
    for k in range(count):
        name = f"v{k}"
        match k % 4:
            case 0:
                residual = last
                weight = (random.standard_normal((8, 8)) / 4).astype(np.float32)
                constants.append(numpy_helper.from_array(weight, f"w{k}"))
                node = helper.make_node("MatMul", [last, f"w{k}"], [name], name=f"MatMul_{k}")
            case 1:
                constants.append(numpy_helper.from_array(random.standard_normal(8).astype(np.float32), f"w{k}"))
                node = helper.make_node("Add", [last, f"w{k}"], [name], name=f"Add_{k}")
            case 2:
                node = helper.make_node("Relu", [last], [name], name=f"Relu_{k}")
            case _:
                node = helper.make_node("Add", [last, residual], [name], name=f"Residual_{k}")
        nodes.append(node)
        last = name
    info = helper.make_tensor_value_info
    inputs, outputs = [info("x", TensorProto.FLOAT, [4, 8])], [info(last, TensorProto.FLOAT, [4, 8])]
    graph = helper.make_graph(nodes, "chain", inputs, outputs, constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def _chains(small: int, large: int, memory: bool) -> int:
    from rich.console import Console
    from rich.table import Table

    allowed = MOST * (large / small) / (SIZES[1] / SIZES[0])
    few, many = _timed(small, memory), _timed(large, memory)
    table = Table()
    for name in ("pass", f"{small:,} nodes, s", f"{large:,} nodes, s", "ratio"):
        table.add_column(name, justify="left" if name == "pass" else "right")
    slow = False
    for name, after in many.items():
        before = few.get(name, 0.0)
        ratio = after / max(before, LEAST / 10)
        over = ratio > allowed and after > LEAST
        slow = slow or over
        table.add_row(name, f"{before:.3f}", f"{after:.3f}", f"{ratio:.1f}{' too much' if over else ''}")
    Console().print(table)
    return 1 if slow else 0


def _timed(count: int, memory: bool) -> dict[str, float]:
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(seconds, count, memory).result()


def seconds(count: int, memory: bool) -> dict[str, float]:
    """The processor's seconds for a chain of `count` nodes: reading, each pass, printing, parsing, exporting, all."""
    from gecc.driver import load_module, save_module
    from gecc.driver.diagnostics import COLLECT
    from gecc.driver.phases import plan
    from gecc.driver.pipeline import Watcher, run
    from gecc.driver.registry import default_registry

    took: dict[str, float] = {}

    def timed(what: str, function: Callable[..., T], *args: Any) -> T:
        start = time.process_time()
        result = function(*args)
        took[what] = time.process_time() - start
        return result

    class Passes(Watcher):
        start = 0.0

        def before(self, one: Any, module: Any) -> None:
            self.start = time.process_time()

        def after(self, one: Any, module: Any, report: Any, seconds: float) -> None:
            took[one.name] = took.get(one.name, 0.0) + time.process_time() - self.start

    gc.set_threshold(*COLLECT)
    registry = default_registry(lambda text: None)
    context, tensors, buffers = registry.context(), plan(registry), plan(registry, memory=True)
    with tempfile.TemporaryDirectory(prefix="gecc-bench-") as folder:
        source, text, target = (Path(folder) / name for name in ("chain.onnx", "out.mlir", "out.onnx"))
        onnx.save(chain(count), source)
        begin = time.process_time()
        module = timed("import and verify", load_module, source, context)
        run(context, module, tensors, [Passes()])
        timed("export and write", save_module, module, target)
        if memory:
            run(context, module, buffers, [Passes()])
        timed("print", save_module, module, text)
        timed("parse and verify", load_module, text, context)
        took["in all"] = time.process_time() - begin
    return took


def _large(path: Path) -> int:
    with tempfile.TemporaryDirectory(prefix="gecc-bench-") as folder:
        run = measured(tool("ge_opt", str(path)), stdout=Path(folder) / "out.mlir")
        if run.code:
            sys.exit(run.error)
        size = (Path(folder) / "out.mlir").stat().st_size
    print(f"{path.name}: import and print {run.seconds:.1f} s, peak anonymous memory {run.peak / 1e6:.0f} MB")
    print(f"  {size / 1e6:.1f} MB of text")
    return 0


if __name__ == "__main__":
    sys.exit(main())
