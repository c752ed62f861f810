"""Formats of a record's value, over records that never were in Kafka."""

from __future__ import annotations

from typing import Any

import pytest
from jars import MissingError, skip
from present import present
from pyspark.sql import DataFrame, Row, SparkSession

from panes.catalog import Catalog, Stream
from panes.connectors.kafka import kafka_source
from panes.functions import Functions
from panes.script import steps
from panes.spark.kafka.debezium import changes, decode_debezium
from panes.spark.kafka.formats import decode
from panes.spark.kafka.source import PLACE
from panes.spark.malformed import ERROR, Judged, sound
from panes.spark.packages import has_source
from panes.spark.text_values import VALUE

pytestmark = pytest.mark.spark
SCHEMA = "panes_topic string, panes_partition int, panes_offset bigint, panes_value binary"


def stream(format_: str, columns: str, more: str = "") -> Stream:
    options = f"connector = 'kafka', bootstrap_servers = 'h:1', topic = 't', format = '{format_}' {more}"
    catalog = Catalog()
    list(steps(f"CREATE STREAM s ({columns}) WITH ({options})", catalog, Functions()))
    return present(catalog.streams.get("s"))


def records(spark: SparkSession, values: list[str | bytes | None]) -> DataFrame:
    found = [value.encode() if isinstance(value, str) else value for value in values]
    return spark.createDataFrame([("t", 3, offset, value) for offset, value in enumerate(found, 40)], SCHEMA)


def decoded(spark: SparkSession, declared: Stream, values: list[str | bytes | None]) -> list[Row]:
    return decode(records(spark, values), kafka_source(declared), declared).where(f"{ERROR} IS NULL").collect()


def checked(df: DataFrame, declared: Stream) -> DataFrame:
    return sound(Judged(df, PLACE, VALUE, {}), declared)


def fails(spark: SparkSession, declared: Stream, value: str | bytes | None) -> str:
    """What stops a query at a record behind one that is not looked at."""
    with pytest.raises(Exception, match="malformed-record") as caught:
        # nobody reads the columns of the value
        df = decode(records(spark, [value]), kafka_source(declared), declared)
        checked(df, declared).select("panes_offset").collect()
    return str(caught.value)


def test_json(spark: SparkSession) -> None:
    declared = stream("json", "a INT, `b c` STRUCT<x: ARRAY<INT>>, ts TIMESTAMP")
    rows = decoded(
        spark,
        declared,
        ['{"a": 1, "b c": {"x": [1, 2]}, "new": 5}', ' \n{"ts": "2024-01-01T00:00:00.000001Z"}\n ', "{}"],
    )
    assert [(row["a"], row["b c"]) for row in rows] == [(1, Row(x=[1, 2])), (None, None), (None, None)]
    assert rows[1]["ts"].microsecond == 1


BEHIND = ['{"a": 1}{"a": 2}', '{"a": 1} x', '{"a": 1},', '{"a": 1}}', '{"a": 1}} x', '{"a": 1}\n{"a": 2}', '{"a": 1}]']


@pytest.mark.parametrize(
    "value", ['{"a": 1', '{"a": "x"}', '[{"a": 1}]', '"x"', "null", "", None, "17", '{"a": 1.5}', *BEHIND]
)
def test_malformed_json(value: str | None, spark: SparkSession) -> None:
    text = fails(spark, stream("json", "a INT"), value)
    assert "the value of offset 40 in partition 3 of topic t is not json of the declared columns: " in text


def test_csv(spark: SparkSession) -> None:
    declared = stream("csv", "a INT, b STRING", ", csv.sep = ';'")
    assert [(row["a"], row["b"]) for row in decoded(spark, declared, ["1;x", ';"y;z"'])] == [(1, "x"), (None, "y;z")]
    for value in ("1", "x;y", "1;x;y", "", None, "1;x\n2;y", '1;"x"\n2;y'):
        assert "offset 40" in fails(spark, declared, value)


def test_raw(spark: SparkSession) -> None:
    rows = decoded(spark, stream("raw", "it STRING"), ["x", None])
    assert [row["it"] for row in rows] == [b"x", None]  # the declared type is cast to later


def test_avro(spark: SparkSession) -> None:
    if not has_source(spark, "avro"):
        skip(MissingError("this Spark has no jar for avro"))
    schema = """{"type": "record", "name": "r", "fields": [
        {"name": "a", "type": ["null", "int"]}, {"name": "b", "type": "string"}]}"""
    declared = stream("avro", "b STRING, a INT", f", avro_schema = '{schema}'")
    values: list[Any] = [b"\x02\x0e\x02x", b"\x00\x00"]
    assert [(row["a"], row["b"]) for row in decoded(spark, declared, values)] == [(7, "x"), (None, "")]
    for value in (b"\x02", b"", None):
        assert "offset 40" in fails(spark, declared, value)


def test_debezium(spark: SparkSession) -> None:
    declared = stream("debezium-json", "id INT, v STRING, PRIMARY KEY (id)")
    values: list[str | bytes | None] = [
        '{"before": null, "after": {"id": 1, "v": "a"}, "op": "c", "ts_ms": 5, "source": {"db": "x"}}',
        '{"before": {"id": 1, "v": "a"}, "after": {"id": 1, "v": "b"}, "op": "u"}',
        '{"schema": {}, "payload": {"before": null, "after": {"id": 2, "v": "c"}, "op": "r"}}',
        '{"before": null, "after": {"id": 2, "v": "d"}, "op": "u"}',
        '{"before": {"id": 1, "v": null}, "after": null, "op": "d"}',
        None,
    ]
    rows = changes(decode_debezium(records(spark, values), kafka_source(declared), declared)).collect()
    assert [(row["panes_offset"], row["_change_type"], row["id"], row["v"]) for row in rows] == [
        (40, "insert", 1, "a"),
        (41, "update_preimage", 1, "a"),
        (41, "update_postimage", 1, "b"),
        (42, "insert", 2, "c"),
        (43, "update_postimage", 2, "d"),
        (44, "delete", 1, None),
    ]
    for value in (
        '{"op": "t"}',
        '{"op": "d", "before": null}',
        '{"after": {"id": 1}}',
        '{"op": "c"}',
        "x",
        '{"op": "c", "after": {"id": 1}} {"op": "d"}',
    ):
        with pytest.raises(Exception, match="malformed-record"):
            checked(decode_debezium(records(spark, [value]), kafka_source(declared), declared), declared).collect()
