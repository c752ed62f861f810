"""Kafka in: the records of topics as rows of a declared stream.

records ─ metadata, value ─ decoded, or the query stops and names the record ─ the declared columns
"""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession

from panes.catalog import Column, Stream
from panes.connectors.kafka import METADATA, Format, KafkaSource, kafka_source, names
from panes.kernels.changelog.changes import CHANGE
from panes.spark.expressions import quoted
from panes.spark.kafka.broker import check_topics
from panes.spark.kafka.debezium import decode_debezium
from panes.spark.kafka.formats import VALUE, decode, held
from panes.spark.packages import check_packages


def read_kafka(stream: Stream, spark: SparkSession) -> DataFrame:
    """All columns of a stream that are not computed, and `_change_type` first if its records are changes."""
    source = kafka_source(stream)
    check_packages(spark, stream)
    check_topics(spark, source.spark, names(source.spark.get("subscribe", "")))
    stored = [column for column in stream.columns if column.computed is None]
    reader = spark.readStream.format("kafka").options(**source.spark)
    if any(column.metadata == "headers" for column in stored):
        reader = reader.option("includeHeaders", "true")
    records = reader.load()
    kept = [f"{name} AS {held(name)}" for name in METADATA if name in records.columns]
    decoded = _decoded(records.selectExpr(*kept, f"value AS {VALUE}"), source, stream)
    change = [CHANGE] if stream.changelog else []
    return decoded.selectExpr(*change, *(_cast(column) for column in stored))


def _decoded(records: DataFrame, source: KafkaSource, stream: Stream) -> DataFrame:
    if source.format == Format.DEBEZIUM:
        return decode_debezium(records, source, stream)
    return decode(records, source, stream)


def _cast(column: Column) -> str:
    read = held(column.metadata) if column.metadata is not None else quoted(column.name)
    return f"CAST({read} AS {column.type}) AS {quoted(column.name)}"
