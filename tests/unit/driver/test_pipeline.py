"""Running passes: rounds, crashes, names, and what watchers hear."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest
from xdsl.context import Context
from xdsl.dialects import test
from xdsl.dialects.builtin import ModuleOp, StringAttr, i32, i64
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, PatternRewriteWalker, RewritePattern
from xdsl.utils.exceptions import VerifyException

from gecc.dialects.ge.errors import InputError
from gecc.driver.diagnostics import PassCrash
from gecc.driver.pipeline import Pipeline, Rounds, Watcher, run
from gecc.transforms.report import Report, count, missed


@dataclass(frozen=True)
class DoPass(ModulePass):
    """Does to the module whatever a test wants."""

    name = "do"
    action: Callable[[ModuleOp], object]

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        self.action(op)


class Heard(Watcher):
    def __init__(self) -> None:
        self.before_, self.reports = list[str](), list[Report]()

    def before(self, one: ModulePass, module: ModuleOp) -> None:
        self.before_.append(one.name)

    def after(self, one: ModulePass, module: ModuleOp, report: Report, seconds: float) -> None:
        assert seconds >= 0
        self.reports.append(report)


def module() -> ModuleOp:
    return ModuleOp([test.TestOp(result_types=[i32]), test.TestOp(result_types=[i32])])


def runs_of(action: Callable[[ModuleOp], object], limit: int = 5) -> int:
    heard = Heard()
    run(Context(), module(), [Rounds("simplify", (DoPass(action),), limit)], [heard])
    return len(heard.before_)


def test_a_round_that_changes_nothing_is_the_last():
    assert runs_of(lambda m: None) == 1


def test_rounds_end_when_the_work_is_done():
    def drop_one(m: ModuleOp) -> None:
        if op := m.body.block.last_op:
            op.detach()

    assert runs_of(drop_one) == 3  # two ops, and a round that finds none


def test_rounds_are_bounded():
    assert runs_of(lambda m: m.body.block.add_op(test.TestOp()), limit=4) == 4


def test_a_round_ends_where_every_pass_has_run_since_the_last_change():
    heard = Heard()
    drop = DoPass(lambda m: m.body.block.last_op.detach() if len(m.body.block.ops) == 2 else None)
    run(Context(), module(), [Rounds("simplify", (drop, DoPass(lambda m: None), DoPass(lambda m: None)), 5)], [heard])
    assert len(heard.before_) == 4  # the second round ends with the pass that had changed something in the first


def test_a_pass_that_counts_has_changed_something():
    heard = Heard()
    run(Context(), module(), [Rounds("simplify", (DoPass(lambda m: count("seen")),), 3)], [heard])
    assert len(heard.before_) == 3


def first(m: ModuleOp) -> test.TestOp:
    op = m.body.block.first_op
    assert isinstance(op, test.TestOp)
    return op


CHANGES: dict[str, Callable[[ModuleOp], object]] = {
    "attribute": lambda m: first(m).attributes.update(a=StringAttr("x")),
    "property": lambda m: first(m).properties.update(prop1=StringAttr("x")),
    "type": lambda m: setattr(first(m).results[0], "_type", i64),
    "same op again": lambda m: m.body.block.insert_ops_before([test.TestOp(result_types=[i32])], first(m)),
}


@pytest.mark.parametrize("what", CHANGES)
def test_each_kind_of_change_is_seen(what: str):
    done: list[int] = []

    def once(m: ModuleOp) -> None:
        if not done:
            CHANGES[what](m)
        done.append(1)

    assert runs_of(once) == 2


def test_counts_and_remarks_come_by_pass():
    def report(m: ModuleOp) -> None:
        count("folded", 2)
        missed(first(m), "not folded: it is too large")

    heard = Heard()
    run(Context(), module(), [DoPass(report), DoPass(lambda m: None)], [heard])
    assert [dict(report.counts) for report in heard.reports] == [{"folded": 2}, {}]
    assert len(heard.reports[0].remarks) == 1


def boom(m: ModuleOp) -> None:
    raise KeyError("boom")


def test_what_no_pass_may_raise_is_a_crash_with_the_way_to_it():
    good, bad = DoPass(lambda m: None), DoPass(boom)
    with pytest.raises(PassCrash, match="internal error in 'do'") as crash:
        run(Context(), module(), [good, bad])
    assert crash.value.culprit is bad
    assert crash.value.ran == (good,)


@pytest.mark.parametrize("error", [InputError("no"), VerifyException("no"), OSError(28, "full")])
def test_what_a_pass_says_on_purpose_goes_on_as_it_is(error: Exception):
    def refuse(m: ModuleOp) -> None:
        raise error

    with pytest.raises(type(error)):
        run(Context(), module(), [DoPass(refuse)])


def spoil(m: ModuleOp) -> None:
    first(m).properties["unheard"] = StringAttr("of")


def pipeline_with_a_spoiler() -> Pipeline:
    return [DoPass(spoil), DoPass(lambda m: None)]


def test_ir_that_does_not_verify_is_a_crash():
    with pytest.raises(PassCrash, match="the result does not verify: "):
        run(Context(), module(), pipeline_with_a_spoiler())


def test_verify_each_names_the_pass_that_spoiled_it():
    pipeline = pipeline_with_a_spoiler()
    with pytest.raises(PassCrash) as crash:
        run(Context(), module(), pipeline, verify_each=True)
    assert crash.value.culprit is pipeline[0]
    assert crash.value.ran == ()


class Replace(RewritePattern):
    def match_and_rewrite(self, op: test.TestOp, rewriter: PatternRewriter, /) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        if isinstance(op, test.TestOp) and "new" not in op.attributes:
            rewriter.replace(op, test.TestOp(result_types=[i32], attributes={"new": StringAttr("")}))


def test_a_foreign_pattern_carries_the_names_on():
    m = module()
    first(m).attributes["onnx.node"] = StringAttr("Relu_1")
    run(Context(), m, [DoPass(lambda m: PatternRewriteWalker(Replace()).rewrite_module(m))])
    assert first(m).attributes == {"new": StringAttr(""), "onnx.node": StringAttr("Relu_1")}
