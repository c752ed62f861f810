"""Whole random cases: a stream, a query over it, its rows and how they are cut."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa

from .choices import Choices
from .law import Case, check
from .oracle import in_order
from .over_shapes import with_over
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
    stream, shape, emit = recipe(c, table)
    rows = change_rows(data) if stream.changelog else stream_rows(data, stream)
    one_partition = stream.time is None or stream.changelog or emit == " EMIT IMMEDIATELY"
    cuts = [cut(data, rows, one_partition) for _ in range(2 if data.chance(30) else 1)]
    sql = shape.sql + emit
    tables = {"lookup": table} if table is not None else {}
    return Generated(Case(sql, stream, rows, cuts, tables), shape.oracle)


def declared(c: Choices) -> Stream:
    time = "timestamp_ntz" if c.chance(12) else "timestamp"
    return Stream(time, c.pick([3000, 0, 1000, 10_000]), key=not c.chance(20))


def source(stream: Stream) -> Shape:
    """The stream's rows, in order for the oracle."""

    def ordered(rows: pa.Table) -> pa.Table:
        if stream.changelog:
            rows = live(rows)
        return in_order(rows, ["ts", "id"] if stream.time is not None else [])

    return Shape("SELECT * FROM t", stream.columns, ordered, "ts", unique=not stream.key, name="t")


def live(changes: pa.Table) -> pa.Table:
    """The rows that a changelog leaves."""
    rows: dict[int, Row] = {}
    for row in changes.to_pylist():
        change = row.pop("_change_type")
        if change in ("delete", "update_preimage"):
            del rows[row["id"]]
        else:
            rows[row["id"]] = row
    return pa.Table.from_pylist(list(rows.values()), changes.drop_columns(["_change_type"]).schema)


def below(c: Choices, stream: Stream, table: pa.Table | None) -> Shape:
    found = source(stream)
    if table is not None and not stream.changelog:
        return named(c, with_table(c, found, table))
    return named(c, plain(c, found)) if c.chance(25) else found


Table = pa.Table | None
Made = tuple[Stream, Shape, str]


def _window(c: Choices, table: Table) -> Made:
    stream = declared(c)
    if c.chance(25):
        return stream, with_window(c, below(c, stream, table), timed=True), " EMIT CHANGES"
    return stream, with_window(c, below(c, stream, table)), ""


def _stateful(c: Choices, table: Table) -> Made:
    stream = declared(c)
    return stream, with_stateful(c, below(c, stream, table), inner=False), ""


def _over(c: Choices, table: Table) -> Made:
    stream = declared(c)
    return stream, with_over(c, below(c, stream, table), changes=False), ""


def _over_changes(c: Choices, table: Table) -> Made:
    stream = declared(c)
    return stream, with_over(c, below(c, stream, table), changes=True), " EMIT CHANGES"


def _changelog(c: Choices, table: Table) -> Made:
    stream = Stream(None, key=True, changelog=True)
    return stream, with_over(c, below(c, stream, table), changes=True), ""


def _window_of_stateful(c: Choices, table: Table) -> Made:
    stream = declared(c)
    return stream, with_window(c, named(c, with_stateful(c, below(c, stream, table), inner=True))), ""


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
    return stream, with_over(c, named(c, with_stateful(c, below(c, stream, table), inner=True)), changes=False), ""


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
]
