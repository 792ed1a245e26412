"""
Whole models run in one arena, poisoned before each use, and compute what they do on tensors, bit for bit: twice with
other inputs each time, and again in an arena that is not cleaned in between.
"""

import warnings
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import ModelProto, numpy_helper

from gecc.dialects.ge.errors import InputError
from gecc.driver.phases import plan
from gecc.driver.pipeline import run as run_passes
from gecc.driver.registry import default_registry
from gecc.frontend import import_model
from gecc.reference import make_inputs, run
from gecc.tools.comparison import same_bits
from gecc.transforms.memory.ge_bufferize import GeBufferize
from gecc.transforms.memory.memory_reuse import MemoryReuse
from gecc.transforms.shape.bind import bind_shapes

from .poisoned import CONTEXT, check_in_one_arena, on_buffers
from .whole_models import names, whole

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from onnx.backend.test.loader import load_model_tests

REGISTRY = default_registry(pytest.fail)
DIMS = {"batch": 2, "seq": 16}
SHARED = Path(__file__).parents[3] / "shared" / "cases"
needs_cases = pytest.mark.skipif(not SHARED.is_dir(), reason=f"no {SHARED}: what optimisers got wrong")


@pytest.mark.parametrize("level", [0, 3])
@pytest.mark.parametrize("name", names())
def test_real_graphs(name: str, level: int):
    proto = whole(name)
    module = import_model(proto)
    free = {i.name: [d.dim_value or DIMS[d.dim_param] for d in i.type.tensor_type.shape.dim] for i in proto.graph.input}
    bind_shapes(module, free)
    run_passes(CONTEXT, module, plan(REGISTRY, level))
    bufferized = check_in_one_arena(module, [make_inputs(module, seed) for seed in (0, 1)])
    assert on_buffers(bufferized) == "memrefs"


@pytest.mark.parametrize("strategy", ["conservative", "aggressive"])
@pytest.mark.parametrize("name", ["lstm-tagger", "mobilenetv3", "t5-encoder", "unet"])
def test_real_graphs_by_other_strategies(name: str, strategy: Any):
    proto = whole(name)
    module = import_model(proto)
    free = {i.name: [d.dim_value or DIMS[d.dim_param] for d in i.type.tensor_type.shape.dim] for i in proto.graph.input}
    bind_shapes(module, free)
    passes = (GeBufferize(), MemoryReuse(strategy=strategy, alignment=32))
    check_in_one_arena(module, [make_inputs(module, seed) for seed in (0, 1)], passes)


@pytest.mark.filterwarnings("ignore")  # of its own arithmetic, and numpy's
def test_the_cases_of_the_onnx_package(capsys: pytest.CaptureFixture[str]):
    """What cannot run on tensors, or is random, is no case; the rest is counted by how much of it is on buffers."""
    counts: Counter[str] = Counter()
    wrong: list[str] = []
    for case in onnx_cases():
        try:
            counts[_outcome(case.model, case.inputs)] += 1
        except Exception as error:
            wrong.append(f"{case.name}: {error}")
    with capsys.disabled():
        print("", ", ".join(f"{what} {count}" for what, count in counts.most_common()), end=" ")
    assert not wrong, "\n".join(wrong)
    assert counts["memrefs"] >= 1300
    assert counts["memrefs"] + counts["cut"] >= 1550


@needs_cases
@pytest.mark.filterwarnings("ignore")
def test_what_optimisers_got_wrong():
    counts: Counter[str] = Counter()
    for path in sorted(SHARED.glob("*.onnx")):
        with np.load(path.with_suffix(".npz")) as arrays:
            inputs = {name[2:]: arrays[name] for name in arrays.files if name.startswith("0@")}
        counts[_outcome(onnx.load(path), inputs)] += 1
    assert counts["memrefs"] >= 30


class Case:
    def __init__(self, name: str, model: ModelProto, inputs: Mapping[str, Any]) -> None:
        self.name, self.model, self.inputs = name, model, inputs


def onnx_cases() -> Iterator[Case]:
    for kind in ("node", "simple", "pytorch-operator", "pytorch-converted"):
        for case in load_model_tests(kind=kind):
            if case.model is not None:
                model, values = case.model, [_array(x) for x in case.data_sets[0][0]]
            else:
                folder = Path(case.model_dir)
                model = onnx.load(folder / "model.onnx")
                files = [folder / "test_data_set_0" / f"input_{k}.pb" for k in range(len(model.graph.input))]
                values = [_read(*pair) for pair in zip(files, model.graph.input, strict=True) if pair[0].exists()]
            yield Case(case.name, model, dict(zip((i.name for i in model.graph.input), values, strict=False)))


def _array(value: Any) -> Any:
    return numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else value


def _read(file: Path, info: onnx.ValueInfoProto) -> Any:
    data = file.read_bytes()
    if info.type.WhichOneof("value") == "sequence_type":
        return numpy_helper.to_list(onnx.SequenceProto.FromString(data))
    return numpy_helper.to_array(onnx.TensorProto.FromString(data))


RANDOM = {"Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"}


def _is_random(model: ModelProto) -> bool:
    """Told by its operators: two runs that draw a few truth values may draw the same."""
    nodes = [*model.graph.node, *(node for function in model.functions for node in function.node)]
    return any(node.op_type in RANDOM for node in nodes)


def _outcome(model: ModelProto, inputs: Mapping[str, Any]) -> str:
    """How much of a model is on buffers, once it has run there."""
    try:
        module = import_model(model)
        first, again = run(module, inputs), run(module, inputs)
    except InputError:
        return "not run on tensors"
    if _is_random(model) or not all(same_bits(first[name], again[name]) for name in first):
        return "random"
    others = [inputs]
    other = {name: _rolled(value) for name, value in inputs.items()}
    if _shapes(run(module, other)) == _shapes(first):
        others.append(other)
    try:
        return on_buffers(check_in_one_arena(module, others))
    except InputError as error:
        if "static shapes" in str(error):
            return "free dims"
        raise


def _shapes(outputs: Mapping[str, Any]) -> dict[str, Any]:
    return {name: getattr(value, "shape", None) for name, value in outputs.items()}


def _rolled(value: Any) -> Any:
    """Other floats of the same kind: the elements, each one place on. Whole numbers may be shapes and indices."""
    return np.roll(value, 1) if isinstance(value, np.ndarray) and value.dtype.kind == "f" else value
