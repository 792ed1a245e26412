"""`--verify-numerics`: what counts as a difference, and which pass gets the blame."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, ModuleOp, UnitAttr
from xdsl.dialects.func import Func
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from gecc import reference
from gecc.dialects.ge import Ge
from gecc.dialects.ge.activation import LeakyReluOp, ReluOp
from gecc.dialects.ge.text import parse_module
from gecc.driver.diagnostics import PassCrash
from gecc.driver.numerics import difference, first_difference, verify_numerics
from gecc.driver.pipeline import run
from gecc.driver.registry import default_registry
from gecc.transforms.memory.ge_bufferize import GeBufferize

ONE = {"y": np.array([1.0, -2.0], np.float32)}


@pytest.mark.parametrize(
    ("a", "b", "what"),
    [
        (np.float32([1, 2]), np.float32([1, 2.0001]), None),
        (np.float32([1, 2]), np.float32([1, 2.001]), "differs by 0.0005 of its largest element (allowed: 0.0001)"),
        (np.float16([1, 2]), np.float16([1, 2.03]), None),
        (np.float16([1, 2]), np.float16([1, 2.1]), "differs by 0.0498 of its largest element (allowed: 0.02)"),
        (np.float32([0, 0]), np.float32([0, 1e-3]), "differs by 0.001 of its largest element (allowed: 0.0001)"),
        (np.float32([np.nan, np.inf]), np.float32([np.nan, np.inf]), None),
        (np.float32([np.nan, 1]), np.float32([1, np.nan]), "has other infinities or NaNs"),
        (np.float32([np.inf, 1]), np.float32([-np.inf, 1]), "has other infinities or NaNs"),
        (np.uint8([0, 255]), np.uint8([1, 254]), None),
        (np.uint8([0, 255]), np.uint8([2, 255]), "differs by 2 (allowed: 1)"),
        (np.int64([7]), np.int64([8]), "differs by 1 (allowed: 0)"),
        (np.array([True]), np.array([False]), "has other elements"),
        (np.array(["a"]), np.array(["b"]), "has other elements"),
        (np.float32([1]), np.float64([1]), "is float64[1], not float32[1]"),
        (np.zeros((2, 0)), np.zeros((0, 2)), "is float64[0, 2], not float64[2, 0]"),
        ([np.float32([1])], [np.float32([1])], None),
        ([np.float32([1])], [], "is a sequence of 1 no more"),
    ],
)
def test_differences(a: Any, b: Any, what: str | None):
    assert difference({"y": a}, {"y": b}) == (what and f"output 'y' {what}")


def test_without_regrouped_arithmetic_nothing_may_differ():
    for a, b in ((np.float32([1, 2]), np.float32([1, 2.00001])), (np.uint8([1]), np.uint8([2]))):
        assert difference({"y": a}, {"y": b}) is None
        assert difference({"y": a}, {"y": b}, regrouped=False) is not None
    assert difference(ONE, ONE, regrouped=False) is None


def test_other_outputs():
    assert difference(ONE, {"z": ONE["y"]}) == "they are z, not y"


@dataclass(frozen=True)
class StepPass(ModulePass):
    """One of many; the stand-in of the reference below looks at how many ran."""

    name = "step"
    number: int = 0

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        op.attributes[f"step{self.number}"] = UnitAttr()


PROGRAM = """
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %a = ge.exp %x : tensor<2xf32> -> tensor<2xf32> onnx "first" ["a"]
  %b = ge.FUNCTION %a : tensor<2xf32> -> tensor<2xf32> onnx "second" ["b"]
  %c = ge.sqrt %b : tensor<2xf32> -> tensor<2xf32> onnx "third" ["c"]
  func.return %c : tensor<2xf32>
}
"""


def test_the_first_value_that_differs_is_named_with_its_op():
    context = Context()
    for dialect in (Builtin, Func, Ge):
        context.load_dialect(dialect)
    before, after = (parse_module(context, PROGRAM.replace("FUNCTION", of), "test.mlir") for of in ("exp", "neg"))
    inputs = reference.make_inputs(before)

    found = first_difference(before, after, inputs)
    assert found is not None
    assert found.startswith("node \"second\": 'ge.neg', value 'b' differs by ")
    assert first_difference(before, before, inputs) is None


@pytest.mark.parametrize("culprit", [0, 3, 6])
def test_the_pass_at_fault_is_named(culprit: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def evaluate(module: ModuleOp, inputs: object, watch: object = None, meaning: object = None) -> dict[str, Any]:
        return {"y": ONE["y"] * (2 if f"step{culprit}" in module.attributes else 1)}

    monkeypatch.setattr(reference, "run", evaluate)
    monkeypatch.setattr(reference, "make_inputs", lambda module: {})
    passes = [StepPass(number) for number in range(7)]
    module = ModuleOp([])
    run(Context(), module, passes)
    path = tmp_path / "wrong.mlir"
    with pytest.raises(PassCrash) as error:
        verify_numerics(Context(), module, passes, lambda: ModuleOp([]), path)

    assert error.value.culprit == StepPass(culprit)
    assert error.value.problem.startswith("the outputs change: output 'y' differs by 1 of its largest element")
    flag = "--step" if culprit == 0 else f'--step="number={culprit}"'
    assert path.read_text().startswith(f"// RUN: ge-opt {flag} --verify-numerics %s\n")


def test_passes_that_change_nothing_are_fine(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(reference, "run", lambda module, inputs: ONE)
    monkeypatch.setattr(reference, "make_inputs", lambda module: {})
    verify_numerics(Context(), ModuleOp([]), [StepPass()], lambda: ModuleOp([]))


def test_results_without_names_keep_their_places_on_buffers():
    text = "func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {\n"
    text += "%0 = ge.relu %x : tensor<4xf32> -> tensor<4xf32>\n%1 = ge.exp %x : tensor<4xf32> -> tensor<4xf32>\n"
    text += "func.return %0, %1 : tensor<4xf32>, tensor<4xf32> }"
    context = default_registry(pytest.fail).context()
    module = parse_module(context, text, "test.mlir")
    x = {"input_0": np.float32([-1, 0, 1, 2])}
    want = reference.run(module, x)
    GeBufferize().apply(context, module)
    assert difference(want, reference.run(module, x)) is None
    assert list(want) == ["output_0", "output_1"]


# Rows one by one: a product of one row adds up in another order than one of sixteen.
TILED = """
func.func @main(%x: tensor<16x512xf32>, %w: tensor<512x64xf32>) -> tensor<16x64xf32> {
  %0 = ge.fusion "L2" (%a = %x : tensor<16x512xf32>, %b = %w : tensor<512x64xf32>) -> (tensor<16x64xf32>) tiling #ge.l2_tiling<axes = [0], tile = [1], tiles = 16, weights = resident, working_set = 0, bytes_before = 0, bytes_after = 0, hit_share = 1.0> {
    %c = ge.matmul %a, %b : tensor<16x512xf32>, tensor<512x64xf32> -> tensor<16x64xf32>
    %d = ge.relu %c : tensor<16x64xf32> -> tensor<16x64xf32>
    ge.yield %d : tensor<16x64xf32>
  }
  func.return %0 : tensor<16x64xf32>
}
"""  # noqa: E501


@dataclass(frozen=True)
class SpoilPass(ModulePass):
    """Each relu becomes a leaky one of a slope that is hardly any: every other bit stays."""

    name = "spoil"
    regroups = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for relu in [inner for inner in op.walk() if isinstance(inner, ReluOp)]:
            Rewriter.replace_op(relu, LeakyReluOp(relu.operands[0], alpha=1e-4))


def test_tiles_that_only_add_up_in_another_order_are_fine():
    context = default_registry(pytest.fail).context()
    tiled, whole = (parse_module(context, TILED, "test.mlir") for _ in range(2))
    GeBufferize().apply(context, tiled)
    inputs = reference.make_inputs(whole)
    assert difference(reference.run(whole, inputs), reference.run(tiled, inputs), regrouped=False) is not None
    verify_numerics(context, tiled, [GeBufferize()], lambda: parse_module(context, TILED, "test.mlir"))


def test_tiles_that_compute_something_else_are_told(tmp_path: Path):
    context = default_registry(pytest.fail).context()
    module = parse_module(context, TILED, "test.mlir")
    passes = [GeBufferize(), SpoilPass()]
    run(context, module, passes)
    with pytest.raises(PassCrash) as error:
        verify_numerics(
            context, module, passes, lambda: parse_module(context, TILED, "test.mlir"), tmp_path / "wrong.mlir"
        )
    assert error.value.culprit == SpoilPass()


def test_on_buffers_results_that_have_none_may_come_last():
    text = """
    func.func @main(%x: tensor<4xf32>) -> (tensor<1x?xi64> {onnx.name = "where"}, tensor<4xf32> {onnx.name = "y"}) {
      %0 = ge.relu %x : tensor<4xf32> -> tensor<4xf32>
      %1 = ge.non_zero %0 : tensor<4xf32> -> tensor<1x?xi64>
      func.return %1, %0 : tensor<1x?xi64>, tensor<4xf32>
    }"""
    context = default_registry(pytest.fail).context()
    module = parse_module(context, text, "test.mlir")
    GeBufferize().apply(context, module)
    verify_numerics(context, module, [GeBufferize()], lambda: parse_module(context, text, "test.mlir"))
