"""
The search for L2 groups: which runs of ops run tile by tile along the batch (or rows), and how many a tile holds.

    conv1 | conv2 | conv3      ->      [conv1 conv2 conv3] in 6 tiles of 6 samples

Forward over the ops: a label is a way to have run the first i ops, with the cache's history (traffic.State). From it
every candidate run [i, j) leads on. Two keys decide which labels live: the cost so far, and the cost so far plus what
the live dirty bytes may still cost; the first alone favours those who have not paid yet.

"Every op by itself" is always a candidate, and ties go to it.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from .footprint import SCRATCH, Footprint
from .gain import MostGain
from .machine import Machine
from .piece import Group, Piece, balanced
from .rows import MOST_APART, lines_can_be_kept, shares_are_whole, stride
from .runs import Run, Way
from .state import State
from .traffic import SAFE, Model, Traffic

# A piece whose traffic is this near to its compulsory bytes has nothing to gain.
NOTHING_TO_GAIN = 1.001
# Ends of candidate runs: all up to this many ops, then only where fewest bytes cross the cut.
EVERY_END = 8
# Steps in which an op by itself walks over rows: as samples where they do not overlap.
STEPS = 16
# So many ends in a row at which not one sample fits, and longer runs are not tried.
HOPELESS = 8
# Tile counts tried to find the least that fits.
TRIALS = 3


@dataclass(frozen=True)
class SearchOptions:
    """
    occupancy          largest working set of a tile, as a share of L2
    fusion_threshold   smallest modelled share of a group's intermediate bytes that must be served from L2
    objective          time: modelled seconds (bytes where the machine's figures are unknown); bytes
    longest            ops in a group
    labels             labels that live at an op, by each of the two keys
    tile_counts        tile counts tried for a run, beginning with the least that fits

    raises   ValueError on a share outside 0..1 or a number below 1
    """

    occupancy: float = 0.8
    fusion_threshold: float = 0.8
    objective: Literal["time", "bytes"] = "time"
    longest: int = 64
    labels: int = 2
    tile_counts: int = 3

    def __post_init__(self) -> None:
        for name, share in (("occupancy", self.occupancy), ("fusion_threshold", self.fusion_threshold)):
            if not 0 <= share <= 1:
                raise ValueError(f"{name} must be in 0..1, got {share}")
        for name, number in (("longest", self.longest), ("labels", self.labels), ("tile_counts", self.tile_counts)):
            if number < 1:
                raise ValueError(f"{name} must be at least 1, got {number}")


def single_plan(piece: Piece, machine: Machine, page: int = 4096) -> list[Group]:
    """Every op by itself: the baseline of all savings. `page` is what the cache counts in, bytes."""
    return [single(piece, k, machine, page) for k in range(len(piece.ops))]


def single(piece: Piece, k: int, machine: Machine, page: int = 4096) -> Group:
    """One op as its own kernel walks (`kernel_steps`). An op that does not tile is one step."""
    op = piece.ops[k]
    if piece.outer > 1:
        return Group(k, k + 1, piece.extent(k), outer=_outer_steps(piece, k, machine))
    if not op.tileable:
        return Group(k, k + 1, piece.batch)

    tensors = [(piece.tensors[t].bytes, piece.reads_whole(k, t)) for t in {*op.reads, *op.writes}]
    extent = piece.extent(k)
    if all(piece.reads_whole(k, t) for t in op.reads):
        return Group(k, k + 1, extent)  # what it reads moves along an axis that the piece does not know
    whole = sum(size for size, all_ in tensors if all_)
    moving = sum(size for size, all_ in tensors if not all_)
    strips = sum(piece.tensors[t].strips for t in {*op.reads, *op.writes} if not piece.reads_whole(k, t))
    by_samples = all(piece.tensors[t].strips == 1 for t in op.writes)
    samples = kernel_steps(
        extent, whole, moving, machine.l2_bytes, strips_bytes=0 if by_samples else strips * page, samples=by_samples
    )
    return Group(k, k + 1, samples)


def _outer_steps(piece: Piece, k: int, machine: Machine) -> int:
    """How many outer samples an op by itself takes at a time."""
    op = piece.ops[k]
    if not op.outer:
        return piece.outer
    whole = sum(piece.tensors[t].bytes for t in {*op.reads} if not piece.tensors[t].outer)
    moving = sum(piece.tensors[t].bytes for t in {*op.reads, *op.writes} if piece.tensors[t].outer)
    return kernel_steps(piece.outer, whole, moving, machine.l2_bytes)


def kernel_steps(
    extent: int, whole: int, moving: int, cache_bytes: int, *, strips_bytes: int = 0, samples: bool = True
) -> int:
    """
    How many slices a kernel takes at a time: one where what it reads whole and two slices fit the cache (of rows, that
    are many, as many as make a few steps), else as many as fit, and what it reads whole is streamed for each step. Rows
    of which not even the pages fit are taken all at once.

    extent         slices
    whole, moving  bytes that each step reads, and that all steps together touch
    strips_bytes   of the pages in which the runs of bytes of some slices begin: one a run, however many the slices
    samples        whether each slice of the result lies in a row, as samples do
    """
    fine = 1 if samples else max(1, extent // STEPS)
    one = moving * fine // extent
    if 2 * strips_bytes > cache_bytes:
        return extent
    if whole == 0 or whole + 2 * one + strips_bytes <= cache_bytes:
        return fine
    return balanced(extent, max(1, min(extent, (cache_bytes - strips_bytes) * fine // max(1, one))))


def search(
    piece: Piece,
    machine: Machine,
    options: SearchOptions | None = None,
    barred: Collection[int] = (),
    page: int = 4096,
) -> list[Group]:
    """
    The best plan found.

    barred    ops that no group may hold (a blacklist); ops that do not tile never are in one
    page      bytes in which the cache counts
    returns   groups that cover all ops; those of two and more ops are L2 groups. Never more bytes or time than
              every op by itself, by the model
    cost      about linear in ops; ops x ends x tile counts x labels steps of the model, twice where the plan of
              least time moves more bytes than every op by itself
    """
    options = options or SearchOptions()
    model = Model(piece, machine, page, credit=SAFE)
    singles = single_plan(piece, machine, page)
    baseline = model.evaluate(singles)
    if (
        all(piece.outer * piece.extent(k) == 1 for k in range(len(piece.ops)))
        or baseline.total <= NOTHING_TO_GAIN * piece.compulsory_bytes()
    ):
        return singles

    for overlap in (True, False):
        best = _Search(model, options, frozenset(barred), singles, baseline, overlap).run()
        found = model.evaluate(best)
        if found.total >= baseline.total:
            continue  # bytes that hide behind arithmetic cost no time: next, with nothing behind anything
        if options.objective == "time" and found.seconds is not None and baseline.seconds is not None:
            return best if found.seconds < baseline.seconds else singles
        return best
    return singles


class _Search:
    """overlap: what a group moves hides behind its arithmetic where that takes longer, as the machine's seconds say."""

    def __init__(
        self,
        model: Model,
        options: SearchOptions,
        barred: frozenset[int],
        singles: Sequence[Group],
        baseline: Traffic,
        overlap: bool,
    ):
        self.overlap = overlap
        self.model = model
        self.piece = model.piece
        self.options = options
        self.barred = barred
        self.singles = singles
        self.by_time = options.objective == "time" and model.knows_time
        self.gain = MostGain(self.piece, model.machine, baseline, overlap) if self.by_time else None
        self.limit = int(options.occupancy * model.capacity)
        self.crossing = crossing_bytes(self.piece)
        # The run that is looked at, and its shapes by the kind and the slices of a tile.
        self._asked = (0, 0)
        self._made: dict[tuple[bool, int], list[Footprint]] = {}
        # By bytes alone a group must pay for itself: so many bytes, and more for every launch.
        self.fee = max(65536, self.piece.compulsory_bytes() // 10_000)

    def run(self) -> list[Group]:
        count = len(self.piece.ops)
        labels: list[list[State]] = [[] for _ in range(count + 1)]
        labels[0].append(self.model.start())
        for i in range(count):
            alive, labels[i] = self._prune(labels[i]), []
            for shape in (self.model.shape(self.singles[i]), *self._candidates(i)):
                there = labels[shape.group.end]
                there += [self.model.step(label, shape) for label in alive]
                if len(there) > 16 * self.options.labels:
                    labels[shape.group.end] = self._prune(there)
            for label in alive:
                label.since.clear()  # its chain lives on, and nobody asks it again

        best = min((self.model.finish(label) for label in labels[count]), key=self._cost)
        return _groups_of(best)

    def _prune(self, labels: list[State]) -> list[State]:
        """The best by either key, one for each last group."""
        kept: list[State] = []
        seen: set[Group | None] = set()
        for key in (self._cost, self._cost_with_debts):
            room = self.options.labels
            for label in sorted(labels, key=key):
                group = label.shape.group if label.shape else None
                if group in seen:
                    continue
                seen.add(group)
                kept.append(label)
                room -= 1
                if room == 0:
                    break
        return kept

    def _cost(self, state: State) -> float:
        if self.by_time:
            moved = 0.0 if self.overlap else state.read + state.written
            return state.seconds + moved / (self.model.machine.memory_bytes_per_s or 1)
        return state.read + state.written + self.fee * state.fees

    def _cost_with_debts(self, state: State) -> float:
        """Live dirty bytes may have to be written and read again."""
        tensors, producer = self.piece.tensors, self.piece.producer
        debts = sum(
            (2 - stored) * tensors[t].bytes
            for t, (_, stored) in state.touched.items()
            if t != SCRATCH and t in producer and not tensors[t].output
        )
        if self.by_time:
            debts /= self.model.machine.memory_bytes_per_s or 1
        return self._cost(state) + debts

    def _candidates(self, begin: int) -> Iterator[Footprint]:
        """Footprints of the runs that begin here and may pay."""
        misfits = 0
        run = Run(self.piece, begin)
        for end in range(begin + 1, min(len(self.piece.ops), begin + self.options.longest) + 1):
            if end - 1 in self.barred or not run.grow():
                return
            if end - begin == 1 or not (end - begin <= EVERY_END or self._narrow(end)):
                continue
            if not run.reuses_something():
                continue
            found = self._tilings(run)
            misfits = 0 if found else misfits + 1
            if misfits > HOPELESS:
                return
            yield from found

    def _narrow(self, end: int) -> bool:
        """Fewer bytes cross this cut than the next, and no more than the one before: the last of a plateau."""
        crossing = self.crossing
        return end == len(self.piece.ops) or crossing[end - 1] >= crossing[end] < crossing[end + 1]

    def _tilings(self, run: Run) -> list[Footprint]:
        """
        Tile counts with resident weights, beginning with the least, of samples, where they fit, else of rows; and the
        least with streamed weights, where that is less: fewer starts may save more than weights read again cost.
        """
        resident: list[Footprint] = []
        for way in run.ways:
            least = self._least_that_fits(run, way)
            for tiles in self._more(run, way, least) if least else ():
                shapes = [shape for shape in self._shapes(run, way, tiles) if self._fits(shape, 0)]
                resident += [shape for shape in shapes if all(shape.group != other.group for other in resident)]
                if len({(shape.group.samples, shape.group.outer) for shape in resident}) == self.options.tile_counts:
                    break
            if resident:
                break
        most = min((shape.tiles for shape in resident), default=None)
        return resident + self._streamed(run, most)

    def _streamed(self, run: Run, most: int | None) -> list[Footprint]:
        """The least tile count, and fewer than `most`, with streamed weights."""
        for way in run.ways:
            spare = way.whole - way.largest_whole
            least = self._least(run, way, self.limit - way.largest_whole) if spare else 0
            for tiles in self._more(run, way, least)[:2] if least else ():
                for shape in self._shapes(run, way, tiles):
                    if most is not None and shape.tiles >= most:
                        return []
                    if self._fits(shape, spare):
                        return [shape]
        return []

    def _fits(self, shape: Footprint, spare: int) -> bool:
        """`spare`: bytes that need not be in the cache all the time."""
        return shape.working_set - spare <= self.limit and shape.hit_share >= self.options.fusion_threshold

    def _least(self, run: Run, way: Way, room: int) -> int:
        """Tiles that are needed for one to be in `room` bytes, at least; 0 where not one slice is."""
        fitting = room // max(1, run.bytes_a_slice(way))
        return max(2, -(-run.slices(way) // fitting)) if fitting >= 1 else 0

    def _least_that_fits(self, run: Run, way: Way) -> int:
        """The same of resident weights, and what windows overlap and the packing add: found in a few trials."""
        room = self.limit - way.whole
        least = self._least(run, way, room)
        for _ in range(TRIALS if 0 < least < run.slices(way) else 0):
            needed = min((shape.working_set for shape in self._shapes(run, way, least)), default=0)
            if needed <= self.limit:
                break
            least = min(run.slices(way), max(least + 1, -(-least * (needed - way.whole) // room)))
        return least

    def _more(self, run: Run, way: Way, least: int) -> list[int]:
        slices = run.slices(way)
        return sorted({min(n, slices) for n in (least, least + 1, 2 * least, 4 * least, slices)})

    def _shapes(self, run: Run, way: Way, tiles: int) -> list[Footprint]:
        """Of a run in about so many tiles: what overlaps computed again, and kept."""
        taken = -(-run.slices(way) // tiles)
        if self._asked != (run.begin, run.end):
            self._asked, self._made = (run.begin, run.end), {}
        key = (way.of_samples, taken)
        if key not in self._made:
            self._made[key] = self._shapes_of(run, way, taken)
        return self._made[key]

    def _shapes_of(self, run: Run, way: Way, taken: int) -> list[Footprint]:
        slices = run.slices(way)
        if slices < 2:
            return []
        if self.gain is not None:
            rounds = 1 if way.of_samples else self.piece.outer
            if not self.gain.may_pay(run.begin, run.end, rounds * -(-slices // taken)):
                return []
        if way.of_samples:
            return [self.model.shape(run.group(way, taken))]
        step = stride(self.piece, run.begin, run.end)
        looped = 0 < step <= taken
        group = run.group(way, taken - taken % step if looped else taken)
        if not looped and self.piece.steps(group) > MOST_APART + 1:
            return []  # each tile would stand for itself alone
        if self.piece.steps(group) < 2 or not shares_are_whole(self.piece, group):
            return []
        again = self.model.shape(group)
        if not again.halo:
            return [again]
        kept = group._replace(lines=True)
        return [again, self.model.shape(kept)] if lines_can_be_kept(self.piece, kept) else [again]


def crossing_bytes(piece: Piece) -> list[int]:
    """For each cut before op k (and after the last): batched bytes that are made before and needed after."""
    change = [0] * (len(piece.ops) + 2)
    for t, k in piece.producer.items():
        tensor = piece.tensors[t]
        if tensor.batched and piece.last_touch[t] > k:
            change[k + 1] += tensor.bytes
            change[piece.last_touch[t] + 1] -= tensor.bytes
    crossing: list[int] = []
    total = 0
    for step in change:
        total += step
        crossing.append(total)
    return crossing


def _groups_of(state: State) -> list[Group]:
    groups: list[Group] = []
    while state.shape is not None:
        groups.append(state.shape.group)
        assert state.previous is not None
        state = state.previous
    return groups[::-1]
