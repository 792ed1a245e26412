"""GE's allocators, by hand."""

from gecc.planning import Buffer, plan_arena
from gecc.planning.arena import Algorithm

KB = 1024


def offsets(buffers: list[Buffer], algorithm: Algorithm) -> tuple[list[int], int]:
    plan = plan_arena(buffers, algorithm=algorithm)
    return plan.offsets, plan.size


def test_a_block_goes_to_tensors_of_its_size():
    # 1000 -> 1024, as the third: the same block. 700 -> 1024 too.
    buffers = [Buffer(0, 1, 1000), Buffer(0, 2, 2 * KB), Buffer(1, 3, KB), Buffer(3, 4, 700)]
    # Blocks: 2048 at 0, in use [0, 2); 1024 in use [0, 1), [1, 3), [3, 4).
    assert offsets(buffers, "ge-binary-block") == ([2 * KB, 0, 2 * KB, 2 * KB], 3 * KB)


def test_the_newest_free_block_is_taken():
    buffers = [Buffer(0, 1, KB), Buffer(0, 2, KB), Buffer(2, 3, KB)]
    assert offsets(buffers, "ge-binary-block") == ([0, KB, KB], 2 * KB)


def test_blocks_are_laid_into_larger_ones_side_by_side():
    buffers = [
        Buffer(0, 1, 4 * KB),  # -> 0
        Buffer(1, 3, 2 * KB),  # -> 0       in the first block, free from 1 on
        Buffer(4, 5, 1536),  # -> 2048      beside it, though the second is free then too: larger ones come first
        Buffer(1, 3, KB),  # -> 2048        in the third, which lies in the first
        Buffer(0, 2, 512),  # -> 4096       in use with the first and the second, and with what lies in the third
    ]
    assert offsets(buffers, "ge-binary-block") == ([0, 0, 2 * KB, 2 * KB, 4 * KB], 4 * KB + 512)


def test_every_block_may_be_as_large_as_the_largest():
    # Two blocks of 4096: the last tensor's is whole too.
    buffers = [Buffer(0, 2, 4 * KB), Buffer(1, 3, 100), Buffer(2, 4, 700)]
    assert offsets(buffers, "ge-max-block") == ([0, 4 * KB, 0], 8 * KB)


def test_a_larger_alignment_makes_larger_blocks():
    plan = plan_arena([Buffer(0, 1, 100), Buffer(0, 1, 100)], alignment=768, algorithm="ge-binary-block")
    assert plan.offsets == [0, 768]
