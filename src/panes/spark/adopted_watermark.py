"""A DataFrame with a watermark of its own: column and delay are taken over, and the node goes.

Spark takes no second watermark above the first, and Panes' own is over a copy of the time that also holds times before
1970 and the end of the input. So the first one has to be the last step of the DataFrame, where it can be taken off.
"""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from panes.declare import length
from panes.errors import PanesError
from panes.options import StreamOptions

DELAY = "spark.watermarkDelayMs"  # in the metadata of the column that withWatermark names
MONTHS = re.compile(r"\b(month|year)s?\b", re.IGNORECASE)


def adopted(name: str, df: DataFrame, given: StreamOptions) -> tuple[DataFrame, StreamOptions] | None:
    """The DataFrame without its watermark, and options that declare the same one; None where it has none."""
    found = _watermarks(df)
    if not found:
        return None
    if len(found) > 1:
        raise _refused(name, f"its columns {' and '.join(found)} have a watermark each", found)
    (column, delay), *_ = found.items()
    _check_agrees(name, column, delay, given)
    below = _without_last_step(df)
    if below is None:
        raise _refused(name, "withWatermark is not its last step", found)
    rows, delay_text = below
    if MONTHS.search(delay_text):
        raise _refused(name, "its delay has months, which are not all of one length", found)
    if left := _watermarks(rows):
        raise _refused(name, f"below it there is another one, of {' and '.join(left)}", found)
    return rows, replace(given, time=column, watermark=timedelta(milliseconds=delay))


def _watermarks(df: DataFrame) -> dict[str, int]:
    """The columns that have a watermark, and its delay in milliseconds."""
    return {field.name: int(field.metadata[DELAY]) for field in df.schema.fields if DELAY in field.metadata}


def _check_agrees(name: str, column: str, delay: int, given: StreamOptions) -> None:
    """What is said beside the DataFrame has to be what it says itself."""
    found = {column: delay}
    if given.time is not None and given.time.lower() != column.lower():
        raise _refused(name, f"it is of {column}, and time='{given.time}'", found)
    if given.watermark is not None and length("watermark", given.watermark) != delay * 1000:
        raise _refused(name, f"its delay is {delay} milliseconds, and watermark={given.watermark!r}", found)


def _without_last_step(df: DataFrame) -> tuple[DataFrame, str] | None:
    """The rows below the watermark if it is the last step, and its delay in words."""
    spark = df.sparkSession
    return _without_connect_step(df, spark) if not hasattr(df, "_jdf") else _without_java_step(df, spark)


def _without_java_step(df: DataFrame, spark: SparkSession) -> tuple[DataFrame, str] | None:
    java: Any = df._jdf
    plan = java.queryExecution().analyzed()
    if plan.nodeName() != "EventTimeWatermark":
        return None
    jvm: Any = spark._jvm
    rows = jvm.org.apache.spark.sql.classic.Dataset.ofRows(java.sparkSession(), plan.child())
    return DataFrame(rows, spark), plan.delay().toString()


def _without_connect_step(df: DataFrame, spark: SparkSession) -> tuple[DataFrame, str] | None:
    from pyspark.sql.connect.plan import WithWatermark

    plan: Any = df._plan
    if not isinstance(plan, WithWatermark):
        return None
    rows: DataFrame = type(df)(plan._child, spark)
    return rows, plan._delay_threshold


def _refused(name: str, why: str, found: dict[str, int]) -> PanesError:
    column, delay = next(iter(found.items()))
    said = f"time='{column}', watermark='{delay} milliseconds'"
    hint = f"Leave withWatermark out and declare it here: engine.stream('{name}', df, {said})."
    return PanesError("watermark-already-set", f"the watermark of {name} cannot be taken over: {why}", None, hint)
