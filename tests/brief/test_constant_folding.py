"""A detection head that computes its grid and anchors at every inference: three ways to switch folding on, and off."""

from pathlib import Path

import pytest
from onnx import load

from .conftest import Shell
from .helpers import distance, operators
from .models import yolo

CONVERT = "ge --model=yolov5_optimized.onnx --framework=5 --output=out.onnx"
COMPUTED_AT_EVERY_INFERENCE = {"Expand", "Tile"}  # of the grid, of the anchors


@pytest.mark.parametrize(
    "line",
    [
        f"GE_OPTIMIZATION_PASSES='ConstantFoldingPass:1' {CONVERT}",
        f"{CONVERT} --opt_passes=ConstantFoldingPass:1",
        f"{CONVERT} --config=ge_config.json",
        f"GE_CONFIG=ge_config.json {CONVERT}",
    ],
)
def test_on(line: str, shell: Shell, folder: Path):
    shell(line)

    assert not operators(folder / "out.onnx") & COMPUTED_AT_EVERY_INFERENCE
    assert distance(yolo(), folder / "out.onnx") <= 1e-4


@pytest.mark.parametrize(
    "line",
    [
        f"GE_OPTIMIZATION_PASSES='ConstantFoldingPass:0' {CONVERT}",
        f"{CONVERT} --opt_passes=ConstantFoldingPass:0",
        f"{CONVERT} --config=off.json",
        f"GE_CONFIG=off.json {CONVERT}",
        # The command line comes before the environment.
        f"GE_OPTIMIZATION_PASSES='ConstantFoldingPass:1' {CONVERT} --opt_passes=ConstantFoldingPass:0",
    ],
)
def test_off(line: str, shell: Shell, folder: Path):
    (folder / "off.json").write_text('{"ge": {"opt_passes": {"ConstantFoldingPass": 0}}}')
    shell(line)

    # Not all of them: a Tile whose reader broadcasts anyway goes without folding.
    assert operators(folder / "out.onnx") & COMPUTED_AT_EVERY_INFERENCE
    assert len(load(folder / "out.onnx").graph.node) < len(yolo().graph.node), "the other passes still run"
