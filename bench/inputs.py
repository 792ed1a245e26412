"""What the benches share: which models, sizes for their free dims, and calls in a process of their own."""

from __future__ import annotations

import argparse
import importlib.util
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import onnx

DIMS = {"batch": 2, "seq": 16, "past_seq": 8, "height": 64, "width": 64}
OTHER_DIM = 2

DTYPES = {"fp16": "force_fp16", "fp32": ""}
"""The precision mode that makes a model so."""

LIMIT = 1_900_000_000
"""Bytes of weights above which a model needs external data."""


def add_models(parser: argparse.ArgumentParser) -> None:
    """The words that say which models, and sizes for their free dims."""
    parser.add_argument("files", nargs="*", type=Path, help=".onnx files")
    parser.add_argument("--models", type=Path, help="a folder with *.stripped.onnx and rehydrate.py")
    parser.add_argument("--work", type=Path, help="where those are made whole, once")
    parser.add_argument("--dim", action="append", default=[], metavar="NAME=N", help=f"a free dim; by default {DIMS}")


def models(args: argparse.Namespace) -> Iterator[Path]:
    yield from args.files
    if args.models:
        spec = importlib.util.spec_from_file_location("rehydrate", args.models / "rehydrate.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        for path in sorted(args.models.glob("*.stripped.onnx")):
            whole = args.work / f"{path.name.removesuffix('.stripped.onnx')}.onnx"
            if not whole.exists():
                told = {p.key: p.value for p in onnx.load(path, load_external_data=False).metadata_props}
                module.rehydrate(path, whole, external_data=int(told["stripped_bytes"]) > LIMIT)
            yield whole


def dims_of(args: argparse.Namespace) -> dict[str, int]:
    return DIMS | {name: int(size) for name, _, size in (each.partition("=") for each in args.dim)}


def input_shapes(path: Path, dims: Mapping[str, int], other: int) -> dict[str, list[int]]:
    """Of the inputs that have free dims; `dims` by symbol, `other` for the rest."""
    graph = onnx.load(path, load_external_data=False).graph
    constants = {tensor.name for tensor in graph.initializer}
    shapes: dict[str, list[int]] = {}
    for info in graph.input:
        declared = info.type.tensor_type.shape.dim
        if info.name not in constants and any(not d.HasField("dim_value") for d in declared):
            sizes = (d.dim_value if d.HasField("dim_value") else dims.get(d.dim_param, other) for d in declared)
            shapes[info.name] = list(sizes)
    return shapes


def optimised(path: Path, shapes: Mapping[str, list[int]], dtype: str = "fp32", *, op_fusion: bool = True) -> Any:
    """A model with these input shapes, after `-O3`, in fp32 as it comes or in fp16."""
    from gecc.driver.instrument import run_or_tell
    from gecc.driver.phases import plan
    from gecc.driver.registry import default_registry
    from gecc.frontend import import_model
    from gecc.transforms.shape.bind import bind_shapes

    registry = default_registry(lambda text: None)

    def read() -> Any:
        module = import_model(path)
        bind_shapes(module, shapes)
        return module

    module = read()
    mode = DTYPES[dtype]
    options = {"precision": {"mode": mode, "interface": True}} if mode else {}
    switches = {"precision": bool(mode), "op-fusion": op_fusion}
    run_or_tell(registry.context(), module, plan(registry, 3, switches, options), read)
    return module


def apart(function: Callable[..., Any], *args: Any) -> Any:
    """A call in a process of its own: what one model takes is gone before the next one."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(function, *args).result()
