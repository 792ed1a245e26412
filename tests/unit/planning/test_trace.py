"""What a plan touches: traces of small pieces written out by hand, and their misses counted."""

from dataclasses import replace

import pytest

from gecc.planning import Access, CacheKind, Group, Op, Piece, Replayed, Tensor, memory_of, replay, trace_of

PAGE = 4096
SINGLES = [Group(0, 1, 4), Group(1, 2, 4)]
TILES = [Group(0, 2, 2)]


def two_ops(batch: int = 4, *, weight: int = PAGE) -> Piece:
    """x, w -> a -> y; a sample is a page; x is tensor 0, w 1, a 2, y 3."""
    sizes = {"x": batch * PAGE, "w": weight, "a": batch * PAGE, "y": batch * PAGE}
    tensors = [Tensor(name, size, batched=name != "w", output=name == "y") for name, size in sizes.items()]
    return Piece(batch, tuple(tensors), (Op("first", (0, 1), (2,)), Op("second", (2,), (3,))))


def test_ops_by_themselves_walk_over_the_batch():
    # `last`: nobody touches x, w and a after these ops; y is an output and never dead.
    assert list(trace_of(two_ops(), SINGLES)) == [
        Access(0, 0, 4 * PAGE, write=False, last=True),
        Access(1, 0, PAGE, write=False, last=True),
        Access(2, 0, 4 * PAGE, write=True, last=False),
        Access(2, 0, 4 * PAGE, write=False, last=True),
        Access(3, 0, 4 * PAGE, write=True, last=False),
    ]


def test_a_group_runs_all_its_ops_on_a_tile_and_keeps_what_is_inner_in_scratch():
    # Buffer 5 is the scratch memory of a tile (4 would be the arena): both tiles write a there. w dies with the last.
    assert list(trace_of(two_ops(), TILES)) == [
        Access(0, 0, 2 * PAGE, write=False, last=True),
        Access(1, 0, PAGE, write=False, last=False),
        Access(5, 0, 2 * PAGE, write=True, last=False),
        Access(5, 0, 2 * PAGE, write=False, last=True),
        Access(3, 0, 2 * PAGE, write=True, last=False),
        Access(0, 2 * PAGE, 2 * PAGE, write=False, last=True),
        Access(1, 0, PAGE, write=False, last=True),
        Access(5, 0, 2 * PAGE, write=True, last=False),
        Access(5, 0, 2 * PAGE, write=False, last=True),
        Access(3, 2 * PAGE, 2 * PAGE, write=True, last=False),
    ]


def test_the_last_tile_holds_what_is_left():
    tiles = [access for access in trace_of(two_ops(), [Group(0, 2, 3)]) if access.buffer == 3]
    assert [(access.offset, access.bytes) for access in tiles] == [(0, 3 * PAGE), (3 * PAGE, PAGE)]


def test_what_has_an_address_is_touched_in_the_arena():
    piece = two_ops()
    placed = replace(piece, tensors=(*piece.tensors[:2], replace(piece.tensors[2], address=512), piece.tensors[3]))
    assert [a for a in trace_of(placed, SINGLES) if a.buffer == 4] == [
        Access(4, 512, 4 * PAGE, write=True, last=False),
        Access(4, 512, 4 * PAGE, write=False, last=True),
    ]
    assert memory_of(placed, SINGLES).sizes[4] == 512 + 4 * PAGE


def test_an_operand_that_stands_twice_is_read_once():
    square = Piece(1, (Tensor("x", PAGE), Tensor("y", PAGE, output=True)), (Op("square", (0, 0), (1,)),))
    assert [a.buffer for a in trace_of(square, [Group(0, 1, 1)])] == [0, 1]


def test_inner_tensors_that_do_not_live_together_share_scratch():
    # a -> b -> c: a is dead when c is written, b lies beside both. Two slices of a page each, not three.
    names = ("x", "a", "b", "c", "y")
    tensors = tuple(Tensor(name, 2 * PAGE, output=name == "y") for name in names)
    chain = Piece(2, tensors, tuple(Op(name, (k,), (k + 1,)) for k, name in enumerate(names[1:])))
    assert memory_of(chain, [Group(0, 4, 1)]).sizes[-1] == 2 * PAGE


@pytest.mark.parametrize(
    ("plan", "kind", "read", "written"),
    [
        # x 4 and w 1 come in, y 4 goes out at the end; a never leaves.
        (SINGLES, "plain", 5, 4),
        (SINGLES, "hints", 5, 4),
        # A write that misses is fetched: 4 of a and 4 of y on top.
        (SINGLES, "write-allocate", 13, 4),
    ],
)
def test_misses_of_a_cache_that_holds_all(plan: list[Group], kind: CacheKind, read: int, written: int):
    assert replay(two_ops(), plan, 16 * PAGE, kind) == Replayed(read * PAGE, written * PAGE)


@pytest.mark.parametrize(
    ("plan", "kind", "read", "written"),
    [
        # Alone: x 4, w 1; a's 4 pages push them out, `second` finds a, y pushes a out: dirty, in plain written back.
        (SINGLES, "hints", 5, 4),
        (SINGLES, "plain", 5, 8),
        # As a group, a tile touches x 2, w 1, scratch 2, y 2: w is pushed out by y, and read for either tile. Plain:
        # the second tile's x pushes the first's scratch out; the second's is in the cache at the end, and dropped.
        (TILES, "hints", 6, 4),
        (TILES, "plain", 6, 6),
    ],
)
def test_misses_of_a_small_cache(plan: list[Group], kind: CacheKind, read: int, written: int):
    assert replay(two_ops(), plan, 4 * PAGE, kind) == Replayed(read * PAGE, written * PAGE)
