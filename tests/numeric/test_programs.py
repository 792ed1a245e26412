"""
On thousands of random programs every pass alone and all of -O3 keep what is computed, bit for bit but where a pass says
that it regroups arithmetic; see programs/check.py. `--programs=100000` tries more.
"""

from random import Random

import hypothesis
import onnx
import onnx.printer
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from .programs import program
from .programs.check import check

PARTS = 20


@pytest.fixture
def programs(request: pytest.FixtureRequest) -> int:
    return request.config.getoption("--programs") // PARTS


@pytest.mark.parametrize("part", range(PARTS))
def test_passes_keep_what_a_program_computes(part: int, programs: int):
    @hypothesis.seed(part)  # else all parts would try the same programs
    @settings(max_examples=programs, suppress_health_check=list(HealthCheck), phases=[Phase.generate, Phase.shrink])
    @given(st.randoms(use_true_random=False))
    def keeps(random: Random) -> None:
        model = program(random)
        try:
            onnx.checker.check_model(model, full_check=True)
        except Exception:
            hypothesis.reject()
        hypothesis.note(onnx.printer.to_text(model))
        check(model)

    keeps()
