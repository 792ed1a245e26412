"""
What a group can gain at most, whatever the cache does: tiles whose starts take longer need not be looked at.

                  by itself      arithmetic     inputs, weights, results       at least    lost
    conv1         20 us          5 us           2 us                           5 us        15 us
    conv2         12             5              2                              5            7
    relu           4             0              0                              0            4

    [conv1 conv2]     20 + 12 - max(5 + 5, 2 + 2) = 22 us, and 4 that relu may lose because of them: 26
"""

from itertools import accumulate

from .machine import Machine, starts
from .piece import Piece
from .traffic import Traffic

NEAR = 8
"""Ops before and behind a group that may gain by what it leaves in the cache."""


class MostGain:
    """
    Of groups of one piece, over every op by itself (`baseline`), in seconds.

    overlap   bytes hide behind arithmetic; else they take their time beside

    cost      linear in the piece's touches; O(1) for a group
    """

    def __init__(self, piece: Piece, machine: Machine, baseline: Traffic, overlap: bool) -> None:
        assert machine.memory_bytes_per_s is not None
        assert machine.peak_flops is not None
        self.machine, self.overlap = machine, overlap
        bandwidth = machine.memory_bytes_per_s
        work = [op.flops / machine.peak_flops for op in piece.ops]
        moved = [size / bandwidth for size in _bytes_at_least(piece)]
        taken: list[float] = []
        for group in baseline.groups:
            memory = 0.0 if overlap else (group.read + group.written) / bandwidth
            taken.append((group.seconds or 0.0) - starts(machine, 1, 1) + memory)
        lost = [all_ - self._least(*least) for all_, *least in zip(taken, work, moved, strict=True)]
        late = baseline.written - sum(group.written for group in baseline.groups)  # written back at the end
        self._late = late / bandwidth * (1 if overlap else 2)
        self._work, self._moved, self._taken, self._lost = (_sums(each) for each in (work, moved, taken, lost))

    def of(self, begin: int, end: int) -> float:
        """
        Of ops [begin, end) as a group, starts of tiles not counted: all that they take beyond their arithmetic, their
        weights, inputs and results, and all that those near them lose to the cache.
        """
        work, moved, taken, lost = (s[end] - s[begin] for s in (self._work, self._moved, self._taken, self._lost))
        first, last = max(0, begin - NEAR), min(len(self._lost) - 1, end + NEAR)
        return taken - self._least(work, moved) + self._lost[last] - self._lost[first] - lost + self._late

    def may_pay(self, begin: int, end: int, tiles: int) -> bool:
        """Whether ops [begin, end) may gain by so many tiles."""
        ops = end - begin
        return starts(self.machine, ops, tiles) - starts(self.machine, ops, 1) < self.of(begin, end)

    def _least(self, work: float, moved: float) -> float:
        return max(work, moved) + (0 if self.overlap else moved)


def _bytes_at_least(piece: Piece) -> list[int]:
    """For each op, those of what it is the first to read of the piece's inputs, and of the piece's results."""
    found: list[int] = []
    seen: set[int] = set()
    for op in piece.ops:
        sources = {t for t in op.reads if piece.is_source(t)} - seen
        results = {t for t in op.writes if piece.tensors[t].output}
        seen |= sources
        found.append(sum(piece.tensors[t].bytes for t in sources | results))
    return found


def _sums(numbers: list[float]) -> list[float]:
    return list(accumulate(numbers, initial=0.0))
