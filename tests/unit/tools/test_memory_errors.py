"""What is wrong with the memory that was asked for is one line that names it and says what is allowed."""

import json
from collections.abc import Callable
from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper

from gecc.tools import ge, ge_opt

Tool = Callable[..., tuple[int, str]]


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """y = relu(x) for any batch."""
    info = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", 4]) for name in ("x", "y")]
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", info[:1], info[1:])
    path = tmp_path / "m.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


@pytest.fixture
def convert(model: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Tool:
    """ge on the model with a memory configuration and a strategy; its exit code and what it says is wrong."""

    def run(config: object = None, strategy: str = "") -> tuple[int, str]:
        words = [f"--model={model}", "--framework=5", f"--output={model.with_suffix('.mlir')}", "--input_shape=x:2,4"]
        if config is not None:
            path = model.with_name("memory.json")
            path.write_text(config if isinstance(config, str) else json.dumps(config))
            words.append(f"--memory_config_file={path}")
        if strategy:
            monkeypatch.setenv("GE_MEMORY_STRATEGY", strategy)
        code = ge.main(words)
        error = capsys.readouterr().err
        assert error.count("\n") == 1
        return code, error

    return run


def test_a_free_dim_without_bounds(model: Path, capsys: pytest.CaptureFixture[str]):
    assert ge_opt.main(["--ge-bufferize", str(model)]) == 1
    error = capsys.readouterr().err
    assert "input 'x'" in error
    assert "with batch free" in error
    assert "--input-shape=x:" in error
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"alignment": 48}, "alignment must be a power of two of at least 8, got 48"),
        ({"alignment": 0}, "alignment: must be at least 1, got 0"),
        ({"max_reuse_ratio": 1.5}, "max_reuse_ratio: must be at most 1, got 1.5"),
        ({"max_reuse_ratio": -0.1}, "max_reuse_ratio: must be at least 0, got -0.1"),
        ({"reuse_policy": "age"}, 'reuse_policy: must be one of "lifetime", "size", got "age"'),
        ({"reuse": "size"}, "unknown key 'reuse'; allowed: reuse_policy, alignment, max_reuse_ratio"),
        ("{", "is not JSON"),
    ],
)
def test_a_configuration_that_means_nothing(config: object, words: str, convert: Tool):
    code, error = convert(config)
    assert (code, words in error) == (2, True), error


def test_an_unknown_strategy(convert: Tool):
    code, error = convert(strategy="greedy")
    assert code == 2
    assert "GE_MEMORY_STRATEGY must be one of conservative, balanced, aggressive; got 'greedy'" in error


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ("alignment=48", "alignment must be a power of two of at least 8, got 48"),
        ("max-reuse-ratio=2", "max-reuse-ratio must be in 0..1, got 2.0"),
        ("strategy=fast", "conservative"),
        ("reuse-policy=age", "lifetime"),
        ("algorithm=best", "ge-binary-block"),
    ],
)
def test_an_option_that_means_nothing(option: str, words: str, model: Path, capsys: pytest.CaptureFixture[str]):
    flags = ["--input-shape=x:2,4", "--ge-bufferize", f"--memory-reuse={option}"]
    assert ge_opt.main([*flags, str(model)]) == 2
    error = capsys.readouterr().err
    assert words in error
    assert error.count("\n") == 1


def test_a_file_that_cannot_be_read(model: Path, capsys: pytest.CaptureFixture[str]):
    missing = model.with_name("no.json")
    assert ge.main([f"--model={model}", f"--output={model}.mlir", f"--memory_config_file={missing}"]) == 2
    error = capsys.readouterr().err
    assert f"{missing}: no such file" in error
    assert error.count("\n") == 1
