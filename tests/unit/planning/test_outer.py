"""Samples, and rows of each inside: traces written out, and what the model and the search make of them."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gecc.planning import (
    Access,
    Group,
    Model,
    Op,
    Piece,
    Tensor,
    Window,
    replay,
    search,
    single_plan,
    trace_of,
)
from gecc.planning.runs import Run

from .pieces import MIB, Machine

PAGE = 4096
WINDOW = Window(before=1, after=1)


def images(samples: int, rows: int, row: int = PAGE, weight: int = PAGE) -> Piece:
    """x, w -> a -> y, the second by a window of three rows; x is tensor 0, w 1, a 2, y 3."""
    size = samples * rows * row
    tensors = [Tensor(name, size, output=name == "y", rows=rows, outer=True) for name in "xay"]
    tensors.insert(1, Tensor("w", weight, batched=False))
    first = Op("first", (0, 1), (2,), windows=(Window(), None), outer=True)
    second = Op("second", (2,), (3,), windows=(WINDOW,), outer=True)
    return Piece(1, tuple(tensors), (first, second), outer=samples)


def test_rows_of_the_first_sample_then_of_the_second():
    # Two samples of four rows, two rows a tile; the halo ends with the sample. Buffer 5 is scratch. Rows of x that the
    # next tile touches too are not dead yet.
    def sample(first: int, *, ends: bool) -> list[Access]:
        at = first * PAGE
        return [
            Access(0, at, PAGE, write=False, last=True),
            Access(0, at + PAGE, 2 * PAGE, write=False, last=False),
            Access(1, 0, PAGE, write=False, last=False),
            Access(5, 0, 3 * PAGE, write=True, last=False),
            Access(5, 0, 3 * PAGE, write=False, last=True),
            Access(3, at, 2 * PAGE, write=True, last=False),
            Access(0, at + PAGE, 3 * PAGE, write=False, last=True),
            Access(1, 0, PAGE, write=False, last=ends),
            Access(5, 0, 3 * PAGE, write=True, last=False),
            Access(5, 0, 3 * PAGE, write=False, last=True),
            Access(3, at + 2 * PAGE, 2 * PAGE, write=True, last=False),
        ]

    got = list(trace_of(images(2, 4), [Group(0, 2, 2)]))
    assert got == sample(0, ends=False) + sample(4, ends=True)


def test_samples_as_a_whole_have_no_halo():
    accesses = list(trace_of(images(3, 4), [Group(0, 2, 4, outer=2)]))
    assert [(a.offset, a.bytes) for a in accesses if a.buffer == 0] == [(0, 8 * PAGE), (8 * PAGE, 4 * PAGE)]
    assert [(a.offset, a.bytes) for a in accesses if a.buffer == 5] == [(0, 8 * PAGE)] * 2 + [(0, 4 * PAGE)] * 2


def test_what_is_the_same_for_a_sample_is_read_by_each_of_its_tiles():
    piece = images(2, 4)
    scale = Tensor("s", 2 * PAGE, batched=False, outer=True)
    ops = (replace(piece.ops[0], reads=(0, 4), windows=(Window(), None)), piece.ops[1])
    piece = replace(piece, tensors=(*piece.tensors, scale), ops=ops)
    reads = [(a.offset, a.bytes, a.last) for a in trace_of(piece, [Group(0, 2, 2)]) if a.buffer == 4]
    assert reads == [(0, PAGE, False), (0, PAGE, True), (PAGE, PAGE, False), (PAGE, PAGE, True)]
    # Once for each sample, in a cache that holds two tiles.
    assert replay(piece, [Group(0, 2, 2)], 32 * PAGE, "hints").total == piece.compulsory_bytes()
    assert Model(piece, Machine(32 * PAGE)).evaluate([Group(0, 2, 2)]).total == piece.compulsory_bytes()


def test_an_op_by_itself_walks_over_samples():
    # One at a time where the weight and two of them fit (1 + 2 x 32 pages); else as many as fit.
    machine = Machine(96 * PAGE)
    assert single_plan(images(8, 16), machine) == [Group(0, 1, 16, outer=1), Group(1, 2, 16, outer=1)]
    assert single_plan(images(8, 16, weight=100 * PAGE), machine)[0] == Group(0, 1, 16, outer=3)


def test_samples_where_they_fit_else_rows_of_each():
    piece = images(8, 256, 16 * PAGE)  # 16 MiB a sample of each value
    (samples,) = search(piece, Machine(128 * MIB))
    assert (samples.samples, samples.outer) == (256, 2)
    (rows,) = search(piece, Machine(24 * MIB))
    assert rows.outer == 1
    assert rows.samples < 256
    for machine, group in ((Machine(128 * MIB), samples), (Machine(24 * MIB), rows)):
        assert replay(piece, [group], machine.l2_bytes, "hints").total == piece.compulsory_bytes()


def test_an_op_that_reads_a_whole_sample_is_cut_into_samples_alone():
    piece = images(4, 8)
    piece = replace(piece, ops=(piece.ops[0], replace(piece.ops[1], windows=(None,))))
    run = Run(piece, 0)
    assert run.grow()
    assert run.grow()
    assert [way.of_samples for way in run.ways] == [True]


@settings(deadline=None)
@given(st.integers(2, 5), st.integers(2, 15), st.booleans(), st.integers(1, 2), st.sampled_from(["hints", "plain"]))
def test_a_tile_that_fits_moves_inputs_and_outputs_once(samples: int, rows: int, lines: bool, outer: int, kind: str):
    piece, group = images(samples, 16), Group(0, 2, rows, lines, outer)
    assert replay(piece, [group], 256 * PAGE, kind).total == piece.compulsory_bytes()
    modelled = Model(piece, Machine(256 * PAGE, kind)).evaluate([group])
    assert modelled.total == piece.compulsory_bytes()
    assert modelled.groups[0].tiles == -(-samples // outer) * -(-16 // rows)


def test_a_piece_of_samples_says_what_is_wrong():
    with pytest.raises(ValueError, match="12 bytes are not 8 equal slices"):
        Piece(1, (Tensor("x", 12, rows=4, outer=True),), (), outer=2)
    with pytest.raises(ValueError, match="'x' has slices, but not of each outer sample"):
        Piece(1, (Tensor("x", 8, rows=4),), (), outer=2)
