"""The scripts end at once, but not before what was registered for the end."""

import subprocess
import sys
from pathlib import Path

import numpy as np
from onnx import TensorProto, helper, numpy_helper

BIN = Path(sys.executable).parent


def test_temporary_files_are_gone_and_the_output_is_whole(tmp_path: Path):
    scratch, out = tmp_path / "scratch", tmp_path / "out.onnx"
    scratch.mkdir()
    weight = numpy_helper.from_array(np.ones((64, 64), np.float32), "w")
    info = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [4, 64]) for name in ("x", "y")]
    graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"])], "g", info[:1], info[1:], [weight])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    run = subprocess.run(
        [BIN / "ge-opt", "-O3", "-o", out], input=model.SerializeToString(), env={"TMPDIR": str(scratch)}, check=True
    )
    assert run.returncode == 0
    assert out.stat().st_size > 64 * 64 * 4
    assert list(scratch.iterdir()) == []


def test_exit_codes_and_output_come_through():
    run = subprocess.run([BIN / "ge-opt", "--no-such-pass"], capture_output=True, text=True)
    assert run.returncode == 2
    assert "no pass 'no-such-pass'" in run.stderr
    assert subprocess.run([BIN / "ge", "--version"], capture_output=True, text=True).stdout.startswith("ge ")
