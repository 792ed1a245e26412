"""What lies side by side is copied to lie so in a group's tiles: traces written out."""

from gecc.planning import Access, Beside, Group, Model, Op, Part, Piece, Tensor, trace_of
from gecc.planning.inside import inside

from .pieces import MIB, Machine

PAGE = 4096
X, SKIP, UP, Y = range(4)


def joined(*, up_in_place: bool = True, last: int = 1) -> Piece:
    """up = op(x); y = op(up beside skip): 4 samples of a page each."""
    tensors = tuple(Tensor(name, 4 * PAGE, output=name == "y") for name in ("x", "skip", "up", "y"))
    ops = (Op("up", (X,), (UP,)), Op("y", (UP, SKIP), (Y,), via=(0, 0)))
    join = Beside(1, last, (Part(UP, in_place=up_in_place), Part(SKIP)))
    return Piece(4, tensors, ops, joins=(join,))


def accesses(piece: Piece, group: Group) -> list[tuple[int, int, int, bool]]:
    """Of the first of two tiles; the scratch memory is buffer 5."""
    found = list(trace_of(piece, [group]))
    return [(a.buffer, a.offset, a.bytes, a.write) for a in found[: len(found) // 2]]


TILE = 2 * PAGE


def test_a_part_from_outside_is_copied_and_one_that_is_made_is_not():
    assert accesses(joined(), Group(0, 2, 2)) == [
        (X, 0, TILE, False),
        (5, 0, TILE, True),
        (SKIP, 0, TILE, False),
        (5, TILE, TILE, True),
        (5, 0, TILE, False),
        (5, TILE, TILE, False),
        (Y, 0, TILE, True),
    ]


def test_what_others_read_too_is_copied_though_it_is_made_here():
    copied = [a for a in accesses(joined(up_in_place=False), Group(0, 2, 2)) if a[3]]
    assert [a[0] for a in copied] == [5, 5, 5, Y]  # up, its copy, skip's copy


def test_with_lines_all_of_a_join_is_copied():
    piece, group = inside(joined(), Group(0, 2, 2, lines=True))
    assert [op.name for op in piece.ops[: group.end]] == ["up", "up, beside others", "skip, beside others", "y"]


def test_nothing_is_copied_where_ops_stand_alone_or_others_read_the_join_later():
    piece = joined()
    assert inside(piece, Group(1, 2, 4)) == (piece, Group(1, 2, 4))
    later = joined(last=2)
    assert inside(later, Group(0, 2, 2)) == (later, Group(0, 2, 2))


def test_a_copy_dies_with_its_reader_and_what_it_is_of_when_it_is_copied():
    found = list(trace_of(joined(), [Group(0, 2, 2)]))
    assert Access(SKIP, 0, TILE, write=False, last=True) in found
    assert Access(5, TILE, TILE, write=False, last=True) in found


def test_a_tile_needs_its_copies_once():
    # x, y and the join's two halves: of skip only the copy counts.
    shape = Model(joined(), Machine(MIB)).shape(Group(0, 2, 2))
    assert (shape.scratch, shape.working_set) == (2 * TILE, 4 * TILE)
