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
from gecc.dialects.ge.arithmetic import AddOp, MulOp, SubOp
from gecc.dialects.ge.bodies import FusionOp
from gecc.dialects.ge.constants import constant
from gecc.dialects.ge.contraction import MatMulOp
from gecc.dialects.ge.convolution import ConvOp
from gecc.dialects.ge.math import AbsOp, NegOp
from gecc.dialects.ge.movement import ReshapeOp, TransposeOp
from gecc.dialects.ge.names import set_names
from gecc.dialects.ge.normalization import LayerNormalizationOp
from gecc.dialects.ge.quantization import DequantizeLinearOp, QuantizeLinearOp
from gecc.dialects.ge.reduction import ReduceMeanOp
from gecc.dialects.ge.slicing import ConcatOp, SliceOp
from gecc.dialects.ge.smooth import SigmoidOp
from gecc.dialects.ge.softmax import SoftmaxOp
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
UNARY = {"Relu": ReluOp, "Abs": AbsOp, "Neg": NegOp, "Sigmoid": SigmoidOp}
BINARY = {"Add": AddOp, "Mul": MulOp}
NAMED = ["Softmax", "LayerNorm", "Centre", "Transpose", "Concat", "Integers"]
KINDS = [*UNARY, *BINARY, "Bias", "Clip", "MatMul", "MatMulOfTwo", "Conv", "Reshape", *NAMED]


@st.composite
def graphs(draw: st.DrawFn) -> ModuleOp:
    """A module of up to 14 steps, of one or two ops each, on values of one shape, and constants that some share."""
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

    def put(op: Operation) -> SSAValue:
        set_names(op, f"inner_{len(block.ops)}", [f"inner_{len(block.ops)}"])
        block.add_op(op)
        return op.results[0]

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
            case "MatMulOfTwo":
                return MatMulOp(any_value(), any_value())
            case "Softmax":
                return SoftmaxOp(any_value(), axis=-1)
            case "LayerNorm":
                return LayerNormalizationOp(any_value(), floats(2), None)
            case "Centre":
                x = any_value()
                return SubOp(x, put(ReduceMeanOp(x, put(constant(np.array([-1]), module)))))
            case "Transpose":
                return TransposeOp(any_value(), perm=(0, 1, 3, 2))
            case "Concat":
                pair = put(ConcatOp(any_value(), any_value(), axis=0))
                return SliceOp(pair, *(put(constant(np.array([k]), module)) for k in (0, 1)))
            case "Integers":
                scale, zero = (put(constant(np.array(v), module)) for v in (np.float32(0.5), np.int8(0)))
                return DequantizeLinearOp(put(QuantizeLinearOp(any_value(), scale, zero)), scale, zero)
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
