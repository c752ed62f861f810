"""A plan whose rows carry where they come from, in one more column, through every operator of Panes.

    DataSource(t: k, v, ts)                        ID is the number of the row
    Window(tumbling)                               its bounds are named
    Aggregation(keys=[k], sum(v) -> col_1)         ID is collect_list(ID)
    Project(k, col_1 -> s)                         ID is a text: the bounds and that list

So Panes itself tells which rows made a result, whatever a window means. A part of the query that Spark runs has no
place for the column: what stands above it knows nothing of its rows.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import cache
from typing import assert_never

from panes.catalog import Column, Stream
from panes.logical.plan import (
    Aggregation,
    Computed,
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
)
from panes.logical.traits import traits
from panes.source import Source
from panes.sql.calls import Call
from panes.sql.expr import Expr
from panes.sql.tokens import tokenize
from panes.sql.window_kinds import Window as Kinds

ID = "panes_id"
START, END, TRIGGER = "panes_start", "panes_end", "panes_trigger"
_BOUNDS = {"window_start": START, "window_end": END, "window_trigger": TRIGGER}


def expr(text: str) -> Expr:
    """An expression of Panes' own."""
    return Expr(tokenize(Source(text)))


ID_COLUMN = expr(ID)


def with_id(stream: Stream) -> Stream:
    """A stream whose rows have a number."""
    return replace(stream, columns=(*stream.columns, Column(ID, "bigint")))


def without_id(stream: Stream) -> Stream:
    return replace(stream, columns=tuple(one for one in stream.columns if one.name != ID))


@dataclass(frozen=True)
class Carried:
    """A plan whose rows say where they come from: in ID, or by what `id` computes of a window and its rows.

    `bounds` are the names of the bounds of the window below, by what they are.
    """

    plan: Plan
    id: Expr = ID_COLUMN

    def projected(self, *fields: Field) -> Project:
        """The id and these fields."""
        return Project(self.plan, (Field(self.id, ID), *fields))


def carry(plan: Plan) -> Carried | None:
    """The plan with the column; None where Spark runs a part of it."""
    match plan:
        case DataSource(stream=stream, columns=columns):
            return Carried(DataSource(with_id(stream), (*columns, ID))) if stream.streaming else None
        case SparkQuery():
            return None
        case Filter(input=input_) | OverWindow(input=input_) | StatefulFunction(input=input_):
            below = carry(input_)
            return replace(below, plan=replace(plan, input=below.plan)) if below is not None else None
        case Aggregation(input=Window() as window):
            below = carry(window.input)
            return grouped(below.plan, window, plan) if below is not None else None
        case Aggregation():
            raise AssertionError("an Aggregation stands on its Window")
        case Window(input=input_):
            below = carry(input_)
            return _raw(below.plan, plan) if below is not None else None
        case Project(input=input_, fields=fields):
            below = carry(input_)
            own = (*fields, Field(below.id, ID, hidden=True)) if below is not None else ()
            return Carried(Project(below.plan, own)) if below is not None else None
        case DataSink(input=input_):
            return carry(input_)
        case _:
            assert_never(plan)


def grouped(input_: Plan, window: Window, aggregation: Aggregation) -> Carried:
    """An aggregation that collects the rows of each group."""
    named, names = bounded(input_, window)
    ids = Computed(ID, Call("collect_list", (ID_COLUMN,)))
    plan = replace(aggregation, input=named, aggregates=(*aggregation.aggregates, ids))
    return Carried(plan, _window_id(input_, names, ID))


def _raw(input_: Plan, window: Window) -> Carried:
    """A window whose rows come out: each with its window."""
    named, names = bounded(input_, window)
    return Carried(named, _window_id(input_, names, f"array({ID})"))


def bounded(input_: Plan, window: Window) -> tuple[Window, dict[str, str]]:
    """A window over an input with all its bounds, and their names."""
    names = {one.call.name: one.name for one in window.bounds}
    wanted = [name for name in _BOUNDS if name != "window_trigger" or isinstance(window.kind, Kinds.Sliding)]
    new = [name for name in wanted if name not in names]
    added = tuple(Computed(_BOUNDS[name], Call(name, span=window.span)) for name in new)
    return replace(window, input=input_, bounds=(*window.bounds, *added)), names | {name: _BOUNDS[name] for name in new}


def _window_id(input_: Plan, names: dict[str, str], rows: str) -> Expr:
    """The bounds of a window and its rows, as a text."""
    known = traits(input_)
    local = known.time is not None and known.type_of(known.time) == "timestamp_ntz"
    parts = [f"'{name}', {micros(column, local)}" for name, column in names.items()]
    return expr(f"to_json(named_struct({', '.join(parts)}, 'rows', {rows}))")


def micros(column: str, local: bool) -> str:
    """A time as microseconds since 1970, in UTC or by its own clock."""
    return f"timestampdiff(MICROSECOND, TIMESTAMP_NTZ'1970-01-01', {column})" if local else f"unix_micros({column})"


@dataclass(frozen=True)
class Origin:
    """Where a row comes from: a row of a stream, or a window and what was in it."""

    row: int | None = None
    start: int | None = None
    end: int | None = None
    trigger: int | None = None
    inputs: tuple[Origin, ...] = ()

    @property
    def rows(self) -> tuple[int, ...]:
        """The rows of the stream, each once, in order."""
        if self.row is not None:
            return (self.row,)
        return tuple(sorted({row for one in self.inputs for row in one.rows}))


@cache
def origin(id_: int | str) -> Origin:
    """What a value of ID says.

    >>> origin('{"window_start":0,"window_end":5,"rows":[1,2]}').rows
    (1, 2)
    """
    if isinstance(id_, int):
        return Origin(row=id_)
    known = json.loads(id_)
    inputs = tuple(origin(one) for one in known["rows"])
    start, end, trigger = (known.get(name) for name in _BOUNDS)
    return Origin(None, start, end, trigger, inputs)
