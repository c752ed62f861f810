"""The options of Kafka streams and sinks, without Spark."""

import pytest
from present import present

from panes.catalog import Catalog, Sink, Stream
from panes.connectors.kafka import Changes, Format, check_loop, kafka_sink, kafka_source
from panes.errors import PanesError
from panes.functions import Functions
from panes.script import steps

WHERE = "bootstrap_servers = 'h:1', topic = 't'"
AVRO = '{"type": "record", "name": "r", "fields": [{"name": "a", "type": "int"}]}'


def run(sql: str) -> Catalog:
    catalog = Catalog()
    list(steps(sql, catalog, Functions()))
    return catalog


def stream(options: str, columns: str = "a INT") -> Stream:
    return present(run(f"CREATE STREAM s ({columns}) WITH (connector = 'kafka', {options})").streams.get("s"))


def sink(options: str) -> Sink:
    return present(run(f"CREATE SINK s WITH (connector = 'Kafka', {options})").sinks.get("s"))


def test_a_stream() -> None:
    options = f"""{WHERE}, FORMAT = 'JSON', starting_offsets = 'earliest', max_offsets_per_trigger = 10,
        minPartitions = 3, kafka.security.protocol = 'SSL', json.timestampFormat = 'x'"""
    source = kafka_source(stream(options))
    assert source.format == Format.JSON
    assert source.spark == {
        "kafka.bootstrap.servers": "h:1", "subscribe": "t", "startingOffsets": "earliest",
        "maxOffsetsPerTrigger": "10", "minPartitions": "3", "kafka.security.protocol": "SSL",
    }  # fmt: skip
    assert source.parser == {"timestampFormat": "x"}


def test_names_have_no_case() -> None:
    spark = kafka_source(stream("TOPIC = 't', FORMAT = 'json', KAFKA.bootstrap.servers = 'h:1'", "a INT")).spark
    assert spark == {"kafka.bootstrap.servers": "h:1", "subscribe": "t"}
    spark = kafka_source(stream(f"{WHERE}, format = 'json', KAFKA.security.protocol = 'SSL'")).spark
    assert spark["kafka.security.protocol"] == "SSL"
    assert kafka_source(stream(f"{WHERE}, format = 'json', JSON.locale = 'x'")).parser == {"locale": "x"}


@pytest.mark.parametrize("more", ["subscribe = 'u'", "kafka.bootstrap.servers = 'h:2'"])
def test_nothing_is_said_twice(more: str) -> None:
    with pytest.raises(PanesError) as caught:
        stream(f"{WHERE}, format = 'json', {more}")
    assert caught.value.code == "stream-options"
    assert "says again" in caught.value.message


def test_debezium_is_a_changelog() -> None:
    found = stream(f"{WHERE}, format = 'debezium-json'", "a INT, PRIMARY KEY (a)")
    assert found.changelog
    assert not stream(f"{WHERE}, format = 'json'").changelog


def test_a_sink() -> None:
    found = kafka_sink(sink(f"{WHERE}, key = 'a, b', headers = 'c', changelog = 'upsert', kafka.acks = '1'"))
    assert found.spark == {"kafka.bootstrap.servers": "h:1", "kafka.acks": "1", "topic": "t"}
    assert (found.key, found.headers, found.changes) == (("a", "b"), ("c",), Changes.UPSERT)


@pytest.mark.parametrize(
    ("options", "columns", "code"),
    [
        ("topic = 't', format = 'json'", "a INT", "stream-options"),
        ("bootstrap_servers = 'h:1', format = 'json'", "a INT", "stream-options"),
        (WHERE, "a INT", "stream-options"),
        (f"{WHERE}, format = 'xml'", "a INT", "stream-options"),
        (f"{WHERE}, format = 'json', on_error = 'skip'", "a INT", "stream-options"),
        (f"{WHERE}, format = 'json', starting_ofsets = 'latest'", "a INT", "stream-options"),
        (f"{WHERE}, format = 'json', topic_pattern = 'x'", "a INT", "stream-options"),
        (f"{WHERE}, format = 'json'", "a INT METADATA", "unknown-column"),
        (f"{WHERE}, format = 'json'", "offset INT METADATA, a INT AS offset + 1", "stream-options"),
        (f"{WHERE}, format = 'raw'", "a STRING, b STRING", "stream-options"),
        (f"{WHERE}, format = 'raw'", "a INT", "stream-options"),
        (f"{WHERE}, format = 'avro'", "a INT", "stream-options"),
        (f"{WHERE}, format = 'avro', avro_schema = '[]'", "a INT", "stream-options"),
        (f"{WHERE}, format = 'avro', avro_schema = '{AVRO}'", "b INT", "unknown-column"),
        (f"{WHERE}, format = 'debezium-json'", "a INT", "stream-options"),
        (f"{WHERE}, format = 'json', csv.sep = ';'", "a INT", "stream-options"),
        (f"{WHERE}, format = 'raw', raw.x = '1'", "a STRING", "stream-options"),
        (f"{WHERE}, format = 'debezium-json', debezium-json.x = '1'", "a INT, PRIMARY KEY (a)", "stream-options"),
        (f"{WHERE}, format = 'json', avro_schema = '{AVRO}'", "a INT", "stream-options"),
        (f"{WHERE}, format = 'avro', avro_schema = '{AVRO}', avro.avroSchema = '{AVRO}'", "a INT", "stream-options"),
    ],
)
def test_refused_streams(options: str, columns: str, code: str) -> None:
    with pytest.raises(PanesError) as caught:
        stream(options, columns)
    assert caught.value.code == code
    assert caught.value.span is not None


def test_metadata_is_of_kafka_alone() -> None:
    with pytest.raises(PanesError) as caught:
        run("CREATE STREAM s (offset BIGINT METADATA) WITH (connector = 'json', path = 'x')")
    assert caught.value.code == "stream-options"


@pytest.mark.parametrize(
    "options",
    [
        "topic = 't'",
        "bootstrap_servers = 'h:1'",
        f"{WHERE}, format = 'csv'",
        f"{WHERE}, changelog = 'append'",
        f"{WHERE}, changelog = 'upsert'",
        f"{WHERE}, keys = 'a'",
    ],
)
def test_refused_sinks(options: str) -> None:
    with pytest.raises(PanesError) as caught:
        sink(options)
    assert caught.value.code == "stream-options"
    assert caught.value.span is not None


def test_nobody_reads_what_it_writes() -> None:
    out = sink(WHERE)
    check_loop(out, [stream("bootstrap_servers = 'h:1', topic = 'u', format = 'json'")])
    check_loop(out, [stream("bootstrap_servers = 'other:1', topic = 't', format = 'json'")])
    with pytest.raises(PanesError) as caught:
        check_loop(out, [stream("bootstrap_servers = 'h:1', topic = 'u, t', format = 'json'")])
    assert caught.value.code == "stream-options"
    for which in ("topic_pattern = '[s-u]'", """assign = '{"t": [0]}'"""):
        with pytest.raises(PanesError):
            check_loop(out, [stream(f"bootstrap_servers = 'h:1', {which}, format = 'json'")])
    for which in ("topic_pattern = 'tt+'", "topic_pattern = '\\p{L}'", """assign = '{"u": [0]}'"""):
        check_loop(out, [stream(f"bootstrap_servers = 'h:1', {which}, format = 'json'")])


OFFSETS = """starting_offsets = '{"t": {"0": 5, "1": -1}}'"""
TIMES = """startingOffsetsByTimestamp = '{"t": {"0": 5}}'"""


@pytest.mark.parametrize(
    "value",
    [
        "starting_offsets = ' Earliest '",
        OFFSETS,
        "starting_offsets = '${ENV:FROM}'",
        "starting_timestamp = '1700000000000', startingOffsetsByTimestampStrategy = 'LATEST'",
        TIMES,
        "max_offsets_per_trigger = 1, min_partitions = '4'",
        "minOffsetsPerTrigger = '5', max_trigger_delay = '10m'",
        "fail_on_data_loss = 'False', fetchOffset.numRetries = '0'",
    ],
)
def test_values_that_spark_reads(value: str) -> None:
    stream(f"{WHERE}, format = 'json', {value}")


@pytest.mark.parametrize(
    "value",
    [
        "starting_offsets = 'erliest'",
        "starting_offsets = '5'",
        """starting_offsets = '{"t": {"0": -3}}'""",
        """starting_offsets = '{"t": 5}'""",
        """starting_offsets = '{"t": {"first": 5}}'""",
        "starting_offsets = '{}'",
        "starting_timestamp = 'yesterday'",
        "starting_timestamp = '-1'",
        """startingOffsetsByTimestamp = '{"t": {"0": -1}}'""",
        "starting_timestamp = 5, startingOffsetsByTimestampStrategy = 'newest'",
        "max_offsets_per_trigger = 'many'",
        "max_offsets_per_trigger = 0",
        "min_offsets_per_trigger = '1.5'",
        "min_partitions = '0'",
        "maxRecordsPerPartition = '-1'",
        "min_offsets_per_trigger = 5, max_trigger_delay = '15 minutes'",
        "fail_on_data_loss = 'no'",
        "fetchOffset.retryIntervalMs = '1s'",
        "starting_offsets = 'earliest', starting_timestamp = '5'",
        f"starting_timestamp = '5', {TIMES}",
        "startingOffsetsByTimestampStrategy = 'latest'",
        "max_trigger_delay = '10m'",
    ],
)
def test_values_that_spark_would_refuse_or_not_read(value: str) -> None:
    with pytest.raises(PanesError) as caught:
        stream(f"{WHERE}, format = 'json', {value}")
    assert caught.value.code == "stream-options"
    assert caught.value.span is not None
    assert caught.value.hint is not None


@pytest.mark.parametrize("value", ["t", "[0]", '{"t": 0}', '{"t": ["0"]}', '{"t": []}', "{}"])
def test_partitions_that_are_none(value: str) -> None:
    with pytest.raises(PanesError) as caught:
        stream(f"bootstrap_servers = 'h:1', format = 'json', assign = '{value}'")
    assert caught.value.code == "stream-options"


def test_what_belongs_to_another_format_is_told() -> None:
    with pytest.raises(PanesError) as caught:
        stream(f"{WHERE}, format = 'json', csv.sep = ';'")
    assert "csv.sep" in caught.value.message
    assert caught.value.hint == "It is for format = 'csv'."
