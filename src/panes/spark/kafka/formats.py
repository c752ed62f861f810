"""Formats of a record's value: each becomes columns, and `panes_error` says which values are malformed.

Each value is parsed once, in `inline`: a check in a projection is lost where nobody reads the column, and Spark parses
again for one in a filter.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import assert_never

from pyspark.sql import DataFrame
from pyspark.sql.functions import array, col, inline

from panes.catalog import Column, Stream
from panes.connectors.kafka import Format, KafkaSource, avro_fields, value_columns
from panes.spark.expressions import quoted
from panes.spark.malformed import ERROR, judgement

VALUE, BROKEN, READABLE = "panes_value", "panes_broken", "panes_readable"


def held(metadata: str) -> str:
    """The column that holds a record's metadata while its value is decoded, whose fields may have that name."""
    return f"panes_{metadata}"


def decode(records: DataFrame, source: KafkaSource, stream: Stream) -> DataFrame:
    """The records with a column for each field of their value that the stream declares."""
    values = value_columns(stream)
    match source.format:
        case Format.RAW:
            return records.selectExpr("*", f"{VALUE} AS {quoted(values[0].name)}", f"CAST(NULL AS STRING) AS {ERROR}")
        case Format.JSON:
            return decode_json(records, ddl(values), source.parser)
        case Format.CSV:
            parsed = _from_text("from_csv", records, ddl(values), source.parser)
            broken = f"{text()} IS NULL OR {text()} = '' OR {BROKEN} IS NOT NULL"
            return parsed.selectExpr("*", judgement(broken, "csv"))
        case Format.AVRO:
            return _decode_avro(records, source)
        case Format.DEBEZIUM:
            raise AssertionError("a format of changes")
        case _:
            assert_never(source.format)


def ddl(columns: list[Column]) -> str:
    return ", ".join(f"{quoted(column.name)} {column.type}" for column in columns)


def decode_json(records: DataFrame, schema: str, options: Mapping[str, str]) -> DataFrame:
    """Spark reads `null`, an empty text and no value at all as a row of NULLs: none of them is an object."""
    parsed = _from_text("from_json", records, schema, options)
    is_object = rf"startswith(ltrim(' \t\r\n', {text()}), '{{')"
    return parsed.selectExpr("*", judgement(f"{text()} IS NULL OR NOT {is_object} OR {BROKEN} IS NOT NULL", "json"))


def text() -> str:
    """A value as a text."""
    return f"CAST({VALUE} AS STRING)"


def _from_text(function: str, records: DataFrame, schema: str, options: Mapping[str, str]) -> DataFrame:
    """The records with the fields of their values; a value that is malformed is kept in `BROKEN`."""
    given = {**options, "mode": "PERMISSIVE", "columnNameOfCorruptRecord": BROKEN}
    arguments = ", ".join(f"{literal(name)}, {literal(value)}" for name, value in given.items())
    parsed = f"{function}({text()}, {literal(f'{schema}, {BROKEN} string')}, map({arguments}))"
    return records.selectExpr("*", f"inline(array({parsed}))")


def _decode_avro(records: DataFrame, source: KafkaSource) -> DataFrame:
    """Spark reads what is malformed as a row of NULLs. A field that only the reader has, with a default, tells."""
    from pyspark.sql.avro.functions import from_avro

    schema = source.schema or ""
    readable = {"name": READABLE, "type": "boolean", "default": True}
    reader = json.dumps({**json.loads(schema), "fields": [*avro_fields(schema), readable]})
    options = {**source.parser, "mode": "PERMISSIVE", "avroSchema": reader}
    parsed = records.select("*", inline(array(from_avro(col(VALUE), schema, options))))
    return parsed.selectExpr("*", judgement(f"{READABLE} IS NULL", "avro"))


def literal(text: str) -> str:
    """A text in Spark's SQL."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
