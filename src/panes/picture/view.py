"""What all parts of a picture share: the trace, the step that is shown, the scale of time, and where things stand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import assert_never

from panes.picture.element import Attribute, element, number, text, title
from panes.picture.scale import Scale, scale_of
from panes.trace import Fate, Lane, Row, Trace, Value
from panes.trace.values import moment_text

WIDTH = 960.0
LEFT, RIGHT = 136.0, 840.0  # of event time; the lanes' names stand before it, and texts may go on after it
CHARACTER = 6.65  # of the texts of data, which are monospaced


@dataclass(frozen=True)
class View:
    """A trace, seen after a step."""

    trace: Trace
    step: int

    def at(self, classes: str, since: int | None, until: int | None = None) -> dict[str, Attribute]:
        """Classes, and the first and the last step in which something is there; for a page, and for this step."""
        hidden = since is None or since > self.step or (until is not None and until < self.step)
        return {"class_": f"{classes} away".strip() if hidden else classes, "data_from": since, "data_to": until}

    @cached_property
    def x(self) -> Scale:
        """A scale with room for all rows and windows; the watermark may be before them."""
        times = [row.time for row in self.trace.rows if row.time is not None]
        for level in self.trace.levels:
            for window in level.windows:
                times += [one for growth in window.growths for one in (growth.start, growth.end) if one is not None]
        return scale_of(times, LEFT, RIGHT)

    @cached_property
    def rows(self) -> Mapping[int, Row]:
        return {row.id: row for row in self.trace.rows}

    @cached_property
    def watermarks(self) -> tuple[int | None, ...]:
        """Of the stream that is read, after each step; after those that a file does not tell it is where it was."""
        known = self.trace.streams[0].watermarks if self.trace.streams else ()
        return (*known, *(known[-1:] or (None,)) * (self.trace.steps - len(known)))

    @property
    def batches(self) -> int:
        """How many steps are micro-batches."""
        return self.trace.steps - self.trace.flushed

    def step_name(self, step: int) -> str:
        """A micro-batch by its number from 1, or the end."""
        return "end" if step >= self.batches else str(step + 1)

    def label_of(self, row: Row, short: bool) -> str:
        """A row's values without its time; in short also without those of its lane."""
        columns = self.trace.streams[0].columns
        keys = {one.lower() for one in self.trace.levels[0].keys} if self.trace.levels else set()
        time = (self.trace.streams[0].time or "").lower()
        left_out = {time, *(keys if short else ())}
        return " ".join(
            value_text(value) for name, value in zip(columns, row.values, strict=True) if name.lower() not in left_out
        )

    def told(self, row: Row) -> str:
        """A row and what became of it, as a title."""
        columns = self.trace.streams[0].columns
        values = ", ".join(f"{name} {value_text(one)}" for name, one in zip(columns, row.values, strict=True))
        fate = {
            Fate.COUNTED: "",
            Fate.WAITING: "; waits for the watermark",
            Fate.LATE: f"; late: the watermark was {moment_text(row.missed)}" if row.missed is not None else "; late",
            Fate.FILTERED: "; removed by WHERE",
            Fate.NULL_TIME: "; dropped, for its time is NULL",
            Fate.NO_WINDOW: "; in no window",
            Fate.UNKNOWN: "",
        }[row.fate]
        return f"row {row.id} of micro-batch {row.step + 1}: {values}{fate}"


def value_text(value: Value) -> str:
    """A value as a documentation page shows it."""
    return "NULL" if value is None else str(value)


def lane_text(lane: Lane) -> str:
    return ", ".join(map(value_text, lane))


def wide(value: str) -> float:
    """How wide a text of data is."""
    return CHARACTER * len(value)


def fitted(value: str, width: float) -> str:
    """As much of a text as has room, and a sign that there is more."""
    room = int(width / CHARACTER)
    return value if len(value) <= room else value[: max(room - 1, 0)] + "…"


def label(x: float, y: float, value: str, classes: Attribute = None, **attributes: Attribute) -> str:
    """A text; its classes may stand among its attributes."""
    return element("text", text(value), x=x, y=y, **({"class_": classes} if classes else {}), **attributes)


def badge(x: float, y: float, name: str, **attributes: Attribute) -> str:
    """The number of a step in a small disc, or its name in a longer one."""
    half = 6.5 if len(name) < 2 else 4.0 + 3.0 * len(name)
    disc = element("rect", x=x - half, y=y - 6.5, width=2 * half, height=13, rx=6.5, class_="badge")
    return element("g", disc, label(x, y + 3.2, name, "number"), **attributes)


def dot(row: Row, x: float, y: float, view: View, fate: Fate, **attributes: Attribute) -> str:
    """A row, with what became of it as its title."""
    return shape(fate, x, y, title(view.told(row)), data_row=row.id, **attributes)


def shape(fate: Fate, x: float, y: float, *inside: str, **attributes: Attribute) -> str:
    """A disc, or another shape for rows that did not count."""
    match fate:
        case Fate.LATE:
            return element("path", *inside, d=f"M{number(x - 4)} {number(y - 4)}l8 8m0-8l-8 8", **attributes)
        case Fate.FILTERED:
            return element("path", *inside, d=f"M{number(x)} {number(y - 5)}l5 5l-5 5l-5-5z", **attributes)
        case Fate.NULL_TIME:
            return element("rect", *inside, x=x - 4, y=y - 4, width=8, height=8, **attributes)
        case Fate.COUNTED | Fate.WAITING | Fate.NO_WINDOW | Fate.UNKNOWN:
            return element("circle", *inside, cx=x, cy=y, r=5 if fate is Fate.COUNTED else 4.4, **attributes)
        case _:
            assert_never(fate)


def class_of(fate: Fate) -> str:
    return "row" if fate is Fate.COUNTED else fate.value
