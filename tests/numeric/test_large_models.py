"""Models over 2 GB: more than one protobuf message holds, and more than should be in memory at once."""

import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

pytestmark = pytest.mark.slow

LAYERS, WIDTH = 36, 4096  # 36 * 64 MiB = 2.4 GB
LIMIT = 300_000_000


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A chain of products with weights in an external file, every other one transposed."""
    folder = tmp_path_factory.mktemp("large")
    base = np.random.default_rng(0).standard_normal((WIDTH, WIDTH), np.float32) / 64
    nodes: list[onnx.NodeProto] = []
    weights: list[onnx.TensorProto] = []
    last, size = "x", base.nbytes
    with (folder / "m.onnx.data").open("wb") as data:
        for k in range(LAYERS):
            data.write((base + np.float32(k / 1000)).data)
            place = {"location": "m.onnx.data", "offset": k * size, "length": size}
            entries = [onnx.StringStringEntryProto(key=key, value=str(value)) for key, value in place.items()]
            weights.append(TensorProto(name=f"w{k}", data_type=1, dims=base.shape, data_location=1))
            weights[-1].external_data.extend(entries)
            source = f"w{k}"
            if k % 2:
                nodes.append(helper.make_node("Transpose", [source], [f"t{k}"], perm=[1, 0]))
                source = f"t{k}"
            nodes.append(helper.make_node("MatMul", [last, source], [f"m{k}"]))
            nodes.append(helper.make_node("Tanh", [f"m{k}"], [f"r{k}"]))
            last = f"r{k}"
    info = helper.make_tensor_value_info
    graph = helper.make_graph(nodes, "g", [info("x", 1, [1, WIDTH])], [info(last, 1, [1, WIDTH])], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), folder / "m.onnx")
    return folder / "m.onnx"


def test_in_and_out_in_little_memory(model: Path):
    out = model.with_name("out.onnx")
    subprocess.run([Path(sys.executable).parent / "ge", f"--model={model}", f"--output={out}"], check=True)
    found = onnx.load(out, load_external_data=False)
    assert [n.op_type for n in found.graph.node] == ["MatMul", "Tanh"] * LAYERS
    data = np.memmap(model.with_name("m.onnx.data"), np.float32, mode="r").reshape(LAYERS, WIDTH, WIDTH)
    written = np.memmap(out.with_name("out.onnx.data"), np.float32, mode="r")
    for tensor in found.graph.initializer:
        place = {entry.key: entry.value for entry in tensor.external_data}
        at = int(place["offset"]) // 4
        k = int(tensor.name[1:])
        same = written[at : at + WIDTH * WIDTH].reshape(WIDTH, WIDTH)
        assert np.array_equal(same[:3], data[k].T[:3] if k % 2 else data[k][:3])


def test_anonymous_memory_is_bounded(model: Path):
    """With less address space for data than the weights take, it works all the same: they are mapped and streamed."""

    def bounded() -> None:
        resource.setrlimit(resource.RLIMIT_DATA, (LIMIT, LIMIT))

    command = [Path(sys.executable).parent / "ge", f"--model={model}", f"--output={model.with_name('out.onnx')}"]
    subprocess.run(command, check=True, preexec_fn=bounded, env={"OPENBLAS_NUM_THREADS": "1"})
