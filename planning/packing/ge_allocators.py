"""
What CANN's Graph Engine does, to compare with: two of its allocators, from the description of their behaviour.

Both hand out blocks in the order of the ops: an op's results first, then what it read last is given back. A free block
is taken by the next that may have it, the newest first.

    binary-block   a block has the size of its first tensor, and goes to tensors of just that size. Then, largest first,
                   blocks are laid into larger ones that are never in use at the same step, side by side.
    max-block      every block has the size of the largest tensor and goes to any; blocks are not laid into others

Sizes are multiples of GE_ALIGNMENT. One stream, no continuous or in-place memory: that is decided before.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from .sections import Life

GE_ALIGNMENT = 512


@dataclass(eq=False)
class _Block:
    """Tensors that one after the other have the same bytes; `filled` bytes of it hold blocks laid into it."""

    size: int
    members: list[int] = field(default_factory=list[int])
    inside: _Block | None = None
    offset: int = 0
    filled: int = 0


def _hand_out(lives: Sequence[Life], block_sizes: Sequence[int]) -> list[_Block]:
    """The blocks, when each buffer asks for one of so many bytes. O(n log n)."""
    ending: defaultdict[int, list[int]] = defaultdict(list)
    starting: defaultdict[int, list[int]] = defaultdict(list)
    for b, (begin, end) in enumerate(lives):
        starting[begin].append(b)
        ending[end].append(b)

    blocks: list[_Block] = []
    held: dict[int, _Block] = {}
    free: defaultdict[int, list[_Block]] = defaultdict(list)
    for step in sorted({*starting, *ending}):
        for b in ending[step]:
            free[block_sizes[b]].append(held.pop(b))
        for b in starting[step]:
            if free[block_sizes[b]]:
                block = free[block_sizes[b]].pop()
            else:
                block = _Block(block_sizes[b])
                blocks.append(block)
            block.members.append(b)
            held[b] = block
    return blocks


def _lay_out(blocks: Sequence[_Block], count: int) -> tuple[list[int], int]:
    """Blocks that lie in no other one after the other; `blocks` has those before what lies in them."""
    offsets = [0] * count
    top = 0
    for block in blocks:
        if block.inside is None:
            block.offset = top
            top += block.size
        else:
            block.offset += block.inside.offset
        for b in block.members:
            offsets[b] = block.offset
    return offsets, top


def binary_block(lives: Sequence[Life], sizes: Sequence[int]) -> tuple[list[int], int]:
    """Offsets and all blocks, bytes, as the allocator `binary-block` gives them. O(blocks^2 x lives in them)."""
    blocks = sorted(_hand_out(lives, sizes), key=lambda block: -block.size)
    for k, block in enumerate(blocks):
        for other in blocks[:k]:
            if other.filled + block.size <= other.size and not _in_use_together(lives, block, other):
                block.inside, block.offset = other, other.filled
                other.filled += block.size
                break
    return _lay_out(blocks, len(sizes))


def _in_use_together(lives: Sequence[Life], block: _Block, other: _Block) -> bool:
    """Whether a block and another, or what that lies in, are in use at the same step."""
    outer: _Block | None = other
    while outer is not None:
        mine, theirs = iter(block.members), iter(outer.members)
        a, b = next(mine, None), next(theirs, None)
        while a is not None and b is not None:
            if lives[a][1] <= lives[b][0]:
                a = next(mine, None)
            elif lives[b][1] <= lives[a][0]:
                b = next(theirs, None)
            else:
                return True
        outer = outer.inside
    return False


def max_block(lives: Sequence[Life], sizes: Sequence[int]) -> tuple[list[int], int]:
    """Offsets and all blocks, bytes, as the allocator `max-block` gives them. O(n log n)."""
    return _lay_out(_hand_out(lives, [max(sizes)] * len(sizes) if sizes else []), len(sizes))


GE_ALLOCATORS: dict[str, Callable[[Sequence[Life], Sequence[int]], tuple[list[int], int]]] = {
    "ge-binary-block": binary_block,
    "ge-max-block": max_block,
}
