"""
The L2 traffic model: bytes from and to memory that a plan moves, and the time that this takes. All of it modelled.

The cache is LRU over bytes, write-back, and keeps what fits: an access misses when more than the cache's bytes were
touched since the last touch of the same bytes (the stack distance), so a plan without groups gains from it too.

    group h:   ... writes t[x] ...                 distance of t[x] = |t|
    groups between                                      + what h touches after t[x] + all that lies between
    group g:   ... reads t[x] ...                       + what g touches before t[x]

`Model.step` adds one group to a state; the search walks over states, `evaluate` over one plan. Groups are seen through
their footprints (footprint.py): everything that does not depend on what ran before.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Protocol

from .distance import Between, missing_share
from .footprint import SCRATCH, Body, Footprint, body_of, footprint
from .judge import CacheKind
from .piece import Group, Piece, Plan

# Between groups a hit is credited only below this share of the cache: real caches are not quite LRU.
SAFE = 0.95


class Machine(Protocol):
    """What the model reads of a chip; `targets.Target` has this shape. None: unknown."""

    @property
    def name(self) -> str: ...
    @property
    def l2_bytes(self) -> int: ...
    @property
    def memory_bytes_per_s(self) -> float | None: ...
    @property
    def l2_read_bytes_per_s(self) -> float | None: ...
    @property
    def l2_write_bytes_per_s(self) -> float | None: ...
    @property
    def peak_flops(self) -> float | None: ...
    @property
    def launch_seconds(self) -> float: ...
    @property
    def tile_seconds(self) -> float: ...
    @property
    def cache(self) -> CacheKind: ...


@dataclass(frozen=True)
class GroupTraffic:
    """
    One group of a plan, modelled.

    halo                 its tiles need what their neighbours compute
    read, written        bytes from and to memory while it runs (a write-back is counted where it is noticed)
    working_set          bytes of one tile: weights, inputs, outputs, scratch
    intermediate_bytes   read by the group's ops of what its own ops wrote
    hit_share            of the intermediate bytes, served from L2
    seconds              None where the machine's figures are unknown; `serial_seconds` if nothing overlapped
    """

    group: Group
    tiles: int
    halo: bool
    read: float
    written: float
    working_set: int
    intermediate_bytes: int
    hit_share: float
    seconds: float | None
    serial_seconds: float | None


@dataclass(frozen=True)
class Traffic:
    """A plan, modelled: the sums over its groups. Bytes and seconds."""

    groups: tuple[GroupTraffic, ...]
    read: float
    written: float
    seconds: float | None
    serial_seconds: float | None

    @property
    def total(self) -> float:
        return self.read + self.written


@dataclass(slots=True)
class State:
    """
    The cache's history after some groups: a chain, newest first.

    touched   tensor -> (depth of the group that touched it last, share of it that memory already has)
    buried    what died here still dirty and, unless it is still cached at the end, is written back: (storage, bytes)
    fees      one for each L2 group so far, and one more for each thousand launches in it
    """

    depth: int
    previous: "State | None"
    shape: Footprint | None
    touched: dict[int, tuple[int, float]]
    buried: list[tuple[int, float]]
    read: float = 0
    written: float = 0
    seconds: float = 0
    fees: float = 0


class Model:
    """Traffic of plans of one piece on one machine."""

    def __init__(self, piece: Piece, machine: Machine, page: int = 4096):
        self.page = page
        self.piece = piece
        self.machine = machine
        self.capacity = machine.l2_bytes
        self.limit = SAFE * machine.l2_bytes
        self.writes_back_dead = machine.cache != "hints"
        self.allocates = machine.cache == "write-allocate"
        self.knows_time = machine.memory_bytes_per_s is not None and machine.peak_flops is not None
        self._heirs = _heirs(piece)
        self._body: Body | None = None

    def shape(self, group: Group) -> Footprint:
        """A group's footprint; the part that all tile sizes share is kept for the next call."""
        body = self._body
        if body is None or (body.begin, body.end) != (group.begin, group.end):
            body = self._body = body_of(self.piece, group.begin, group.end)
        return footprint(self.piece, body, group, self.capacity, self.machine.cache, self.page)

    def start(self) -> State:
        return State(-1, None, None, {}, [])

    def step(self, state: State, shape: Footprint) -> State:
        """The state after one more group. Cost: the tensors alive, plus the group's streams for each of its reads."""
        tensors = self.piece.tensors
        touched = dict(state.touched)
        depth = state.depth + 1
        read, written = shape.extra_read, shape.extra_written

        for t in shape.reads:
            size = tensors[t].bytes
            seen = touched.get(t)
            if seen is None:
                read += size
                stored = 1.0
            else:
                at, stored = seen
                missed = self._miss(state, at, t, shape, t)
                read += missed * size
                if missed > stored:
                    written += (missed - stored) * size
                    stored = missed
            touched[t] = (depth, stored)

        for t in shape.writes:
            lost, fetched = self._overwrite(state, touched, shape, t)
            written += lost
            read += fetched
            touched[t] = (depth, 1.0 if t in shape.spilled else 0.0)
            if tensors[t].output:
                written += tensors[t].bytes
                touched[t] = (depth, 1.0)

        buried: list[tuple[int, float]] = []
        if self.writes_back_dead and shape.scratch:
            lost, fetched, tail = self._reuse_scratch(state, touched, shape, depth)
            written += lost
            read += fetched
            if tail:
                buried.append((SCRATCH, tail))

        for t in shape.dying:
            entry = touched.pop(t, None)
            if entry is None or not self.writes_back_dead or entry[1] >= 1:
                continue
            unclaimed = tensors[t].bytes - self._heirs.claimed.get(t, 0)
            written += (1 - entry[1]) * unclaimed
            buried.append((self.piece.storage[t], (1 - entry[1]) * unclaimed))
            if unclaimed < tensors[t].bytes:
                touched[t] = (depth, entry[1])  # whoever overwrites it will settle the rest

        after = State(depth, state, shape, touched, buried, state.read + read, state.written + written)
        after.seconds = state.seconds + (self.group_seconds(shape, read + written) if self.knows_time else 0)
        ops = shape.group.end - shape.group.begin
        after.fees = state.fees + (1 + shape.tiles * ops / 1000 if ops > 1 else 0)
        return after

    def _overwrite(
        self, state: State, touched: dict[int, tuple[int, float]], shape: Footprint, t: int
    ) -> tuple[float, float]:
        """Bytes written back and fetched because t is written to addresses that dead tensors had."""
        if not self.writes_back_dead:
            return 0, 0

        lost = 0.0
        fetched = float(self.piece.tensors[t].bytes)
        for dead, size in self._heirs.before.get(t, ()):
            seen = touched.get(dead)
            if seen is None:
                continue
            at, stored = seen
            # Who died in this very group is still there.
            missed = self._miss(state, at, dead, shape, t) if at <= state.depth else 0.0
            lost += max(0.0, missed - stored) * size
            fetched -= (1 - missed) * size
            if t == self._heirs.last[dead]:
                del touched[dead]
        return lost, fetched if self.allocates else 0

    def _reuse_scratch(
        self, state: State, touched: dict[int, tuple[int, float]], shape: Footprint, depth: int
    ) -> tuple[float, float, float]:
        """
        The scratch buffer is written again: what the last group left dirty there, what must be fetched, and of the
        dirty bytes those that are cached but not written again: they age out, if the end does not come first.
        """
        lost = tail = 0.0
        fetched = float(shape.scratch)
        seen = touched.get(SCRATCH)
        if seen is not None:
            at, _ = seen
            before = _state_at(state, at).shape
            assert before is not None
            missed = self._miss(state, at, SCRATCH, shape, SCRATCH)
            reused = (1 - missed) * min(before.scratch, shape.scratch)
            lost = before.scratch - reused
            tail = (1 - missed) * max(0, before.scratch - shape.scratch)
            fetched -= reused
        touched[SCRATCH] = (depth, 0.0)
        return lost, fetched if self.allocates else 0, tail

    def finish(self, state: State) -> State:
        """Settles what is dead and dirty at the end: what is still cached is never written back."""
        if not self.writes_back_dead:
            return state

        written = state.written
        scratch_at = state.touched[SCRATCH][0] if SCRATCH in state.touched else -1
        between = self._nothing_between()
        for s in _back_to(state, -1):
            assert s.shape is not None
            gone = between.bytes > self.limit
            if gone and s.depth < scratch_at:
                break
            for t, dirty in s.buried if not gone else ():
                written -= dirty * (1 - missing_share(s.shape, t, between, self.limit, None, t))
            if s.depth == scratch_at:
                missed = 1.0 if gone else missing_share(s.shape, SCRATCH, between, self.limit, None, SCRATCH)
                written += missed * s.shape.scratch
            between.add(s.shape)
        return replace(state, written=written)

    def evaluate(self, plan: Plan) -> Traffic:
        """
        Model a plan.

        raises   ValueError where the groups do not cover the ops in order
        """
        here = 0
        state = self.start()
        groups: list[GroupTraffic] = []
        for group in plan:
            fits = here == group.begin < group.end and 1 <= group.samples <= self.piece.extent(group.end - 1)
            if not fits:
                raise ValueError(
                    f"group [{group.begin}, {group.end}) of {group.samples} samples does not follow {here}"
                )
            here = group.end
            shape = self.shape(group)
            after = self.step(state, shape)
            groups.append(self._report(shape, after.read - state.read, after.written - state.written))
            state = after
        if here != len(self.piece.ops):
            raise ValueError(f"the plan ends at op {here} of {len(self.piece.ops)}")

        state = self.finish(state)
        seconds = serial = None
        if self.knows_time:
            seconds = sum(g.seconds or 0 for g in groups)
            serial = sum(g.serial_seconds or 0 for g in groups)
        return Traffic(tuple(groups), state.read, state.written, seconds, serial)

    def group_seconds(self, shape: Footprint, memory_bytes: float) -> float:
        """
        Arithmetic, memory and L2 overlap perfectly. Every op is started, by itself or in a group, and in a group again
        for each further tile: a group gains nothing by fewer starts. Needs `knows_time`.
        """
        return max(self._seconds(shape, memory_bytes)) + self._launches(shape)

    def _seconds(self, shape: Footprint, memory_bytes: float) -> tuple[float, float, float]:
        machine = self.machine
        assert machine.peak_flops is not None
        assert machine.memory_bytes_per_s is not None
        l2 = 0.0
        if machine.l2_read_bytes_per_s is not None and machine.l2_write_bytes_per_s is not None:
            l2 = shape.l2_read / machine.l2_read_bytes_per_s + shape.l2_written / machine.l2_write_bytes_per_s
        return shape.flops / machine.peak_flops, memory_bytes / machine.memory_bytes_per_s, l2

    def _launches(self, shape: Footprint) -> float:
        ops = shape.group.end - shape.group.begin
        again = shape.tiles - 1 if ops > 1 else 0
        return ops * (self.machine.launch_seconds + again * self.machine.tile_seconds)

    def _report(self, shape: Footprint, read: float, written: float) -> GroupTraffic:
        seconds = serial = None
        if self.knows_time:
            seconds = self.group_seconds(shape, read + written)
            serial = sum(self._seconds(shape, read + written)) + self._launches(shape)
        return GroupTraffic(
            shape.group,
            shape.tiles,
            shape.halo,
            read,
            written,
            shape.working_set,
            shape.intermediate_bytes,
            shape.hit_share,
            seconds,
            serial,
        )

    def _miss(self, state: State, at: int, t: int, shape: Footprint, wanted: int) -> float:
        """
        The share of t, last touched by the group at depth `at`, that has left the cache when `shape`, the next group,
        touches `wanted`: t itself, or the tensor that overwrites it.
        """
        between = self._nothing_between()
        for s in _back_to(state, at):
            assert s.shape is not None
            between.add(s.shape)
            if between.bytes > self.limit:
                return 1.0

        before = _state_at(state, at).shape
        assert before is not None
        storage = self.piece.storage
        ours, theirs = (x if x == SCRATCH else storage[x] for x in (t, wanted))
        return missing_share(before, ours, between, self.limit, shape, theirs)

    def _nothing_between(self) -> Between:
        return Between(self._heirs.placed, self._heirs.arena_bytes)


@dataclass(frozen=True)
class _Heirs:
    """
    Who takes whose addresses in the arena, in the order of the ops.

    before    tensor -> (dead tensor, bytes of it that are overwritten)
    claimed   dead tensor -> bytes of it that somebody overwrites
    last      dead tensor -> the last that overwrites a part of it
    placed    tensors that have an address in the arena, of `arena_bytes`
    """

    before: dict[int, list[tuple[int, int]]]
    claimed: dict[int, int]
    last: dict[int, int]
    placed: frozenset[int]
    arena_bytes: int


def _heirs(piece: Piece) -> _Heirs:
    ends = {t: x.address + x.bytes for t, x in enumerate(piece.tensors) if x.address is not None}
    heirs = _Heirs({}, {}, {}, frozenset(ends), max(ends.values(), default=0))
    owners: list[tuple[int, int, int]] = []  # disjoint (start, end, tensor): who wrote these addresses last
    for op in piece.ops:
        for t in op.writes:
            start = piece.tensors[t].address
            if start is None:
                continue
            end = start + piece.tensors[t].bytes
            kept: list[tuple[int, int, int]] = []
            for low, high, dead in owners:
                common = min(high, end) - max(low, start)
                if common <= 0:
                    kept.append((low, high, dead))
                    continue
                heirs.before.setdefault(t, []).append((dead, common))
                heirs.claimed[dead] = heirs.claimed.get(dead, 0) + common
                heirs.last[dead] = t
                if low < start:
                    kept.append((low, start, dead))
                if end < high:
                    kept.append((end, high, dead))
            owners = [*kept, (start, end, t)]
    return heirs


def _back_to(state: State, depth: int) -> Iterator[State]:
    """The states from `state` back to just after the group at `depth`, newest first."""
    while state.depth > depth:
        yield state
        assert state.previous is not None
        state = state.previous


def _state_at(state: State, depth: int) -> State:
    while state.depth > depth:
        assert state.previous is not None
        state = state.previous
    return state
