"""Small pieces of Spark SQL that the operators share."""

from __future__ import annotations

from pyspark.sql import DataFrame

from panes.errors import PanesError


def quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def type_of(sql: str, below: DataFrame) -> str:
    """The Spark type of an expression over a DataFrame."""
    return below.selectExpr(f"{sql} AS x").schema["x"].dataType.simpleString()


def shifted(time: str, delay: int = 0) -> str:
    """A copy of the time, less the delay, for Spark's watermark, which begins in 1970.

    Year 1 becomes 1970, and NULL moves nothing.
    """
    moved = f"timestamp_micros(unix_micros(CAST({time} AS TIMESTAMP)) + {62_135_596_800_000_000 - delay})"
    return f"coalesce({moved}, timestamp_micros(0))"


def not_executable(what: str) -> PanesError:
    hint = "EXPLAIN shows how it will run; tumbling, hopping, session and count windows run today."
    return PanesError("not-executable", f"this version cannot run {what} yet", None, hint)
