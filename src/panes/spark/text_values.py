"""Texts that hold columns: each becomes columns, and `panes_error` says which texts are malformed.

Each text is parsed once, in `inline`: a check in a projection is lost where nobody reads the column, and Spark parses
again for one in a filter.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import DataFrame

from panes.catalog import Column
from panes.spark.expressions import quoted
from panes.spark.malformed import judgement

VALUE, BROKEN = "panes_value", "panes_broken"
OBJECT, END = "panes_object", "panes_end"
SPACE = r"' \t\r\n'"  # of JSON


def decode_json(records: DataFrame, schema: str, options: Mapping[str, str]) -> DataFrame:
    """Spark reads `null`, an empty text and no value at all as a row of NULLs: none of them is an object.

    And it stops at the end of an object. So a value is parsed as a field of another object, in which a second field
    follows: what stands between them is malformed, and if the value ends the outer object, too, the second is missing.
    """
    whole = rf"""concat('{{"{OBJECT}":', {text()}, '\n,"{END}":0}}')"""
    parsed = _parsed("from_json", whole, records, f"{OBJECT} struct<{schema}>, {END} int", options)
    is_object = f"startswith(ltrim({SPACE}, {text()}), '{{')"
    broken = f"{text()} IS NULL OR NOT {is_object} OR {BROKEN} IS NOT NULL OR {END} IS NULL"
    return parsed.selectExpr(*map(quoted, records.columns), f"{OBJECT}.*", judgement(broken, "json"))


def decode_csv(records: DataFrame, schema: str, options: Mapping[str, str]) -> DataFrame:
    parsed = _parsed("from_csv", text(), records, schema, options)
    broken = f"{text()} IS NULL OR {text()} = '' OR {BROKEN} IS NOT NULL"
    return parsed.selectExpr("*", judgement(broken, "csv"))


def _parsed(function: str, sql: str, records: DataFrame, schema: str, options: Mapping[str, str]) -> DataFrame:
    """The records with the fields of a text; one that is malformed is kept in `BROKEN`."""
    given = {**options, "mode": "PERMISSIVE", "columnNameOfCorruptRecord": BROKEN}
    arguments = ", ".join(f"{literal(name)}, {literal(value)}" for name, value in given.items())
    parsed = f"{function}({sql}, {literal(f'{schema}, {BROKEN} string')}, map({arguments}))"
    return records.selectExpr("*", f"inline(array({parsed}))")


def text() -> str:
    """A value as a text."""
    return f"CAST({VALUE} AS STRING)"


def ddl(columns: Sequence[Column]) -> str:
    return ", ".join(f"{quoted(column.name)} {column.type}" for column in columns)


def literal(text: str) -> str:
    """A text in Spark's SQL."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
