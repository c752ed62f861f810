"""Dead letters of topics: what a format makes of them, and what sinks hold of them."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path

import pytest
from postgres_server import Server
from pyspark.sql import SparkSession

from panes import Engine
from panes.errors import PanesError
from spark.kafka.topics import make, send, taken, without_repeats
from spark.postgres.tables import Tables, tables

pytestmark = pytest.mark.spark
DEAD = "starting_offsets = 'earliest', on_error = 'dead_letter', dead_letter = 'bad'"
SCHEMA = (
    """{"type": "record", "name": "r", "fields": [{"name": "k", "type": "string"}, {"name": "v", "type": "int"}]}"""
)


@pytest.fixture
def db(postgres: Server) -> Iterator[Tables]:
    with tables(postgres, "letters") as found:
        yield found


@pytest.mark.parametrize("bad", ["files", "topic"])
def test_avro(kafka: str, spark: SparkSession, tmp_path: Path, bad: str) -> None:
    """What is malformed comes whole into the sink, what is sound into the result."""
    where = f"connector = 'kafka', bootstrap_servers = '{kafka}'"
    source, letters = f"avro-{bad}", f"avro-{bad}-bad"
    make(spark, kafka, source, letters)
    broken = [b"\x02", b"\xff\x00\xfe", b"no avro at all"]
    records = [b"\x02a\x0e", broken[0], b"\x02b\x04", broken[1], b"\x02a\x02", broken[2]]
    send(spark, kafka, source, [("k", one) for one in records])
    sink = f"{where}, topic = '{letters}'" if bad == "topic" else f"connector = 'parquet', path = '{tmp_path}/bad'"
    script = f"""
        CREATE STREAM t (v INT, k STRING, place BIGINT METADATA FROM 'offset') WITH (
            {where}, topic = '{source}', format = 'avro', avro_schema = '{SCHEMA}', {DEAD});
        CREATE SINK out WITH (connector = 'parquet', path = '{tmp_path}/out');
        CREATE SINK bad WITH ({sink});
        INSERT INTO out SELECT k, v FROM t;
    """
    Engine(spark).run(script, checkpoint=tmp_path / "checkpoint", once=True)
    found = sorted((row["k"], row["v"]) for row in spark.read.parquet(f"{tmp_path}/out").collect())
    assert found == [("a", 1), ("a", 7), ("b", 2)]
    if bad == "topic":
        values = [base64.b64decode(value["_value"]) for _, value in without_repeats(taken(spark, kafka, letters))]
    else:
        values = [bytes(row["_value"]) for row in spark.read.parquet(f"{tmp_path}/bad").collect()]
    assert sorted(values) == sorted(broken)


BYTES = [
    b'{"v": "many \xe2\x82\xac"}', b'{"v": \xff\xfe}', b"\x00\x01\x02", b'{"v": "a\x00"}', b"\\xff", b"\xed\xa0\x80",
]  # fmt: skip


def restored(error: str, value: str) -> bytes:
    """The bytes that a dead letter tells of, as the page says."""
    return bytes.fromhex(value.removeprefix("\\x")) if "hexadecimal" in error else value.encode()


@pytest.mark.parametrize("format_", ["json", "csv", "debezium-json"])
def test_bytes_that_are_no_text(kafka: str, spark: SparkSession, db: Tables, tmp_path: Path, format_: str) -> None:
    """A database takes texts alone: what is none is shown in hexadecimal, and nothing is lost, nor does it stop."""
    where = f"connector = 'kafka', bootstrap_servers = '{kafka}'"
    topic, out = f"bytes-{format_}", f"bytes-{format_}-out"
    make(spark, kafka, topic, out)
    good = {"json": b'{"v": 1}', "csv": b"1", "debezium-json": b'{"op": "c", "after": {"v": 1}}'}[format_]
    df = spark.createDataFrame([(one,) for one in [*BYTES, good]], "value binary").coalesce(1)
    df = df.selectExpr("value", "array(struct('a' || char(0) AS key, value AS value)) AS headers")
    df.write.format("kafka").option("kafka.bootstrap.servers", kafka).option("topic", topic).save()
    sinks = {
        "postgres": db.options(f"bad_{format_[:3]}, create = 'true'"),
        "files": f"connector = 'json', path = '{tmp_path}/bad'",
        "topic": f"{where}, topic = '{out}'",
    }
    for name, sink in sinks.items():
        script = f"""
            CREATE STREAM t (v INT, PRIMARY KEY (v)) WITH ({where}, topic = '{topic}', format = '{format_}', {DEAD});
            CREATE SINK good WITH (connector = 'memory');
            CREATE SINK bad WITH ({sink});
            INSERT INTO good SELECT v FROM t;
        """
        Engine(spark).run(script, checkpoint=tmp_path / name, flush=True)
        assert [row["v"] for row in spark.table("good").collect()] == [1]
    files = [(row["_error"], row["_value"]) for row in spark.read.json(f"{tmp_path}/bad").collect()]
    records = [(one["_error"], one["_value"]) for _, one in without_repeats(taken(spark, kafka, out))]
    for found in (db.sql(f"SELECT _error, _value FROM bad_{format_[:3]}"), files, records):
        assert sorted(restored(*one) for one in found) == sorted(BYTES)
        assert {value for error, value in found if "hexadecimal" not in error} == {'{"v": "many €"}', "\\xff"}
    keys = {row["headers"][0]["key"] for row in spark.read.json(f"{tmp_path}/bad").collect()}
    assert keys == {r"\x6100"}


def test_dead_letters_that_are_added_behind_an_offset(kafka: str, spark: SparkSession, tmp_path: Path) -> None:
    """An offset of -1 is the end, as `latest` is: the record that stopped the query would be in neither place."""
    where = f"connector = 'kafka', bootstrap_servers = '{kafka}', topic = 'behind', format = 'json'"
    make(spark, kafka, "behind")
    begin = """starting_offsets = '{"behind": {"0": -1, "1": -1}}'"""

    def run(options: str) -> None:
        script = f"""
            CREATE STREAM t (v INT) WITH ({where}, {options});
            CREATE SINK out WITH (connector = 'noop');
            CREATE SINK bad WITH (connector = 'json', path = '{tmp_path}/bad');
            INSERT INTO out SELECT v FROM t;
        """
        Engine(spark).run(script, checkpoint=tmp_path / "checkpoint", once=True)

    run(begin)
    send(spark, kafka, "behind", [("k", "malformed")])
    codes = []
    for options in (begin, f"{begin}, {DEAD.partition(', ')[2]}"):
        with pytest.raises(PanesError) as caught:
            run(options)
        codes.append(caught.value.code)
    assert codes == ["malformed-record", "stream-options"]
    run(DEAD)
    assert [row["_value"] for row in spark.read.json(f"{tmp_path}/bad").collect()] == ["malformed"]
