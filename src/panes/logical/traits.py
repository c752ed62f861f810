"""What is known about a plan's result without running it: its columns, its time, whether it is a changelog."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import assert_never

from panes.catalog import Column
from panes.logical.plan import (
    Aggregation,
    DataSink,
    DataSource,
    Filter,
    OverWindow,
    Plan,
    Project,
    SparkQuery,
    StatefulFunction,
    Window,
    children,
)
from panes.sql import windows
from panes.sql.calls import Call
from panes.sql.over import BoundKind, FrameUnit


class Clock(Enum):
    """What tells a row's time: its time column, its arrival, or nothing any more."""

    EVENT_TIME = "event_time"
    ARRIVAL = "arrival"
    NONE = "none"


@dataclass(frozen=True)
class Traits:
    """`time` is the column that carries a row's time; `in_time_order` are columns that grow with it.

    `bounds` are columns that hold a bound of a time window. `hidden` columns are not seen by `*`. `key` breaks ties
    of time, and identifies the rows of a changelog.
    `columns` is None where only Spark knows them.
    """

    columns: tuple[Column, ...] | None
    streaming: bool
    time: str | None = None
    time_shift: int = 0
    in_time_order: frozenset[str] = frozenset()
    bounds: frozenset[str] = frozenset()
    hidden: frozenset[str] = frozenset()
    key: tuple[str, ...] = ()
    changelog: bool = False
    clock: Clock = Clock.ARRIVAL

    def type_of(self, name: str) -> str | None:
        for column in self.columns or ():
            if column.name.lower() == name.lower():
                return column.type
        return None


def traits(plan: Plan) -> Traits:
    """The traits of a plan's result."""
    match plan:
        case DataSource(stream=stream, columns=names):
            wanted = {name.lower() for name in names}
            columns = tuple(column for column in stream.columns if column.name.lower() in wanted)
            time = stream.time.lower() if stream.time is not None else None
            order = frozenset([time]) if time is not None else frozenset[str]()
            return Traits(
                columns,
                stream.streaming,
                time,
                in_time_order=order,
                key=tuple(name.lower() for name in stream.key),
                changelog=stream.changelog,
                clock=Clock.ARRIVAL if time is None else Clock.EVENT_TIME,
            )
        case SparkQuery():
            return _spark_query(plan)
        case Filter(input=input_) | DataSink(input=input_):
            return traits(input_)
        case StatefulFunction(input=input_, calls=calls):
            return _with_columns(traits(input_), tuple(Column(one.name) for one in calls))
        case Window():
            return _window(plan, traits(plan.input))
        case Aggregation(input=input_, keys=keys, aggregates=aggregates):
            inner = traits(input_)
            keyed = [field.name for field in keys]
            bounds = [one.name for one in input_.bounds] if isinstance(input_, Window) else []
            columns = tuple(Column(name, inner.type_of(name)) for name in (*keyed, *bounds))
            return replace(inner, columns=columns + tuple(Column(one.name) for one in aggregates))
        case OverWindow():
            return _over(plan, traits(plan.input))
        case Project():
            return _project(plan, traits(plan.input))
        case _:
            assert_never(plan)


def _with_columns(inner: Traits, added: tuple[Column, ...]) -> Traits:
    return replace(inner, columns=None if inner.columns is None else inner.columns + added)


def _spark_query(plan: SparkQuery) -> Traits:
    """Of a query that Spark runs, the time is known where it passes one through under its own name."""
    inputs = [traits(child) for child in children(plan)]
    streams = [one for one in inputs if one.streaming]
    timed = [one for one in (streams or inputs) if one.time is not None]
    clock = Clock.NONE if timed else Clock.ARRIVAL
    result = Traits(plan.columns, bool(streams), changelog=any(one.changelog for one in inputs), clock=clock)
    if len(timed) != 1 or plan.columns is None:
        return result
    (source,) = timed
    names = {column.name.lower() for column in plan.columns}
    if source.time is not None and source.time in names:
        return replace(result, time=source.time, in_time_order=frozenset([source.time]), clock=Clock.EVENT_TIME)
    return result


def _window(plan: Window, inner: Traits) -> Traits:
    bounds = {one.call.name: one.name for one in plan.bounds}
    time_type = inner.type_of(inner.time) if inner.time is not None else "timestamp"
    added = _with_columns(inner, tuple(Column(name, time_type) for name in bounds.values()))
    match plan.kind:
        case windows.Window.Tumbling() | windows.Window.Hopping() | windows.Window.Session():
            ordered = ["window_end"] if isinstance(plan.kind, windows.Window.Session) else list(bounds)
            end = bounds.get("window_end")
            return replace(
                added,
                time=end,
                time_shift=-1,
                in_time_order=frozenset(bounds[name] for name in ordered if name in bounds),
                bounds=frozenset(bounds.values()),
                key=(),
            )
        case windows.Window.Count() | windows.Window.Sliding() | windows.Window.State():
            return replace(
                added,
                time=None,
                time_shift=0,
                in_time_order=frozenset(),
                bounds=frozenset(),
                key=(),
                clock=Clock.NONE,
            )
        case _:
            assert_never(plan.kind)


def _over(plan: OverWindow, inner: Traits) -> Traits:
    result = _with_columns(inner, tuple(Column(one.name) for one in plan.calls))
    if any(waits_for_rows(one.call) for one in plan.calls):
        return replace(result, time=None, in_time_order=frozenset(), bounds=frozenset(), clock=Clock.NONE)
    return result


def waits_for_rows(call: Call) -> bool:
    """Whether a result waits for later rows and not for the watermark: `lead`, ROWS … n FOLLOWING."""
    frame = call.over.frame if call.over is not None else None
    if call.name == "lead":
        return True
    return frame is not None and frame.unit == FrameUnit.ROWS and frame.end.kind == BoundKind.FOLLOWING


def _project(plan: Project, inner: Traits) -> Traits:
    passed: dict[str, list[str]] = {}
    columns: list[Column] = []
    for field in plan.fields:
        source = field.expr.column
        columns.append(Column(field.name, inner.type_of(source) if source is not None else None))
        if source is not None:
            passed.setdefault(source.lower(), []).append(field.name.lower())
    time = passed.get(inner.time, [None])[0] if inner.time is not None else None

    def names(old: frozenset[str]) -> frozenset[str]:
        return frozenset(new for one in old for new in passed.get(one, []))

    return replace(
        inner,
        columns=tuple(columns),
        time=time,
        time_shift=inner.time_shift if time is not None else 0,
        in_time_order=names(inner.in_time_order) if time is not None else frozenset(),
        bounds=names(inner.bounds) if time is not None else frozenset(),
        hidden=frozenset(field.name.lower() for field in plan.fields if field.hidden),
        key=tuple(passed[name][0] for name in inner.key) if all(name in passed for name in inner.key) else (),
        clock=Clock.NONE if inner.time is not None and time is None else inner.clock,
    )
