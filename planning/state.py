"""The history of a search through plans: one state for each group, a chain that many plans share."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from .dead import Dead
from .distance import Between
from .footprint import Footprint


@dataclass(slots=True)
class State:
    """
    The cache's history after some groups: a chain, newest first.

    touched   tensor -> (depth of the group that touched it last, share of it that memory already has)
    dead      what is written back when it leaves the cache, unless it is overwritten before, or the end comes
    fees      one for each L2 group so far, and one more for each thousand launches in it
    since     depth -> what was touched behind the group there: many steps lead on from a state, and all ask for it
    """

    depth: int
    previous: State | None
    shape: Footprint | None
    touched: dict[int, tuple[int, float]]
    dead: dict[int, Dead]
    read: float = 0
    written: float = 0
    seconds: float = 0
    fees: float = 0
    since: dict[int, Between | None] = field(default_factory=dict[int, Between | None], repr=False)


def back_to(state: State, depth: int) -> Iterator[State]:
    """The states from `state` back to just after the group at `depth`, newest first."""
    while state.depth > depth:
        yield state
        assert state.previous is not None
        state = state.previous


def state_at(state: State, depth: int) -> State:
    while state.depth > depth:
        assert state.previous is not None
        state = state.previous
    return state
