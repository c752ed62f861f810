"""The results of a query, each with the rows that made it and the window or the point that it comes from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from panes.kernels.changelog.changes import AFTER, BEFORE, CHANGE
from panes.kernels.late_rows import LATE
from panes.trace.lineage import ID, Origin, origin
from panes.trace.model import Level, Result, Row, WindowTrace
from panes.trace.plans import Plans
from panes.trace.runs import Out
from panes.trace.taken import Taken, values_of
from panes.trace.values import plain
from panes.trace.variants import OUTPUT


def results_of(
    plans: Plans, out: Out, levels: Sequence[Level], taken: Sequence[Taken], rows: Mapping[int, Row]
) -> tuple[tuple[str, ...], tuple[Result, ...]]:
    """The columns of the result, and its rows: by the step in which they came out, then by time and lane.

    Of one key they stay in the order in which they came; between keys there is none.
    """
    came = [(step, row) for step, in_step in enumerate(out) for row in _loud(_results(in_step))]
    found = [_result(step, row) for step, row in came]
    if plans.is_carried:
        level, points = (levels[-1], taken[-1]) if levels else (None, None)
        origins = [origin(row[ID]) for _, row in came]
        placed = [
            _placed(result, from_, level, len(levels) - 1, points, rows)
            for result, from_ in zip(found, origins, strict=True)
        ]
        found = sorted(placed, key=_place)
    numbered = tuple(replace(result, id=number) for number, result in enumerate(found, start=1))
    return plans.columns or _names(out), numbered


def _results(rows: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return [row for row in rows if row.get(LATE) is None]


def _place(result: Result) -> tuple[int, int, str, int]:
    return result.step, result.time or 0, str(result.lane), result.of or 0


def _names(out: Out) -> tuple[str, ...]:
    first = next((row for came in out for row in came), {})
    return tuple(name for name in first if name not in (CHANGE, LATE, ID))


def _loud(rows: Sequence[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """Without updates in which only the origin changed: of these the user's query is silent."""
    index = 0
    while index < len(rows):
        pair = rows[index : index + 2]
        changes = [row.get(CHANGE) for row in pair]
        if changes == [BEFORE, AFTER] and _outputs(pair[0]) == _outputs(pair[1]):
            index += 2
            continue
        yield rows[index]
        index += 1


def _outputs(row: Mapping[str, Any]) -> tuple[object, ...]:
    return values_of(row, OUTPUT)


def _result(step: int, row: Mapping[str, Any]) -> Result:
    own = {name: value for name, value in row.items() if name not in (CHANGE, LATE, ID)}
    return Result(0, step, tuple(plain(value) for value in own.values()), row.get(CHANGE))


def _placed(
    result: Result, from_: Origin, level: Level | None, number: int, taken: Taken | None, rows: Mapping[int, Row]
) -> Result:
    """A result with its rows, its time, and what it comes from."""
    time = rows[from_.row].time if from_.row is not None else from_.end
    if level is None or taken is None:
        return replace(result, rows=from_.rows, time=time)
    if level.windows or level.kind not in ("stateful", "over"):
        window = _window(from_, level.windows, result.step, taken)
        if window is None:
            return replace(result, rows=from_.rows, time=time)
        return replace(result, rows=from_.rows, level=number, of=window.id, time=time, lane=window.lane)
    of = taken.numbers.get(from_)
    point = next((one for one in level.points if one.id == of), None)
    if point is None:
        return replace(result, rows=from_.rows, time=time)
    made = [frame for frame in level.frames if frame.point == of and frame.step <= result.step]
    last = {frame.call: frame for frame in made}
    by_id = {one.id: one.rows for one in level.points}
    ids = sorted({row for frame in last.values() for one in frame.points for row in by_id[one]} | set(from_.rows))
    return replace(result, rows=tuple(ids), level=number, of=of, time=time, lane=point.lane)


def _window(from_: Origin, windows: Sequence[WindowTrace], step: int, taken: Taken) -> WindowTrace | None:
    """The window of a result: of those with its bounds the smallest that holds its rows."""
    inside = {taken.numbers[one] for one in from_.inputs if one in taken.numbers}
    found = [
        (len(growth.points), window.id, window)
        for window in windows
        for growth in window.growths
        if (growth.start, growth.end, window.trigger) == (from_.start, from_.end, from_.trigger)
        and inside <= set(growth.points)
        and growth.step <= step
    ]
    return min(found, key=lambda one: one[:2])[2] if found else None
