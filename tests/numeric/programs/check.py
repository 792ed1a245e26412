"""
What must hold of a program: every pass alone, all that -O3 runs, and the way through text, ONNX and memory keep what it
computes, its interface and its names; once is enough.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import ModelProto
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass

from gecc.dialects.ge.arithmetic import MulOp
from gecc.dialects.ge.constants import constant
from gecc.dialects.ge.core import GeOp
from gecc.dialects.ge.errors import InputError, text_of
from gecc.dialects.ge.text import module_text, parse_module
from gecc.dialects.ge.types import element_of, is_element
from gecc.driver.phases import plan
from gecc.driver.pipeline import Watcher, state_of
from gecc.driver.pipeline import run as run_passes
from gecc.driver.registry import default_registry
from gecc.frontend import export_model, import_model, materialise
from gecc.reference import run
from gecc.transforms.catalog import get_all_passes
from gecc.transforms.report import Report, collecting
from gecc.transforms.rewriting import walk_outside

from .program import SIZES, feeds

NOT_ALONE = {"ge-bufferize", "memory-reuse", "l2-fusion", "precision", "fold-initializer-inputs"}
"""Passes that need another module than these, or that change outputs or the interface because they were asked to."""

TWICE = {"merge-shape-arithmetic"}
"""Passes whose second run may find more, where what the first one made has fewer forms than what was read."""

TOLERANCES = {2: 2e-2, 4: 1e-4, 8: 1e-4}
"""By bytes of the float: the largest |a - b| over the largest |b| where arithmetic is regrouped."""

Outputs = dict[str, Any]


@functools.cache
def registry():
    return default_registry(_raise)


def _raise(text: str) -> None:
    raise AssertionError(text)


@functools.cache
def passes() -> dict[str, ModulePass]:
    return {name: load()() for name, load in get_all_passes().items() if name not in NOT_ALONE}


def context() -> Context:
    return registry().context()


class Tries:
    """
    A module's outputs on several inputs.

    plain, special   inputs of ordinary numbers; of NaN, infinities, zeros of both signs, the largest integers
    """

    def __init__(self, model: ModelProto, module: ModuleOp) -> None:
        free = any(d.HasField("dim_param") for i in model.graph.input for d in i.type.tensor_type.shape.dim)
        self.module = module
        self.plain = [feeds(model, *sizes) for sizes in (SIZES if free else SIZES[:1])]
        self.special = [feeds(model, *SIZES[0], special=True)]
        self.wanted = [outputs(module, inputs) for inputs in (*self.plain, *self.special)]
        self._turn = 0
        self._slack: list[list[Outputs | None]] | None = None

    def check(self, module: ModuleOp, exact: bool, few: bool = False) -> None:
        """
        Whether `module` gives the same. What the original refuses may be anything.

        exact   bit for bit, on all inputs; else as near as rounding allows, on plain ones
        few     on one plain input, another one each time
        """
        self._turn += 1
        inputs = [*self.plain, *self.special] if exact else self.plain
        for number, (given, wanted) in enumerate(zip(inputs, self.wanted, strict=False)):
            if wanted is None or (few and number < len(self.plain) and number != self._turn % len(self.plain)):
                continue
            got = run(module, given)
            assert list(got) == list(wanted)
            for name, b in wanted.items():
                a = got[name]
                assert (a.dtype, a.shape) == (b.dtype, b.shape), f"{name}: {a.dtype}{a.shape}, not {b.dtype}{b.shape}"
                if same_bits(a, b):
                    continue
                sizes = {k: v.shape for k, v in given.items()}
                assert not exact, f"{name} differs for {sizes}:\n{a}\nnot\n{b}"
                far, allowed = distance(a, b), self.slack(number, name, b)
                assert far <= allowed, f"{name} differs by {far}, allowed {allowed}, for {sizes}:\n{a}\nnot\n{b}"

    def slack(self, number: int, name: str, b: Any) -> float:
        """
        How far an output may be off: the tolerance, or what other rounding in each op of the original does to it, which
        is more where a difference of like numbers, a step or a comparison makes much of little.
        """
        if self._slack is None:
            self._slack = [[outputs(noisy(self.module, seed), given) for seed in range(6)] for given in self.plain]
        moved = [distance(found[name], b) for found in self._slack[number] if found is not None]
        finite = np.abs(b[np.isfinite(b)].astype(np.float64)) if is_float(b) else np.zeros(0)
        allowed = TOLERANCES.get(b.dtype.itemsize, 0) * max(finite.max(initial=0.0), 1e-3) if is_float(b) else 0
        return max(allowed, 8 * max(moved, default=0.0))


def outputs(module: ModuleOp, inputs: Outputs) -> Outputs | None:
    """None where the module refuses its inputs."""
    try:
        return run(module, inputs)
    except InputError:
        return None


def is_float(array: Any) -> bool:
    return array.dtype.kind == "f" or array.dtype.name == "bfloat16"


def same_bits(a: Any, b: Any) -> bool:
    """Equal to the bit, zeros of either sign told apart, every NaN the same."""
    if not is_float(a):
        return np.array_equal(a, b)
    nan = np.isnan(b)
    return np.array_equal(np.isnan(a), nan) and a[~nan].tobytes() == b[~nan].tobytes()


def distance(a: Any, b: Any) -> float:
    """The largest |a - b|; infinite where one is NaN or infinite and the other is not the same."""
    a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
    if a.shape != b.shape:
        return np.inf
    with np.errstate(invalid="ignore"):
        far = np.where((a == b) | (np.isnan(a) & np.isnan(b)), 0.0, np.abs(a - b))
    return float(np.nan_to_num(far, nan=np.inf, posinf=np.inf).max(initial=0.0))


def noisy(module: ModuleOp, seed: int) -> ModuleOp:
    """The module with each float result off by about one unit in its last place."""
    copy, random = module.clone(), np.random.default_rng(seed)
    for op in list(walk_outside(function_of(copy))):
        if not isinstance(op, GeOp) or op.name == "ge.constant":
            continue
        for result in op.results:
            if isinstance(result.type, TensorType) and is_element(result.type.element_type):
                dtype = element_of(result.type.element_type).dtype
                one = np.ones((), dtype)
                if is_float(one):
                    off = np.array(1 + random.choice([-2, -1, 1, 2]) * float(unit(dtype)), dtype)
                    factor = constant(off, copy)
                    product = MulOp(result, factor.results[0], result_types=[result.type])
                    op.parent_block().insert_ops_after([factor, product], op)
                    result.replace_uses_with_if(product.results[0], lambda use, it=product: use.operation is not it)
    return copy


@functools.cache
def unit(dtype: Any) -> Any:
    one = np.ones((), dtype)
    small = one
    while (one + small / dtype.type(2)).astype(dtype) != one:
        small = (small / dtype.type(2)).astype(dtype)
    return small


# ---------------------------------------------------------------------- the module around


def function_of(module: ModuleOp) -> FuncOp:
    (function,) = (op for op in module.body.block.ops if isinstance(op, FuncOp))
    return function


def interface(module: ModuleOp) -> tuple[Any, ...]:
    function = function_of(module)
    return function.arg_attrs, function.res_attrs, function.function_type.inputs


def node_names(module: ModuleOp) -> set[str]:
    return {text_of(op.attributes["onnx.node"]) or "" for op in module.walk() if "onnx.node" in op.attributes}


def check_readers(module: ModuleOp) -> None:
    """An op that was taken out, or never put in, reads nothing: what it read would seem to be needed."""
    inside = set(module.walk())
    for op in inside:
        for value in op.results:
            assert all(use.operation in inside for use in value.uses), f"'{op.name}' is read from outside"


# ---------------------------------------------------------------------- what is checked


class Fault(AssertionError):
    """What does not hold, of which pass."""


def checked(what: str, check: Callable[[], None]) -> None:
    try:
        check()
    except Exception as error:
        raise Fault(f"{what}: {type(error).__name__}: {error}") from error


def check(model: ModelProto, names: Sequence[str] | None = None) -> None:
    """Each pass by itself (those of `names`), and all that -O3 runs, where `names` does not say which."""
    module = import_model(model)
    module.verify()
    tries = Tries(model, module)
    check_alone(module, tries, names)
    if names is None:
        check_all(module, tries)


def check_alone(module: ModuleOp, tries: Tries, names: Sequence[str] | None = None) -> None:
    """Each pass by itself: values, interface, names; and once is enough."""
    declared, called = interface(module), node_names(module)
    copy = module.clone()
    state = state_of(copy)

    def alone(one: ModulePass) -> None:
        nonlocal copy, state
        with collecting(report := Report()):
            one.apply(context(), copy)
        after = state_of(copy)
        if after == state:
            return
        assert report.changed, "it counts nothing that it did"
        changed, copy = copy, module.clone()
        state = state_of(copy)
        changed.verify()
        check_readers(changed)
        tries.check(changed, exact=not one.regroups, few=True)
        assert interface(changed)[:2] == declared[:2], "the interface changes"
        assert node_names(changed) <= called, "a node's name is new"
        once = state_of(changed)
        one.apply(context(), changed)
        if one.name in TWICE and state_of(changed) != once:
            tries.check(changed, exact=not one.regroups, few=True)
            once = state_of(changed)
            one.apply(context(), changed)
        assert state_of(changed) == once, "once is not enough"

    for name, one in passes().items():
        if names is None or name in names:
            checked(name, lambda one=one: alone(one))


class Honest(Watcher):
    """
    Each pass that changes the module says so: rounds end by that.

    regrouped   whether a pass that may regroup arithmetic has changed something
    """

    def __init__(self) -> None:
        self.regrouped = False
        self._state: list[Any] = []

    def before(self, one: ModulePass, module: ModuleOp) -> None:
        self._state = state_of(module)

    def after(self, one: ModulePass, module: ModuleOp, report: Report, seconds: float) -> None:
        if state_of(module) != self._state:
            assert report.changed, f"{one.name} counts nothing that it did"
            self.regrouped |= getattr(one, "regroups", True)


@functools.cache
def pipelines():
    return plan(registry()), plan(registry(), memory=True)


def optimised(module: ModuleOp) -> bool:
    """Runs -O3; whether arithmetic may be regrouped."""
    seen = Honest()
    run_passes(context(), module, pipelines()[0], [seen])
    return seen.regrouped


def check_all(module: ModuleOp, tries: Tries) -> None:
    """What -O3 makes: in memory, written as ONNX and read again, in buffers."""
    declared = interface(module)
    after = module.clone()
    regrouped = False

    def values() -> None:
        nonlocal regrouped
        regrouped = optimised(after)
        tries.check(after, exact=not regrouped)
        assert interface(after)[:2] == declared[:2], "the interface changes"

    checked("O3", values)
    checked("O3, text", lambda: check_text(after))
    checked("O3, export", lambda: check_exported(after, tries, exact=not regrouped))
    checked("O3, memory", lambda: check_memory(after, tries))


def check_text(module: ModuleOp) -> None:
    """The text gives the module again, and -O3 of it is the same text."""
    text = module_text(module)
    again = parse_module(context(), text, "test")
    assert module_text(again) == text, "the text is not its own inverse"
    optimised(again)
    assert module_text(again) == text, "-O3 twice is not -O3"


def check_exported(module: ModuleOp, tries: Tries, exact: bool) -> None:
    written = materialise(export_model(module))
    onnx.checker.check_model(written, full_check=True)
    tries.check(import_model(written), exact=exact, few=True)


def check_memory(module: ModuleOp, tries: Tries) -> None:
    """In one arena it computes what it does on tensors, bit for bit."""
    if any(d < 0 for argument in function_of(module).body.block.args for d in argument.type.get_shape()):
        return
    wanted = [outputs(module, inputs) for inputs in tries.plain]
    run_passes(context(), module, pipelines()[1], [Honest()])
    for inputs, before in zip(tries.plain, wanted, strict=True):
        for name, value in run(module, inputs).items() if before is not None else ():
            assert same_bits(value, before[name]), f"{name} differs in buffers"
