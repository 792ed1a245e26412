"""What is wrong with the L2 fusion that was asked for is one line that names it and says what is allowed."""

import json
from collections.abc import Callable
from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper

from gecc.tools import ge, ge_opt

Tool = Callable[[str], tuple[int, str]]


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """y = relu(x) for any batch."""
    info = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", 4]) for name in ("x", "y")]
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", info[:1], info[1:])
    path = tmp_path / "m.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


@pytest.fixture
def fuse(model: Path, capsys: pytest.CaptureFixture[str]) -> Tool:
    """ge-opt with options of l2-fusion; its exit code and what it says."""

    def run(options: str) -> tuple[int, str]:
        code = ge_opt.main(["--input-shape=x:2,4", f"--l2-fusion={options}", str(model), "-o", f"{model}.mlir"])
        return code, capsys.readouterr().err

    return run


@pytest.fixture
def convert(model: Path, capsys: pytest.CaptureFixture[str]) -> Tool:
    """ge with the text of an --l2_fusion_config; its exit code and what it says."""

    def run(config: str) -> tuple[int, str]:
        path = model.with_name("l2.json")
        path.write_text(config)
        words = [f"--model={model}", "--framework=5", f"--output={model}.mlir", "--input_shape=x:2,4"]
        return ge.main([*words, f"--l2_fusion_config={path}"]), capsys.readouterr().err

    return run


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("target=910Z", "l2-fusion: no target '910Z'"),
        ("target=ascend910b", "did you mean 'ascend910b"),
        ("l2-size=0", "l2-size must hold a page of 4096 bytes and be at most 1073741824 MiB, got 0 MiB"),
        ("l2-size=-1", "got -1 MiB"),
        ("l2-size=0.001", "got 0.001 MiB"),
        ("l2-size=1e30", "got 1e+30 MiB"),
        ("l2-size=big", "option 'l2-size' must be a number or none, got 'big'"),
        ("l2-size=nan", "option 'l2-size' must be a number or none, got 'nan'"),
        ("l2-size=inf", "option 'l2-size' must be a number or none, got 'inf'"),
        ("l2-size=32 l2-size=16", "option 'l2-size' is given twice"),
        ("fusion-threshold=1.5", "fusion-threshold must be in 0..1, got 1.5"),
        ("fusion-threshold=-0.1", "fusion-threshold must be in 0..1, got -0.1"),
        ("fusion-threshold=nan", "option 'fusion-threshold' must be a number, got 'nan'"),
        ("l2-occupancy=1.5", "l2-occupancy must be in 0..1, got 1.5"),
        ("l2-occupancy=nan", "option 'l2-occupancy' must be a number, got 'nan'"),
        ("blacklist=Relu,Sofmax", "blacklist: no operator 'Sofmax'; did you mean 'Softmax'?"),
        ("blacklist=ge.sofmax", "blacklist: no operator 'ge.sofmax'; did you mean 'ge.softmax'?"),
        ("cache=hint", "cache must be hints, plain or write-allocate, got 'hint'"),
        ("page=0", "page must be at least 64 bytes, got 0"),
        ("page=-1", "page must be at least 64 bytes, got -1"),
        ("page=1000000000000", "l2-size must hold a page of 1000000000000 bytes"),
    ],
)
def test_an_option_that_means_nothing(options: str, words: str, fuse: Tool):
    code, error = fuse(options)
    assert (code, words in error, error.count("\n")) == (2, True, 1), error


@pytest.mark.parametrize(
    "options",
    [
        "",
        "target=Ascend910B1",
        "fusion-threshold=0",
        "fusion-threshold=1",
        "l2-occupancy=0",
        "l2-occupancy=1",
        "l2-size=0.00390625",
        "blacklist=",
        "blacklist=Softmax,Softmax,,",
        "blacklist=LayerNorm,LayerNormalization,ge.layer_normalization,BatchMatMul,acme::Swish",
    ],
)
def test_a_value_at_the_edge_is_fine(options: str, fuse: Tool):
    assert fuse(options) == (0, "")


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ('{"l2_size": 0}', "l2_size: must be greater than 0, got 0"),
        ('{"l2_size": "32"}', 'l2_size: must be a number, got "32"'),
        ('{"l2_size": 1e400}', "1e400 is too large a number"),
        ('{"l2_size": 1e300}', "l2-size must hold a page of 4096 bytes and be at most"),
        ('{"l2_size": NaN}', "NaN is not JSON"),
        ('{"fusion_threshold": 2}', "fusion_threshold: must be at most 1, got 2"),
        ('{"fusion_threshold": -1}', "fusion_threshold: must be at least 0, got -1"),
        ('{"blacklist": ["Softmx"]}', "no operator 'Softmx'; did you mean 'Softmax'?"),
        ('{"blacklist": "Softmax"}', 'blacklist: must be a list [...], got "Softmax"'),
        ('{"blacklist": [""]}', "blacklist: '' should be non-empty"),
        ('{"blacklst": []}', "unknown key 'blacklst'; allowed: l2_size, fusion_threshold, blacklist; did you mean"),
        ("[]", "must be an object {...}, got []"),
        ("", "is not JSON"),
    ],
)
def test_a_configuration_that_means_nothing(config: str, words: str, convert: Tool):
    code, error = convert(config)
    assert (code, words in error, error.count("\n")) == (2, True, 1), error


def test_a_free_dim_without_bounds(model: Path, capsys: pytest.CaptureFixture[str]):
    assert ge_opt.main(["--l2-fusion", str(model)]) == 1
    error = capsys.readouterr().err
    assert "input 'x' is tensor<?x4xf32> with batch free: tiles are planned for static shapes" in error
    assert "--input-shape=x:?,4 with a number for each ?, or several, 1|2|4" in error
    assert error.count("\n") == 1


def test_sizes_of_a_free_dim_are_planned_one_by_one(model: Path, capsys: pytest.CaptureFixture[str]):
    assert ge_opt.main(["--input-shape=x:1..3,4", "--l2-fusion", str(model)]) == 0
    assert capsys.readouterr().out.count("ge.l2_traffic") == 3


def test_where_nothing_is_grouped_the_statistics_say_so(model: Path, capsys: pytest.CaptureFixture[str]):
    assert ge_opt.main(["--input-shape=x:2,4", "--l2-fusion", "--statistics", str(model), "-o", f"{model}.mlir"]) == 0
    assert "0  l2-fusion: groups\n" in capsys.readouterr().err


def test_the_bound_is_what_is_moved_where_all_fits(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    # x and y are 8 floats each; the small constants stand in the kernels' code.
    text = """
    func.func @main(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
      %c = ge.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
      %0 = ge.mul %x, %c : tensor<2x4xf32>, tensor<4xf32> -> tensor<2x4xf32>
      func.return %0 : tensor<2x4xf32>
    }"""
    path = tmp_path / "m.mlir"
    path.write_text(text)
    assert ge_opt.main(["--l2-fusion", str(path)]) == 0
    said = capsys.readouterr().out
    for name in ("bound", "judge_before", "model_before"):
        assert f"{name} = 64 : i64" in said


def test_the_articles_configuration_is_read(convert: Tool):
    good = {"l2_size": 32, "fusion_threshold": 0.8, "blacklist": ["Softmax", "LayerNorm"]}
    assert convert(json.dumps(good))[0] == 0
