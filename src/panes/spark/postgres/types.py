"""Spark's types in PostgreSQL: which one a new table has, which of an existing table lose nothing, and as what text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import Column
from pyspark.sql import functions as f
from pyspark.sql import types as t

from panes.errors import PanesError

INTEGERS: dict[type[t.DataType], int] = {
    t.ByteType: 3,
    t.ShortType: 5,
    t.IntegerType: 10,
    t.LongType: 19,
}  # and their digits
NAMES: dict[type[t.DataType], str] = {
    t.BooleanType: "boolean",
    t.ByteType: "smallint",
    t.ShortType: "smallint",
    t.IntegerType: "integer",
    t.LongType: "bigint",
    t.FloatType: "real",
    t.DoubleType: "double precision",
    t.StringType: "text",
    t.BinaryType: "bytea",
    t.DateType: "date",
    t.TimestampType: "timestamp with time zone",
    t.TimestampNTZType: "timestamp without time zone",
}
# By PostgreSQL's short names, as its catalog has them.
ACCEPTED: dict[type[t.DataType], tuple[str, ...]] = {
    t.BooleanType: ("bool",),
    t.ByteType: ("int2", "int4", "int8", "float4", "float8"),
    t.ShortType: ("int2", "int4", "int8", "float4", "float8"),
    t.IntegerType: ("int4", "int8", "float8"),
    t.LongType: ("int8",),
    t.FloatType: ("float4", "float8"),
    t.DoubleType: ("float8",),
    t.StringType: ("text", "varchar", "citext", "uuid", "json", "jsonb", "inet", "enum"),
    t.BinaryType: ("bytea",),
    t.DateType: ("date",),
    t.TimestampType: ("timestamptz",),
    t.TimestampNTZType: ("timestamp",),
}
SECONDS = re.compile(r"timestamp\([0-5]\)")  # that PostgreSQL rounds
JSON = {  # as the records of Kafka: NULLs too, and times to the microsecond
    "ignoreNullFields": "false",
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
}


@dataclass(frozen=True)
class Stored:
    """The type of a column in PostgreSQL: its short name, that of the elements of an array, and all of it in SQL."""

    name: str
    sql: str
    element: str | None = None
    digits: tuple[int, int] | None = None  # of numeric: precision and scale


def postgres_type(name: str, type_: t.DataType) -> str:
    """The type of a column in a table that Panes makes."""
    if isinstance(type_, t.DecimalType):
        return f"numeric({type_.precision}, {type_.scale})"
    if is_json(type_):
        return "jsonb"
    if isinstance(type_, t.ArrayType):
        return f"{postgres_type(name, type_.elementType)}[]"
    if type(type_) not in NAMES:
        hint = f"Cast it in SELECT, to STRING for example: CAST({name} AS STRING) AS {name}."
        raise PanesError("sink-mismatch", f"PostgreSQL has no type for {name}, a {type_.simpleString()}", None, hint)
    return NAMES[type(type_)]


def is_json(type_: t.DataType) -> bool:
    """Whether values are stored as JSON: structs, maps, and arrays of anything that is not a single value."""
    match type_:
        case t.StructType() | t.MapType():
            return True
        case t.ArrayType():
            return isinstance(type_.elementType, t.ArrayType) or is_json(type_.elementType)
        case _:
            return False


def accepts(stored: Stored, type_: t.DataType) -> bool:
    """Whether a column of a table holds every value of a type as it is."""
    if is_json(type_):
        return stored.name in ("json", "jsonb")
    if isinstance(type_, t.ArrayType):
        element = stored.element
        return element is not None and accepts(Stored(element, stored.sql, None, stored.digits), type_.elementType)
    if stored.name == "numeric":
        needed = _digits(type_)
        return needed is not None and (stored.digits is None or _fits(needed, stored.digits))
    return stored.name in ACCEPTED.get(type(type_), ()) and SECONDS.match(stored.sql) is None


def _digits(type_: t.DataType) -> tuple[int, int] | None:
    if isinstance(type_, t.DecimalType):
        return type_.precision, type_.scale
    return (INTEGERS[type(type_)], 0) if type(type_) in INTEGERS else None


def _fits(needed: tuple[int, int], digits: tuple[int, int]) -> bool:
    """Whether there is room on both sides of the point."""
    return digits[1] >= needed[1] and digits[0] - digits[1] >= needed[0] - needed[1]


def copy_line(cells: Sequence[tuple[Column, t.DataType]]) -> Column:
    r"""A row as a line of COPY: cells with tabs between them, \N for NULL. Spark makes it, so that Python need not."""
    texts = [f.coalesce(_escaped(as_text(column, type_), type_), f.lit("\\N")) for column, type_ in cells]
    between = [part for text in texts for part in (f.lit("\t"), text)]
    return f.concat(*between[1:], f.lit("\n"))


def _escaped(text: Column, type_: t.DataType) -> Column:
    if not isinstance(type_, t.StringType | t.BinaryType | t.ArrayType | t.StructType | t.MapType):
        return text  # numbers and times have nothing that means something to COPY
    for character, written in (("\\", "\\\\"), ("\n", "\\n"), ("\r", "\\r"), ("\t", "\\t")):
        text = f.replace(text, f.lit(character), f.lit(written))
    return text


def as_text(column: Column, type_: t.DataType) -> Column:
    """A value in the words of PostgreSQL."""
    if is_json(type_):
        return f.to_json(column, JSON)
    match type_:
        case t.ArrayType():
            element = type_.elementType
            listed = f.transform(column, lambda one: f.coalesce(_in_quotes(as_text(one, element)), f.lit("NULL")))
            return f.concat(f.lit("{"), f.array_join(listed, ","), f.lit("}"))
        case t.BinaryType():
            return f.concat(f.lit("\\x"), f.hex(column))
        case t.TimestampType():
            return _in_utc(column).cast("string")
        case _:
            return column.cast("string")


def _in_quotes(text: Column) -> Column:
    for character, written in (("\\", "\\\\"), ('"', '\\"')):
        text = f.replace(text, f.lit(character), f.lit(written))
    return f.concat(f.lit('"'), text, f.lit('"'))


def _in_utc(time: Column) -> Column:
    """A time without its zone; in the session's zone, an hour may come twice."""
    seconds = (f.unix_micros(time).cast("decimal(20, 0)") / f.lit(1_000_000)).cast("decimal(18, 6)")
    zero = f.lit(0)
    return f.expr("TIMESTAMP_NTZ'1970-01-01 00:00:00'") + f.make_dt_interval(zero, zero, zero, seconds)
