"""Plans as genes, and what a plan costs."""

from dataclasses import replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gecc.planning import (
    Group,
    JudgedScorer,
    Model,
    Piece,
    Score,
    SearchOptions,
    TuningSpace,
    groups_of,
    replay,
    search,
    single_plan,
    structure_key,
    with_groups,
)

from .pieces import MIB, Machine, bottleneck, chain, pieces


def space_of(piece: Piece, machine: Machine, options: SearchOptions | None = None, barred: set[int] | None = None):
    start = search(piece, machine, options, barred or ())
    return TuningSpace(
        Model(piece, machine), options or SearchOptions(), start, single_plan(piece, machine), barred or ()
    )


def test_genes_stand_in_the_order_of_the_ops():
    space = space_of(bottleneck(32), Machine())
    assert space.genes == {
        "000000.tiling": 16,
        "000001.border": 2,
        "000001.tiling": 16,
        "000002.border": 2,
    }


def test_a_border_that_is_not_set_joins_two_ops():
    space = space_of(bottleneck(32), Machine())
    plan = space.decode({"000001.border": 1, "000002.border": 0})
    assert [(group.begin, group.end) for group in plan] == [(0, 1), (1, 3)]


def test_a_tiling_gene_counts_from_the_fewest_tiles():
    space = space_of(bottleneck(32), Machine())
    tiles = [space.piece.tiles(space.decode({"000000.tiling": k})[0]) for k in range(4)]
    assert tiles == [6, 7, 8, 11]  # 6, 5, 4 and 3 of 32 samples; 7 do not fit 0.8 of 32 MiB


def test_a_kernel_gene_counts_from_the_rules_walk():
    # Weights of 5 MiB stream by: 2 samples of 1 MiB in and out at a time by the rule, 3 that are read in 0.8 of 4 MiB.
    space = space_of(chain(8, 2, MIB, weight=5 * MIB), Machine(4 * MIB))
    assert {name: values for name, values in space.genes.items() if "kernel" in name} == {
        "000000.kernel": 2,
        "000001.kernel": 2,
    }
    plans = [space.decode({"000001.border": 1, "000001.kernel": k}) for k in range(2)]
    assert [[group.samples for group in plan] for plan in plans] == [[2, 2], [2, 3]]
    assert space.widest == [Group(0, 1, 3), Group(1, 2, 3)]
    assert space.decode(space.encode(space.widest)) == space.widest


def test_a_run_that_does_not_fit_ends_earlier():
    # A sample's slices are 2 MiB: two ops touch three of them, within 0.8 of 8 MiB; three ops touch four.
    space = space_of(chain(8, 4, 2 * MIB), Machine(8 * MIB))
    assert [(group.begin, group.end) for group in space.decode({})] == [(0, 2), (2, 4)]


def test_a_barred_op_is_in_no_group():
    space = space_of(chain(8, 5, MIB), Machine(4 * MIB), barred={2})
    assert [(group.begin, group.end) for group in space.decode({})] == [(0, 2), (2, 3), (3, 5)]


def test_a_piece_that_cannot_be_cut_has_no_genes():
    piece = chain(8, 3, MIB)
    stiff = replace(piece, ops=tuple(replace(op, tileable=False) for op in piece.ops))
    assert space_of(stiff, Machine()).genes == {}


@given(pieces(), st.sampled_from([1, 2, 4]), st.integers(0, 1000), st.integers(1, 8))
def test_any_genes_are_a_plan_that_keeps_the_rules(piece: Piece, mib: int, seed: int, edits: int):
    machine, options = Machine(mib * MIB), SearchOptions()
    space, model = space_of(piece, machine, options), Model(piece, machine)
    plan = space.decode(space.near(space.start, edits, Random(seed)))
    model.evaluate(plan)  # covers all ops in order
    for group in groups_of(plan):
        assert model.shape(group).hit_share >= options.fusion_threshold
        assert all(op.tileable for op in piece.ops[group.begin : group.end])
    assert space.decode(space.encode(plan)) == plan


@given(pieces(), st.sampled_from([1, 2, 4]))
def test_the_start_is_in_the_space(piece: Piece, mib: int):
    space = space_of(piece, Machine(mib * MIB))
    assert space.decode(space.encode(space.start)) == space.start


def test_six_hundred_ops_have_genes_where_most_bytes_cross():
    piece = chain(8, 600, MIB, weight=MIB)
    space = space_of(piece, Machine(16 * MIB))
    assert 256 <= len(space.genes) <= 512
    assert space.decode(space.encode(space.start)) == space.start


def test_the_walks_of_few_ops_are_genes():
    space = space_of(chain(8, 100, MIB, weight=5 * MIB), Machine(4 * MIB))
    assert sum("kernel" in name for name in space.genes) == 64


def test_what_the_model_finds_far_worse_has_no_promise():
    piece = chain(32, 10, MIB // 8, weight=MIB // 8)
    space = space_of(piece, Machine(4 * MIB))
    assert space.has_promise(space.start)
    assert not space.has_promise(single_plan(piece, Machine(4 * MIB)))


def test_keys_tell_plans_apart():
    space = space_of(chain(8, 3, MIB), Machine())
    walk = Group(2, 3, 4)  # the rule has it sample by sample
    plans = [[Group(0, 2, 1)], [Group(0, 2, 2)], [Group(0, 3, 1)], [walk], [Group(0, 2, 1), walk], []]
    assert len({space.key(plan) for plan in plans}) == len(plans)
    assert space.key(single_plan(chain(8, 3, MIB), Machine())) == space.key([])


def test_the_key_of_a_structure_knows_no_names():
    piece = chain(8, 3, MIB)
    renamed = replace(piece, tensors=tuple(replace(t, name="other") for t in piece.tensors))
    assert structure_key(renamed) == structure_key(piece)
    assert structure_key(chain(8, 3, 2 * MIB)) != structure_key(piece)
    assert structure_key(chain(8, 4, MIB)) != structure_key(piece)


def test_groups_and_single_ops_make_a_plan():
    singles = single_plan(chain(8, 4, MIB), Machine())
    group = Group(1, 3, 2)
    assert with_groups([group], singles) == [singles[0], group, singles[3]]
    assert groups_of(with_groups([group], singles)) == [group]


@pytest.mark.parametrize(
    "groups", [[Group(2, 5, 1)], [Group(0, 3, 1), Group(2, 4, 1)], [Group(2, 4, 1), Group(0, 2, 1)]]
)
def test_groups_stand_in_order_within_the_ops(groups: list[Group]):
    with pytest.raises(ValueError, match=r"the group of ops \[\d, \d\) is not one of 4 ops in order"):
        with_groups(groups, single_plan(chain(8, 4, MIB), Machine()))


def test_a_score_is_the_judges_bytes_and_the_seconds_that_follow():
    piece, machine = bottleneck(32), Machine()
    score = JudgedScorer(piece, machine)
    plan = [Group(0, 3, 6)]
    judged = replay(piece, plan, machine.l2_bytes, machine.cache).total
    assert score(plan).bytes == judged
    assert score(plan).seconds == pytest.approx(Model(piece, machine).evaluate(plan).seconds, rel=0.01)
    assert score(plan) < score(single_plan(piece, machine))


def test_groups_are_timed_one_by_one():
    # Memory is the longest term of the first op alone: the sum over ops is more than the longest of the sums.
    piece, machine = bottleneck(32), Machine()
    singles = single_plan(piece, machine)
    model, total = Model(piece, machine), JudgedScorer(piece, machine)(singles)
    at_once = max(sum(op.flops for op in piece.ops) / 350e12, total.bytes / 0.5e12)
    assert total.seconds > at_once
    assert total.seconds == pytest.approx(model.evaluate(singles).seconds, rel=0.02)


def test_without_the_machines_figures_only_bytes_count():
    piece = bottleneck(32)
    score = JudgedScorer(piece, replace(Machine(), peak_flops=None))([Group(0, 3, 6)])
    assert score == Score(0.0, score.bytes)
