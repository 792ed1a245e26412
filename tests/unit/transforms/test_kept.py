"""Which groups stay, before a judge who knows what each costs, and what its ops did."""

from collections.abc import Mapping

import pytest
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from gecc.dialects.ge.attributes import L2TilingAttr
from gecc.dialects.ge.bodies import FusionOp
from gecc.dialects.ge.text import parse_module
from gecc.driver.registry import default_registry
from gecc.planning import Group
from gecc.transforms.fusion.fusion import fuse
from gecc.transforms.l2.forming import Formed
from gecc.transforms.l2.judged import Judged
from gecc.transforms.l2.kept import kept_groups
from gecc.transforms.l2.lying import Lying
from gecc.transforms.rewriting import functions

CONTEXT = default_registry(lambda text: None).context()
T = "tensor<4x8xf32>"
PAIRS = f"""
func.func @main(%x: {T}) -> {T} {{
  %a0 = ge.exp %x : {T} -> {T}
  %a1 = ge.neg %a0 : {T} -> {T}
  %b0 = ge.exp %a1 : {T} -> {T}
  %b1 = ge.neg %b0 : {T} -> {T}
  %c0 = ge.exp %b1 : {T} -> {T}
  %c1 = ge.neg %c0 : {T} -> {T}
  func.return %c1 : {T}
}}"""
FIGURES = {"halo": "none", "weights": "resident", "working_set": 0, "bytes_before": 0, "bytes_after": 0, "hit_share": 1}
SECONDS, BYTES = 10.0, 100
"""Of an op by itself."""


def judge_of(pairs: Mapping[str, tuple[float, int]], together: tuple[float, int] = (0, 0)):
    """Seconds and bytes of the groups named, and what is added where all are groups; others: as their ops."""

    def judge(function: FuncOp) -> Judged:
        costs: dict[Operation, float] = {}
        seconds, moved = 0.0, 0
        for op in function.body.block.ops:
            if not op.results:
                continue
            name = op.results[0].name_hint or ""
            each = pairs[name[0]] if isinstance(op, FusionOp) else (SECONDS, BYTES)
            costs[op] = sum(each)
            seconds, moved = seconds + each[0], moved + each[1]
        if len(costs) == len(pairs):
            seconds, moved = seconds + together[0], moved + together[1]
        return Judged(moved, seconds, Lying(), {}, costs)

    return judge


def kept(pairs: Mapping[str, tuple[float, int]], together: tuple[float, int] = (0, 0)) -> str:
    (function,) = functions(parse_module(CONTEXT, PAIRS, "test"))
    judge = judge_of(pairs, together)
    without = judge(function)
    formed: list[Formed] = []
    for k, name in enumerate(pairs):
        ops = [op for op in function.body.block.ops if op.results and (op.results[0].name_hint or "")[0] == name]
        fusion = fuse(ops, "L2")
        fusion.properties["tiling"] = L2TilingAttr.of([[0]], [[1]], 4, **FIGURES)
        formed.append(Formed(1000 - k, fusion, Group(2 * k, 2 * k + 2, 1)))
    left, found = kept_groups(function, formed, without, judge)
    alone = judge(function)
    assert (found.bytes, found.seconds) == (alone.bytes, alone.seconds)
    assert set(found.costs) == set(alone.costs)  # of this function, though a copy was judged
    assert {each.fusion for each in left} == {op for op in function.body.block.ops if isinstance(op, FusionOp)}
    return "".join(sorted((each.fusion.outs[0].name_hint or "")[0] for each in left))


GOOD = (12.0, 100)


@pytest.mark.parametrize(
    ("pairs", "left"),
    [
        ({"a": GOOD, "b": GOOD, "c": GOOD}, "abc"),
        ({"a": GOOD, "b": (24.0, 400), "c": GOOD}, "ac"),
        ({"a": (30.0, 300), "b": (24.0, 400), "c": GOOD}, "c"),
        ({"a": (30.0, 300), "b": (30.0, 300), "c": (30.0, 300)}, ""),
    ],
)
def test_who_costs_more_than_its_ops_goes(pairs: Mapping[str, tuple[float, int]], left: str):
    assert kept(pairs) == left


def test_for_a_little_time_no_bytes_are_given_up():
    # b is 0.05 s faster than its ops, of 44, and moves more.
    assert kept({"a": GOOD, "b": (19.95, 260), "c": GOOD}) == "ac"


def test_who_costs_more_stays_where_the_rest_is_worse_without_it():
    # As a group that leaves the next one's operand in the cache.
    assert kept({"a": GOOD, "b": (21.0, 210), "c": GOOD}, together=(-5.0, -100)) == "abc"


def test_where_all_seem_to_pay_and_the_whole_does_not_half_go():
    # What they cost together is seen in none of them: so those that save least by the model, a half at a time.
    assert kept({"a": GOOD, "b": GOOD, "c": GOOD}, together=(100.0, 1000)) == "a"
