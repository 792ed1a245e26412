"""A peak is explained by who is alive and by the holes between."""

from hypothesis import given
from hypothesis import strategies as st

from gecc.planning import Buffer, arena_size, explain_peak, plan_offsets


def test_no_bytes_no_peak():
    assert explain_peak([], []) is None
    assert explain_peak([Buffer(0, 1, 0)], [0]) is None


def test_a_hole_is_found():
    # step 1: b at [256, 320), a dead, nothing below 256
    buffers = [Buffer(0, 1, 256, "a"), Buffer(0, 3, 64, "b"), Buffer(1, 3, 64, "c")]
    peak = explain_peak(buffers, [0, 256, 64])
    assert peak is not None
    assert (peak.step, peak.alive, peak.holes) == (0, (0, 1), ())
    peak = explain_peak(buffers[1:], [256, 64])
    assert peak is not None
    assert (peak.step, peak.alive, peak.holes) == (1, (1, 0), ((0, 64), (128, 128)))
    assert (peak.arena_bytes, peak.live_bytes, peak.lower_bound) == (320, 128, 128)


@given(
    st.lists(
        st.builds(lambda b, n, s: Buffer(b, b + n, s), st.integers(0, 9), st.integers(1, 5), st.integers(1, 500)),
        min_size=1,
    )
)
def test_live_bytes_and_holes_make_the_arena(buffers: list[Buffer]):
    offsets = plan_offsets(buffers)
    peak = explain_peak(buffers, offsets)
    assert peak is not None
    assert peak.live_bytes + sum(size for _, size in peak.holes) == peak.arena_bytes == arena_size(buffers, offsets)
