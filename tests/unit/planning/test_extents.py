"""The LRU of byte ranges, against one of single bytes."""

from collections import OrderedDict

from hypothesis import given
from hypothesis import strategies as st

from gecc.planning.extents import Extents

ranges = st.tuples(
    st.integers(0, 2), st.integers(0, 24), st.integers(0, 24), st.sampled_from(["read", "write", "clean"])
)


def test_a_cyclic_read_just_above_the_capacity_misses_all():
    cache = Extents(128)
    list(cache.touch(0, 0, 96, write=True))
    list(cache.touch(1, 0, 64, write=False))
    assert cache.evicted == [(0, 32)]  # 96 + 64 - 128
    assert list(cache.touch(0, 0, 96, write=False)) == [(0, 32), (32, 64), (64, 96)]


def test_a_cyclic_read_that_fits_hits_all():
    cache = Extents(128)
    list(cache.touch(0, 0, 96, write=False))
    assert list(cache.touch(0, 0, 96, write=True)) == []


@given(st.integers(1, 40), st.lists(ranges, max_size=30))
def test_it_does_what_a_cache_of_single_bytes_does(capacity: int, touches: list[tuple[int, int, int, str]]):
    cache = Extents(capacity)
    bytes_: OrderedDict[tuple[int, int], bool] = OrderedDict()
    for buffer, low, size, how in touches:
        missed: list[int] = []
        left = 0
        for at in range(low, low + size):
            if how == "clean":
                if (buffer, at) in bytes_:
                    bytes_[buffer, at] = False
                continue
            dirty = bytes_.pop((buffer, at), None)
            if dirty is None:
                missed.append(at)
            bytes_[buffer, at] = bool(dirty) or how == "write"
            if len(bytes_) > capacity:
                left += bytes_.popitem(last=False)[1]
        if how == "clean":
            cache.clean(buffer, low, low + size)
            continue
        found = [
            at for begin, end in cache.touch(buffer, low, low + size, write=how == "write") for at in range(begin, end)
        ]
        assert found == missed
        assert sum(count for _, count in cache.evicted) == left
        cache.evicted.clear()
