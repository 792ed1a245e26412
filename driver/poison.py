"""
An arena that forgets: who reads before it writes, after its life, or after somebody else wrote there, reads poison.

    slot a [0, 2)   xxxx         before a step runs, every byte becomes poison but those of the slots that are alive
    slot b [1, 3)     xxxx       both at it and at the step that ran before it. So a's bytes are poison from step 2 on,
    slot c [2, 4)       xxxx     and c's when step 2 begins: it finds nothing of what lay there.

The lives are what the text says, the offsets too: a wrong one shows in the outputs.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..dialects.ge.memory import SlotOp
from ..dialects.ge.types import nbytes
from ..reference import Arena
from ..reference.arena import POISON
from ..transforms.memory.arena import numbered

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.ir import Operation


class PoisonedArena(Arena):
    """
    For runs of one module on buffers.

    cost   the arena's bytes a step
    """

    def __init__(self, module: ModuleOp) -> None:
        super().__init__()
        self._numbers: dict[Operation, int] = {}
        for function in module.body.block.ops:
            for region in function.regions:
                for block in region.blocks:
                    self._numbers.update((op, k) for k, op in enumerate(numbered(block)))
        slots = [op for op in module.walk() if isinstance(op, SlotOp)]
        self._slots = [(*op.life, op.offset.value.data, nbytes(op.buffer.type)) for op in slots]
        self._last: int | None = None

    def take(self, size: int):
        self._last = None
        return super().take(size)

    def before(self, op: Operation) -> None:
        step = self._numbers.get(op)
        if step is None:
            return
        here = 0
        for begin, end in sorted(self._kept(step)):
            self.bytes[here:begin] = POISON
            here = max(here, end)
        self.bytes[here:] = POISON
        self._last = step

    def _kept(self, step: int) -> Iterator[tuple[int, int]]:
        """Addresses of the slots that are alive at the last step and at this one."""
        if self._last is not None:
            for begin, end, offset, size in self._slots:
                if begin <= step < end and begin <= self._last < end:
                    yield offset, offset + size
