"""
How an op by itself may walk over its slices, beside the walk that the rule gives it (`tiles.single`).

    matmul: x, w -> y    w does not stay in the cache beside a step: it streams by once a step
    by the rule          8 steps of 4 samples: what is read and written of one fits the cache
    also                 2 steps of 16: what is read of one fits; what is written passes by, as w does

A step reads what it needs of its operands and then writes, which touches all of it once. A kernel that holds its slices
of x in the cache while w passes by, and writes y as it goes, moves as much. Where w stays in the cache there is no
choice: every walk reads it once.
"""

from .piece import Group, Piece, Plan

WALKS = 8
"""Walks of an op that tuning chooses from, the rule's among them."""


def streamed(piece: Piece, single: Group, cache_bytes: int) -> int:
    """Bytes that an op by itself reads again, at most: of what each step reads whole and the cache does not hold."""
    held, slices = _parts(piece, single.begin)
    stays = sum(held.values()) + 2 * sum(slices.values()) <= cache_bytes
    return 0 if stays else sum(held.values()) * (piece.tiles(single) - 1)


def walks_of(piece: Piece, single: Group, cache_bytes: int, room: int) -> list[Group]:
    """
    The walks of an op by itself: first that of the rule, `single`, then others of fewer steps, the fewest first.

    cache_bytes   in which what is read whole stays, or not
    room          bytes that the operands' slices of a step may take of it
    """
    k = single.begin
    _, slices = _parts(piece, k)
    extent = piece.outer if piece.outer > 1 else piece.extent(k)
    most = min(extent, room // max(1, sum(slices[t] for t in slices if t in piece.ops[k].reads)))
    if most < 1 or not streamed(piece, single, cache_bytes):
        return [single]
    fewer = range(-(-extent // most), piece.tiles(single))
    found = dict.fromkeys(_walk(piece, k, -(-extent // n)) for n in fewer[:WALKS])
    return [single, *[walk for walk in found if piece.tiles(walk) < piece.tiles(single)][: WALKS - 1]]


def _parts(piece: Piece, k: int) -> tuple[dict[int, int], dict[int, int]]:
    """Tensors that op k touches, with bytes: those that each step reads whole, and of the others a slice."""
    op = piece.ops[k]
    held = {t: piece.tensors[t].bytes for t in op.reads if _is_whole(piece, k, t)}
    extent = piece.outer if piece.outer > 1 else piece.extent(k)
    return held, {t: -(-piece.tensors[t].bytes // extent) for t in {*op.reads, *op.writes} if t not in held}


def _is_whole(piece: Piece, k: int, t: int) -> bool:
    return not piece.tensors[t].outer if piece.outer > 1 else piece.reads_whole(k, t)


def _walk(piece: Piece, k: int, size: int) -> Group:
    """Op k by itself, so many samples at a time, or rows where the piece is cut along rows alone."""
    if piece.outer > 1:
        return Group(k, k + 1, piece.extent(k), outer=size)
    return Group(k, k + 1, size)


def walks_in(plan: Plan, singles: Plan) -> list[Group]:
    """The ops of a plan that stand alone and walk otherwise than the rule says, which is in `singles`, op by op."""
    return [group for group in plan if group.end - group.begin == 1 and group != singles[group.begin]]


def with_walks(walks: Plan, singles: Plan) -> list[Group]:
    """The ops by themselves, of which these walk otherwise."""
    found = list(singles)
    for walk in walks:
        found[walk.begin] = walk
    return found


def can_walk(piece: Piece, walk: Group) -> bool:
    """Whether an op by itself can be cut into such steps."""
    op, k = piece.ops[walk.begin], walk.begin
    if piece.outer > 1:
        return op.outer and walk == _walk(piece, k, walk.outer) and 1 <= walk.outer <= piece.outer
    return op.tileable and walk == _walk(piece, k, walk.samples) and 1 <= walk.samples <= piece.extent(k)
