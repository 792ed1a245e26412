"""The brief's ladder: each rung adds a switch to the line before."""

from pathlib import Path

import pytest

from .conftest import Shell
from .helpers import distance
from .models import resnet

RUNGS = ["", "--op_precision_mode=force_fp16", "--auto_tune_mode=GA", "--enable_l2_fusion=1"]


@pytest.mark.parametrize("height", range(len(RUNGS)))
def test_each_rung_converts(height: int, shell: Shell, folder: Path):
    switches = " ".join(RUNGS[: height + 1])
    shell(f"ge --model=resnet50.onnx --framework=5 --output=out --input_format=NCHW {switches}")
    assert distance(resnet(), folder / "out.onnx") <= 2e-2
