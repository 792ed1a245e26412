"""The plans of `memory.py`, drawn: time to the right, address upwards, a rectangle a tensor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt

from .memory import Plan


def draw(name: str, plans: Sequence[Plan]) -> Any:
    """A panel a strategy."""
    panels = [_panel(plan) for plan in plans]
    return alt.concat(*panels, columns=2, title=name)


def _panel(plan: Plan) -> Any:
    values = [
        {"tensor": t.name, "begin": t.begin, "end": t.end, "low": t.offset, "high": t.offset + t.size, "size": t.size}
        for t in plan.tensors
    ]
    return (
        alt.Chart(alt.Data(values=values), title=plan.strategy)
        .mark_rect(stroke="white", strokeWidth=0.5)
        .encode(x="begin:Q", x2="end:Q", y="low:Q", y2="high:Q", tooltip=["tensor:N", "size:Q", "begin:Q", "end:Q"])
    )
