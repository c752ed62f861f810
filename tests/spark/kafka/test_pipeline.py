"""Kafka → windows → Kafka on a real broker: equal to the batch, a restart and repeats included."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import expr

from panes import Engine
from panes.errors import PanesError
from panes.spark.report import Report
from spark.input_files import at

pytestmark = pytest.mark.spark
COLUMNS = """
    key STRING METADATA, payload STRUCT<at: STRING, k: STRING>, v BIGINT, place BIGINT METADATA FROM 'offset',
    source STRING METADATA FROM 'topic', headers ARRAY<STRUCT<key: STRING, value: STRING>> METADATA,
    ts TIMESTAMP AS to_timestamp(payload.at), k STRING AS upper(payload.k),
    WATERMARK FOR ts AS ts - INTERVAL 20 SECONDS
"""
ROWS = [(1000 * n, f"k{n % 3}", n) for n in range(120)]


def make(spark: SparkSession, kafka: str, *topics: str) -> None:
    """Topics as the broker makes them; a first record that makes its own may come too early and never arrive."""
    jvm: Any = spark._jvm
    settings = jvm.java.util.Properties()
    settings.put("bootstrap.servers", kafka)
    default = jvm.java.util.Optional.empty()
    wanted = jvm.java.util.ArrayList()
    for topic in topics:
        wanted.add(jvm.org.apache.kafka.clients.admin.NewTopic(topic, default, default))
    admin = jvm.org.apache.kafka.clients.admin.AdminClient.create(settings)
    admin.createTopics(wanted).all().get()
    admin.close()


def send(spark: SparkSession, kafka: str, topic: str, rows: list[tuple[str, str | None]]) -> None:
    df = spark.createDataFrame(rows, "key string, value string").coalesce(1)
    df = df.withColumn("headers", expr("array(struct('from' AS key, CAST(key AS BINARY) AS value))"))
    df.write.format("kafka").option("kafka.bootstrap.servers", kafka).option("topic", topic).save()


def taken(spark: SparkSession, kafka: str, topic: str) -> DataFrame:
    reader = spark.read.format("kafka").option("kafka.bootstrap.servers", kafka).option("subscribe", topic)
    records = reader.option("includeHeaders", "true").load()
    return records.selectExpr(
        "CAST(key AS STRING) AS key", "CAST(value AS STRING) AS value", "partition", "offset",
        "CAST(filter(headers, h -> h.key = 'panes-id')[0].value AS STRING) AS id",
    ).orderBy("partition", "offset")  # fmt: skip


def record(milliseconds: int, k: str, v: int) -> tuple[str, str]:
    return k, json.dumps({"payload": {"at": at(milliseconds), "k": k}, "v": v})


def stream(kafka: str, topic: str) -> str:
    return f"""
        CREATE STREAM t ({COLUMNS}) WITH (connector = 'kafka', bootstrap_servers = '{kafka}', topic = '{topic}',
            format = 'json', starting_offsets = 'earliest', max_offsets_per_trigger = '68');
    """


Groups = dict[tuple[str, int], int]


def sums(rows: list[tuple[int, str, int]]) -> Groups:
    """The definition: sums by key and ten seconds."""
    found: Groups = defaultdict(int)
    for milliseconds, k, v in rows:
        found[k.upper(), milliseconds // 10_000 * 10] += v
    return found


def counts(rows: list[tuple[int, str, int]]) -> Groups:
    return sums([(milliseconds, k, 1) for milliseconds, k, _ in rows])


def test_from_kafka_through_windows_to_kafka(kafka: str, spark: SparkSession, tmp_path: Path) -> None:
    query = "SELECT k, unix_timestamp(window_start()) AS at, sum(v) AS s, count(headers) AS n FROM t"
    groups = "GROUP BY tumblingwindow('ss', 10), k"
    script = f"""
        {stream(kafka, "in")}
        CREATE SINK out WITH (connector = 'kafka', bootstrap_servers = '{kafka}', topic = 'out', key = 'k');
        CREATE SINK latest WITH (connector = 'kafka', bootstrap_servers = '{kafka}', topic = 'latest',
                                 key = 'k, at', changelog = 'upsert');
        INSERT INTO out {query} {groups};
        INSERT INTO latest SELECT k, window_start() AS at, sum(v) AS s FROM t {groups} HAVING count(*) < 4 EMIT CHANGES;
    """
    reports: list[Report] = []
    checkpoint = tmp_path / "checkpoint"

    def run(**how: Any) -> None:
        Engine(spark).run(script, checkpoint=checkpoint, report=reports.append, **how)

    make(spark, kafka, "in", "out", "latest")
    send(spark, kafka, "in", [record(*row) for row in ROWS])
    run(once=True)
    commits = checkpoint / "1-out" / "spark" / "commits"
    last = max(int(one.name) for one in commits.glob("[0-9]*"))
    for name in (f"{last}", f".{last}.crc"):
        (commits / name).unlink(missing_ok=True)  # killed after it wrote to Kafka, before Spark took note
    run(flush=True)

    assert sum(report.counters["late_rows"] for report in reports) == 0
    records = taken(spark, kafka, "out").collect()
    by_id: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for one in records:
        by_id[one["id"]].append((one["key"], one["value"]))
    assert all(len(set(repeats)) == 1 for repeats in by_id.values())  # an id is that of one row
    assert len(records) > len(by_id)  # and the last micro-batch came twice
    rows = [(key, json.loads(value)) for ((key, value), *_) in by_id.values()]
    assert all(key == row["k"] for key, row in rows)
    found = sorted((row["k"], row["at"], row["s"]) for _, row in rows)
    assert found == sorted((*key, s) for key, s in sums(ROWS).items())
    assert sum(row["n"] for _, row in rows) == len(ROWS)

    table: dict[str, str | None] = {}
    for one in taken(spark, kafka, "latest").collect():
        table[one["key"]] = one["value"]
    kept = [json.loads(value) for value in table.values() if value is not None]
    small = {key: s for key, s in sums(ROWS).items() if counts(ROWS)[key] < 4}
    assert sorted((row["k"], row["s"]) for row in kept) == sorted((k, s) for (k, _), s in small.items())
    assert None in table.values()  # windows that grew past HAVING


def test_debezium_to_a_topic_that_is_a_table(kafka: str, spark: SparkSession, tmp_path: Path) -> None:
    """Changes of a table through OVER; the topic has the last row of each key."""
    rows: dict[int, int] = {}
    envelopes: list[tuple[str, str | None]] = []
    for n in range(40):
        id_, before = n * 7 % 11, rows.get(n * 7 % 11)
        if before is not None and n % 5 == 0:
            envelopes.append((str(id_), json.dumps({"op": "d", "before": {"id": id_}, "after": None})))
            envelopes.append((str(id_), None))
            del rows[id_]
            continue
        old = {"id": id_, "v": before} if before is not None else None
        op = "c" if old is None else "u"
        rows[id_] = n * 13 % 17
        envelopes.append((str(id_), json.dumps({"op": op, "before": old, "after": {"id": id_, "v": rows[id_]}})))
    make(spark, kafka, "table", "ranked")
    send(spark, kafka, "table", envelopes)
    Engine(spark).run(
        f"""
        CREATE STREAM t (id INT, v INT, place BIGINT METADATA FROM 'offset', PRIMARY KEY (id))
        WITH (connector = 'kafka', bootstrap_servers = '{kafka}', topic = 'table', format = 'debezium-json',
              starting_offsets = 'earliest', max_offsets_per_trigger = '25', sequence = 'place');
        CREATE SINK out WITH (connector = 'kafka', bootstrap_servers = '{kafka}', topic = 'ranked',
                              key = 'id', changelog = 'upsert');
        INSERT INTO out SELECT id, v, rank() OVER (ORDER BY v DESC) AS r FROM t;
        """,
        checkpoint=tmp_path,
        flush=True,
    )
    table = {one["key"]: one["value"] for one in taken(spark, kafka, "ranked").collect()}
    found = {row["id"]: (row["v"], row["r"]) for row in (json.loads(value) for value in table.values() if value)}
    assert found == {id_: (v, 1 + sum(other > v for other in rows.values())) for id_, v in rows.items()}


def test_a_malformed_record_stops_the_query(kafka: str, spark: SparkSession) -> None:
    make(spark, kafka, "broken")
    send(spark, kafka, "broken", [record(1000, "k", 1), ("k", '{"v": "many"}')])
    with pytest.raises(PanesError) as caught:
        Engine(spark).run(
            f"""
            {stream(kafka, "broken")}
            CREATE SINK out WITH (connector = 'noop');
            INSERT INTO out SELECT place FROM t;
            """,
            once=True,
        )
    assert caught.value.code == "malformed-record"
    assert "of topic broken is not json" in caught.value.message
    assert "offset 1 in partition" in caught.value.message
