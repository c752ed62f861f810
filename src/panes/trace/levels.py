"""What each operator made of what it took in: windows, values of stateful calls, frames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, assert_never

from panes.kernels.changelog.changes import BEFORE, CHANGE, DELETE
from panes.logical.plan import Aggregation, Computed, StatefulFunction, Window
from panes.sql.window_kinds import Window as Kinds
from panes.trace import plans as names
from panes.trace.grown import Seen, from_changes, from_results, points_of
from panes.trace.lineage import ID, Origin, origin
from panes.trace.model import FrameTrace, Level, Point, WindowTrace
from panes.trace.operators import Operator, is_time_window, window_of
from panes.trace.plans import Plans
from panes.trace.runs import Out
from panes.trace.taken import Known, Taken, stateful, values_of
from panes.trace.variants import FRAME, LANE


def level_of(plans: Plans, number: int, taken: Taken, known: Known, outs: Mapping[str, Out], steps: int) -> Level:
    """The level of the operator of this number."""
    operator = plans.operators[number]
    node, keys, below = operator.node, tuple(key.sql for key in operator.keys), number - 1 if number else None
    match node:
        case StatefulFunction(calls=calls):
            points = _with_values(taken, stateful(outs[names.points(number + 1)], known))
            return Level("stateful", "", keys, points, below, _texts(calls))
        case Window() | Aggregation():
            window = window_of(node)
            assert window is not None
            text = window.span.text if window.span is not None else ""
            windows = _windows(operator, outs[names.windows(number)], taken, known, steps)
            return Level(type(window.kind).__name__.lower(), text, keys, taken.points, below, windows=windows)
        case tuple():
            texts = _texts([one for over in node for one in over.calls])
            found = _frames(outs[names.frames(number)], taken, plans.emits_changes(operator))
            return Level("over", "", keys, taken.points, below, texts, frames=found)
        case _:
            assert_never(node)


def _texts(calls: Sequence[Computed]) -> tuple[str, ...]:
    """The calls as they are written."""
    return tuple(one.call.span.text if one.call.span is not None else one.call.sql for one in calls)


def _with_values(taken: Taken, made: Sequence[Point]) -> tuple[Point, ...]:
    """Rows with what stateful calls gave for each; those that did not come so far have no values."""
    by_id = {point.id: point for point in made}
    return tuple(by_id.get(point.id, replace(point, step=None)) for point in taken.points)


# ── Windows ───────────────────────────────────────────────────────────────────────────────────────────────────────


def _windows(operator: Operator, out: Out, taken: Taken, known: Known, steps: int) -> tuple[WindowTrace, ...]:
    seen = sorted((_seen(row, step, taken) for step, rows in enumerate(out) for row in rows), key=_place)
    window = window_of(operator.node)
    assert window is not None
    if not is_time_window(operator.node):
        came = {point.id: (point.step, point.time) for point in taken.points if point.step is not None}
        return from_results(seen, came, steps)
    last = 0 if isinstance(window.kind, Kinds.Session) else 1  # a session closes when its end has been passed

    def is_closed(end: int, step: int) -> bool:
        return known.clock.has_passed(end - last, step)

    return from_changes([one for one in seen if one.step < steps], steps, is_closed)


def _place(seen: Seen) -> tuple[int, int, str]:
    """Between lanes windows come out in any order: numbered by time they are the same in every run."""
    return seen.step, seen.start or 0, str(seen.lane)


def _seen(row: Mapping[str, Any], step: int, taken: Taken) -> Seen:
    from_ = origin(row[ID])
    points = points_of(from_, taken.numbers)
    return Seen(step, values_of(row, LANE), from_.start, from_.end, from_.trigger, points, row.get(CHANGE))


# ── Frames ────────────────────────────────────────────────────────────────────────────────────────────────────────


def _frames(out: Out, taken: Taken, as_changes: bool) -> tuple[FrameTrace, ...]:
    """The frame of each point for each call; one that is final is known from the step in which the point was taken."""
    found: list[FrameTrace] = []
    steps = {point.id: point.step for point in taken.points}
    for step, rows in enumerate(out):
        for row in rows:
            point = taken.numbers.get(origin(row[ID]))
            if point is None or row[CHANGE] in (BEFORE, DELETE):
                continue
            since = step if as_changes else steps[point]
            frames = [_frame(value, taken.numbers) for name, value in row.items() if name.startswith(FRAME)]
            found += [FrameTrace(point, call, since, one) for call, one in enumerate(frames) if since is not None]
    return tuple(found)


def _frame(value: Any, numbers: Mapping[Origin, int]) -> tuple[int, ...]:
    """The points of a frame: those of a list, the one that `lag` and `lead` read, or none."""
    ids = value if isinstance(value, list) else [value] if value is not None else []
    return tuple(numbers[origin(one)] for one in ids if origin(one) in numbers)
