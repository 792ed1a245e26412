"""
Runs of ops that may become a group, and how their tiles may be cut: bounds that cost little, before a tile is packed.

    conv1 conv2 relu          samples    8 images, as many at a time as fit
                              rows       of each image, where not even one fits; what windows overlap costs twice
"""

from dataclasses import dataclass, field

from .piece import Group, Piece


@dataclass
class Way:
    """
    One way to cut a run: into the piece's outer samples, or into slices of one of them.

    possible        every op can be cut so, and reads no more of what the run makes than its slice
    whole           bytes of weights and of other tensors that each tile reads all of
    largest_whole   of these, the most that one op reads
    """

    piece: Piece
    begin: int
    of_samples: bool
    possible: bool = True
    whole: int = 0
    largest_whole: int = 0
    input_bytes: int = 0
    reuses: bool = False
    _inputs: set[int] = field(default_factory=set[int])

    def take(self, k: int) -> None:
        """The run's next op is k."""
        piece, op = self.piece, self.piece.ops[k]
        self.possible &= op.outer and piece.outer > 1 if self.of_samples else op.tileable
        whole = 0
        for t in dict.fromkeys(op.reads):
            all_ = not piece.tensors[t].outer if self.of_samples else piece.reads_whole(k, t)
            whole += piece.part_bytes(t) if all_ else 0
            if piece.producer.get(t, -1) >= self.begin:
                self.possible &= not all_
                self.reuses = True
            elif t in self._inputs:
                self.reuses |= not all_
            else:
                self._inputs.add(t)
                if all_:
                    self.whole += piece.part_bytes(t)
                else:
                    self.input_bytes += piece.tensors[t].bytes
        self.largest_whole = max(self.largest_whole, whole)


class Run:
    """Ops [begin, end) while `end` moves on. `ways`: those that are possible, the one without overlap first."""

    def __init__(self, piece: Piece, begin: int):
        self.piece = piece
        self.begin = self.end = begin
        self.ways = [Way(piece, begin, True), Way(piece, begin, False)]
        self._made: list[int] = []

    def grow(self) -> bool:
        """Takes in the next op; False where the run cannot be cut any more."""
        for way in self.ways:
            way.take(self.end)
        self._made += self.piece.ops[self.end].writes
        self.end += 1
        self.ways = [way for way in self.ways if way.possible]
        return bool(self.ways)

    def reuses_something(self) -> bool:
        """An op reads what another of the run wrote, or two read the same."""
        return any(way.reuses for way in self.ways)

    def slices(self, way: Way) -> int:
        return self.piece.outer if way.of_samples else self.piece.extent(self.end - 1)

    def group(self, way: Way, slices: int) -> Group:
        """With so many slices a tile."""
        if way.of_samples:
            return Group(self.begin, self.end, self.piece.extent(self.end - 1), outer=slices)
        return Group(self.begin, self.end, slices)

    def bytes_a_slice(self, way: Way) -> int:
        """Inputs, outputs and the most that is alive between them, for one slice: no tile is smaller."""
        tensors, last = self.piece.tensors, self.piece.last_touch
        outside = way.input_bytes
        change = [0] * (self.end - self.begin + 1)
        for t in self._made:
            if last[t] >= self.end or tensors[t].output:
                outside += tensors[t].bytes
            else:
                change[self.piece.producer[t] - self.begin] += tensors[t].bytes
                change[last[t] + 1 - self.begin] -= tensors[t].bytes
        alive = most = 0
        for step in change:
            alive += step
            most = max(most, alive)
        slices = self.slices(way) * (1 if way.of_samples else self.piece.outer)
        return -(-(outside + most) // slices)
