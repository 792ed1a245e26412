"""`ge --precision_report=` and `--precision_keep=` on a small model."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from gecc.tools.ge import main


@pytest.fixture
def model(tmp_path: Path) -> str:
    nodes = [
        helper.make_node("Mul", ["x", "large"], ["far"], name="far"),
        helper.make_node("Softmax", ["far"], ["y"], name="last"),
    ]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 4])],
        [numpy_helper.from_array(np.array([5e4, 1e5, 2e5, 3e5], np.float32), "large")],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), tmp_path / "m.onnx")
    return str(tmp_path / "m.onnx")


def test_a_report(model: str, tmp_path: Path):
    words = [f"--model={model}", f"--output={tmp_path}/out", "--precision_mode=force_fp16"]
    assert main([*words, f"--precision_report={tmp_path}/r.csv"]) == 0
    assert (tmp_path / "r.csv").read_text().splitlines()[1].startswith("far,Mul,f16,")
    assert (tmp_path / "out.onnx").exists()


def test_a_keep_list_that_is_searched_and_used_again(model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    np.savez(tmp_path / "in.npz", x=np.array([[1, 0.5, 1 / 3, 0.26]], np.float32))
    words = [f"--model={model}", "--precision_mode=force_fp16", f"--precision_inputs={tmp_path}/in.npz"]
    assert main([*words, f"--output={tmp_path}/a", f"--precision_keep=auto,rtol=1e-3,file={tmp_path}/k.ini"]) == 0
    assert "within the goal with" in capsys.readouterr().err
    assert "far = high_precision" in (tmp_path / "k.ini").read_text()

    again = [f"--output={tmp_path}/b", f"--op_precision_mode={tmp_path}/k.ini"]
    assert main([*words[:2], *again]) == 0
    assert onnx.load(tmp_path / "a.onnx").graph == onnx.load(tmp_path / "b.onnx").graph


def test_files_of_what_stays_and_of_mixed_precision(model: str, tmp_path: Path):
    (tmp_path / "keep.cfg").write_text("far\n")
    (tmp_path / "mix.json").write_text('{"white-list": {"to-add": ["Softmax"]}}')
    words = [f"--model={model}", f"--output={tmp_path}/out", "--precision_mode=allow_mix_precision"]
    words += [f"--keep_dtype={tmp_path}/keep.cfg", f"--modify_mixlist={tmp_path}/mix.json"]
    assert main([*words, f"--precision_report={tmp_path}/r.csv"]) == 0
    rows = [line.split(",")[:3] for line in (tmp_path / "r.csv").read_text().splitlines()[1:]]
    assert rows == [["far", "Mul", "f32"], ["last", "Softmax", "f16"]]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--precision_report=r.csv"], "need a mode: give --precision_mode too"),
        (["--precision_inputs=in.npz"], "--precision_inputs is for --precision_report and --precision_keep"),
        (["--precision_keep=some"], "--precision_keep must be auto"),
        (["--precision_report=no/where/r.csv"], "no"),
        (["--precision_mode=cube_fp16in_fp32out"], "not available in this version: --precision_mode=cube"),
        (["--precision_mode_v2=mixed_hif8"], "not available in this version"),
        (["--precision_mode=fp8"], "--precision_mode must be one of force_fp16"),
        (["--precision_mode=fp16", "--keep_dtype=no.cfg"], "--keep_dtype=no.cfg: no such file"),
        (["--precision_mode=fp16", "--modify_mixlist=no.json"], "--modify_mixlist=no.json: no such file"),
        (["--precision_mode=fp16", "--precision_mode_v2=origin"], "contradict each other"),
    ],
)
def test_one_line_errors(
    words: list[str],
    message: str,
    model: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    monkeypatch.chdir(tmp_path)
    assert main([f"--model={model}", "--output=o", *words]) in (1, 2)
    [line] = capsys.readouterr().err.splitlines()
    assert message in line
    assert not (tmp_path / "o.onnx").exists()
