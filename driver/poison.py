"""
An arena that forgets: who reads before it writes, after its life, or after somebody else wrote there, reads poison.

    slot a [0, 2)   xxxx         before a step runs, every byte becomes poison but those of the slots that are alive
    slot b [1, 3)     xxxx       both at it and at the step that ran before it. So a's bytes are poison from step 2 on,
    slot c [2, 4)       xxxx     and c's when step 2 begins: it finds nothing of what lay there.

The lives are what the text says, the offsets too: a wrong one shows in the outputs. A launch whose result lies over an
operand is run once more when half of the result has been written: the other half must come out as before.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ..dialects.ge.bodies import YieldOp, yielded
from ..dialects.ge.constants import ConstantOp
from ..dialects.ge.errors import InputError
from ..dialects.ge.interfaces import Overwrites, Tiles
from ..dialects.ge.memory import SlotOp
from ..dialects.ge.types import nbytes
from ..reference import Arena
from ..reference.arena import POISON, Array, Compute, lies_over
from ..transforms.memory.arena import numbered

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.ir import Operation

    from ..dialects.ge.memory import LaunchOp


class PoisonedArena(Arena):
    """
    For runs of one module on buffers.

    cost   the arena's bytes a step; twice the arithmetic of launches in place
    """

    def __init__(self, module: ModuleOp) -> None:
        super().__init__()
        self._numbers: dict[Operation, int] = {}
        self._slots: dict[Operation, list[tuple[int, int, int, int]]] = {}
        """By step those of its function: begin, end, offset, size."""
        for function in module.body.block.ops:
            slots = [op for op in function.walk() if isinstance(op, SlotOp)]
            lives = [(*op.life, op.offset.value.data, nbytes(op.buffer.type)) for op in slots]
            for region in function.regions:
                for block in region.blocks:
                    for k, op in enumerate(numbered(block)):
                        self._numbers[op], self._slots[op] = k, lives
        self._last: int | None = None

    def take(self, size: int):
        self._last = None
        return super().take(size)

    def before(self, op: Operation) -> None:
        step = self._numbers.get(op)
        if step is None:
            return
        here = 0
        for begin, end in sorted(self._kept(step, self._slots[op])):
            self.bytes[here:begin] = POISON
            here = max(here, end)
        self.bytes[here:] = POISON
        self._last = step

    def _kept(self, step: int, slots: Sequence[tuple[int, int, int, int]]) -> Iterator[tuple[int, int]]:
        """Addresses of those of the slots that are alive at the last step and at this one."""
        if self._last is not None:
            for begin, end, offset, size in slots:
                if begin <= step < end and begin <= self._last < end:
                    yield offset, offset + size

    def launch(self, op: LaunchOp, ins: Sequence[Array], outs: Sequence[Array], compute: Compute) -> None:
        halfway = [np.array(x) for x in ins]
        super().launch(op, ins, outs, compute)
        for k, out in enumerate(outs):
            over = [n for n, x in enumerate(ins) if x.size and lies_over(out, x)]
            if not over:
                continue
            written = _half(op, k, out.shape)
            for n in over:
                halfway[n][written] = out.view(halfway[n].dtype)[written]
            again = np.asarray(compute(halfway)[k])
            if again[~written].tobytes() != np.asarray(out)[~written].tobytes():
                raise InputError(f"result {k} of {_name(op)} is written over an operand that it still reads")


def _half(launch: LaunchOp, k: int, shape: Sequence[int]) -> Array:
    """
    Half of the indices of result k, taken at random but always the same ones. Of an op that reads a whole row before it
    writes any of it all or nothing of a row: a row is what a tile must cover.
    """
    kept = list(shape)
    maker = cast(Any, yielded(launch.body)[k].owner)
    if isinstance(maker, Overwrites) and not maker.BY_INDEX:
        assert isinstance(maker, Tiles)
        kept = [n if loop == "parallel" else 1 for n, loop in zip(shape, maker.loops(), strict=False)]
    return np.broadcast_to(np.random.default_rng(0).random(kept) < 0.5, shape)


def _name(launch: LaunchOp) -> str:
    return " and ".join(op.name for op in launch.body.block.ops if not isinstance(op, ConstantOp | YieldOp))
