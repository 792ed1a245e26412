"""The judge: small streams by hand, and random ones before a cache that is too simple to be wrong."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gecc.planning import Access, CacheKind, Replayed, judge

PAGE = 4096


def read(buffer: int, offset: int, size: int, *, last: bool = False) -> Access:
    return Access(buffer, offset, size, False, last)


def write(buffer: int, offset: int, size: int, *, last: bool = False) -> Access:
    return Access(buffer, offset, size, True, last)


def test_what_fits_is_read_once():
    assert judge([read(0, 0, 8192)] * 3, [8192], [], 8192, "plain") == Replayed(8192, 0)


def test_a_cycle_longer_than_the_cache_always_misses():
    # LRU knows no half-way: three pages in turn through two.
    assert judge([read(0, 0, 3 * PAGE)] * 4, [3 * PAGE], [], 2 * PAGE, "plain") == Replayed(12 * PAGE, 0)


def test_a_stream_is_read_once_and_helps_nobody():
    # A page, 8 pages of a stream through a cache of 4, the page again, which the stream pushed out: 1 + 8 + 1 misses.
    trace = [read(1, 0, PAGE), read(0, 0, 8 * PAGE), read(1, 0, PAGE)]
    assert judge(trace, [8 * PAGE, PAGE], [], 4 * PAGE, "plain") == Replayed(10 * PAGE, 0)


def test_a_cycle_just_below_the_cache_misses_in_its_first_round_only():
    # 4 pages in turn through 4: misses 4, 0, 0.
    assert judge([read(0, 0, 4 * PAGE)] * 3, [4 * PAGE], [], 4 * PAGE, "plain") == Replayed(4 * PAGE, 0)


def test_a_cycle_just_above_the_cache_misses_in_every_round():
    # 5 pages in turn through 4: each is pushed out just before its turn. Misses 5, 5, 5.
    assert judge([read(0, 0, 5 * PAGE)] * 3, [5 * PAGE], [], 4 * PAGE, "plain") == Replayed(15 * PAGE, 0)


def test_a_cycle_that_turns_round_keeps_what_it_saw_last():
    # Pages 0 1 2 3 4, then 4 3 2 1 0 through 4: on the way back 4 3 2 1 hit, 0 misses. 5 + 1 misses.
    back = [read(0, p * PAGE, PAGE) for p in (4, 3, 2, 1, 0)]
    assert judge([read(0, 0, 5 * PAGE), *back], [5 * PAGE], [], 4 * PAGE, "plain") == Replayed(6 * PAGE, 0)


def test_a_page_that_is_touched_stays():
    # Weights of 1 page between tiles of 2 pages in a cache of 4: misses 1, then 2 a tile, and the weights always hit.
    trace = [a for tile in range(4) for a in (read(0, 0, PAGE), read(1, tile * 2 * PAGE, 2 * PAGE))]
    assert judge(trace, [PAGE, 8 * PAGE], [], 4 * PAGE, "plain") == Replayed(9 * PAGE, 0)


def test_halo_rows_hit_while_they_are_there():
    # Tiles of 4 rows that read one more above and below, a row a page: rows 0..4, 3..8 and 7..11 of 12. The two that
    # neighbours share are the last of one tile and the first of the next: a cache of 2 pages has them, 12 misses.
    rows = [(0, 5), (3, 9), (7, 12)]
    trace = [read(0, begin * PAGE, (end - begin) * PAGE) for begin, end in rows]
    assert judge(trace, [12 * PAGE], [], 2 * PAGE, "plain") == Replayed(12 * PAGE, 0)
    assert judge(trace, [12 * PAGE], [], PAGE, "plain") == Replayed(16 * PAGE, 0)


def test_halo_rows_miss_behind_what_the_tile_writes():
    # As above, but each tile writes its rows after it has read: between two reads of a shared row lie 6 or 7 pages.
    # Through 4 pages all shared rows are lost: 5 + 6 + 5 = 16 misses; all 12 rows of the result are written.
    tiles = [(0, 5, 0), (3, 9, 4), (7, 12, 8)]
    trace = [
        access
        for begin, end, row in tiles
        for access in (read(0, begin * PAGE, (end - begin) * PAGE), write(1, row * PAGE, 4 * PAGE))
    ]
    assert judge(trace, [12 * PAGE] * 2, [1], 4 * PAGE, "hints") == Replayed(16 * PAGE, 12 * PAGE)
    assert judge(trace, [12 * PAGE] * 2, [1], 12 * PAGE, "hints") == Replayed(12 * PAGE, 12 * PAGE)


def test_a_whole_page_is_written_without_a_read():
    assert judge([write(0, 0, PAGE)], [PAGE], [0], PAGE, "plain") == Replayed(0, PAGE)


def test_a_tail_counts_its_own_bytes():
    assert judge([read(0, 0, 5000)], [5000], [], 8 * PAGE, "plain") == Replayed(5000, 0)


def test_dirty_pages_of_no_output_are_dropped_at_the_end():
    assert judge([write(0, 0, PAGE)], [PAGE], [], PAGE, "plain") == Replayed(0, 0)


def test_dead_data_is_written_back_without_hints_only():
    # Page 0 is made and read for the last time, then page 1 pushes it out: 1 miss, of page 1, and 1 page written back,
    # unless the cache was told that nobody needs it.
    trace = [write(0, 0, PAGE), read(0, 0, PAGE, last=True), read(1, 0, PAGE)]
    assert judge(trace, [PAGE, PAGE], [], PAGE, "plain") == Replayed(PAGE, PAGE)
    assert judge(trace, [PAGE, PAGE], [], PAGE, "hints") == Replayed(PAGE, 0)


def test_a_hint_ends_no_page_that_has_live_bytes():
    # The first half of the page is dead, the second is not: it is written back when page 1 comes.
    trace = [write(0, 0, PAGE), read(0, 0, PAGE // 2, last=True), read(1, 0, PAGE)]
    assert judge(trace, [PAGE, PAGE], [], PAGE, "hints") == Replayed(PAGE, PAGE)


def test_a_dirty_page_is_written_back_each_time_it_leaves():
    # Two pages in turn through one, written three times each: 6 writes, 5 of them push a dirty page out, and the last
    # one is an output's and written at the end.
    trace = [write(k % 2, 0, PAGE) for k in range(6)]
    assert judge(trace, [PAGE, PAGE], [0, 1], PAGE, "plain") == Replayed(0, 6 * PAGE)


def test_a_clean_page_leaves_for_nothing():
    # Written, pushed out (1 page out), read again (1 in), pushed out by another (1 in): it was clean.
    trace = [write(0, 0, PAGE), read(1, 0, PAGE), read(0, 0, PAGE), read(1, 0, PAGE)]
    assert judge(trace, [PAGE, PAGE], [0], PAGE, "plain") == Replayed(3 * PAGE, PAGE)


def test_an_arena_page_is_overwritten_in_the_cache():
    # Dead bytes whose address is used again while they are cached never go to memory, with hints or without.
    trace = [write(0, 0, PAGE), read(0, 0, PAGE, last=True), write(0, 0, PAGE), read(0, 0, PAGE, last=True)]
    for kind in ("hints", "plain", "write-allocate"):
        fetched = PAGE if kind == "write-allocate" else 0
        assert judge(trace, [PAGE], [], PAGE, kind) == Replayed(fetched, 0)


def test_write_allocate_reads_what_it_writes():
    # A write that misses fetches the page first: 1 miss, and none for the second write, which finds it there.
    assert judge([write(0, 0, PAGE)], [PAGE], [0], PAGE, "write-allocate") == Replayed(PAGE, PAGE)
    assert judge([write(0, 0, PAGE)] * 2, [PAGE], [0], PAGE, "write-allocate") == Replayed(PAGE, PAGE)


def test_of_a_page_that_leaves_the_bytes_that_were_written_go_to_memory():
    # A page is many lines of a real cache: its second half fetches nothing, and the first is not written again.
    trace = [write(0, 0, 2048), read(1, 0, PAGE), write(0, 2048, 2048)]
    # page 0 half dirty -> out (2048), page 1 in (4096), the other half of page 0 out at the end (2048)
    assert judge(trace, [PAGE, PAGE], [0], PAGE, "plain") == Replayed(PAGE, 2048 + 2048)


def test_no_bytes_touch_no_page():
    assert judge([read(0, 0, 0)], [0], [0], PAGE, "plain") == Replayed(0, 0)


def test_an_access_stays_in_its_buffer():
    with pytest.raises(ValueError, match=r"bytes \[4096, 8192\) leave buffer 0 of 5000 bytes"):
        judge([read(0, PAGE, PAGE)], [5000], [], PAGE, "plain")


def test_a_cache_holds_a_page():
    with pytest.raises(ValueError, match="a cache of 4095 bytes holds no page of 4096"):
        judge([], [], [], PAGE - 1, "plain")


def test_millions_of_pages_take_a_moment():
    tensor = 64 << 20
    trace = [write(i % 8, 0, tensor) for i in range(8)] + [read(i % 8, 0, tensor) for i in range(56)]
    start = time.process_time()
    assert judge(trace, [tensor] * 8, [], 32 << 20, "plain").read == 56 * tensor
    assert time.process_time() - start < 0.5


def page_by_page(
    trace: list[Access], sizes: list[int], outputs: list[int], capacity: int, kind: CacheKind, page: int
) -> Replayed:
    """One page after the other; the cache is a list, oldest first, and holds the bytes of each that are dirty."""
    cache: list[tuple[int, int]] = []
    dirty: dict[tuple[int, int], int] = {}
    fetched = stored = 0
    for access in trace:
        end = access.offset + access.bytes
        size = sizes[access.buffer]
        for p in range(access.offset // page, -(-end // page)) if access.bytes else ():
            key, width = (access.buffer, p), min(page, size - p * page)
            covered = min(end, (p + 1) * page) - max(access.offset, p * page)
            if key in cache:
                cache.remove(key)
            elif not access.write or kind == "write-allocate":
                fetched += width
            cache.append(key)
            if len(cache) > capacity // page:
                stored += dirty.pop(cache.pop(0), 0)
            if access.write:
                dirty[key] = min(width, dirty.get(key, 0) + covered)
        if access.last and kind == "hints":
            ended = range(access.offset // page, -(-end // page) if end == size else end // page)
            for p in ended if access.bytes else ():
                dirty.pop((access.buffer, p), None)
    return Replayed(fetched, stored + sum(count for (buffer, _), count in dirty.items() if buffer in outputs))


SIZES = [80, 83, 5]


@st.composite
def accesses(draw: st.DrawFn) -> Access:
    buffer = draw(st.integers(0, 2))
    ends = sorted(draw(st.tuples(*[st.integers(0, SIZES[buffer])] * 2)))
    return Access(buffer, ends[0], ends[1] - ends[0], draw(st.booleans()), draw(st.booleans()))


@given(
    st.lists(accesses(), max_size=40),
    st.integers(1, 14),
    st.lists(st.integers(0, 2), unique=True),
    st.sampled_from(["hints", "plain", "write-allocate"]),
    st.sampled_from([1, 4, 8]),
)
@settings(max_examples=1000)
def test_agrees_with_a_simple_cache(trace: list[Access], pages: int, outputs: list[int], kind: CacheKind, page: int):
    expected = page_by_page(trace, SIZES, outputs, pages * 8, kind, page)
    assert judge(trace, SIZES, outputs, pages * 8, kind, page) == expected
