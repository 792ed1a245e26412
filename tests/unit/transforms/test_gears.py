"""A model at several shapes: which shapes, which functions, which of them runs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gecc.dialects.ge.errors import InputError, UsageError
from gecc.dialects.ge.gears import gears, input_dims
from gecc.dialects.ge.text import module_text, parse_module
from gecc.driver.registry import default_registry
from gecc.frontend import export_model
from gecc.reference import make_inputs, run
from gecc.transforms.shape.gears import bind_gears, combinations, keep_gear

CONTEXT = default_registry(lambda text: None).context()

SUM = """
func.func @main(%x: tensor<?x?xf32> {onnx.name = "x", ge.dims = ["N", "S"]},
                %y: tensor<?x1xf32> {onnx.name = "y", ge.dims = ["N", 1]})
    -> (tensor<?x?xf32> {onnx.name = "z", ge.dims = ["N", "S"]}) {
  %z = ge.add %x, %y : tensor<?x?xf32>, tensor<?x1xf32> -> tensor<?x?xf32>
  func.return %z : tensor<?x?xf32>
}
"""


def module(text: str = SUM):
    return parse_module(CONTEXT, text, "test.mlir")


def test_a_function_for_each_shape_says_what_it_is_a_gear_of():
    bound = module()
    bind_gears(bound, {"x": [(1, 2), 3]})
    bound.verify()
    assert [f.sym_name.data for f in gears(bound)] == ["main_0", "main_1"]
    assert [dict(input_dims(f)) for f in gears(bound)] == [{"x": (1, 3), "y": (1, 1)}, {"x": (2, 3), "y": (2, 1)}]
    assert module_text(bound).count('attributes {ge.gear_of = "main"}') == 2


def test_one_shape_is_no_gear():
    bound = module()
    bind_gears(bound, {"x": [2, 3]})
    assert gears(bound) == []
    assert "@main(%x: tensor<2x3xf32>" in module_text(bound)


sizes = st.lists(st.integers(1, 9), min_size=2, max_size=4, unique=True).map(tuple)


@given(sizes, sizes)
def test_symbols_vary_by_themselves_and_are_one_size_everywhere(n: tuple[int, ...], s: tuple[int, ...]):
    found = combinations(module(), {"x": [n, s], "y": [n, 1]})
    assert found == [{"x": (a, b), "y": (a, 1)} for a in n for b in s]


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        ({"x": [(1, 2), 3], "y": [(1, 4), 1]}, "dim 'N' cannot be both 1|2 and 1|4"),
        ({"x": [(1, 2), 3], "y": [2, 1]}, "dim 'N' cannot be both 1 and 2"),
        ({"x": [tuple(range(11)), tuple(range(11))]}, "make 121 shapes, 100 at most"),
        ({"q": [(1, 2)]}, "the model has no input 'q'; its inputs are x, y"),
    ],
)
def test_what_does_not_fit_is_refused(shapes: dict[str, list[int | tuple[int, ...]]], message: str):
    with pytest.raises(UsageError) as caught:
        bind_gears(module(), shapes)
    assert message in str(caught.value)


def test_gears_are_not_geared_again():
    bound = module()
    bind_gears(bound, {"x": [(1, 2), -1]})
    with pytest.raises(UsageError, match="only one function can be given several shapes, the module has 2"):
        bind_gears(bound, {"x": [-1, (1, 2)]})


def test_the_gear_runs_that_the_inputs_fit():
    bound = module()
    bind_gears(bound, {"x": [(1, 2), (3, 4)]})
    for gear in gears(bound):
        inputs = make_inputs(gear)
        np.testing.assert_array_equal(run(bound, inputs)["z"], inputs["x"] + inputs["y"])


def test_shapes_of_no_gear_are_refused_with_those_that_are():
    bound = module()
    bind_gears(bound, {"x": [(1, 2), 3]})
    with pytest.raises(InputError) as caught:
        run(bound, {"x": np.zeros((5, 3), np.float32), "y": np.zeros((5, 1), np.float32)})
    assert str(caught.value) == ("no gear of the model takes x:5,3, y:5,1; its gears are x:1,3, y:1,1; x:2,3, y:2,1")


def test_made_up_inputs_are_the_first_gears():
    bound = module()
    bind_gears(bound, {"x": [(4, 2), 3]})
    assert make_inputs(bound)["x"].shape == (4, 3)


def test_a_gear_alone_is_a_model_again():
    bound = module()
    bind_gears(bound, {"x": [(1, 2), 3]})
    keep_gear(bound, gears(bound)[1])
    assert gears(bound) == []
    assert export_model(bound).graph.input[0].type.tensor_type.shape.dim[0].dim_value == 2


def test_gears_are_no_onnx():
    bound = module()
    bind_gears(bound, {"x": [(1, 2), 3]})
    with pytest.raises(InputError, match=r"ONNX has one graph a model, this one has 2 gears; write \.mlir, or one"):
        export_model(bound)
