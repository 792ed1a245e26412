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

from dataclasses import dataclass, replace

from .dead import Dead, Range, common_bytes, without
from .distance import Between, missing_share
from .footprint import SCRATCH, Body, Footprint, body_of, footprint
from .machine import Machine, knows_time, starts, terms
from .piece import Group, Piece, Plan
from .state import State, back_to, state_at

# A search credits hits between groups only below this share of the cache: a plan that lives on the last byte is none.
SAFE = 0.95
# Footprints that a model keeps, of some 2 KB each: a search may go over its piece twice.
KEPT = 20_000


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


class Model:
    """
    Traffic of plans of one piece on one machine.

    credit    share of the cache up to which a hit between groups is believed; all of it for a figure that is told
    """

    def __init__(self, piece: Piece, machine: Machine, page: int = 4096, *, credit: float = 1.0):
        self._keys: dict[int, int] = {}  # where in the arena scratch begins -> its item
        self.page = page
        self.piece = piece
        self.machine = machine
        self.capacity = machine.l2_bytes
        self.limit = credit * machine.l2_bytes
        self.writes_back_dead = machine.cache != "hints"
        self.allocates = machine.cache == "write-allocate"
        self.knows_time = knows_time(machine)
        # Where a tensor lies in the arena; others have addresses of their own.
        self._lying: dict[int, Range] = {
            k: (t.address, t.address + t.bytes) for k, t in enumerate(piece.tensors) if t.address is not None
        }
        ends = [end for _, end in self._lying.values()]
        ends += [end for ranges in piece.scratch.values() for _, end in ranges]
        self._items_at: dict[int, tuple[Range, ...]] = {t: (place,) for t, place in self._lying.items()}
        self._arena_bytes = max(ends, default=0)
        self._body: Body | None = None
        self._shapes: dict[Group, Footprint] = {}

    def shape(self, group: Group) -> Footprint:
        """A group's footprint: the first `KEPT` are kept, and the part that all tile sizes share for the next call."""
        found = self._shapes.get(group)
        if found is None:
            found = self._shape(group)
            if len(self._shapes) < KEPT:
                self._shapes[group] = found
        return found

    def _shape(self, group: Group) -> Footprint:
        body = self._body
        if body is None or not body.is_of(group):
            body = self._body = body_of(self.piece, group)
        found = footprint(body, group, self.capacity, self.machine.cache, self.page)
        return self._in_its_place(found) if found.scratch else found

    def _in_its_place(self, shape: Footprint) -> Footprint:
        """With the scratch as an item of its own, the same for groups whose scratch lies at one place."""
        place = self.piece.place_of_scratch(shape.group.begin, shape.group.end, shape.scratch)
        if not place:
            return shape
        key = self._keys.setdefault(place[0][0], SCRATCH - 1 - len(self._keys))
        self._items_at[key] = place
        items = {key if k == SCRATCH else k: item for k, item in shape.items.items()}
        return replace(shape, items=items, scratch_key=key, place=place)

    def start(self) -> State:
        return State(-1, None, None, {}, {})

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

        dead = dict(state.dead)
        dying = {t: (self._range(t),) for t in shape.dying if t in touched} if self.writes_back_dead else {}
        for t in shape.writes:
            lost, fetched = self._overwrite(state, dead, dying, shape, t)
            written += lost
            read += fetched
            touched[t] = (depth, min(1.0, shape.spilled.get(t, 0.0)))
            if tensors[t].output:
                written += tensors[t].bytes
                touched[t] = (depth, 1.0)

        if self.writes_back_dead and shape.scratch:
            lost, fetched = self._reuse_scratch(state, dead, dying, shape, depth)
            written += lost
            read += fetched

        for t in shape.dying:
            entry = touched.pop(t, None)
            ranges = dying.get(t, (self._range(t),))
            if entry is not None and self.writes_back_dead and ranges and (entry[1] < 1 or self.allocates):
                dead[t] = Dead(depth, entry[1], ranges, t not in self._lying)

        after = State(depth, state, shape, touched, dead, state.read + read, state.written + written)
        after.seconds = state.seconds + (self.group_seconds(shape, read + written) if self.knows_time else 0)
        ops = shape.group.end - shape.group.begin
        after.fees = state.fees + (1 + shape.tiles * ops / 1000 if ops > 1 else 0)
        return after

    def _range(self, t: int) -> Range:
        return self._lying.get(t, (0, self.piece.tensors[t].bytes))

    def _overwrite(
        self, state: State, dead: dict[int, Dead], dying: dict[int, tuple[Range, ...]], shape: Footprint, t: int
    ) -> tuple[float, float]:
        """Bytes written back and fetched because t is written to addresses that dead tensors had."""
        if not self.writes_back_dead:
            return 0, 0
        if t not in self._lying:
            return 0, self.piece.tensors[t].bytes if self.allocates else 0
        low, high = self._lying[t]
        lost, present = self._settle(state, dead, shape, t, low, high)
        present += self._still_there(dying, low, high)
        return lost, high - low - present if self.allocates else 0

    def _still_there(self, dying: dict[int, tuple[Range, ...]], low: int, high: int) -> int:
        """Bytes of the arena, overwritten now, of those who die in this very group."""
        found = 0
        for u, ranges in dying.items():
            if u in self._lying:
                found += common_bytes(ranges, low, high)
                dying[u] = without(ranges, low, high)
        return found

    def _reuse_scratch(
        self,
        state: State,
        dead: dict[int, Dead],
        dying: dict[int, tuple[Range, ...]],
        shape: Footprint,
        depth: int,
    ) -> tuple[float, float]:
        """Bytes written back and fetched because the scratch buffer is written again."""
        ranges = shape.place or ((0, shape.scratch),)
        lost = fetched = 0.0
        for low, high in ranges:
            gone, present = self._settle(state, dead, shape, shape.scratch_key, low, high)
            if shape.place:
                present += self._still_there(dying, low, high)
            lost += gone
            fetched += high - low - present
        dead[_left_by(depth)] = Dead(depth, 0.0, ranges, not shape.place)
        return lost, fetched if self.allocates else 0

    def _settle(
        self, state: State, dead: dict[int, Dead], shape: Footprint, wanted: int, low: int, high: int
    ) -> tuple[float, float]:
        """What of [low, high) was written back before it is overwritten now, and what of it is in the cache."""
        lost = present = 0.0
        for u in list(dead):
            at, stored, ranges, apart = dead[u]
            # Of what lies apart, only the groups' one buffer is written again.
            lies_here = u < 0 and wanted == SCRATCH if apart else wanted != SCRATCH
            common = common_bytes(ranges, low, high) if lies_here else 0
            if common == 0:
                continue
            missed = self._miss(state, at, u, shape, wanted)
            lost += max(0.0, missed - stored) * common
            present += (1 - missed) * common
            rest = without(ranges, low, high)
            if rest:
                dead[u] = Dead(at, stored, rest, apart)
            else:
                del dead[u]
        return lost, present

    def finish(self, state: State) -> State:
        """Settles what is dead and dirty at the end: what is still cached is never written back."""
        if not self.writes_back_dead:
            return state

        at_depth: dict[int, list[int]] = {}
        for u, entry in state.dead.items():
            at_depth.setdefault(entry.depth, []).append(u)
        written = 0.0
        between = self._nothing_between()
        gone = False
        for s in back_to(state, min(at_depth, default=state.depth) - 1):
            assert s.shape is not None
            gone = gone or between.bytes > self.limit
            for u in at_depth.get(s.depth, ()):
                _, stored, ranges, _ = state.dead[u]
                item = s.shape.scratch_key if u < 0 else self.piece.storage[u]
                missed = 1.0 if gone else missing_share(s.shape, item, between, self.limit, None, item)
                written += max(0.0, missed - stored) * sum(high - low for low, high in ranges)
            between.add(s.shape)
        bandwidth = self.machine.memory_bytes_per_s if self.knows_time else None
        later = written / bandwidth if bandwidth else 0.0
        return replace(state, written=state.written + written, seconds=state.seconds + later)

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
            state.since.clear()  # nobody goes on from it but this plan
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
        Every op is started, by itself or in a group, and in a group again for each further tile: a group gains nothing
        by fewer starts. Needs `knows_time`.
        """
        return max(self._terms(shape, memory_bytes)) + self._starts(shape)

    def _terms(self, shape: Footprint, memory_bytes: float) -> tuple[float, float, float]:
        return terms(self.machine, shape.flops, memory_bytes, shape.l2_read, shape.l2_written)

    def _starts(self, shape: Footprint) -> float:
        ops = shape.group.end - shape.group.begin
        return starts(self.machine, ops, shape.tiles if ops > 1 else 1)

    def _report(self, shape: Footprint, read: float, written: float) -> GroupTraffic:
        seconds = serial = None
        if self.knows_time:
            seconds = self.group_seconds(shape, read + written)
            serial = sum(self._terms(shape, read + written)) + self._starts(shape)
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
        touches `wanted`: t itself, or what overwrites it. Less than 0: scratch.
        """
        between = self._since(state, at)
        if between is None:
            return 1.0

        before = state_at(state, at).shape
        assert before is not None
        storage = self.piece.storage
        ours, theirs = before.scratch_key if t < 0 else storage[t], wanted if wanted < 0 else storage[wanted]
        return missing_share(before, ours, between, self.limit, shape, theirs)

    def _since(self, state: State, at: int) -> Between | None:
        """What was touched behind the group at depth `at`; None where it is more than the cache holds."""
        if at not in state.since:
            between: Between | None = self._nothing_between()
            for s in back_to(state, at):
                assert s.shape is not None
                assert between is not None
                between.add(s.shape)
                if between.bytes > self.limit:
                    between = None
                    break
            state.since[at] = between
        return state.since[at]

    def _nothing_between(self) -> Between:
        return Between(self._items_at, self._arena_bytes)


def _left_by(depth: int) -> int:
    """The key, below that of any tensor, of the scratch bytes that the group at a depth left."""
    return SCRATCH - depth
