"""
What `l2.py` finds, drawn. Three parts, one below the other; every figure in them is modelled:

    program    the ops in order as dots, arcs for what is read later than by the next op; a band a group
    traffic    a bar an op: bytes from and to memory without groups (light) and with them (strong)
    roofline   operations a second over operations a byte: an arrow from each op, or group, without to with groups
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import altair as alt

from ...targets import Target
from .l2 import Band, Study

WIDTH = 1200
"""Of a panel, pixels."""
ARCS, BARS, ROOF = 130, 220, 360
"""Heights."""
MOST_NAMES = 100
"""Ops of which the axis says the names."""
MOST_ARCS = 400
"""The arcs of the most bytes: more are a grey cloud."""
POINTS = 20
"""Of an arc."""

BEFORE, AFTER, PEAK = "#b9cde3", "#d9662b", "#1b3a5b"
BANDS = ("#fbe3cf", "#dcead9", "#e4dcf0", "#f6dbe2", "#d8ecee", "#efe9c9")
BYTES = "format(datum.value, '.3~s') + 'B'"


def draw(study: Study) -> Any:
    """cost: a record an op in the drawing"""
    parts = [_program(study), _traffic(study)]
    if study.machine.peak_flops and study.machine.memory_bytes_per_s:
        parts.append(_roofline(study, study.machine.peak_flops, study.machine.memory_bytes_per_s))
    title = alt.TitleParams(
        f"L2 traffic of {study.name}",
        subtitle=[
            study.words(),
            "All figures are modelled: bytes are counted in a simulated cache, nothing was measured.",
        ],
        fontSize=18,
        anchor="start",
        offset=12,
        subtitleColor="#555555",
    )
    return (
        alt.vconcat(*parts, spacing=26)
        .properties(title=title)
        .resolve_scale(color="independent", x="independent", y="independent")
        .configure_view(stroke="#cccccc")
        .configure_axis(grid=False, labelFontSize=10, titleFontSize=10, titleFontWeight="normal")
    )


def _title(text: str, below: str) -> Any:
    return alt.TitleParams(text, subtitle=below, anchor="start", frame="group", fontSize=14, subtitleColor="#555555")


def _across(count: int, axis: Any = None) -> Any:
    """One op a step; bars would pad the scale, and stand beside the dots above them."""
    scale = alt.Scale(domain=[-0.7, max(count, 1) - 0.3], nice=False, padding=0)
    return alt.X("at:Q", scale=scale, axis=axis, title=None)


def _rectangles(bands: Sequence[Band], count: int, axis: Any = None) -> Any:
    values = [
        {
            "at": band.begin - 0.5,
            "to": band.end - 0.5,
            "colour": BANDS[k % len(BANDS)],
            "said": f"{band.tiles} tiles{band.cut}, {band.end - band.begin} ops",
        }
        for k, band in enumerate(bands)
    ]
    chart = alt.Chart(alt.Data(values=values)).mark_rect()
    return chart.encode(
        x=_across(count, axis),
        x2="to:Q",
        fill=alt.Fill("colour:N", scale=None),
        tooltip=[alt.Tooltip("said:N", title="group")],
    )


# ------------------------------------------------------------------ program


def _program(study: Study) -> Any:
    count = len(study.steps)
    dots = [
        {"at": k, "height": 0, "name": step.name, "flops": step.flops, "written": step.output_bytes}
        for k, step in enumerate(study.steps)
    ]
    height = alt.Y("height:Q", scale=alt.Scale(domain=[-0.35, 1.1]), axis=None)
    layers: list[Any] = []
    if study.bands:
        layers.append(_rectangles(study.bands, count))
        layers.append(_words(study.bands, count, height))
    arcs = list(_arcs(study))
    if arcs:
        layers.append(
            alt.Chart(alt.Data(values=arcs))
            .mark_line(strokeWidth=1, opacity=0.55, color=PEAK)
            .encode(
                x=_across(count),
                y=height,
                detail="arc:N",
                order="point:Q",
                tooltip=[alt.Tooltip("said:N", title="tensor")],
            )
        )
    circles = alt.Chart(alt.Data(values=dots)).mark_circle(color=PEAK, opacity=0.9)
    layers.append(
        circles.encode(
            x=_across(count),
            y=height,
            size=alt.Size("written:Q", scale=alt.Scale(range=[8, 160]), legend=None),
            tooltip=[
                alt.Tooltip("name:N", title="op"),
                alt.Tooltip("written:Q", title="bytes written", format=","),
                alt.Tooltip("flops:Q", title="operations", format=".3~s"),
            ],
        )
    )
    below = (
        "the ops in order, the larger the more they write; an arc is a tensor that is read later on; a band is a group"
    )
    return alt.layer(*layers).properties(width=WIDTH, height=ARCS, title=_title("Program", below))


def _words(bands: Sequence[Band], count: int, height: Any) -> Any:
    """How many tiles, below the groups that have room for it."""
    values = [
        {"at": (band.begin + band.end - 1) / 2, "height": -0.2, "short": f"{band.tiles} tiles"}
        for band in bands
        if (band.end - band.begin) * WIDTH / max(count, 1) > 44
    ]
    words = alt.Chart(alt.Data(values=values)).mark_text(fontSize=9, color="#7a4a1e")
    return words.encode(x=_across(count), y=height, text="short:N")


def _arcs(study: Study) -> Iterator[dict[str, object]]:
    far = sorted((edge for edge in study.edges if edge[1] - edge[0] > 1), key=lambda edge: -edge[2])[:MOST_ARCS]
    longest = max((end - begin for begin, end, _ in far), default=1)
    for arc, (begin, end, size) in enumerate(far):
        top = math.sqrt((end - begin) / longest)
        said = f"{size:,} bytes, {study.steps[begin].name} to {study.steps[end].name}"
        for point in range(POINTS + 1):
            angle = math.pi * point / POINTS
            at = (begin + end) / 2 - math.cos(angle) * (end - begin) / 2
            yield {"arc": arc, "point": point, "at": at, "height": top * math.sin(angle), "said": said}


# ------------------------------------------------------------------ traffic


def _traffic(study: Study) -> Any:
    count = len(study.steps)
    values = [
        {
            "at": k,
            "name": step.name,
            "which": which,
            "bytes": size,
            "before": step.before.total,
            "after": step.after.total,
        }
        for k, step in enumerate(study.steps)
        for which, size in (("without groups", step.before.total), ("with groups", step.after.total))
    ]
    labels: Any = None
    if count <= MOST_NAMES:
        names = [_short(step.name) for step in study.steps]
        labels = alt.Axis(
            values=list(range(count)),
            labelExpr=f"{names!r}[datum.value]",
            labelAngle=-60,
            labelFontSize=8,
            labelOverlap=False,
            ticks=False,
        )
    which = alt.Scale(domain=["without groups", "with groups"], range=[BEFORE, AFTER])
    width = max(1.0, 0.8 * WIDTH / max(count, 1))
    bars = alt.Chart(alt.Data(values=values)).encode(
        x=_across(count, labels),
        y=alt.Y("bytes:Q", stack=None, title=None, axis=alt.Axis(labelExpr=BYTES, grid=True, gridColor="#eeeeee")),
        color=alt.Color("which:N", scale=which, legend=alt.Legend(title=None, orient="top", offset=4)),
        tooltip=[
            alt.Tooltip("name:N", title="op"),
            alt.Tooltip("before:Q", title="bytes without groups", format=","),
            alt.Tooltip("after:Q", title="bytes with groups", format=","),
        ],
    )
    wide = bars.transform_filter("datum.which == 'without groups'").mark_bar(size=width)
    narrow = bars.transform_filter("datum.which == 'with groups'").mark_bar(size=width / 2)
    layers = [wide, narrow]
    if study.bands:
        layers.insert(0, _rectangles(study.bands, count, labels))
    below = "bytes from and to memory while each op runs, summed over its tiles; what fits the cache is not moved"
    return alt.layer(*layers).properties(width=WIDTH, height=BARS, title=_title("Traffic by op", below))


def _short(name: str, room: int = 26) -> str:
    """The end of a name says more than its beginning."""
    name = name.replace("'", "").replace("\\", "")
    return name if len(name) <= room else f"…{name[-room + 1 :]}"


# ------------------------------------------------------------------ roofline


def _roofline(study: Study, peak: float, bandwidth: float) -> Any:
    points = [point for point in study.points() if point.before.bytes and point.after.bytes and point.flops]
    values: list[dict[str, object]] = []
    for k, point in enumerate(points):
        for which, cost in (("without groups", point.before), ("with groups", point.after)):
            values.append(
                {
                    "point": k,
                    "name": point.name,
                    "which": which,
                    "intensity": point.flops / cost.bytes,
                    "rate": point.flops / cost.seconds,
                    "seconds": cost.seconds,
                    "grouped": point.grouped,
                }
            )
    lowest = min((float(str(v["intensity"])) for v in values), default=1.0)
    highest = max((float(str(v["intensity"])) for v in values), default=1.0)
    ends = (lowest / 2, max(2 * highest, 4 * peak / bandwidth))
    slowest = min((float(str(v["rate"])) for v in values), default=peak / 10)
    domain = [slowest / 2, 2 * peak]
    x = alt.X(
        "intensity:Q",
        scale=alt.Scale(type="log", domain=ends, nice=False),
        title="operations for each byte from or to memory",
        axis=alt.Axis(labelExpr="format(datum.value, datum.value < 1 ? '~r' : '~s')", tickCount=8),
    )
    y = alt.Y(
        "rate:Q",
        scale=alt.Scale(type="log", domain=domain, nice=False),
        title="operations a second",
        axis=alt.Axis(format=".2~s", tickCount=6),
    )
    roof = alt.Chart(alt.Data(values=list(_roof(study.machine, peak, bandwidth, ends, domain[0]))))
    lines = roof.mark_line(strokeWidth=1.4).encode(
        x=x, y=y, detail="line:N", color=alt.value(PEAK), strokeDash=alt.StrokeDash("dash:N", scale=None)
    )
    words = roof.transform_filter("datum.said != ''").mark_text(align="left", dx=4, dy=-8, fontSize=10, color=PEAK)
    base = alt.Chart(alt.Data(values=values))
    arrows = base.transform_filter("datum.grouped").mark_line(color=AFTER, strokeWidth=0.8, opacity=0.6)
    which = alt.Scale(domain=["without groups", "with groups"], range=["#7f9fc4", AFTER])
    dots = base.mark_circle(size=46, opacity=0.85).encode(
        x=x,
        y=y,
        color=alt.Color("which:N", scale=which, legend=alt.Legend(title=None, orient="bottom-right")),
        tooltip=[
            alt.Tooltip("name:N", title="op or group"),
            alt.Tooltip("which:N", title=" "),
            alt.Tooltip("intensity:Q", title="operations a byte", format=".3~s"),
            alt.Tooltip("rate:Q", title="operations a second", format=".3~s"),
            alt.Tooltip("seconds:Q", title="seconds, modelled", format=".3~s"),
        ],
    )
    below = (
        f"{study.machine.name}, from its data sheet: a dot an op, or a group as one; a line leads from a group's ops "
        "without it to the group. Starts of kernels and tiles pull dots below the roof"
    )
    layers = [lines, words.encode(x=x, y=y, text="said:N"), arrows.encode(x=x, y=y, detail="point:N"), dots]
    return alt.layer(*layers).properties(width=WIDTH, height=ROOF, title=_title("Roofline", below))


def _roof(
    machine: Target, peak: float, bandwidth: float, ends: tuple[float, float], floor: float
) -> Iterator[dict[str, object]]:
    """The memory's line and, where it is known, L2's, each up to the peak; the words stand where they reach it."""
    lines = [("memory", bandwidth, [1, 0])]
    if machine.l2_read_bytes_per_s:
        lines.append(("L2", machine.l2_read_bytes_per_s, [6, 3]))
    for name, rate, dash in lines:
        begin = max(ends[0], floor / rate)
        knee = min(max(peak / rate, begin), ends[1])
        said = f"{name}, {rate / 1e12:.2g} TB/s"
        yield {"line": name, "dash": dash, "intensity": begin, "rate": min(peak, begin * rate), "said": ""}
        yield {"line": name, "dash": dash, "intensity": knee, "rate": min(peak, knee * rate), "said": said}
        yield {"line": name, "dash": dash, "intensity": ends[1], "rate": min(peak, ends[1] * rate), "said": ""}
