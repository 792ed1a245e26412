"""What a report is made from, and what a report is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from xdsl.context import Context
    from xdsl.dialects.builtin import ModuleOp

    from ...driver.registry import Registry


@dataclass(frozen=True)
class Request:
    """
    name      of the model, as messages show it
    module    after the passes that were asked for: on tensors, or on buffers where the text was; it may be changed
    flags     the values of the kind's own flags, as typed
    """

    name: str
    module: ModuleOp
    context: Context
    registry: Registry
    flags: Mapping[str, str]


@dataclass(frozen=True)
class Report:
    """
    rows    the table, every figure of it; all rows have the same keys
    draw    makes the drawing, an altair chart; called only where it is wanted
    lines   what a terminal shows
    """

    rows: Sequence[Mapping[str, object]]
    draw: Callable[[], Any]
    lines: Sequence[str]
