"""Formats of a record's value: each becomes columns, and `panes_error` says which values are malformed."""

from __future__ import annotations

import json
from typing import assert_never

from pyspark.sql import DataFrame
from pyspark.sql.functions import array, col, inline

from panes.catalog import Stream
from panes.connectors.kafka import Format, KafkaSource, avro_fields, value_columns
from panes.spark.expressions import quoted
from panes.spark.malformed import ERROR, judgement
from panes.spark.text_values import VALUE, ddl, decode_csv, decode_json

READABLE = "panes_readable"


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
            return decode_csv(records, ddl(values), source.parser)
        case Format.AVRO:
            return _decode_avro(records, source)
        case Format.DEBEZIUM:
            raise AssertionError("a format of changes")
        case _:
            assert_never(source.format)


def _decode_avro(records: DataFrame, source: KafkaSource) -> DataFrame:
    """Spark reads what is malformed as a row of NULLs. A field that only the reader has, with a default, tells."""
    from pyspark.sql.avro.functions import from_avro

    schema = source.schema or ""
    readable = {"name": READABLE, "type": "boolean", "default": True}
    reader = json.dumps({**json.loads(schema), "fields": [*avro_fields(schema), readable]})
    options = {**source.parser, "mode": "PERMISSIVE", "avroSchema": reader}
    parsed = records.select("*", inline(array(from_avro(col(VALUE), schema, options))))
    return parsed.selectExpr("*", judgement(f"{READABLE} IS NULL", "avro"))
