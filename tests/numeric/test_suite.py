"""What must hold of every model, of the whole suite: once is enough, there and back, and MLIR's own tools read it."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import GraphProto, ModelProto, ValueInfoProto
from xdsl.dialects.builtin import ModuleOp

from gecc.dialects.ge.errors import InputError
from gecc.dialects.ge.text import module_text, parse_module
from gecc.driver.phases import plan
from gecc.driver.pipeline import run
from gecc.driver.registry import Registry, default_registry
from gecc.frontend import export_model, import_model, materialise, node_count

from .suite import PARTS, sources


def mlir_opt() -> str | None:
    """On PATH, or of the extra `mlir`, which puts it beside its Python package."""
    package = find_spec("mlir")
    beside = [str(Path(place) / "bin") for place in (package.submodule_search_locations or ())] if package else []
    return shutil.which("mlir-opt") or shutil.which("mlir-opt", path=os.pathsep.join(beside))


MLIR_OPT = mlir_opt()
in_parts = pytest.mark.parametrize("part", range(PARTS))


RENAMED = {"node/test_linear_attention_delta_expanded"}
"""Where a constant stands both in a body and around it, and the one that is read first has the name."""


@cache
def registry() -> Registry:
    return default_registry(pytest.fail)


def optimised(module: ModuleOp, memory: bool = False) -> ModuleOp:
    run(registry().context(), module, plan(registry(), memory=memory))
    return module


# ---------------------------------------------------------------------- once is enough


@in_parts
def test_o3_twice_is_o3(part: int):
    for name, source in sources(part):
        module = optimised(import_model(source))
        text = module_text(module)
        assert module_text(optimised(parse_module(registry().context(), text, name))) == text, name
        if name in RENAMED:
            continue
        once = materialise(export_model(module))
        assert told(materialise(export_model(optimised(import_model(once))))) == told(once), f"{name}, by ONNX"


def told(model: ModelProto) -> list[Any]:
    """A model without the order of its constants and what it says of values in between."""
    graph = GraphProto()
    graph.CopyFrom(model.graph)
    constants = sorted((t.name, t.SerializeToString()) for t in graph.initializer)
    graph.ClearField("initializer")
    graph.ClearField("value_info")
    return [graph, constants, list(model.opset_import), sorted(p.key for p in model.metadata_props)]


DIGESTS = """
import sys
from pathlib import Path
sys.path.insert(0, str(Path(sys.argv[1]).parent))
import hashlib, json
from numeric.test_suite import module_text, optimised, import_model, sources
texts = {name: module_text(optimised(import_model(model))) for name, model in sources(int(sys.argv[2]), 4)}
lines = {name: [line for line in text.splitlines() if "ge.weights" not in line] for name, text in texts.items()}
print(json.dumps({name: hashlib.sha256("\\n".join(found).encode()).hexdigest() for name, found in lines.items()}))
"""
"""Of texts but for the paths of temporary files."""


def test_two_processes_write_the_same():
    """With other seeds for the hashes of strings, the order of sets is another one."""
    running = [
        subprocess.Popen(
            [sys.executable, "-c", DIGESTS, str(Path(__file__).parent), "3"],
            env={**os.environ, "PYTHONHASHSEED": seed},
            stdout=subprocess.PIPE,
            text=True,
        )
        for seed in ("1", "2")
    ]
    first, second = (json.loads(process.communicate()[0]) for process in running)
    assert len(first) > 500
    assert {name: digest for name, digest in first.items() if second[name] != digest} == {}


# ---------------------------------------------------------------------- there and back


@in_parts
def test_import_and_export_without_a_pass(part: int):
    for name, source in sources(part):
        model = onnx.load(source) if isinstance(source, Path) else source
        if model.functions:
            continue  # their bodies stand where they are called
        again = materialise(export_model(import_model(source)))
        assert node_count(again) <= node_count(model), name
        assert declared(again.graph) == declared(model.graph), name
        assert (again.graph.name, again.doc_string) == (model.graph.name or "main", model.doc_string), name
        kept = {(p.key, p.value) for p in again.metadata_props if p.key != "gecc.source_producer"}
        assert kept == {(p.key, p.value) for p in model.metadata_props}, name
        assert described(again.graph) == described(model.graph), name


def declared(graph: GraphProto) -> list[Any]:
    """Inputs and outputs; an empty doc string is none."""
    found = [ValueInfoProto.FromString(info.SerializeToString()) for info in (*graph.input, *graph.output)]
    for info in found:
        if not info.doc_string:
            info.ClearField("doc_string")
    return found


def described(graph: GraphProto) -> list[tuple[Any, ...]]:
    """The nodes that do work, with all their names; what is in their bodies after each."""
    found: list[tuple[Any, ...]] = []
    for node in graph.node:
        if node.op_type != "Constant":
            outputs = [name for name in node.output if name]
            found.append((node.op_type, node.name, outputs, node.doc_string, list(node.metadata_props)))
            for attribute in sorted(node.attribute, key=lambda a: a.name):
                found += described(attribute.g)
    return found


# ---------------------------------------------------------------------- other tools


def stages(source: ModelProto | Path) -> Iterator[tuple[str, ModuleOp]]:
    module = import_model(source)
    yield "read", module
    yield "optimised", optimised(module)
    try:
        yield "in memory", optimised(module, memory=True)
    except InputError as refusal:
        assert "memory is planned for static shapes" in str(refusal)  # noqa: PT017 - a generator's own


@pytest.mark.skipif(MLIR_OPT is None, reason="no mlir-opt, neither on PATH nor of the extra mlir")
@in_parts
def test_mlir_opt_reads_the_generic_form(part: int, tmp_path: Path):
    text, starts = "", []
    for name, source in sources(part):
        for stage, module in stages(source):
            starts.append((text.count("\n"), f"{name}, {stage}"))
            text += module_text(module, generic=True) + "// -----\n"
    path = tmp_path / "generic.mlir"
    path.write_text(text)
    assert MLIR_OPT is not None
    command = [MLIR_OPT, "--allow-unregistered-dialect", "--split-input-file", path, "-o", os.devnull]
    errors = subprocess.run(command, capture_output=True, text=True).stderr
    lines = [(int(row), problem) for row, problem in re.findall(r"generic\.mlir:(\d+):\d+: error: (.*)", errors)]
    at = np.searchsorted([start for start, _ in starts], [row - 1 for row, _ in lines], side="right")
    assert [(starts[k - 1][1], problem) for k, (_, problem) in zip(at, lines, strict=True)] == []
    assert not errors
