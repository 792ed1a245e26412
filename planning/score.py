"""
What a plan costs. Whoever tunes plans asks a `Scorer`: the judge today, a clock where plans really run.

    plan  ->  trace of each group  ->  judge: bytes of each group  ->  the machine's figures: seconds of each, summed

All of it modelled: the bytes are counted in a simulated cache, the seconds follow from a chip's data sheet.
"""

from collections.abc import Callable
from typing import NamedTuple

from .judge import judge_parts
from .machine import Machine
from .piece import Group, Piece, Plan
from .trace import memory_of, trace_of
from .traffic import Model


class Score(NamedTuple):
    """Seconds (0 where the machine's figures are unknown) and bytes from and to memory; the smaller tuple is better."""

    seconds: float
    bytes: int


Scorer = Callable[[Plan], Score]


class JudgedScorer:
    """
    Scores plans by the judge.

    page   bytes of a line of its cache
    cost   of a call: about 0.25 us a page that the plan touches
    """

    def __init__(self, piece: Piece, machine: Machine, page: int = 4096):
        self._piece = piece
        self._machine = machine
        self._page = page
        self._model = Model(piece, machine, page)
        self._outputs = [i for i, t in enumerate(piece.tensors) if t.output]

    def __call__(self, plan: Plan) -> Score:
        piece, machine = self._piece, self._machine
        parts = (trace_of(piece, [group]) for group in plan)
        sizes = memory_of(piece, plan).sizes
        counted = judge_parts(parts, sizes, self._outputs, machine.l2_bytes, machine.cache, self._page)
        seconds = sum(self._seconds(group, part.total) for group, part in zip(plan, counted, strict=True))
        return Score(seconds, sum(part.total for part in counted))

    def _seconds(self, group: Group, memory_bytes: int) -> float:
        return self._model.group_seconds(self._model.shape(group), memory_bytes) if self._model.knows_time else 0.0
