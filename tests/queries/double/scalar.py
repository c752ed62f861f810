"""Spark's SQL by DuckDB: its text is translated, what means another thing there is refused or said anew."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache

import duckdb
import pyarrow as pa
import sqlglot
from sqlglot import exp

NOW = "panes_double_now"  # a setting: the time of the micro-batch


@cache
def connection() -> duckdb.DuckDBPyConnection:
    """Spark keeps the order of rows within a partition, and so does this one."""
    con = duckdb.connect(config={"threads": 1})
    con.execute("SET TimeZone = 'UTC'")
    con.execute("SET preserve_insertion_order = true")
    con.execute("SET autoinstall_known_extensions = false")
    con.execute("SET order_by_non_integer_literal = true")  # max_by(v, 'x') says it
    return con


def run(sql: str, tables: Mapping[str, pa.Table], now: str = "1970-01-01 00:00:00") -> pa.Table:
    """The result of a query in Spark's SQL over tables."""
    return run_translated(translated(sql), tables, now)


def run_translated(sql: str, tables: Mapping[str, pa.Table], now: str = "1970-01-01 00:00:00") -> pa.Table:
    con = connection()
    for name, table in tables.items():
        con.register(name, table)
    try:
        return con.sql(sql.replace(f"'{NOW}'", f"TIMESTAMPTZ '{now}+00'")).to_arrow_table()
    finally:
        for name in tables:
            con.unregister(name)


@cache
def expression(sql: str) -> str:
    """An expression as DuckDB takes it."""
    return translated(f"SELECT {sql}").removeprefix("SELECT ")


@cache
def translated(sql: str) -> str:
    """A query as DuckDB takes it.

    >>> translated("SELECT CAST(a AS INT) AS x FROM `t`")
    'SELECT CAST(a AS INT) AS x FROM "t"'
    """
    tree = exp.Paren(this=sqlglot.parse_one(sql, read="spark"))
    for node in reversed(list(tree.dfs())):
        new = _said_anew(node)
        if new is not node:
            node.replace(new)
    return str(tree.this.sql(dialect="duckdb"))


def _said_anew(node: exp.Expr) -> exp.Expr:
    match node:
        case exp.TryCast() | exp.Cast() if (since := _since_1970(node)) is not None:
            return _call("epoch_us", since)
        case exp.TryCast() | exp.Cast() if (scaled := _scaled(node)) is not None:
            return scaled
        case exp.TryCast() if not node.args.get("safe"):
            return exp.Cast(**node.args)
        case exp.SafeAdd() | exp.SafeSubtract():
            operation = exp.Add if isinstance(node, exp.SafeAdd) else exp.Sub
            return _call("try", operation(this=exp.Paren(this=node.this), expression=exp.Paren(this=node.expression)))
        case exp.CurrentTimestamp():
            return exp.Literal.string(NOW)
        case exp.Interval(this=exp.Literal(this=number), unit=unit) if unit is not None and "." in str(number):
            micros = round(float(str(number)) * 1_000_000)
            return exp.Interval(this=exp.Literal.string(str(micros)), unit=exp.Var(this="MICROSECONDS"))
        case exp.Explode() if type(node) is not exp.Explode:
            of = node.this.sql(dialect="duckdb")
            return sqlglot.parse_one(f"unnest(CASE WHEN len({of}) > 0 THEN {of} ELSE [NULL] END)", read="duckdb")
        case exp.Anonymous(this=str(name)) if name.lower() in CALLS:
            return CALLS[name.lower()](node.expressions)
        case _:
            return node


def _call(name: str, *args: exp.Expr) -> exp.Expr:
    return exp.Anonymous(this=name, expressions=list(args))


CALLS: dict[str, Callable[[list[exp.Expr]], exp.Expr]] = {
    "spark_partition_id": lambda args: exp.Literal.number(0),
    "raise_error": lambda args: _call("error", *args),
    "timestamp_micros": lambda args: _call("make_timestamptz", *args),
    "pmod": lambda args: exp.Mod(this=exp.Paren(this=args[0]), expression=exp.Paren(this=args[1])),
    "hash": lambda args: exp.Cast(
        this=exp.Mod(this=_call("hash", *args), expression=exp.Literal.number(1 << 30)), to=exp.DataType.build("BIGINT")
    ),
    "xxhash64": lambda args: exp.Cast(
        this=exp.Div(this=_call("hash", *args), expression=exp.Literal.number(2)), to=exp.DataType.build("BIGINT")
    ),
}


def _since_1970(node: exp.Cast) -> exp.Expr | None:
    """The x of `CAST(CAST(CAST((x - TIMESTAMP_NTZ'1970-01-01 00:00:00') AS INTERVAL SECOND) AS DECIMAL…) …)`."""
    if not node.is_type("bigint") or not isinstance(node.this, exp.Mul):
        return None
    if "AS INTERVAL SECOND)" not in node.sql(dialect="spark"):
        return None
    difference = node.find(exp.Sub)
    assert difference is not None
    since: exp.Expr = difference.this
    return since


def _scaled(node: exp.Cast) -> exp.Expr | None:
    """Digits and an exponent (`CAST(concat(x, 'E-6') AS DECIMAL…)`) with the point written in: DuckDB rounds them."""
    if not node.is_type("decimal") or not isinstance(node.this, exp.Concat):
        return None
    digits, exponent = node.this.expressions
    x, scale = digits.sql(dialect="duckdb"), int(exponent.name.removeprefix("E-"))
    plain = f"lpad(ltrim({x}, '-'), greatest(length(ltrim({x}, '-')), {scale + 1})::INT, '0')"
    sign = f"CASE WHEN starts_with({x}, '-') THEN '-' ELSE '' END"
    text = f"{sign} || left({plain}, length({plain}) - {scale}) || '.' || right({plain}, {scale})"
    return sqlglot.parse_one(f"CAST({text} AS {node.to.sql(dialect='duckdb')})", read="duckdb")
