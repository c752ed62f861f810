"""What came out of the variant for windows → windows that open, grow, merge and close."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from panes.kernels.changelog.changes import BEFORE, DELETE
from panes.trace.lineage import Origin
from panes.trace.model import Growth, Lane, WindowTrace


@dataclass(frozen=True)
class Seen:
    """A window that came out in a step, with its points; `change` is None unless windows come out as changes."""

    step: int
    lane: Lane
    start: int | None
    end: int | None
    trigger: int | None
    points: tuple[int, ...]
    change: str | None = None

    @property
    def growth(self) -> Growth:
        return Growth(self.step, self.start, self.end, self.points)


Key: TypeAlias = tuple[Lane, int | None, int | None]  # the lane of a window and its bounds


def from_changes(seen: Sequence[Seen], steps: int, is_closed: Callable[[int, int], bool]) -> tuple[WindowTrace, ...]:
    """Time windows, from what they were after each micro-batch; `is_closed` tells by their end and the step.

    A window keeps its bounds. A session that grows does not: it goes on as the one that has all its rows, and of
    several that do the first goes on and takes in the others.
    """
    windows: dict[int, WindowTrace] = {}
    before: dict[Key, int] = {}  # what is there, and the number of its window
    for step in range(steps):
        changed = _changed([one for one in seen if one.step == step])
        now = {key: number for key, number in before.items() if key not in changed}
        gone = {before[key] for key, one in changed.items() if one is None and key in before}
        for key, one in changed.items():
            if one is None:
                continue
            number, merged = (before[key], []) if key in before else _goes_on(one, gone, windows)
            gone -= {number, *merged}
            windows[number] = _grown(windows.get(number), number, one)
            windows |= {other: replace(windows[other], merged=step, into=number) for other in merged}
            now[key] = number
        before = now
    return tuple(_closed(window, steps, is_closed) for window in windows.values())


def _changed(changes: Sequence[Seen]) -> dict[Key, Seen | None]:
    """What each window that changed in a step is after it; None for one that is gone."""
    found: dict[Key, Seen | None] = {}
    for one in sorted(changes, key=lambda one: one.change not in (BEFORE, DELETE)):
        found[one.lane, one.start, one.end] = None if one.change in (BEFORE, DELETE) else one
    return found


def _goes_on(seen: Seen, gone: Iterable[int], windows: Mapping[int, WindowTrace]) -> tuple[int, list[int]]:
    """The number of the window that it was before, or a new one, and those that it takes in."""
    points = set(seen.points)
    was = sorted(
        (windows[number].last.start or 0, number)
        for number in gone
        if windows[number].lane == seen.lane and points.issuperset(windows[number].last.points)
    )
    numbers = [number for _, number in was]
    return (numbers[0], numbers[1:]) if numbers else (len(windows) + 1, [])


def _grown(window: WindowTrace | None, number: int, seen: Seen) -> WindowTrace:
    if window is None:
        return WindowTrace(number, seen.lane, (seen.growth,), seen.trigger)
    return replace(window, growths=(*window.growths, seen.growth))


def _closed(window: WindowTrace, steps: int, is_closed: Callable[[int, int], bool]) -> WindowTrace:
    end = window.last.end
    if window.into is not None or end is None:
        return window
    closes = (step for step in range(window.last.step, steps) if is_closed(end, step))
    return replace(window, closed=next(closes, None))


def from_results(
    seen: Iterable[Seen], taken: Mapping[int, tuple[int, int | None]], steps: int
) -> tuple[WindowTrace, ...]:
    """Windows that come out once: they grow by what was taken in. `taken` has the step and the time of each point.

    They are seen to their end. What the trace does not reach, later steps and points, is left out.
    """
    windows: list[WindowTrace] = []
    for one in seen:
        growths = tuple(_growths(one, taken, steps))
        if growths:
            closed = one.step if one.step < steps else None
            windows.append(WindowTrace(len(windows) + 1, one.lane, growths, one.trigger, closed))
    return tuple(windows)


def _growths(seen: Seen, taken: Mapping[int, tuple[int, int | None]], steps: int) -> Iterable[Growth]:
    there = [point for point in seen.points if point in taken]
    opens = [taken[point][0] for point in there if seen.trigger is None or taken[point][1] == seen.trigger]
    for step in sorted({max(taken[point][0], min(opens)) for point in there}) if opens else ():
        points = tuple(point for point in there if taken[point][0] <= step)
        times = [time for point in points if (time := taken[point][1]) is not None]
        if step < steps and seen.trigger is not None:
            yield Growth(step, seen.start, seen.end, points)
        elif step < steps:
            yield Growth(step, min(times, default=None), max(times, default=None), points)


def points_of(origin: Origin, numbers: Mapping[Origin, int]) -> tuple[int, ...]:
    """The points in a window, in its order; what is in a window and not among the points is not shown."""
    return tuple(dict.fromkeys(numbers[one] for one in origin.inputs if one in numbers))
