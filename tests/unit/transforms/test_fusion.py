"""Building a ge.fusion out of ops, and finding the ops."""

import json
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, ModuleOp
from xdsl.dialects.func import Func, FuncOp
from xdsl.ir import Operation

from gecc.dialects.ge import Ge
from gecc.dialects.ge.bodies import FusionOp
from gecc.dialects.ge.control import IfOp
from gecc.dialects.ge.errors import node_name
from gecc.dialects.ge.text import module_text, parse_module
from gecc.reference import run
from gecc.transforms.fusion.fusion import CannotFuse, fuse, inline
from gecc.transforms.fusion.inline_fusion import InlineFusion
from gecc.transforms.fusion.matcher import LIMIT, MANY, Matcher, Near, Step
from gecc.transforms.fusion.names import type_of
from gecc.transforms.fusion.op_fusion import OpFusion
from gecc.transforms.report import Report, collecting

X = "tensor<4xf32>"


def parsed(body: str, arguments: str = f"%x: {X}", results: str = X) -> ModuleOp:
    context = Context()
    for dialect in (Builtin, Func, Ge):
        context.load_dialect(dialect)
    # In these tests the letter behind `:` is a type, and each op has its value's name.
    text = re.sub(r"%(\w+) = (ge\.(?!if|constant|fusion)[^\n]*)", r'%\1 = \2 onnx "\1"', body)
    module = parse_module(context, f"func.func @main({arguments}) -> ({results}) {{\n{text}\n}}", "test.mlir")
    module.verify()
    return module


def unary(name: str, kind: str, of: str) -> str:
    return f"%{name} = ge.{kind} %{of} : {X} -> {X}\n"


def binary(name: str, kind: str, *of: str) -> str:
    return f"%{name} = ge.{kind} {', '.join(f'%{v}' for v in of)} : {X}, {X} -> {X}\n"


def returns(*values: str) -> str:
    return f"func.return {', '.join(f'%{v}' for v in values)} : {', '.join([X] * len(values))}"


def ops_of(module: ModuleOp) -> list[Operation]:
    (function,) = (op for op in module.body.block.ops if isinstance(op, FuncOp))
    return list(function.body.block.ops)


def named(module: ModuleOp, *names: str) -> list[Operation]:
    found = {node_name(op): op for op in module.walk()}
    return [found[name] for name in names]


def order(module: ModuleOp) -> list[str | None]:
    return [op.label.data if isinstance(op, FusionOp) else node_name(op) for op in ops_of(module)[:-1]]


def body(fusion: FusionOp) -> list[str]:
    return [op.name.removeprefix("ge.") for op in fusion.body.block.ops]


# ------------------------------------------------------------------ fuse


def test_operands_and_results_in_the_order_of_the_ops():
    module = parsed(
        unary("a", "exp", "x") + binary("b", "add", "y", "a") + binary("c", "mul", "b", "x") + returns("a", "c"),
        arguments=f"%x: {X}, %y: {X}",
        results=f"{X}, {X}",
    )
    fusion = fuse(named(module, "a", "b", "c"), "F")
    module.verify()

    assert [v.name_hint for v in fusion.ins] == ["x", "y"]
    assert [v.name_hint for v in fusion.outs] == ["a", "c"]
    assert body(fusion) == ["exp", "add", "mul", "yield"]


def test_a_reader_before_the_last_op_moves_behind_the_fusion():
    module = parsed(
        unary("a", "exp", "x")
        + unary("b", "neg", "a")
        + unary("c", "abs", "x")
        + unary("d", "sqrt", "b")
        + binary("e", "mul", "a", "c")
        + returns("d", "e"),
        results=f"{X}, {X}",
    )
    fuse(named(module, "a", "e"), "F")
    module.verify()

    assert order(module) == ["c", "F", "b", "d"]


def test_what_would_read_its_own_result_is_refused_and_left_whole():
    module = parsed(
        unary("a", "exp", "x")
        + unary("b", "neg", "a")
        + unary("c", "abs", "b")
        + binary("d", "mul", "a", "c")
        + returns("d")
    )
    before = module_text(module)
    with pytest.raises(CannotFuse, match="would read what depends on its own result"):
        fuse(named(module, "a", "c", "d"), "F")

    assert module_text(module) == before


IMPURE = f'%{{}} = ge.opaque "Mystery" version 1 (%{{}}) : ({X}) -> ({X})\n'


def test_an_op_with_an_effect_is_refused():
    module = parsed(IMPURE.format("a", "x") + unary("b", "exp", "a") + returns("b"))
    with pytest.raises(CannotFuse, match=r"'ge.opaque' is not known to be pure"):
        fuse(named(module, "a", "b"), "F")


def test_an_op_with_an_effect_does_not_move():
    module = parsed(
        unary("a", "exp", "x") + IMPURE.format("b", "a") + unary("c", "neg", "a") + returns("b", "c"),
        results=f"{X}, {X}",
    )
    with pytest.raises(CannotFuse, match=r"'ge.opaque', which reads a result before the last op, cannot be moved"):
        fuse(named(module, "a", "c"), "F")


def test_a_reader_in_a_branch_is_a_reader():
    module = parsed(
        unary("a", "exp", "x")
        + unary("b", "neg", "a")
        + f"%i = ge.if %c : tensor<i1> -> ({X}) {{\nge.yield %a : {X}\n}} else {{\nge.yield %b : {X}\n}}\n"
        + returns("i"),
        arguments=f"%x: {X}, %c: tensor<i1>",
    )
    fusion = fuse(named(module, "a", "b"), "F")
    module.verify()

    assert len(fusion.outs) == 2


def test_what_a_branch_reads_comes_in_as_an_operand():
    module = parsed(
        unary("a", "exp", "x")
        + f"%i = ge.if %c : tensor<i1> -> ({X}) {{\nge.yield %a : {X}\n}} else {{\n"
        + unary("n", "neg", "y")
        + f"ge.yield %n : {X}\n}}\n"
        + returns("i"),
        arguments=f"%x: {X}, %y: {X}, %c: tensor<i1>",
    )
    exp, branch, _ = ops_of(module)
    fusion = fuse([exp, branch], "F")
    module.verify()

    assert [v.name_hint for v in fusion.ins] == ["x", "c", "y"]


VECTOR = "tensor<2xi64>"


@pytest.mark.parametrize(
    ("constant", "reader", "inside"),
    [
        # A shape, axes, and where a slice starts: shapes depend on them.
        (
            f"%k = ge.constant dense<[2, 2]> : {VECTOR}",
            f"%y = ge.reshape %a, %k : {X}, {VECTOR} -> tensor<2x2xf32>",
            True,
        ),
        (
            "%k = ge.constant dense<[0]> : tensor<1xi64>",
            f"%y = ge.unsqueeze %a, %k : {X}, tensor<1xi64> -> tensor<1x4xf32>",
            True,
        ),
        # A scalar, and one element that broadcasts.
        ("%k = ge.constant dense<2.0> : tensor<f32>", f"%y = ge.mul %a, %k : {X}, tensor<f32> -> {X}", True),
        ("%k = ge.constant dense<[2.0]> : tensor<1xf32>", f"%y = ge.mul %a, %k : {X}, tensor<1xf32> -> {X}", True),
        # Weights, small as they are, and numbers that only values depend on.
        (f"%k = ge.constant dense<[1.0, 2.0, 3.0, 4.0]> : {X}", f"%y = ge.mul %a, %k : {X}, {X} -> {X}", False),
        ("%k = ge.constant #ge.splat<2.0> : tensor<4xf32>", f"%y = ge.mul %a, %k : {X}, {X} -> {X}", False),
        (
            f"%k = ge.constant dense<[3, 0]> : {VECTOR}",
            f"%y = ge.gather %a, %k : {X}, {VECTOR} -> tensor<2xf32>",
            False,
        ),
    ],
)
def test_which_constants_go_inside(constant: str, reader: str, inside: bool):
    result = reader.rpartition("-> ")[2]
    module = parsed(f"{constant}\n{unary('a', 'exp', 'x')}{reader}\nfunc.return %y : {result}", results=result)
    fusion = fuse(named(module, "a", "y"), "F")
    module.verify()

    assert ("constant" in body(fusion)) == inside
    assert len(fusion.ins) == 2 - inside
    assert len(ops_of(module)) == 3 - inside, "what nothing reads any more goes"


def test_the_axes_of_a_slice_go_inside_though_its_ends_are_not_known():
    constants = "".join(f"%{n} = ge.constant dense<[{v}]> : tensor<1xi64>\n" for n, v in (("axes", 1), ("steps", 1)))
    one, matrix = "tensor<1xi64>", "tensor<4x?xf32>"
    module = parsed(
        constants
        + f"%a = ge.exp %m : {matrix} -> {matrix}\n"
        + f"%y = ge.slice %a, %e, %e, %axes, %steps : {matrix}, {one}, {one}, {one}, {one} -> {matrix}\n"
        + f"func.return %y : {matrix}",
        arguments=f"%m: {matrix}, %e: {one}",
        results=matrix,
    )
    fusion = fuse(named(module, "a", "y"), "F")

    assert body(fusion).count("constant") == 2


def test_inline_is_the_inverse():
    module = parsed(unary("a", "exp", "x") + unary("b", "neg", "a") + returns("b"))
    before = module_text(module)
    fusion = fuse(named(module, "a", "b"), "F")
    assert module_text(module) != before
    inline(fusion)

    assert module_text(module) == before


# ------------------------------------------------------------------ match


def chain(*kinds: str) -> tuple[Step, ...]:
    return tuple(Step(kind, lambda op, kind=kind: type_of(op) == kind) for kind in kinds)


def matched(module: ModuleOp, kinds: Sequence[str], root: str, share: bool = False) -> set[str | None]:
    block = ops_of(module)[0].parent_block()
    assert block is not None
    return {node_name(op) for op in Matcher(chain(*kinds), block, share).match(*named(module, root))}


def test_additions_bring_in_what_they_add():
    module = parsed(
        unary("a", "exp", "x") + unary("b", "exp", "x") + unary("c", "exp", "x")
        + binary("d", "add", "a", "b") + binary("e", "add", "c", "d") + unary("f", "neg", "e") + returns("f")
    )  # fmt: skip
    assert matched(module, ["Exp", "Add", "Neg"], "f") == set("abcdef")


def test_what_no_chain_leads_to_stays_outside():
    # %b is an Add, but no Exp is behind it.
    module = parsed(
        unary("a", "exp", "x") + binary("b", "add", "x", "x") + binary("c", "add", "a", "b") + unary("d", "neg", "c")
        + returns("d")
    )  # fmt: skip
    assert matched(module, ["Exp", "Add", "Neg"], "d") == set("acd")


def test_two_readers_that_are_both_in_the_match():
    module = parsed(unary("a", "exp", "x") + unary("b", "sigmoid", "a") + binary("c", "mul", "a", "b") + returns("c"))
    assert matched(module, ["Exp", "Sigmoid", "Mul"], "c") == set("abc")


def test_a_producer_with_another_reader_is_left_out_where_the_chain_holds_without_it():
    body = unary("a", "exp", "x") + unary("b", "exp", "x") + binary("c", "add", "a", "b")
    module = parsed(body + returns("c", "a"), results=f"{X}, {X}")

    assert matched(module, ["Exp", "Add"], "c") == set("bc")
    assert matched(module, ["Exp", "Add"], "c", share=True) == set("abc")


def test_what_is_too_long_is_near_only():
    length = LIMIT
    steps = [unary("v0", "exp", "x"), *(binary(f"v{k}", "add", f"v{k - 1}", "x") for k in range(1, length))]
    module = parsed("".join(steps) + unary("y", "neg", f"v{length - 1}") + returns("y"))

    with pytest.raises(Near, match="too many ops"):
        matched(module, ["Exp", "Add", "Neg"], "y")


def test_a_value_with_very_many_readers_is_not_shared():
    readers = "".join(unary(f"r{k}", "neg", "a") for k in range(MANY + 1))
    module = parsed(unary("a", "exp", "x") + readers + returns("r0"))

    with pytest.raises(Near, match=f'more than {MANY} others read the result of "a"'):
        matched(module, ["Exp", "Neg"], "r3", share=True)


# ------------------------------------------------------------------ the pass


def rule(folder: Path, **said: object) -> OpFusion:
    (folder / "rules.json").write_text(json.dumps({"rules": [{"replacement": "Mine", **said}]}))
    return OpFusion(str(folder / "rules.json"))


THING = f'%a = ge.opaque "Thing" domain "com.acme" version 1 {{}}(%x) attrs {{{{level = 3 : i64}}}} : ({X}) -> ({X})\n'


@pytest.mark.parametrize(
    ("condition", "pure", "fires"),
    [
        ("com.acme::Thing.level == 3", "pure ", True),
        ("com.acme::Thing.level == 4", "pure ", False),
        ("com.acme::Thing.depth == 3", "pure ", False),  # not there
        ("com.acme::Thing.level == 3", "", False),
    ],
)
def test_operators_of_another_domain(condition: str, pure: str, fires: bool, tmp_path: Path):
    module = parsed(THING.format(pure) + unary("b", "relu", "a") + returns("b"))
    with collecting(Report()) as report:
        rule(tmp_path, pattern=["com.acme::Thing", "Relu"], condition=condition).apply(Context(), module)

    assert order(module) == (["Mine"] if fires else ["a", "b"])
    assert bool(report.remarks) != fires


def test_what_stands_in_a_branch_is_fused_there(tmp_path: Path):
    module = parsed(
        f"%i = ge.if %c : tensor<i1> -> ({X}) {{\n"
        + unary("a", "exp", "x") + unary("b", "neg", "a") + f"ge.yield %b : {X}\n}} else {{\nge.yield %x : {X}\n}}\n"
        + returns("i"),
        arguments=f"%x: {X}, %c: tensor<i1>",
    )  # fmt: skip
    x = np.arange(4, dtype=np.float32)
    inputs = {"input_0": x, "input_1": np.array(True)}
    before = run(module, inputs)["output_0"]
    rule(tmp_path, pattern=["Exp", "Neg"]).apply(Context(), module)
    module.verify()

    assert [op.name for op in module.walk() if isinstance(op.parent_op(), IfOp)][:2] == ["ge.fusion", "ge.yield"]
    assert run(module, inputs)["output_0"].tobytes() == before.tobytes()
    InlineFusion().apply(Context(), module)
    assert not any(isinstance(op, FusionOp) for op in module.walk())


def test_a_rule_that_names_its_product_as_what_it_matches_ends(tmp_path: Path):
    names = "abcdefgh"
    module = parsed("".join(map(unary, names, ["relu"] * 8, "x" + names)) + returns("h"))
    one = rule(tmp_path, pattern=["Relu", "Relu"], replacement="Relu")
    one.apply(Context(), module)
    text = module_text(module)
    one.apply(Context(), module)

    assert order(module) == ["Relu"] * 4
    assert module_text(module) == text


def test_an_op_is_in_one_fusion_and_the_report_counts():
    module = parsed(unary("a", "exp", "x") + returns("a"))
    with collecting(Report()) as report:
        OpFusion().apply(Context(), module)
    assert not report.counts

    product = "%p = ge.matmul %x, %w : tensor<2x4xf32>, tensor<4x2xf32> -> tensor<2x2xf32>\n"
    module = parsed(
        product + "%q = ge.relu %p : tensor<2x2xf32> -> tensor<2x2xf32>\nfunc.return %q : tensor<2x2xf32>",
        arguments="%x: tensor<2x4xf32>, %w: tensor<4x2xf32>",
        results="tensor<2x2xf32>",
    )
    with collecting(Report()) as report:
        OpFusion().apply(Context(), module)
        text = module_text(module)
        OpFusion().apply(Context(), module)

    assert report.counts == {"fusions": 1, "ops fused": 2}
    assert module_text(module) == text, "a second run changes nothing"
