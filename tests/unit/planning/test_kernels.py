"""How an op by itself may walk, beside the rule."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from gecc.planning import (
    Group,
    Piece,
    can_walk,
    replay,
    single_plan,
    walks_in,
    walks_of,
    with_walks,
)

from .pieces import MIB, Machine, chain, pieces


def walks(piece: Piece, k: int, cache: int, room: int) -> list[Group]:
    return walks_of(piece, single_plan(piece, Machine(cache))[k], cache, room)


def test_a_weight_that_streams_passes_fewer_times_by_larger_steps():
    # 8 samples of 1 MiB in and out, 5 MiB of weights, 4 MiB of cache: by the rule a step reads and writes 4 MiB.
    piece = chain(8, 1, MIB, weight=5 * MIB)
    found = walks(piece, 0, 4 * MIB, 3 * MIB)
    assert [walk.samples for walk in found] == [2, 3]  # 3 MiB of the operand are three samples
    moved = [replay(piece, [walk], 4 * MIB, "hints").total for walk in found]
    assert moved == [16 * MIB + passes * 5 * MIB for passes in (4, 3)]


def test_a_weight_that_stays_leaves_no_choice():
    assert walks(chain(8, 1, MIB, weight=MIB), 0, 5 * MIB, 4 * MIB) == [Group(0, 1, 1)]


def test_an_op_without_weights_has_no_choice():
    assert len(walks(chain(8, 1, 8 * MIB), 0, 4 * MIB, 3 * MIB)) == 1


def test_an_op_that_is_one_step_by_the_rule_has_no_choice():
    assert len(walks(chain(8, 1, MIB // 8, weight=5 * MIB), 0, 4 * MIB, 3 * MIB)) == 1


def test_an_op_that_does_not_tile_has_no_choice():
    piece = chain(8, 1, MIB, weight=5 * MIB)
    assert len(walks(replace(piece, ops=(replace(piece.ops[0], tileable=False),)), 0, 4 * MIB, 3 * MIB)) == 1


def test_outer_samples_are_walked_over_as_samples_are():
    piece = chain(8, 1, MIB, weight=5 * MIB)
    tensors = tuple(replace(t, rows=16, outer=True) if t.batched else t for t in piece.tensors)
    outer = Piece(1, tensors, (replace(piece.ops[0], outer=True),), outer=8)
    found = walks(outer, 0, 4 * MIB, 3 * MIB)
    assert [(walk.samples, walk.outer) for walk in found] == [(16, 2), (16, 3)]
    assert all(can_walk(outer, walk) for walk in found)
    assert not can_walk(outer, Group(0, 1, 4, outer=2))  # rows of samples are no walk of one axis


@given(pieces(), st.sampled_from([1, 2, 4]))
def test_walks_cover_an_op_and_the_rules_is_first(piece: Piece, mib: int):
    cache = mib * MIB
    singles = single_plan(piece, Machine(cache))
    for single in singles:
        found = walks_of(piece, single, cache, cache * 4 // 5)
        assert found[0] == single
        assert len(set(found)) == len(found) <= 8
        if len(found) > 1:
            assert all(can_walk(piece, walk) for walk in found)
            steps = [piece.tiles(walk) for walk in found[1:]]
            assert sorted(steps) == steps
            assert steps[-1] < piece.tiles(single)
        for walk in found[1:]:
            plan = with_walks([walk], singles)
            assert walks_in(plan, singles) == [walk]
