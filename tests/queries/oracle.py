"""The stages of a query by other means: DuckDB over all rows at once, and the plain definitions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from .calls import ORDER, Stateful
from .definitions import Given, Kind, Member, Memory, value, windows
from .double.scalar import connection, translated
from .double.types import arrow_type

if TYPE_CHECKING:
    from .shapes import WindowCall

UNKNOWN = b"panes: unknown"  # a field's metadata: nobody says what the column must hold
TIMED = ("tumblingwindow", "hoppingwindow", "sessionwindow")


def duck(sql: str, **tables: pa.Table) -> pa.Table:
    con = connection()
    for name, table in tables.items():
        con.register(name, table)
    try:
        return con.sql(sql).to_arrow_table()
    finally:
        for name in tables:
            con.unregister(name)


def say(sql: str) -> str:
    """An expression of Spark's as DuckDB says it; aggregates and OVER are DuckDB's already."""
    return translated(f"SELECT {sql}").removeprefix("SELECT ")


def in_order(rows: pa.Table, by: Sequence[str]) -> pa.Table:
    """The rows in the stream's order, which they carry along."""
    if by:
        rows = duck(f"SELECT * FROM rows ORDER BY {', '.join(by)}", rows=rows)
    return rows.append_column(ORDER, pa.array(np.arange(rows.num_rows)))


def _sorted(rows: pa.Table) -> pa.Table:
    return rows.sort_by(ORDER) if ORDER in rows.column_names else rows


def plain_rows(rows: pa.Table, items: Sequence[str], test: str | None) -> pa.Table:
    carried = [ORDER] if ORDER in rows.column_names else []
    sql = f"SELECT {', '.join([*items, *carried])} FROM rows WHERE {test or 'true'}"
    return duck(translated(sql), rows=rows)


def joined_rows(rows: pa.Table, select: str, table: pa.Table) -> pa.Table:
    """The rows of a query of `t` and the table `lookup`."""
    return duck(select.replace("SELECT ", f"SELECT t.{ORDER}, ", 1), t=rows, lookup=table)


def over_rows(rows: pa.Table, items: Sequence[str], test: str | None, qualify: str, unknown: Sequence[str]) -> pa.Table:
    carried = [ORDER] if ORDER in rows.column_names else []
    kept = duck(f"SELECT * FROM rows WHERE {say(test or 'true')}", rows=rows)
    found = duck(f"SELECT {', '.join([*(_over(one) for one in items), *carried])} FROM kept{qualify}", kept=kept)
    return _unknown(found, unknown)


SAID = {"<=>": "IS NOT DISTINCT FROM", "TIMESTAMP_NTZ'": "TIMESTAMP '", "TIMESTAMP'": "TIMESTAMPTZ '"}


def _over(item: str) -> str:
    """A call in DuckDB's words, its arguments in Spark's, of which only these differ."""
    for spark, other in SAID.items():
        item = item.replace(spark, other)
    return item


def _unknown(table: pa.Table, names: Sequence[str]) -> pa.Table:
    schema = pa.schema([one.with_metadata({UNKNOWN: b""}) if one.name in names else one for one in table.schema])
    return table.cast(schema)


def stateful_rows(rows: pa.Table, calls: Mapping[str, Stateful]) -> pa.Table:
    """The rows with a column for each call, by its definition."""
    rows = _sorted(rows)
    for name, call in calls.items():
        texts = {f"arg{i}": arg for i, arg in enumerate(call.args)} | {
            f"key{i}": key for i, key in enumerate(call.partition)
        }
        texts |= {"accepted": call.condition or "true", "begin": call.begin or "true", "reset": call.reset or "false"}
        texts |= {"instead": call.default} if call.default is not None else {}
        given = plain_rows(rows, [f"{text} AS {one}" for one, text in texts.items()], None).to_pylist()
        memories: dict[Any, Memory] = defaultdict(Memory)
        values = []
        for row in given:
            key = tuple(_key(row[f"key{i}"]) for i in range(len(call.partition)))
            args = [row[f"arg{i}"] for i in range(len(call.args))]
            conditions = (bool(row["accepted"]), row.get("instead"), bool(row["begin"]), bool(row["reset"]))
            values.append(value(call, memories[key], Given(args, *conditions)))
        rows = rows.append_column(name, pa.array(values, arrow_type(call.type)))
    return rows


def _key(one: Any) -> Any:
    """A value that equals what GROUP BY takes as equal."""
    if isinstance(one, float):
        return "NaN" if one != one else one + 0.0
    return tuple(one.items()) if isinstance(one, dict) else one


def window_rows(
    rows: pa.Table,
    time: str,
    shift: bool,
    kind: Kind,
    call: WindowCall,
    test: str | None,
    keys: Mapping[str, str],
    aggregates: Mapping[str, str | None] | None,
    bounds: Mapping[str, str],
    having: str | None,
) -> pa.Table:
    """The rows of a window: each row once for every window that it is in, then grouped by DuckDB."""
    rows = _sorted(rows)
    carried = [*rows.column_names]
    conditions = {"is_open": call.open or call.when or "true", "is_emit": call.emit or "false"}
    texts = [f"{text} AS panes_{name}" for name, text in conditions.items()]
    kept = duck(translated(f"SELECT *, {', '.join(texts)} FROM rows WHERE {test or 'true'}"), rows=rows)
    times = kept[time].cast(pa.int64()).to_pylist()
    partition = [*keys.values()] if kind.name == "sessionwindow" else [] if kind.name in TIMED else [*call.partition]
    parts: dict[Any, list[Member]] = defaultdict(list)
    columns = {name: kept[name].to_pylist() for name in (*partition, "panes_is_open", "panes_is_emit")}
    for at, moment in enumerate(times):
        member = Member(at, moment - shift, bool(columns["panes_is_open"][at]), bool(columns["panes_is_emit"][at]))
        parts[tuple(_key(columns[name][at]) for name in partition)].append(member)
    found = [one for members in parts.values() for one in windows(kind, members)]
    taken = [(number, row.at, one) for number, one in enumerate(found) for row in one.rows]
    type_ = kept.schema.field(time).type
    table = kept.take(pa.array([at for _, at, _ in taken], pa.int64()))
    extra = {
        "panes_window": pa.array([number for number, _, _ in taken], pa.int64()),
        "panes_start": pa.array([one.start for _, _, one in taken], pa.int64()).cast(type_),
        "panes_end": pa.array([one.end for _, _, one in taken], pa.int64()).cast(type_),
        "panes_trigger": pa.array([one.trigger for _, _, one in taken], pa.int64()).cast(type_),
    }
    for name, column in extra.items():
        table = table.append_column(name, column)
    if aggregates is None:
        return table.select([one for one in carried if one != ORDER])
    places = {"window_start()": "panes_start", "window_end()": "panes_end", "window_trigger()": "panes_trigger"}
    items = [f"{sql} AS {name}" for name, sql in keys.items()]
    items += [f"{_over(text) if text is not None else 'NULL'} AS {name}" for name, text in aggregates.items()]
    items += [f"any_value({places[bound]}) AS {name}" for name, bound in bounds.items()]
    group = ", ".join(["panes_window", *keys.values()])
    having_ = f" HAVING {having}" if having else ""
    result = duck(f"SELECT {', '.join(items)} FROM members GROUP BY {group}{having_}", members=table)
    return _unknown(result, [name for name, text in aggregates.items() if text is None])
