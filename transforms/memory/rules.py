"""What bufferization asks once of an op: is this group cut into tiles, does this conditional or loop run on buffers?"""

from __future__ import annotations

from xdsl.ir import Operation

from ...dialects.ge.bodies import FusionOp
from .control import runs_on_buffers
from .tiles import Tiled, tiled


class Rules:
    """Answers are kept: however deep bodies are nested, each is looked at once."""

    def __init__(self) -> None:
        self._groups: dict[FusionOp, Tiled | None] = {}
        self._control: dict[Operation, bool] = {}

    def tiles_of(self, group: FusionOp) -> Tiled | None:
        if group not in self._groups:
            self._groups[group] = tiled(group)
        return self._groups[group]

    def cut(self, group: FusionOp) -> bool:
        return self.tiles_of(group) is not None

    def on_buffers(self, op: Operation) -> bool:
        if op not in self._control:
            self._control[op] = runs_on_buffers(op, self)
        return self._control[op]
