"""Offsets in one arena: small cases by hand, real bounds, and random ones before the referee."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gecc.planning import Buffer, DoesNotFit, arena_size, find_violation, lower_bound, plan_offsets, reuse_ratio

buffer_lists = st.lists(
    st.builds(lambda b, n, size: Buffer(b, b + n, size), st.integers(0, 30), st.integers(1, 12), st.integers(0, 900)),
    max_size=40,
)
options = st.fixed_dictionaries(
    {
        "alignment": st.sampled_from([1, 16, 64]),
        "sharing": st.sampled_from(["lifetime", "size", "none"]),
        "max_reuse_ratio": st.sampled_from([0.0, 0.3, 0.8, 1.0]),
    }
)


def test_the_dead_make_room():
    buffers = [
        Buffer(0, 2, 100),  # -> 128   (128 after rounding to 64; the largest goes first)
        Buffer(1, 3, 200),  # -> 0     (256)
        Buffer(2, 4, 60),  # -> 256    (64: fits where the first was)
    ]
    assert plan_offsets(buffers, alignment=64) == [256, 0, 256]
    assert lower_bound(buffers, alignment=64) == 128 + 256


def test_nothing_to_place():
    assert plan_offsets([]) == []
    assert lower_bound([]) == 0


def test_zero_bytes_take_no_room():
    buffers = [Buffer(0, 9, 0), Buffer(0, 9, 64)]
    assert plan_offsets(buffers) == [0, 0]
    assert arena_size(buffers, [0, 0]) == 64


def test_the_smallest_gap_is_taken():
    buffers = [
        Buffer(0, 9, 600),  # -> 0
        Buffer(0, 1, 500),  # -> 600    dead at 1: leaves 500 free
        Buffer(0, 9, 400),  # -> 1100
        Buffer(0, 1, 300),  # -> 1500   dead at 1: leaves 300 free
        Buffer(0, 9, 200),  # -> 1800
        Buffer(1, 9, 100),  # -> 1500   in the 300, not in the 500
    ]
    assert plan_offsets(buffers, alignment=1) == [0, 600, 1100, 1500, 1800, 1500]


def test_what_does_not_fit_is_named():
    buffers = [Buffer(0, 2, 64, "x"), Buffer(0, 2, 65, "y")]
    with pytest.raises(DoesNotFit, match="buffer 'x' of 64 bytes, life \\[0, 2\\), would end at 192, past"):
        plan_offsets(buffers, 191)
    assert plan_offsets(buffers, 192) == [128, 0]


def test_a_buffer_lives_at_least_one_step():
    with pytest.raises(ValueError, match=r"'x' must live at least one step, got \[3, 3\)"):
        Buffer(3, 3, 8, "x")


def test_options_out_of_range():
    with pytest.raises(ValueError, match="alignment must be at least 1"):
        plan_offsets([], alignment=0)
    with pytest.raises(ValueError, match="max_reuse_ratio must be in"):
        plan_offsets([], max_reuse_ratio=1.5)


def test_no_sharing_keeps_the_order_given():
    buffers = [Buffer(0, 1, 10), Buffer(1, 2, 100), Buffer(2, 3, 10)]
    assert plan_offsets(buffers, alignment=16, sharing="none") == [0, 16, 128]


def test_size_classes_do_not_mix():
    # 128 and 100 -> 128 are one class and share; 64 is another.
    buffers = [Buffer(0, 1, 128), Buffer(1, 2, 64), Buffer(2, 3, 100)]
    assert plan_offsets(buffers, alignment=64) == [0, 0, 0]
    assert plan_offsets(buffers, alignment=64, sharing="size") == [0, 128, 0]


@pytest.mark.parametrize("ratio", [0.0, 0.25, 0.5, 0.8])
def test_the_reuse_ratio_binds(ratio: float):
    chain = [Buffer(i, i + 2, 64) for i in range(40)]
    free = plan_offsets(chain)
    assert reuse_ratio(chain, free) == 1.0
    bound = plan_offsets(chain, max_reuse_ratio=ratio)
    assert reuse_ratio(chain, bound) <= ratio
    assert arena_size(chain, free) < arena_size(chain, bound)


def test_a_decoder_of_24_layers():
    # The brief's case: two activations of 2 MB a layer, 96 MB without sharing; each lives until the next has read it.
    mb = 1 << 20
    buffers = [Buffer(i, i + 2, 2 * mb) for i in range(48)]
    assert arena_size(buffers, plan_offsets(buffers, sharing="none")) == 96 * mb
    assert arena_size(buffers, plan_offsets(buffers)) == 4 * mb


def test_a_long_chain_is_linear():
    chain = [Buffer(i, i + 2, 64 * (1 + i % 7)) for i in range(50_000)] + [Buffer(0, 50_001, 640)]
    start = time.process_time()
    offsets = plan_offsets(chain)
    assert time.process_time() - start < 5
    assert arena_size(chain, offsets) <= 1.3 * lower_bound(chain)


@given(buffer_lists, options)
def test_the_referee_accepts_every_plan(buffers: list[Buffer], options: dict[str, object]):
    offsets = plan_offsets(buffers, **options)
    alignment = options["alignment"]
    assert find_violation(buffers, offsets, alignment=alignment) is None
    assert arena_size(buffers, offsets, alignment) >= lower_bound(buffers, alignment)
    assert reuse_ratio(buffers, offsets, alignment) <= options["max_reuse_ratio"]
