"""The options of Kafka streams and sinks."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from panes.catalog import Column, Sink, Stream
from panes.connectors.kafka_values import check_values, partitions_in
from panes.connectors.options import Known, named, names, one_of, required
from panes.errors import PanesError, suggestion
from panes.secrets import has_reference

CONNECTOR = "kafka"
METADATA = ("key", "topic", "partition", "offset", "timestamp", "headers")
PASSED_ON = "kafka."  # options of Kafka's own clients
SERVERS = "kafka.bootstrap.servers"
# What Panes calls Spark's options; their own names are as good.
SPARK_NAMES = {
    "bootstrap_servers": SERVERS,
    "topic": "subscribe",
    "topic_pattern": "subscribePattern",
    "starting_offsets": "startingOffsets",
    "starting_timestamp": "startingTimestamp",
    "max_offsets_per_trigger": "maxOffsetsPerTrigger",
    "min_offsets_per_trigger": "minOffsetsPerTrigger",
    "max_trigger_delay": "maxTriggerDelay",
    "min_partitions": "minPartitions",
    "fail_on_data_loss": "failOnDataLoss",
    "group_id_prefix": "groupIdPrefix",
}
SPARKS = ("startingOffsetsByTimestamp", "startingOffsetsByTimestampStrategy", "assign", "maxRecordsPerPartition",
          "fetchOffset.numRetries", "fetchOffset.retryIntervalMs", "kafkaConsumer.pollTimeoutMs")  # fmt: skip
FORMAT_OPTIONS = ("json.", "csv.", "avro.")  # how options of Spark's reader of a format begin
STREAM_OPTIONS = Known(
    ("format", "avro_schema", *SPARK_NAMES, *SPARKS), (PASSED_ON, *FORMAT_OPTIONS), tuple(SPARK_NAMES.values())
)
SINK_OPTIONS = Known(("format", "bootstrap_servers", "topic", "key", "headers", "changelog"), (PASSED_ON, "json."))
WHICH = ("subscribe", "subscribePattern", "assign")


class Format(Enum):
    JSON = "json"
    CSV = "csv"
    AVRO = "avro"
    RAW = "raw"
    DEBEZIUM = "debezium-json"


class Changes(Enum):
    """How a sink takes a changelog: as the last row of each key, or as rows."""

    UPSERT = "upsert"
    ROWS = "rows"


@dataclass(frozen=True)
class KafkaSource:
    """`spark` are the options for Spark's reader, `parser` those for the reader of the format."""

    format: Format
    spark: Mapping[str, str]
    parser: Mapping[str, str] = field(default_factory=dict)
    schema: str | None = None  # of Avro


@dataclass(frozen=True)
class KafkaSink:
    """`spark` are the options for Spark's writer; `key` and `headers` are columns of the result."""

    spark: Mapping[str, str]
    key: tuple[str, ...]
    headers: tuple[str, ...]
    changes: Changes | None
    parser: Mapping[str, str] = field(default_factory=dict)


def is_debezium(options: Mapping[str, str]) -> bool:
    """Whether a stream is a changelog because of its format."""
    formats = [value.lower() for name, value in options.items() if name.lower() == "format"]
    return options.get("connector") == CONNECTOR and formats == [Format.DEBEZIUM.value]


def check_stream(stream: Stream) -> None:
    """Refuse what a stream of this connector cannot be; METADATA is Kafka's alone."""
    if stream.options.get("connector") == CONNECTOR:
        kafka_source(stream)
        return
    for column in stream.columns:
        if column.metadata is not None:
            hint = "Only connector = 'kafka' has METADATA columns."
            raise PanesError("stream-options", f"{column.name} is METADATA, which this connector has not", None, hint)


def kafka_source(stream: Stream) -> KafkaSource:
    """A stream's options, if they can work; its dead letters are read as it is."""
    stream = stream.dead_letters_of or stream
    options = named(CONNECTOR, stream.options, STREAM_OPTIONS)
    format_ = Format(one_of(options, "format", [one.value for one in Format], None))
    _check_format_options(options, format_)
    spark = _spark_options(options)
    check_values(spark, _panes_name)
    which = [name for name in WHICH if name in spark]
    if not which:
        raise PanesError("stream-options", f"the stream {stream.name} has no topic", None, "Add topic = '…'.")
    if len(which) > 1:
        text = f"the stream {stream.name} names its topics by {' and '.join(which)}"
        raise PanesError("stream-options", text, None, "Leave one of them out.")
    parser = _prefix(format_)
    source = KafkaSource(
        format_,
        spark,
        {name[len(parser) :]: value for name, value in options.items() if name.lower().startswith(parser)},
        required(options, "avro_schema", '{"type": "record", …}') if format_ == Format.AVRO else None,
    )
    _check_columns(stream, source)
    return source


def _prefix(format_: Format) -> str:
    """How the options of a format's reader begin."""
    return f"{format_.value.removeprefix('debezium-')}."


def _check_format_options(options: Mapping[str, str], format_: Format) -> None:
    """Refuse what is for another format: nobody would read it."""
    for name in options:
        of = "avro." if name == "avro_schema" else next((one for one in FORMAT_OPTIONS if name.startswith(one)), None)
        if of is not None and of != _prefix(format_):
            text = f"the option {name} is not for format = '{format_.value}'"
            raise PanesError("stream-options", text, None, f"It is for format = '{of[:-1]}'.")
        if name.lower() == "avro.avroschema":
            hint = "avro_schema is the schema that records were written with; columns are taken from it by name."
            raise PanesError("stream-options", f"the option {name} would be another schema", None, hint)


def _spark_options(options: Mapping[str, str]) -> dict[str, str]:
    if SERVERS not in options:
        required(options, "bootstrap_servers", "host:9092")
    spark: dict[str, str] = {}
    for name, value in options.items():
        if name in SPARK_NAMES or name in SPARK_NAMES.values() or name in SPARKS or name.startswith(PASSED_ON):
            known = SPARK_NAMES.get(name, name)
            if known in spark:
                text = f"the option {name} says again what another one says"
                raise PanesError("stream-options", text, None, f"Leave {name} or {_panes_name(known)} out.")
            spark[known] = value
    return spark


def _panes_name(spark: str) -> str:
    return next((name for name, known in SPARK_NAMES.items() if known == spark), spark)


def value_columns(stream: Stream) -> list[Column]:
    """The columns that a record's value holds."""
    return [column for column in stream.columns if column.computed is None and column.metadata is None]


def _check_columns(stream: Stream, source: KafkaSource) -> None:
    for column in stream.columns:
        if column.metadata is not None and column.metadata not in METADATA:
            hint = suggestion(column.metadata, METADATA)
            raise PanesError("unknown-column", f"a record of Kafka has no {column.metadata}", None, hint)
    values = value_columns(stream)
    if source.format == Format.RAW and (len(values) != 1 or values[0].type not in ("binary", "string")):
        hint = "format = 'raw' has one column, BINARY or STRING, beside METADATA and computed ones."
        raise PanesError("stream-options", f"the stream {stream.name} has other columns than a raw value", None, hint)
    if source.format != Format.RAW and not values:
        raise PanesError("stream-options", f"no column of {stream.name} is read from the records' values")
    if source.format == Format.AVRO and not has_reference(source.schema or ""):
        fields = [one["name"] for one in avro_fields(source.schema or "")]
        for column in values:
            if column.name not in fields:
                hint = suggestion(column.name, fields)
                raise PanesError("unknown-column", f"avro_schema has no field {column.name}", None, hint)


def avro_fields(schema: str) -> Sequence[dict[str, Any]]:
    """The fields of an Avro record."""
    try:
        found = json.loads(schema)["fields"]
        if all("name" in one for one in found):
            return list(found)
    except (ValueError, TypeError, KeyError):
        pass
    hint = """Write avro_schema = '{"type": "record", "name": "r", "fields": [{"name": "a", "type": "int"}]}'."""
    raise PanesError("stream-options", "avro_schema is not the schema of a record", None, hint)


def check_sink(sink: Sink) -> None:
    if sink.options["connector"] == CONNECTOR:
        kafka_sink(sink)


def kafka_sink(sink: Sink) -> KafkaSink:
    """A sink's options, if they can work."""
    options = named(CONNECTOR, sink.options, SINK_OPTIONS)
    one_of(options, "format", ("json",), "json")
    topic = required(options, "topic", "name")
    changes = one_of(options, "changelog", [one.value for one in Changes], None) if "changelog" in options else None
    spark = {name: value for name, value in _spark_options(options).items() if name not in WHICH} | {"topic": topic}
    key, headers = (names(options.get(name, "")) for name in ("key", "headers"))
    if changes == Changes.UPSERT.value and not key:
        hint = "Add key = 'column, …': the columns that identify a row."
        raise PanesError("stream-options", f"the sink {sink.name} upserts without a key", None, hint)
    parser = {name[len("json.") :]: value for name, value in options.items() if name.lower().startswith("json.")}
    return KafkaSink(spark, key, headers, Changes(changes) if changes else None, parser)


def check_loop(sink: Sink, streams: Iterable[Stream]) -> None:
    """Refuse an INSERT into a topic that it reads: it would never come to an end."""
    if sink.options["connector"] != CONNECTOR:
        return
    out = kafka_sink(sink).spark
    for stream in streams:
        if stream.options.get("connector") == CONNECTOR:
            read = kafka_source(stream).spark
            if read[SERVERS] == out[SERVERS] and _reads(read, out["topic"]):
                raise PanesError("stream-options", f"INSERT INTO {sink.name} would read its own topic {out['topic']}")


def _reads(read: Mapping[str, str], topic: str) -> bool:
    """Whether a reader's options name a topic."""
    return topic in topics_in(read) or _matches(read.get("subscribePattern"), topic)


def topics_in(read: Mapping[str, str]) -> list[str]:
    """The topics that a reader's options name."""
    return [*names(read.get("subscribe", "")), *_assigned(read)]


def _matches(pattern: str | None, topic: str) -> bool:
    try:
        return pattern is not None and re.fullmatch(pattern, topic) is not None
    except re.error:
        return False  # nobody can tell: it may be one that only Java reads


def _assigned(read: Mapping[str, str]) -> Collection[str]:
    return partitions_in(read.get("assign", "{}")) or ()
