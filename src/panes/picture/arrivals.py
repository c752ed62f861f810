"""Rows as they arrive: a band for each micro-batch, rows at their event time, and the watermark that they meet.

The watermark is a line that steps to the right from band to band. A row to its left in its band came after it.
"""

from __future__ import annotations

from collections.abc import Sequence

from panes.picture.element import element, number, title
from panes.picture.packing import tracks
from panes.picture.view import LEFT, RIGHT, WIDTH, View, badge, class_of, dot, fitted, label, wide
from panes.trace import Fate, Row
from panes.trace.values import moment_text

LINE = 19.0  # of rows in a band
NO_TIME = 62.0  # where rows without a time stand
MOST_LINES = 3


def arrivals(view: View, top: float) -> tuple[list[str], float]:
    """The bands from `top` on, and where they end."""
    short = [lines_of(view, step, short=False)[1] > MOST_LINES for step in range(view.batches)]
    parts = [label(16, top + 12, "arrives in micro-batch", "head")]
    y, edges = top + 20, [top + 20]
    dots: list[str] = []
    for step in range(view.trace.steps):
        lines, count = lines_of(view, step, short=any(short))
        height = max(count, 1) * LINE + 5 if step < view.batches else 20
        band = element("rect", x=16, y=y, width=WIDTH - 32, height=height - 2, rx=3, **view.at("band", 0))
        parts += [band, _passed(view, step, y, height - 2), badge(34, y + height / 2 - 1, view.step_name(step))]
        if step >= view.batches:
            parts.append(label(56, y + height / 2 + 3, "the input ends: everything comes out", "muted"))
        dots += [_row(view, row, y + 11.5 + LINE * line, any(short)) for row, line in lines]
        y += height
        edges.append(y)
    return [*parts, *_watermark(view, edges), *dots], y


def lines_of(view: View, step: int, short: bool) -> tuple[list[tuple[Row, int]], int]:
    """The rows of a step, each in a line of its band so that texts do not touch, and how many lines there are."""
    rows = [row for row in view.trace.streams[0].rows if row.step == step] if view.trace.streams else []
    extents = [(_place(view, row) - 6, _place(view, row) + 10 + wide(_label(view, row, short))) for row in rows]
    lines = tracks(extents, apart=6)
    return list(zip(rows, lines, strict=True)), max(lines, default=0) + 1


def _place(view: View, row: Row) -> float:
    return view.x(row.time) if row.time is not None else NO_TIME


def _row(view: View, row: Row, y: float, short: bool) -> str:
    x, fate = _place(view, row), row.fate
    # Until the watermark releases it a row waits: what became of it is told in the lanes below.
    shown = Fate.COUNTED if fate in (Fate.WAITING, Fate.NO_WINDOW) else fate
    mark = dot(row, x, y, view, shown, **view.at(class_of(shown), row.step))
    told = view.at("data on-band" if fate is Fate.COUNTED else "data muted on-band", row.step)
    return mark + label(x + 9, y + 3.8, _label(view, row, short), data_row=row.id, **told)


def _label(view: View, row: Row, short: bool) -> str:
    own = view.label_of(row, short)
    return own if row.time is not None else fitted(own, LEFT - NO_TIME - 12)


def _passed(view: View, step: int, y: float, height: float) -> str:
    """What the watermark has passed when a micro-batch comes."""
    before = view.watermarks[step - 1] if step else None
    if before is None or view.x(before) <= LEFT:
        return ""
    return element("rect", x=LEFT, y=y, width=view.x(before) - LEFT, height=height, **view.at("passed", step - 1))


def _watermark(view: View, edges: Sequence[float]) -> list[str]:
    """The line: in each band where the watermark is as its rows come, and at its end to where they move it."""
    parts: list[str] = []
    x = LEFT
    for step in range(view.batches):
        moment = view.watermarks[step] if step < len(view.watermarks) else None
        if moment is None:
            continue
        to = view.x(moment)
        below = edges[step + 2] if step + 2 < len(edges) else edges[-1]
        path = f"M{number(x)} {number(edges[step + 1] - 1)}H{number(to)}V{number(below - 1)}"
        told = title(f"watermark after micro-batch {step + 1}: {moment_text(moment)}")
        if to > LEFT:
            parts.append(element("path", told, d=path, **view.at("watermark", step)))
        x = to
    if view.trace.flushed and parts:
        end = f"M{number(x)} {number(edges[-1] - 1)}H{number(RIGHT + 12)}"
        parts.append(element("path", title("the end of the input"), d=end, **view.at("watermark", view.batches)))
    return parts
