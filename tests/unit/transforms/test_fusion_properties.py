"""Of any graph under any rules: what is fused computes the same, and opened again is what was there."""

from collections.abc import Sequence

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, ModuleOp, f32
from xdsl.dialects.func import Func, FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region, SSAValue

from gecc.dialects.ge import Ge
from gecc.dialects.ge.activation import ClipOp, ReluOp
from gecc.dialects.ge.arithmetic import AddOp, MulOp
from gecc.dialects.ge.bodies import FusionOp
from gecc.dialects.ge.constants import constant
from gecc.dialects.ge.contraction import MatMulOp
from gecc.dialects.ge.convolution import ConvOp
from gecc.dialects.ge.core import set_names
from gecc.dialects.ge.math import AbsOp, NegOp
from gecc.dialects.ge.movement import ReshapeOp
from gecc.dialects.ge.text import module_text, parse_module
from gecc.dialects.ge.types import tensor_type
from gecc.reference import make_inputs, run
from gecc.transforms.fusion.catalogue import CATALOGUE
from gecc.transforms.fusion.inline_fusion import InlineFusion
from gecc.transforms.fusion.matcher import Step
from gecc.transforms.fusion.names import type_of
from gecc.transforms.fusion.op_fusion import fuse_in
from gecc.transforms.fusion.rules import Rule

SHAPE = (1, 3, 2, 2)
UNARY = {"Relu": ReluOp, "Abs": AbsOp, "Neg": NegOp}
BINARY = {"Add": AddOp, "Mul": MulOp}
KINDS = [*UNARY, *BINARY, "Bias", "Clip", "MatMul", "Conv", "Reshape"]


@st.composite
def graphs(draw: st.DrawFn) -> ModuleOp:
    """A module of up to 14 ops on values of one shape, and constants that some of them share."""
    module = ModuleOp([])
    block = Block(arg_types=[tensor_type(f32, SHAPE)] * 2)
    random = np.random.default_rng(0)
    values: list[SSAValue] = list(block.args)
    constants: dict[tuple[int, ...], list[SSAValue]] = {}

    def known(array: np.ndarray) -> SSAValue:
        made = constants.setdefault(array.shape, [])
        if not made or draw(st.booleans()):
            op = constant(array, module)
            set_names(op, None, [f"constant_{sum(map(len, constants.values()))}"])  # no two constants are equal
            block.add_op(op)
            made.append(op.output)
        return draw(st.sampled_from(made))

    def floats(*shape: int) -> SSAValue:
        return known(random.standard_normal(shape).astype(np.float32))

    def any_value() -> SSAValue:
        return draw(st.sampled_from(values[-4:]))

    def op_of(kind: str) -> Operation:
        match kind:
            case "Add" | "Mul":
                return BINARY[kind](any_value(), any_value())
            case "Bias":
                pair = (any_value(), floats(2))
                return AddOp(*(pair if draw(st.booleans()) else reversed(pair)))
            case "Clip":
                return ClipOp(any_value(), floats(), None)
            case "MatMul":
                return MatMulOp(any_value(), floats(2, 2))
            case "Conv":
                return ConvOp(any_value(), floats(3, 3, 1, 1), floats(3))
            case "Reshape":
                return ReshapeOp(any_value(), known(np.array(SHAPE)))
            case _:
                return UNARY[kind](any_value())

    for k, kind in enumerate(draw(st.lists(st.sampled_from(KINDS), min_size=2, max_size=14))):
        op = op_of(kind)
        set_names(op, f"{kind}_{k}", [f"value_{k}"])
        block.add_op(op)
        values.append(op.results[0])
    results = [value for value in values if value.first_use is None] or values[-1:]
    results += draw(st.lists(st.sampled_from(values), max_size=1))
    block.add_op(ReturnOp(*results))
    types = ([a.type for a in block.args], [v.type for v in results])
    module.body.block.add_op(FuncOp("main", types, Region(block)))
    module.verify()
    return module


PATTERNS = st.lists(
    st.lists(st.sampled_from([*UNARY, *BINARY, "Clip", "MatMul", "Conv", "Reshape"]), min_size=2, max_size=4),
    max_size=3,
)


def rules(patterns: list[list[str]]) -> list[Rule]:
    """A rule a pattern, then ours."""
    found: list[Rule] = []
    for k, names in enumerate(patterns):
        chain = tuple(Step(name, lambda op, name=name: type_of(op) == name) for name in names)
        found.append(Rule(f"rule_{k}", (chain,), f"Fused{k}"))
    return [*found, *CATALOGUE]


def block_of(module: ModuleOp) -> Block:
    (function,) = (op for op in module.body.block.ops if isinstance(op, FuncOp))
    return function.body.block


def in_order_of_reading(module: ModuleOp) -> str:
    """The module's text with its ops where the results, read from the first to the last, need them first."""
    copy = module.clone()
    block = block_of(copy)
    last = block.last_op
    assert last is not None
    placed: set[Operation] = set()

    def place(values: Sequence[SSAValue]) -> None:
        for value in values:
            op = value.owner
            if isinstance(op, Operation) and op not in placed:
                placed.add(op)
                place(op.operands)
                op.detach()
                block.insert_op_before(op, last)

    place(last.operands)
    return module_text(copy)


def parsed(text: str) -> ModuleOp:
    context = Context()
    for dialect in (Builtin, Func, Ge):
        context.load_dialect(dialect)
    return parse_module(context, text, "test.mlir")


@settings(max_examples=60)
@given(graphs(), PATTERNS, st.booleans())
def test_opened_again_it_is_what_was_there(module: ModuleOp, patterns: list[list[str]], share: bool):
    before = module.clone()
    fuse_in(block_of(module), rules(patterns), share)
    module.verify()
    assert all(op.parent_op() is block_of(module).parent_op() for op in module.walk() if isinstance(op, FusionOp))
    fused = parsed(module_text(module))
    assert fused.is_structurally_equivalent(module)

    for one in (module, fused):
        InlineFusion().apply(Context(), one)
        one.verify()
        assert in_order_of_reading(one) == in_order_of_reading(before)


@settings(max_examples=40)
@given(graphs(), PATTERNS, st.booleans())
def test_it_computes_the_same_bits(module: ModuleOp, patterns: list[list[str]], share: bool):
    inputs = make_inputs(module)
    before = run(module, inputs)
    fuse_in(block_of(module), rules(patterns), share)
    after = run(module, inputs)

    assert before.keys() == after.keys()
    assert all(before[name].tobytes() == after[name].tobytes() for name in before)


@settings(max_examples=30)
@given(graphs(), PATTERNS)
def test_fusing_twice_is_fusing_once(module: ModuleOp, patterns: list[list[str]]):
    fuse_in(block_of(module), rules(patterns))
    text = module_text(module)
    fuse_in(block_of(module), rules(patterns))

    assert module_text(module) == text
