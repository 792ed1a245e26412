"""
What the search of `kernel.py` works on: arrays of integers, in Python lists or such as compiled code shares.
"""

from __future__ import annotations

import random
from collections.abc import MutableSequence, Sequence
from dataclasses import dataclass
from itertools import accumulate

from .sections import Sections

Ints = MutableSequence[int]

NEVER = 1 << 60
"""Greater than every offset."""

MEMO = 1 << 16
"""Failed states remembered."""


@dataclass(slots=True, eq=False)
class Search:
    """
    A search, in arrays that compiled code can share. `n` buffers, `m` sections; sizes and offsets in any unit.

    capacity, rule   what is asked
    work, limit      elementary steps done, and after how many to give up
    size, first, last, rank   of a buffer: size, first and last section, place in the order of preference
    member_at, members        members[member_at[s] : member_at[s + 1]] are the buffers alive in section s
    near_at, near             likewise the buffers that live together with one, without itself
    weight           of a section: how often it failed, at least 1
    code, memo       random numbers that hash a state; a power of two of hashes of failed ones
    state            at `low`, `placed` n of a buffer; at `least`, `rest`, `across`, `starters` m of a section:
                     least low of the unplaced in it, their bytes, how many of them live in the next one too, how many
                     can be its lowest
    """

    capacity: int
    rule: int
    work: int
    limit: int
    n: int
    m: int
    memo_mask: int
    placed: int
    least: int
    rest: int
    across: int
    starters: int
    trail_top: int
    trail_room: int
    frame_room: int
    queue_head: int
    queue_tail: int
    size: Ints
    first: Ints
    last: Ints
    rank: Ints
    member_at: Ints
    members: Ints
    near_at: Ints
    near: Ints
    weight: Ints
    code: Ints
    memo: Ints
    state: Ints
    trail_at: Ints
    trail_old: Ints
    queue: Ints
    queued: Ints
    order: Ints
    candidates: Ints
    frame_phase: Ints
    frame_mark: Ints
    frame_begin: Ints
    frame_count: Ints
    frame_choice: Ints
    frame_hash: Ints


def new_search(sections: Sections) -> Search:
    """A search that is to be `reset`. Its trail and its stack have room for what hard instances take, and more."""
    n, m = len(sections.size), sections.count
    member_at, members = _flat(sections.members)
    near_at, near = _flat(sections.near)
    trail, frames = 64 * (n + m) + (1 << 17), 16 * n + (1 << 14)
    chance = random.Random(0)
    return Search(
        capacity=0,
        rule=0,
        work=0,
        limit=0,
        n=n,
        m=m,
        memo_mask=MEMO - 1,
        placed=n,
        least=2 * n,
        rest=2 * n + m,
        across=2 * n + 2 * m,
        starters=2 * n + 3 * m,
        trail_top=0,
        trail_room=trail,
        frame_room=frames,
        queue_head=0,
        queue_tail=0,
        size=list(sections.size),
        first=list(sections.first),
        last=list(sections.last),
        rank=[0] * n,
        member_at=member_at,
        members=members,
        near_at=near_at,
        near=near,
        weight=[1] * m,
        code=[chance.getrandbits(62) for _ in range(n)],
        memo=[0] * MEMO,
        state=[],
        trail_at=[0] * trail,
        trail_old=[0] * trail,
        queue=[0] * m,
        queued=[0] * m,
        order=[0] * n,
        candidates=[0] * m,
        frame_phase=[0] * frames,
        frame_mark=[0] * frames,
        frame_begin=[0] * frames,
        frame_count=[0] * frames,
        frame_choice=[0] * frames,
        frame_hash=[0] * frames,
    )


def reset(x: Search, sections: Sections, capacity: int, order: Sequence[int]) -> None:
    """Nothing is placed, every section has to be looked at; what is earlier in `order` is preferred."""
    n, m = x.n, x.m
    x.capacity = capacity
    x.work = x.trail_top = x.queue_head = x.queue_tail = 0
    x.state = [*[0] * (2 * n + m), *sections.total, *sections.across, *[0] * m]
    x.order = list(range(n))
    x.queue, x.queued = list(range(m)), [1] * m
    x.rank = [0] * n
    for place, b in enumerate(order):
        x.rank[b] = place


def _flat(rows: Sequence[Sequence[int]]) -> tuple[list[int], list[int]]:
    """Rows one after the other: where each begins, and the end; and all of them."""
    return [0, *accumulate(map(len, rows))], [value for row in rows for value in row]
