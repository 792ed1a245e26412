"""How kernels walk, for the judge: steps inside are told from a few, where they move alike."""

import pytest

from gecc.dialects.ge.memory import LaunchOp
from gecc.dialects.ge.text import parse_module
from gecc.driver.registry import default_registry
from gecc.transforms.l2 import kernels
from gecc.transforms.l2.kernels import Step, steps_of
from gecc.transforms.memory.ge_bufferize import bufferize
from gecc.transforms.rewriting import functions

CONTEXT = default_registry(lambda text: None).context()

CONV = """
func.func @main(%x: tensor<1x4x64x8xf32>, %w: tensor<4x4x3x3xf32>) -> tensor<1x4x64x8xf32> {
  %y = ge.conv %x, %w pads [1, 1, 1, 1] : tensor<1x4x64x8xf32>, tensor<4x4x3x3xf32> -> tensor<1x4x64x8xf32>
  func.return %y : tensor<1x4x64x8xf32>
}"""

ENLARGED = """
func.func @main(%x: tensor<1x4x32x8xf32>) -> tensor<1x4x48x8xf32> {
  %s = ge.constant dense<[1.0, 1.0, 1.5, 1.0]> : tensor<4xf32>
  %y = ge.resize %x, none, %s mode "nearest" : tensor<1x4x32x8xf32>, tensor<4xf32> -> tensor<1x4x48x8xf32>
  func.return %y : tensor<1x4x48x8xf32>
}"""


def launch_of(text: str) -> LaunchOp:
    (function,) = functions(parse_module(CONTEXT, text, "test"))
    bufferize(function)
    return next(op for op in function.walk() if isinstance(op, LaunchOp))


@pytest.mark.parametrize("text", [CONV, ENLARGED])
@pytest.mark.parametrize("rows", [1, 3, 5])
def test_steps_inside_are_those_that_each_is_asked_for(text: str, rows: int, monkeypatch: pytest.MonkeyPatch):
    launch = launch_of(text)
    monkeypatch.setattr(kernels, "kernel_tile_of", lambda op: (2, rows))
    found = steps_of(launch, 1 << 20, 4096)
    monkeypatch.setattr(kernels, "BORDER", 1000)  # nothing is inside
    assert found == steps_of(launch, 1 << 20, 4096)


def test_few_steps_are_asked_for(monkeypatch: pytest.MonkeyPatch):
    asked: list[int] = []
    step = kernels._step

    def counted(op: LaunchOp, axis: int, begin: int, count: int) -> Step | None:
        asked.append(begin)
        return step(op, axis, begin, count)

    launch = launch_of(CONV)
    monkeypatch.setattr(kernels, "_step", counted)
    monkeypatch.setattr(kernels, "kernel_tile_of", lambda op: (2, 1))
    assert len(steps_of(launch, 1 << 20, 4096)) == 64
    assert len(asked) < 10
