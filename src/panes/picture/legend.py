"""What the marks of a picture mean: those that occur in it."""

from __future__ import annotations

from panes.picture.element import element, number
from panes.picture.view import CHARACTER, WIDTH, View, badge, class_of, label, shape
from panes.trace import Fate, WindowTrace

_NAMES = {
    Fate.COUNTED: "row",
    Fate.WAITING: "waits for the watermark",
    Fate.LATE: "late: behind the watermark",
    Fate.FILTERED: "removed by WHERE",
    Fate.NULL_TIME: "time is NULL",
    Fate.NO_WINDOW: "in no window",
    Fate.UNKNOWN: "row",
}


def legend(view: View, top: float) -> tuple[list[str], float]:
    """The marks in lines from `top` on, and where they end."""
    entries: list[tuple[str, str]] = []
    fates = {row.fate for row in view.trace.rows} | ({Fate.WAITING} if _waits(view) else set())
    for fate, name in _NAMES.items():
        if fate in fates:
            entries.append((shape(fate, 0, 0, class_=class_of(fate)), name))
    windows = [window for level in view.trace.levels for window in level.windows]
    box = {"x": -9, "y": -6, "width": 18, "height": 12, "rx": 3}
    if any(window.closed is not None and window.closed <= view.step for window in windows):
        entries.append((element("rect", **box, class_="window"), "window"))
    if any(_is_open(window, view.step) for window in windows):
        entries.append((element("rect", **box, class_="window open"), "open window"))
    if any(level.frames for level in view.trace.levels):
        entries.append((element("rect", **box, class_="window"), "frame"))
    if any(moment is not None for moment in view.watermarks):
        entries.append((element("path", d="M0 -7v14", class_="watermark"), "watermark"))
    if view.trace.results:
        entries.append((badge(0, 0, "1"), "comes out in micro-batch 1"))
    parts: list[str] = []
    x, y = 26.0, top + 14
    for mark, name in entries:
        width = 26 + CHARACTER * len(name) + 12
        if x + width > WIDTH - 16:
            x, y = 26.0, y + 20
        parts += [
            element("g", mark, transform=f"translate({number(x)} {number(y)})"),
            label(x + 14, y + 3.8, name, "muted"),
        ]
        x += width
    return parts, y + 12


def _is_open(window: WindowTrace, step: int) -> bool:
    ended = [one for one in (window.closed, window.merged) if one is not None]
    return window.opened <= step and all(step < one for one in ended)


def _waits(view: View) -> bool:
    """Whether a row that came waits in this step for the watermark to release it."""
    points = view.trace.levels[0].points if view.trace.levels else ()
    rows = [(view.rows[point.id], point.step) for point in points if point.id in view.rows]
    return any(row.step <= view.step < step for row, step in rows if step is not None)
