"""
The plans of `memory.py`, drawn. Three parts, one below the other:

    arenas   a bar a strategy, a tick where no arena for its lifetimes can be smaller
    plans    a panel a strategy: time to the right, address upwards, a rectangle a tensor; what is alive at the peak is
             strong, the bound a dashed line
    peaks    a column a strategy: who is alive at the peak, and the holes between them
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import altair as alt

from ...planning import Peak
from .memory import Plan, Tensor

WIDTH, HEIGHT = 350, 240
"""Of a panel, pixels; a long program's panel is wider, and then one stands below the other."""
PAGE, STEP = 1300, 3
"""Of a row of panels, and of a long program's step."""
ALIKE = 2.0
"""Times the least arena: plans of up to that are on one scale."""
MARGIN = 80
"""Of a panel's axis."""
COLUMN = 190
"""Of a peak."""
LETTER, LINE = 5.0, 11
"""Of a name in a rectangle."""

ALIVE, OTHER, HOLE, BOUND = "#d9662b", "#b9cde3", "#ffffff", "#1b3a5b"
BYTES = "format(datum.value, '.3~s') + 'B'"
TENSOR = [
    alt.Tooltip("tensor:N"),
    alt.Tooltip("size:Q", title="bytes", format=","),
    alt.Tooltip("place:N", title="addresses"),
    alt.Tooltip("life:N", title="steps"),
    alt.Tooltip("made:N", title="made by"),
    alt.Tooltip("read:N", title="last read by"),
]


def draw(name: str, plans: Sequence[Plan]) -> Any:
    """cost: a record a tensor and strategy in the drawing"""
    steps = max(len(plan.steps) for plan in plans)
    width = min(max(WIDTH, STEP * steps), PAGE - MARGIN)
    columns = PAGE // (width + MARGIN)
    alike, tops = _on_one_scale(plans), _tops(plans)
    panels = alt.concat(
        *(_plan(plan, width, tops[plan.strategy], plan in alike) for plan in plans),
        columns=columns,
        title=_title(
            "Plans",
            "time to the right, steps of the program; address upwards; a rectangle a tensor; orange: alive at the peak "
            "step (dotted); dashed: no arena for these lifetimes can be smaller",
        ),
    ).resolve_scale(x="independent", y="independent")
    parts = [_arenas(plans), panels]
    if alike:
        parts.append(_peaks(alike))
    return (
        alt.vconcat(*parts, spacing=30)
        .properties(title=alt.TitleParams(f"Memory of {name}", fontSize=18, anchor="start", offset=12))
        .resolve_scale(color="independent")
        .configure_view(stroke="#cccccc")
        .configure_axis(grid=False, labelFontSize=10, titleFontSize=10, titleFontWeight="normal")
        .configure_concat(spacing=24)
    )


def _title(text: str, below: str) -> Any:
    return alt.TitleParams(text, subtitle=below, anchor="start", fontSize=14, subtitleColor="#555555")


def _on_one_scale(plans: Sequence[Plan]) -> list[Plan]:
    """Those of about a size: on a scale for all, the largest would leave nothing to see of the others."""
    planned = [plan for plan in plans if plan.peak is not None]
    least = min((plan.arena for plan in planned), default=0)
    return [plan for plan in planned if plan.arena <= ALIKE * least]


def _tops(plans: Sequence[Plan]) -> dict[str, int]:
    """The highest address that each plan's panel shows."""
    alike = _on_one_scale(plans)
    shared = max((plan.arena for plan in alike), default=0)
    return {plan.strategy: shared if plan in alike else plan.arena for plan in plans}


# ------------------------------------------------------------------ arenas


def _arenas(plans: Sequence[Plan]) -> Any:
    values = [
        {
            "strategy": plan.strategy,
            "arena": plan.arena,
            "bound": plan.bound,
            "said": f"{plan.arena:,} bytes, {_over(plan)}",
        }
        for plan in plans
    ]
    base = alt.Chart(alt.Data(values=values)).encode(
        y=alt.Y("strategy:N", sort=None, title=None),
        tooltip=[alt.Tooltip("strategy:N"), alt.Tooltip("arena:Q", format=","), alt.Tooltip("bound:Q", format=",")],
    )
    scale = alt.Scale(domain=[0, 1.4 * max(plan.arena for plan in plans) or 1])
    axis = alt.Axis(labelExpr=BYTES, tickCount=6)
    bars = base.mark_bar(color="#4c78a8", height=15).encode(x=alt.X("arena:Q", scale=scale, axis=axis, title=None))
    ticks = base.mark_tick(color=BOUND, thickness=2, height=20).encode(x="bound:Q")
    words = base.mark_text(align="left", dx=5, fontSize=10).encode(x="arena:Q", text="said:N")
    below = "bytes of the arena by strategy; the dark tick is the bound of its lifetimes"
    return (bars + ticks + words).properties(width=720, height=24 * len(plans), title=_title("Arenas", below))


def _over(plan: Plan) -> str:
    if plan.arena == plan.bound:
        return "proved least"
    return f"{plan.arena / plan.bound - 1:+.1%} over the bound" if plan.bound else ""


# ------------------------------------------------------------------ plans


def _plan(plan: Plan, width: int, top: int, alike: bool) -> Any:
    alive = set(plan.peak.alive) if plan.peak is not None else set[int]()
    records = [_record(tensor, at in alive) for at, tensor in enumerate(plan.tensors)]
    steps = max(len(plan.steps), 1)
    x = alt.X("begin:Q", scale=alt.Scale(domain=[0, steps], nice=False), title="step", axis=alt.Axis(tickMinStep=1))
    y = alt.Y("low:Q", scale=alt.Scale(domain=[0, top or 1], nice=False), title=None, axis=alt.Axis(labelExpr=BYTES))
    edge = 0.6 if width / steps > 2 else 0.25
    rectangles = (
        alt.Chart(alt.Data(values=records))
        .mark_rect(stroke="#ffffff", strokeWidth=edge)
        .encode(
            x=x,
            x2="end:Q",
            y=y,
            y2="high:Q",
            color=alt.Color("alive:N", scale=alt.Scale(domain=[True, False], range=[ALIVE, OTHER]), legend=None),
            tooltip=TENSOR,
        )
        .add_params(alt.selection_interval(bind="scales", name=f"zoom_{plan.strategy.replace('-', '_')}"))
    )
    named = list(_named(records, width / steps, HEIGHT / (top or 1)))
    layers = [rectangles]
    if named:
        words = alt.Chart(alt.Data(values=named)).mark_text(fontSize=8, clip=True, color="#222222")
        layers.append(words.encode(x="middle:Q", y="centre:Q", text="short:N"))
    bound = alt.Chart(alt.Data(values=[{"bound": plan.bound, "said": f"{plan.bound:,} bytes"}]))
    layers.append(
        bound.mark_rule(color=BOUND, strokeDash=[6, 3], strokeWidth=1.2, clip=True).encode(
            y="bound:Q", tooltip=[alt.Tooltip("said:N", title="bound")]
        )
    )
    if plan.peak is not None:
        at = {"at": plan.peak.step + 0.5, "said": f"{plan.peak.step}, {_step(plan)}"}
        rule = alt.Chart(alt.Data(values=[at])).mark_rule(strokeDash=[1, 2], color="#000000", clip=True)
        layers.append(rule.encode(x="at:Q", tooltip=[alt.Tooltip("said:N", title="peak at step")]))
    return alt.layer(*layers).properties(width=width, height=HEIGHT, title=_said(plan, alike))


def _said(plan: Plan, alike: bool) -> Any:
    below = [f"{plan.arena:,} bytes, {_over(plan)}{'' if alike else '; a scale of its own'}"]
    if plan.peak is not None:
        below.append(f"peak at step {plan.peak.step}, {_step(plan)}: {len(plan.alive)} alive, {_holes(plan.peak)}")
    return alt.TitleParams(plan.strategy, subtitle=below, anchor="start", fontSize=12, subtitleFontSize=10)


def _holes(peak: Peak) -> str:
    idle = sum(size for _, size in peak.holes)
    count = len(peak.holes)
    return f"{count} hole{'s' if count > 1 else ''} of {idle:,} bytes" if count else "no hole"


def _step(plan: Plan) -> str:
    return plan.steps[plan.peak.step] if plan.peak is not None and plan.peak.step < len(plan.steps) else ""


def _record(tensor: Tensor, alive: bool) -> dict[str, object]:
    high = tensor.offset + tensor.size
    return {
        "tensor": tensor.name,
        "begin": tensor.begin,
        "end": tensor.end,
        "low": tensor.offset,
        "high": high,
        "size": tensor.size,
        "place": f"[{tensor.offset:,}, {high:,})",
        "life": f"[{tensor.begin}, {tensor.end})",
        "made": tensor.made,
        "read": tensor.read,
        "alive": alive,
    }


def _named(records: Sequence[dict[str, Any]], step: float, byte: float) -> Iterator[dict[str, object]]:
    """Names for the rectangles that have room; `step` and `byte` in pixels."""
    for record in records:
        room = int((record["end"] - record["begin"]) * step / LETTER)
        if (record["high"] - record["low"]) * byte >= LINE and room >= 6:
            middle, centre = (record["begin"] + record["end"]) / 2, (record["low"] + record["high"]) / 2
            yield {"middle": middle, "centre": centre, "short": _short(record["tensor"], room)}


def _short(name: str, room: int) -> str:
    """The end of a name says more than its beginning."""
    name = name.removesuffix("_output_0")
    return name if len(name) <= room else f"…{name[-room + 1 :]}"


# ------------------------------------------------------------------ peaks


def _peaks(plans: Sequence[Plan]) -> Any:
    top = max(plan.arena for plan in plans)
    pieces = [piece for plan in plans for piece in _pieces(plan, HEIGHT / (top or 1))]
    kinds = alt.Scale(domain=["alive", "hole"], range=[ALIVE, HOLE])
    base = alt.Chart(alt.Data(values=pieces)).encode(
        x=alt.X("strategy:N", sort=None, title=None, axis=alt.Axis(labelAngle=0, orient="top", labelFontSize=11)),
    )
    bars = base.mark_bar(stroke="#777777", strokeWidth=0.6, size=COLUMN - 16).encode(
        y=alt.Y("low:Q", scale=alt.Scale(domain=[0, top], nice=False), axis=alt.Axis(labelExpr=BYTES), title=None),
        y2="high:Q",
        color=alt.Color("kind:N", scale=kinds, legend=None),
        tooltip=TENSOR,
    )
    words = base.mark_text(fontSize=9).encode(y="centre:Q", text="short:N")
    below = "who is alive at each plan's peak step, at its address; white: a hole, bytes that lie idle below the top"
    return (bars + words).properties(width=COLUMN * len(plans), height=int(1.6 * HEIGHT), title=_title("Peaks", below))


def _pieces(plan: Plan, byte: float) -> Iterator[dict[str, object]]:
    room = int((COLUMN - 20) / LETTER)
    assert plan.peak is not None
    for tensor in plan.alive:
        size = f"  {tensor.size:,}"
        yield _record(tensor, True) | {
            "strategy": plan.strategy,
            "kind": "alive",
            "centre": tensor.offset + tensor.size / 2,
            "short": _short(tensor.name, room - len(size)) + size if tensor.size * byte >= LINE / 1.6 else "",
        }
    for offset, size in plan.peak.holes:
        said = f"hole  {size:,}"
        yield {
            "strategy": plan.strategy,
            "kind": "hole",
            "tensor": "a hole",
            "size": size,
            "low": offset,
            "high": offset + size,
            "place": f"[{offset:,}, {offset + size:,})",
            "centre": offset + size / 2,
            "short": said if size * byte >= LINE / 1.6 else "",
        }
