"""Spark's last word on a kernel's value: its type, and an error that names the function and the row if it has none."""

from __future__ import annotations

from collections.abc import Mapping
from string import Template

from pyspark.sql import SparkSession

from panes.kernels.aggregates.accumulator import Finish
from panes.spark.failing_rows import MOST_COLUMNS


def finished(finish: Finish, value: str, call: str, row: Mapping[str, str], spark: SparkSession) -> str:
    """The text of a call's value, where `finish` says what Spark makes of it; `row` is what tells where it was.

    In ANSI mode a cast that overflows is an error, and Spark's does not say whose value it was.
    """
    text, type_ = Template(finish.value).substitute(v=value), finish.cast
    if type_ is None:
        return text
    cast = f"CAST({text} AS {type_})"
    if finish.tries:
        return f"TRY_{cast}"
    if spark.conf.get("spark.sql.ansi.enabled") != "true":
        return cast
    said = f"PanesError: value-failed: {call} is beyond {type_.upper()}"
    shown = [literal(said), *([literal(": "), f"CAST({value} AS STRING)"] if text == value else [])]
    for number, (name, column) in enumerate(list(row.items())[:MOST_COLUMNS]):
        before = ", at the row " if number == 0 else ", "
        shown += [literal(f"{before}{name} = "), f"coalesce(CAST({column} AS STRING), 'NULL')"]
    raised = f"CAST(raise_error(concat({', '.join(shown)})) AS {type_})"
    return f"coalesce(TRY_{cast}, CASE WHEN {value} IS NOT NULL THEN {raised} END)"


def literal(text: str) -> str:
    """A text in Spark's SQL.

    >>> print(literal("a'b"))
    'a\\'b'
    """
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
