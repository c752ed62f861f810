"""What is known about a plan's result without running it: its columns, its time, whether it is a changelog."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property
from typing import assert_never

from panes.catalog import Column
from panes.frames import Edge, Unit
from panes.functions.over import Reach, reach_of
from panes.logical.plan import (
    Aggregation,
    DataSink,
    DataSource,
    Field,
    Filter,
    OverWindow,
    Plan,
    Project,
    SparkQuery,
    StatefulFunction,
    Window,
    children,
)
from panes.sql.calls import Call
from panes.sql.window_kinds import Window as Kinds


class Clock(Enum):
    """What tells a row's time: its time column, its arrival, or nothing any more."""

    EVENT_TIME = "event_time"
    ARRIVAL = "arrival"
    NONE = "none"


@dataclass(frozen=True)
class Traits:
    """`time` plus `time_shift` µs is the time of a row; `in_time_order` are columns that grow with it.

    `bounds` are columns that hold a bound of a time window. `hidden` columns are not seen by `*`. `key` breaks ties
    of time, and identifies the rows of a changelog, whose changes `sequence` orders.
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
    sequence: str | None = None
    changelog: bool = False
    clock: Clock = Clock.ARRIVAL

    def type_of(self, name: str) -> str | None:
        return self._types.get(name.lower())

    @cached_property
    def _types(self) -> dict[str, str | None]:
        """By lower-case name; the first of two equal names wins."""
        return {column.name.lower(): column.type for column in reversed(self.columns or ())}

    @cached_property
    def visible(self) -> tuple[str, ...]:
        """The columns that `*` stands for."""
        return tuple(column.name for column in self.columns or () if column.name.lower() not in self.hidden)

    @cached_property
    def counts(self) -> Counter[str]:
        """How many visible columns carry each lower-case name."""
        return Counter(name.lower() for name in self.visible)


def traits(plan: Plan) -> Traits:
    """The traits of a plan's result, kept with the node: binding, rules and lowering ask for them again and again."""
    kept: dict[str, Traits] = vars(plan)
    known = kept.get("_traits")
    if known is None:
        known = kept["_traits"] = _traits(plan)
    return known


def _traits(plan: Plan) -> Traits:
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
                sequence=stream.sequence.lower() if stream.sequence is not None else None,
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
            return replace(
                inner,
                columns=columns + tuple(Column(one.name) for one in aggregates),
                key=tuple(name.lower() for name in keyed) if inner.time_shift else (),
            )
        case OverWindow():
            return _over(plan, traits(plan.input))
        case Project():
            return _project(plan, traits(plan.input))
        case _:
            assert_never(plan)


def _with_columns(inner: Traits, added: tuple[Column, ...]) -> Traits:
    return replace(inner, columns=None if inner.columns is None else inner.columns + added)


def _spark_query(plan: SparkQuery) -> Traits:
    """Of a query that Spark runs, the time is known where it passes one through."""
    inputs = [traits(child) for child in children(plan)]
    streams = [one for one in inputs if one.streaming]
    timed = [one for one in (streams or inputs) if one.time is not None]
    clock = Clock.ARRIVAL if all(one.clock == Clock.ARRIVAL for one in streams or inputs) else Clock.NONE
    result = Traits(plan.columns, bool(streams), changelog=any(one.changelog for one in inputs), clock=clock)
    if len(timed) != 1 or plan.columns is None:
        return result
    (source,) = timed
    passed = _passed_by_spark(plan, source)
    if source.time is None or source.time not in passed:
        return result
    return replace(
        result,
        time=passed[source.time][0],
        time_shift=source.time_shift,
        in_time_order=frozenset(name for one in source.in_time_order for name in passed.get(one, ())),
        bounds=frozenset(name for one in source.bounds for name in passed.get(one, ())),
        key=tuple(passed[name][0] for name in source.key) if all(name in passed for name in source.key) else (),
        clock=source.clock,
    )


def _passed_by_spark(plan: SparkQuery, source: Traits) -> dict[str, list[str]]:
    """Under which names Spark passes each column of this input on, all in lower case."""
    own = next(name.lower() for name, child in plan.inputs if traits(child) is source)
    passed: dict[str, list[str]] = {}
    for name, origin in plan.origins:
        if origin.input == own:
            passed.setdefault(origin.column, []).append(name)
    return passed


def _window(plan: Window, inner: Traits) -> Traits:
    bounds = {one.call.name: one.name for one in plan.bounds}
    time_type = inner.type_of(inner.time) if inner.time is not None else "timestamp"
    added = _with_columns(inner, tuple(Column(name, time_type) for name in bounds.values()))
    match plan.kind:
        case Kinds.Tumbling() | Kinds.Hopping() | Kinds.Session():
            ordered = ["window_end"] if isinstance(plan.kind, Kinds.Session) else list(bounds)
            end = bounds.get("window_end")
            return replace(
                added,
                time=end,
                time_shift=-1,
                in_time_order=frozenset(bounds[name] for name in ordered if name in bounds),
                bounds=frozenset(bounds.values()),
                key=(*([inner.time] if inner.time is not None else []), *inner.key),
            )
        case Kinds.Count() | Kinds.Sliding() | Kinds.State():
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
    if comes_after_its_time(plan, inner):
        return replace(result, time=None, in_time_order=frozenset(), clock=Clock.NONE)
    return result


def closes_with_window(plan: OverWindow, inner: Traits) -> bool:
    """Whether PARTITION BY has a bound that tells when its time window closes: then the partition is complete too.

    Sessions that start together end apart, so their start tells nothing.
    """
    bounds = inner.bounds & inner.in_time_order
    return any(expr.column is not None and expr.column.lower() in bounds for expr in plan.partition_by)


def comes_after_its_time(plan: OverWindow, inner: Traits) -> bool:
    """Whether rows come out when the watermark is well past them: then they have no time for later operators."""
    return not closes_with_window(plan, inner) and any(looks_ahead(one.call) for one in plan.calls)


def looks_ahead(call: Call) -> bool:
    """Whether a result needs rows after its own: `lead`, and frames to n FOLLOWING."""
    frame = call.over.frame if call.over is not None else None
    return reach_of(call.name) is Reach.AHEAD or (frame is not None and frame.end.edge is Edge.FOLLOWING)


def waits_for_rows(call: Call) -> bool:
    """Whether a result waits for later rows and not for the watermark: `lead`, ROWS … n FOLLOWING."""
    frame = call.over.frame if call.over is not None else None
    return looks_ahead(call) and (frame is None or frame.unit is Unit.ROWS)


def passed_on(fields: Sequence[Field]) -> dict[str, list[str]]:
    """Under which names each column is selected, both in lower case; a name that two outputs carry is no name."""
    counts = Counter(field.name.lower() for field in fields)
    passed: dict[str, list[str]] = {}
    for field in fields:
        if field.expr.column is not None and counts[field.name.lower()] == 1:
            passed.setdefault(field.expr.column.lower(), []).append(field.name.lower())
    return passed


def _project(plan: Project, inner: Traits) -> Traits:
    passed = passed_on(plan.fields)
    columns = tuple(
        Column(one.name, inner.type_of(one.expr.column) if one.expr.column is not None else None) for one in plan.fields
    )
    time = passed.get(inner.time, [None])[0] if inner.time is not None else None

    def names(old: frozenset[str]) -> frozenset[str]:
        return frozenset(new for one in old for new in passed.get(one, []))

    return replace(
        inner,
        columns=columns,
        time=time,
        in_time_order=names(inner.in_time_order) if time is not None else frozenset(),
        bounds=names(inner.bounds),
        hidden=frozenset(field.name.lower() for field in plan.fields if field.hidden),
        key=tuple(passed[name][0] for name in inner.key) if all(name in passed for name in inner.key) else (),
        sequence=passed.get(inner.sequence, [None])[0] if inner.sequence is not None else None,
        clock=Clock.NONE if inner.time is not None and time is None else inner.clock,
    )
