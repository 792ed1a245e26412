"""What a conversion gained: nodes, bytes, seconds, by pass. Measured, but for traffic, which is said to be modelled."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ..dialects.ge.attributes import SplatAttr
from ..dialects.ge.gears import gears
from ..dialects.ge.interfaces import has_bytes
from ..dialects.ge.kinds import walk
from ..dialects.ge.types import nbytes
from ..driver.instrument import Ledger, node_count
from ..driver.registry import Registry

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

ARENA = "ge.arena"


class Summary:
    """Collects as the conversion goes on; made of the module as it was read."""

    def __init__(self, source: str, target: str, module: ModuleOp) -> None:
        self._head = f"{source} -> {target}"
        self._nodes = [node_count(module)]
        self._constants = [constant_bytes(module)]
        self._arena = ""
        self.said: list[str] = []
        """Further lines."""

    def optimised(self, module: ModuleOp) -> None:
        self._nodes.append(node_count(module))
        self._constants.append(constant_bytes(module))

    def planned(self, module: ModuleOp) -> None:
        size = arena_bytes(module)
        several = len(gears(module))
        shared = f", shared by {several} gears" if several else ""
        self._arena = "not planned: no pass made buffers" if size is None else f"{size} bytes{shared}"

    def not_planned(self, reason: str) -> None:
        self._arena = f"not planned: {reason}"

    def lines(self, ledger: Ledger, registry: Registry, seconds: float) -> Iterator[str]:
        yield f"ge: {self._head}"
        yield f"  nodes      {self._nodes[0]} -> {self._nodes[-1]}"
        yield f"  constants  {self._constants[0]} -> {self._constants[-1]} bytes"
        yield f"  arena      {self._arena}"
        yield f"  seconds    {seconds:.2f}"
        for text in self.said:
            yield f"  {text}"
        for row in ledger.rows.values():
            entry = registry.get(row.name)
            name = entry.ge_name if entry else row.name
            counts = ", ".join(f"{number} {what}" for what, number in row.counts.items())
            if row.nodes or counts:
                yield f"  {name:<34} {row.nodes:+6} nodes {row.seconds:7.2f} s  {counts}".rstrip()


def constant_bytes(module: ModuleOp) -> int:
    """Bytes of all constants; one that repeats an element costs nothing."""
    constants = (op for op in walk(module) if op.name == "ge.constant")
    return sum(
        nbytes(op.results[0].type)
        for op in constants
        if has_bytes(op.results[0]) and not isinstance(op.properties.get("value"), SplatAttr)
    )


def arena_bytes(module: ModuleOp) -> int | None:
    """Bytes of the arenas that the module's functions take, one for all gears of a model; None without one."""
    sizes: list[int] = []
    for op in module.body.block.ops:
        attributes: Any = op.properties.get("arg_attrs")
        if op.name == "func.func" and attributes is not None:
            arguments = zip(op.regions[0].block.args, attributes.data, strict=True)
            sizes += [nbytes(argument.type) for argument, known in arguments if ARENA in known.data]
    if not sizes:
        return None
    return max(sizes) if gears(module) else sum(sizes)
