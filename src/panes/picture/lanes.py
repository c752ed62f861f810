"""What an operator makes of its rows: a lane for each key, rows as dots, windows as bars, results beside them.

Bars that do not overlap stand around their rows. Others stand below, in as few lines as hold them, with a small dot for
each row that is in them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from panes.picture.bars import Bar, bars_of, lanes_of, outputs_of
from panes.picture.element import Attribute, element, number, title
from panes.picture.packing import overlap, tracks
from panes.picture.view import LEFT, WIDTH, View, badge, class_of, dot, fitted, label, lane_text, wide
from panes.trace import Fate, Lane, Level, Point
from panes.trace.values import moment_text

AROUND = 10.0  # of a bar around its first and its last row
LINE = 21.0  # of bars below each other
INSIDE = 42.0  # the height of a bar that stands around its rows
BADGE = 17.0


@dataclass(frozen=True)
class Panel:
    """A level of the trace, with what all of its lanes share."""

    view: View
    number: int
    bars: tuple[Bar, ...]

    @property
    def level(self) -> Level:
        return self.view.trace.levels[self.number]

    def extent(self, bar: Bar) -> tuple[float, float]:
        """Where a bar begins and ends; one that ends with a row stands around it."""
        start, end = self.view.x(bar.start), self.view.x(bar.end)
        return (start - AROUND, end + AROUND) if self.around else (start, end)

    @property
    def around(self) -> bool:
        """Whether bars end with their rows, and not between two."""
        return self.level.kind in ("state", "count", "over")


def lanes(view: View, level: int, top: float) -> tuple[list[str], float]:
    """The lanes of a level from `top` on, and where they end."""
    panel = Panel(view, level, tuple(bars_of(view, level)))
    own = panel.level
    parts: list[str] = []
    y = top + 24 - 16
    for head in (own.text,) if own.text else own.calls:
        y += 16
        parts.append(label(16, y - 10, fitted(" ".join(head.split()), 0.9 * (WIDTH - 32)), "code"))
    if any(lane for lane in lanes_of(own)):
        parts.append(label(16, y + 9, fitted(", ".join(own.keys), LEFT + 60), "head"))
        y += 15
    for index, lane in enumerate(lanes_of(own)):
        drawn, bottom = _lane(panel, lane, y)
        if index:
            parts.append(element("path", d=f"M16 {number(y)}H{number(WIDTH - 16)}", class_="grid"))
        parts += drawn
        y = bottom
    return parts, y


def _lane(panel: Panel, lane: Lane, top: float) -> tuple[list[str], float]:
    bars = [bar for bar in panel.bars if bar.lane == lane]
    points = [point for point in panel.level.points if point.lane == lane and point.time is not None]
    if not bars and panel.level.kind not in ("stateful", "over"):
        body, bottom = _dots(panel, points, top + 17), top + 34
    elif panel.level.kind == "stateful":
        body, bottom = _values(panel, points, top)
    elif overlap([panel.extent(bar) for bar in bars if not bar.merges]) or panel.level.kind in ("over", "sliding"):
        body, bottom = _below(panel, bars, points, top)
    else:
        body, bottom = _among(panel, bars, points, top)
    name = fitted(lane_text(lane), LEFT - 30)
    return [label(16, top + 21, name, "data"), *body], bottom


# ── Dots ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _dots(panel: Panel, points: Sequence[Point], y: float) -> list[str]:
    """The points of a lane; those that would hide each other stand a little apart."""
    view = panel.view
    places = [view.x(point.time) for point in points if point.time is not None]
    lines = tracks([(x - 4.5, x + 4.5) for x in places])
    return [
        part
        for point, x, line in zip(points, places, lines, strict=True)
        for part in _dot(panel, point, x, y + (0, 8, -8)[line % 3])
    ]


def _dot(panel: Panel, point: Point, x: float, y: float) -> list[str]:
    view = panel.view
    row = view.rows.get(point.id) if panel.level.below is None or point.rows == (point.id,) else None
    if row is None:
        told = title(f"result of {len(point.rows)} row{'s' * (len(point.rows) != 1)}, {moment_text(point.time or 0)}")
        path = f"M{number(x)} {number(y - 5.5)}l5.5 5.5l-5.5 5.5l-5.5-5.5z"
        return [element("path", told, d=path, data_point=point.id, **view.at("derived", point.step))]
    if row.fate in (Fate.LATE, Fate.FILTERED):
        return [dot(row, x, y, view, row.fate, **view.at(class_of(row.fate), row.step))]
    if point.step is None:
        return [dot(row, x, y, view, Fate.WAITING, **view.at("waiting", row.step))]
    parts = []
    if point.step > row.step:  # it waits for the watermark
        parts.append(dot(row, x, y, view, Fate.WAITING, **view.at("waiting", row.step, point.step - 1)))
    return [*parts, dot(row, x, y, view, row.fate, **view.at(class_of(row.fate), point.step))]


# ── Bars around their rows ────────────────────────────────────────────────────────────────────────────────────────


def _among(panel: Panel, bars: Sequence[Bar], points: Sequence[Point], top: float) -> tuple[list[str], float]:
    parts: list[str] = []
    y = top + 6
    lefts = [panel.extent(bar)[0] for bar in bars]
    for bar in bars:
        parts += _bar(panel, bar, y, INSIDE)
        left, right = panel.extent(bar)
        after = min((one for one in lefts if one >= right - 1), default=WIDTH - 16) - right
        needed = max((wide(one.text) + 2 * BADGE + 12 for one in bar.outputs), default=0.0)
        if needed > right - left and needed <= after:
            parts += _outputs_after(panel.view, bar, right, y + INSIDE - 12)
        else:
            parts += _outputs_inside(panel.view, bar, left, right, y + INSIDE - 8)
    return [*parts, *_dots(panel, points, y + 15)], top + INSIDE + 12


def _outputs_inside(view: View, bar: Bar, left: float, right: float, y: float) -> list[str]:
    parts: list[str] = []
    for output in bar.outputs:
        named: dict[str, Attribute] = {"data_result": " ".join(map(str, output.results))}
        name = view.step_name(output.since)
        room = right - left - 2 * BADGE - 4
        shown = output.text if wide(output.text) <= room else fitted(output.text, room) if room > 24 else ""
        parts.append(
            badge(
                right - BADGE / 2 - 2 - 3 * (len(name) - 1),
                y - 3.8,
                name,
                **named,
                **view.at("", output.since, output.until),
            )
        )
        parts.append(
            label(
                right - BADGE - 4 - 6 * (len(name) - 1),
                y,
                shown,
                **named,
                **view.at("data result end", output.since, output.until),
            )
        )
    return parts


def _bar(panel: Panel, bar: Bar, y: float, height: float) -> list[str]:
    """A bar in each of its phases: dashed while it is open. A frame is what it is as soon as it is known."""
    parts: list[str] = []
    view, open_ = panel.view, "window" if panel.level.kind == "over" else "window open"
    for phase in bar.phases:
        left, right = view.x(phase.start), view.x(phase.end)
        if panel.around:
            left, right = left - AROUND, right + AROUND
        box: dict[str, Attribute] = {"x": left, "y": y, "width": max(right - left, 4), "height": height, "rx": 4}
        told, named = title(bar.told), {"data_window": bar.id, "data_rows": " ".join(map(str, phase.points))}
        closed = bar.closed if phase is bar.phases[-1] else None
        if closed is None or closed > phase.since:
            until = closed - 1 if closed is not None else phase.until
            parts.append(element("rect", told, **box, **named, **view.at(open_, phase.since, until)))
        if closed is not None:
            parts.append(element("rect", told, **box, **named, **view.at("window", max(closed, phase.since))))
    return parts


# ── Bars below their rows ─────────────────────────────────────────────────────────────────────────────────────────


def _below(panel: Panel, bars: Sequence[Bar], points: Sequence[Point], top: float) -> tuple[list[str], float]:
    extents = [_with_text(panel, bar) for bar in bars]
    lines = tracks(extents, apart=8)
    parts = _dots(panel, points, top + 17)
    for bar, line in zip(bars, lines, strict=True):
        y = top + 32 + line * LINE
        parts += _bar(panel, bar, y, 14)
        parts += _members(panel, bar, y + 7)
        parts += _outputs_after(panel.view, bar, panel.extent(bar)[1], y + 7)
    return parts, top + 32 + (max(lines, default=-1) + 1) * LINE + 4


def _with_text(panel: Panel, bar: Bar) -> tuple[float, float]:
    """The extent of a bar and of what stands after it."""
    left, right = panel.extent(bar)
    return left, right + max((wide(one.text) + 2 * BADGE for one in bar.outputs), default=0)


def _members(panel: Panel, bar: Bar, y: float) -> list[str]:
    """The rows of a bar as small dots, and the row that it is about as a stroke."""
    view = panel.view
    times = {point.id: point.time for point in panel.level.points}
    parts: list[str] = []
    for phase in bar.phases:
        for point in phase.points:
            time = times.get(point)
            if time is not None:
                place: dict[str, Attribute] = {"cx": view.x(time), "cy": y, "r": 2.6, "data_row": point}
                parts.append(element("circle", **place, **view.at("member", phase.since, phase.until)))
    if bar.trigger is not None:
        path = f"M{number(view.x(bar.trigger))} {number(y - 7)}v14"
        parts.append(
            element(
                "path",
                title("its trigger" if panel.level.kind == "sliding" else "its row"),
                d=path,
                **view.at("trigger", bar.phases[0].since),
            )
        )
    return parts


def _outputs_after(view: View, bar: Bar, right: float, y: float) -> list[str]:
    parts: list[str] = []
    for output in bar.outputs:
        named: dict[str, Attribute] = {"data_result": " ".join(map(str, output.results))}
        name = view.step_name(output.since)
        x = right + 11 + 3 * (len(name) - 1)
        parts.append(badge(x, y, name, **named, **view.at("", output.since, output.until)))
        after = x + 10 + 3 * (len(name) - 1)
        parts.append(
            label(after, y + 3.8, output.text, **named, **view.at("data result on-paper", output.since, output.until))
        )
    return parts


# ── Values of stateful calls ──────────────────────────────────────────────────────────────────────────────────────


def _values(panel: Panel, points: Sequence[Point], top: float) -> tuple[list[str], float]:
    """Below each row what each call gave for it, a line for each call; blocks that would touch go below each other."""
    view = panel.view
    names = [call.partition("(")[0] for call in panel.level.calls]
    drawn = _dots(panel, points, top + 17)
    points = [point for point in points if point.values]
    blocks = [[f"{name} {_value(value)}" for name, value in zip(names, point.values, strict=False)] for point in points]
    widths = [max(map(wide, block), default=0) for block in blocks]
    places = [view.x(point.time) for point in points if point.time is not None]
    lines = tracks([(x - 6, x + width) for x, width in zip(places, widths, strict=True)], apart=10)
    height = 14.0 * len(names) + 4
    parts = [*drawn]
    for point, block, x, line in zip(points, blocks, places, lines, strict=True):
        for output in outputs_of(view, panel.number, point.id):
            name = view.step_name(output.since)
            named: dict[str, Attribute] = {"data_result": " ".join(map(str, output.results))}
            parts.append(badge(x + 14 + 3 * (len(name) - 1), top + 17, name, **named, **view.at("", output.since)))
        for index, value in enumerate(block):
            y = top + 38 + line * height + 14 * index
            kept = point.id not in view.rows or view.rows[point.id].fate is not Fate.FILTERED
            told = view.at("data result" if kept else "data muted", point.step)
            parts.append(label(x - 5, y, value, data_row=point.id, **told))
    return parts, top + 30 + (max(lines, default=0) + 1) * height


def _value(value: object) -> str:
    return "NULL" if value is None else str(value)
