"""
An arena that forgets shows a plan that is wrong: who reads what is not there, reads NaN; who still reads what a launch
writes over is refused.
"""

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from gecc.dialects.ge.errors import InputError
from gecc.dialects.ge.softmax import SoftmaxOp
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


IN_PLACE = """
func.func @main(%x: memref<4x4xf32> {{onnx.name = "x"}}, %y: memref<4x4xf32> {{ge.result, onnx.name = "y"}},
    %arena: memref<64xi8> {{ge.arena}}) {{
  %a = ge.slot %arena[0] life [0, 3) : memref<64xi8> -> memref<4x4xf32>
  "memref.copy"(%x, %a) : (memref<4x4xf32>, memref<4x4xf32>) -> ()
  {step}
  "memref.copy"(%a, %y) : (memref<4x4xf32>, memref<4x4xf32>) -> ()
  func.return
}}"""
LAUNCH = """ge.launch ins(%a : memref<4x4xf32>) outs(%a : memref<4x4xf32>) {{
  ^bb0(%0: tensor<4x4xf32>):
    %1 = ge.{op} : tensor<4x4xf32> -> tensor<4x4xf32>
    ge.yield %1 : tensor<4x4xf32>
  }}"""
PARTS = """
  %p = memref.subview %a[0, 0] [3, 4] [1, 1] : memref<4x4xf32> to memref<3x4xf32, strided<[4, 1]>>
  %q = memref.subview %a[1, 0] [3, 4] [1, 1] : memref<4x4xf32> to memref<3x4xf32, strided<[4, 1], offset: 4>>
"""
FROM_PART_TO_PART = """ge.launch ins(%p : memref<3x4xf32, strided<[4, 1]>>)
    outs(%q : memref<3x4xf32, strided<[4, 1], offset: 4>>) {
  ^bb0(%0: tensor<3x4xf32>):
    %1 = ge.neg %0 : tensor<3x4xf32> -> tensor<3x4xf32>
    ge.yield %1 : tensor<3x4xf32>
  }"""
COPY = '"memref.copy"(%p, %q) : (memref<3x4xf32, strided<[4, 1]>>, memref<3x4xf32, strided<[4, 1], offset: 4>>) -> ()'
SQUARE = {"x": np.arange(16, dtype=np.float32).reshape(4, 4)}


def in_place(step: str) -> ModuleOp:
    return parse_module(default_registry(lambda text: None).context(), IN_PLACE.format(step=step), "test")


@pytest.mark.parametrize("op", ["neg %0", "softmax %0 axis 1", "softmax %0 axis 0"])
def test_what_reads_no_other_index_or_row_may_be_written_over(op: str):
    module = in_place(LAUNCH.format(op=op))
    assert run(module, SQUARE, arena=PoisonedArena(module))["y"].tobytes() == run(module, SQUARE)["y"].tobytes()


def test_what_reads_another_index_may_not():
    module = in_place(LAUNCH.format(op="transpose %0 perm [1, 0]"))
    with pytest.raises(InputError, match=r"result 0 of ge\.transpose is written over an operand that it still reads"):
        run(module, SQUARE, arena=PoisonedArena(module))
    assert (run(module, SQUARE)["y"] == SQUARE["x"].T).all(), "whose operand is copied first, nobody would see it"


def test_a_claim_that_is_wrong_is_seen(monkeypatch: pytest.MonkeyPatch):
    # Each element of a softmax needs the whole row, so index by index is too much said.
    monkeypatch.setattr(SoftmaxOp, "BY_INDEX", True)
    module = in_place(LAUNCH.format(op="softmax %0 axis 1"))
    with pytest.raises(InputError, match=r"result 0 of ge\.softmax is written over"):
        run(module, SQUARE, arena=PoisonedArena(module))


@pytest.mark.parametrize(
    ("step", "words"),
    [
        (FROM_PART_TO_PART, "a launch writes a result over an operand, but not index over index"),
        (COPY, "memref.copy to bytes that it reads"),
        (
            LAUNCH.format(op="neg %0")
            .replace("outs(%a : memref<4x4xf32>)", "outs(%a, %a : memref<4x4xf32>, memref<4x4xf32>)")
            .replace("ge.yield %1 : tensor<4x4xf32>", "ge.yield %1, %1 : tensor<4x4xf32>, tensor<4x4xf32>"),
            "a launch writes two results to the same bytes",
        ),
    ],
)
def test_bytes_that_overlap_are_refused_in_any_arena(step: str, words: str):
    with pytest.raises(InputError, match=words):
        run(in_place(PARTS + step), SQUARE)


def test_a_plain_arena_keeps_what_the_last_run_left():
    arena = Arena()
    run(planned(), X, arena=arena)
    assert (arena.take(32).view(np.float32) == [*-X["x"], *X["x"]]).all()
