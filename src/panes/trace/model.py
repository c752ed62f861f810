"""What became of each row of each stream, as plain data: frozen, and the same after a way through JSON.

Times are microseconds since 1970 in UTC. Steps count from 0: one for each micro-batch, and where the input was ended
one more for that. Rows are numbered from 1 in the order in which they came, over all streams.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias, Union

# As JSON has them; times, decimals and bytes are texts as a documentation page shows them.
Value: TypeAlias = Union[bool, int, float, str, Sequence["Value"], Mapping[str, "Value"], None]  # noqa: UP007 - it names itself
Lane: TypeAlias = tuple[Value, ...]  # the values of the keys; () where there are none


class Fate(Enum):
    """What became of a row in the first operator of the query."""

    COUNTED = "counted"
    WAITING = "waiting"  # its turn has not come by the last step
    LATE = "late"
    FILTERED = "filtered"
    NULL_TIME = "null-time"
    NO_WINDOW = "no-window"
    UNKNOWN = "unknown"  # it went into a part that Spark runs


@dataclass(frozen=True)
class Row:
    """A row of a stream; `missed` is the watermark that a late one came after."""

    id: int
    step: int
    position: int
    time: int | None
    values: tuple[Value, ...]
    fate: Fate = Fate.COUNTED
    missed: int | None = None


@dataclass(frozen=True)
class StreamTrace:
    """A stream; `watermarks` has the watermark after each step, None before the first row and in arrival mode."""

    name: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    time: str | None = None  # the column with the time of a row
    delay: int | None = None
    changelog: bool = False
    watermarks: tuple[int | None, ...] = ()


@dataclass(frozen=True)
class Point:
    """What an operator took in: a row (with the same id), or a result of the operator below it.

    `step` is the one in which it was taken: for one that waits for the watermark the step of its release. It is None
    for what was not taken. `rows` are the rows of the streams that it was made of; `values` has one value for each call
    of a stateful or OVER operator, where these are known.
    """

    id: int
    lane: Lane
    time: int | None
    step: int | None
    rows: tuple[int, ...]
    values: tuple[Value, ...] = ()


@dataclass(frozen=True)
class Growth:
    """A window as it is from a step on, until its next growth."""

    step: int
    start: int | None
    end: int | None
    points: tuple[int, ...]


@dataclass(frozen=True)
class WindowTrace:
    """A window. It opens with its first growth; `closed` is the step in which it emitted.

    `merged` is the step in which it went into another window, `into`.
    """

    id: int
    lane: Lane
    growths: tuple[Growth, ...]
    trigger: int | None = None  # the time of a sliding window's trigger
    closed: int | None = None
    merged: int | None = None
    into: int | None = None

    @property
    def opened(self) -> int:
        return self.growths[0].step

    @property
    def last(self) -> Growth:
        return self.growths[-1]

    def at(self, step: int) -> Growth | None:
        """The window after a step; None before it opens."""
        found = [growth for growth in self.growths if growth.step <= step]
        return found[-1] if found else None


@dataclass(frozen=True)
class FrameTrace:
    """The points in the frame of a point for one call, from a step on."""

    point: int
    call: int
    step: int
    points: tuple[int, ...]


@dataclass(frozen=True)
class Level:
    """One operator of the query, in order from the stream up; `below` is the level whose results it reads, None for the
    rows of a stream.

    `kind` is tumbling, hopping, session, count, sliding, state, stateful or over. `keys` name the parts of a lane.
    """

    kind: str
    text: str
    keys: tuple[str, ...]
    points: tuple[Point, ...]
    below: int | None = None
    calls: tuple[str, ...] = ()
    windows: tuple[WindowTrace, ...] = ()
    frames: tuple[FrameTrace, ...] = ()


@dataclass(frozen=True)
class Result:
    """A row that came out. `rows` are those of the streams that made it, None where that is not known.

    `change` is the `_change_type` of a changelog's row. `level` and `of` say what it comes from: the id of a window of
    that level, or of a point where results come out row by row.
    """

    id: int
    step: int
    values: tuple[Value, ...]
    change: str | None = None
    rows: tuple[int, ...] | None = None
    level: int | None = None
    of: int | None = None
    time: int | None = None  # where it stands in time: the end of its window, or the time of its row
    lane: Lane = ()


@dataclass(frozen=True)
class Trace:
    """A query over scripted micro-batches: rows in, what was made of them, and rows out.

    `unknown` says in a sentence why something is not known, such as the rows behind results that Spark computes.
    """

    sql: str
    streams: tuple[StreamTrace, ...]
    steps: int
    flushed: bool
    levels: tuple[Level, ...]
    columns: tuple[str, ...]
    results: tuple[Result, ...]
    unknown: tuple[str, ...] = ()
    version: int = 1

    @property
    def rows(self) -> tuple[Row, ...]:
        """The rows of all streams, in the order of their ids."""
        return tuple(sorted((row for stream in self.streams for row in stream.rows), key=lambda row: row.id))

    @property
    def changelog(self) -> bool:
        return any(result.change is not None for result in self.results)
