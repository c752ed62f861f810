"""Kafka → windows → Kafka on a real broker: equal to the batch, a restart and repeats included."""

from __future__ import annotations

import base64
import json
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from panes import Engine
from panes.errors import PanesError
from panes.spark.report import Report
from spark.input_files import at
from spark.kafka.topics import make, send, taken, without_repeats

pytestmark = pytest.mark.spark
COLUMNS = """
    key STRING METADATA, payload STRUCT<at: STRING, k: STRING>, v BIGINT, place BIGINT METADATA FROM 'offset',
    source STRING METADATA FROM 'topic', headers ARRAY<STRUCT<key: STRING, value: STRING>> METADATA,
    ts TIMESTAMP AS to_timestamp(payload.at), k STRING AS upper(payload.k),
    WATERMARK FOR ts AS ts - INTERVAL 20 SECONDS
"""
COUNTED = ("rows_in", "late_rows", "null_time_rows", "malformed_rows")
ROWS = [(1000 * n, f"k{n % 3}", n) for n in range(120)]


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
    records = taken(spark, kafka, "out")
    rows = without_repeats(records)
    assert records.count() > len(rows)  # the last micro-batch came twice
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


def test_every_record_is_accounted_for(kafka: str, spark: SparkSession, tmp_path: Path) -> None:
    """In a window, late, without a time, or a dead letter: one query for these, though two INSERTs read the stream."""
    where = f"connector = 'kafka', bootstrap_servers = '{kafka}'"
    script = f"""
        CREATE STREAM t (
            at STRING, k STRING, v BIGINT, ts TIMESTAMP AS to_timestamp(at), partition INT METADATA,
            sent TIMESTAMP METADATA FROM 'timestamp', WATERMARK FOR ts AS ts - INTERVAL 5 SECONDS
        ) WITH ({where}, topic = 'orders', format = 'json', starting_offsets = 'earliest',
                on_error = 'dead_letter', dead_letter = 'bad');
        CREATE SINK totals WITH ({where}, topic = 'totals', key = 'k');
        CREATE SINK rows WITH (connector = 'noop');
        CREATE SINK bad WITH ({where}, topic = 'bad-orders', key = 'topic');
        INSERT INTO totals SELECT k, sum(v) AS s, count(sent) AS n, max(partition) AS p
        FROM t GROUP BY tumblingwindow('ss', 10), k;
        INSERT INTO rows SELECT k, lag(v) OVER (PARTITION BY k) AS before FROM t;
    """
    good = [("k", json.dumps({"at": at(1000 * n), "k": f"k{n % 3}", "v": n})) for n in range(60)]
    late = [("k", json.dumps({"at": at(1000 * n), "k": "k1", "v": n})) for n in range(4)]
    timeless = [("k", '{"k": "k2", "v": 5}')]
    broken: list[tuple[str, str | None]] = [("x", '{"v": "many"}'), ("y", "no object"), ("z", None)]
    totals: dict[str, Counter[str]] = defaultdict(Counter)

    def report(one: Report) -> None:
        totals[one.sink].update({name: one.counters.get(name, 0) for name in COUNTED})

    def run(**how: Any) -> None:
        Engine(spark).run(script, checkpoint=tmp_path, report=report, **how)

    make(spark, kafka, "orders", "totals", "bad-orders")
    send(spark, kafka, "orders", [*good, *broken[:2]])
    run(once=True)
    send(spark, kafka, "orders", [*late, *timeless, broken[2]])
    run(flush=True)

    found = [value for _, value in without_repeats(taken(spark, kafka, "totals"))]
    assert sum(one["s"] for one in found) == sum(range(60))
    assert sum(one["n"] for one in found) == 60
    assert dict(totals["totals"]) == {"rows_in": 65, "late_rows": 4, "null_time_rows": 1, "malformed_rows": 3}
    assert dict(totals["rows"]) == {"rows_in": 65, "late_rows": 4, "null_time_rows": 1, "malformed_rows": 3}
    assert totals["bad (dead letters of t)"]["malformed_rows"] == 3
    letters = [value for key, value in without_repeats(taken(spark, kafka, "bad-orders")) if key == "orders"]
    keys = {base64.b64decode(one["key"]).decode(): one["_value"] for one in letters}
    assert (len(letters), keys) == (3, {"x": '{"v": "many"}', "y": "no object", "z": None})
    for one in letters:
        assert one["_error"] == "not json of the declared columns"
        assert one["headers"] == [{"key": "from", "value": one["key"]}]
        assert {"partition", "offset", "timestamp", "topic"} <= one.keys()


def test_dead_letters_do_not_begin_behind_their_stream(kafka: str, spark: SparkSession, tmp_path: Path) -> None:
    """From the latest record on: new ones begin with the INSERTs, and beside old INSERTs they are refused."""
    make(spark, kafka, "late-start", "late-start-bad")
    send(spark, kafka, "late-start", [record(1000, "k", 1), ("k", "before anybody reads")])
    dead = "on_error = 'dead_letter', dead_letter = 'bad'"

    def script(options: str) -> str:
        declared = stream(kafka, "late-start").replace("starting_offsets = 'earliest'", options)
        return f"""
            {declared} CREATE SINK out WITH (connector = 'noop');
            CREATE SINK bad WITH (connector = 'json', path = '{tmp_path}/bad');
            INSERT INTO out SELECT v FROM t;
        """

    def run(options: str, folder: str) -> None:
        Engine(spark).run(script(options), checkpoint=tmp_path / folder, once=True)

    run(dead, "both")
    run("starting_offsets = 'latest'", "alone")
    send(spark, kafka, "late-start", [("k", "after"), record(2000, "k", 2)])
    run(dead, "both")
    with pytest.raises(PanesError) as caught:
        run(dead, "alone")
    assert caught.value.code == "stream-options"
    letters = [row["_value"] for row in spark.read.json(str(tmp_path / "bad")).collect()]
    assert letters == ["after"]
