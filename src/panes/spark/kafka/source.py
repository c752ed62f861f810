"""Kafka in: the records of topics as rows of a declared stream.

records ─ metadata, value ─ decoded and judged ─ those that are sound ─ the declared columns
"""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession

from panes.catalog import Column, Stream
from panes.connectors.kafka import METADATA, Format, KafkaSource, kafka_source, topics_in
from panes.kernels.changelog.changes import CHANGE
from panes.spark.expressions import quoted
from panes.spark.kafka.broker import check_topics
from panes.spark.kafka.debezium import changes, decode_debezium
from panes.spark.kafka.formats import decode, held
from panes.spark.malformed import Judged, sound
from panes.spark.packages import check_packages
from panes.spark.text_values import VALUE, text

PLACE = (
    f"concat('the value of offset ', {held('offset')}, ' in partition ', {held('partition')}, "
    f"' of topic ', {held('topic')})"
)


def read_kafka(stream: Stream, spark: SparkSession) -> DataFrame:
    """All columns of a stream that are not computed, and `_change_type` first if its records are changes."""
    stored = [column for column in stream.columns if column.computed is None]
    headers = any(column.metadata == "headers" for column in stored)
    rows = sound(judged_records(stream, spark, headers), stream)
    if kafka_source(stream).format == Format.DEBEZIUM:
        rows = changes(rows)
    change = [CHANGE] if stream.changelog else []
    return rows.selectExpr(*change, *(_cast(column) for column in stored))


def judged_records(stream: Stream, spark: SparkSession, headers: bool) -> Judged:
    """The records of a stream with the columns of their values, read with their headers or without."""
    source = kafka_source(stream)
    check_packages(spark, stream)
    check_topics(spark, source.spark, topics_in(source.spark))
    reader = spark.readStream.format("kafka").options(**source.spark)
    records = (reader.option("includeHeaders", "true") if headers else reader).load()
    metadata = {name: held(name) for name in METADATA if name in records.columns}
    kept = [f"{name} AS {column}" for name, column in metadata.items()]
    decoded = _decoded(records.selectExpr(*kept, f"value AS {VALUE}"), source, stream)
    return Judged(decoded, PLACE, VALUE if source.format == Format.AVRO else text(), metadata)


def _decoded(records: DataFrame, source: KafkaSource, stream: Stream) -> DataFrame:
    if source.format == Format.DEBEZIUM:
        return decode_debezium(records, source, stream)
    return decode(records, source, stream)


def _cast(column: Column) -> str:
    read = held(column.metadata) if column.metadata is not None else quoted(column.name)
    return f"CAST({read} AS {column.type}) AS {quoted(column.name)}"
