"""Spark's last word on a kernel's value: its type, and an error that names the function and the row if it has none."""

from __future__ import annotations

import re
from collections.abc import Mapping
from string import Template

from pyspark.sql import SparkSession

from panes.spark.failing_rows import MOST_COLUMNS

CAST = re.compile(r"CAST\((?P<value>.*) AS (?P<type>[^ ]+)\)")


def finished(finish: str, value: str, call: str, row: Mapping[str, str], spark: SparkSession) -> str:
    """The text of a call's value, where `finish` says what Spark makes of `$v`; `row` is what tells where it was.

    In ANSI mode a cast that overflows is an error, and Spark's does not say whose value it was.
    """
    text = Template(finish).substitute(v=value)
    found = CAST.fullmatch(text)
    if found is None or spark.conf.get("spark.sql.ansi.enabled") != "true":
        return text
    said = f"PanesError: value-failed: {call} is beyond {found['type'].upper()}"
    shown = [literal(said), *([literal(": "), f"CAST({value} AS STRING)"] if found["value"] == value else [])]
    for number, (name, column) in enumerate(list(row.items())[:MOST_COLUMNS]):
        before = ", at the row " if number == 0 else ", "
        shown += [literal(f"{before}{name} = "), f"coalesce(CAST({column} AS STRING), 'NULL')"]
    raised = f"CAST(raise_error(concat({', '.join(shown)})) AS {found['type']})"
    return f"coalesce(TRY_{text}, CASE WHEN {value} IS NOT NULL THEN {raised} END)"


def literal(text: str) -> str:
    """A text in Spark's SQL.

    >>> print(literal("a'b"))
    'a\\'b'
    """
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
