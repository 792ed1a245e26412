"""
What bufferization asks once of an op: is this group cut into tiles, does this conditional or loop run on buffers?

What answers brings xDSL's loops and index arithmetic, which take as long to load as a small model to plan: it is loaded
when there is something to ask.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from xdsl.ir import Operation

from ...dialects.ge.bodies import FusionOp

if TYPE_CHECKING:
    from .steps import Steps
    from .tiles import Tiled


class Rules:
    """
    Answers are kept: however deep bodies are nested, each is looked at once.

    in_place, views   as ge-bufferize was told
    in_tiles          whether L2 groups run tile by tile, where they can
    """

    def __init__(self, in_place: bool = True, views: bool = True, in_tiles: bool = True) -> None:
        self.in_place, self.views, self.in_tiles = in_place, views, in_tiles
        self._groups: dict[FusionOp, Tiled | None] = {}
        self._control: dict[Operation, bool] = {}
        self._workspace: dict[Operation, int] = {}

    def tiles_of(self, group: FusionOp) -> Tiled | None:
        if group.tiling is None:
            return None
        if group not in self._groups:
            from .tiles import tiled

            self._groups[group] = tiled(group)
        return self._groups[group]

    def cut(self, group: FusionOp) -> bool:
        return self.in_tiles and self.tiles_of(group) is not None

    def by_layers(self) -> Rules:
        """The same, but all groups run layer by layer."""
        return Rules(self.in_place, self.views, in_tiles=False)

    def on_buffers(self, op: Operation) -> bool:
        if not op.regions:
            return False
        if op not in self._control:
            from .control import runs_on_buffers

            self._control[op] = runs_on_buffers(op, self)
        return self._control[op]

    def workspace(self, op: Operation, around: Steps) -> int:
        if op not in self._workspace:
            from .plan import planned

            bodies = (region.block for region in op.regions)
            self._workspace[op] = max(planned(body, self, around).peak for body in bodies)
        return self._workspace[op]
