"""Small pieces of Spark SQL that the operators share."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from panes.errors import PanesError


def quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def type_of(sql: str, below: DataFrame) -> str:
    """The Spark type of an expression over a DataFrame."""
    return below.selectExpr(f"{sql} AS x").schema["x"].dataType.simpleString()


def arrow_type(type_: str, spark: SparkSession) -> pa.DataType:
    """The Arrow type of a Spark type."""
    return spark.sql(f"SELECT CAST(NULL AS {type_}) AS x").limit(0).toArrow().schema.field("x").type


def known_type(sql: str, below: DataFrame) -> str:
    """The type of a key or an argument, if the kernels can hold it."""
    type_ = type_of(sql, below)
    if "interval" in type_ or "variant" in type_ or type_ == "void":
        raise not_executable(f"keys and arguments of type {type_} ({sql})")
    return type_


def shifted(time: str, delay: int = 0, zoned: bool = True) -> str:
    """A copy of the time, less the delay, for Spark's watermark, which begins in 1970.

    Year 1 becomes 1970, and NULL moves nothing. A TIMESTAMP_NTZ (`zoned` is False) counts as it stands, whatever the
    session's time zone does to it: a cast to TIMESTAMP would jump with daylight saving.
    """
    micros = epoch_micros(time, zoned)
    return f"coalesce(timestamp_micros({micros} + {62_135_596_800_000_000 - delay}), timestamp_micros(0))"


def epoch_micros(time: str, zoned: bool = True) -> str:
    """Microseconds since 1970; a TIMESTAMP_NTZ is counted as if it were UTC."""
    since = f"CAST(({time} - TIMESTAMP_NTZ'1970-01-01 00:00:00') AS INTERVAL SECOND)"
    return f"unix_micros({time})" if zoned else f"CAST(CAST({since} AS DECIMAL(30, 6)) * 1000000 AS BIGINT)"


def not_executable(what: str) -> PanesError:
    hint = "EXPLAIN shows how it will run."
    return PanesError("not-executable", f"this version cannot run {what} yet", None, hint)
