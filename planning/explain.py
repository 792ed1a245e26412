"""What the peak of an arena is made of: who is alive at that step, and which bytes between them lie idle."""

from collections.abc import Sequence
from dataclasses import dataclass

from .arena import DEFAULT_ALIGNMENT, Buffer, align_up, arena_size, lower_bound


@dataclass(frozen=True)
class Peak:
    """
    The step that makes the arena as large as it is; sizes in bytes, rounded to the alignment.

    alive   indices of the buffers alive at `step`, lowest address first
    holes   (offset, size) of the idle bytes below the top; live_bytes + all holes = arena_bytes
    """

    step: int
    arena_bytes: int
    live_bytes: int
    lower_bound: int
    alive: tuple[int, ...]
    holes: tuple[tuple[int, int], ...]


def explain_peak(buffers: Sequence[Buffer], offsets: Sequence[int], alignment: int = DEFAULT_ALIGNMENT) -> Peak | None:
    """
    Explain a valid placement's peak; None where no buffer has bytes.

    Of all steps that reach the arena's top, the one with most bytes alive, and of those the first.
    cost   O(n x steps at which a top buffer lives begins); meant for one report
    """
    arena = arena_size(buffers, offsets, alignment)
    real = [i for i, buffer in enumerate(buffers) if buffer.size]
    top = [i for i in real if align_up(offsets[i] + buffers[i].size, alignment) == arena]
    if not top:
        return None

    def alive_at(step: int) -> list[int]:
        return [i for i in real if buffers[i].begin <= step < buffers[i].end]

    def live_bytes(step: int) -> int:
        return sum(align_up(buffers[i].size, alignment) for i in alive_at(step))

    # What is alive only grows where a buffer begins.
    begins = sorted({buffers[i].begin for i in real})
    steps = [s for s in begins if any(buffers[i].begin <= s < buffers[i].end for i in top)]
    step = max(steps, key=lambda s: (live_bytes(s), -s))

    alive = sorted(alive_at(step), key=lambda i: offsets[i])
    holes: list[tuple[int, int]] = []
    here = 0
    for i in alive:
        if offsets[i] > here:
            holes.append((here, offsets[i] - here))
        here = offsets[i] + align_up(buffers[i].size, alignment)

    return Peak(step, arena, live_bytes(step), lower_bound(buffers, alignment), tuple(alive), tuple(holes))
