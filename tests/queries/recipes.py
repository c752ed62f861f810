"""Whole random cases: a stream, a query over it, its rows and how they are cut."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from .choices import Choices
from .law import Case, check
from .oracle import in_order
from .over_shapes import top_n, with_over
from .rows import Row, Stream, change_rows, cut, stream_rows, table_rows
from .shapes import Oracle, Shape, named, plain, with_stateful, with_table, with_window


@dataclass(frozen=True)
class Generated:
    """A case and who else knows its result."""

    case: Case
    oracle: Oracle | None

    def run(self) -> None:
        check(self.case, self.expected())

    def expected(self) -> pa.Table | None:
        return self.oracle(self.case.stream.table(self.case.rows)) if self.oracle is not None else None


def generated(c: Choices, data: Choices) -> Generated:
    """A query by choices `c`, rows and cuts by `data`."""
    recipe = c.pick(RECIPES)
    table = table_rows(c) if c.chance(25) else None
    if table is not None and recipe in IN_ORDER:
        table = first_of_each(table)
    stream, shape, emit = recipe(c, table)
    rows = change_rows(data, stream) if stream.changelog else stream_rows(data, stream)
    cuts = [cut(data, rows) for _ in range(2 if data.chance(30) else 1)]
    sql = shape.sql + emit
    tables = {"lookup": table} if table is not None else {}
    oracle = shape.oracle if stream.ttl is None else None
    return Generated(Case(sql, stream, rows, cuts, tables, shape.views, shape.lags), oracle)


# A key need not be unique, nor flat.
KEYS: list[tuple[str, ...]] = [("id",), ("id",), ("id",), (), ("k",), ("j", "id"), ("arr", "id"), ("st", "k")]


def declared(c: Choices) -> Stream:
    time = "timestamp_ntz" if c.chance(12) else "timestamp"
    ttl = c.pick([2, 5, 30]) if c.chance(8) else None
    return Stream(time, c.pick([3000, 0, 1000, 10_000]), key=c.pick(KEYS), ttl=ttl)


def source(stream: Stream, arrival: bool = False) -> Shape:
    """The stream's rows, in order for the oracle; by `arrival` if nothing waits for the watermark."""

    def ordered(rows: pa.Table) -> pa.Table:
        if stream.changelog:
            rows = live(rows)
        elif stream.time is not None:
            rows = rows.filter(pc.is_valid(rows["ts"]))  # rows without a time are dropped
        return in_order(rows, ["ts", "id"] if stream.time is not None and not arrival else [])

    time = "ts" if stream.time is not None else None
    return Shape(
        "SELECT * FROM t", stream.columns, ordered, time, unique=stream.key != ("id",), key=stream.key, name="t"
    )


def live(changes: pa.Table) -> pa.Table:
    """The rows that a changelog leaves: the changes of a key in the order of their sequence, if there is one."""
    rows: dict[int, Row] = {}
    last: dict[int, int] = {}
    for row in changes.to_pylist():
        change, id_ = row.pop("_change_type"), row["id"]
        if row.get("seq", 0) < last.get(id_, 0):
            continue
        last[id_] = row.get("seq", 0)
        if change in ("delete", "update_preimage"):
            rows.pop(id_, None)
        else:
            rows[id_] = row
    return pa.Table.from_pylist(list(rows.values()), changes.drop_columns(["_change_type"]).schema)


def first_of_each(table: pa.Table) -> pa.Table:
    """One row for each key: a join with it repeats no row of the stream."""
    keys = table["k"].to_pylist()
    return table.take([i for i, key in enumerate(keys) if keys.index(key) == i])


def below(c: Choices, stream: Stream, table: pa.Table | None, arrival: bool = False, once: bool = False) -> Shape:
    """What a query reads; `once` if no row may come out of a join twice."""
    found = source(stream, arrival)
    if table is not None and not stream.changelog:
        return named(c, with_table(c, found, table, once=once))
    return named(c, plain(c, found)) if c.chance(25) else found


Table: TypeAlias = pa.Table | None
Made = tuple[Stream, Shape, str]


def _window(c: Choices, table: Table) -> Made:
    stream = declared(c)
    if c.chance(25):
        return stream, with_window(c, below(c, stream, table), timed=True), " EMIT CHANGES"
    if c.chance(15):
        return stream, with_window(c, below(c, stream, table), timed=True), " EMIT ON WINDOW CLOSE"
    return stream, with_window(c, below(c, stream, table)), ""


def _stateful(c: Choices, table: Table) -> Made:
    stream = declared(c)
    return stream, with_stateful(c, below(c, stream, table, once=True), inner=False), ""


def _over(c: Choices, table: Table) -> Made:
    stream = declared(c)
    return stream, with_over(c, below(c, stream, table), changes=False), ""


def _over_changes(c: Choices, table: Table) -> Made:
    stream = declared(c)
    return stream, with_over(c, below(c, stream, table), changes=True), " EMIT CHANGES"


def _changelog(c: Choices, table: Table) -> Made:
    stream = Stream(None, changelog=True, sequence=c.chance(40), preimages=c.pick(["maybe", "always"]))
    return stream, with_over(c, below(c, stream, table), changes=True), ""


def _window_of_stateful(c: Choices, table: Table) -> Made:
    stream = declared(c)
    return stream, with_window(c, named(c, with_stateful(c, below(c, stream, table, once=True), inner=True))), ""


def _window_of_window(c: Choices, table: Table) -> Made:
    stream = declared(c)
    return (
        stream,
        with_window(c, named(c, with_window(c, below(c, stream, table), timed=True, inner=True)), timed=True),
        "",
    )


def _over_of_window(c: Choices, table: Table) -> Made:
    stream = declared(c)
    return (
        stream,
        with_over(c, named(c, with_window(c, below(c, stream, table), timed=True, inner=True)), changes=False),
        "",
    )


def _over_of_stateful(c: Choices, table: Table) -> Made:
    stream = declared(c)
    return (
        stream,
        with_over(c, named(c, with_stateful(c, below(c, stream, table, once=True), inner=True)), changes=False),
        "",
    )


def _over_of_over(c: Choices, table: Table) -> Made:
    stream = declared(c)
    return (
        stream,
        with_over(c, named(c, with_over(c, below(c, stream, table), changes=True)), changes=True),
        " EMIT CHANGES",
    )


def _window_of_over(c: Choices, table: Table) -> Made:
    stream = declared(c)
    return stream, with_window(c, named(c, with_over(c, below(c, stream, table), changes=False))), ""


def _immediately(c: Choices, table: Table) -> Made:
    stream = replace(declared(c), ttl=None)
    rows = replace(below(c, stream, None, arrival=True), time=None)  # windows of rows alone, without bounds
    shape = with_stateful(c, rows, inner=False) if c.chance(50) else with_window(c, rows)
    return stream, shape, " EMIT IMMEDIATELY"


def _arrival(c: Choices, table: Table) -> Made:
    stream = Stream(None, key=c.pick(KEYS))
    rows = below(c, stream, None, arrival=True)
    match c.below(3):
        case 0:
            return stream, with_stateful(c, rows, inner=False), ""
        case 1:
            return stream, with_window(c, rows), ""
        case _:
            return stream, with_over(c, rows, changes=True), " EMIT CHANGES"


def _top_n(c: Choices, table: Table) -> Made:
    """The same as QUALIFY, said in an outer WHERE."""
    stream = declared(c)
    changes = c.chance(50)
    return stream, top_n(c, below(c, stream, table), changes), " EMIT CHANGES" if changes else ""


RECIPES: list[Callable[[Choices, Table], Made]] = [
    _window,
    _window,
    _window,
    _stateful,
    _over,
    _over,
    _over_changes,
    _changelog,
    _window_of_stateful,
    _window_of_window,
    _over_of_window,
    _over_of_stateful,
    _over_of_over,
    _window_of_over,
    _immediately,
    _arrival,
    _top_n,
]
# Stateful calls see rows one after the other: what comes out of a join must have a total order, too.
IN_ORDER = (_stateful, _window_of_stateful, _over_of_stateful)
