"""ResNet-50's bottleneck, whose intermediates exceed 32 MB of L2 at batch 32: the switches, and what is left alone."""

import re
from pathlib import Path

import pytest

from .conftest import Shell
from .models import resnet

CONVERT = "ge --model=large.onnx --framework=5 --output=out.mlir"


def saved(folder: Path) -> int | None:
    """Bytes from and to memory that groups save, as the simulated cache counts them; None without a group."""
    text = (folder / "out.mlir").read_text()
    counts = [re.search(rf"judge_{when} = (\d+)", text) for when in ("before", "after")]
    if None in counts:
        return None
    before, after = (int(count[1]) for count in counts if count)
    return before - after


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
        'ge-opt --l2-fusion="l2-size=32" large.onnx > out.mlir',
    ],
)
def test_groups_are_formed_when_asked(line: str, shell: Shell, folder: Path):
    shell(line)
    assert (saved(folder) or 0) > 0


@pytest.mark.usefixtures("large")
@pytest.mark.parametrize(
    "line", [CONVERT, f"GE_L2_FUSION=0 {CONVERT}", f"GE_L2_FUSION=1 {CONVERT} --enable_l2_fusion=0"]
)
def test_off_by_default_and_on_demand(line: str, shell: Shell, folder: Path):
    shell(line)
    assert saved(folder) is None


def test_nothing_is_gained_at_batch_1(shell: Shell, folder: Path):
    shell("ge --model=resnet50.onnx --framework=5 --output=out.mlir --enable_l2_fusion=1")
    assert saved(folder) == 0


@pytest.mark.usefixtures("large")
def test_what_tuning_found_is_applied_again(shell: Shell, folder: Path):
    shell(f"{CONVERT} --enable_l2_fusion=1 --auto_tune_mode=GA --tune_trials=8")
    tuned = (folder / "out.mlir").read_text()
    assert (saved(folder) or 0) > 0
    shell(f"{CONVERT} --tuning=out.tuning.json")
    assert (folder / "out.mlir").read_text() == tuned
