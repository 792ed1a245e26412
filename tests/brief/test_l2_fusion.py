"""ResNet-50's bottleneck, whose intermediates exceed 32 MB of L2 at batch 32: the switches, and what is left alone."""

from pathlib import Path

import pytest

from .conftest import Shell
from .models import resnet

CONVERT = "ge --model=large.onnx --framework=5 --output=out.mlir"
GROUP = "#ge.l2_tiling"


@pytest.fixture
def large(folder: Path) -> None:
    (folder / "large.onnx").write_bytes(resnet(batch=32, side=56, channels=256).SerializeToString())


@pytest.mark.usefixtures("large")
@pytest.mark.parametrize(
    "line",
    [
        f"GE_L2_FUSION=1 {CONVERT}",
        f"{CONVERT} --enable_l2_fusion=1",
        f"{CONVERT} --l2_fusion_config=l2_config.json",
        f"{CONVERT} --enable_l2_fusion=1 --l2_fusion_config=l2_config.json",
        # The bare pass on text, in the same size.
        'ge-opt --infer-shape --l2-fusion="l2-size=32" large.onnx > out.mlir',
    ],
)
def test_groups_are_formed_when_asked(line: str, shell: Shell, folder: Path):
    shell(line)
    assert GROUP in (folder / "out.mlir").read_text()


@pytest.mark.usefixtures("large")
@pytest.mark.parametrize(
    "line", [CONVERT, f"GE_L2_FUSION=0 {CONVERT}", f"GE_L2_FUSION=1 {CONVERT} --enable_l2_fusion=0"]
)
def test_off_by_default_and_on_demand(line: str, shell: Shell, folder: Path):
    shell(line)
    assert GROUP not in (folder / "out.mlir").read_text()


def test_nothing_is_gained_at_batch_1(shell: Shell, folder: Path):
    shell("ge --model=resnet50.onnx --framework=5 --output=out.mlir --enable_l2_fusion=1")
    assert GROUP not in (folder / "out.mlir").read_text()
