"""
How many kernels does a model take, before and after fusion, and what has become of its parts?

    python bench/fusion.py resnet50.onnx bert.onnx -o rows.csv
    python bench/fusion.py *.onnx --openvino=/opt/openvino/bin/python        # a Python that has it

A kernel is what would be launched: every op but constants, views (Reshape, Squeeze, ...), Shape, and whole numbers of
rank 0 or 1, which are arithmetic on shapes. A fusion is one kernel where it holds one product or convolution at most,
or is attention (two products with a softmax between them); else it is as many as it holds products. ONNX Runtime's and
OpenVINO's graphs are counted after their own fusions by the same rule, a node a kernel. What a part is (Gelu, ...) is
told by the ops in a fusion's body, never by its name.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import onnx
from measure import write_rows

VIEWS = ("Reshape", "Squeeze", "Unsqueeze", "Flatten", "Identity", "Dropout")
NO_KERNELS = ("Constant", "Shape", *VIEWS)
PARTS = (
    "Attention", "Softmax", "LayerNormalization", "ChannelNormalization", "RMSNormalization", "GroupNormalization",
    "InstanceNormalization", "Gelu", "FastGelu", "QuickGelu", "SwiGLU",
)  # fmt: skip
LONE = ("Relu", "Clip", "LeakyRelu", "Sigmoid", "HardSwish", "HardSigmoid", "Mish", "PRelu", "Silu", "Gelu", "FastGelu")
"""Activations that are worth a column where they stand in a kernel without a product."""


@dataclass
class Row:
    """
    source     kernels of the model as it is
    simplified of -O3 without fusion
    fused      of -O3
    seconds    op-fusion alone, of the processor
    parts      what the fusions and single ops are: "LayerNormalization 25, Gelu 12"
    lone       activations that are in no kernel with a product
    """

    model: str
    source: int = 0
    simplified: int = 0
    fused: int = 0
    onnxruntime: int | None = None
    openvino: int | None = None
    seconds: float = 0.0
    parts: str = ""
    lone: str = ""
    failure: str = ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path, help=".onnx files")
    parser.add_argument(
        "--openvino", metavar="PYTHON", help="a Python that has openvino; by default this one, if it has"
    )
    parser.add_argument("--aggressive", action="store_true", help="fusion as GE_FUSION_RULE=2")
    parser.add_argument("-o", dest="output", type=Path, help="the table as CSV")
    args = parser.parse_args()
    rows: list[Row] = []
    for path in args.files:
        rows.append(_row(path, args))
        print(f"{rows[-1].model}: {rows[-1].failure or 'ok'}", file=sys.stderr, flush=True)
        if args.output:
            write_rows(rows, args.output)
    _show(rows)
    return 1 if any(row.failure for row in rows) else 0


def _row(path: Path, args: argparse.Namespace) -> Row:
    row = Row(path.stem)
    try:
        row.source = _apart(_nodes_of_file, str(path))
        row.simplified, row.fused, row.seconds, row.parts, row.lone = _apart(_ours, str(path), args.aggressive)
        row.onnxruntime = _apart(_onnxruntime, str(path))
        row.openvino = _openvino(args.openvino or sys.executable, path)
    except Exception as error:
        row.failure = " ".join(str(error).split()) or type(error).__name__
    return row


def _apart(function: Callable[..., Any], *args: Any) -> Any:
    """A call in a process of its own: what one model takes is gone before the next one."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(function, *args).result()


# ------------------------------------------------------------------ ONNX files


def _nodes_of_file(path: str) -> int:
    return kernels_of_graph(onnx.load(path, load_external_data=False).graph)


def kernels_of_graph(graph: onnx.GraphProto) -> int:
    """Of an ONNX graph, the bodies of its nodes included."""
    types = {info.name: info.type for info in (*graph.value_info, *graph.output, *graph.input)}
    found = 0
    for node in graph.node:
        bodies = [a.g for a in node.attribute if a.HasField("g")]
        found += sum(map(kernels_of_graph, bodies))
        known = [types[name].tensor_type for name in node.output if name in types]
        of_shapes = len(known) == len(node.output) and all(
            t.elem_type == onnx.TensorProto.INT64 and t.HasField("shape") and len(t.shape.dim) < 2 for t in known
        )
        found += node.op_type not in NO_KERNELS and not of_shapes and not bodies
    return found


def _onnxruntime(path: str) -> int:
    """After ONNX Runtime's extended optimisations."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    with tempfile.TemporaryDirectory(prefix="gecc-bench-") as folder:
        options.optimized_model_filepath = str(Path(folder) / "optimised.onnx")
        prefix = "session.optimized_model_external_initializers_"
        options.add_session_config_entry(f"{prefix}file_name", "optimised.onnx.data")
        options.add_session_config_entry(f"{prefix}min_size_in_bytes", "1024")
        onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        return _nodes_of_file(options.optimized_model_filepath)


OPENVINO = """
import json, sys
import openvino

def kind(op):
    info = op.get_rt_info()
    return info["layerType"].astype(str) if "layerType" in info else op.get_type_name()

def outputs(op):
    return [[str(o.get_element_type()), o.get_partial_shape().rank.get_length()] for o in op.outputs()]

compiled = openvino.Core().compile_model(sys.argv[1], "CPU")
found, constant = [], set()
for op in compiled.get_runtime_model().get_ordered_ops():
    inputs = [value.get_source_output().get_node().get_friendly_name() for value in op.inputs()]
    if kind(op) == "Const" or inputs and all(name in constant for name in inputs):
        constant.add(op.get_friendly_name())  # weights are put in order once
    else:
        found.append([kind(op), outputs(op)])
print(json.dumps(found))
"""
NO_KERNELS_THERE = (
    "Input",
    "Output",
    "Constant",
    "Const",
    "Reshape",
    "ShapeOf",
    "Parameter",
    "Result",
    "Squeeze",
    "Unsqueeze",
)


def _openvino(python: str, path: Path) -> int | None:
    """After OpenVINO has compiled the model for the CPU; None where it is not installed or refuses the model."""
    run = subprocess.run([python, "-c", OPENVINO, str(path)], capture_output=True, text=True)
    if run.returncode:
        return None
    ops: list[tuple[str, list[tuple[str, int]]]] = json.loads(run.stdout.strip().splitlines()[-1])
    return sum(kind not in NO_KERNELS_THERE and not _are_shapes(outputs) for kind, outputs in ops)


def _are_shapes(outputs: Sequence[tuple[str, int]]) -> bool:
    return all("int" in element and rank < 2 for element, rank in outputs)


# ------------------------------------------------------------------ ours


def _ours(path: str, aggressive: bool) -> tuple[int, int, float, str, str]:
    from gecc.driver import load_module
    from gecc.driver.phases import plan
    from gecc.driver.pipeline import run
    from gecc.driver.registry import default_registry
    from gecc.transforms.fusion.op_fusion import OpFusion

    registry = default_registry(lambda text: None)
    context = registry.context()
    module = load_module(Path(path), context)
    run(context, module, plan(registry, switches={"op-fusion": False}))
    before = sum(kernels_of(op) for op in _launched(module))
    start = time.process_time()
    OpFusion(mode="aggressive" if aggressive else "conservative").apply(context, module)
    seconds = time.process_time() - start
    parts, lone = _parts(module)
    after = sum(kernels_of(op) for op in _launched(module))
    return before, after, seconds, _listed(parts), _listed(lone)


def _launched(module: Any) -> Iterator[Any]:
    """The ops of all functions and of bodies that are no fusions'."""
    from gecc.transforms.rewriting import functions, walk_outside

    for function in functions(module):
        yield from walk_outside(function)


def kernels_of(op: Any) -> int:
    """How many kernels an op of ours is."""
    from xdsl.dialects.builtin import TensorType, i64
    from xdsl.traits import IsTerminator

    from gecc.dialects.ge.bodies import FusionOp
    from gecc.dialects.ge.constants import ConstantOp
    from gecc.dialects.ge.interfaces import View
    from gecc.dialects.ge.shape import ShapeOp
    from gecc.dialects.ge.types import shape_of

    if isinstance(op, FusionOp):
        return 1 if is_attention(op) else max(1, len(_products(op)))
    if isinstance(op, ConstantOp | View | ShapeOp) or op.regions or op.has_trait(IsTerminator):
        return 0
    types = [r.type for r in op.results]
    ranked = all(isinstance(t, TensorType) and t.element_type == i64 for t in types)
    return 0 if ranked and all(len(shape_of(t)) < 2 for t in types) else 1


def _products(fusion: Any) -> list[Any]:
    from gecc.dialects.ge.interfaces import Contraction

    return [op for op in fusion.body.block.ops if isinstance(op, Contraction)]


def is_attention(fusion: Any) -> bool:
    """Whether a fusion's body is two products with a softmax between them."""
    from gecc.transforms.fusion.catalogue.parts import parts_of

    products = _products(fusion)
    if len(products) != 2:
        return False
    body = list(fusion.body.block.ops)
    first, second = (body.index(one) for one in products)
    found = [part for name, part in parts_of(body[:-1]) if name == "Softmax"]
    return any(first < body.index(one) < second for part in found for one in part)


def _parts(module: Any) -> tuple[Counter[str], Counter[str]]:
    from gecc.dialects.ge.bodies import FusionOp
    from gecc.transforms.fusion.catalogue.parts import parts_of

    parts, lone = Counter[str](), Counter[str]()
    for op in _launched(module):
        body = list(op.body.block.ops)[:-1] if isinstance(op, FusionOp) else [op]
        if not body or not all(one.results for one in body):
            continue
        held = parts_of(body)
        names = [name for name, _ in held]
        if isinstance(op, FusionOp) and is_attention(op):
            names = ["Attention", *(name for name in names if name in PARTS)]
        if _gates(held):
            names = ["SwiGLU"]
        parts.update(name for name in names if name in PARTS)
        if not isinstance(op, FusionOp) or not _products(op):
            lone.update(name for name in names if name in LONE)
    return parts, lone


def _gates(parts: Sequence[tuple[str, Sequence[Any]]]) -> bool:
    """Whether a SiLU is multiplied by something else that is no constant."""
    from gecc.transforms.fusion.fusion import is_constant

    silus = {part[0].results[0] for name, part in parts if name == "Silu"}
    products = [set(part[0].operands) for name, part in parts if name == "Mul"]
    return any(of & silus and not any(map(is_constant, of)) for of in products)


def _listed(counts: Counter[str]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.most_common())


# ------------------------------------------------------------------ the table


def _show(rows: list[Row]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table()
    for name in (
        "model",
        "source",
        "-O3 unfused",
        "-O3",
        "ORT",
        "OpenVINO",
        "s",
        "parts",
        "lone activations",
        "failure",
    ):
        table.add_column(name, justify="left" if name in ("model", "parts", "lone activations", "failure") else "right")
    for row in rows:
        peers = ["" if count is None else str(count) for count in (row.onnxruntime, row.openvino)]
        counts = [str(count) for count in (row.source, row.simplified, row.fused)]
        table.add_row(row.model, *counts, *peers, f"{row.seconds:.2f}", row.parts, row.lone, row.failure)
    Console(width=None if sys.stdout.isatty() else 200).print(table)


if __name__ == "__main__":
    sys.exit(main())
