"""Which rows a tile touches, with the sums of small windows beside them; and what the trace makes of them."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gecc.planning import Group, Model, Op, Piece, Tensor, Window, replay, search, single_plan
from gecc.planning.rows import can_be_cut, lines_can_be_kept, shares_are_whole, spans_of, stride
from gecc.planning.trace import trace_of

from .pieces import MIB, Machine

THREE = Window(before=1, after=1)
PAGE = 4096


def two_windows(rows: int = 16, row: int = PAGE) -> Piece:
    """x -> a -> y by a window of three rows each; a row is a page."""
    tensors = tuple(Tensor(name, rows * row, output=name == "y", rows=rows) for name in "xay")
    ops = (Op("first", (0,), (1,), 100.0, windows=(THREE,)), Op("second", (1,), (2,), 100.0, windows=(THREE,)))
    return Piece(1, tensors, ops)


def test_windows_are_clipped_at_the_borders():
    assert THREE.rows(0, 4, 16) == (0, 5)
    assert THREE.rows(4, 8, 16) == (3, 9)
    assert THREE.rows(12, 16, 16) == (11, 16)
    assert Window(scale=2, before=1, after=0).rows(4, 8, 32) == (7, 16)
    assert Window(per=2).rows(4, 8, 8) == (2, 4)


def test_what_overlaps_is_computed_again():
    spans = spans_of(two_windows(), Group(0, 2, 4), 1)
    assert spans.needed == {1: (3, 9), 2: (4, 8)}
    assert spans.computed == {1: (3, 9), 2: (4, 8)}
    assert spans.read == {(1, 0): (3, 9), (0, 0): (2, 10)}


def test_or_kept_and_only_new_rows_are_computed():
    spans = spans_of(two_windows(), Group(0, 2, 4, lines=True), 1)
    assert spans.needed[1] == (3, 9)
    assert spans.computed[1] == (5, 9)  # the tile before has rows up to 5
    assert spans.read[0, 0] == (4, 10)


def test_more_lines_than_new_rows_cannot_be_kept():
    assert lines_can_be_kept(two_windows(), Group(0, 2, 2, lines=True))
    assert not lines_can_be_kept(two_windows(), Group(0, 2, 1, lines=True))


def test_a_tile_moves_by_whole_rows_of_every_op():
    # x -> a, half as many rows -> b, a quarter -> y, four times as many again: a row of b is four of y, and of x.
    rows = {"x": 32, "a": 16, "b": 8, "y": 32}
    tensors = tuple(Tensor(name, n * PAGE, output=name == "y", rows=n) for name, n in rows.items())
    half, four = Window(scale=2), Window(per=4)
    piece = Piece(1, tensors, tuple(Op("op", (k,), (k + 1,), windows=(w,)) for k, w in enumerate((half, half, four))))
    assert stride(piece, 0, 3) == stride(piece, 2, 3) == 4
    assert stride(piece, 0, 2) == stride(two_windows(), 0, 2) == 1
    assert all(g.samples % 4 == 0 for g in search(piece, Machine(64 * PAGE)) if g.end - g.begin > 1)


@pytest.mark.parametrize(("room", "alike", "groups"), [(16, True, 1), (16, False, 0), (20, False, 1)])
def test_tiles_that_are_never_alike_are_few(room: int, alike: bool, groups: int):
    # Each is emitted by itself. Where 16 of 32 rows fit, a tile is two rows of the result; where 20 do, it is four.
    row = MIB
    tensors = tuple(Tensor(name, 32 * row, output=name == "y", rows=32) for name in "xay")
    ops = tuple(Op("op", (k,), (k + 1,), 1.0, windows=(THREE,), alike=alike or k == 0) for k in range(2))
    piece = Piece(1, tensors, ops)
    assert stride(piece, 0, 2) == int(alike)
    assert sum(group.end - group.begin > 1 for group in search(piece, Machine(room * row))) == groups


def test_an_op_of_which_a_tile_needs_nothing_new_touches_nothing():
    # Two rows of y are of one row of a: every other tile has it.
    rows = {"x": 16, "a": 16, "y": 32}
    tensors = tuple(Tensor(name, n * PAGE, output=name == "y", rows=n) for name, n in rows.items())
    ops = (Op("first", (0,), (1,), windows=(THREE,)), Op("second", (1,), (2,), windows=(Window(per=2),)))
    trace = list(trace_of(Piece(1, tensors, ops), [Group(0, 2, 1, lines=True)]))
    assert sum(access.bytes for access in trace if access.buffer == 0) == (3 * 16 - 2) * PAGE


def test_an_op_that_reads_all_of_a_value_is_not_cut_with_its_writer():
    tensors = tuple(Tensor(name, 8 * PAGE, output=name == "y", rows=8) for name in "xay")
    ops = (Op("first", (0,), (1,)), Op("second", (1,), (2,), windows=(None,)))
    piece = Piece(1, tensors, ops)
    assert not can_be_cut(piece, 0, 2)
    assert can_be_cut(piece, 1, 2)
    machine = Machine(4 * PAGE)
    assert search(piece, machine) == single_plan(piece, machine)


@pytest.mark.parametrize(("samples", "whole"), [(2, True), (3, False)])
def test_a_tile_gives_whole_rows_to_others(samples: int, whole: bool):
    # The first result has 12 rows and is an output, the second 8.
    tensors = (Tensor("x", 12, rows=12), Tensor("a", 12, output=True, rows=12), Tensor("y", 8, output=True, rows=8))
    ops = (Op("first", (0,), (1,)), Op("second", (1,), (2,), windows=(Window(3, 2),)))
    assert shares_are_whole(Piece(1, tensors, ops), Group(0, 2, samples)) is whole


@settings(deadline=None)
@given(st.integers(2, 15), st.booleans(), st.sampled_from(["hints", "plain"]))
def test_a_tile_that_fits_moves_inputs_and_outputs_once(samples: int, lines: bool, kind: str):
    piece, group = two_windows(), Group(0, 2, samples, lines)
    assert replay(piece, [group], 64 * PAGE, kind).total == piece.compulsory_bytes()
    modelled = Model(piece, Machine(64 * PAGE, kind)).evaluate([group])
    assert modelled.total == piece.compulsory_bytes()


def test_rows_of_a_large_image_are_a_group():
    piece = two_windows(1024, 64 * 1024)  # 64 MiB a value
    machine = Machine(32 * MIB)
    (group,) = search(piece, machine)
    alone, fused = (replay(piece, p, machine.l2_bytes, "hints").total for p in (single_plan(piece, machine), [group]))
    assert fused == piece.compulsory_bytes()
    assert alone == 2 * fused


@pytest.mark.parametrize("strips", [1, 64])
def test_the_cache_counts_pages_and_the_cores_read_rows(strips: int):
    # Tiles of 4 rows read 6 of x for 4 of y. In 64 strips a row is 64 runs of 1 KiB, each of which ends inside a page.
    row = 64 * 1024
    tensors = tuple(Tensor(name, 16 * row, output=name == "y", rows=16, strips=strips) for name in "xy")
    model = Model(Piece(1, tensors, (Op("op", (0,), (1,), windows=(THREE,)),)), Machine(MIB))
    shape = model.shape(Group(0, 1, 4))
    assert (shape.l2_read, shape.l2_written) == (4 * 6 * row, 16 * row)
    pages = strips * PAGE if strips > 1 else 0
    assert shape.working_set == 6 * row + pages + 4 * row + pages
