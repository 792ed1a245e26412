"""Every pass on random programs: same results, interface and names; once is enough; export is import's inverse."""

import functools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, ModuleOp
from xdsl.dialects.func import Func, FuncOp

from gecc.dialects.ge import Ge
from gecc.dialects.ge.errors import text_of
from gecc.dialects.ge.text import module_text, parse_module
from gecc.driver.api import optimize
from gecc.frontend import export_model, import_model, materialise
from gecc.reference import make_inputs, run
from gecc.transforms.catalog import get_all_passes

from .graphs import programs

ON_TENSORS = sorted(get_all_passes().keys() - {"ge-bufferize", "memory-reuse", "precision"})


def function_of(module: ModuleOp) -> FuncOp:
    (function,) = (op for op in module.body.block.ops if isinstance(op, FuncOp))
    return function


def interface(module: ModuleOp) -> tuple[Any, ...]:
    function = function_of(module)
    return function.arg_attrs, function.res_attrs, function.function_type


def node_names(module: ModuleOp) -> set[str]:
    return {text_of(op.attributes["onnx.node"]) or "" for op in module.walk() if "onnx.node" in op.attributes}


def check_same(got: dict[str, Any], wanted: dict[str, Any], bits: bool) -> None:
    assert list(got) == list(wanted)
    for name, a in got.items():
        b = wanted[name]
        assert (a.dtype, a.shape) == (b.dtype, b.shape), name
        if bits:
            np.testing.assert_array_equal(a, b, err_msg=name)
        else:
            scale = max(float(np.abs(b).max(initial=0.0)), 1e-30)
            assert float(np.abs(a - b).max(initial=0.0)) <= 1e-4 * max(scale, 1e-3), name


@functools.cache
def context() -> Context:
    found = Context()
    for dialect in (Builtin, Func, Ge):
        found.load_dialect(dialect)
    return found


@pytest.mark.parametrize("name", ON_TENSORS)
@given(module=programs())
@settings(max_examples=25)
def test_a_pass_by_itself(name: str, module: ModuleOp):
    inputs = make_inputs(module)
    wanted, declared, called = run(module, inputs), interface(module), node_names(module)

    one = get_all_passes()[name]()()
    one.apply(context(), module)
    module.verify()
    text = module_text(module)
    check_same(run(module, inputs), wanted, not one.regroups)
    assert interface(module) == declared
    assert node_names(module) <= called

    one.apply(context(), module)
    assert module_text(module) == text


@given(module=programs(steps=14))
@settings(max_examples=60)
def test_all_that_o3_runs(module: ModuleOp):
    inputs = make_inputs(module)
    wanted, declared = run(module, inputs), interface(module)
    optimised = import_model(optimize(materialise(export_model(module))))
    check_same(run(optimised, inputs), wanted, False)
    assert interface(optimised)[:2] == declared[:2]


@given(module=programs())
@settings(max_examples=60)
def test_export_and_import(module: ModuleOp):
    inputs = make_inputs(module)
    once = import_model(materialise(export_model(module)))
    once.verify()
    # A model does not say the types that are more than inference knows.
    assert interface(once)[:2] == interface(module)[:2]
    check_same(run(once, inputs), run(module, inputs), True)
    # What came from ONNX goes there and back unchanged, to the letter.
    again = import_model(materialise(export_model(once)))
    assert without_paths(again) == without_paths(once)


@given(module=programs())
@settings(max_examples=60)
def test_text_and_back(module: ModuleOp):
    text = module_text(module)
    again = parse_module(context(), text, "test")
    assert module_text(again) == text
    assert module.is_structurally_equivalent(again)
    assert module_text(parse_module(context(), module_text(module, generic=True), "test")) == text


def without_paths(module: ModuleOp) -> str:
    return "\n".join(line for line in module_text(module).splitlines() if "ge.weights" not in line)
