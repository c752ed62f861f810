"""Small pieces of Spark SQL that the operators share."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import (
    ArrayType,
    CalendarIntervalType,
    DataType,
    DayTimeIntervalType,
    MapType,
    NullType,
    StringType,
    StructType,
    VariantType,
    YearMonthIntervalType,
)

from panes.errors import PanesError
from panes.spark.counters import SHIFT
from panes.sql.template import quoted as quoted

# Where the watermark stops, in the year 8030: shifted, it must be before a time that Python's datetime can have.
LATEST = 253_370_764_800_000_000 - SHIFT
NOT_HELD = (VariantType, CalendarIntervalType, DayTimeIntervalType, YearMonthIntervalType)


def type_of(sql: str, below: DataFrame) -> str:
    """The Spark type of an expression over a DataFrame."""
    return _data_type(sql, below).simpleString()


def _data_type(sql: str, below: DataFrame) -> DataType:
    return below.selectExpr(f"{sql} AS x").schema["x"].dataType


def arrow_type(type_: str, spark: SparkSession) -> pa.DataType:
    """The Arrow type of a Spark type."""
    return spark.sql(f"SELECT CAST(NULL AS {type_}) AS x").limit(0).toArrow().schema.field("x").type


def known_type(sql: str, below: DataFrame) -> str:
    """The type of a key or an argument, if the kernels can hold it."""
    type_ = _data_type(sql, below)
    if isinstance(type_, NullType) or any(isinstance(one, NOT_HELD) for one in with_nested(type_)):
        raise not_executable(f"keys and arguments of type {type_.simpleString()} ({sql})")
    return type_.simpleString()


def compared_type(sql: str, below: DataFrame) -> str:
    """The type of a value that is compared with others, if the kernels can tell as Spark does which are equal."""
    for one in with_nested(_data_type(sql, below)):
        if isinstance(one, StringType) and one.collation != StringType().collation:
            message = f"{sql} has the collation {one.collation}: keys and values are compared byte by byte"
            hint = f"Write {sql} COLLATE UTF8_BINARY, or lower({sql}) COLLATE UTF8_BINARY to ignore case."
            raise PanesError("not-executable", message, None, hint)
        if isinstance(one, MapType):
            hint = f"Write array_sort(map_entries({sql}))."
            raise PanesError("not-executable", f"{sql} is a map, and maps cannot be compared", None, hint)
    return known_type(sql, below)


def with_nested(type_: DataType) -> Iterator[DataType]:
    """A type and all types inside it."""
    yield type_
    match type_:
        case ArrayType():
            yield from with_nested(type_.elementType)
        case MapType():
            yield from (*with_nested(type_.keyType), *with_nested(type_.valueType))
        case StructType():
            for field in type_.fields:
                yield from with_nested(field.dataType)
        case _:
            pass


def shifted(time: str, delay: int = 0, zoned: bool = True) -> str:
    """A copy of the time, less the delay, for Spark's watermark, which begins in 1970.

    Year 1 becomes 1970, NULL moves nothing, and the clock stops at LATEST. A TIMESTAMP_NTZ (`zoned` is False) counts as
    it stands, whatever the session's time zone does to it: a cast to TIMESTAMP would jump with daylight saving.
    """
    micros = epoch_micros(time, zoned)
    latest = f"CASE WHEN {time} IS NOT NULL THEN {LATEST + delay} END"  # least() leaves NULL out
    return f"coalesce(timestamp_micros(least({micros}, {latest}) + {SHIFT - delay}), timestamp_micros(0))"


def epoch_micros(time: str, zoned: bool = True) -> str:
    """Microseconds since 1970; a TIMESTAMP_NTZ is counted as if it were UTC."""
    since = f"CAST(({time} - TIMESTAMP_NTZ'1970-01-01 00:00:00') AS INTERVAL SECOND)"
    return f"unix_micros({time})" if zoned else f"CAST(CAST({since} AS DECIMAL(30, 6)) * 1000000 AS BIGINT)"


def not_executable(what: str) -> PanesError:
    hint = "EXPLAIN shows how it will run."
    return PanesError("not-executable", f"this version cannot run {what} yet", None, hint)
