"""
The exact search of `search.py`, its inner loop: does everything fit below `capacity`?

A state is the set of buffers not placed yet, each with the least offset `low` that it can still have, and for each
section of time the bytes `rest` of those of them that are alive in it. There is no skyline: a buffer that is placed
raises `low` of those that live with it. A node of the search

    propagates   until nothing moves: in each section, least low + rest must not pass the capacity; the lowest buffer of
                 a section starts at capacity - rest or below; whoever cannot lies above the lowest end of who can
    splits       where no unplaced buffer lives across a boundary between sections: the sides are independent
    branches     on a buffer under which no unplaced one fits: it lies at its `low`, and the unplaced that live with it
                 above it; or it does not, and then it lies on one of them

which is complete: pushed down as far as it goes, every buffer of a solution lies at 0 or on another one. States that
failed are remembered by a hash of 62 bits: with a million of them, a wrong proof has a chance of 2^-42.

The functions here are written in the part of Python that `native.py` compiles (integers, arrays of them, loops), so
the same text also runs where there is no compiler. What a run may undo is one vector, `state`, with one trail.
"""

from .state import NEVER, Search

HASH_MASK = (1 << 62) - 1

FAILED, FOUND, GAVE_UP = 0, 1, 2

LEVEL, SECTION, RULES = 0, 1, 2
"""
Where to branch, and how many such rules there are: at the lowest level of all, in the section with fewest candidates
there; or in the section where fewest can be the lowest. Either number is squared, and divided by how often the section
failed. The first is better with room to spare, the second without.
"""

PLACING, RAISING, FIRST_PART, LAST_PART = 0, 1, 2, 3


def put(x: Search, at: int, value: int) -> None:
    """Changes the state so that `undo` can take it back; a trail that is full ends the search."""
    top = x.trail_top
    if top == x.trail_room:
        x.work = x.limit
    else:
        x.trail_at[top] = at
        x.trail_old[top] = x.state[at]
        x.trail_top = top + 1
    x.state[at] = value


def undo(x: Search, mark: int) -> None:
    state = x.state
    trail_at = x.trail_at
    trail_old = x.trail_old
    for back in range(x.trail_top - mark):
        at = x.trail_top - 1 - back
        state[trail_at[at]] = trail_old[at]
    x.trail_top = mark


def mark_sections(x: Search, b: int) -> None:
    """Has the sections of a buffer looked at again."""
    queue = x.queue
    queued = x.queued
    tail = x.queue_tail
    for s in range(x.first[b], x.last[b] + 1):
        if queued[s] == 0:
            queued[s] = 1
            queue[tail] = s
            tail += 1
            if tail == x.m:
                tail = 0
    x.queue_tail = tail


def forget_sections(x: Search) -> None:
    for s in range(x.m):
        x.queued[s] = 0
    x.queue_head = 0
    x.queue_tail = 0


def propagate(x: Search) -> int:
    state = x.state
    size = x.size
    members = x.members
    placed = x.placed
    while True:
        head = x.queue_head
        s = x.queue[head]
        if x.queued[s] == 0:
            return 1  # the queue has a place for each section: this one is no entry, so there is none
        x.queued[s] = 0
        head += 1
        if head == x.m:
            head = 0
        x.queue_head = head

        highest = x.capacity - state[x.rest + s]
        least = NEVER
        end = NEVER
        begin = x.member_at[s]
        stop = x.member_at[s + 1]
        x.work += stop - begin
        late = 0
        starters = 0
        for p in range(begin, stop):
            b = members[p]
            if state[placed + b] == 0:
                low = state[b]
                if low < least:
                    least = low
                if low > highest:
                    late = 1
                else:
                    starters += 1
                    if low + size[b] < end:
                        end = low + size[b]
        if least < NEVER and least > highest:
            x.weight[s] += 1
            forget_sections(x)
            return 0
        if least != state[x.least + s]:
            put(x, x.least + s, least)
        if starters != state[x.starters + s]:
            put(x, x.starters + s, starters)
        if late == 1:
            for p in range(begin, stop):
                b = members[p]
                if state[placed + b] == 0 and state[b] > highest and state[b] < end:
                    put(x, b, end)
                    mark_sections(x, b)


def place(x: Search, b: int) -> int:
    """Fixes a buffer at its `low`; 0 if that cannot be."""
    state = x.state
    size = x.size
    first = x.first[b]
    last = x.last[b]
    put(x, x.placed + b, 1)
    for s in range(first, last + 1):
        put(x, x.rest + s, state[x.rest + s] - size[b])
    for s in range(first, last):
        put(x, x.across + s, state[x.across + s] - 1)
    mark_sections(x, b)

    top = state[b] + size[b]
    near = x.near
    x.work += x.near_at[b + 1] - x.near_at[b]
    for p in range(x.near_at[b], x.near_at[b + 1]):
        c = near[p]
        if state[c] < top and state[x.placed + c] == 0:
            put(x, c, top)
            mark_sections(x, c)
    return propagate(x)


def raise_up(x: Search, b: int) -> int:
    """Has a buffer, and those that are like it in all, lie on another unplaced one; 0 if that cannot be."""
    state = x.state
    size = x.size
    near = x.near
    low = state[b]
    support = NEVER
    for p in range(x.near_at[b], x.near_at[b + 1]):
        c = near[p]
        if state[c] + size[c] < support and state[x.placed + c] == 0:
            support = state[c] + size[c]
    if support + size[b] > x.capacity:
        return 0
    for p in range(x.near_at[b], x.near_at[b + 1]):
        c = near[p]
        if (
            state[c] == low
            and size[c] == size[b]
            and x.first[c] == x.first[b]
            and x.last[c] == x.last[b]
            and state[x.placed + c] == 0
        ):
            put(x, c, support)
    put(x, b, support)
    mark_sections(x, b)
    x.work += x.near_at[b + 1] - x.near_at[b]
    return propagate(x)


def choose(x: Search, begin: int, count: int, from_section: int, to_section: int, low: int) -> int:
    """The buffer to branch on, of those at a section's least low the one of least rank; or one that fits under it."""
    state = x.state
    if x.rule == LEVEL:
        best = section_at(x, begin, count, from_section, to_section, low)
    else:
        best = section_with_fewest(x, from_section, to_section)

    chosen = -1
    for p in range(x.member_at[best], x.member_at[best + 1]):
        b = x.members[p]
        if state[b] > state[x.least + best] or state[x.placed + b] == 1:
            continue
        if chosen < 0 or x.rank[b] < x.rank[chosen]:
            chosen = b

    p = x.near_at[chosen]
    while p < x.near_at[chosen + 1]:
        c = x.near[p]
        p += 1
        if state[c] + x.size[c] <= state[chosen] and state[x.placed + c] == 0:
            chosen = c
            p = x.near_at[c]
    return chosen


def section_at(x: Search, begin: int, count: int, from_section: int, to_section: int, low: int) -> int:
    """The section to branch in by rule LEVEL; `low` is the least of all."""
    state = x.state
    candidates = x.candidates
    for s in range(from_section, to_section + 1):
        candidates[s] = 0
    for i in range(begin, begin + count):
        b = x.order[i]
        if state[b] == low:
            for s in range(x.first[b], x.last[b] + 1):
                candidates[s] += 1
    best = -1
    least = 0
    for s in range(from_section, to_section + 1):
        square = candidates[s] * candidates[s]
        if square > 0 and (best < 0 or square * x.weight[best] < least * x.weight[s]):
            best = s
            least = square
    return best


def section_with_fewest(x: Search, from_section: int, to_section: int) -> int:
    """The section to branch in by rule SECTION."""
    state = x.state
    best = -1
    least = 0
    for s in range(from_section, to_section + 1):
        square = state[x.starters + s] * state[x.starters + s]
        if square > 0 and (best < 0 or square * x.weight[best] < least * x.weight[s]):
            best = s
            least = square
    return best


def split(x: Search, begin: int, count: int, boundary: int) -> int:
    """Puts those on one side of the boundary after section `boundary` before the others; how many they are."""
    order = x.order
    state = x.state
    slack_before = NEVER
    slack_after = NEVER
    for i in range(begin, begin + count):
        b = order[i]
        for s in range(x.first[b], x.last[b] + 1):
            slack = x.capacity - state[x.least + s] - state[x.rest + s]
            if s <= boundary:
                if slack < slack_before:
                    slack_before = slack
            elif slack < slack_after:
                slack_after = slack

    # What is likelier to fail goes first.
    left_first = slack_before <= slack_after
    front = begin
    for i in range(begin, begin + count):
        b = order[i]
        if (x.last[b] <= boundary) == left_first:
            order[i] = order[front]
            order[front] = b
            front += 1
    return front - begin


def remove(x: Search, begin: int, count: int, b: int) -> None:
    """Moves b to the end of the segment, which the recursion then leaves out."""
    order = x.order
    for i in range(begin, begin + count):
        if order[i] == b:
            order[i] = order[begin + count - 1]
            order[begin + count - 1] = b
            return


def run(x: Search) -> int:
    """FOUND: the offsets are the first n of `state`; FAILED: nothing fits below the capacity; GAVE_UP at the limit."""
    state = x.state
    order = x.order
    if propagate(x) == 0:
        return FAILED
    depth = 0
    begin = 0
    count = x.n
    while True:
        # A node: the unplaced buffers order[begin : begin + count], a propagated state.
        ok = 1
        if x.work >= x.limit or depth == x.frame_room:
            return GAVE_UP
        if count == 0:
            while depth > 0 and x.frame_phase[depth - 1] != FIRST_PART:
                depth -= 1
            if depth == 0:
                return FOUND
            x.frame_phase[depth - 1] = LAST_PART
            part = x.frame_choice[depth - 1]
            begin = x.frame_begin[depth - 1] + part
            count = x.frame_count[depth - 1] - part
        else:
            low = NEVER
            from_section = x.m
            to_section = -1
            code = 0
            for i in range(begin, begin + count):
                b = order[i]
                code += x.code[b] * (state[b] + 1)
                if state[b] < low:
                    low = state[b]
                if x.first[b] < from_section:
                    from_section = x.first[b]
                if x.last[b] > to_section:
                    to_section = x.last[b]
            code = code & HASH_MASK
            x.work += count + to_section - from_section
            if x.memo[code & x.memo_mask] == code:
                ok = 0
            else:
                boundary = from_section
                while boundary < to_section and state[x.across + boundary] > 0:
                    boundary += 1
                x.frame_mark[depth] = x.trail_top
                x.frame_begin[depth] = begin
                x.frame_count[depth] = count
                x.frame_hash[depth] = code
                if boundary < to_section:
                    count = split(x, begin, count, boundary)
                    x.frame_phase[depth] = FIRST_PART
                    x.frame_choice[depth] = count
                    depth += 1
                else:
                    chosen = choose(x, begin, count, from_section, to_section, low)
                    x.frame_phase[depth] = PLACING
                    x.frame_choice[depth] = chosen
                    depth += 1
                    remove(x, begin, count, chosen)
                    count -= 1
                    ok = place(x, chosen)

        while ok == 0:
            # The newest frame that has another way goes on with it; those without one have failed.
            if x.work >= x.limit:
                return GAVE_UP
            if depth == 0:
                return FAILED
            top = depth - 1
            undo(x, x.frame_mark[top])
            if x.frame_phase[top] == PLACING:
                x.frame_phase[top] = RAISING
                begin = x.frame_begin[top]
                count = x.frame_count[top]
                ok = raise_up(x, x.frame_choice[top])
            else:
                x.memo[x.frame_hash[top] & x.memo_mask] = x.frame_hash[top]
                depth = top
