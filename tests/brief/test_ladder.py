"""The brief's ladder: each rung adds a switch to the line before. Then each switch by itself."""

from pathlib import Path

import pytest

from .conftest import Shell
from .helpers import distance
from .models import resnet

CONVERT = "ge --model=resnet50.onnx --framework=5 --output=out --input_format=NCHW"

HALF, TUNED, L2 = "--op_precision_mode=force_fp16", "--auto_tune_mode=GA", "--enable_l2_fusion=1"
no_tuning = pytest.mark.xfail(reason="no tuning yet: --auto_tune_mode is refused")


@pytest.mark.parametrize(
    "switches",
    [
        "",
        HALF,
        pytest.param(f"{HALF} {TUNED}", marks=no_tuning),
        pytest.param(f"{HALF} {TUNED} {L2}", marks=no_tuning),
        pytest.param(TUNED, marks=no_tuning),
        L2,
    ],
)
def test_converts_and_computes_the_same(switches: str, shell: Shell, folder: Path):
    shell(f"{CONVERT} {switches}")
    assert distance(resnet(), folder / "out.onnx") <= 2e-2
