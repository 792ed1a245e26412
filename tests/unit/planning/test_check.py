"""The referee finds what is wrong, and accepts other people's proven placements."""

import csv
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from gecc.planning import Buffer, Violation, find_violation, plan_offsets

ROOT = Path(__file__).parents[3]
BEST_KNOWN = ROOT.parent / "shared" / "minimalloc" / "best_known"


def test_overlap_in_space_alone_is_fine():
    assert find_violation([Buffer(0, 1, 8), Buffer(1, 2, 8)], [0, 0]) is None


def test_overlap_in_time_and_space_names_the_pair():
    buffers = [Buffer(0, 1, 8), Buffer(0, 2, 8), Buffer(1, 2, 8)]
    assert find_violation(buffers, [0, 8, 12]) == Violation(
        "bytes [8, 16) and [12, 20) overlap while both are alive", 1, 2
    )


def test_one_buffer_around_another():
    found = find_violation([Buffer(0, 9, 100), Buffer(3, 4, 1)], [0, 50])
    assert found is not None
    assert (found.first, found.second) == (0, 1)


def test_an_offset_off_the_alignment():
    assert find_violation([Buffer(0, 1, 8)], [8], alignment=16) == Violation("offset 8 is no multiple of 16", 0)


def test_an_offset_below_zero():
    assert find_violation([Buffer(0, 1, 8)], [-16], alignment=16) is not None


def test_a_buffer_past_the_capacity():
    assert find_violation([Buffer(0, 1, 8)], [8], capacity=15) == Violation(
        "bytes [8, 16) end past the capacity of 15", 0
    )


def test_no_bytes_are_nowhere():
    assert find_violation([Buffer(0, 2, 8), Buffer(0, 2, 0)], [0, 3], alignment=4) is None


def test_every_buffer_has_an_offset():
    with pytest.raises(ValueError, match="one offset a buffer"):
        find_violation([Buffer(0, 1, 8)], [])


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(1, 9), st.integers(1, 99)), min_size=2), st.data())
def test_a_buffer_moved_onto_a_live_one_is_refused(rows: list[tuple[int, int, int]], data: st.DataObject):
    buffers = [Buffer(begin, begin + length, size) for begin, length, size in rows]
    offsets = plan_offsets(buffers, alignment=1)
    pairs = [
        (i, j)
        for i, a in enumerate(buffers)
        for j, b in enumerate(buffers)
        if i != j and a.begin < b.end and b.begin < a.end
    ]
    assume(pairs)
    i, j = data.draw(st.sampled_from(pairs))
    offsets[i] = offsets[j]
    assert find_violation(buffers, offsets) is not None


def placed(path: Path) -> tuple[list[Buffer], list[int]]:
    with path.open() as file:
        rows = list(csv.DictReader(file))
    buffers = [Buffer(int(row["lower"]), int(row["upper"]), int(row["size"])) for row in rows]
    return buffers, [int(row["offset"]) for row in rows]


@pytest.mark.skipif(not BEST_KNOWN.is_dir(), reason=f"no {BEST_KNOWN}: google/minimalloc's proven placements")
@pytest.mark.parametrize("path", sorted(BEST_KNOWN.glob("*.csv")), ids=lambda path: path.stem)
def test_proven_placements_are_accepted(path: Path):
    buffers, offsets = placed(path)
    capacity = int(path.stem.split(".")[1])
    assert find_violation(buffers, offsets, capacity) is None
    assert find_violation(buffers, offsets, capacity - 1) is not None


@pytest.mark.skipif(not BEST_KNOWN.is_dir(), reason=f"no {BEST_KNOWN}: google/minimalloc's proven placements")
@pytest.mark.parametrize("path", sorted(BEST_KNOWN.glob("*.csv")), ids=lambda path: path.stem)
def test_a_proven_placement_with_one_buffer_moved_onto_a_live_one_is_refused(path: Path):
    buffers, offsets = placed(path)
    for i, a in enumerate(buffers):
        for j in [j for j, b in enumerate(buffers) if j != i and a.begin < b.end and b.begin < a.end][:1]:
            found = find_violation(buffers, [*offsets[:i], offsets[j], *offsets[i + 1 :]])
            assert found is not None, f"{i} onto {j}"
