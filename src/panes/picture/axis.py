"""The axis of event time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from panes.picture.element import element, number
from panes.picture.scale import tick_texts
from panes.picture.view import LEFT, View, label


def axis(view: View, top: float, bottom: float) -> list[str]:
    """What it is and the times of its ticks, in two lines, and lines down from the ticks."""
    ticks = view.x.ticks(most=10)
    day = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=(ticks or [view.x.first])[0])
    lines = [
        element("path", d=f"M{number(view.x(tick))} {number(top + 32)}V{number(bottom)}", class_="grid")
        for tick in ticks
    ]
    names = [
        label(view.x(tick), top + 27, name, "muted middle") for tick, name in zip(ticks, tick_texts(ticks), strict=True)
    ]
    return [label(LEFT, top + 11, f"event time, {day:%Y-%m-%d} →", "head"), *lines, *names]
