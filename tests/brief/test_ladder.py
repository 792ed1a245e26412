"""The brief's ladder: each rung adds a switch to the line before. Then each switch by itself."""

from pathlib import Path

import pytest

from .conftest import Shell
from .helpers import distance
from .models import resnet

CONVERT = "ge --model=resnet50.onnx --framework=5 --output=out --input_format=NCHW"

HALF, TUNED, L2 = "--op_precision_mode=force_fp16", "--auto_tune_mode=GA", "--enable_l2_fusion=1"


@pytest.mark.parametrize("switches", ["", HALF, f"{HALF} {TUNED}", f"{HALF} {TUNED} {L2}", TUNED, L2])
def test_converts_and_computes_the_same(switches: str, shell: Shell, folder: Path):
    shell(f"{CONVERT} {switches}")
    assert distance(resnet(), folder / "out.onnx") <= 2e-2
