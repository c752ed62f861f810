"""Windows and frames as bars: what a lane draws, whatever kind of operator it is of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass

from panes.picture.view import View, lane_text, value_text
from panes.trace import Lane, Level, Result, WindowTrace


@dataclass(frozen=True)
class Phase:
    """A bar from a step to another; `until` is the last step in which it is so, None for ever."""

    since: int
    until: int | None
    start: int
    end: int
    points: tuple[int, ...]


@dataclass(frozen=True)
class Output:
    """What came out of a bar, as a text beside it."""

    text: str
    since: int
    until: int | None
    results: tuple[int, ...]


@dataclass(frozen=True)
class Bar:
    """A window or a frame: how it grew, when it was done, what came out of it."""

    id: str
    lane: Lane
    phases: tuple[Phase, ...]
    closed: int | None
    told: str
    outputs: tuple[Output, ...]
    trigger: int | None = None

    @property
    def merges(self) -> bool:
        """Whether it goes into another."""
        return self.phases[-1].until is not None

    @property
    def start(self) -> int:
        return min(phase.start for phase in self.phases)

    @property
    def end(self) -> int:
        return max(phase.end for phase in self.phases)


def bars_of(view: View, number: int) -> list[Bar]:
    """The bars of a level."""
    level = view.trace.levels[number]
    return list(_frames(view, number) if level.kind == "over" else _windows(view, number))


def _windows(view: View, number: int) -> Iterator[Bar]:
    level = view.trace.levels[number]
    for window in level.windows:
        phases = tuple(_phases(window))
        if phases:
            outputs = outputs_of(view, number, window.id)
            if number < len(view.trace.levels) - 1 and window.closed is not None:
                outputs = (Output("", window.closed, None, ()),)  # what comes out is read by the next level
            name = f"{number}:{window.id}"
            yield Bar(name, window.lane, phases, window.closed, _told(view, window), outputs, window.trigger)


def _phases(window: WindowTrace) -> Iterator[Phase]:
    gone = window.merged - 1 if window.merged is not None else None
    for index, growth in enumerate(window.growths):
        last = window.growths[index + 1].step - 1 if index + 1 < len(window.growths) else gone
        if growth.start is not None and growth.end is not None:
            yield Phase(growth.step, last, growth.start, growth.end, growth.points)


def _told(view: View, window: WindowTrace) -> str:
    opened = f"opens in micro-batch {view.step_name(window.opened)}"
    if window.into is not None and window.merged is not None:
        ends = f", merges in {view.step_name(window.merged)}"
    else:
        ends = f", comes out in {view.step_name(window.closed)}" if window.closed is not None else ", is open"
    rows = len(window.last.points)
    return f"window of {lane_text(window.lane) or 'all'}: {rows} row{'s' * (rows != 1)}, {opened}{ends}"


def _frames(view: View, number: int) -> Iterator[Bar]:
    """For each point that came out the frame of its first call."""
    level = view.trace.levels[number]
    times = {point.id: point.time for point in level.points}
    for point in level.points:
        if point.time is None or point.step is None:
            continue
        frames = [frame for frame in level.frames if frame.point == point.id and frame.call == 0]
        phases: list[Phase] = []
        for index, frame in enumerate(frames):
            inside = [time for one in frame.points if (time := times[one]) is not None] + [point.time]
            last = frames[index + 1].step - 1 if index + 1 < len(frames) else None
            phases.append(Phase(frame.step, last, min(inside), max(inside), frame.points))
        if phases:
            told = f"frame of row {point.id}: {len(frames[-1].points)} rows"
            outputs = outputs_of(view, number, point.id)
            yield Bar(f"{number}:{point.id}", point.lane, tuple(phases), None, told, outputs, point.time)


def outputs_of(view: View, number: int, of: int) -> tuple[Output, ...]:
    """The results of a window or a point, those of a step together; one that is replaced goes when the next comes."""
    own = [one for one in view.trace.results if (one.level, one.of) == (number, of)]
    if not view.trace.changelog:
        steps = sorted({one.step for one in own})
        return tuple(_output(view, [one for one in own if one.step == step], step, None) for step in steps)
    steps = sorted({one.step for one in own})
    found: list[Output] = []
    for index, step in enumerate(steps):
        until = steps[index + 1] - 1 if index + 1 < len(steps) else None
        new = [one for one in own if one.step == step and one.change in ("insert", "update_postimage")]
        if new:
            found.append(_output(view, new, step, until))
    return tuple(found)


def _output(view: View, results: Sequence[Result], since: int, until: int | None) -> Output:
    keys = {key.lower() for level in view.trace.levels[-1:] for key in level.keys}
    texts = [_short(view, one, keys) for one in results]
    told = texts[0] if len(texts) == 1 else f"{len(texts)} rows"
    return Output(told, since, until, tuple(one.id for one in results))


def _short(view: View, result: Result, keys: Set[str]) -> str:
    """What is new in a result: neither a key nor a time, unless there is nothing else."""
    texts = [(name.lower(), value_text(one)) for name, one in zip(view.trace.columns, result.values, strict=True)]
    new = [one for name, one in texts if name not in keys and not _is_time(one)]
    return " · ".join(new or [one for _, one in texts[-1:]])


def _is_time(value: str) -> bool:
    return len(value) >= 10 and value[4:5] == "-" and value[7:8] == "-" and value[:4].isdigit()


def lanes_of(level: Level) -> list[Lane]:
    """The lanes of a level in the order in which their first points stand; a row without a time stands in none."""
    points = [point.lane for point in level.points if point.time is not None]
    return list(dict.fromkeys([*points, *(one.lane for one in level.windows)]))
