"""An arena that forgets shows a plan that is wrong: who reads what is not there, reads NaN."""

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from gecc.dialects.ge.text import parse_module
from gecc.driver.poison import PoisonedArena
from gecc.driver.registry import default_registry
from gecc.reference import Arena, run

PLANNED = """
func.func @main(%x: memref<4xf32> {{onnx.name = "x"}}, %y: memref<4xf32> {{ge.result, onnx.name = "y"}},
    %arena: memref<32xi8> {{ge.arena}}) {{
  %a = ge.slot %arena[0] life [0, {a_ends}) : memref<32xi8> -> memref<4xf32>
  %b = ge.slot %arena[{b_at}] life [{b_begins}, 3) : memref<32xi8> -> memref<4xf32>
  ge.launch ins(%x : memref<4xf32>) outs(%a : memref<4xf32>) {{ {body}
  ge.launch ins(%a : memref<4xf32>) outs(%b : memref<4xf32>) {{ {body}
  ge.launch ins(%{read} : memref<4xf32>) outs(%y : memref<4xf32>) {{ {body}
  func.return
}}"""
BODY = """
  ^bb0(%0: tensor<4xf32>):
    %1 = ge.neg %0 : tensor<4xf32> -> tensor<4xf32>
    ge.yield %1 : tensor<4xf32>
  }"""
X = {"x": np.array([1, 2, 3, 4], np.float32)}


def planned(*, a_ends: int = 2, b_at: int = 16, b_begins: int = 1, read: str = "b") -> ModuleOp:
    text = PLANNED.format(a_ends=a_ends, b_at=b_at, b_begins=b_begins, read=read, body=BODY)
    return parse_module(default_registry(lambda text: None).context(), text, "test")


def test_a_right_plan_computes_what_it_should():
    module = planned()
    assert (run(module, X, arena=PoisonedArena(module))["y"] == -X["x"]).all()


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param({"a_ends": 1}, id="dies before its last reader"),
        pytest.param({"b_begins": 2}, id="is written before its life"),
        pytest.param({"read": "a"}, id="is read after its life"),
    ],
)
def test_a_wrong_life_reads_poison(wrong: dict[str, int]):
    module = planned(**wrong)  # pyright: ignore[reportArgumentType]
    assert np.isnan(run(module, X, arena=PoisonedArena(module))["y"]).all()
    assert np.isfinite(run(module, X)["y"]).all(), "without poison nobody would see it"


def test_what_lay_there_before_is_not_found():
    # b begins where a lay, at a step that a does not live in: it is poison until it is written.
    module = planned(b_at=0, b_begins=2)
    assert np.isnan(run(module, X, arena=PoisonedArena(module))["y"]).all()


def test_slots_of_another_function_keep_nothing():
    # As above, and another function has a slot that is alive at a's address all the time.
    module, other = planned(b_at=0, b_begins=2), planned(b_at=0, b_begins=0)
    function = next(iter(other.body.block.ops))
    function.detach()
    module.body.block.add_op(function)
    arena = PoisonedArena(module)
    function.detach()
    assert np.isnan(run(module, X, arena=arena)["y"]).all()


def test_a_plain_arena_keeps_what_the_last_run_left():
    arena = Arena()
    run(planned(), X, arena=arena)
    assert (arena.take(32).view(np.float32) == [*-X["x"], *X["x"]]).all()
